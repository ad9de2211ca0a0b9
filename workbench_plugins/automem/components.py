"""The stages of AutoMem's recall: its candidates, the components of its score, its order, its adaptive floor.

Each component has its own column and formula. The score is their weighted sum, which is not normalised. The
functions work on columns, on single numbers and on expressions (see `retrieval.columns`).
"""

from __future__ import annotations

import math
from collections.abc import Container, Mapping
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from functools import reduce
from operator import add
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from workbench.contracts import Context
from workbench.errors import InputError
from workbench.records import KEPT, DropKind, Floats, Leg, Threshold, Trace
from workbench.retrieval.columns import ColumnStage, Numbers, PlainStage, filled
from workbench.retrieval.cutoff import Order, dropped
from workbench.retrieval.legs import Depth, QueryLeg, no_hits, with_leg
from workbench.retrieval.query import with_query
from workbench_plugins.automem.frontmatter import age_in_days
from workbench_plugins.automem.memories import (
    Memory,
    graph_query,
    hits_in,
    is_exact,
    memories_of,
    most_raw,
    newest_date,
    query_tokens,
)

MOST_RESULTS = 100
"""RECALL_MAX_LIMIT: a search with tags fetches this number for any limit."""


def vector_fetch_limit(limit: int, overfetch: int = 4, cap: int = 200, tagged: bool = False) -> int:
    """The number of vectors to fetch: overfetch × limit, at most `cap`, but never fewer than the limit.

    Source: automem 0720da2 (#205). With overfetch 1 it is the limit itself, as before.

    >>> [vector_fetch_limit(5), vector_fetch_limit(5, overfetch=1), vector_fetch_limit(5, cap=3)]
    [20, 5, 5]
    """
    fetched = max(limit, min(limit * overfetch, cap))
    return max(fetched, min(MOST_RESULTS, cap)) if tagged else fetched


def keyword_leg_slots(limit: int, vector_hits: int) -> int:
    """The number of rows that the graph may return: the places that the vector leg leaves free."""
    return max(0, limit - vector_hits)


@dataclass(frozen=True)
class Fetch(Depth):
    """`vector_fetch_limit` of a limit; a limit below 1 counts as 1."""

    multiplier: float = 1
    cap: int = 200

    def of(self, limit: float) -> int:
        return vector_fetch_limit(max(1, int(limit)), int(self.multiplier), self.cap)

    def __str__(self) -> str:
        if self.multiplier == 1:
            return "as many candidates as results"
        return f"{self.multiplier:g} × limit candidates, at most {self.cap} or the limit"


@dataclass(frozen=True)
class GraphQuery(PlainStage, slot="query"):
    """The query for the graph: `graph_query`."""

    description: ClassVar[str] = (
        "MATCH = the question's tokens (3 letters, 25 stop words), and the question itself"
    )

    def run(self, trace: Trace, context: Context) -> Trace:
        return with_query(trace, context, graph_query(trace.question))


@dataclass(frozen=True)
class GraphLeg(QueryLeg, number="raw score"):
    """The graph's keyword search. It only fills places that the vector leg leaves free: mostly none."""

    worst_raw: ClassVar[float] = 0.0
    description: ClassVar[str] = (
        "keyword leg: substrings in texts and tags, only for places that the vector leg leaves free"
    )

    def reads(self) -> tuple[str, ...]:
        """The vector leg, which must have run."""
        return ("vector_rank",)

    def deepest(self, limit: float) -> int:
        return max(1, int(limit))

    def run(self, trace: Trace, context: Context) -> Trace:
        slots = keyword_leg_slots(self.deepest(context.limit), trace.legs["vector"].hits.rows.size)
        hits = context.index.keyword(trace.query, slots) if slots and trace.query else no_hits()
        unasked = ""
        if not slots:
            note = "The vector leg filled all places, so the graph did not search for keywords."
            trace, unasked = replace(trace, notes=(*trace.notes, note)), "the vector leg filled all places"
        leg = Leg(self.name, trace.match, slots, hits, number=self.number, unasked=unasked)
        return with_leg(trace, leg)


