"""Whether a stated probability of an answer is true: how many questions of each bin have an answer."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from workbench.errors import InputError
from workbench.measure.evaluation import Evaluation
from workbench.measure.measures import Share
from workbench.records import Floats, Tabular
from workbench.tables import Part, Table, Types, numbers, tidy

if TYPE_CHECKING:
    from workbench.figures import Figure

PROBABILITY = "probability"
"""The scale of a stage that states the probability of an answer."""
BINS = 10
BELIEVED: Types = {
    "system": "str", "low": "float64", "high": "float64", "stated": "float64", "questions": "int64",
    "answerable": "int64", "share": "float64", "share_low": "float64", "share_high": "float64",
}  # fmt: skip


class Bin(NamedTuple):
    """The questions whose stated probability is from `low` to `high`; `stated` is their mean probability.

    `answerable` counts those among them that the memory answers.
    """

    low: float
    high: float
    stated: float
    answerable: Share

    @property
    def agrees(self) -> bool:
        """Whether the mean probability is within the 95 % interval of the share."""
        low, high = self.answerable.interval
        return low <= self.stated <= high


@dataclass(frozen=True, repr=False)
class Reliability(Tabular):
    """What a system states about its questions, in bins of equal width; empty bins are left out.

    `floor` is the probability below which the system returns nothing. `brier` is the mean squared difference
    between the stated probability and 1 for a question that is answered, or 0 for one that is not (Brier,
    1950). `constant` is the same for somebody who always states the share of answerable questions.
    """

    system: str
    floor: float
    bins: tuple[Bin, ...]
    answerable: Share
    brier: float
    constant: float

    def __repr__(self) -> str:
        """One line; `workbench.show` prints all, and a notebook shows all."""
        return f"<Reliability: {self.system}, {self.answerable.n} questions, Brier score {self.brier:.3f}>"

    def as_json(self) -> dict[str, Any]:
        """The figures under the key `reliability` of `workbench evaluate --reliability --json`."""
        bins = [
            {
                "low": one.low,
                "high": one.high,
                "stated": one.stated,
                "questions": one.answerable.n,
                "answerable": one.answerable.hits,
                "share": one.answerable.rate,
                "interval": list(one.answerable.interval),
            }
            for one in self.bins
        ]
        return {"bins": bins, "brier": self.brier, "brier_of_constant": self.constant}

    @property
    def apart(self) -> list[Bin]:
        """The bins whose probability is outside the interval of their share."""
        return [one for one in self.bins if not one.agrees]

    def view(self) -> list[Part]:
        """A row for each bin, and what the bins say together."""
        table = reliability_table(self)
        return [table.caption, table, sentence(self)]

    def plot(self) -> Figure:
        """Stated probabilities against the share of answerable questions: a figure of plotly."""
        from workbench import figures  # which loads plotly

        shares = [(one.answerable.rate, *one.answerable.interval) for one in self.bins]
        counts = [one.answerable.n for one in self.bins]
        return figures.reliability([one.stated for one in self.bins], shares, counts, self.floor)

    def observations(self) -> Table:
        """A row for each bin."""
        rows = (
            (self.system, one.low, one.high, one.stated, share.n, share.hits, share.rate, *share.interval)
            for one in self.bins
            for share in (one.answerable,)
        )
        return tidy(BELIEVED, rows)


def reliability(evaluation: Evaluation, bins: int = BINS) -> Reliability:
    """How reliable the probabilities of an evaluation are.

    Labelled questions count as answerable, controls as unanswerable. A search without candidates states
    nothing, and is left out. Raises InputError for a system that states no probability, for a calibration of
    another model, without controls, and for fewer than two bins.
    """
    if bins < 2:
        raise InputError(f"{bins} bins show nothing.", "Take at least 2.")
    stated, truth = _stated_and_true(evaluation)
    if truth.all() or not truth.any():
        raise InputError(
            "Whether a probability is true needs questions with and without an answer.",
            "Add `controls:` to the file of questions: questions that no file answers.",
        )
    return Reliability(
        evaluation.pipeline.name,
        evaluation.pipeline.floor,
        tuple(_bins(stated, truth, bins)),
        Share(int(truth.sum()), truth.size),
        float(np.mean((stated - truth) ** 2)),
        float(np.mean((truth.mean() - truth) ** 2)),
    )


def judged(evaluations: Sequence[Evaluation]) -> list[Reliability]:
    """The reliability of each evaluation that can be judged. Raises InputError if none can."""
    found = [reliability(one) for one in evaluations if can_be_judged(one)]
    return found or [reliability(evaluations[0])]  # which says what is missing


def diagram_data(evaluation: Evaluation) -> dict[str, Any] | None:
    """The threshold lab's diagram without its floor, and a sentence. None without a probability."""
    if not can_be_judged(evaluation):
        return None
    found = reliability(evaluation)
    return {"sentence": sentence(found), "figure": replace(found, floor=math.nan).plot().spec}


