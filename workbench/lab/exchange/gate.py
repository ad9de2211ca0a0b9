"""A quality gate: do today's answers fall behind saved ones by more than luck explains?"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from workbench.contracts import Index
from workbench.errors import InputError
from workbench.lab.evaluation import Evaluation
from workbench.lab.paired import HITS, Paired, corrected, paired_values
from workbench.memory.files import read_input
from workbench.records import Floats, Shown
from workbench.retrieval.explain import Explanation, explain

LARGEST_FILE = 50_000_000
SILENCE = "silence on unanswerable questions"


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class SavedQuestion(_Strict):
    """A labelled question and the place of its file among the files returned; None if it was not returned."""

    question: str
    target: str
    place: int | None = Field(ge=1)


class SavedControl(_Strict):
    """An unanswerable question, and how many results it got."""

    question: str
    returned: int = Field(ge=0)


class Saved(_Strict):
    """The answers of one system to labelled questions, as a file keeps them."""

    gate: Literal[1] = 1
    system: str
    questions: tuple[SavedQuestion, ...] = Field(min_length=1)
    controls: tuple[SavedControl, ...] = ()


def saved_of(evaluation: Evaluation) -> Saved:
    """What a later gate needs of an evaluation."""
    questions = [
        SavedQuestion(
            question=one.question.question,
            target=one.question.target,
            place=_place(one.trace.paths(), one.question.target),
        )
        for one in evaluation.asked
    ]
    controls = [SavedControl(question=one.question, returned=len(one.results)) for one in evaluation.controls]
    return Saved(system=evaluation.pipeline.name, questions=tuple(questions), controls=tuple(controls))


def _place(paths: Sequence[str], target: str) -> int | None:
    return paths.index(target) + 1 if target in paths else None


def write_saved(saved: Saved, path: str | os.PathLike[str]) -> None:
    """Writes the answers as JSON. Raises InputError if the file cannot be written."""
    try:
        Path(path).write_text(saved.model_dump_json(indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}.", "Check the path.") from None


def read_saved(path: str | os.PathLike[str]) -> Saved:
    """The answers in a file of `write_saved`. Raises InputError, naming the field, for another file."""
    text = read_input(path, "The file of saved answers", LARGEST_FILE)
    remedy = "Make it anew: workbench gate --questions FILE --save FILE."
    try:
        return Saved.model_validate(json.loads(text))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise InputError(f"{path} cannot be used: {place}: {first['msg']}.", remedy) from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not JSON: {error}.", remedy) from None


@dataclass(frozen=True)
class GateFlip:
    """A question that lost or won its answer since then; `why` explains a lost one."""

    question: str
    target: str
    lost: bool
    why: Explanation | None


@dataclass(frozen=True)
class FlippedControl:
    """An unanswerable question that lost or won its silence since then, and what it gets now."""

    question: str
    lost: bool
    returned: tuple[str, ...]


@dataclass(frozen=True)
class GateResult(Shown):
    """Today's answers against the saved ones: a verdict for each measure, and the questions that flipped."""

    before: str
    after: str
    verdicts: tuple[Paired, ...]
    flipped: tuple[GateFlip, ...]
    controls: tuple[FlippedControl, ...]

    @property
    def falls(self) -> list[Paired]:
        """The measures that fell by more than luck explains."""
        return [one for one in self.verdicts if one.differs and one.difference < 0]

    @property
    def passes(self) -> bool:
        """Whether no measure fell by more than luck explains."""
        return not self.falls

    def as_json(self) -> dict[str, Any]:
        """The verdicts and the flipped questions as plain data."""
        return {
            "passes": self.passes,
            "before": self.before,
            "after": self.after,
            "paired": [one.as_json() for one in self.verdicts],
            "flipped": [
                {
                    "question": one.question,
                    "target": one.target,
                    "lost": one.lost,
                    "fate": one.why.fate.value if one.why else None,
                }
                for one in self.flipped
            ],
            "controls": [vars(one) for one in self.controls],
        }


def gate(evaluation: Evaluation, saved: Saved, index: Index) -> GateResult:
    """Compares an evaluation with saved answers to the same questions: hits, RR, and silence.

    The p values are corrected for the number of measures (Holm, 1979). Raises InputError, naming it, if a
    question or a label is not the saved one.
    """
    today = saved_of(evaluation)
    _check_same(saved, today)
    columns = [(HITS, _hits(saved), _hits(today)), ("RR", _reciprocal(saved), _reciprocal(today))]
    if saved.controls:
        columns.append((SILENCE, _silent(saved), _silent(today)))
    found = [paired_values(before, after, name) for name, before, after in columns]
    verdicts = corrected(found)
    return GateResult(
        saved.system,
        today.system,
        tuple(verdicts),
        tuple(_flipped(evaluation, saved, index)),
        tuple(_flipped_controls(evaluation, saved)),
    )


def _hits(saved: Saved) -> Floats:
    return np.array([float(one.place is not None) for one in saved.questions])


def _reciprocal(saved: Saved) -> Floats:
    return np.array([1 / one.place if one.place else 0.0 for one in saved.questions])


def _silent(saved: Saved) -> Floats:
    return np.array([float(one.returned == 0) for one in saved.controls])


def _check_same(saved: Saved, today: Saved) -> None:
    """The questions, labels and controls must be the saved ones, in any order of the file's lines."""
    pairs = ("question", _keys(saved), _keys(today)), ("unanswerable question", _asked(saved), _asked(today))
    for kind, before, after in pairs:
        if before == after:
            continue
        gone = [one for one in before if one not in after]
        new = [one for one in after if one not in before]
        told = f"is gone: {gone[0]}" if gone else f"is new: {new[0]}" if new else "has moved"
        raise InputError(
            f"The questions are not the saved ones: {len(gone)} gone, {len(new)} new. One {kind} {told}.",
            "Compare with the questions of then, or accept the new ones with --save FILE.",
        )


def _keys(saved: Saved) -> list[str]:
    return [f"“{one.question}” → {one.target}" for one in saved.questions]


def _asked(saved: Saved) -> list[str]:
    return [one.question for one in saved.controls]


def _flipped(evaluation: Evaluation, saved: Saved, index: Index) -> list[GateFlip]:
    found = []
    for before, now in zip(saved.questions, evaluation.asked, strict=True):
        if (before.place is not None) != now.hit:
            why = None if now.hit else explain(now.trace, index, before.target)
            found.append(GateFlip(before.question, before.target, not now.hit, why))
    return found


def _flipped_controls(evaluation: Evaluation, saved: Saved) -> list[FlippedControl]:
    return [
        FlippedControl(before.question, bool(trace.results), tuple(trace.paths()))
        for before, trace in zip(saved.controls, evaluation.controls, strict=True)
        if (before.returned == 0) != (not trace.results)
    ]
