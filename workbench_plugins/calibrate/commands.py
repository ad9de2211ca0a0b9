"""The command `calibrate`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from workbench.cli.app import (
    AsJson,
    AskedSystem,
    Details,
    IndexOptions,
    QuestionsFile,
    RerankOptions,
    labelled,
)
from workbench.cli.numbers import number
from workbench.cli.output import print_error, print_output
from workbench.errors import InputError


def calibrate(
    where: IndexOptions,
    changes: RerankOptions,
    system: AskedSystem = None,
    questions: QuestionsFile = None,
    accept: Annotated[
        float,
        typer.Option(
            "--accept", parser=partial(number, "--accept"), help="The rate of mistakes that you accept."
        ),
    ] = 0.2,
    confidence: Annotated[
        float,
        typer.Option(
            "--confidence",
            parser=partial(number, "--confidence"),
            help="How certain the promise is, from 0 to 1.",
        ),
    ] = 0.9,
    mistake: Annotated[
        str,
        typer.Option(
            "--mistake",
            help="answers: a question that the memory does not answer gets one. first: a wrong first file.",
        ),
    ] = "answers",
    on: Annotated[
        str,
        typer.Option("--on", help="A score of the system, or evidence for two. Default: that of its floor."),
    ] = "",
    make: Annotated[
        str | None,
        typer.Option(
            "--make",
            help="Make the questions without an answer: leave-one-out (the answering file is taken away) or "
            "exchange (another name, date or number).",
        ),
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option("--save", help="Keep it: NAME.calibration.yaml, for --set calibration=FILE."),
    ] = None,
    details: Details = False,
    as_json: AsJson = False,
) -> None:
    """Set a system's threshold so that it keeps a promise about mistakes, from labelled questions.

    The promise holds for questions that are drawn as the labels were. Too few labels promise nothing. With
    --rerank, the reranker's own number decides whether the memory answers.
    """
    from workbench.measure.evaluation import evaluate
    from workbench.measure.questions import check_targets
    from workbench.retrieval.index_adapters import CachedIndex
    from workbench_plugins.calibrate.calibrated import calibrated
    from workbench_plugins.calibrate.calibration_file import calibration_of
    from workbench_plugins.calibrate.calibration_file import save as keep
    from workbench_plugins.calibrate.floors import with_floor
    from workbench_plugins.calibrate.promise import Promise
    from workbench_plugins.calibrate.synthetic_negatives import MAKE, MadeLabels

    if make is not None and make not in MAKE:
        raise InputError(f"There is no way {make!r} to make questions.", f"Choose {' or '.join(MAKE)}.")
    promise = Promise(accept, confidence, mistake)  # type: ignore[arg-type]  # which checks it
    asked = changes.pipeline(where.system(system))
    floored = with_floor(asked, on)
    labels = labelled(where.memory, questions)
    with where.opened_telling(asked) as opened, opened.snapshot():
        check_targets(labels, opened.paths())
        index = CachedIndex(opened)
        (evaluation,) = evaluate(labels, [floored], index)
        made = MadeLabels(make, MAKE[make](labels.questions, floored, index)) if make else None
        found = calibrated(asked, evaluation, index, promise, made)
        try:
            kept = calibration_of(found, opened, on, changes.rerank or "")
        except InputError:
            if save is not None:
                raise
            kept = None  # the thresholds are good, though no file can keep them
    as_data = {**found.as_json(), "calibration": kept and kept.model_dump()}
    print_output(as_data if as_json else found, as_json, details)
    if save is not None and kept is not None:
        keep(kept, save)
        print_error(f"Kept in {save}. Use it: --set calibration={save}")