@dataclass(frozen=True)
class SortKeys(PlainStage, slot="ties"):
    """The tie-breakers: hits of the vector leg, then the better match, the more important, the newer."""

    description: ClassVar[str] = (
        "ties: vector leg first, then the better match, the more important, the newer"
    )

    def reads(self) -> tuple[str, ...]:
        return "vector_rank", "vector_score", "keyword_score"

    def writes(self) -> tuple[str, ...]:
        return "graph_alone", "match_below_0", "importance_below_0"

    def run(self, trace: Trace, context: Context) -> Trace:
        alone = np.isnan(trace.columns["vector_rank"])
        match = np.where(alone, trace.columns["keyword_score"], trace.columns["vector_score"])
        importance = [one.note.importance or 0.0 for one in memories_of(context.index, trace)]
        keys = {
            "graph_alone": alone.astype(float),
            "match_below_0": -match,
            "importance_below_0": -np.array(importance, float),
        }
        return replace(trace, columns={**trace.columns, **keys})


@dataclass(frozen=True)
class FinalOrder(Order):
    """Best score first, then `SortKeys`, then chunk id. Source: automem 8ff266e, used for all commits."""

    ties: tuple[str, ...] = ("graph_alone", "match_below_0", "importance_below_0", "age_days")

    description: ClassVar[str] = "order = by descending score, then by the sort keys, then by chunk id"


