"""OpenClaw 2026.2.12 and 2026.2.13, whose memory algorithms are the same."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import apsw
import numpy as np

from tests.adapters import adapts
from tests.world import compiled, written
from workbench.contracts import Index, Layout
from workbench.memory.files import content_hash
from workbench.memory.sources import LineChunker, chunk_id, utf16_length
from workbench.memory.store.contract import Cached, Settings
from workbench.memory.store.sqlite.store import KEYWORD_SQL, Store
from workbench.records import Chunk, Document, Hits, Passage, Query, Rows, Trace, Vector
from workbench.retrieval.columns import Columns, ColumnStage, Numbers
from workbench.retrieval.fusion import WeightedSum
from workbench.retrieval.pipeline import Pipeline, search
from workbench.retrieval.query import JoinedWords
from workbench.retrieval.scoring import ClampedRank, clamped_rank
from workbench.systems import openclaw
from workbench_plugins.openclaw.sessions import remap_lines

FEBRUARY = ("2026.2.12", "2026.2.13")


@adapts("fts-query", *FEBRUARY)
def fts_query(given: Mapping[str, Any]) -> str | None:
    return compiled(JoinedWords(join="AND").query(given["raw"]))


@adapts("bm25-rank-to-score", *FEBRUARY)
def bm25_rank_to_score(given: Mapping[str, Any]) -> float:
    raw = np.array([float(given["rank"])])
    column = ClampedRank().formula(Columns({"keyword_raw": raw}))
    assert np.array_equal(column, clamped_rank(raw))
    return float(column[0])


@dataclass(frozen=True)
class GivenKeywordScore(ColumnStage, slot="keyword_score", present="keyword_rank"):
    """The engine's number is the score already."""

    description: ClassVar[str] = "keyword score = as given"

    def formula(self, of: Numbers) -> Any:
        return of["keyword_raw"]


@dataclass(frozen=True)
class GivenVectorScore(GivenKeywordScore, slot="vector_score", present="vector_rank"):
    """The same for the vector leg."""

    description: ClassVar[str] = "vector score = as given"

    def formula(self, of: Numbers) -> Any:
        return of["vector_raw"]


