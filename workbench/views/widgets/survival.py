"""The survival chart: at which step of a search the right files are lost, system by system."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import ipywidgets as w
import plotly.graph_objects as go

from workbench.contracts import Index
from workbench.errors import InputError
from workbench.measure.evaluation import Evaluation
from workbench.measure.missed import Survival, SurvivalStep, survivals
from workbench.records import Trace
from workbench.views.figures.style import BLUE, GREEN, INK, ORANGE, PURPLE, SKY, VERMILION, dress, live
from workbench.views.text import Table
from workbench.views.widgets.panel import Link, Panel, Selection, pipeline_code

COLOURS = (BLUE, ORANGE, GREEN, PURPLE, SKY, VERMILION)
PATTERNS = ("", "/", "x", ".", "-", "+", "|", "\\")


def survival_figure(survivals: Sequence[Survival], chosen: Sequence[str] | None = None) -> go.Figure:
    """One bar per step and system: the number of questions whose target is left, written on top.

    `chosen` names the systems to show; by default all.
    """
    figure = go.Figure()
    for place, one in enumerate(survivals):
        counts = [one.count(step) for step in SurvivalStep]
        pattern = {"shape": PATTERNS[place % len(PATTERNS)], "fgcolor": "white", "size": 6, "solidity": 0.2}
        figure.add_bar(
            name=one.system, x=[step.says.replace(" ", "<br>", 1) for step in SurvivalStep], y=counts,
            text=counts, visible=chosen is None or one.system in chosen,
            textposition="outside", cliponaxis=False, textfont={"color": INK},
            marker={"color": COLOURS[place % len(COLOURS)], "pattern": {**pattern, "fillmode": "overlay"}},
            hovertemplate="%{x}: %{y}<extra>%{fullData.name}</extra>",
        )  # fmt: skip
    dress(figure, height=420)
    figure.update_layout(
        barmode="group",
        bargap=0.2,
        showlegend=True,
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom"},
    )
    most = max((len(one.survivors) for one in survivals), default=1)
    figure.update_yaxes(title_text="questions whose target is left", range=[0, most * 1.12])
    figure.update_xaxes(title_text="step of the search")
    return figure


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


class SurvivalChart(Panel):
    """How many targets are left after each step of the search, for the chosen systems.

    `settings` are `systems` (which are shown) and `kind` (which questions count). `survivals` are the numbers
    behind the figure, one entry per chosen system; `lost` lists the questions lost at a step, and `traces`
    returns the searches. Raises InputError if there is no evaluation.
    """

    name = "survival-chart"

    def __init__(self, evaluations: Sequence[Evaluation], index: Index, link: Link = True) -> None:
        if not evaluations:
            raise InputError("The survival chart got no evaluation.", "Pass the result of evaluate().")
        self._by_system = {one.pipeline.name: one for one in evaluations}
        self._all = {one.system: one for one in survivals(evaluations, index)}
        names = list(self._all)
        self.systems = w.SelectMultiple(
            options=names, value=names[:2], description="systems", rows=min(6, len(names)),
            layout={"width": "32em"},
        )  # fmt: skip
        self.kind = w.Dropdown(options=[ALL, *evaluations[0].by_kind], description="questions")
        self.controls = {"systems": self.systems, "kind": self.kind}
        self.figure = live(survival_figure(list(self._all.values()), self.systems.value))
        for control in (self.systems, self.kind):
            control.observe(self._changed, "value")
        self.lay_out([self.systems, self.kind], self.figure, link)

    @property
    def survivals(self) -> list[Survival]:
        """The numbers of the chosen systems for the chosen kind of question."""
        return [one for one in self._of_kind if one.system in self.systems.value]

    @property
    def _of_kind(self) -> list[Survival]:
        kind = self.kind.value
        return [one if kind == ALL else one.of_kind(kind) for one in self._all.values()]

    @property
    def traces(self) -> dict[str, list[Trace]]:
        """The searches of the chosen systems, one per question."""
        return {name: [one.trace for one in self._by_system[name].asked] for name in self.systems.value}

    @property
    def sentence(self) -> str:
        if not self.survivals:
            return "No system is chosen."
        return " ".join([*(_told(one) for one in self.survivals), *self._of_the_question])

    @property
    def _of_the_question(self) -> list[str]:
        """What becomes of the selected question's target in each system, as one sentence, if it is known."""
        question = self.selection.question
        ends = [
            f"{_end(one.reached)} in {survival.system}"
            for survival in self.survivals
            for one in survival.survivors
            if one.question.question == question
        ]
        return [f"The target of the selected question, “{question}”, is {', '.join(ends)}."] if ends else []

    def follow(self, chosen: Selection) -> None:
        """Shows the selected system too, and says where the selected question loses its target."""
        if chosen.system in self._all and chosen.system not in self.systems.value:
            self.systems.value = (*self.systems.value, chosen.system)
        self.tell()

    def picked(self, name: str, point: int) -> Mapping[str, Any]:
        """A bar selects its system, and the next of the questions that are lost at its step."""
        lost = self._shown(name).lost(SurvivalStep(point)) if point else []
        if not lost:
            return {"system": name}
        asked = next((n for n, one in enumerate(lost) if one.question == self.selection.question), -1)
        following = lost[(asked + 1) % len(lost)]
        return {"system": name, "question": following.question, "file": following.target}

    def _shown(self, system: str) -> Survival:
        return next(one for one in self.survivals if one.system == system)

    @property
    def table(self) -> Table:
        return Table(
            f"Questions whose target is left after each step ({self.kind.value})",
            ("step", *(one.system for one in self.survivals)),
            tuple((step.says, *(_left(one, step) for one in self.survivals)) for step in SurvivalStep),
        )

    @property
    def code(self) -> str:
        pipelines = [self._by_system[one.system].pipeline for one in self.survivals]
        of_kind = "" if self.kind.value == ALL else f".of_kind({self.kind.value!r})"
        lines = [
            "import workbench as wb",
            "from workbench.measure.missed import SurvivalStep, survival",
            "",
            "left = {}",
        ]
        for pipeline in pipelines:
            lines += [
                "",
                *pipeline_code(pipeline),
                "[evaluation] = wb.evaluate(questions, [pipeline], index)",
                f"found = survival(evaluation, index){of_kind}",
                "left[pipeline.name] = [found.count(step) for step in SurvivalStep]",
            ]
        return "\n".join([*lines, "", "print(left)"])

    def _changed(self, _: Any) -> None:
        self.figure.show(survival_figure(self._of_kind, self.systems.value))
        self.tell()


def _left(survival: Survival, step: SurvivalStep) -> str:
    lost = len(survival.lost(step)) if step > SurvivalStep.ASKED else 0
    rescued = (
        f", {survival.rescued} of them rescued" if step is SurvivalStep.RETURNED and survival.rescued else ""
    )
    return f"{survival.count(step)}" + (f" ({lost} lost here)" if lost else "") + rescued


def _end(reached: SurvivalStep) -> str:
    return "returned" if reached is SurvivalStep.RETURNED else f"lost {LOST[SurvivalStep(reached + 1)]}"


def _told(survival: Survival) -> str:
    asked, returned = survival.count(SurvivalStep.ASKED), survival.count(SurvivalStep.RETURNED)
    told = [f"{survival.system} returns the target of {returned} of {asked} questions"]
    if survival.rescued:
        told.append(f"{survival.rescued} of them score below the floor and were rescued")
    lost = {step: len(survival.lost(step)) for step in LOST}
    worst = max(LOST, key=lambda step: lost[step])
    if lost[worst]:
        told.append(f"most are lost {LOST[worst]}: {lost[worst]}")
    return "; ".join(told) + "."
