"""Compare how engines fuse the same two lists: order, ties, floor, and the reason for each difference."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np

from workbench.contracts import Index
from workbench.errors import InputError
from workbench.memory.files import read_input
from workbench.records import Candidate, Tabular
from workbench.retrieval.columns import Columns
from workbench.retrieval.fusion import Fusion
from workbench.retrieval.pipeline import search
from workbench.systems.engines.fusion import ScoreSum, WeightedScores
from workbench.systems.engines.presets import (
    ELEVEN,
    ENGINES,
    PIPELINES,
    Engine,
    FusedHit,
    fuse,
    normalised,
    two_legs,
)

Lists = tuple[Mapping[str, float], Mapping[str, float]]
"""The vector leg's scores by id, and the keyword leg's; larger is better."""

EXAMPLE: Lists = (
    {"v1": 0.82, "both": 0.74, "v2": 0.71, "v3": 0.69},
    {"kwonly": 9.1, "both": 4.0, "k2": 1.2},
)
"""A vector list and a keyword list that the eleven engines fuse into eight different orders."""

LARGEST_FILE = 1_000_000
"""Bytes."""

TIED = 1e-12
"""Relative tolerance for a tie: scores this close differ only by rounding."""


@dataclass(frozen=True)
class Flip:
    """Two candidates that an engine orders in the opposite way to the first engine, and the reason."""

    above: str
    below: str
    why: str


@dataclass(frozen=True)
class EngineOrder:
    """The result of one engine: groups of ids, best first; ids with equal scores share a group."""

    engine: Engine
    hits: tuple[FusedHit, ...]
    groups: tuple[tuple[str, ...], ...]
    flips: tuple[Flip, ...]
    floor: float

    def hit(self, name: str) -> FusedHit:
        """The candidate with that id. Raises InputError for an id that is in neither list."""
        for one in self.hits:
            if one.id == name:
                return one
        raise InputError(f"{name!r} is in neither list.", f"The lists have {_names(self.hits)}.")

    def places(self, name: str) -> tuple[int, int]:
        """The first and last possible place of the candidate, counted from 1; they differ in a tie."""
        ahead = 0
        for group in self.groups:
            if name in group:
                return ahead + 1, ahead + len(group)
            ahead += len(group)
        raise InputError(f"{name!r} is in neither list.", f"The lists have {_names(self.hits)}.")

    def passes(self, name: str) -> bool:
        """Whether the candidate's score is at least the floor."""
        return self.hit(name).score >= self.floor


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
        known = ", ".join(sorted({*vector, *keyword})) or "nothing"
        raise InputError(f"{target!r} is in neither list.", f"The lists have {known}.")
    names = (*ELEVEN, *ENGINES.registered) if engines is None else engines
    chosen = [ENGINES.named(name) for name in names]
    fused = [fuse(engine.fusion, vector, keyword) for engine in chosen]
    orders = tuple(
        EngineOrder(engine, tuple(hits), tied_groups(hits), tuple(_flips(fused[0], engine, hits)), floor)
        for engine, hits in zip(chosen, fused, strict=True)
    )
    return Comparison(dict(vector), dict(keyword), floor, target, orders)


def read_lists(path: Path) -> Lists:
    """Read two lists from a JSON file: `{"vector": {"id": score}, "keyword": {"id": score}}`.

    Raises InputError for an unreadable file, for JSON of another form, and for a score that is not a number.
    """
    form = 'Write {"vector": {"id": 0.8}, "keyword": {"id": 4.2}}, larger is better.'
    try:
        told = json.loads(read_input(path, "The lists", LARGEST_FILE))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} cannot be read as JSON: {error}.", form) from None
    if not isinstance(told, dict) or told.keys() != {"vector", "keyword"}:
        raise InputError(f"{path} must contain exactly the two lists vector and keyword.", form)
    for leg, scores in told.items():
        if not isinstance(scores, dict):
            raise InputError(f"The {leg} list of {path} does not have the form id: score.", form)
        for name, score in scores.items():
            if isinstance(score, bool) or not isinstance(score, int | float):
                raise InputError(f"The {leg} score of {name!r} in {path} is not a number: {score!r}.", form)
    return told["vector"], told["keyword"]


def legs_of(question: str, index: Index) -> Lists:
    """The two legs' scores for a question, by the places of the chunks: cosine similarity, and BM25.

    Larger is better in both. Each leg returns up to 24 candidates; words are joined with OR.
    """
    return lists_of(named_candidates(question, index))