@dataclass(eq=False)
class FixedIndex(Index):
    """Answers each leg with the same hits whatever it is asked, and writes down what it was asked."""

    keyword_hits: Sequence[tuple[Chunk, float]]
    vector_hits: Sequence[tuple[Chunk, float]]
    query: Vector = field(default_factory=lambda: np.ones(1, np.float32))
    calls: list[tuple[str, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.known: list[Chunk] = []
        for chunk, _ in (*self.vector_hits, *self.keyword_hits):
            self._learn(chunk)

    def _learn(self, chunk: Chunk) -> None:
        """A chunk of both legs is one, and shows the keyword leg's text unless that is empty."""
        ids = [one.id for one in self.known]
        if chunk.id not in ids:
            self.known.append(chunk)
        elif chunk.text:
            self.known[ids.index(chunk.id)] = chunk

    @property
    def size(self) -> int:
        return len(self.known)

    def laid_out(self, layout: Layout | None) -> Index:
        """This index itself: it answers the same in every layout."""
        return self

    def keyword(self, query: Query, limit: int) -> Hits:
        self.calls.append(("keyword", limit))
        return self._hits(self.keyword_hits[:limit])

    def vector(self, query: Vector, limit: int) -> Hits:
        self.calls.append(("vector", limit))
        return self._hits(self.vector_hits[:limit])

    def _hits(self, some: Sequence[tuple[Chunk, float]]) -> Hits:
        ids = [one.id for one in self.known]
        rows = np.array([ids.index(chunk.id) for chunk, _ in some], np.int64)
        return Hits(rows, np.array([number for _, number in some], float))

    def embed(self, question: str) -> Vector:
        return self.query

    def chunks(self, rows: Rows) -> list[Chunk]:
        return [self.known[row] for row in rows]

    def rows_of(self, path: str) -> Rows:
        return np.array([row for row, chunk in enumerate(self.known) if chunk.path == path], np.int64)


@adapts("hybrid-merge", *FEBRUARY)
def hybrid_merge(given: Mapping[str, Any]) -> list[dict[str, Any]]:
    index = FixedIndex(
        [(merge_chunk(hit), hit["textScore"]) for hit in given["keyword"]],
        [(merge_chunk(hit), hit["vectorScore"]) for hit in given["vector"]],
    )
    fusion = WeightedSum(given["vectorWeight"], given["textWeight"], absent=0.0)
    everything = openclaw.SHIPPED.asking(limit=max(1, index.size), min_score=-math.inf)
    trace = search("X", _as_given(everything).with_stage(fusion), index)
    return [
        {
            "path": one.chunk.path,
            "startLine": one.chunk.start_line,
            "endLine": one.chunk.end_line,
            "score": one.score,
            "snippet": one.chunk.snippet,
            "source": one.chunk.source,
        }
        for one in trace.results
    ]


def merge_chunk(hit: Mapping[str, Any]) -> Chunk:
    return Chunk(hit["id"], hit["path"], hit["source"], hit["startLine"], hit["endLine"], hit["snippet"])


def _as_given(pipeline: Pipeline) -> Pipeline:
    """`pipeline` with the scores taken as they come, in each of the slots that it has."""
    slots = [stage.slot for stage in pipeline.stages]
    for stage in (GivenKeywordScore(), GivenVectorScore()):
        if stage.slot in slots:
            pipeline = pipeline.with_stage(stage)
    return pipeline


@adapts("search-pipeline", *FEBRUARY)
def search_pipeline(given: Mapping[str, Any]) -> dict[str, Any]:
    index = FixedIndex(
        [(_hit_chunk(hit["id"], "kw"), hit["textScore"]) for hit in given["keywordHits"]],
        [(_hit_chunk(hit["id"], "vec"), hit["score"]) for hit in given["vectorHits"]],
        np.array(given["queryVec"], np.float32),
    )
    trace = search(given["query"], _asked(given["opts"], given["settingsOverride"]), index)
    return {
        "results": [
            {"path": one.chunk.path, "score": one.score, "snippet": one.chunk.snippet}
            for one in trace.results
        ],
        "calls": [_call(leg, depth, trace) for leg, depth in index.calls],
    }


def _hit_chunk(name: str, leg: str) -> Chunk:
    return Chunk(name, f"memory/{name}.md", "memory", 1, 1, f"{leg} {name}")


def _asked(options: Mapping[str, Any], settings: Mapping[str, Any]) -> Pipeline:
    """The pipeline that these settings choose, asked with these options; an unknown one is an error."""
    if settings not in ({}, {"hybrid": {"enabled": False}}) or options.keys() - {"maxResults", "minScore"}:
        raise NotImplementedError(f"settings {dict(settings)}, options {dict(options)}")
    shipped = openclaw.SHIPPED
    pipeline = openclaw.WORKAROUND if settings else shipped
    limit = options.get("maxResults", shipped.limit)
    return _as_given(pipeline.asking(limit=limit, min_score=options.get("minScore", shipped.floor)))


def _call(leg: str, depth: int, trace: Trace) -> list[Any]:
    return [leg, trace.question, depth] if leg == "keyword" else [leg, depth]


@adapts("chunking", *FEBRUARY)
def chunking(given: Mapping[str, Any]) -> Any:
    passages = _chunks(given)
    if "content_generator" in given:
        return {"lengths": [utf16_length(passage.text) for passage in passages]}
    return [
        {"startLine": one.start_line, "endLine": one.end_line, "text": one.text, "hash": one.hash}
        for one in passages
    ]


def _chunks(given: Mapping[str, Any]) -> list[Passage]:
    return LineChunker(**given.get("chunking", {})).chunk(content(given))


def content(given: Mapping[str, Any]) -> str:
    """The text of a case, made where the case only says how to make it.

    >>> content({"content_generator": "'ab' * 3"}), content({"content_generator": "U+41 * 2"})
    ('ababab', 'AA')
    """
    if "content_generator" in given:
        return _generated(given["content_generator"])
    if same := re.fullmatch(r"same (\d+) lines", given["content"]):
        return "\n".join(f"line {number}" for number in range(1, int(same[1]) + 1))
    return str(given["content"])


def _generated(recipe: str) -> str:
    if quoted := re.fullmatch(r"'([^']+)' \* (\d{1,6})", recipe):
        return quoted[1] * int(quoted[2])
    if code_point := re.fullmatch(r"U\+([0-9A-Fa-f]{1,6}) \* (\d{1,6})", recipe):
        return chr(int(code_point[1], 16)) * int(code_point[2])
    raise ValueError(f"no recipe for a text: {recipe!r}")


@adapts("line-remap", *FEBRUARY)
def line_remap(given: Mapping[str, Any]) -> list[dict[str, int]]:
    mapped = remap_lines(_chunks(given), given["lineMap"])
    return [{"startLine": one.start_line, "endLine": one.end_line} for one in mapped]


@adapts("hash", *FEBRUARY)
def hash_(given: Mapping[str, Any]) -> str:
    if "text" in given:
        return content_hash(given["text"])
    of = given["chunkId"]
    return chunk_id(of["source"], of["path"], of["startLine"], of["endLine"], of["hash"], of["model"])


@adapts("cosine", *FEBRUARY)
def cosine(given: Mapping[str, Any]) -> float:
    """Over the common prefix of two vectors; 0 if one has length 0. OpenClaw's own, without sqlite-vec."""
    width = min(len(given["a"]), len(given["b"]))
    left, right = np.asarray(given["a"][:width], float), np.asarray(given["b"][:width], float)
    norms = float(np.linalg.norm(left) * np.linalg.norm(right))
    return float(left @ right) / norms if norms else 0.0


@adapts("fts5-ranks", "SQLite 3.40.1")
def fts5_ranks(given: Mapping[str, Any]) -> list[list[Any]]:
    """Each matching document's number and rank: the store's own, or FTS5's with another tokenizer."""
    docs, match, tokenizer = given["docs"], given["match"], given["tokenize"]
    if tokenizer == "default unicode61":
        return _ranks_of_store(docs, match)
    if not re.fullmatch(r"tokenize='[a-z0-9_ ]+'", tokenizer):
        raise ValueError(f"no such tokenizer: {tokenizer!r}")
    db = apsw.Connection(":memory:")
    db.execute(f"CREATE VIRTUAL TABLE chunks_fts USING fts5 (text, {tokenizer})")
    db.executemany("INSERT INTO chunks_fts (rowid, text) VALUES (?, ?)", list(enumerate(docs)))
    return [[str(row), rank] for row, rank in db.execute(KEYWORD_SQL, (match, len(docs)))]


def _ranks_of_store(docs: Sequence[str], match: str) -> list[list[Any]]:
    with Store.create(Path(":memory:"), Settings("none", "none", 1, "none")) as store:
        for number, text in enumerate(docs):
            document = Document(str(number), "memory", text, content_hash(text), len(text), 0)
            passage = Passage(text, 1, 1, content_hash(text))
            store.replace(document, [passage], [Cached(np.ones(1, np.float32), 1.0)])
        hits = store.keyword(written(match), len(docs))
        paths = [chunk.path for chunk in store.chunks(hits.rows)]
    return [[path, float(rank)] for path, rank in zip(paths, hits.raw, strict=True)]
