"""The fusion lab: two lists, a fusion method with its weights, and a floor on the fused scores.

The page fuses with the formulas that Python used. Here are the same numbers as text.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from workbench.contracts import Index
from workbench.errors import InputError
from workbench.records import Candidate, Trace
from workbench.retrieval.columns import Columns, Names, parameters
from workbench.retrieval.formula_export import as_data, said, symbolic
from workbench.retrieval.fusion import Fusion
from workbench.retrieval.index_adapters import CachedIndex
from workbench.retrieval.pipeline import Pipeline, search
from workbench.tables import ABSENT, Table, apart
from workbench.views.living.controls import Choice, Control, Span, Text
from workbench.views.widgets.panel import Link, Selection, number_text
from workbench.views.widgets.question_widget import QuestionWidget
from workbench_plugins.engines.lists import LEGS
from workbench_plugins.engines.presets import (
    ENGINES,
    PIPELINES,
    Engine,
    FusedHit,
    LegPart,
    fuse,
    two_legs,
)
from workbench_plugins.engines.whose_fusion import EXAMPLE, Lists, lists_of, named_candidates, place_text

# The sliders: the label, the ends, and the step.
PARAMETERS = {
    "keyword": ("keyword weight", 0.0, 2.0, 0.05),
    "vector": ("vector weight", 0.0, 2.0, 0.05),
    "k": ("k", 0.0, 100.0, 1.0),
    "share": ("bonus share", 0.0, 1.0, 0.05),
}
NOTHING = "nothing"


class FusionLab(QuestionWidget):
    """Fuses two lists with any engine's method; sliders set its weights and constants, and a floor.

    `settings` are `method`, `min_score`, `watch`, `chunk` (the name of the selected candidate), and those of
    `keyword`, `vector`, `k` and `share` that the method has. With an `index`, the lists are the hits of the
    legs for `question`, which is a setting too; `trace` is then the search with this fusion. Without an
    index, they are `lists`: the scores of the vector leg by id, and those of the keyword leg; larger is
    better. `places` are the candidates, best first.

    By default, `min_score` is OpenClaw's 0.35, or half of the best score if no candidate would pass 0.35.
    It stays when you choose another method. A `watch`ed file stays chosen when a question does not bring it.
    """

    name, view = "fusion-lab", "fusion"
    _candidates: Mapping[str, Candidate]

    def __init__(
        self,
        lists: Lists = EXAMPLE,
        index: Index | None = None,
        question: str = "",
        watch: str = NOTHING,
        method: str = "rrf-60",
        min_score: float | None = None,
        link: Link = True,
    ) -> None:
        self._index = None if index is None else CachedIndex(index)
        self.selects = {} if index is None else {"question": "question", "watch": "file"}
        self.asks = () if index is None else ("question",)
        self.lists, self._candidates = lists, {}
        self.question, self.method = Text(value=question), Choice(tuple(ENGINES), "rrf-60")
        self.question.disabled = index is None
        self.watched_file, self.chunk = Choice((NOTHING,), NOTHING), Control(value="")
        self.numbers = {name: Span(low, high, step, low) for name, (_, low, high, step) in PARAMETERS.items()}
        self.floor = Span(0.0, 1.0, 0.005, 0.35)
        self.controls = {
            "question": self.question, "method": self.method, **self.numbers, "min_score": self.floor,
            "watch": self.watched_file, "chunk": self.chunk,
        }  # fmt: skip
        self.method.observe(self._take_over_parameters, "value")
        self._take_over_parameters(None)
        self.open(link)
        self.chunk.observe(self._picked, "value")
        self.settings = {"method": method, "watch": watch}
        self.settings = {"min_score": self._first_floor if min_score is None else min_score}

    def look(self) -> None:
        """Asks both legs, and keeps a file to watch that no list has now: another question may."""
        if self._index is not None:
            self._candidates = named_candidates(self.question.value, self._index)
            self.lists = lists_of(self._candidates)
        self._offer(self.watched_file.value)

    def _offer(self, kept: str) -> None:
        files = sorted({_watch_name(name) for name in (*self.lists[0], *self.lists[1])})
        self.watched_file.options = tuple(dict.fromkeys([NOTHING, *files, kept]))

    @property
    def facts(self) -> Mapping[str, Any]:
        ids, of = two_legs(*self.lists)
        return {
            "asks": self._index is not None,
            "lists": {
                "ids": ids,
                "ties": list(range(len(ids))),
                "columns": {name: _nulls(column) for name, column in of.values.items()},
            },
            "methods": [written_method(one, of) for one in ENGINES.values()],
            "watch": self.watched_file.options,
            "code": self._code("@method@", "@numbers@", "@min_score@"),
        }

    @property
    def _first_floor(self) -> float:
        """OpenClaw's floor, 0.35, or half of the best score if no candidate would pass it."""
        best = max((one.score for one in self.places), default=1.0)
        half = max(0.0, best) / 2
        return self.floor.value if best >= self.floor.value else half - half % self.floor.step

    @property
    def fusion(self) -> Fusion:
        """The method with the current values of its sliders."""
        return replace(ENGINES[self.method.value].fusion, **self._parameters)

    @property
    def places(self) -> list[FusedHit]:
        """The candidates, best first."""
        return fuse(self.fusion, *self.lists)

    @property
    def _parameters(self) -> dict[str, float]:
        return {name: one.value for name, one in self.numbers.items() if not one.disabled}

    @property
    def pipeline(self) -> Pipeline:
        """The engines' legs with this fusion and this floor."""
        fused = PIPELINES[0].with_stage(self.fusion).asking(min_score=self.floor.value)
        return replace(fused, name=f"engine-{self.method.value}")

    @property
    def trace(self) -> Trace:
        """The search for the question with this fusion. Raises InputError if two lists were given."""
        if self._index is None:
            raise InputError(
                "This fusion lab shows two given lists, not a search.", "Give it an index and a question."
            )
        return search(self.question.value, self.pipeline, self._index)

    def follow(self, chosen: Selection) -> None:
        """Fuses the lists of the selected question, watches the selected file, and marks the chunk."""
        if self._index is None:
            return
        if chosen.question:
            self.question.value = chosen.question
        if chosen.file:
            self._offer(chosen.file)
            self.watched_file.value = chosen.file
            self.tell()
        marked = (name for name, one in self._candidates.items() if chosen.covers(one.chunk))
        self.chunk.value = next(marked, "")

    def _picked(self, change: Any) -> None:
        """A candidate's mark selects its chunk and its question."""
        if not self._apart and change["new"] in self._candidates:
            chunk = self._candidates[change["new"]].chunk
            self.selection.choose(question=self.question.value, chunk=chunk)

    def _chosen(self, what: str, change: Any) -> None:
        if change["new"] != NOTHING:
            super()._chosen(what, change)

    @property
    def finding(self) -> str:
        places, floor = self.places, self.floor.value
        if not places:
            return "Neither list has a candidate."
        passing = sum(one.score >= floor for one in places)
        ties = {one.first for one in places if one.tied}
        leaders, best = [one.id for one in places if one.first == 1], places[0].score
        told = [
            f"{self.method.value}: {self.fusion.description}.",
            f"{' = '.join(leaders)} {'is' if len(leaders) == 1 else 'are'} first with {best:.4g}.",
            f"{len(ties)} ties." if len(ties) != 1 else "One tie.",
            f"{passing} of {len(places)} candidates pass {number_text(floor, 0.01)}.",
        ]
        return " ".join([*told, *self._of_the_watched])

    @property
    def _of_the_watched(self) -> list[str]:
        """What becomes of the watched file's best chunk, as one sentence, if a file is watched."""
        watched = self.watched_file.value
        if watched == NOTHING:
            return []
        best = next((one for one in self.places if _watch_name(one.id) == watched), None)
        return [_told(best, self.floor.value) if best else f"{watched} is in neither list."]

    @property
    def table(self) -> Table:
        legs = [name for leg in ("keyword", "vector") for name in (f"{leg} rank", "score", "gives")]
        return Table(
            f"{self.method.value}: all candidates, best first",
            ("candidate", "place", *legs, "fused score", f"floor {number_text(self.floor.value, 0.01)}"),
            tuple(self._row(one) for one in self.places),
        )

    def _row(self, one: FusedHit) -> tuple[str, ...]:
        fate = "passes" if one.score >= self.floor.value else "dropped"
        return (one.id, place_text(one), *_cells(one.keyword), *_cells(one.vector), f"{one.score:.4f}", fate)

    @property
    def code(self) -> str:
        numbers = "".join(f", {name}={value!r}" for name, value in self._parameters.items())
        return self._code(self.method.value, numbers, repr(self.floor.value))

    def _code(self, method: str, numbers: str, floor: str) -> str:
        needed = ["from workbench_plugins.engines.whose_fusion import legs_of"] if self._index else []
        lists = (
            [f"vector, keyword = legs_of({self.question.value!r}, index)"]
            if self._index
            else [f"vector = {dict(self.lists[0])!r}", f"keyword = {dict(self.lists[1])!r}"]
        )
        return "\n".join(
            [
                "from dataclasses import replace",
                "",
                *needed,
                "from workbench_plugins.engines.presets import ENGINES, fuse",
                "",
                *lists,
                f"fusion = replace(ENGINES['{method}'].fusion{numbers})",
                "hits = fuse(fusion, vector, keyword)",
                "for hit in hits:",
                f"    print(hit.id, hit.score, hit.score >= {floor})",
            ]
        )

    def _take_over_parameters(self, _: Any) -> None:
        """Sets the sliders to the method's default values, and disables those that it does not have."""
        fusion = ENGINES[self.method.value].fusion
        for name, number in self.numbers.items():
            value, low, high, _ = _span(fusion, name)
            number.disabled = value is None
            number.span(low, high, number.step)
            number.value = low if value is None else value


