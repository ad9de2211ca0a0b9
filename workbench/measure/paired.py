"""Paired comparison of two pipelines on the same questions: is the difference more than luck?"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from workbench.errors import InputError
from workbench.measure.evaluation import Evaluation
from workbench.measure.measures import HITS
from workbench.measure.resampling import LEVEL, by_unit, fewest_wins, interval_of, sign_flip_p
from workbench.records import Floats, Shown
from workbench.safe_text import counted
from workbench.tables import ABSENT, Part, Table, numbers


@dataclass(frozen=True)
class Paired(Shown):
    """A comparison of two runs over the same `n` questions. `str()` of it is a sentence.

    The questions are about so many `units`, which are what is resampled; `unit` is the word for one, such as
    a file. `wins` and `losses` count the questions with a larger and a smaller value after the change.
    `difference` is the mean change, and `interval` its 95 % confidence interval. It may be None where all
    units have the same mean change, since resampling then shows no spread. `p` is two-sided. `p_holm` is `p`
    after Holm's correction for `comparisons` comparisons, and equals `p` for a single one. With `counted`,
    each value is 0 or 1.
    """

    measure: str
    n: int
    units: int
    wins: int
    losses: int
    difference: float
    interval: tuple[float, float] | None
    p: float
    p_holm: float
    comparisons: int
    counted: bool
    unit: str = "file"

    @property
    def differs(self) -> bool:
        """Whether the units suffice to tell the two apart: by the corrected p and the interval."""
        return self.p_holm < LEVEL and (self.interval is None or self.excludes_zero)

    @property
    def excludes_zero(self) -> bool:
        """Whether there is an interval, and 0 lies outside of it."""
        return self.interval is not None and not self.interval[0] <= 0 <= self.interval[1]

    @property
    def can_tell(self) -> bool:
        """Whether so many units could tell any difference: if all of them changed in one direction."""
        return self.units >= fewest_wins()

    def __str__(self) -> str:
        """The verdict in words, with the counts and the interval."""
        better, worse = f"better on {self.wins}", f"worse on {self.losses}"
        if not self.differs:
            questions = counted(self.n, "question") + self._units_text()
            after = f", after {self.comparisons} comparisons" if self.p < LEVEL <= self.p_holm else ""
            if not after and self.excludes_zero:  # the bootstrap and the test differ for few files
                questions += f", p = {self.p:.2g}"
            sentence = f"no significant difference ({questions}{after}): {better}, {worse}"
            alone = " for this comparison alone" if after and self.interval else ""
            return sentence + self._interval_sentence() + alone
        first, second = (better, worse) if self.difference > 0 else (worse, better)
        questions = f" questions{self._units_text()}" if self._units_text() else ""
        return f"{first} of {self.n}{questions}, {second}{self._interval_sentence()}"

    def _units_text(self) -> str:
        return f" about {counted(self.units, self.unit)}" if self.units < self.n else ""

    @property
    def interval_text(self) -> str:
        """The ends of the interval, in points for counted values; empty without an interval."""
        scale, pattern = (100, ".0f") if self.counted else (1, ".3f")
        return " to ".join(_signed(scale * end, pattern) for end in self.interval or ())

    def _interval_sentence(self) -> str:
        if self.interval is None:
            return ""
        if self.counted:
            unit = "points" if self.measure == HITS else f"points of {self.measure}"
            return f"; 95 % interval {self.interval_text} {unit}"
        return f"; 95 % interval of the mean {self.measure} {self.interval_text}"

    def as_json(self) -> dict[str, Any]:
        """The figures under the key `paired` of `workbench evaluate --json`."""
        fields = {**asdict(self), "differs": self.differs, "sentence": str(self)}
        del fields["counted"]
        return fields

    def view(self) -> list[Part]:
        """The verdict in words, and the figures behind it."""
        heads = numbers("questions", "better on", "worse on", "mean change", "95 % interval", "p")
        row = (
            self.measure,
            *map(str, (self.n, self.wins, self.losses)),
            _change(self.difference),
            " to ".join(map(_change, self.interval)) if self.interval else ABSENT,
            f"{self.p_holm:.3g}",
        )
        return [str(self), Table("", ["measure", *heads], [row])]


def _change(value: float) -> str:
    return f"{value:+.3f}".replace("-", "−")


def _signed(value: float, pattern: str) -> str:
    """A number with a minus sign that does not read as a dash, and never "−0"."""
    text = format(value, pattern)
    return text.removeprefix("-") if float(text) == 0 else text.replace("-", "−")


def paired(before: Evaluation, after: Evaluation, measure: Any = HITS) -> Paired:
    """Compare two evaluations question by question: is `after` better than `before`? The unit is the file.

    `measure` is HITS, a measure of ir_measures such as `RR` or `nDCG @ 10`, or its name ("nDCG@10").
    Raises InputError for an unknown measure, and if the evaluations do not have the same questions.
    """
    _check_same_questions(before, after)
    files = [one.question.target for one in before.asked]
    return paired_values(before.values(measure), after.values(measure), str(measure), files)


def paired_with_first(evaluations: Sequence[Evaluation], measure: Any = HITS) -> list[Paired]:
    """Compare each later evaluation with the first, with Holm's correction for their number."""
    return corrected([paired(evaluations[0], one, measure) for one in evaluations[1:]])