def can_be_judged(evaluation: Evaluation) -> bool:
    """Whether `reliability` has what it needs."""
    try:
        reliability(evaluation)
    except InputError:
        return False
    return True


def _stated_and_true(evaluation: Evaluation) -> tuple[Floats, Floats]:
    name = evaluation.pipeline.name
    stating = [one for one in evaluation.pipeline.stages if getattr(one, "scale", "") == PROBABILITY]
    if not stating:
        raise InputError(
            f"{name} states no probability.", "Evaluate a system that does, such as `recommended`."
        )
    column: str = stating[0].output  # type: ignore[attr-defined]
    truths = [1.0] * len(evaluation.asked) + [0.0] * len(evaluation.controls)
    both = zip(evaluation.traces, truths, strict=True)
    known = [(float(trace.columns[column][0]), truth) for trace, truth in both if trace.chunks]
    stated, truth = np.array(known, float).reshape(-1, 2).T
    if stated.size and (stated == 1).all():
        raise InputError(
            f"{name} states no probability on this memory: its calibration belongs to another model.",
            "Index with the model of the calibration; a trace names it.",
        )
    return stated, truth


def _bins(stated: Floats, truth: Floats, bins: int) -> Iterator[Bin]:
    edges = np.linspace(0, 1, bins + 1)
    bin_of = np.clip(np.digitize(stated, edges) - 1, 0, bins - 1)
    for number in np.unique(bin_of).tolist():
        inside = bin_of == number
        share = Share(int(truth[inside].sum()), int(inside.sum()))
        yield Bin(float(edges[number]), float(edges[number + 1]), float(stated[inside].mean()), share)


def reliability_table(found: Reliability) -> Table:
    """A row for each bin: what was stated, and the share of its questions that are answerable."""
    rows = []
    for one in found.bins:
        low, high = one.answerable.interval
        rows.append(
            (
                f"{one.low:.2f} to {one.high:.2f}",
                f"{one.stated:.2f}",
                f"{one.answerable.hits} of {one.answerable.n}",
                f"{one.answerable.rate:.2f}",
                f"{low:.2f} to {high:.2f}",
                "" if one.agrees else "differs",
            )
        )
    heads = numbers("mean", "answerable", "share", "95 % interval", "")
    return Table(f"{found.system}: how true its probabilities are", ["stated probability", *heads], rows)


def sentence(found: Reliability) -> str:
    """What the bins say, in words."""
    n, apart = found.answerable.n, found.apart
    said = (
        "every bin's mean is within the interval of its share, so these questions cannot tell the "
        "probabilities from true ones"
        if not apart
        else f"{len(apart)} of {len(found.bins)} bins differ from what was stated"
    )
    return (
        f"Of {n} questions, {found.answerable.hits} are answerable; {said}. The Brier score is "
        f"{found.brier:.3f} (0 is perfect; always stating the share of answerable questions gives "
        f"{found.constant:.3f})."
    )
