"""Commands that ask why: the causes and fixes of one answer, and which change makes two systems differ."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from workbench.cli.app import (
    SAMPLE,
    AsJson,
    AskedFloor,
    AskedLimit,
    AskedSystem,
    IndexFile,
    Memory,
    ReEmbed,
    Settings,
    SettingsOfMany,
    app,
    opened_index,
    pipeline_of,
    pipelines_of,
    relative,
    system_for,
)
from workbench.cli.output import put
from workbench.cli.saving import CaseOut, saved_as_case
from workbench.errors import InputError

if TYPE_CHECKING:
    from workbench.lab.questions import QuestionSet

Labels = Annotated[
    Path | None,
    typer.Option(
        "--questions",
        readable=False,
        help="A YAML file of labelled questions. Default: questions.yaml in the memory, if it is there.",
    ),
]


@app.command()
def diagnose(
    question: Annotated[str, typer.Argument(help="The question.")],
    target: Annotated[
        str | None, typer.Option("--target", "-t", help="The file that you expect in the answer.")
    ] = None,
    unwanted: Annotated[
        str | None, typer.Option("--unwanted", "-u", help="A file of the answer that does not belong there.")
    ] = None,
    memory: Memory = SAMPLE,
    system: AskedSystem = None,
    config: Annotated[
        str | None, typer.Option("--config", help="An openclaw.json, or FILE#AGENT: the system to run.")
    ] = None,
    labels: Labels = None,
    limit: AskedLimit = None,
    min_score: AskedFloor = None,
    settings: Settings = None,
    index_file: IndexFile = None,
    re_embed: ReEmbed = False,
    rechunk: Annotated[
        bool,
        typer.Option(
            "--rechunk",
            help="Try chunks of other sizes too, in temporary indexes. Embedding new chunks can take long.",
        ),
    ] = False,
    as_json: AsJson = False,
    case: CaseOut = None,
) -> None:
    """Find what loses a file, which settings would bring it back, and what they cost.

    With --unwanted: what brings a file in that does not belong there, and what would keep it out. Exit code 1
    if no verified fix is found.
    """
    from workbench.lab.cases.intake.found import case_of_diagnosis
    from workbench.lab.diagnose.diagnosis import diagnose as diagnosed

    if (target is None) == (unwanted is None):
        raise InputError(
            "A diagnosis is about one file.", "Give --target FILE for a missing one, or --unwanted FILE."
        )
    pipeline = pipeline_of(_system(system, config, memory), limit, min_score, settings)
    questions = _labels(labels, memory)
    with opened_index(memory, index_file, re_embed) as opened:
        found = diagnosed(
            question,
            pipeline,
            opened,
            relative(target, memory) if target else "",
            unwanted=relative(unwanted, memory) if unwanted else "",
            questions=questions,
            rechunk=rechunk,
        )
        saved_as_case(case, lambda: case_of_diagnosis(found, opened))
    put(found.as_json() if as_json else found, as_json)
    raise typer.Exit(0 if any(one.verified for one in found.fixes) else 1)


def _system(system: str | None, config: str | None, memory: str) -> str:
    if config is None:
        return system_for(memory, system)
    return config if system is None else f"{system}@{config}"


def _labels(given: Path | None, memory: str) -> QuestionSet | None:
    """The labelled questions: those of the option, or those in the memory's folder, or none."""
    from workbench.lab.questions import labels_of, load_questions

    return labels_of(memory) if given is None else load_questions(given)


@app.command()
def triage(
    words: Annotated[str, typer.Argument(help='What you see, such as "nothing comes back".')],
    as_json: AsJson = False,
) -> None:
    """Find the known symptom that fits your words: what to run, public bugs like it, and a lesson.

    Exit code 1 if no known symptom is near.
    """
    from workbench.lab.triage.finding import triage as found_for

    found = found_for(words)
    put(found.as_json() if as_json else found, as_json)
    raise typer.Exit(0 if found.known else 1)


@app.command()
def blame(
    one: Annotated[str, typer.Argument(metavar="A", help="The name of a system.")],
    other: Annotated[str, typer.Argument(metavar="B", help="The name of another system.")],
    question: Annotated[
        str | None, typer.Option("--question", "-q", help="Only this question, not a file of questions.")
    ] = None,
    target: Annotated[
        str | None, typer.Option("--target", "-t", help="With --question: the file that answers it.")
    ] = None,
    labels: Labels = None,
    measure: Annotated[
        str, typer.Option("--measure", help="What is compared: hits, RR, nDCG@10, Success@5, …")
    ] = "hits",
    memory: Memory = SAMPLE,
    limit: AskedLimit = None,
    min_score: AskedFloor = None,
    settings: SettingsOfMany = None,
    index_file: IndexFile = None,
    re_embed: ReEmbed = False,
    as_json: AsJson = False,
) -> None:
    """Share the difference between two systems among the changes between them. Exit code 1 if it is 0."""
    from workbench.lab.diagnose.blame import blame as blamed
    from workbench.views.diagnosis import rendered_blame

    first, second = pipelines_of([one, other], limit, min_score, settings)
    if target is not None and question is None:
        raise InputError("--target belongs to a --question.", "Add --question, or leave --target out.")
    asked = question if question is not None else _labels(labels, memory)
    if asked is None:
        raise InputError(
            f"There are no labelled questions in {memory}.", "Give --questions FILE, or one --question."
        )
    with opened_index(memory, index_file, re_embed) as opened:
        path = relative(target, memory) if target else ""
        found = blamed(first, second, opened, asked, target=path, measure=measure)
    put(found.as_json() if as_json else rendered_blame(found, "--json lists all"), as_json)
    raise typer.Exit(0 if found.difference else 1)
