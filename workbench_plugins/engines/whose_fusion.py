"""Compare how engines fuse the same two lists: order, ties, floor, and the reason for each difference."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, groupby
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from workbench.contracts import Index
from workbench.errors import InputError
from workbench.memory.files import read_input
from workbench.records import Candidate, Tabular
from workbench.retrieval.pipeline import search
from workbench.tables import Column, Line, Part, Table, Types, numbers, tidy
from workbench_plugins.engines.fusions import ScoreSum, WeightedScores
from workbench_plugins.engines.lists import LEGS
from workbench_plugins.engines.presets import (
    ELEVEN,
    ENGINES,
    PIPELINES,
    Engine,
    FusedHit,
    LegPart,
    fuse,
    normalised,
)

if TYPE_CHECKING:
    from workbench.figures import Figure

Lists = tuple[Mapping[str, float], Mapping[str, float]]
"""The vector leg's scores by id, and the keyword leg's; larger is better."""

EXAMPLE: Lists = (
    {"v1": 0.82, "both": 0.74, "v2": 0.71, "v3": 0.69},
    {"kwonly": 9.1, "both": 4.0, "k2": 1.2},
)
"""A vector list and a keyword list that the eleven engines fuse into eight different orders."""

LARGEST_FILE = 1_000_000
"""Bytes."""


@dataclass(frozen=True)
class Flip:
    """Two candidates that an engine orders in the opposite way to the first engine, and the reason."""

    above: str
    below: str
    why: str


@dataclass(frozen=True)
class EngineOrder:
    """The result of one engine, best first, and how it differs from that of the first engine."""

    engine: Engine
    hits: tuple[FusedHit, ...]
    flips: tuple[Flip, ...]
    floor: float

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """The ids in order; those with equal scores share a group."""
        return tuple(tuple(hit.id for hit in some) for _, some in groupby(self.hits, lambda hit: hit.first))

    def hit(self, name: str) -> FusedHit:
        """The candidate with that id. Raises InputError for an id that is in neither list."""
        for one in self.hits:
            if one.id == name:
                return one
        raise _in_neither(name, (hit.id for hit in self.hits))

    def ranks(self, name: str) -> tuple[int, int]:
        """The first and last possible place of the candidate, counted from 1; they differ in a tie."""
        hit = self.hit(name)
        return hit.first, hit.last

    def passes(self, name: str) -> bool:
        """Whether the candidate's score is at least the floor."""
        return self.hit(name).score >= self.floor


def _in_neither(name: str, ids: Iterable[str]) -> InputError:
    known = ", ".join(sorted(ids)) or "nothing"
    return InputError(f"{name!r} is in neither list.", f"The lists have {known}.")


FUSED: Types = {
    "engine": "str", "candidate": "str", "place": "int64", "last_place": "int64", "score": "float64",
    "passes": "bool", "vector_score": "float64", "vector_part": "float64", "keyword_score": "float64",
    "keyword_part": "float64", "watched": "bool",
}  # fmt: skip


@dataclass(frozen=True)
class Comparison(Tabular):
    """Two lists, a floor, and the order of each engine. Flips are relative to the first engine.

    `target` is the id to watch.
    """

    vector: Mapping[str, float]
    keyword: Mapping[str, float]
    floor: float
    target: str | None
    orders: tuple[EngineOrder, ...]

    def view(self) -> list[Part]:
        """The two lists, one line per engine, and why an order differs from the first engine's."""
        lists = [f"vector leg: {_list_text(self.vector)}", f"keyword leg: {_list_text(self.keyword)}"]
        watched = [f"watched: {self.target}"] if self.target is not None else []
        legs = [Line(one, "dim") for one in (*lists, *watched)]
        return [*legs, comparison_table(self), *flip_lines(self)]

    def plot(self) -> Figure:
        """The rank of each candidate in the two lists and after each engine's fusion: a figure of plotly."""
        from workbench import figures  # which loads plotly

        lists = {"vector leg": self.vector, "keyword leg": self.keyword}
        orders = {name: sorted(some, key=lambda one: (-some[one], one)) for name, some in lists.items()}
        orders |= {order.engine.name: [hit.id for hit in order.hits] for order in self.orders}
        return figures.ranks(orders, self.target)

    def observations(self) -> Table:
        """One row for each candidate of each engine."""
        rows = (
            [
                *(order.engine.name, hit.id, hit.first, hit.last, hit.score, order.passes(hit.id)),
                *_numbers(hit.vector),
                *_numbers(hit.keyword),
                hit.id == self.target,
            ]
            for order in self.orders
            for hit in order.hits
        )
        return tidy(FUSED, rows)