def corrected(found: Sequence[Paired]) -> list[Paired]:
    """The comparisons with Holm's correction for their number."""
    ps = holm([one.p for one in found])
    return [replace(one, p_holm=p, comparisons=len(found)) for one, p in zip(found, ps, strict=True)]


def _check_same_questions(before: Evaluation, after: Evaluation) -> None:
    remedy = "Evaluate both pipelines with one call: workbench.evaluate(questions, [before, after], index)."
    if len(before.asked) != len(after.asked):
        raise InputError(
            f"{before.pipeline.name} has {len(before.asked)} questions, and {after.pipeline.name} has "
            f"{len(after.asked)}: only the same questions can be compared.",
            remedy,
        )
    for number, (one, other) in enumerate(zip(before.asked, after.asked, strict=True), start=1):
        if (one.question.question, one.question.target) != (other.question.question, other.question.target):
            raise InputError(
                f"Question {number} differs: “{one.question.question}” (target {one.question.target}) and "
                f"“{other.question.question}” (target {other.question.target}).",
                remedy,
            )


def paired_values(
    before: Floats,
    after: Floats,
    measure: str = HITS,
    units: Sequence[Hashable] | None = None,
    unit: str = "file",
) -> Paired:
    """Compare two values of each question, of shape (n,). Deterministic: the seed is fixed.

    `units` names what each question is about, such as its file: questions about one file resemble each other,
    so whole files are resampled. `unit` is the word for one. Without `units` each question is a unit of its
    own. `p` is that of a permutation test of the signs of the units' changes (Fisher, 1935), exact for up to
    EXACT_UNITS units that changed, and always where all changed equally, as in McNemar's test (1947).

    The interval is the first of these that applies:

    1. For values of 0 and 1, if each unit has one question or the changes of each unit add up to 0, it is
       the adjusted interval of Bonett and Price (2012).
    2. For up to EXACT_UNITS units of which one changed, it inverts the permutation test. There is none where
       each unit has one question and all changed by the same amount.
    3. For more units it is a percentile bootstrap over the units (Efron, 1979). There is none where all units
       have the same mean change.

    Raises InputError for different or zero numbers of values, and for values that are not finite.
    """
    before, after = np.asarray(before, float), np.asarray(after, float)
    if before.shape != after.shape or before.ndim != 1 or not before.size:
        raise InputError(
            f"Values of the shapes {before.shape} and {after.shape} cannot be compared in pairs.",
            "Give one value per question in both lists, in the same order.",
        )
    changes = after - before
    if not np.isfinite(changes).all():
        raise InputError(
            f"Some values of {measure} are NaN or infinite.", "Leave these questions out of both lists."
        )
    wins, losses = int((changes > 0).sum()), int((changes < 0).sum())
    counted = bool(np.isin(before, (0, 1)).all() and np.isin(after, (0, 1)).all())
    sums, sizes = by_unit(changes, units)
    p = sign_flip_p(sums)
    return Paired(
        measure=measure,
        n=changes.size,
        units=sums.size,
        wins=wins,
        losses=losses,
        difference=float(changes.mean()),
        interval=interval_of(sums, sizes, wins, losses, counted),
        p=p,
        p_holm=p,
        comparisons=1,
        counted=counted,
        unit=unit,
    )


def holm(ps: Sequence[float]) -> list[float]:
    """The p values after Holm's (1979) correction for their number, in the same order.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = sorted(range(len(ps)), key=lambda number: ps[number])
    corrected = [0.0] * len(ps)
    largest = 0.0
    for left, number in zip(range(len(ps), 0, -1), order, strict=True):
        largest = max(largest, min(1.0, left * ps[number]))
        corrected[number] = largest
    return corrected
