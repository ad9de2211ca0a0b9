"""Specimens of the index, of single legs and of rerankers: one memory, harmed or searched in one wrong way.

`stored.yaml` tells of each. The memory is MEMORY unless the report has notes; its vectors have three axes.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from workbench.contracts import Context
from workbench.memory.embedding.engines import Role
from workbench.memory.embedding.local import Embedded, ToyEmbedder
from workbench.memory.index import MemoryIndex
from workbench.memory.store.sqlite.store import Store
from workbench.records import Clause, Hits, Query, Rows, Trace, Vector
from workbench.retrieval.columns import ColumnStage, Numbers
from workbench.retrieval.cutoff import MinScore
from workbench.retrieval.fusion import OneLeg, RankSum
from workbench.retrieval.legs import Depth, KeywordLeg, Union, VectorLeg
from workbench.retrieval.pipeline import Pipeline, search
from workbench.retrieval.query import JoinedWords, UnicodeWords
from workbench.retrieval.scope import EVERYTHING, scope
from workbench_plugins.engines.museum import (
    Alteration,
    Answer,
    Reports,
    Sides,
    SmallSearch,
    Specimen,
    small_memory,
)
from workbench_plugins.engines.presets import ENGINES, engine_pipeline
from workbench_plugins.rerank import Rerank, reranked_order

TOLD = Reports(__file__)
RRF = engine_pipeline(ENGINES["rrf-60"])
VECTORS = RRF.with_stage(OneLeg("vector"))
WORDS = VECTORS.with_stage(OneLeg("keyword")).with_stage(UnicodeWords("OR"))


# An index that was harmed


def stored(change: Callable[[Any, list[str]], Any], index: MemoryIndex) -> MemoryIndex:
    """The index with other stored vectors: `change` gets them, shape (n, dimensions), with their paths."""
    store = index.store
    assert isinstance(store, Store)  # `small_memory` makes it
    rows, vectors = store.matrix()
    changed = change(vectors, [one.path for one in store.chunks(rows)])
    for row, vector in zip(rows.tolist(), changed, strict=True):
        blob = np.asarray(vector, np.float32).tobytes()
        store.db.execute("UPDATE chunks_vec SET embedding = ? WHERE chunk_id = ?", (blob, row))
    return index


def turned(vectors: Any, paths: list[str], every: int = 1) -> Any:
    """Every so manieth vector in another model's space: the negated numbers on other axes."""
    which = np.arange(len(paths)) % every == 0
    return np.where(which[:, None], -np.roll(vectors, 1, axis=1), vectors)


def lengthened(vectors: Any, paths: list[str]) -> Any:
    """The first vectors twice as long as the last ones."""
    return vectors * np.linspace(2, 1, len(paths))[:, None]


def rotated(vectors: Any, paths: list[str]) -> Any:
    """Half of the files have the vectors of what they said before: those of their neighbours."""
    half = len(paths) // 2
    return np.concatenate([vectors[:half], np.roll(vectors[half:], 1, axis=0)])


class Partial(MemoryIndex):
    """An index whose legs reach only some files: those whose path begins so."""

    vectors_of: tuple[str, ...] = ("",)
    words_of: tuple[str, ...] = ("",)

    def _only(self, hits: Hits, names: tuple[str, ...], limit: int) -> Hits:
        keep = [one.path.startswith(names) for one in self.chunks(hits.rows)]
        return replace(hits, rows=hits.rows[keep][:limit], raw=hits.raw[keep][:limit])

    def vector(self, query: Vector, limit: int) -> Hits:
        return self._only(super().vector(query, self.size), self.vectors_of, limit)

    def keyword(self, query: Query, limit: int) -> Hits:
        return self._only(super().keyword(query, self.size), self.words_of, limit)


def reaching(vectors: tuple[str, ...], words: tuple[str, ...], index: MemoryIndex) -> MemoryIndex:
    """The index with legs that reach these files."""
    limited = Partial(index.store, index.embedder)
    limited.vectors_of, limited.words_of = vectors, words
    return limited


def rewritten(write: Callable[[str, str], str], index: MemoryIndex) -> MemoryIndex:
    """The same notes with other texts: `write` gets a note's path and its text."""
    notes = {one.path: write(one.path, one.text) for one in index.documents()}
    assert isinstance(index.embedder, ToyEmbedder)
    return small_memory(notes, {axis: tuple(words) for axis, words in index.embedder.axes.items()})


def decomposed(_: str, text: str) -> str:
    """The text as macOS writes names: each syllable as its parts (NFD)."""
    return unicodedata.normalize("NFD", text)