def whose_fusion(
    vector: Mapping[str, float],
    keyword: Mapping[str, float],
    floor: float = 0.35,
    target: str | None = None,
    engines: Sequence[str] | None = None,
) -> Comparison:
    """Fuse two lists of scores by id with each of `engines`; larger scores are better.

    The default is the eleven of `ELEVEN` and every engine that was registered. Raises InputError for an
    unknown engine, for a target that is in neither list, and for a score that is not finite.

    >>> told = whose_fusion({"a": 0.9, "b": 0.8}, {"c": 7.0}, engines=["rrf-60", "openclaw-clamped"])
    >>> [order.groups for order in told.orders]
    [(('a', 'c'), ('b',)), (('a',), ('b',), ('c',))]
    """
    if target is not None and target not in {*vector, *keyword}:
        raise _in_neither(target, {*vector, *keyword})
    names = (*ELEVEN, *ENGINES.registered) if engines is None else engines
    chosen = [ENGINES.named(name) for name in names]
    fused = [fuse(engine.fusion, vector, keyword) for engine in chosen]
    orders = tuple(
        EngineOrder(engine, tuple(hits), tuple(_flips(fused[0], engine, hits)), floor)
        for engine, hits in zip(chosen, fused, strict=True)
    )
    return Comparison(dict(vector), dict(keyword), floor, target, orders)


def read_lists(path: Path) -> Lists:
    """Read two lists from a JSON file: `{"vector": {"id": score}, "keyword": {"id": score}}`.

    Raises InputError for an unreadable file, for JSON of another form, and for a score that is not a number.
    """
    form = 'Write {"vector": {"id": 0.8}, "keyword": {"id": 4.2}}, larger is better.'
    try:
        lists = json.loads(read_input(path, "The lists", LARGEST_FILE))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} cannot be read as JSON: {error}.", form) from None
    if not isinstance(lists, dict) or lists.keys() != {"vector", "keyword"}:
        raise InputError(f"{path} must contain exactly the two lists vector and keyword.", form)
    for leg, scores in lists.items():
        if not isinstance(scores, dict):
            raise InputError(f"The {leg} list of {path} does not have the form id: score.", form)
        for name, score in scores.items():
            if isinstance(score, bool) or not isinstance(score, int | float):
                raise InputError(f"The {leg} score of {name!r} in {path} is not a number: {score!r}.", form)
    return lists["vector"], lists["keyword"]


def legs_of(question: str, index: Index) -> Lists:
    """The two legs' scores for a question, by the places of the chunks: cosine similarity, and BM25.

    Larger is better in both. Each leg returns up to 24 candidates; words are joined with OR.
    """
    return lists_of(named_candidates(question, index))


def named_candidates(question: str, index: Index) -> dict[str, Candidate]:
    """The candidates that both legs bring for a question, by the places of their chunks."""
    candidates = search(question, PIPELINES[0], index).candidates
    times = Counter(one.chunk.location for one in candidates)
    return {
        location if times[location] == 1 else f"{location} ({one.chunk.id[:6]})": one
        for one in candidates
        for location in [one.chunk.location]
    }


def lists_of(candidates: Mapping[str, Candidate]) -> Lists:
    """The two legs' scores of named candidates."""
    lists: dict[str, dict[str, float]] = {"vector": {}, "keyword": {}}
    for name, one in candidates.items():
        for leg, scores in lists.items():
            score = one.numbers[f"{leg}_score"]
            if not math.isnan(score):
                scores[name] = score
    return lists["vector"], lists["keyword"]


def _flips(first: Sequence[FusedHit], engine: Engine, hits: Sequence[FusedHit]) -> Iterable[Flip]:
    rank_of = {hit.id: hit.first for hit in first}
    for above, below in combinations(hits, 2):
        if above.first < below.first and rank_of[below.id] < rank_of[above.id]:
            yield Flip(above.id, below.id, _why(engine, above, below))


def _why(engine: Engine, above: FusedHit, below: FusedHit) -> str:
    """The leg that puts `above` first in this engine, with its part of both scores."""
    parts = {leg: [_numbers(getattr(hit, leg))[1] for hit in (above, below)] for leg in LEGS}
    gaps = {leg: float(np.nan_to_num(one) - np.nan_to_num(other)) for leg, (one, other) in parts.items()}
    if sum(gaps.values()) <= 0:
        return f"not a plain sum: {engine.fusion.description.removeprefix('score = ')}"
    leg = max(gaps, key=lambda name: gaps[name])
    sentences = (
        f"nothing for {hit.id}" if math.isnan(part) else f"{part:.4f} for {hit.id}"
        for part, hit in zip(parts[leg], (above, below), strict=True)
    )
    return f"{leg} leg: {' against '.join(sentences)}, {_scale(engine, leg)}"