def named_candidates(question: str, index: Index) -> dict[str, Candidate]:
    """The candidates that both legs bring for a question, by the places of their chunks."""
    candidates = search(question, PIPELINES[0], index).candidates
    times = Counter(one.chunk.place for one in candidates)
    return {
        place if times[place] == 1 else f"{place} ({one.chunk.id[:6]})": one
        for one in candidates
        for place in [one.chunk.place]
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


def tied_groups(hits: Sequence[FusedHit]) -> tuple[tuple[str, ...], ...]:
    """The ids of `hits` in order, grouped by equal scores."""
    groups: list[list[FusedHit]] = []
    for hit in hits:
        if groups and _tied(groups[-1][0].score, hit.score):
            groups[-1].append(hit)
        else:
            groups.append([hit])
    return tuple(tuple(hit.id for hit in group) for group in groups)


def _tied(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=TIED, abs_tol=TIED)


def _flips(first: Sequence[FusedHit], engine: Engine, hits: Sequence[FusedHit]) -> Iterable[Flip]:
    before = {hit.id: hit for hit in first}
    for above, below in combinations(hits, 2):
        was_above, was_below = before[above.id], before[below.id]
        if not _tied(above.score, below.score) and _over(was_below, was_above):
            yield Flip(above.id, below.id, _why(engine, above, below))


def _over(one: FusedHit, other: FusedHit) -> bool:
    return one.score > other.score and not _tied(one.score, other.score)


def _why(engine: Engine, above: FusedHit, below: FusedHit) -> str:
    """The leg that puts `above` first in this engine, with its part of both scores."""
    gaps = {leg: _given(above, leg) - _given(below, leg) for leg in ("vector", "keyword")}
    if sum(gaps.values()) <= 0:
        return f"not a plain sum: {engine.fusion.says.removeprefix('score = ')}"
    leg = max(gaps, key=lambda name: gaps[name])
    return f"{leg} leg: {_part(above, leg)} against {_part(below, leg)}, {_scale(engine, leg)}"


def _given(hit: FusedHit, leg: str) -> float:
    part: float = getattr(hit, leg)
    return 0.0 if math.isnan(part) else part


def _part(hit: FusedHit, leg: str) -> str:
    part: float = getattr(hit, leg)
    return f"nothing for {hit.id}" if math.isnan(part) else f"{part:.4f} for {hit.id}"


def _scale(engine: Engine, leg: str) -> str:
    fusion = engine.fusion
    if isinstance(fusion, WeightedScores | ScoreSum):
        scale = (fusion.of_vector if leg == "vector" else fusion.of_keyword).says
        return f"{getattr(fusion, leg):g} × {scale}" if isinstance(fusion, WeightedScores) else scale
    return fusion.says.removeprefix("score = ").split(", where")[0]


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
    told = []
    for name in ENGINES if engines is None else engines:
        fusion = ENGINES.named(name).fusion
        if isinstance(fusion, WeightedScores | ScoreSum):
            lists = [[score], [score, score], []]
            one, equal, empty = (tuple(normalised(fusion.of_keyword, some)) for some in lists)
            told.append(Degenerate(name, fusion.of_keyword.says, one, equal, empty))
    return told


# One fusion, candidate by candidate


@dataclass(frozen=True)
class LegPart:
    """The rank and score of a candidate in one leg, and the leg's part of the fused score."""

    rank: int
    score: float
    part: float


@dataclass(frozen=True)
class Placed:
    """A candidate after fusion; `keyword` or `vector` is None if that leg did not find it.

    `first` and `last` are its possible places, counted from 1; they differ in a tie.
    """

    id: str
    score: float
    first: int
    last: int
    keyword: LegPart | None
    vector: LegPart | None

    @property
    def tied(self) -> bool:
        return self.last > self.first


def placed(fusion: Fusion, lists: Lists) -> list[Placed]:
    """Every candidate of two lists of scores by id, in the order of this fusion; larger scores are better.

    Raises InputError for a score that is not finite.
    """
    vector, keyword = lists
    hits = {hit.id: hit for hit in fuse(fusion, vector, keyword)}
    ids, columns = two_legs(vector, keyword)
    rows = {name: row for row, name in enumerate(ids)}
    found: list[Placed] = []
    for group in tied_groups(list(hits.values())):
        first, last = len(found) + 1, len(found) + len(group)
        for name in group:
            hit, row = hits[name], rows[name]
            by_keyword = _leg_part(columns, "keyword", row, hit.keyword)
            by_vector = _leg_part(columns, "vector", row, hit.vector)
            found.append(Placed(name, hit.score, first, last, by_keyword, by_vector))
    return found


def _leg_part(columns: Columns, leg: str, row: int, part: float) -> LegPart | None:
    rank = columns[f"{leg}_rank"][row]
    if np.isnan(rank):
        return None
    return LegPart(int(rank), float(columns[f"{leg}_score"][row]), part)


def _names(hits: Sequence[FusedHit]) -> str:
    return ", ".join(sorted(hit.id for hit in hits)) or "nothing"