def titled(path: str, text: str) -> str:
    """The text of a chunk with the title of its note, which is the name of the folder here."""
    return f"{path.partition('/')[0]}\n{text}"


def with_parts(_: str, text: str) -> str:
    """The text with the parts of its names, which begin with capitals inside, as words behind it."""
    parts = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text)
    return text if parts == text else f"{text}\n{parts}"


class Quantised(MemoryIndex):
    """Vectors of one bit a number, and no second look at the whole ones."""

    def vector(self, query: Vector, limit: int) -> Hits:
        rows, vectors = self.vectors()
        bits = np.where(vectors > 0, 1.0, -1.0) @ np.where(query > 0, 1.0, -1.0) / query.size
        order = np.lexsort((rows, -bits))[:limit]
        return Hits(rows[order], 1 - bits[order])


class Substrings(MemoryIndex):
    """A keyword leg that counts words, also inside others, as n-grams do; hits have more than `above`."""

    above = 0

    def keyword(self, query: Query, limit: int) -> Hits:
        rows: Rows = self.vectors()[0]
        words = [clause.text for clause in query.clauses]
        found = np.array([sum(map(one.text.count, words)) for one in self.chunks(rows)], float)
        best = np.argsort(-found, kind="stable")
        keep = best[found[best] > self.above][:limit]
        return Hits(rows[keep], -found[keep])


class WholeQuestions(Substrings):
    """A keyword leg that looks for the question as one piece of text."""

    def keyword(self, query: Query, limit: int) -> Hits:
        whole = " ".join(clause.text for clause in query.clauses)
        return super().keyword(Query((Clause(whole),)), limit)


class Ungated(Substrings):
    """A keyword leg that ranks every row, as `ts_rank` without `@@` does."""

    above = -1


class Unordered(MemoryIndex):
    """Vectors by distance alone, as a sort with a LIMIT and no second key: the limit decides between ties."""

    def vector(self, query: Vector, limit: int) -> Hits:
        hits = super().vector(query, self.size)
        count = min(limit, hits.rows.size)
        last = np.argpartition(-hits.raw, -count)[-count:]
        best = last[np.argsort(hits.raw[last], kind="stable")]
        return replace(hits, rows=hits.rows[best], raw=hits.raw[best])


def of_kind(kind: type[MemoryIndex], index: MemoryIndex) -> MemoryIndex:
    """The same store as another kind of index."""
    return kind(index.store, index.embedder)


@dataclass(frozen=True)
class PrefixedToy(ToyEmbedder):
    """A toy of the e5 family: without its prefix a text comes out on other axes. `adds` are its own."""

    name: str = "e5-small-toy"
    adds: tuple[str, ...] = ()

    def embed(self, texts: Sequence[str], role: Role) -> Embedded:
        vectors = super().embed(texts, role).vectors
        away = 1 if role == "query" else 2
        known = [role in self.adds or text.startswith(("query: ", "passage: ")) for text in texts]
        return Embedded(
            np.where(np.array(known)[:, None], vectors, np.roll(vectors, away, axis=1)), np.ones(len(texts))
        )


# A wrong stage


@dataclass(frozen=True)
class ScoreOfDistance(ColumnStage, slot="vector_score", present="vector_rank"):
    """`times` the distance as a similarity, at most 1; or 1 minus that, at least 0."""

    times: float = 1.0
    minus: bool = False

    @property
    def description(self) -> str:
        far = f"{self.times:g} × distance"
        return f"vector score = max(0, 1 - {far})" if self.minus else f"vector score = min(1, {far})"

    def formula(self, of: Numbers) -> Any:
        far = of.constant(self.times) * of["vector_raw"]
        return np.maximum(0.0, 1 - far) if self.minus else np.minimum(1.0, far)


@dataclass(frozen=True)
class Judge:
    """A reranker that counts the question's words in a text; `scale` turns the logits into scores."""

    scale: str = "sigmoid"

    @property
    def name(self) -> str:
        return f"a judge by {self.scale}"

    def scores(self, question: str, texts: Sequence[str]) -> Sequence[float]:
        """The scores of the texts; logits are 4 for each word that they share, less 6."""
        asked = set(question.lower().split())
        logits = np.array([4.0 * len(asked & set(text.lower().split())) - 6 for text in texts])
        return [*map(float, SCALES[self.scale](logits))]


def _sigmoid(values: Any) -> Any:
    return 1 / (1 + np.exp(-values))


