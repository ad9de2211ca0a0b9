"""The fusions of other engines by name: for any two lists, and some of them as pipelines.

A pipeline `engine-NAME` has our index and our legs with the fusion of that engine, so only the fusion
differs.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from workbench.errors import InputError
from workbench.memory.data_files import load_data
from workbench.records import Floats
from workbench.registry import Registry
from workbench.retrieval.columns import Columns, ColumnStage, Numbers
from workbench.retrieval.cutoff import Limit, Order
from workbench.retrieval.fusion import Fusion, WeightedRRF
from workbench.retrieval.legs import Depth, KeywordLeg, Union, VectorLeg
from workbench.retrieval.pipeline import Pipeline, Source
from workbench.retrieval.query import JoinedWords
from workbench.retrieval.scoring import Cosine
from workbench_plugins.engines import fusions
from workbench_plugins.engines.fusions import Normalisation
from workbench_plugins.engines.lists import LEGS


@dataclass(frozen=True)
class Engine:
    """A fusion with the name of the engine that ships it, and its source.

    Raises InputError for a fusion that is no `Fusion`.
    """

    name: str
    fusion: Fusion
    source: Source

    def __post_init__(self) -> None:
        if not isinstance(self.fusion, Fusion):
            raise InputError(
                f"The fusion of the engine {self.name!r} is {self.fusion!r}.",
                "Give an instance of a class that is derived from workbench.retrieval.fusion.Fusion.",
            )


@dataclass(frozen=True)
class LegPart:
    """The rank and score of a candidate in one leg, and the leg's part of the fused score.

    A fusion may give a part to a candidate that the leg did not find: `rank` is None then, and `score` NaN.
    """

    rank: int | None
    score: float
    part: float


@dataclass(frozen=True)
class FusedHit:
    """One candidate after fusion; `vector` or `keyword` is None if that leg gives it no part of the score.

    `first` and `last` are its possible places, counted from 1; they differ in a tie.
    """

    id: str
    score: float
    first: int
    last: int
    vector: LegPart | None
    keyword: LegPart | None

    @property
    def tied(self) -> bool:
        return self.last > self.first


LARGEST = 1e100
"""The largest score: a method may square it."""

TIED = 1e-12
"""Relative tolerance for a tie: scores this close differ only by rounding."""


def tied(one: float, other: float) -> bool:
    """Whether two fused scores differ by no more than rounding."""
    return math.isclose(one, other, rel_tol=TIED, abs_tol=TIED)


def fuse(fusion: Fusion, vector: Mapping[str, float], keyword: Mapping[str, float]) -> list[FusedHit]:
    """Fuse two lists of scores by id into one: best first, equal scores by id; larger scores are better.

    Ranks are computed from the scores, equal scores by id, so the order of the input does not matter. Raises
    InputError for a score that is not finite.

    >>> [hit.id for hit in fuse(ENGINES["rrf-60"].fusion, {"a": 0.9, "b": 0.8}, {"b": 7.0})]
    ['b', 'a']
    """
    ids, of = two_legs(vector, keyword)
    if not ids:
        return []
    # Adding 0.0 turns -0.0, which the worst hit of a list may get, into 0.0.
    columns = [np.asarray(column, float) + 0.0 for column in (fusion.formula(of), *fusion.contributions(of))]
    scores, *parts = [column.tolist() for column in columns]
    groups: list[list[int]] = []
    for row in sorted(range(len(ids)), key=lambda row: (-scores[row], ids[row])):
        if groups and tied(scores[groups[-1][0]], scores[row]):
            groups[-1].append(row)
        else:
            groups.append([row])
    hits: list[FusedHit] = []
    for group in groups:
        first, last = len(hits) + 1, len(hits) + len(group)
        for row in group:
            legs = [_leg_part(of, leg, row, part[row]) for leg, part in zip(LEGS, parts, strict=True)]
            hits.append(FusedHit(ids[row], scores[row], first, last, *legs))
    return hits


def _leg_part(of: Columns, leg: str, row: int, part: float) -> LegPart | None:
    rank = of[f"{leg}_rank"][row]
    found = not np.isnan(rank)
    if not found and np.isnan(part):
        return None
    return LegPart(int(rank) if found else None, float(of[f"{leg}_score"][row]), part)


def two_legs(vector: Mapping[str, float], keyword: Mapping[str, float]) -> tuple[list[str], Columns]:
    """The sorted ids of two lists of scores, and the lists as columns with one row per id."""
    given: tuple[object, object] = (vector, keyword)
    for scores in given:
        if not isinstance(scores, Mapping) or not all(isinstance(name, str) for name in scores):
            raise InputError(f"{reprlib.repr(scores)} is no list of hits.", "Give scores by id: {'a': 0.9}.")
    ids = sorted({*vector, *keyword})
    return ids, Columns(_columns("vector", vector, ids) | _columns("keyword", keyword, ids))


def _is_score(value: object) -> bool:
    try:
        return isinstance(value, Real) and abs(float(value)) <= LARGEST
    except OverflowError:  # a whole number of more than 308 digits
        return False


def _columns(leg: str, scores: Mapping[str, float], ids: list[str]) -> dict[str, Floats]:
    for name, score in scores.items():
        if not _is_score(score):
            raise InputError(
                f"The {leg} score of {name!r} is {score!r}.",
                f"Give every hit a finite score, at most {LARGEST:g}.",
            )
    ranked = {name: rank for rank, name in enumerate(sorted(scores, key=lambda n: (-scores[n], n)), 1)}
    return {
        f"{leg}_score": np.array([scores.get(name, math.nan) for name in ids]),
        f"{leg}_rank": np.array([ranked.get(name, math.nan) for name in ids], float),
    }


@dataclass(frozen=True)
class PositiveRank(ColumnStage, slot="keyword_score", present="keyword_rank", scale="-bm25"):
    """BM25 with the sign that other engines give it: larger is better."""

    description: ClassVar[str] = "keyword score = -bm25"

    def formula(self, of: Numbers) -> Any:
        return of["keyword_relevance"]


def normalised(scale: Normalisation, scores: list[float]) -> list[float]:
    """The scores of one leg after normalisation, in their order.

    >>> from workbench_plugins.engines.fusions import MinMax, one, zero
    >>> normalised(MinMax(one), [9.0, 4.0, 4.0]), normalised(MinMax(zero), [9.0])
    ([1.0, 0.0, 0.0], [0.0])
    """
    if not scores:
        return []
    column = np.array(scores, float)
    on_scale = np.broadcast_to(scale.of(Columns({"score": column}), "score"), column.shape)
    return [float(score) + 0.0 for score in on_scale]


TOLD = load_data(__file__)
"""The fusion of each engine by name, and where it comes from: repository, release, place, issue and note."""
_LISTS = TOLD.pop("lists")
_KINDS = {**vars(fusions), "WeightedRRF": WeightedRRF}


def _built(row: Any) -> Any:
    """A fusion or a scale of scores, from its kind and parameters; a text names a rule or a scale."""
    if isinstance(row, dict):
        return _KINDS[row["kind"]](**{name: _built(one) for name, one in row.items() if name != "kind"})
    return _KINDS[row] if isinstance(row, str) else row


_ALL = [Engine(name, _built(row.pop("fusion")), Source(**row)) for name, row in TOLD.items()]

ENGINES = Registry[Engine](
    "engine",
    lambda thing: isinstance(thing, Engine),
    _ALL,
    "List them: list(workbench_plugins.engines.presets.ENGINES)",
)

ELEVEN = tuple(_LISTS["eleven"])
"""The eleven engines whose results differ most for the same two lists."""


def engine_pipeline(engine: Engine) -> Pipeline:
    """A pipeline of our index and our legs with the fusion of that engine: the system `engine-NAME`."""
    depth = Depth(multiplier=4, cap=200)
    note = f"{engine.source.note} " if engine.source.note else ""
    return Pipeline(
        f"engine-{engine.name}",
        stages=(
            JoinedWords(join="OR"),
            KeywordLeg(depth),
            VectorLeg(depth),
            Union(),
            PositiveRank(),
            Cosine(),
            engine.fusion,
            Order(ties=("vector_rank", "keyword_rank")),
            Limit(6),
        ),
        source=replace(
            engine.source,
            note=f"{note}Only the fusion is the engine's. The legs (24 candidates each) are ours. No floor.",
        ),
    )


PIPELINES = tuple(engine_pipeline(ENGINES[name]) for name in _LISTS["systems"])
