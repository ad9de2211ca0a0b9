"""The survival chart: at which step of a search the right files are lost, system by system."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import traitlets

from workbench import figures
from workbench.contracts import Index
from workbench.measure.evaluation import Evaluation, of_one_set
from workbench.measure.missed import Survival, SurvivalStep, survivals
from workbench.records import Trace
from workbench.tables import Table
from workbench.views.living.as_code import pipeline_code
from workbench.views.living.notebook import Widget
from workbench.views.living.selection import Link, Selection
from workbench.views.living.state import setting

ALL = "all kinds"
LOST = {
    SurvivalStep.INDEXED: "because they are not indexed",
    SurvivalStep.MATCHED: "because no leg matches them",
    SurvivalStep.IN_POOL: "beyond the pool",
    SurvivalStep.PAST_FLOOR: "at the floor",
    SurvivalStep.WITHIN_LIMIT: "at the limit",
    SurvivalStep.RETURNED: "behind the limit",
}
"""Where a target is lost that survives the step before, but not this one."""


class SurvivalChart(Widget):
    """How many targets are left after each step of the search, for the chosen systems.

    `settings` are `systems` (which are shown), `kind` (which questions count), and `question` and `system`
    (what is selected). `survivals` are the numbers behind the picture, one entry per chosen system, and
    `traces` returns the searches. Raises InputError if there is no evaluation.
    """

    name, view, main = "survival-chart", "survival", "systems"
    selects: Mapping[str, str] = {"question": "question", "system": "system"}

    systems = setting(traitlets.List(traitlets.Unicode()))
    kind = setting(traitlets.Unicode(ALL))
    question = setting(traitlets.Unicode())
    system = setting(traitlets.Unicode())

    def __init__(self, evaluations: Sequence[Evaluation], index: Index, link: Link = True) -> None:
        evaluations = of_one_set(evaluations)
        super().__init__(systems=[one.pipeline.name for one in evaluations[:2]])
        self._by_system = {one.pipeline.name: one for one in evaluations}
        self._all = {one.system: one for one in survivals(evaluations, index)}
        asked = [one.question.question for one in evaluations[0].asked]
        self.options = {
            "systems": list(self._all),
            "kind": [ALL, *evaluations[0].by_kind],
            "question": ["", *asked],
            "system": ["", *self._all],
        }
        self.begin(link)

    def choice(self, changed: set[str]) -> dict[str, Any]:
        """A question of the chart selects its file too."""
        every = (one.question for one in next(iter(self._all.values())).survivors)
        found = next((one for one in every if one.question == self.question), None)
        file = {"file": found.target} if found and "question" in changed else {}
        return super().choice(changed) | file

    @property
    def facts(self) -> Mapping[str, Any]:
        asked = [one.question for one in next(iter(self._all.values())).survivors]
        return {
            "steps": [step.description for step in SurvivalStep], "lost": ["", *LOST.values()],
            "kinds": self.options["kind"],
            "questions": [{"question": one.question, "kind": one.kind} for one in asked],
            "systems": [
                {
                    "system": name,
                    "reached": [int(each.reached) for each in one.survivors],
                    "rescued": [each.rescued for each in one.survivors],
                    "source": "\n".join(pipeline_code(self._by_system[name].pipeline)),
                }
                for name, one in self._all.items()
            ],
        }  # fmt: skip

    @property
    def survivals(self) -> list[Survival]:
        """The numbers of the chosen systems for the chosen kind of question."""
        kind, chosen = self.kind, (self._all[name] for name in self._all if name in self.systems)
        return [one if kind == ALL else one.of_kind(kind) for one in chosen]

    @property
    def figure(self) -> figures.Figure:
        """The chart as a figure of plotly: to change, to save, and to reuse."""
        steps = [step.description for step in SurvivalStep]
        left = {one.system: [one.count(step) for step in SurvivalStep] for one in self.survivals}
        return figures.survival(left, steps)

    @property
    def traces(self) -> dict[str, list[Trace]]:
        """The searches of the chosen systems, one per question."""
        return {name: [one.trace for one in self._by_system[name].asked] for name in self.systems}

    @property
    def sentence(self) -> str:
        if not self.survivals:
            return "No system is chosen."
        return " ".join([*(_summary(one) for one in self.survivals), *self._of_the_question])

    @property
    def _of_the_question(self) -> list[str]:
        """What becomes of the selected question's target in each system, as one sentence, if it is known."""
        question = self.question
        ends = [
            f"{_end(one.reached)} in {survival.system}"
            for survival in self.survivals
            for one in survival.survivors
            if one.question.question == question
        ]
        return [f"The target of the selected question, “{question}”, is {', '.join(ends)}."] if ends else []

    def wanted(self, chosen: Selection) -> Mapping[str, Any]:
        """The selected system too, and the question, to say where it loses its target."""
        more = [chosen.system] if chosen.system in self._all and chosen.system not in self.systems else []
        known = chosen.question in self.options["question"]
        return {"systems": [*self.systems, *more], "question": chosen.question if known else ""}

    @property
    def table(self) -> Table:
        return Table(
            f"Questions whose target is left after each step ({self.kind})",
            ("step", *(one.system for one in self.survivals)),
            tuple((step.description, *(_left(one, step) for one in self.survivals)) for step in SurvivalStep),
        )

    @property
    def code(self) -> str:
        of_kind = "" if self.kind == ALL else f".of_kind({self.kind!r})"
        lines = [
            "import workbench as wb",
            "from workbench.measure.missed import SurvivalStep, survival",
            "",
            "left = {}",
        ]
        for one in self.survivals:
            lines += [
                "",
                *pipeline_code(self._by_system[one.system].pipeline),
                "[evaluation] = wb.evaluate(questions, [pipeline], index)",
                f"found = survival(evaluation, index){of_kind}",
                "left[pipeline.name] = [found.count(step) for step in SurvivalStep]",
            ]
        return "\n".join([*lines, "", "print(left)"])


def _left(survival: Survival, step: SurvivalStep) -> str:
    lost = len(survival.lost(step)) if step > SurvivalStep.ASKED else 0
    rescued = (
        f", {survival.rescued} of them rescued" if step is SurvivalStep.RETURNED and survival.rescued else ""
    )
    return f"{survival.count(step)}" + (f" ({lost} lost here)" if lost else "") + rescued


def _end(reached: SurvivalStep) -> str:
    return "returned" if reached is SurvivalStep.RETURNED else f"lost {LOST[SurvivalStep(reached + 1)]}"


def _summary(survival: Survival) -> str:
    asked, returned = survival.count(SurvivalStep.ASKED), survival.count(SurvivalStep.RETURNED)
    sentences = [f"{survival.system} returns the target of {returned} of {asked} questions"]
    if survival.rescued:
        sentences.append(f"{survival.rescued} of them score below the floor and were rescued")
    lost = {step: len(survival.lost(step)) for step in LOST}
    worst = max(LOST, key=lambda step: lost[step])
    if lost[worst]:
        sentences.append(f"most are lost {LOST[worst]}: {lost[worst]}")
    return "; ".join(sentences) + "."
