"""The fusion lab: two lists, a fusion method with its weights, and a floor on the fused scores.

The page fuses with the formulas that Python used. Here are the same numbers as text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import traitlets

from workbench import figures
from workbench.contracts import Index
from workbench.errors import InputError
from workbench.records import Candidate, Trace
from workbench.retrieval.columns import Columns, Names, parameters
from workbench.retrieval.formula_export import as_data, symbolic, symbolic_description
from workbench.retrieval.fusion import Fusion
from workbench.retrieval.index_adapters import CachedIndex
from workbench.retrieval.pipeline import Pipeline, search
from workbench.tables import ABSENT, Table, apart
from workbench.views.living.as_code import number_text
from workbench.views.living.notebook import Widget
from workbench.views.living.selection import Link, Selection
from workbench.views.living.state import setting
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
from workbench_plugins.engines.whose_fusion import EXAMPLE, Lists, lists_of, named_candidates, rank_text

# The sliders: the label, the ends, and the step.
PARAMETERS = {
    "keyword": ("keyword weight", 0.0, 2.0, 0.05),
    "vector": ("vector weight", 0.0, 2.0, 0.05),
    "k": ("k", 0.0, 100.0, 1.0),
    "share": ("bonus share", 0.0, 1.0, 0.05),
}
NOTHING = "nothing"
OPENCLAW, STEP = 0.35, 0.005
"""OpenClaw's floor, and the step of the slider."""


