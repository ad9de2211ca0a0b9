"""What OpenClaw does with scores: factors (age, importance, project, paths), the order, MMR, and rescues.

Decay and MMR came with 2026.2.15, switched off; 2026.9.6 switches them on. Importance and project come from
annotations. Without annotations, these factors are 1. MMR, maximal marginal relevance, moves candidates down
that repeat a higher-ranked one.

Source of MMR: Carbonell and Goldstein, SIGIR 1998; openclaw 2026.2.15, src/memory/mmr.ts (openclaw#18097).
"""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import chain, compress, pairwise
from operator import attrgetter
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.contracts import Context, Index
from workbench.errors import InputError
from workbench.records import KEPT, Chunk, Document, DropKind, Floats, Rows, Threshold, Trace
from workbench.retrieval.columns import Columns, ColumnStage, Names, Numbers, PlainStage, filled, with_column
from workbench.retrieval.cutoff import MinScore, Order, dropped
from workbench.retrieval.formula_export import as_data, step
from workbench.retrieval.fusion import weighted_sum
from workbench.retrieval.index_adapters import memoized
from workbench.safe_text import beginning, counted
from workbench_plugins.openclaw.keyword import ordered, path_key
from workbench_plugins.openclaw.release_indexing import INVALID_PROJECT, annotations_of

WORD = re.compile(r"[a-z0-9_]+")
UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\u1100-\u11ff]")
"""Kana, Han, Hangul: scripts that write words without spaces between them."""
MOST_CHUNKS, MOST_TABLES = 512, 32
"""The similarities of an index with so many chunks are computed once: 2 MB for each way to read the texts."""


def words_of(text: str) -> list[str]:
    """The distinct ASCII words of a text, in lower case.

    >>> words_of("Hello hello_world 你好")
    ['hello', 'hello_world']
    """
    return list(dict.fromkeys(WORD.findall(text.lower())))


def words_and_characters_of(text: str) -> list[str]:
    """`words_of`, then every pair of neighbouring characters of an unspaced script, then each character.

    >>> words_and_characters_of("我喜欢hello你好")
    ['hello', '我喜', '喜欢', '你好', '我', '喜', '欢', '你', '好']
    """
    if text.isascii():
        return words_of(text)
    lower = text.lower()
    starts = [match.start() for match in UNSPACED.finditer(lower)]
    pairs = [lower[a : a + 2] for a, b in pairwise(starts) if b == a + 1]
    return list(dict.fromkeys([*words_of(text), *pairs, *(lower[start] for start in starts)]))


def jaccard(one: Sequence[str], other: Sequence[str]) -> float:
    """The Jaccard index |A ∩ B| / |A ∪ B|; 1 for two empty sets.

    >>> jaccard("abc", "bcd"), jaccard("", ""), jaccard("a", "")
    (0.5, 1.0, 0.0)
    """
    left, right = set(one), set(other)
    return len(left & right) / len(left | right) if left or right else 1.0


def jaccard_index(shared: Floats, one: Floats, other: Floats) -> Floats:
    """`jaccard` in columns, from the numbers of shared tokens and of all tokens; 0 for two empty sets."""
    union = one + other - shared
    result: Floats = np.divide(shared, union, out=np.zeros_like(shared), where=union > 0)
    return result


def mmr_score(relevance: Any, similarity: Any, weight: Any) -> Any:
    """weight × relevance - (1 - weight) × similarity. Works on columns, numbers and terms."""
    return weight * relevance - (1 - weight) * similarity


def relevances(scores: Floats) -> Floats:
    """Scores scaled to the range 0 to 1; all 1 if the scores are equal."""
    spread = np.ptp(scores) if scores.size else 0.0
    return np.ones(scores.size) if spread == 0 else (scores - scores.min()) / spread


class Picked(NamedTuple):
    """The places in the order in which they were picked, and each one's relevance and similarity then."""

    order: NDArray[np.int64]
    relevance: Floats
    similarity: Floats


def pick(scores: Floats, similarity: Floats, weight: float) -> Picked:
    """Picks all places one by one: next is the best `mmr_score` against the places picked so far.

    `scores` are in descending order, and `similarity` has the shape (n, n), from 0 to 1. Ties go to the
    earlier place, which has the higher score. With weight 1 the order stays as it is. The weight is clamped
    to the range 0 to 1.
    """
    weight = min(1.0, max(0.0, weight))
    relevance = relevances(scores)
    value = mmr_score(relevance, 0.0, weight)
    # Row i holds upper bounds of the values once i has been picked. Only the most similar picked place
    # counts, and it gives the smallest value. argmax takes the first of equal values.
    after = mmr_score(relevance, similarity, weight)
    np.fill_diagonal(after, -np.inf)
    rows, picked = list(after), []
    for _ in range(scores.size):
        best = value.argmax()
        picked.append(best)
        np.minimum(value, rows[best], out=value)
    order = np.array(picked, np.int64)
    rank = np.empty(scores.size, np.int64)
    rank[order] = np.arange(scores.size)
    earlier = rank[None, :] < rank[:, None]
    return Picked(order, relevance, np.where(earlier, similarity, 0.0).max(axis=1, initial=0.0))


