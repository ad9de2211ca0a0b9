"""The results of a case: each answer, the case on one system, and the case on several systems."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from workbench.masking import masking_of
from workbench.records import Shown, Trace
from workbench.retrieval.explain import Explanation
from workbench.retrieval.pipeline import Pipeline
from workbench.safe_text import counted
from workbench.tables import Line, Part, Table, masked_parts
from workbench_plugins.cases.model import Case, CaseQuestion, Observed, environment, without_secrets


@dataclass(frozen=True, repr=False)
class Answered(Shown):
    """The answer to one question of a case: whether it is as expected, in words, and what was observed.

    `wanted` says what should be, and `seen` what is. `explanation` is that of the file that decides; None if
    no file does.
    """

    asked: CaseQuestion
    trace: Trace
    holds: bool
    wanted: str
    seen: str
    observed: Observed
    explanation: Explanation | None = None

    @property
    def description(self) -> str:
        """What should be, and what is, in a sentence."""
        return f"{self.wanted}, and {self.seen}"

    @property
    def reason(self) -> tuple[bool, str, str]:
        """Whether the expectation holds, and the fate and stage of the file that decides."""
        return self.holds, self.observed.fate, self.observed.stage

    @property
    def deciding(self) -> tuple[str, tuple[str, ...]]:
        """The chunk that decides, and the legs that brought it; the file, where a layout has other chunks."""
        if self.explanation is None or not self.explanation.verdicts:
            return "", ()
        best = self.explanation.verdicts[0]
        location = best.chunk.location if self.trace.layout is None else best.chunk.path
        return location, tuple(one.leg for one in best.leg_ranks if one.brought)

    @property
    def as_observed(self) -> bool:
        """Whether the observation that the case states is made again; its empty fields are not compared."""
        then = dict(self.asked.observed or ())
        return all(not old or old == getattr(self.observed, name) for name, old in then.items())

    def view(self) -> list[Part]:
        """The verdict, why the file that decides was returned or not, and an observation that differs.

        A case is often somebody else's, so what is shown of it shows no secret.
        """
        parts: list[Part] = [Line(f"{'HOLDS' if self.holds else 'FAILS'}: {self.description}.", "bold")]
        if self.explanation is not None:
            parts += self.explanation.view()
        else:
            parts += [f"“{self.asked.question}”", *self.trace.view()]
        if not self.as_observed and self.asked.observed:
            parts.append(f"observed before: {observed_text(self.asked.observed)}")
            parts.append(f"observed now: {observed_text(self.observed)}")
        return masked_parts(parts, masking_of([self.asked.question]))


def _fate_text(one: Observed) -> str:
    """The fate, with its stage where the fate does not name it: `below the floor`, and not `… (floor)`."""
    named = not one.stage or one.stage in one.fate.split()
    return one.fate if named else f"{one.fate}; stage: {one.stage}"


def observed_text(one: Observed) -> str:
    """An observation in a line: the fate, its stage, and the returned files."""
    returned = ", ".join(one.returned) if one.returned else "nothing"
    fate = [_fate_text(one)] if one.fate else []
    return "; ".join([*fate, *([f"returned: {returned}"] if one.returned is not None else [])])


@dataclass(frozen=True, repr=False)
class CaseRun(Shown):
    """A case that was run on one system: the answer to each of its questions."""

    case: Case
    pipeline: Pipeline
    answers: tuple[Answered, ...]

    @property
    def holds(self) -> bool:
        """Whether every expectation holds."""
        return all(one.holds for one in self.answers)

    @property
    def as_observed(self) -> bool:
        """Whether every observation is as the case states it."""
        return all(one.as_observed for one in self.answers)

    @property
    def mask(self) -> Callable[[str], str]:
        """What leaves secrets out of a text about this case."""
        return masking_of(one.question for one in self.case.questions)

    @property
    def reasons(self) -> tuple[tuple[bool, str, str], ...]:
        """The reason of each answer: two runs with the same reasons show the same failure."""
        return tuple(one.reason for one in self.answers)

    def __repr__(self) -> str:
        failing = sum(not one.holds for one in self.answers)
        return f"<CaseRun: {self.pipeline.name}, {failing} of {len(self.answers)} questions fail>"

    def view(self) -> list[Part]:
        """Every answer of the case with its verdict, and why the file that decides was returned or not."""
        parts: list[Part] = [Line(self.case.title or "a case without a title", "bold")]
        parts += [Line(", ".join(self.case.references), "dim")] if self.case.references else []
        for one in self.answers:
            parts += ["", *one.view()]
        return masked_parts([*parts, "", *self._verdict_lines()], self.mask)

    def _verdict_lines(self) -> list[str]:
        """How many expectations hold, and whether the observations of the case are made again."""
        total, failing = len(self.answers), sum(not one.holds for one in self.answers)
        fails = "every expectation holds" if not failing else f"{failing} of {total} expectations fail"
        lines = [f"{self.pipeline.name}: {fails} ({counted(total, 'question')})."]
        if self.case.known_bug and failing:
            lines.append(f"A known bug: {self.case.known_bug}")
        lines += Matrix((self,)).not_compared
        if not self.as_observed:
            lines.append("What is observed differs from what the case states.")
            lines += differing_versions(self.case)
        return lines

    @property
    def deciding(self) -> str:
        """The answer that decides the verdict, in words."""
        shown = [one for one in self.answers if one.holds == self.holds]
        more = f"; and {len(shown) - 1} more" if len(shown) > 1 else ""
        one = shown[0]
        fate = f" ({_fate_text(one.observed)})"
        return one.description + (fate if one.observed.fate and not one.holds else "") + more

    def as_json(self) -> dict[str, Any]:
        """The verdict on each question with the trace of its search; no text shows a secret."""
        data = {
            "title": self.case.title,
            "system": self.pipeline.name,
            "holds": self.holds,
            "as_observed": self.as_observed,
            "known_bug": self.case.known_bug,
            "answers": [
                {
                    "question": one.asked.question,
                    "holds": one.holds,
                    "says": one.description,
                    "observed": one.observed.model_dump(),
                    "trace": one.trace.as_json(),
                }
                for one in self.answers
            ],
        }
        return cast("dict[str, Any]", without_secrets(data, mask=self.mask))


def differing_versions(case: Case) -> list[str]:
    """The versions that differ from those of the case, one line each."""
    if case.environment is None:
        return []
    then, now = case.environment.model_dump(), environment().model_dump()
    return [
        f"{name}: {then[name]} then, {now[name]} now" for name in now if then[name] not in ("", now[name])
    ]


def verdict_text(holds: bool) -> str:
    """A verdict in a word."""
    return "holds" if holds else "fails"


@dataclass(frozen=True, repr=False)
class Matrix(Shown):
    """A case on several systems in their order. For releases, the order is that of time."""

    runs: tuple[CaseRun, ...]

    @property
    def holds(self) -> bool:
        """Whether every expectation holds on every system."""
        return self.first_bad is None

    @property
    def first_bad(self) -> CaseRun | None:
        """The first run in which an expectation does not hold."""
        return next((one for one in self.runs if not one.holds), None)

    @property
    def first_good(self) -> CaseRun | None:
        """The first run after the first bad one in which every expectation holds again."""
        bad = self.first_bad
        later = self.runs[self.runs.index(bad) + 1 :] if bad else ()
        return next((one for one in later if one.holds), None)

    def view(self) -> list[Part]:
        """One line per system with its verdict, and below the first bad and the first good one."""
        return masked_parts([self.verdicts_table(), *self.lines()], self.runs[0].mask)

    def verdicts_table(self) -> Table:
        """Each system with its verdict and what decides."""
        rows = [(one.pipeline.name, verdict_text(one.holds), one.deciding) for one in self.runs]
        return Table("", ("system", "verdict", "what decides"), rows, padded=True)

    def lines(self) -> list[str]:
        """Sentences that name the first system on which the case fails, and the first good one after it."""
        bad, good = self.first_bad, self.first_good
        if bad is None:
            return ["The case holds on each of these systems.", *self.not_compared]
        lines = [f"First bad: {bad.pipeline.name}."]
        lines.append(f"First good after it: {good.pipeline.name}." if good else "No later one here is good.")
        later = self.runs[self.runs.index(good) + 1 :] if good else ()
        again = [one.pipeline.name for one in later if not one.holds]
        lines += [f"It fails again on {', '.join(again)}."] if again else []
        return [*lines, *self.not_compared]

    @property
    def not_compared(self) -> list[str]:
        """A sentence for the systems on which a reduced case was not compared with its original."""
        others = [
            run.pipeline.name
            for run in self.runs
            if run.case.compared is not None and run.pipeline.name not in run.case.compared
        ]
        names = ", ".join(others)
        return [f"This reduced case was not compared with its original on {names}."] if others else []

    def as_json(self) -> dict[str, Any]:
        """The verdicts on the systems, the first bad one, and the first good one after it."""
        data = {
            "runs": [
                {
                    "system": one.pipeline.name,
                    "holds": one.holds,
                    "says": [a.description for a in one.answers],
                }
                for one in self.runs
            ],
            "first_bad": self.first_bad.pipeline.name if self.first_bad else None,
            "first_good": self.first_good.pipeline.name if self.first_good else None,
        }
        return cast("dict[str, Any]", without_secrets(data, mask=self.runs[0].mask))