class FusionLab(Widget):
    """Fuses two lists with any engine's method; sliders set its weights and constants, and a floor.

    `settings` are `method`, `min_score`, `watch`, `chunk` (the name of the selected candidate), and those of
    `keyword`, `vector`, `k` and `share` that the method has. With an `index`, the lists are the hits of the
    legs for `question`, which is a setting too; `trace` is then the search with this fusion. Without an
    index, they are `lists`: the scores of the vector leg by id, and those of the keyword leg; larger is
    better. `ranking` has the candidates, best first.

    At first, `min_score` is OpenClaw's 0.35, or half of the best score if no candidate would pass 0.35.
    It stays when you choose another method. A `watch`ed file stays chosen when a question does not bring it.
    """

    name, view, main = "fusion-lab", "fusion", "min_score"
    _candidates: Mapping[str, Candidate]

    question = setting(traitlets.Unicode())
    method = setting(traitlets.Unicode("rrf-60"))
    keyword = setting(traitlets.Float())
    vector = setting(traitlets.Float())
    k = setting(traitlets.Float())
    share = setting(traitlets.Float())
    min_score = setting(traitlets.Float(0.35))
    watch = setting(traitlets.Unicode(NOTHING))
    chunk = setting(traitlets.Unicode())

    def __init__(
        self,
        lists: Lists = EXAMPLE,
        index: Index | None = None,
        question: str = "",
        watch: str = NOTHING,
        method: str = "rrf-60",
        link: Link = True,
    ) -> None:
        if not isinstance(lists, Sequence) or len(lists) != 2:
            raise InputError("The fusion lab takes two lists.", "Give two: the scores of each leg by id.")
        two_legs(*lists)  # which refuses what is no list of scores
        super().__init__(question=question, **_own("rrf-60"))
        self._index = None if index is None else CachedIndex(index)
        self.selects = {} if index is None else {"question": "question", "watch": "file"}
        self.asks = () if index is None else ("question",)
        self._lists, self._candidates = lists, {}
        self._asked: str | None = None
        self.begin(link)
        self.take({"method": method, "watch": watch})
        self.take({"min_score": self._first_floor})

    @property
    def lists(self) -> Lists:
        """The scores of the vector leg by id, and those of the keyword leg."""
        return self._lists

    def following(self, before: Mapping[str, Any]) -> Mapping[str, Any]:
        """Another method comes with its own weights and constants."""
        return {} if self.method == before["method"] or self.method not in ENGINES else _own(self.method)

    def adapt(self) -> None:
        """Asks both legs for another question, and offers what the method and the lists have."""
        if self._index is not None and self._asked != self.question:
            self._candidates = named_candidates(self.question, self._index)
            self._lists, self._asked = lists_of(self._candidates), self.question
        files = {_watch_name(name) for name in (*self._lists[0], *self._lists[1])}
        self.set_trait("options", {"method": list(ENGINES), "watch": [NOTHING, *sorted(files)]})
        spans = _spans(self.method) if self.method in ENGINES else {}
        ends = {name: span[1:3] for name, span in spans.items()}
        self.set_trait("spans", {"min_score": [0.0, 1.0]} | ends)
        asked = [] if self._index is None else ["question"]
        self.set_trait("names", [*asked, "method", *spans, "min_score", "watch", "chunk"])

    def check(self, name: str) -> None:
        """Any file of the index can be watched: another question may bring it."""
        known = name == "watch" and self._index is not None and self.watch in self._index.paths()
        if not known:
            super().check(name)

    @property
    def facts(self) -> Mapping[str, Any]:
        ids, of = two_legs(*self.lists)
        return self.words | {
            "asks": self._index is not None,
            "lists": {
                "ids": ids,
                "ties": list(range(len(ids))),
                "columns": {name: _nulls(column) for name, column in of.values.items()},
            },
            "methods": [written_method(one, of) for one in ENGINES.values()],
            "watch": self.options["watch"],
            "code": self._code("@method@", "@numbers@", "@min_score@"),
        }

    @property
    def _first_floor(self) -> float:
        """OpenClaw's floor, 0.35, or half of the best score if no candidate would pass it."""
        best = max((one.score for one in self.ranking), default=1.0)
        half = max(0.0, best) / 2
        return OPENCLAW if best >= OPENCLAW else half - half % STEP

    @property
    def fusion(self) -> Fusion:
        """The method with the current values of its sliders."""
        return replace(ENGINES[self.method].fusion, **self._parameters)

    @property
    def ranking(self) -> list[FusedHit]:
        """The candidates, best first."""
        return fuse(self.fusion, *self.lists)

    @property
    def figure(self) -> figures.Figure:
        """The ranks in both legs and after the fusion as a figure of plotly."""
        vector, keyword = (sorted(leg, key=lambda one: (-leg[one], one)) for leg in self.lists)
        orders = {"keyword leg": keyword, self.method: [one.id for one in self.ranking], "vector leg": vector}
        watched = next((one.id for one in self.ranking if _watch_name(one.id) == self.watch), None)
        return figures.ranks(orders, watched)

    @property
    def _parameters(self) -> dict[str, float]:
        return {name: getattr(self, name) for name in _spans(self.method)}

    @property
    def pipeline(self) -> Pipeline:
        """The engines' legs with this fusion and this floor."""
        fused = PIPELINES[0].with_stage(self.fusion).asking(min_score=self.min_score)
        return replace(fused, name=f"engine-{self.method}")

    @property
    def trace(self) -> Trace:
        """The search for the question with this fusion. Raises InputError if two lists were given."""
        if self._index is None:
            raise InputError(
                "This fusion lab shows two given lists, not a search.", "Give it an index and a question."
            )
        return search(self.question, self.pipeline, self._index)

    def wanted(self, chosen: Selection) -> Mapping[str, Any]:
        """The lists of the selected question, and the selected file as the one to watch."""
        wanted = {"question": chosen.question, "watch": chosen.file}
        return {name: value for name, value in wanted.items() if value and self._index is not None}

    def shown(self, name: str) -> Iterable[str] | None:
        return {*self.lists[0], *self.lists[1]} if name == "chunk" else None

    def marked(self, chosen: Selection) -> str:
        """The selected chunk as the lists name it."""
        names = (name for name, one in self._candidates.items() if chosen.covers(one.chunk))
        return next(names, "")

    def choice(self, changed: set[str]) -> dict[str, Any]:
        """A candidate's mark selects its chunk and its question; to watch nothing selects nothing."""
        chosen = super().choice(changed)
        if chosen.get("file") == NOTHING:
            del chosen["file"]
        if "chunk" in changed and self.chunk in self._candidates:
            chosen |= {"question": self.question, "chunk": self._candidates[self.chunk].chunk}
        return chosen

    @property
    def sentence(self) -> str:
        ranking, floor = self.ranking, self.min_score
        if not ranking:
            return "Neither list has a candidate."
        passing = sum(one.score >= floor for one in ranking)
        ties = {one.first for one in ranking if one.tied}
        leaders, best = [one.id for one in ranking if one.first == 1], ranking[0].score
        told = [
            f"{self.method}: {self.fusion.description}.",
            f"{' = '.join(leaders)} {'is' if len(leaders) == 1 else 'are'} first with {best:.4g}.",
            f"{len(ties)} ties." if len(ties) != 1 else "One tie.",
            f"{passing} of {len(ranking)} candidates pass {number_text(floor, 0.01)}.",
        ]
        return " ".join([*told, *self._of_the_watched])

    @property
    def _of_the_watched(self) -> list[str]:
        """What becomes of the watched file's best chunk, as one sentence, if a file is watched."""
        watched = self.watch
        if watched == NOTHING:
            return []
        best = next((one for one in self.ranking if _watch_name(one.id) == watched), None)
        return [_hit_text(best, self.min_score) if best else f"{watched} is in neither list."]

    @property
    def table(self) -> Table:
        legs = [name for leg in ("keyword", "vector") for name in (f"{leg} rank", "score", "gives")]
        return Table(
            f"{self.method}: all candidates, best first",
            ("candidate", "place", *legs, "fused score", f"floor {number_text(self.min_score, 0.01)}"),
            tuple(self._row(one) for one in self.ranking),
        )

    def _row(self, one: FusedHit) -> tuple[str, ...]:
        fate = "passes" if one.score >= self.min_score else "dropped"
        return (one.id, rank_text(one), *_cells(one.keyword), *_cells(one.vector), f"{one.score:.4f}", fate)

    @property
    def code(self) -> str:
        numbers = "".join(f", {name}={value!r}" for name, value in self._parameters.items())
        return self._code(self.method, numbers, repr(self.min_score))

    def _code(self, method: str, numbers: str, floor: str) -> str:
        needed = ["from workbench_plugins.engines.whose_fusion import legs_of"] if self._index else []
        lists = (
            [f"vector, keyword = legs_of({self.question!r}, index)"]
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


def _spans(method: str) -> dict[str, tuple[float, float, float, float]]:
    """The parameters that a method has: each one's own value, and the ends and the step of its slider."""
    fusion, found = ENGINES[method].fusion, {}
    for name, (_, low, high, step) in PARAMETERS.items():
        if (value := parameters(fusion).get(name)) is not None:
            found[name] = (value, max(low, fusion.ranges.get(name, (low, high))[0]), high, step)
    return found


def _own(method: str) -> dict[str, Any]:
    """The settings that a method comes with."""
    return {"method": method} | {name: value for name, (value, *_) in _spans(method).items()}


def written_method(engine: Engine, of: Columns) -> dict[str, Any]:
    """A method for the page: its formulas, or the numbers themselves where a formula cannot be written."""
    fusion, moved = engine.fusion, {}
    score, parts = _nulls(fusion.formula(of)), [_nulls(one) for one in fusion.contributions(of)]
    with suppress(InputError, TypeError):
        names = Names(of.values)
        named: Any = symbolic(fusion, names)
        score, parts = as_data(named.formula(names)), [as_data(one) for one in named.contributions(names)]
        moved = _spans(engine.name)
    return {
        "name": engine.name,
        "says": symbolic_description(fusion),
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
    place = (ABSENT, ABSENT) if given.rank is None else (f"{given.rank}", f"{given.score:.4g}")
    return *place, f"{given.part:.4f}"


def _hit_text(one: FusedHit, floor: float) -> str:
    score, least = apart(one.score, floor)
    fate = f"≥ {least}, it passes" if one.score >= floor else f"< {least}, it is dropped"
    return f"{one.id} is {rank_text(one)}: {score} {fate}."
