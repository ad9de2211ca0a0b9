"""The panel of fixes: what would save an answer. And the waterfall of blame between two systems."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import ipywidgets as w

from workbench.contracts import Index
from workbench.lab.cached_index import CachedIndex
from workbench.lab.diagnose.blame import Blame, blame
from workbench.lab.diagnose.diagnosis import Diagnosis, diagnose, verdict_text
from workbench.lab.questions import QuestionSet
from workbench.systems.registry import SYSTEMS, system
from workbench.views.diagnosis import QUESTIONS, becomes_text, share_text, signed
from workbench.views.figures.blame import (
    blame_figure,
    blame_updates,
    by_share,
    fixes_figure,
    fixes_updates,
)
from workbench.views.figures.style import live, restyle
from workbench.views.widgets.panel import Panel, Table
from workbench.views.widgets.question_panel import BOX, GIVEN, Asking, question_box
from workbench.views.widgets.selection import Link

SHIPPED = "openclaw-2026.2.13"
THREE_FIXES = f"{SHIPPED}+or+rrf+minmax"


class FixFinder(Asking):
    """What would save an answer: the causes and the best fixes for a question, a file and a system.

    `settings` are `question`, `target` and `system`. `diagnosis` is the page behind the figure, as
    `wb.diagnose` returns it. With `questions` the prices are over labelled questions.
    """

    name = "fix-finder"
    selects: Mapping[str, str] = MappingProxyType({"question": "question", "system": "system"})

    def __init__(
        self,
        index: Index,
        question: str,
        target: str,
        questions: QuestionSet | None = None,
        system: str = SHIPPED,
        link: Link = True,
    ) -> None:
        self._index, self._questions = CachedIndex(index), questions
        self.question = question_box(question)
        self.target = w.Dropdown(options=index.paths(), value=target, description="target", layout=dict(BOX))
        self.system = w.Dropdown(options=list(SYSTEMS), value=system, description="system", layout=dict(BOX))
        self.controls = {"question": self.question, "target": self.target, "system": self.system}
        self.look()
        self.figure = live(fixes_figure(self.diagnosis.fixes, self._names))
        self.watch()
        self.lay_out([self.question, self.target, self.system], self.figure, link)

    def look(self) -> None:
        self.diagnosis: Diagnosis = diagnose(
            self.question.value,
            system(self.system.value),
            self._index,
            self.target.value,
            questions=self._questions,
        )

    def draw(self) -> None:
        restyle(self.figure, fixes_updates(self.diagnosis.fixes, self._names))

    @property
    def _names(self) -> list[str]:
        return [f"{one.setting}: {becomes_text(one)}" for one in self.diagnosis.fixes]

    @property
    def finding(self) -> str:
        found = self.diagnosis
        told = [f"{found.target} is {found.explanation.fate}."]
        if found.causes:
            told.append(f"{QUESTIONS[found.goal.aim][0]}: {' and '.join(found.causes[0].where)}.")
        if not found.fixes:
            return " ".join([*told, "No single setting and no known change does it."])
        best = found.fixes[0]
        price = f"it wins {best.price.wins} answers and loses {best.price.losses}"
        proxy = " on the memory's own questions, which are only a proxy" if found.proxy else ""
        return " ".join([*told, f"The cheapest fix is {self._names[0]}: {price}{proxy}."])

    @property
    def table(self) -> Table:
        fixes = self.diagnosis.fixes
        rows = zip(self._names, fixes, strict=True)
        return Table(
            f"What would save {self.diagnosis.target}",
            ("fix", "verified", "hits", "unanswerable, nothing returned", "verdict"),
            tuple(
                (
                    name,
                    "yes" if fix.verified else "no",
                    f"{fix.price.before.hits} → {fix.price.after.hits}",
                    f"{fix.price.before.silences} → {fix.price.after.silences}",
                    verdict_text(fix),
                )
                for name, fix in rows
            ),
        )

    @property
    def code(self) -> str:
        labels = ", questions=questions" if self._questions is not None else ""
        return (
            f"{GIVEN}import workbench as wb\n\n"
            f"found = wb.diagnose({self.question.value!r}, wb.system({self.system.value!r}), index, "
            f"{self.target.value!r}{labels})\nwb.show(found)"
        )


class BlameChart(Panel):
    """How much of the difference between two systems each change has, as a waterfall.

    `settings` are `before` and `after`, two systems. `blame` are the numbers behind the figure, as `wb.blame`
    returns them. Two equal systems leave the last figure in place, and the sentence says so.
    """

    name = "blame-chart"

    def __init__(
        self,
        questions: QuestionSet,
        index: Index,
        before: str = SHIPPED,
        after: str = THREE_FIXES,
        link: Link = True,
    ) -> None:
        self._questions, self._index = questions, CachedIndex(index)
        self.before, self.after = (
            w.Dropdown(options=list(SYSTEMS), value=value, description=label, layout=dict(BOX))
            for label, value in (("before", before), ("after", after))
        )
        self.controls = {"before": self.before, "after": self.after}
        self.blame = self._computed()
        self.figure = live(blame_figure(self.blame))
        for control in self.controls.values():
            control.observe(self._changed, "value")
        self.lay_out([self.before, self.after], self.figure, link)

    def _computed(self) -> Blame:
        return blame(system(self.before.value), system(self.after.value), self._index, self._questions)

    def _changed(self, _: Any) -> None:
        if self.before.value != self.after.value:
            self.blame = self._computed()
            restyle(self.figure, *blame_updates(self.blame))
        self.tell()

    @property
    def sentence(self) -> str:
        if self.before.value == self.after.value:
            return "Choose two systems that differ. The figure still shows the last two."
        found = self.blame
        shares = ", ".join(f"{one.name} {share_text(one)}" for one in by_share(found))
        return (
            f"{found.other.name} has {signed(found.difference)} {found.measure} over {found.one.name} on "
            f"{found.questions} questions: {shares}. {found.verdict}."
        )

    @property
    def table(self) -> Table:
        return Table(
            f"Shares of the difference in {self.blame.measure}",
            ("change", "alone", "last", "share"),
            tuple(
                (one.name, signed(one.alone), signed(one.last), share_text(one))
                for one in by_share(self.blame)
            ),
        )

    @property
    def code(self) -> str:
        return (
            f"{GIVEN}import workbench as wb\n\n"
            f"one, other = wb.system({self.before.value!r}), wb.system({self.after.value!r})\n"
            "found = wb.blame(one, other, index, questions)\nwb.show(found)"
        )