@dataclass(frozen=True)
class MMR(
    ColumnStage,
    slot="diversity",
    output="mmr_score",
    scale="MMR",
    observed=("mmr_relevance", "mmr_similarity", "mmr_position"),
):
    """Reorders all candidates by `pick`. Scores do not change, so a floor drops the same candidates.

    Two candidates are similar if the first 700 UTF-16 units of their texts share words.
    Source: openclaw 2026.2.17.
    """

    ranges: ClassVar[Mapping[str, tuple[float, float]]] = {
        "relevance_weight": (0, 1),
        "units": (0, 1_000_000),
    }
    relevance_weight: float = 0.7
    units: int = 700

    @property
    def description(self) -> str:
        return (
            f"reorder by MMR: {self.relevance_weight:g} × relevance - {1 - self.relevance_weight:.3g} × "
            "similarity to higher-ranked texts; scores do not change"
        )

    def tokens(self, text: str) -> list[str]:
        return words_of(text)

    def alike(self, one: str, other: str) -> bool:
        """Whether two texts without tokens count as equal."""
        return True

    def groups(self, trace: Trace) -> list[NDArray[np.int64]]:
        """Groups of rows, in order; MMR reorders the rows within each group."""
        return [trace.order]

    def scores(self, trace: Trace) -> Floats:
        return trace.columns["score"]

    def formula(self, of: Numbers) -> Any:
        weight = of.constant(min(1.0, max(0.0, self.relevance_weight)))
        return mmr_score(of["mmr_relevance"], of["mmr_similarity"], weight)

    def reads(self) -> tuple[str, ...]:
        return (*super().reads(), "score")

    def observe(self, trace: Trace, context: Context) -> Mapping[str, Floats]:
        relevance, similarity, position = np.full((3, len(trace.chunks)), np.nan)
        scores, placed = self.scores(trace), 0
        for group in self.groups(trace):
            group = group[np.argsort(-scores[group], kind="stable")]
            alike = self.similarity(trace, group, context.index)
            picked = pick(scores[group], alike, self.relevance_weight)
            relevance[group], similarity[group] = picked.relevance, picked.similarity
            position[group[picked.order]] = np.arange(placed + 1, placed + group.size + 1)
            placed += group.size
        return {"mmr_relevance": relevance, "mmr_similarity": similarity, "mmr_position": position}

    def run(self, trace: Trace, context: Context) -> Trace:
        trace = super().run(trace, context)
        return trace.with_changes(order=np.argsort(trace.columns["mmr_position"]))

    def similarity(self, trace: Trace, group: Rows, index: Index) -> Floats:
        """`similarities` of the candidates in these rows of the trace: shape (n, n).

        Those of a small index are computed once, for all of its chunks.
        """
        rows, every = trace.rows[group], memoized(index, "rows", lambda: _every_row(index))
        if every.size > MOST_CHUNKS or not np.isin(rows, every).all():
            return self._of(index, rows)
        tables = memoized(index, "similarities", dict[Hashable, Floats])
        cut = any(2 * len(chunk.text) > self.units for chunk in trace.chunks)
        name = type(self), self.units if cut else None
        if name not in tables:
            if len(tables) >= MOST_TABLES:
                tables.clear()
            tables[name] = self._of(index, every)
        ordinals = np.searchsorted(every, rows)
        # Several times as fast as np.ix_.
        return tables[name].take(ordinals, axis=0).take(ordinals, axis=1)

    def _of(self, index: Index, rows: Rows) -> Floats:
        return self.similarities([beginning(chunk.text, self.units) for chunk in index.chunks(rows)])

    def similarities(self, texts: Sequence[str]) -> Floats:
        """`jaccard` of every two texts: shape (n, n)."""
        has = _incidence([self.tokens(text) for text in texts])
        shared = (has.common @ has.common.T).astype(float)
        np.fill_diagonal(shared, has.sizes)
        result = jaccard_index(shared, has.sizes[:, None], has.sizes)
        for one, other in np.argwhere((has.sizes[:, None] == 0) & (has.sizes == 0)):
            result[one, other] = self.alike(texts[one], texts[other])
        return result


