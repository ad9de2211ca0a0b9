"""What `workbench evaluate` prints: a line that says it, a table that shows it, and the rest in folds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from workbench.measure.checks import MeasuringWarnings
from workbench.measure.evaluation import Evaluation, Evaluations
from workbench.measure.measures import HITS
from workbench.measure.paired import Paired, paired_with_first
from workbench.measure.resampling import LEVEL
from workbench.records import Shown
from workbench.safe_text import counted
from workbench.tables import ABSENT, Block, Column, Fold, Part, Table, hanging, numbers

UNCLEAR = "unclear"
"""The word for a difference that the questions cannot tell from luck."""


class EvaluationAnswer(Shown):
    """Evaluations as an answer: the first system's figures, and how each later one differs from it."""

    def __init__(
        self,
        evaluations: Evaluations,
        warnings: MeasuringWarnings,
        measures: Sequence[Any] = (HITS,),
        details: bool = False,
    ) -> None:
        self.evaluations, self.warnings, self.details = evaluations, warnings, details
        self.compared = [(one, paired_with_first(evaluations, one)) for one in measures]

    def view(self) -> list[Part]:
        """What the index is not made for, the answer by each measure, its limits, and the rest in folds."""
        parts: list[Part] = []
        for measure, verdicts in self.compared:
            parts += ["", *self._answer(measure, verdicts)]
        return [*self.evaluations.cautions, *parts[1:], *self._limits(), *self._rest()]

    def _answer(self, measure: Any, verdicts: Sequence[Paired]) -> list[Part]:
        first = Block(self._first(measure), style="bold")
        if not verdicts:
            return [first, self.evaluations.kinds_table()]
        verdict = Block(self._verdict_text(verdicts), style="bold")
        return [first, verdict, self._table(measure, verdicts), *self._unclear(verdicts)]

    def _first(self, measure: Any) -> str:
        """What the first system reaches, in a sentence."""
        first = self.evaluations[0]
        if measure != HITS:
            return f"{first.pipeline.name} reaches {_value(first, measure)} in {measure}."
        low, high = first.hit_interval
        silent = first.silent
        nothing = f", and nothing for {silent.hits} of {silent.n} unanswerable ones" if silent.n else ""
        return (
            f"{first.pipeline.name} returns the right file for {first.overall.hits} of "
            f"{counted(first.overall.n, 'question')} ({low:.0%} to {high:.0%}){nothing}."
        )

    def _verdict_text(self, verdicts: Sequence[Paired]) -> str:
        """How many systems differ from the first one; of a single one the verdict itself."""
        if len(verdicts) == 1:
            return f"{self.evaluations[1].pipeline.name}: {verdicts[0]}."
        words = Counter(map(_word, verdicts))
        clear = [f"{words[word]} {word}" for word in ("better", "worse") if words[word]]
        few = [f"for {words[UNCLEAR]} there are too few questions to tell"] if words[UNCLEAR] else []
        counts = ", and ".join([" and ".join(clear), *few] if clear else few)
        return f"Of {len(verdicts)} other systems: {counts}."

    def _table(self, measure: Any, verdicts: Sequence[Paired]) -> Table:
        """A row for each system: its value, its silence, and its difference from the first system."""
        verdict_cells = [("", ""), *((_word(one), one.interval_text or ABSENT) for one in verdicts)]
        rows = [
            (one.pipeline.name, _value(one, measure), _silence(one), *verdict)
            for one, verdict in zip(self.evaluations, verdict_cells, strict=True)
        ]
        unit = "difference\nin points,\n95 %" if verdicts[0].counted else "difference,\n95 %"
        heads = [*numbers(str(measure), "nothing\nreturned"), Column("than the\nfirst"), *numbers(unit)]
        return Table("", ["system", *heads], rows)

    def _unclear(self, verdicts: Sequence[Paired]) -> list[Part]:
        """Why a difference is unclear whose interval excludes 0, a line for each reason."""
        reasons: dict[str, list[str]] = {}
        for one, verdict in zip(self.evaluations[1:], verdicts, strict=True):
            if not verdict.differs and verdict.excludes_zero:
                reasons.setdefault(_doubt(verdict), []).append(one.pipeline.name)
        return [
            hanging(f"{UNCLEAR.capitalize()} although the interval excludes 0: {', '.join(names)}. {reason}")
            for reason, names in reasons.items()
        ]

    def _limits(self) -> list[Part]:
        """What the reader has to know beside the figures, a line for each."""
        kinds = dict.fromkeys(one.kind for one in self.warnings)
        parts: list[Part] = [hanging(f"Warnings about these numbers: {'; '.join(kinds)}.")] if kinds else []
        if self.details:
            return parts
        return [*parts, "With --details: each warning, MRR, the kinds of questions, and each comparison."]

    def _rest(self) -> list[Part]:
        """All figures, each comparison as a sentence, and each warning."""
        figures = [*self.evaluations.view()]
        if self.evaluations[0].measures:
            figures += self.evaluations.measures_view()
        folds: list[Part] = [Fold("All figures", figures)]
        names = [one.pipeline.name for one in self.evaluations[1:]]
        for measure, verdicts in self.compared:
            rows = [(name, str(one)) for name, one in zip(names, verdicts, strict=True)]
            if rows:
                table = Table("", ("system", f"{measure}, question by question"), rows)
                folds.append(Fold(f"Compared with {self.evaluations[0].pipeline.name}", [table]))
        return [*folds, Fold("Warnings about these numbers", self.warnings.view())]


def _word(verdict: Paired) -> str:
    if not verdict.differs:
        return UNCLEAR
    return "better" if verdict.difference > 0 else "worse"


def _doubt(verdict: Paired) -> str:
    """Why a difference is unclear whose interval excludes 0."""
    if verdict.p < LEVEL:
        number = verdict.comparisons
        return f"The interval is for one comparison alone, and the verdict allows for all {number} of them."
    return f"The test gives p = {verdict.p:.2g}, and the verdict needs both."


def _value(evaluation: Evaluation, measure: Any) -> str:
    if measure == HITS:
        return f"{evaluation.overall.hits}/{evaluation.overall.n}"
    return f"{evaluation.values(measure).mean():.3f}"


def _silence(evaluation: Evaluation) -> str:
    return f"{evaluation.silent.hits}/{evaluation.silent.n}" if evaluation.silent.n else ABSENT
