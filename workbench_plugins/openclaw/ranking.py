"""OpenClaw's factors (age, importance, project, exact paths), and the order that they give.

Decay and MMR came with 2026.2.15, switched off; 2026.9.6 switches them on. Importance and project come from
`annotations`. Without annotations, these factors are 1.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date
from itertools import compress
from operator import attrgetter
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.contracts import Context, Index
from workbench.errors import InputError
from workbench.records import KEPT, Chunk, Document, DropKind, Floats, Threshold, Trace
from workbench.retrieval.columns import Columns, ColumnStage, Numbers, PlainStage, filled, with_column
from workbench.retrieval.cutoff import MinScore, Order, dropped
from workbench.retrieval.fusion import weighted_sum
from workbench.retrieval.index_adapters import kept
from workbench_plugins.openclaw.annotations import INVALID_PROJECT, annotations_of
from workbench_plugins.openclaw.diversity import UnspacedMMR
from workbench_plugins.openclaw.words import ordered, path_key

# Dates


class Dated(NamedTuple):
    """The date in a file's name, if there is one, and whether the file never ages."""

    day: date | None
    evergreen: bool


@dataclass(frozen=True)
class DatedNames:
    """Which file names contain a date, and which files without a date never age."""

    pattern: str
    roots: tuple[str, ...]

    def of(self, path: str) -> Dated:
        """The date in a path. A file with an impossible date, such as 30 February, is not evergreen."""
        path = path.replace("\\", "/").removeprefix("./")
        found = re.search(self.pattern, path)
        evergreen = path in self.roots or (path.startswith("memory/") and not found)
        return Dated(_day(*map(int, found.groups())) if found else None, evergreen)


def _day(year: int, month: int, day: int) -> date | None:
    if year < 100:
        return None  # JavaScript reads it as a year of the last century, and then rejects it
    try:
        return date(year, month, day)
    except ValueError:
        return None


FEBRUARY_NAMES = DatedNames(r"(?:^|/)memory/(\d{4})-(\d{2})-(\d{2})\.md$", ("MEMORY.md", "memory.md"))
"""Source: openclaw 2026.2.17, src/memory/temporal-decay.ts."""

SEPTEMBER_NAMES = DatedNames(
    r"(?:^|/)memory/(?:.*/)?(\d{4})-(\d{2})-(\d{2})(?:-[^/]+)?\.md$", ("MEMORY.md", "USER.md")
)
"""Dates in any folder below memory/, also with words after the date. Source: openclaw 2026.9.6."""


def decay_rate(half_life_days: float) -> float:
    """ln 2 / half-life; 0 (no decay) for a half-life that is not a positive number."""
    return math.log(2) / half_life_days if 0 < half_life_days < math.inf else 0.0


def decay(age_days: Any, rate: Any) -> Any:
    """exp(-rate × age); 1 for future dates and for no age. Works on columns, numbers and terms.

    Source: openclaw 2026.2.15, src/memory/temporal-decay.ts.

    >>> [round(float(decay(age, decay_rate(30))), 4) for age in (30.0, 10.0, -5.0, math.nan)]
    [0.5, 0.7937, 1.0, 1.0]
    """
    known = np.isfinite(age_days)
    return np.where(known, np.exp(-(rate * np.maximum(0.0, np.where(known, age_days, 0.0)))), 1.0)


@dataclass(frozen=True)
class Recency(ColumnStage, slot="recency", scale="factor", observed=("age_days",)):
    """`decay` by the date in the file's name. Undated files and dates after today get the factor 1.

    `today` has the form YYYY-MM-DD. If it is empty, it is the newest date in the memory's file names, so the
    same memory gives the same answer on any day. OpenClaw uses the clock instead. For files outside memory/
    it also uses the time of the last change, which is left out here.
    """

    best: ClassVar[Mapping[str, float]] = {"age_days": 0.0}
    names: DatedNames = SEPTEMBER_NAMES
    half_life_days: float = 30
    today: str = ""

    def __post_init__(self) -> None:
        if self.today:
            _parsed(self.today)

    @property
    def says(self) -> str:
        today = self.today or "the newest date in a file name of this memory"
        return f"recency = 0.5 to the power of age / {self.half_life_days:g} days, where today is {today}"

    def formula(self, of: Numbers) -> Any:
        return decay(of["age_days"], of.constant(decay_rate(self.half_life_days)))

    def observe(self, trace: Trace, context: Context) -> Mapping[str, Floats]:
        today = _parsed(self.today) if self.today else self._newest(trace, context.index)
        days = [_number(self.names.of(chunk.path).day) for chunk in trace.chunks]
        return {"age_days": _number(today) - np.array(days)}

    def _newest(self, trace: Trace, index: Index) -> date | None:
        def of(some: Iterable[Document] | Iterable[Chunk]) -> date | None:
            return max((day for one in some if (day := self.names.of(one.path).day)), default=None)

        newest = kept(index, (Recency, self.names), lambda: of(index.documents() or ()))
        return newest or of(trace.chunks)