SCALES: Mapping[str, Callable[[Any], Any]] = {
    "logits": lambda logits: logits,
    "sigmoid": _sigmoid,
    "two sigmoids": lambda logits: _sigmoid(_sigmoid(logits)),
    "softmax of one": np.ones_like,
    "min-max": lambda logits: (logits - logits.min()) / (np.ptp(logits) + 1e-8),
}


@dataclass(frozen=True)
class CutRerank(Rerank):
    """A reranker that gets only the first characters of each text."""

    characters: int = 24

    @property
    def description(self) -> str:
        return f"{super().description}, the first {self.characters} characters of it"

    def texts(self, trace: Trace, context: Context, asked: Rows) -> list[str]:
        return [text[: self.characters] for text in super().texts(trace, context, asked)]


def reranked(
    judge: Judge, *floors: Any, rerank: type[Rerank] = Rerank, count: int = 20, limit: int = 6
) -> Pipeline:
    """RRF, then a judge; floors of the fused score stand before it, others after it."""
    *first, _, cut = RRF.stages
    before = [one for one in floors if one.of == "score"]
    after = [one for one in floors if one.of != "score"]
    last = [reranked_order(), *after, replace(cut, count=limit)]  # type: ignore[type-var]
    return replace(RRF, name="reranked", stages=(*first, *before, rerank(judge, count), *last))


JUDGED = reranked(Judge())


@dataclass(frozen=True)
class Filler(JoinedWords):
    """An expansion that keeps its filler and drops the question's own words."""

    filler: ClassVar[list[str]] = ["understanding", "guide", "overview"]

    @property
    def description(self) -> str:
        return f"{super().description}; of an expansion that was cut short"

    def words(self, question: str) -> list[str]:
        return self.filler


@dataclass(frozen=True)
class TwoPages(SmallSearch):
    """The first page of two results, and the second as the rest of an answer of four."""

    def __call__(self) -> Answer:
        with self.opened() as index:
            pages = [
                search(self.question, self.pipeline.asking(limit=size), index).results for size in (2, 4)
            ]
        pages_shown = [("page 1", one) for one in pages[0]] + [("page 2", one) for one in pages[1][2:]]
        return {f"{page}: {one.chunk.path}": one.score for page, one in pages_shown}


def paged(specimen: Specimen) -> Specimen:
    """A specimen of two searches whose answers are read page by page."""
    sides = (replace(one, answer=TwoPages(**vars(one.answer))) for one in specimen.sides)
    return replace(specimen, sides=Sides(*sides))


def _distinct(answer: Answer) -> bool:
    paths = [name.partition(": ")[2] for name in answer]
    return len(paths) == len(set(paths))


def _distinct_scores(answer: Answer) -> bool:
    return len(set(answer.values())) > 2


def _spread(answer: Answer) -> bool:
    return max(answer.values()) > 0.85 and min(answer.values()) < 0.15


def _first(path: str) -> Callable[[Answer], bool]:
    return lambda answer: next(iter(answer), "") == path and len(set(answer.values())) > 1


TEA = "memory/kitchen.md"
DEEP = engine_pipeline(ENGINES["weaviate-relative"]).with_stage(KeywordLeg(Depth(50, 200))).asking(limit=2)
PAGES = [DEEP.with_stage(VectorLeg(Depth(times, 200))) for times in (1, 50)]
SHALLOW = VECTORS.with_stage(VectorLeg(Depth(1, 200))).asking(limit=2)
LOGITS = reranked(Judge("logits"), MinScore(0.0, of="rerank_score"))


def harmed(name: str, alteration: Alteration, pipeline: Pipeline = VECTORS) -> Specimen:
    """A sound index, and one that was harmed."""
    return TOLD.stored(name, pipeline, {"alteration": alteration}.items())


def prefixed(name: str, *adds: str) -> Specimen:
    """A model that gets only some of the prefixes that it wants, and one that gets both."""
    toys = (partial(PrefixedToy, adds=some) for some in (adds, ("query", "passage")))
    shipped, fixed = ({"embedder": toy}.items() for toy in toys)
    return TOLD.stored(name, VECTORS, shipped, fixed)


def scoped(k: float, breadth: float | None = None) -> Pipeline:
    """The vector leg within the folder `notes/`: k candidates first and the filter after, or further."""
    return VECTORS.with_new_stage(scope(k, "notes/", breadth), before=Union.slot)


ONE_NOTE = MinScore(0.5, of="rerank_score")
JUDGED_AT = MinScore(0.9, of="rerank_score")