def _every_row(index: Index) -> Rows:
    """The rows of all chunks in ascending order; none for an index that does not list its files."""
    return np.sort(np.concatenate([np.empty(0, np.int64), *map(index.rows_of, index.paths())]))


class _Incidence(NamedTuple):
    """Which text has which token (tokens of two or more texts only), and how many tokens each text has."""

    common: NDArray[np.float32]
    sizes: Floats


def _incidence(tokens: Sequence[Sequence[str]]) -> _Incidence:
    numbers: dict[str, int] = {}
    every = np.array([numbers.setdefault(one, len(numbers)) for one in chain.from_iterable(tokens)], np.int64)
    sizes = np.array([len(some) for some in tokens], np.int64)
    several = np.bincount(every, minlength=len(numbers)) > 1
    columns, shared = np.cumsum(several) - 1, several[every]
    common = np.zeros((len(tokens), int(several.sum())), np.float32)
    common[np.repeat(np.arange(len(tokens)), sizes)[shared], columns[every[shared]]] = 1
    return _Incidence(common, sizes.astype(float))


@dataclass(frozen=True)
class UnspacedMMR(MMR):
    """`MMR` that also compares the characters of unspaced scripts. Source: openclaw 2026.9.6, mmr.ts."""

    def tokens(self, text: str) -> list[str]:
        return words_and_characters_of(text)

    def alike(self, one: str, other: str) -> bool:
        return one == other


# Dates


class Dated(NamedTuple):
    """The date in a file's name, if there is one, and whether the file never ages."""

    day: date | None
    evergreen: bool


@dataclass(frozen=True)
class DatedNames:
    """Which file names contain a date, and which files without a date never age.

    `pattern` is a regular expression with three groups: year, month and day. Raises InputError for another.
    """

    pattern: str
    roots: tuple[str, ...]

    def __post_init__(self) -> None:
        remedy = r"Write year, month and day as three groups, such as (\d{4})-(\d{2})-(\d{2})."
        try:
            groups = re.compile(self.pattern).groups
        except (re.error, OverflowError, RecursionError) as error:
            problem = f"The pattern of dates {self.pattern!r} is no regular expression: {error}."
            raise InputError(problem, remedy) from None
        if groups != 3:
            raise InputError(f"The pattern of dates {self.pattern!r} has {counted(groups, 'group')}.", remedy)

    def of(self, path: str) -> Dated:
        """The date in a path. A file with an impossible date, such as 30 February, is not evergreen."""
        path = path.replace("\\", "/").removeprefix("./")
        found = re.search(self.pattern, path)
        evergreen = path in self.roots or (path.startswith("memory/") and not found)
        return Dated(_day(*found.groups("")) if found else None, evergreen)


def _day(year: str, month: str, day: str) -> date | None:
    try:
        if int(year) < 100:
            return None  # JavaScript reads it as a year of the last century, and then rejects it
        return date(int(year), int(month), int(day))
    except (ValueError, OverflowError):  # no number, no date, or a year of many digits
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
    def description(self) -> str:
        if not decay_rate(self.half_life_days):
            return f"recency = 1 for every file: {self.half_life_days:g} days is no half-life"
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

        newest = memoized(index, (Recency, self.names), lambda: of(index.documents() or ()))
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
    description: ClassVar[str] = "importance = 0.75 + 0.05 × the chunk's annotated importance, 1 without one"

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
    def description(self) -> str:
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

    description: ClassVar[str] = "projects: drop chunks with a project comment that names no project"

    def run(self, trace: Trace, context: Context) -> Trace:
        said = annotations_of(context.index)
        invalid = np.array([said(chunk).projects == INVALID_PROJECT for chunk in trace.chunks], float)
        unreadable = Threshold("unreadable project comments", invalid, 0.0, at_most=True)
        return dropped(trace, self, DropKind.FILTER, unreadable)


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
    def description(self) -> str:
        return (
            f"score = ({self.vector:g} × vector score + {self.keyword:g} × keyword score, "
            "or else path score; absent counts as 0) "
            "× recency × importance × affinity; 1 × affinity for an exact path"
        )

    def content(self, of: Numbers) -> Any:
        """The sum before any factor. A hit by its path only counts with its path score, if there is one."""
        said = filled(of["keyword_score"], 0.0)
        by_path = of.optional_column("path_score")
        if by_path is not None:
            exact = of.optional_column("path_tier")
            only = (
                np.where(exact > 0, 0.0, filled(by_path, 0.0)) if exact is not None else filled(by_path, 0.0)
            )
            said = np.where(said > 0, said, only)
        vector = filled(of["vector_score"], 0.0)
        return weighted_sum((vector, said), (of.constant(self.vector), of.constant(self.keyword)))

    def formula(self, of: Numbers) -> Any:
        content, tier, affinity = (
            self.content(of),
            of.optional_column("path_tier"),
            of.optional_column("affinity"),
        )
        score = _weighed(of, content)
        if tier is None:
            return score
        exact = of.constant(1.0) if affinity is None else 1.0 * affinity
        return np.where(tier > 0, exact, np.where(content == 0, 0.0, score))

    def rank_score(self, of: Numbers) -> Any:
        """Orders candidates of one tier: the score, or `exact_path_tie` among exact paths.

        If the content scores 0, it is based on `lexical_rank`.
        """
        content, tier, lexical = (
            self.content(of),
            of.optional_column("path_tier"),
            of.optional_column("lexical_rank"),
        )
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
        factor = of.optional_column(name)
        score = score if factor is None else score * factor
    return score