def adaptive_floor(scores: Any, share: float, least_kept: int = 0) -> NDArray[np.float64]:
    """The lowest kept score of each list of scores along the last axis; NaN if nothing is cut.

    The function searches the top half for the widest gap between neighbours (the first one, if several are
    equal). If this gap exceeds `share` of the top score, the floor is the score *below* the gap, so one item
    under the gap is kept. There is no floor if fewer than `least_kept` items would be kept, and none for
    three scores or fewer. Differences are binary: 1.0 - 0.85 is above 0.15.

    Source: automem, automem/api/recall.py: #101 (8df3c08), and with the guard #150 (591b2c7).

    >>> adaptive_floor([1.0, 0.99, 0.3, 0.29, 0.28, 0.27, 0.26], 0.15)
    array(0.3)
    """
    falling = -np.sort(-np.asarray(scores, float), axis=-1)
    n = falling.shape[-1]
    if n <= 3:
        return np.full(falling.shape[:-1], np.nan)
    searched = falling[..., : max(3, n // 2)]
    gaps = searched[..., :-1] - searched[..., 1:]
    widest = np.argmax(gaps, axis=-1)[..., None]
    floor = np.take_along_axis(falling, widest + 1, axis=-1)
    fires = np.take_along_axis(gaps, widest, axis=-1) > share * falling[..., :1]
    enough = np.sum(falling >= floor, axis=-1, keepdims=True) >= least_kept
    return np.asarray(np.where(fires & enough, floor, np.nan)[..., 0])


@dataclass(frozen=True)
class AdaptiveFloor(PlainStage, slot="adaptive_floor"):
    """`adaptive_floor` over the results: drops all results below the gap except the first one."""

    unless: ClassVar[str] = ""
    """The exception from the floor, in words."""
    ranges: ClassVar[Mapping[str, tuple[float, float]]] = {"share": (0, 1)}
    share: float = 0.15

    @property
    def description(self) -> str:
        return (
            f"adaptive floor: if the widest gap in the top half exceeds {self.share:.0%} of the top score, "
            f"drop what scores less than the first result below the gap{self.unless}"
        )

    def least_kept(self, results: int) -> int:
        """The number of results that must be kept; if fewer would be kept, nothing is cut."""
        return 0

    def floors(self, scores: Any) -> NDArray[np.float64]:
        """The floor of each list of scores along the last axis; NaN for no floor."""
        return adaptive_floor(scores, self.share, self.least_kept(np.shape(scores)[-1]))

    def reads(self) -> tuple[str, ...]:
        return ("score",)

    def run(self, trace: Trace, context: Context) -> Trace:
        in_ = trace.dropped == KEPT
        scores = trace.columns["score"]
        floor = float(self.floors(scores[in_]))
        if np.isnan(floor):
            return trace
        noted = replace(trace, notes=(*trace.notes, self._note(scores[in_], floor)))
        return dropped(noted, self, DropKind.FLOOR, Threshold("score", scores, floor))

    def _note(self, scores: Floats, floor: float) -> str:
        gap = float(np.min(scores[scores > floor])) - floor
        return (
            f"The adaptive floor is {floor:.4g}: the gap of {gap:.4g} above it is more than {self.share:.0%} "
            f"of the top score, {np.max(scores):.4g}."
        )


@dataclass(frozen=True)
class HalfKept(AdaptiveFloor):
    """The floor with the guard of issue #128: at least half of the results are kept, rounded down."""

    unless: ClassVar[str] = ", unless fewer than half would be kept"
    share: float = 0.25

    def least_kept(self, results: int) -> int:
        return results // 2


@dataclass(frozen=True)
class LargerHalfKept(HalfKept):
    """The floor with the merged guard: at least half of the results are kept, rounded up."""

    unless: ClassVar[str] = ", unless fewer than half, rounded up, would be kept"

    def least_kept(self, results: int) -> int:
        return (results + 1) // 2


@dataclass(frozen=True)
class NoAdaptiveFloor(AdaptiveFloor):
    """RECALL_ADAPTIVE_FLOOR=false: nothing is cut."""

    description: ClassVar[str] = "adaptive floor: off"

    def floors(self, scores: Any) -> NDArray[np.float64]:
        return np.full(np.shape(scores)[:-1], np.nan)


@dataclass(frozen=True)
class Weights:
    """AutoMem's SEARCH_WEIGHT_*. Their sum is 1.60; since 4e7956e (#177, 0.35 for metadata) it is 1.95."""

    vector: float = 0.35
    keyword: float = 0.35
    metadata: float = 0.0
    relation: float = 0.25
    tag: float = 0.20
    exact: float = 0.20
    importance: float = 0.10
    recency: float = 0.10
    confidence: float = 0.05
    relevance: float = 0.0

    @property
    def total(self) -> float:
        return math.fsum(getattr(self, one.name) for one in fields(self))


SHIPPED_WEIGHTS = Weights()


def token_share(hits: Any, tokens: Any) -> Any:
    """hits / tokens, and 0 for a question without tokens."""
    return np.where(tokens == 0, 0.0, hits / np.where(tokens == 0, 1.0, tokens))


def tag_share(hits: Any, tokens: Any, cap: Any) -> Any:
    """hits / tokens; with a cap above 0, min(1, hits / min(tokens, cap)).

    Source: automem, the cap since cefa516 (#193); the shipped cap of 0 means no cap.
    """
    capped = np.minimum(1.0, token_share(hits, np.minimum(tokens, cap)))
    return np.where(cap > 0, capped, token_share(hits, tokens))


def linear_recency(age: Any, horizon: Any) -> Any:
    """max(0, 1 - age / horizon), and 0 for a memory without a date."""
    return np.where(np.isnan(age), 0.0, np.maximum(0.0, 1 - age / horizon))


def exponential_recency(age: Any, half_life: Any) -> Any:
    """exp(-0.693 × age / half-life), which is one half after a half-life; 0 without a date."""
    return np.where(np.isnan(age), 0.0, np.exp(-(math.log(2) * age / half_life)))


EVIDENCE = ("vector", "keyword", "metadata", "exact")
GATED = ("tag", "importance", "recency", "confidence", "relevance")


def evidence_of(components: Mapping[str, Any]) -> Any:
    """The largest of the components that show that a memory is about the question."""
    return reduce(np.maximum, [components[name] for name in EVIDENCE if name in components])


def gated(components: Mapping[str, Any], gate: Any, tokens: Any) -> dict[str, Any]:
    """The components; if the evidence is below the gate, those in GATED are multiplied by evidence / gate.

    Source: automem c11b594 (#186), RECALL_RELEVANCE_GATE; the shipped value of 0 switches the gate off.
    """
    evidence = evidence_of(components)
    below = (tokens > 0) & (evidence < gate)
    share = evidence / np.where(gate > 0, gate, 1.0)
    return {
        name: np.where(below, one * share, one) if name in GATED else one for name, one in components.items()
    }


def final_score(components: Mapping[str, Any], weights: Mapping[str, Any], bonus: Any = None) -> Any:
    """The sum of weight × component, plus the bonus if there is one; it is not normalised.

    Source: automem, automem/utils/scoring.py.
    """
    parts = [weights[name] * one for name, one in components.items()]
    return reduce(add, parts if bonus is None else [*parts, bonus])


def _each(trace: Trace, value: float) -> Floats:
    return np.full(len(trace.chunks), float(value))


@dataclass(frozen=True)
class _GraphScore(ColumnStage, slot="keyword_score", scale="graph score", present="keyword_rank"):
    """Base of the stages below, which fill this slot."""


@dataclass(frozen=True)
class RawGraphScore(_GraphScore):
    """The graph's raw number without a conversion: 11 for a good match (automem#190)."""

    description: ClassVar[str] = "keyword score = the graph's raw score, without an upper bound"
    best: ClassVar[Mapping[str, float]] = {"keyword_raw": math.inf}

    def formula(self, of: Numbers) -> Any:
        return of["keyword_raw"]


@dataclass(frozen=True)
class NormalisedGraphScore(_GraphScore, observed=("keyword_best",)):
    """The graph's raw number divided by the highest possible number for the question: 3 × keywords + 3.

    Source: automem 3653ddf (#191).
    """

    description: ClassVar[str] = "keyword score = raw score / (3 × keywords + 3)"
    best: ClassVar[Mapping[str, float]] = {"keyword_raw": 6.0, "keyword_best": 6.0}

    def observe(self, trace: Trace, context: Context) -> Mapping[str, Floats]:
        return {"keyword_best": _each(trace, most_raw(trace.question))}

    def formula(self, of: Numbers) -> Any:
        return of["keyword_raw"] / of["keyword_best"]


@dataclass(frozen=True)
class DeadKeyword(ColumnStage, slot="keyword_component"):
    """The graph's score for its own rows, 0 for every row of the vector leg: nearly always 0 (#128)."""

    description: ClassVar[str] = (
        "keyword component = keyword score for rows of the graph alone, and 0 for the others"
    )

    def formula(self, of: Numbers) -> Any:
        return np.where(np.isnan(of["vector_rank"]), filled(of["keyword_score"], 0.0), 0.0)


@dataclass(frozen=True)
class ContentKeyword(ColumnStage, slot="keyword_component", observed=("token_hits", "keyword_tokens")):
    """For rows of the vector leg, the share of the question's tokens that are in the memory's text."""

    best: ClassVar[Mapping[str, float]] = {"token_hits": 1.0, "keyword_tokens": 1.0}

    def searched(self, memory: Memory) -> Container[str]:
        """The words or the text of a memory in which tokens are searched."""
        raise NotImplementedError(f"{type(self).__name__} reads nothing")

    def observe(self, trace: Trace, context: Context) -> Mapping[str, Floats]:
        tokens = query_tokens(trace.question)
        hits = [hits_in(tokens, self.searched(one)) for one in memories_of(context.index, trace)]
        return {"token_hits": np.array(hits, float), "keyword_tokens": _each(trace, len(tokens))}

    def formula(self, of: Numbers) -> Any:
        share = token_share(of["token_hits"], of["keyword_tokens"])
        return np.where(np.isnan(of["vector_rank"]), filled(of["keyword_score"], 0.0), share)


@dataclass(frozen=True)
class SubstringKeyword(ContentKeyword):
    """Tokens match as substrings: `car` is in `carpet`. Source: automem e59e9ca, issue #128."""

    description: ClassVar[str] = (
        "keyword component = share of the tokens that the text contains, as substrings"
    )

    def searched(self, memory: Memory) -> Container[str]:
        return memory.lower


@dataclass(frozen=True)
class WholeWordKeyword(ContentKeyword):
    """Only whole words match, so the token multi-hop never matches. Source: automem 591b2c7 (#150)."""

    description: ClassVar[str] = "keyword component = share of the tokens that are words of the text"

    def searched(self, memory: Memory) -> Container[str]:
        return memory.words


@dataclass(frozen=True)
class ClampedKeyword(WholeWordKeyword):
    """`WholeWordKeyword` with at most 1 for rows of the graph. Source: automem 3653ddf (#191)."""

    description: ClassVar[str] = WholeWordKeyword.description + "; for rows of the graph at most 1"

    def formula(self, of: Numbers) -> Any:
        share = token_share(of["token_hits"], of["keyword_tokens"])
        graph = np.minimum(1.0, filled(of["keyword_score"], 0.0))
        return np.where(np.isnan(of["vector_rank"]), graph, share)


@dataclass(frozen=True)
class TagScore(ColumnStage, slot="tag_component", observed=("tag_hits", "tokens")):
    """The share of the tokens that equal a tag or a metadata term: `tag_share`."""

    best: ClassVar[Mapping[str, float]] = {"tag_hits": 1.0, "tokens": 1.0}
    ranges: ClassVar[Mapping[str, tuple[float, float]]] = {"cap": (0, 1_000)}
    cap: int = 0

    @property
    def description(self) -> str:
        over = f", over at most {self.cap:g}" if self.cap > 0 else ""
        return f"tag component = share of the tokens that are a tag or a metadata term{over}"

    def observe(self, trace: Trace, context: Context) -> Mapping[str, Floats]:
        tokens = query_tokens(trace.question)
        hits = [hits_in(tokens, one.labels) for one in memories_of(context.index, trace)]
        return {"tag_hits": np.array(hits, float), "tokens": _each(trace, len(tokens))}

    def formula(self, of: Numbers) -> Any:
        return tag_share(of["tag_hits"], of["tokens"], of.constant(self.cap))


@dataclass(frozen=True)
class ExactScore(ColumnStage, slot="exact_component", observed=("exact",)):
    """1 if the whole question is a metadata term, else 0."""

    best: ClassVar[Mapping[str, float]] = {"exact": 1.0}
    description: ClassVar[str] = "exact component = 1 if the question is a metadata term, else 0"

    def observe(self, trace: Trace, context: Context) -> Mapping[str, Floats]:
        exact = [is_exact(trace.question, one.terms) for one in memories_of(context.index, trace)]
        return {"exact": np.array(exact, float)}

    def formula(self, of: Numbers) -> Any:
        return of["exact"]


@dataclass(frozen=True)
class _StatedScore(ColumnStage):
    """A number from the front matter of a memory's note, and 0 for a note that does not state it."""

    def observe(self, trace: Trace, context: Context) -> Mapping[str, Floats]:
        (name,) = self.observed
        stated = [getattr(one.note, name) for one in memories_of(context.index, trace)]
        return {name: np.array(stated, float)}

    def formula(self, of: Numbers) -> Any:
        (name,) = self.observed
        return filled(of[name], 0.0)


@dataclass(frozen=True)
class ImportanceScore(_StatedScore, slot="importance_component", observed=("importance",)):
    """The importance that a memory's note states, and 0 without one."""

    best: ClassVar[Mapping[str, float]] = {"importance": 1.0}
    description: ClassVar[str] = "importance component = the memory's importance, absent is 0"


@dataclass(frozen=True)
class ConfidenceScore(_StatedScore, slot="confidence_component", observed=("confidence",)):
    """The confidence that a memory's note states, and 0 without one."""

    best: ClassVar[Mapping[str, float]] = {"confidence": 1.0}
    description: ClassVar[str] = "confidence component = the memory's confidence, absent is 0"


@dataclass(frozen=True)
class LinearRecency(ColumnStage, slot="recency_component", observed=("age_days",)):
    """1 for a memory dated `now`, falling to 0 for one that is `horizon` days older.

    `now` is written like a date in front matter. If it is empty, it is the newest date of the notes, so the
    same memory gives the same answer on any day. AutoMem uses the clock.
    """

    best: ClassVar[Mapping[str, float]] = {"age_days": 0.0}
    ranges: ClassVar[Mapping[str, tuple[float, float]]] = {"horizon": (1, 100_000)}
    horizon: float = 180
    now: str = ""

    def __post_init__(self) -> None:
        if self.now:
            moment_of(self.now)

    @property
    def description(self) -> str:
        share = f"max(0, 1 - age in days / {self.horizon:g})"
        return f"recency component = {share}, without a date 0; {self.when}"

    @property
    def when(self) -> str:
        """The moment from which ages are counted, in words."""
        return f"now is {self.now or 'the newest date of the notes'}"

    def observe(self, trace: Trace, context: Context) -> Mapping[str, Floats]:
        dates = [one.note.date for one in memories_of(context.index, trace)]
        now = moment_of(self.now) if self.now else newest_date(context.index)
        ages = [math.nan if now is None else age_in_days(one, now) for one in dates]
        return {"age_days": np.array(ages, float)}

    def formula(self, of: Numbers) -> Any:
        return linear_recency(of["age_days"], of.constant(self.horizon))


def moment_of(text: str) -> datetime:
    """Parse a moment such as 2026-02-13 or 2026-02-13T10:00+02:00; without a time zone it is UTC.

    Raises InputError for other text.
    """
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        raise InputError(f"{text!r} is not a date.", "Write it like 2026-02-13.") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


@dataclass(frozen=True)
class ExponentialRecency(LinearRecency):
    """1 for a memory dated `now`, halved for every `horizon` days of age. Source: automem dbb933f (#182)."""

    @property
    def description(self) -> str:
        half = f"one half for each {self.horizon:g} days of age"
        return f"recency component = {half}, without a date 0; {self.when}"

    def formula(self, of: Numbers) -> Any:
        return exponential_recency(of["age_days"], of.constant(self.horizon))


@dataclass(frozen=True)
class FinalScore(ColumnStage, slot="fusion", output="score", scale="weighted sum"):
    """`final_score` of the seven components that a folder of notes has, gated if `gate` is above 0."""

    ranges: ClassVar[Mapping[str, tuple[float, float]]] = {"gate": (0, 1)} | {
        f"weights.{one.name}": (0, 10) for one in fields(Weights)
    }
    names: ClassVar[tuple[str, ...]] = (
        "vector", "keyword", "tag", "exact", "importance", "recency", "confidence",
    )  # fmt: skip
    weights: Weights = SHIPPED_WEIGHTS
    gate: float = 0.0

    @property
    def description(self) -> str:
        parts = " + ".join(f"{getattr(self.weights, name):g} × {name}" for name in self.names)
        off = f"; if the evidence is below {self.gate:g}, the other components count less"
        return f"score = {parts}, not normalised{off if self.gate > 0 else ''}"

    def formula(self, of: Numbers) -> Any:
        components = {name: of[f"{name}_component"] for name in self.names if name != "vector"}
        components = {"vector": filled(of["vector_score"], 0.0), **components}
        if self.gate > 0:
            components = gated(components, of.constant(self.gate), of["tokens"])
        return final_score(
            components, {name: of.constant(getattr(self.weights, name)) for name in self.names}
        )

    @property
    def remark(self) -> str | None:
        if math.isclose(self.weights.total, 1):
            return None
        return (
            f"The weights sum to {self.weights.total:.2f}, not 1, and the score is not divided by this sum."
        )