SPECIMENS = (
    prefixed("openclaw-prefix-left-out"),
    prefixed("open-webui-query-prefix", "passage"),
    harmed("vllm-silent-pooling", partial(stored, turned)),
    harmed("statewave-mixed-models", partial(stored, partial(turned, every=3))),
    harmed("llm-swift-unnormalised", partial(stored, lengthened)),
    harmed("second-brain-stale-vector", partial(stored, rotated)),
    harmed(
        "second-brain-vector-deleted",
        partial(reaching, ("memory/b", "memory/d", "memory/g", "memory/s"), ("",)),
    ),
    harmed("uteke-parallel-writes", partial(reaching, ("memory/soil",), ("",))),
    TOLD.stored(
        "kb-mcp-filter-on-one-leg",
        RRF,
        {"alteration": partial(reaching, ("memory/k",), ("",))}.items(),
        {"alteration": partial(reaching, ("memory/k",), ("memory/k",))}.items(),
        lambda answer: set(answer) == {TEA},
    ),
    harmed("qdrant-quantised-without-rescoring", partial(of_kind, Quantised)),
    TOLD.stored(
        "hindsight-simple-for-chinese", WORDS, (), {"alteration": partial(of_kind, Substrings)}.items()
    ),
    TOLD.stored(
        "openlore-identifier-is-one-word", WORDS, (), {"alteration": partial(rewritten, with_parts)}.items()
    ),
    harmed("zotero-mcp-whole-question", partial(of_kind, WholeQuestions), WORDS),
    TOLD.stored("codemode-nfd", WORDS, {"alteration": partial(rewritten, decomposed)}.items()),
    TOLD.stored(
        "dify-title-in-the-first-chunk", WORDS, (), {"alteration": partial(rewritten, titled)}.items()
    ),
    TOLD.stored(
        "pgedge-ids-never-merge",
        RRF,
        {"alteration": partial(reaching, ("v/",), ("k/",))}.items(),
        {"alteration": partial(reaching, ("k/",), ("k/",))}.items(),
    ),
    TOLD.searched("mem0-distance-as-similarity", VECTORS.with_stage(ScoreOfDistance()), VECTORS),
    TOLD.searched("mem0-distance-clamped", VECTORS.with_stage(ScoreOfDistance(20.0)), VECTORS, _first(TEA)),
    TOLD.searched(
        "mem0-euclidean-below-zero",
        VECTORS.with_stage(ScoreOfDistance(20.0, True)),
        VECTORS,
        _distinct_scores,
    ),
    TOLD.searched("agentmemory-softmax-of-one", reranked(Judge("softmax of one")), JUDGED, _first(TEA)),
    TOLD.searched("qmd-two-sigmoids", reranked(Judge("two sigmoids")), JUDGED, _spread),
    TOLD.searched("mem0-rerank-min-max", reranked(Judge("min-max"), ONE_NOTE), reranked(Judge(), ONE_NOTE)),
    TOLD.searched("mem0-cut-before-rerank", reranked(Judge(), count=1, limit=1), reranked(Judge(), limit=1)),
    TOLD.searched(
        "graphiti-threshold-before-rerank", reranked(Judge(), MinScore(0.9)), reranked(Judge(), JUDGED_AT)
    ),
    TOLD.searched("minisearch-rerank-characters", reranked(Judge(), rerank=CutRerank), JUDGED),
    TOLD.searched(
        "openviking-threshold-of-logits", LOGITS, LOGITS.with_stage(MinScore(-8.0, of="rerank_score"))
    ),
    TOLD.searched("qmd-expansion-loses-the-word", WORDS.with_stage(Filler("OR")), WORDS),
    TOLD.fused("graphiti-k-of-one", RankSum(k=0), RankSum(k=60)),
    paged(TOLD.searched("weaviate-page-two", PAGES[0], PAGES[1], _distinct)),
    TOLD.searched("qmd-filter-after-top-k", scoped(3), scoped(3, EVERYTHING)),
    TOLD.searched("pgvector-breadth-before-the-filter", scoped(2, 3), scoped(2, 6)),
    TOLD.stored(
        "arcana-rank-without-match",
        WORDS.with_stage(UnicodeWords("AND")),
        {"alteration": partial(of_kind, Ungated)}.items(),
    ),
    paged(
        TOLD.stored(
            "textstack-ties-in-sql",
            SHALLOW,
            {"alteration": partial(of_kind, Unordered)}.items(),
            (),
            _distinct,
        )
    ),
)