# The order


@dataclass(frozen=True)
class ByTier(Order):
    """Exact paths first, the most exact on top; then by score, path and lines.

    Source: openclaw 2026.9.6, mergeHybridResults.
    """

    description: ClassVar[str] = (
        "order = exact paths first, then by falling score, then by path, lines and chunk id"
    )

    def may_read(self) -> tuple[str, ...]:
        return "path_tier", "rank_score", "lexical_rank"

    def run(self, trace: Trace, context: Context) -> Trace:
        tiers, rank = tiers_of(trace), trace.columns.get("rank_score", trace.columns["score"])
        score = np.where(tiers > 0, rank, trace.columns["score"])
        lexical = trace.columns.get("lexical_rank", np.zeros(len(trace.chunks)))

        def sort_key(row: int) -> tuple[Any, ...]:
            chunk = trace.chunks[row]
            return path_key(chunk.path), chunk.start_line, chunk.end_line, chunk.id

        return replace(trace, order=ordered((-tiers, -score, -rank, -lexical), sort_key))


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

RESCUED = {"rescued": ["column", "score"], "found": ["column", "keyword_rank"]}
LOCATION = attrgetter("source", "path", "start_line", "end_line")
"""The file and lines of a chunk."""


@dataclass(frozen=True)
class KeywordRescue(PlainStage, slot="rescue"):
    """Brings keyword hits back when the floor has dropped every candidate, down to a lower floor of its own.

    Source: openclaw 2026.2.27, src/memory/manager.ts, with 0.3, the keyword weight; 0 by 2026.7.1.
    """

    floor: float = 0.3

    @property
    def description(self) -> str:
        return f"rescue: when nothing passes the floor, keep keyword hits that score at least {self.floor:g}"

    def reads(self) -> tuple[str, ...]:
        return "score", "keyword_rank"

    def run(self, trace: Trace, context: Context) -> Trace:
        if (trace.dropped == KEPT).any():
            return trace
        asked = [stage.floor for stage in trace.stages if isinstance(stage, MinScore)]
        enough = trace.columns["score"] >= min([self.floor, *asked])
        return _brought_back(trace, keyword_backed(trace, enough))


@step.register
def _rescue(stage: KeywordRescue, _: Names) -> dict[str, Any]:
    return RESCUED | {"least": as_data(stage.floor)}


@dataclass(frozen=True)
class SpareSlots(PlainStage, slot="rescue"):
    """Gives places that the floor has left empty to keyword hits, behind all that pass the floor.

    When nothing passes, every keyword hit with a score of at least 0 comes back. When something does, only
    those come back that the vector leg did not bring, or whose cosine with the question is 0.
    Source: openclaw 2026.9.6, extensions/memory-core/src/memory/hybrid.ts (openclaw#92524).
    """

    description: ClassVar[str] = (
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
        return _brought_back(trace, spare).with_changes(order=trace.order[np.argsort(turn, kind="stable")])


@step.register
def _spare(_: SpareSlots, __: Names) -> dict[str, Any]:
    return RESCUED | {"unseen": ["column", "vector_score"]}


def keyword_backed(trace: Trace, among: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which candidates of `among` the keyword leg brought, or one with the same file and lines."""
    found = ~np.isnan(trace.columns["keyword_rank"])
    backed = among & found
    others = np.flatnonzero(among & ~found)
    if others.size:
        locations = set(map(LOCATION, compress(trace.chunks, found)))
        backed[others] = [LOCATION(trace.chunks[row]) in locations for row in others.tolist()]
    return backed


def _brought_back(trace: Trace, rows: NDArray[np.bool_]) -> Trace:
    """The trace with these rows brought back if a floor dropped them; other drops stay."""
    floors = [number for number, stage in enumerate(trace.stages) if isinstance(stage, MinScore)]
    return trace.with_changes(dropped=np.where(rows & np.isin(trace.dropped, floors), KEPT, trace.dropped))
