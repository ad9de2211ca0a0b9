"""The lab's panels: what would save an answer, whose fault a difference is, and the map of a sweep."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import traitlets

from workbench import figures
from workbench.contracts import Index
from workbench.errors import InputError
from workbench.measure.blame import Blame, blame, signed_text
from workbench.measure.measures import HITS, Share
from workbench.measure.paired import paired_values
from workbench.measure.questions import QuestionSet, check_questions
from workbench.retrieval.index_adapters import CachedIndex
from workbench.retrieval.pipeline import Pipeline
from workbench.systems.catalogue import SYSTEMS, system
from workbench.systems.openclaw import SHIPPED, THREE_FIXES
from workbench.tables import Table
from workbench.views.living.as_code import GIVEN, pipeline_code
from workbench.views.living.notebook import Widget
from workbench.views.living.selection import Link
from workbench.views.living.state import RefusedError, setting
from workbench_plugins.diagnose.diagnosis import diagnose
from workbench_plugins.diagnose.page import Diagnosis, becomes_text, fixes_table
from workbench_plugins.diagnose.sweep import Sweep, best, held_out, sweep

MOST_TOLD = 1_000
"""A map gets the words of so many settings at once."""


class FixFinder(Widget):
    """What would save an answer: the causes and the best fixes for a question, a file and a system.

    `settings` are `question`, `target` and `system`. `diagnosis` is the page behind the picture, as
    `diagnose` returns it. With `questions` the prices are over labelled questions.
    """

    name, view, main, asks = "fix-finder", "figure", "question", ("question", "target", "system")
    selects: Mapping[str, str] = MappingProxyType({"question": "question", "system": "system"})

    question = setting(traitlets.Unicode())
    target = setting(traitlets.Unicode())
    system = setting(traitlets.Unicode())
    diagnosis: Diagnosis

    def __init__(
        self,
        index: Index,
        question: str,
        target: str,
        questions: QuestionSet | None = None,
        system: str = SHIPPED.name,
        link: Link = True,
    ) -> None:
        if questions is not None:
            check_questions(questions)
        super().__init__(question=question, target=target, system=system)
        self._index, self._questions = CachedIndex(index), questions
        self.options = {"target": list(index.paths()), "system": list(SYSTEMS)}
        self.begin(link)

    def look(self) -> None:
        self.diagnosis = diagnose(
            self.question, system(self.system), self._index, self.target, questions=self._questions
        )

    @property
    def facts(self) -> Mapping[str, Any]:
        return self.words | {
            "label": "fix finder",
            "choices": {"system": self.options["system"]},
            "offered": {"target": self.options["target"]},
            "figure": self.figure.spec if self.diagnosis.fixes else None,
            "empty": "No fix was found.",
        }  # fmt: skip

    @property
    def figure(self) -> figures.Figure:
        """What each fix wins and loses as a figure of plotly. Raises InputError if no fix was found."""
        return self.diagnosis.plot()

    @property
    def sentence(self) -> str:
        found = self.diagnosis
        sentences = [f"{found.target} is {found.explanation.fate}."]
        if found.causes:
            sentences.append(f"Cause: {' and '.join(found.causes[0].where)}.")
        if not found.fixes:
            return " ".join([*sentences, "No single setting and no known change does it."])
        best = found.fixes[0]
        price = f"it wins {best.price.wins} answers and loses {best.price.losses}"
        proxy = " on the memory's own questions, which are only a proxy" if found.proxy else ""
        name = f"{best.setting}: {becomes_text(best)}"
        return " ".join([*sentences, f"The cheapest fix is {name}: {price}{proxy}."])

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
            f"{GIVEN}import workbench as wb\n"
            "from workbench_plugins.diagnose.diagnosis import diagnose\n\n"
            f"found = diagnose({self.question!r}, wb.system({self.system!r}), index, "
            f"{self.target!r}{labels})\nwb.show(found)"
        )


class BlameChart(Widget):
    """How much of the difference between two systems each change has, as a waterfall.

    `settings` are `before` and `after`, two systems. `blame` are the numbers behind the picture, as
    `wb.blame` returns them. Raises InputError for two systems that do not differ; the last ones stay.
    """

    name, view, main, asks = "blame-chart", "figure", "after", ("before", "after")

    before = setting(traitlets.Unicode())
    after = setting(traitlets.Unicode())
    blame: Blame

    def __init__(
        self,
        questions: QuestionSet,
        index: Index,
        before: str = SHIPPED.name,
        after: str = THREE_FIXES.name,
        link: Link = True,
    ) -> None:
        check_questions(questions)
        super().__init__(before=before, after=after)
        self._questions, self._index = questions, CachedIndex(index)
        self.options = {name: list(SYSTEMS) for name in self.asks}
        self.begin(link)

    def look(self) -> None:
        if self.before == self.after:
            raise InputError("The two systems are the same.", "Choose two systems that differ.")
        one, other = system(self.before), system(self.after)
        self.blame = blame(one, other, self._index, self._questions)

    @property
    def facts(self) -> Mapping[str, Any]:
        return self.words | {"label": "blame chart", "choices": self.options, "figure": self.figure.spec}

    @property
    def figure(self) -> figures.Figure:
        """The waterfall as a figure of plotly: each change begins where the one before ends."""
        found = self.blame
        return figures.waterfall(
            (found.one.name, float(found.before)),
            {one.name: float(one.share) for one in found.by_share},
            (found.other.name, float(found.after)),
            found.measure,
        )

    @property
    def sentence(self) -> str:
        found = self.blame
        shares = ", ".join(f"{one.name} {one.share_text}" for one in found.by_share)
        return (
            f"{found.other.name} has {signed_text(found.difference)} {found.measure} over "
            f"{found.one.name} on {found.questions} questions: {shares}. "
            f"Question by question: {found.verdict}."
        )

    @property
    def table(self) -> Table:
        return self.blame.shares_table()

    @property
    def code(self) -> str:
        return (
            f"{GIVEN}import workbench as wb\n\n"
            f"one, other = wb.system({self.before!r}), wb.system({self.after!r})\n"
            "found = wb.blame(one, other, index, questions)\nwb.show(found)"
        )


class SweepMap(Widget):
    """A heat map of two parameters of a pipeline: the right answers at each setting, "now" and "best" marked.

    `axes` are two texts such as `floor.floor=0:0.5:11`. `chosen` has the value of each parameter: a slider or
    a click on the map chooses a setting, and the sentence compares it with the pipeline as it is. `sweep` are
    the numbers behind the picture, as `sweep` returns them. A map of more than MOST_TOLD settings asks for
    the words of each. Raises InputError for another number of axes.
    """

    name, view, main = "sweep-map", "sweep", "chosen"

    chosen = setting(traitlets.Dict(help="a value for each parameter, by its name"))
    sweep: Sweep

    def __init__(
        self,
        pipeline: Pipeline,
        axes: tuple[str, str],
        questions: QuestionSet,
        index: Index,
        link: Link = True,
    ) -> None:
        if not isinstance(axes, list | tuple) or len(axes) != 2:
            raise InputError(
                "A map has two axes.", "Give two, such as floor.floor=0:0.5:11 and query.join=AND,OR."
            )
        super().__init__()
        self._texts = tuple(axes)
        self.sweep = sweep(pipeline, axes, questions, index)
        start = self.sweep.settings[best(self.sweep)]
        self.chosen = {one.name: value for one, value in zip(self.sweep.axes, start, strict=True)}
        self.asks = ("chosen",) if len(self.sweep.settings) > MOST_TOLD else ()
        self.begin(link)

    @property
    def settings(self) -> dict[str, Any]:
        """The chosen value of each parameter. You can set one of them, or both."""
        return dict(self.chosen)

    @settings.setter
    def settings(self, values: Mapping[str, Any]) -> None:
        self.take({"chosen": {**self.chosen, **values}})

    def check(self, name: str) -> None:
        """Raises RefusedError for a parameter or a value that the sweep does not have."""
        axes = {one.name: one.values for one in self.sweep.axes}
        if missing := [name for name in axes if name not in self.chosen]:
            raise RefusedError(f"{missing[0]} has no value.", f"Give a value for {' and for '.join(axes)}.")
        for name, value in self.chosen.items():
            if name not in axes:
                raise RefusedError(f"The sweep has no parameter {name!r}.", f"It has {', '.join(axes)}.")
            if value not in axes[name]:
                raise RefusedError(f"{name} cannot be {value!r}.", f"Choose one of: {', '.join(axes[name])}.")

    @property
    def setting_number(self) -> int:
        """The place of the chosen setting in `sweep.settings`."""
        return self.sweep.settings.index(tuple(self.chosen[one.name] for one in self.sweep.axes))

    @property
    def pipeline(self) -> Pipeline:
        """The pipeline at the chosen setting."""
        return self.sweep.with_setting(self.setting_number)

    @property
    def facts(self) -> Mapping[str, Any]:
        found, every = self.sweep, range(len(self.sweep.settings))
        numbers = [self.setting_number] if self.asks else every
        return self.words | {
            "axes": [{"name": one.name, "values": one.values} for one in found.axes],
            "settings": found.settings,
            "figure": self.figure.spec,
            "told": {str(number): self._setting_text(number) for number in numbers},
            "scores": [_score(found, number) for number in every],
            "silences": [_silence(found.silence(number)) for number in every],
            "code": self._code("@place@"),
        }

    @property
    def figure(self) -> figures.Figure:
        """The map as a figure of plotly: the right answers of each setting."""
        return self.sweep.plot()

    @property
    def sentence(self) -> str:
        return self._setting_text(self.setting_number)

    def _setting_text(self, number: int) -> str:
        found = self.sweep
        chosen = ", ".join(
            f"{one.name} {v}" for one, v in zip(found.axes, found.settings[number], strict=True)
        )
        verdict = paired_values(found.values[-1], found.values[number], found.measure, found.files)
        silent = found.silent[[-1, number]].astype(float)
        lines = [
            f"{chosen}: {_score(found, number)}, {_silence(found.silence(number))}.",
            f"As it is: {_score(found, -1)}, {_silence(found.silence(-1))}.",
            f"The difference, {found.measure}: {verdict}.",
        ]
        if silent.size:
            lines.append(f"The difference, unanswerable questions: {paired_values(*silent)}.")
        if number == best(found) and (held := held_out(found)) is not None:
            lines.append(
                "These questions chose this setting. With settings that other questions chose: "
                f"{_mean(held.mean, found)}, {_silence(held.silent)}."
            )
        return "\n".join(lines)

    @property
    def table(self) -> Table:
        found = self.sweep
        rows = [("as it is", -1, found.now), ("best", best(found), found.settings[best(found)])]
        rows.append(("chosen", self.setting_number, found.settings[self.setting_number]))
        return Table(
            f"{found.pipeline.name}: {len(found.settings):,} settings",
            ("setting", *(one.name for one in found.axes), found.measure, "unanswerable, nothing returned"),
            tuple(
                (name, *setting, _score(found, number), _silence(found.silence(number)))
                for name, number, setting in rows
            ),
        )

    @property
    def code(self) -> str:
        return self._code(str(self.setting_number))

    def _code(self, number: str) -> str:
        lines = [
            "# `questions` and `index` are those that the widget was given.",
            "import workbench as wb",
            "from workbench_plugins.diagnose.sweep import sweep",
            "",
            *pipeline_code(self.sweep.pipeline),
            f"found = sweep(pipeline, {list(self._texts)!r}, questions, index)",
            f"print(found.score({number}), found.silence({number}))",
        ]
        return "\n".join(lines)


def _score(sweep: Sweep, number: int) -> str:
    return _mean(sweep.score(number), sweep)


def _mean(mean: float, sweep: Sweep) -> str:
    count = sweep.values.shape[1]
    return f"{mean * count:.0f} of {count} hits" if sweep.measure == HITS else f"{sweep.measure} {mean:.3f}"


def _silence(share: Share) -> str:
    if not share.n:
        return "no unanswerable question"
    return f"{share.hits} of {share.n} unanswerable questions without a result"