def _numbers(leg: LegPart | None) -> tuple[float, float]:
    """The score of a candidate in a leg, and the leg's part of the fused score; NaN for what there is not."""
    return (leg.score, leg.part) if leg else (math.nan, math.nan)


def _scale(engine: Engine, leg: str) -> str:
    fusion = engine.fusion
    if isinstance(fusion, WeightedScores | ScoreSum):
        scale = (fusion.of_vector if leg == "vector" else fusion.of_keyword).description
        return f"{getattr(fusion, leg):g} × {scale}" if isinstance(fusion, WeightedScores) else scale
    return fusion.description.removeprefix("score = ").split(", where")[0]


@dataclass(frozen=True)
class Degenerate:
    """How an engine scales a leg with one hit of score 3, with two hits of score 3, and with no hit.

    Each tuple has one number per hit, before weights; NaN means that the result is not a number.
    """

    engine: str
    scale: str
    one: tuple[float, ...]
    equal: tuple[float, ...]
    empty: tuple[float, ...]


def degenerate_lists(engines: Sequence[str] | None = None, score: float = 3.0) -> list[Degenerate]:
    """The degenerate cases of each engine that fuses scores, for its keyword leg."""
    found = []
    for name in ENGINES if engines is None else engines:
        fusion = ENGINES.named(name).fusion
        if isinstance(fusion, WeightedScores | ScoreSum):
            lists = [[score], [score, score], []]
            one, equal, empty = (tuple(normalised(fusion.of_keyword, some)) for some in lists)
            found.append(Degenerate(name, fusion.of_keyword.description, one, equal, empty))
    return found


MORE = 2
"""The number of flips that are listed for an engine; the others are only counted."""

FIRST = 6
"""The number of candidates that are listed of an order; the others are only counted."""


def _list_text(scores: Mapping[str, float]) -> str:
    best_first = sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))
    more = f" and {len(scores) - FIRST} more" if len(scores) > FIRST else ""
    return ", ".join(f"{name} {score:.4g}" for name, score in best_first[:FIRST]) + more or "nothing"


def comparison_table(comparison: Comparison) -> Table:
    """One line per engine: its order with ties in brackets, and the place, score and fate of the target."""
    target = comparison.target
    heads = [] if target is None else ["its place", "score", f"≥ {comparison.floor:g}"]
    rows = []
    for order in comparison.orders:
        cells: list[str] = []
        if target is not None:
            hit = order.hit(target)
            cells = [rank_text(hit), f"{hit.score:.4f}", "yes" if order.passes(target) else "no"]
        rows.append((order.engine.name, order_text(order), *cells, str(len(order.flips) or "")))
    return Table("engines", [Column("engine", "whole"), "order", *numbers(*heads, "flips")], rows)


def order_text(order: EngineOrder) -> str:
    """The order in a line, such as `both (kwonly = v1) v3`: ties are in brackets, a long order is cut.

    A path is shortened to its file name if no other candidate has the same file name.
    """
    named = Counter(_last_part(hit.id) for hit in order.hits)
    groups: list[str] = []
    left = len(order.hits)
    for group in order.groups:
        names = [_last_part(name) if named[_last_part(name)] == 1 else name for name in group]
        groups.append(names[0] if len(names) == 1 else f"({' = '.join(names)})")
        left -= len(group)
        if len(order.hits) - left >= FIRST:
            break
    return " ".join(groups) + (f" … and {left} more" if left else "")


def _last_part(name: str) -> str:
    return name.rpartition("/")[2]


def rank_text(hit: FusedHit) -> str:
    """The place of a candidate, or the places that it shares with others."""
    return f"{hit.first}–{hit.last} tied" if hit.tied else f"{hit.first}"


def flip_lines(comparison: Comparison) -> list[str]:
    """The pairs that each engine orders in the opposite way to the first one, with the reason.

    The target's pairs come first.
    """
    lines = []
    for order in comparison.orders:
        watched = [flip for flip in order.flips if comparison.target in (flip.above, flip.below)]
        flips = [*watched, *(flip for flip in order.flips if flip not in watched)]
        if not flips:
            continue
        lines.append(f"{order.engine.name}, against {comparison.orders[0].engine.name}:")
        lines += [f"  {flip.above} over {flip.below}: {flip.why}" for flip in flips[:MORE]]
        if len(flips) > MORE:
            lines.append(f"  and {len(flips) - MORE} more")
    return lines
