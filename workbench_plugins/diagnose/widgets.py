"""The lab's panels: what would save an answer, whose fault a difference is, and the map of a sweep."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import ipywidgets as w

from workbench.contracts import Index
from workbench.errors import InputError
from workbench.measure.blame import Blame, blame
from workbench.measure.evaluation import Share
from workbench.measure.paired import HITS, paired_values
from workbench.measure.questions import QuestionSet
from workbench.retrieval.index_adapters import CachedIndex
from workbench.retrieval.pipeline import Pipeline
from workbench.systems.registry import SYSTEMS, system
from workbench.views.blame import by_share, share_text, shares_table, signed
from workbench.views.figures.blame import blame_figure
from workbench.views.text import Table
from workbench.views.widgets.panel import Link, pipeline_code
from workbench_plugins.asking import BOX, GIVEN, LABEL, Arranged, Asking, question_box
from workbench_plugins.diagnose.diagnosis import Diagnosis, becomes_text, diagnose, fixes_table
from workbench_plugins.diagnose.figures import CHOSEN, chosen_updates, fixes_figure, fixes_updates, map_figure
from workbench_plugins.diagnose.sweep import Axis, Sweep, best, held_out, sweep
from workbench_plugins.drawn import live, restyle

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
            told.append(f"Cause: {' and '.join(found.causes[0].where)}.")
        if not found.fixes:
            return " ".join([*told, "No single setting and no known change does it."])
        best = found.fixes[0]
        price = f"it wins {best.price.wins} answers and loses {best.price.losses}"
        proxy = " on the memory's own questions, which are only a proxy" if found.proxy else ""
        return " ".join([*told, f"The cheapest fix is {self._names[0]}: {price}{proxy}."])

    @property
    def table(self) -> Table:
        """The fixes of the page, each with the verdict of the paired test."""
        found = fixes_table(self.diagnosis)
        rows = [(*row, fix.verdict) for row, fix in zip(found.rows, self.diagnosis.fixes, strict=True)]
        return Table(f"What would save {self.diagnosis.target}", [*found.columns, "verdict"], rows)

    @property
    def code(self) -> str:
        labels = ", questions=questions" if self._questions is not None else ""
        return (
            f"{GIVEN}import workbench as wb\n\n"
            f"found = wb.diagnose({self.question.value!r}, wb.system({self.system.value!r}), index, "
            f"{self.target.value!r}{labels})\nwb.show(found)"
        )


class BlameChart(Arranged):
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
            self.figure.show(blame_figure(self.blame))
        self.tell()

    @property
    def sentence(self) -> str:
        if self.before.value == self.after.value:
            return "Choose two systems that differ. The figure still shows the last two."
        found = self.blame
        shares = ", ".join(f"{one.name} {share_text(one)}" for one in by_share(found))
        return (
            f"{found.other.name} has {signed(found.difference)} {found.measure} over {found.one.name} on "
            f"{found.questions} questions: {shares}. Question by question: {found.verdict}."
        )

    @property
    def table(self) -> Table:
        return shares_table(self.blame)

    @property
    def code(self) -> str:
        return (
            f"{GIVEN}import workbench as wb\n\n"
            f"one, other = wb.system({self.before.value!r}), wb.system({self.after.value!r})\n"
            "found = wb.blame(one, other, index, questions)\nwb.show(found)"
        )


class SweepMap(Arranged):
    """A heat map of two parameters of a pipeline: the right answers at each setting, "now" and "best" marked.

    `axes` are two texts such as `floor.floor=0:0.5:11`. `settings` are the two parameters' names: a slider or
    a click on the map chooses a setting, and the sentence compares it with the pipeline as it is. `sweep` are
    the numbers behind the figure, as `wb.sweep` returns them. Raises InputError for another number of axes.
    """

    name = "sweep-map"

    def __init__(
        self,
        pipeline: Pipeline,
        axes: tuple[str, str],
        questions: QuestionSet,
        index: Index,
        link: Link = True,
    ) -> None:
        if isinstance(axes, str) or len(axes) != 2:
            raise InputError(
                "A map has two axes.", "Give two, such as floor.floor=0:0.5:11 and query.join=AND,OR."
            )
        self._texts = tuple(axes)
        self.sweep: Sweep = sweep(pipeline, axes, questions, index)
        start = self.sweep.settings[best(self.sweep)]
        self.controls = {
            one.name: _slider(one, value) for one, value in zip(self.sweep.axes, start, strict=True)
        }
        self.figure = live(map_figure(self.sweep))
        for control in self.controls.values():
            control.observe(self._changed, "value")
        self.lay_out(list(self.controls.values()), self.figure, link)

    @property
    def place(self) -> int:
        """The place of the chosen setting in `sweep.settings`."""
        return self.sweep.settings.index(tuple(one.value for one in self.controls.values()))

    @property
    def pipeline(self) -> Pipeline:
        """The pipeline at the chosen setting."""
        return self.sweep.with_setting(self.place)

    def _changed(self, _: Any) -> None:
        restyle(self.figure, chosen_updates(self.sweep.settings[self.place]))
        self.tell()

    def listen(self) -> None:
        """Chooses the setting that is clicked on the map."""
        self.figure.observers.append(self._pick)

    def _pick(self, point: Mapping[str, Any]) -> None:
        if point["type"] == "heatmap":
            for axis, value in zip(self.sweep.axes, (point["x"], point["y"]), strict=True):
                self.settings = {axis.name: _option(axis, value)}

    @property
    def sentence(self) -> str:
        found, place = self.sweep, self.place
        chosen = ", ".join(f"{name} {control.value}" for name, control in self.controls.items())
        verdict = paired_values(found.values[-1], found.values[place], found.measure)
        silent = found.silent[[-1, place]].astype(float)
        told = [
            f"{chosen}: {_score(found, place)}, {_silence(found.silence(place))}.",
            f"Now: {_score(found, -1)}, {_silence(found.silence(-1))}.",
            f"Compared with now, {found.measure}: {verdict}.",
        ]
        if silent.size:
            told.append(f"Unanswerable questions: {paired_values(*silent)}.")
        held = held_out(found)
        if held is not None and place == best(found):
            told.append(
                "These questions have chosen the best setting. On questions that did not choose, choosing "
                f"reaches {_mean(held.mean, found)}, {_silence(held.silent)}."
            )
        return " ".join(told)

    @property
    def table(self) -> Table:
        found = self.sweep
        rows = [("now", -1, found.now), ("best", best(found), found.settings[best(found)])]
        rows.append((CHOSEN, self.place, found.settings[self.place]))
        return Table(
            f"{found.pipeline.name}: {len(found.settings):,} settings",
            ("setting", *(one.name for one in found.axes), found.measure, "unanswerable, nothing returned"),
            tuple(
                (name, *setting, _score(found, place), _silence(found.silence(place)))
                for name, place, setting in rows
            ),
        )

    @property
    def code(self) -> str:
        lines = [
            "# `questions` and `index` are those that the widget was given.",
            "import workbench as wb",
            "",
            *pipeline_code(self.sweep.pipeline),
            f"found = wb.sweep(pipeline, {list(self._texts)!r}, questions, index)",
            f"print(found.score({self.place}), found.silence({self.place}))",
        ]
        return "\n".join(lines)


def _slider(axis: Axis, value: str) -> w.SelectionSlider:
    return w.SelectionSlider(
        options=axis.values,
        value=value,
        description=axis.name,
        style=LABEL,
        layout={"width": "29em"},
    )


def _option(axis: Axis, value: Any) -> str:
    """The value that a clicked place of the map stands for: plotly gives numbers for numbers."""
    same = (lambda one: float(one) == float(value)) if axis.is_number else (lambda one: one == value)
    return next(filter(same, axis.values))


def _score(sweep: Sweep, place: int) -> str:
    return _mean(sweep.score(place), sweep)


def _mean(mean: float, sweep: Sweep) -> str:
    count = sweep.values.shape[1]
    return f"{mean * count:.0f} of {count} hits" if sweep.measure == HITS else f"{sweep.measure} {mean:.3f}"


def _silence(share: Share) -> str:
    return (
        f"{share.hits} of {share.n} unanswerable questions without a result"
        if share.n
        else "no unanswerable question"
    )
