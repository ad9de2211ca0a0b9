"""A quality gate: do today's answers fall behind saved ones by more than luck explains?"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from rich.console import Group, RenderableType

from workbench.contracts import Index
from workbench.errors import InputError
from workbench.measure.evaluation import Evaluation
from workbench.measure.paired import HITS, Paired, corrected, paired_values
from workbench.memory.files import read_input
from workbench.records import Floats, Shown
from workbench.retrieval.explain import Explanation, explain
from workbench.views.text import Table, drop_reason, plain, rendered, rich_table

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
    questions = []
    for one in evaluation.asked:
        paths, target = one.trace.paths(), one.question.target
        place = paths.index(target) + 1 if target in paths else None
        questions.append(SavedQuestion(question=one.question.question, target=target, place=place))
    controls = [SavedControl(question=one.question, returned=len(one.results)) for one in evaluation.controls]
    return Saved(system=evaluation.pipeline.name, questions=tuple(questions), controls=tuple(controls))


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

    def as_json(self) -> dict[str, Any]:
        """The question, its target, and the fate of a lost one, as plain data."""
        fate = self.why.fate.value if self.why else None
        return {"question": self.question, "target": self.target, "lost": self.lost, "fate": fate}


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
            "flipped": [one.as_json() for one in self.flipped],
            "controls": [vars(one) for one in self.controls],
        }


def gate(evaluation: Evaluation, saved: Saved, index: Index) -> GateResult:
    """Compares an evaluation with saved answers to the same questions: hits, RR, and silence.

    The p values are corrected for the number of measures (Holm, 1979). Raises InputError, naming it, if a
    question or a label is not the saved one.
    """
    today = saved_of(evaluation)
    _check_same(saved, today)
    columns = zip((HITS, "RR", SILENCE), _columns(saved), _columns(today), strict=True)
    found = [paired_values(before, after, name) for name, before, after in columns if before.size]
    flipped = [
        GateFlip(one.question, one.target, not now.hit, why)
        for one, now in zip(saved.questions, evaluation.asked, strict=True)
        if (one.place is not None) != now.hit
        for why in [None if now.hit else explain(now.trace, index, one.target)]
    ]
    controls = [
        FlippedControl(one.question, bool(trace.results), tuple(trace.paths()))
        for one, trace in zip(saved.controls, evaluation.controls, strict=True)
        if (one.returned == 0) != (not trace.results)
    ]
    verdicts = tuple(corrected(found))
    return GateResult(saved.system, today.system, verdicts, tuple(flipped), tuple(controls))


def _columns(saved: Saved) -> tuple[Floats, Floats, Floats]:
    """The hits, the reciprocal ranks, and the silence of each question."""
    places = [one.place for one in saved.questions]
    hits = np.array([place is not None for place in places], float)
    reciprocal = np.array([1 / place if place else 0.0 for place in places])
    return hits, reciprocal, np.array([one.returned == 0 for one in saved.controls], float)


def _check_same(saved: Saved, today: Saved) -> None:
    """The questions, labels and controls must be the saved ones, in any order of the file's lines."""
    labels = [[f"“{one.question}” → {one.target}" for one in some.questions] for some in (saved, today)]
    controls = [[one.question for one in some.controls] for some in (saved, today)]
    pairs = ("question", *labels), ("unanswerable question", *controls)
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


@rendered.register
def rendered_gate(found: GateResult) -> RenderableType:
    """Passed or failed, the verdict on each measure, and a line for each question that flipped."""
    head = "PASSED" if found.passes else f"FAILED: {', '.join(one.measure for one in found.falls)} fell"
    table = Table("", ["measure", "change"], [(one.measure, str(one)) for one in found.verdicts])
    lines = [line for one in found.flipped for line in _flipped_lines(one)]
    return Group(
        plain(head, "bold"),
        plain(f"{found.after}, against {found.before}"),
        rich_table(table),
        *map(plain, [*lines, *map(_control_line, found.controls)]),
    )


def _flipped_lines(one: GateFlip) -> list[str]:
    head = f"{'lost' if one.lost else 'won'}: “{one.question}” → {one.target}"
    return [head, f"  {_why(one)}"] if one.lost else [head]


def _why(one: GateFlip) -> str:
    if one.why is None or not one.why.verdicts:
        return "never indexed"
    best = one.why.verdicts[0]
    if best.candidate is not None and best.candidate.drop is not None:
        return f"{best.fate}: {drop_reason(best.candidate)}"
    ranks = [
        f"{leg.leg} leg: rank {leg.rank}, depth {leg.depth}" if leg.rank else f"{leg.leg} leg: no match"
        for leg in best.leg_ranks
    ]
    return "; ".join([best.fate.value, *ranks])


def _control_line(one: FlippedControl) -> str:
    if not one.lost:
        return f"won: “{one.question}” is unanswerable and gets nothing"
    return f"lost: “{one.question}” is unanswerable and gets {', '.join(one.returned)}"