def _number(day: date | None) -> float:
    return math.nan if day is None else day.toordinal()


def _parsed(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise InputError(f"{text!r} is not a date.", "Write it as 2026-02-13.") from None


# Annotations


def importance_level(importance: float | None) -> float:
    """The importance as a whole number from 1 to 10; NaN if there is none."""
    if importance is None or math.isnan(importance):
        return math.nan
    return max(1.0, min(10.0, math.floor(importance)))


def importance_factor(level: Any) -> Any:
    """0.75 + 0.05 × level, from 0.8 to 1.25; 1 without a level. Source: openclaw 2026.9.6, importance.ts."""
    return np.where(np.isnan(level), 1.0, 0.75 + 0.05 * level)


def project_affinity(projects: str | None, active: Iterable[str]) -> float:
    """1.15 if all projects (separated by `;`) are active, 0.9 if one is not, 1 if either side has none.

    Source: openclaw 2026.9.6, project-ranking.ts.

    >>> project_affinity("x;y", ["x"]), project_affinity("x", ["x"]), project_affinity(None, ["x"])
    (0.9, 1.15, 1.0)
    """
    active = set(active)
    if not projects or not active:
        return 1.0
    return 1.15 if {key.strip() for key in projects.split(";") if key.strip()} <= active else 0.9


@dataclass(frozen=True)
class Importance(ColumnStage, slot="importance", scale="factor", observed=("importance_level",)):
    """`importance_factor` of a chunk's annotated importance."""

    best: ClassVar[Mapping[str, float]] = {"importance_level": 10.0}
    says: ClassVar[str] = "importance = 0.75 + 0.05 × the chunk's annotated importance, 1 without one"

    def formula(self, of: Numbers) -> Any:
        return importance_factor(of["importance_level"])

    def observe(self, trace: Trace, context: Context) -> Mapping[str, Floats]:
        said = annotations_of(context.index)
        levels = [importance_level(said(chunk).importance) for chunk in trace.chunks]
        return {"importance_level": np.array(levels)}


@dataclass(frozen=True)
class ProjectAffinity(PlainStage, slot="affinity"):
    """`project_affinity` of a chunk's annotated projects and the active projects."""

    active: tuple[str, ...] = ()

    @property
    def says(self) -> str:
        active = ", ".join(self.active) or "none"
        return f"affinity = 1.15 for a chunk of the active projects ({active}), 0.9 for others, 1 for none"

    def writes(self) -> tuple[str, ...]:
        return ("affinity",)

    def run(self, trace: Trace, context: Context) -> Trace:
        said = annotations_of(context.index)
        factors = [project_affinity(said(chunk).projects, self.active) for chunk in trace.chunks]
        return with_column(trace, "affinity", np.array(factors))


@dataclass(frozen=True)
class ReadableProjects(PlainStage, slot="readable_projects"):
    """Drops chunks with an unreadable project comment, before candidates are compared.

    Source: openclaw 2026.9.6, project-ranking.ts, applyProjectRanking.
    """

    says: ClassVar[str] = "projects: drop chunks with a project comment that names no project"

    def run(self, trace: Trace, context: Context) -> Trace:
        said = annotations_of(context.index)
        invalid = np.array([said(chunk).projects == INVALID_PROJECT for chunk in trace.chunks], float)
        unreadable = Threshold("unreadable project comments", invalid, 0.0, at_most=True)
        return dropped(trace, self, invalid > 0, DropKind.FILTER, unreadable)


# The score

DROPPED = -1
"""The tier of candidates that a stage before MMR dropped."""

FACTORS = ("recency", "importance", "affinity")


def exact_path_tie(content: Any) -> Any:
    """(1 + content clamped to 0..1) / 2: an exact path gives half of the score, the content the other half.

    Source: openclaw 2026.9.6, scoreExactPathTieForTemporalDecay.
    """
    return (1 + np.maximum(0.0, np.minimum(1.0, content))) / 2


@dataclass(frozen=True)
class WeighedSum(ColumnStage, slot="fusion", output="score", scale="weighted sum × factors"):
    """The weighted sum of 2026.2.13, times recency, importance and affinity if stages compute them.

    An exact path scores 1 times its affinity. `rank_score` orders exact paths among themselves, and uses all
    the factors. Source: openclaw 2026.9.6, mergeHybridResults.
    """

    ranges: ClassVar[Mapping[str, tuple[float, float]]] = {"vector": (0, 1), "keyword": (0, 1)}
    vector: float = 0.7
    keyword: float = 0.3

    @property
    def says(self) -> str:
        return (
            f"score = ({self.vector:g} × vector score + {self.keyword:g} × keyword score, "
            "or else path score; absent counts as 0) "
            "× recency × importance × affinity; 1 × affinity for an exact path"
        )

    def content(self, of: Numbers) -> Any:
        """The sum before any factor. A hit by its path only counts with its path score, if there is one."""
        said = filled(of["keyword_score"], 0.0)
        by_path = of.given("path_score")
        if by_path is not None:
            exact = of.given("path_tier")
            only = (
                np.where(exact > 0, 0.0, filled(by_path, 0.0)) if exact is not None else filled(by_path, 0.0)
            )
            said = np.where(said > 0, said, only)
        vector = filled(of["vector_score"], 0.0)
        return weighted_sum((vector, said), (of.constant(self.vector), of.constant(self.keyword)))

    def formula(self, of: Numbers) -> Any:
        content, tier, affinity = self.content(of), of.given("path_tier"), of.given("affinity")
        score = _weighed(of, content)
        if tier is None:
            return score
        exact = of.constant(1.0) if affinity is None else 1.0 * affinity
        return np.where(tier > 0, exact, np.where(content == 0, 0.0, score))

    def rank_score(self, of: Numbers) -> Any:
        """Orders candidates of one tier: the score, or `exact_path_tie` among exact paths.

        If the content scores 0, it is based on `lexical_rank`.
        """
        content, tier, lexical = self.content(of), of.given("path_tier"), of.given("lexical_rank")
        rank = content if lexical is None else np.where(content == 0, lexical, content)
        return _weighed(of, rank if tier is None else np.where(tier > 0, exact_path_tie(content), rank))

    def may_read(self) -> tuple[str, ...]:
        return (*super().may_read(), "lexical_rank")

    def writes(self) -> tuple[str, ...]:
        return (*super().writes(), "rank_score")

    def run(self, trace: Trace, context: Context) -> Trace:
        rank = np.asarray(self.rank_score(Columns(trace.columns)), float)
        return super().run(with_column(trace, "rank_score", rank), context)


def _weighed(of: Numbers, score: Any) -> Any:
    for name in FACTORS:
        factor = of.given(name)
        score = score if factor is None else score * factor
    return score


# The order


@dataclass(frozen=True)
class ByTier(Order):
    """Exact paths first, the most exact on top; then by score, path and lines.

    Source: openclaw 2026.9.6, mergeHybridResults.
    """

    says: ClassVar[str] = "order = exact paths first, then by falling score, then by path, lines and chunk id"

    def may_read(self) -> tuple[str, ...]:
        return "path_tier", "rank_score", "lexical_rank"

    def run(self, trace: Trace, context: Context) -> Trace:
        tiers, rank = tiers_of(trace), trace.columns.get("rank_score", trace.columns["score"])
        score = np.where(tiers > 0, rank, trace.columns["score"])
        lexical = trace.columns.get("lexical_rank", np.zeros(len(trace.chunks)))

        def place(row: int) -> tuple[Any, ...]:
            chunk = trace.chunks[row]
            return path_key(chunk.path), chunk.start_line, chunk.end_line, chunk.id

        return replace(trace, order=ordered((-tiers, -score, -rank, -lexical), place))


def tiers_of(trace: Trace) -> Floats:
    """Each candidate's path tier; 0 if no stage has marked them."""
    return trace.columns.get("path_tier", np.zeros(len(trace.chunks)))


@dataclass(frozen=True)
class TieredMMR(UnspacedMMR):
    """MMR within each tier of exact paths, and among all other candidates. Dropped candidates come last."""

    def may_read(self) -> tuple[str, ...]:
        return "path_tier", "rank_score"

    def groups(self, trace: Trace) -> list[NDArray[np.int64]]:
        tiers = np.where(trace.dropped == KEPT, tiers_of(trace), DROPPED)[trace.order]
        return [trace.order[tiers == tier] for tier in (3, 2, 1, 0, DROPPED) if (tiers == tier).any()]

    def scores(self, trace: Trace) -> Floats:
        rank = trace.columns.get("rank_score", trace.columns["score"])
        return np.where(tiers_of(trace) > 0, rank, trace.columns["score"])


# Rescues: keyword hits that come back although the floor has dropped them

PLACE = attrgetter("source", "path", "start_line", "end_line")
"""The file and lines of a chunk."""


@dataclass(frozen=True)
class KeywordRescue(PlainStage, slot="rescue"):
    """Brings keyword hits back when the floor has dropped every candidate, down to a lower floor of its own.

    Source: openclaw 2026.2.27, src/memory/manager.ts, with 0.3, the keyword weight; 0 by 2026.7.1.
    """

    floor: float = 0.3

    @property
    def says(self) -> str:
        return f"rescue: when nothing passes the floor, keep keyword hits that score at least {self.floor:g}"

    def reads(self) -> tuple[str, ...]:
        return "score", "keyword_rank"

    def run(self, trace: Trace, context: Context) -> Trace:
        if (trace.dropped == KEPT).any():
            return trace
        asked = [stage.floor for stage in trace.stages if isinstance(stage, MinScore)]
        enough = trace.columns["score"] >= min([self.floor, *asked])
        return _brought_back(trace, keyword_backed(trace, enough))


@dataclass(frozen=True)
class SpareSlots(PlainStage, slot="rescue"):
    """Gives places that the floor has left empty to keyword hits, behind all that pass the floor.

    When nothing passes, every keyword hit with a score of at least 0 comes back. When something does, only
    those come back that the vector leg did not bring, or whose cosine with the question is 0.
    Source: openclaw 2026.9.6, extensions/memory-core/src/memory/hybrid.ts (openclaw#92524).
    """

    says: ClassVar[str] = (
        "rescue: places left empty go to hits of the keyword leg alone; when nothing passes the floor, to "
        "all keyword hits that score at least 0"
    )

    def reads(self) -> tuple[str, ...]:
        return "score", "vector_score", "keyword_rank"

    def run(self, trace: Trace, context: Context) -> Trace:
        strict = trace.dropped == KEPT
        if not strict.any():
            return _brought_back(trace, keyword_backed(trace, trace.columns["score"] >= 0))
        unseen = np.nan_to_num(trace.columns["vector_score"], nan=0.0) == 0
        spare = keyword_backed(trace, ~strict & unseen)
        turn = np.where(strict, 0, np.where(spare, 1, 2))[trace.order]
        return _brought_back(trace, spare).but(order=trace.order[np.argsort(turn, kind="stable")])


def keyword_backed(trace: Trace, among: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which candidates of `among` the keyword leg brought, or one with the same file and lines."""
    found = ~np.isnan(trace.columns["keyword_rank"])
    backed = among & found
    others = np.flatnonzero(among & ~found)
    if others.size:
        places = set(map(PLACE, compress(trace.chunks, found)))
        backed[others] = [PLACE(trace.chunks[row]) in places for row in others.tolist()]
    return backed


def _brought_back(trace: Trace, rows: NDArray[np.bool_]) -> Trace:
    """The trace with these rows brought back if a floor dropped them; other drops stay."""
    floors = [place for place, stage in enumerate(trace.stages) if isinstance(stage, MinScore)]
    return trace.but(dropped=np.where(rows & np.isin(trace.dropped, floors), KEPT, trace.dropped))