def _span(fusion: Fusion, name: str) -> tuple[float | None, float, float, float]:
    """A parameter's own value, None if the fusion lacks it, and the ends and the step of its slider."""
    _, low, high, step = PARAMETERS[name]
    return parameters(fusion).get(name), max(low, fusion.ranges.get(name, (low, high))[0]), high, step


def written_method(engine: Engine, of: Columns) -> dict[str, Any]:
    """A method for the page: its formulas, or the numbers themselves where a formula cannot be written."""
    fusion, moved = engine.fusion, {}
    score, parts = _nulls(fusion.formula(of)), [_nulls(one) for one in fusion.contributions(of)]
    with suppress(InputError, TypeError):
        names = Names(of.values)
        named: Any = symbolic(fusion, names)
        score, parts = as_data(named.formula(names)), [as_data(one) for one in named.contributions(names)]
        moved = {name: span for name in PARAMETERS if (span := _span(fusion, name))[0] is not None}
    return {
        "name": engine.name,
        "says": said(fusion),
        "own": {name: one for name, one in parameters(fusion).items() if isinstance(one, int | float)},
        "formula": score,
        "parts": dict(zip(LEGS, parts, strict=True)),
        "parameters": {
            name: {"label": PARAMETERS[name][0], "value": value, "span": [low, high], "step": step}
            for name, (value, low, high, step) in moved.items()
        },
    }


def _nulls(column: Any) -> list[float | None]:
    return [None if np.isnan(value) else value for value in np.asarray(column, float).tolist()]


def _watch_name(name: str) -> str:
    """The choice that watches a candidate: its file, if its name is a place in a file."""
    return name.rpartition(":")[0] or name


def _cells(given: LegPart | None) -> tuple[str, str, str]:
    if given is None:
        return ABSENT, ABSENT, ABSENT
    return f"{given.rank}", f"{given.score:.4g}", f"{given.part:.4f}"


def _told(one: FusedHit, floor: float) -> str:
    score, least = apart(one.score, floor)
    fate = f"≥ {least}, it passes" if one.score >= floor else f"< {least}, it is dropped"
    return f"{one.id} is {place_text(one)}: {score} {fate}."
