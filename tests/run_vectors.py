"""The project against vectors of real systems: `python -m tests.run_vectors FILE.json`.

A file is a list of cases: {group, version, input, expected, note}. Each group of a version has an adapter
here, which turns the input into an output by the workbench's own code. A group or a version without an
adapter is a failure, and is named.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import apsw
import numpy as np

from workbench.memory.chunking import LineChunker, chunk_id, remap_lines, utf16_length
from workbench.memory.files import content_hash
from workbench.memory.store import KEYWORD_SQL, Cached, Settings, Store
from workbench.records import Chunk, Document, Hits, Passage, Rows, Trace, Vector
from workbench.retrieval.columns import ColumnStage, Numbers
from workbench.retrieval.fusion import WeightedSum
from workbench.retrieval.pipeline import Pipeline, search
from workbench.retrieval.query import JoinedWords
from workbench.retrieval.scoring import ClampedRank, clamped_rank
from workbench.systems import openclaw

VECTORS = Path(__file__).parent / "vectors"

Adapter = Callable[[Mapping[str, Any]], Any]


@dataclass(frozen=True)
class Case:
    """What a system gave for an input."""

    group: str
    version: str
    input: Mapping[str, Any]
    expected: Any
    note: str = ""


@dataclass(frozen=True)
class Outcome:
    """What became of a case; `problem` is empty when it passed."""

    case: Case
    problem: str = ""


class UnreadableError(Exception):
    """A file that holds no cases."""


# Adapters, by group and version

ADAPTERS: dict[tuple[str, str], Adapter] = {}


def adapts(group: str, *versions: str) -> Callable[[Adapter], Adapter]:
    """Registers an adapter for a group, in the versions whose text begins with one of `versions`."""

    def register(adapter: Adapter) -> Adapter:
        ADAPTERS.update({(group, version): adapter for version in versions})
        return adapter

    return register


def adapter_for(case: Case) -> Adapter | None:
    """The adapter for a case's group and version, None when there is none."""
    for (group, version), adapter in ADAPTERS.items():
        if group == case.group and re.match(re.escape(version) + r"(?![\w.])", case.version):
            return adapter
    return None


FEBRUARY = ("2026.2.12", "2026.2.13")


@adapts("fts-query", *FEBRUARY)
def fts_query(given: Mapping[str, Any]) -> str | None:
    return JoinedWords(join="AND").match(given["raw"])


@adapts("bm25-rank-to-score", *FEBRUARY)
def bm25_rank_to_score(given: Mapping[str, Any]) -> float:
    raw = np.array([float(given["rank"])])
    column = ClampedRank().formula(_Given({"keyword_raw": raw}))
    assert np.array_equal(column, clamped_rank(raw))
    return float(column[0])


@dataclass(frozen=True)
class _Given:
    columns: Mapping[str, np.ndarray]

    def __getitem__(self, name: str) -> np.ndarray:
        return self.columns[name]


@dataclass(frozen=True)
class GivenKeywordScore(ColumnStage):
    """The engine's number is the score already."""

    slot: ClassVar[str] = "keyword_score"
    output: ClassVar[str] = "keyword_score"
    present: ClassVar[str | None] = "keyword_rank"
    says: ClassVar[str] = "keyword score = as given"

    def formula(self, of: Numbers) -> Any:
        return of["keyword_raw"]


@dataclass(frozen=True)
class GivenVectorScore(ColumnStage):
    """The engine's number is the score already."""

    slot: ClassVar[str] = "vector_score"
    output: ClassVar[str] = "vector_score"
    present: ClassVar[str | None] = "vector_rank"
    says: ClassVar[str] = "vector score = as given"

    def formula(self, of: Numbers) -> Any:
        return of["vector_raw"]


@dataclass
class FixedIndex:
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

    def keyword(self, match: str, limit: int) -> Hits:
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
        [(_merge_chunk(hit), hit["textScore"]) for hit in given["keyword"]],
        [(_merge_chunk(hit), hit["vectorScore"]) for hit in given["vector"]],
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
            "snippet": openclaw.snippet(one.chunk),
            "source": one.chunk.source,
        }
        for one in trace.results
    ]


def _merge_chunk(hit: Mapping[str, Any]) -> Chunk:
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
            {"path": one.chunk.path, "score": one.score, "snippet": openclaw.snippet(one.chunk)}
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
    return openclaw.cosine(given["a"], given["b"])


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
        hits = store.keyword(match, len(docs))
        paths = [chunk.path for chunk in store.chunks(hits.rows)]
    return [[path, float(rank)] for path, rank in zip(paths, hits.raw, strict=True)]


# Comparing

EXACT = {"rel_tol": 0.0, "abs_tol": 1e-9}
TOLERANCES = {"fts5-ranks": {"rel_tol": 1e-6, "abs_tol": 2e-6}}
NOT_JSON = ("NaN", "Infinity", "-Infinity")


def same(got: Any, expected: Any, tolerance: Mapping[str, float]) -> bool:
    """Whether two values agree: numbers within the tolerance, all else exactly.

    >>> same({"a": [0.1 + 0.2, None]}, {"a": [0.3, None]}, EXACT), same(0, None, EXACT), same(1, True, EXACT)
    (True, False, False)
    """
    if isinstance(expected, Mapping):
        return (
            isinstance(got, Mapping)
            and got.keys() == expected.keys()
            and all(same(got[key], expected[key], tolerance) for key in expected)
        )
    if isinstance(expected, list):
        return (
            isinstance(got, list)
            and len(got) == len(expected)
            and all(same(one, other, tolerance) for one, other in zip(got, expected, strict=True))
        )
    if _is_number(got) and (_is_number(expected) or expected in NOT_JSON):
        return _same_number(float(got), float(expected), tolerance)
    return type(got) is type(expected) and bool(got == expected)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _same_number(got: float, expected: float, tolerance: Mapping[str, float]) -> bool:
    if math.isnan(expected):
        return math.isnan(got)
    return math.isclose(got, expected, **tolerance)


# Running

FIELDS = {"group", "version", "input", "expected", "note"}


def load(file: Path) -> list[Case]:
    """The cases in a file. Raises UnreadableError when it holds none, or cannot be read."""
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UnreadableError(f"{file} cannot be read: {error}") from None
    if not isinstance(data, list) or not data:
        raise UnreadableError(f"{file} holds no list of cases")
    return [_case(file, number, row) for number, row in enumerate(data, 1)]


def _case(file: Path, number: int, row: Any) -> Case:
    if not isinstance(row, Mapping) or not FIELDS - {"note"} <= row.keys() <= FIELDS:
        raise UnreadableError(f"{file}: case {number} does not have the fields {', '.join(sorted(FIELDS))}")
    return Case(**row)


def run(case: Case) -> Outcome:
    """The case, passed or not; an exception is a failure too."""
    adapter = adapter_for(case)
    if adapter is None:
        return Outcome(case, f"no adapter for group {case.group!r} in version {case.version!r}")
    try:
        got = adapter(case.input)
    except Exception as error:
        return Outcome(case, f"expected {case.expected!r}\n    got {type(error).__name__}: {error}")
    if same(got, case.expected, TOLERANCES.get(case.group, EXACT)):
        return Outcome(case)
    return Outcome(case, f"expected {case.expected!r}\n    got      {got!r}")


def report(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Lines to print: each failing case, then passed and failed per group."""
    for one in outcomes:
        if one.problem:
            yield f"FAILED {one.case.group}: {one.case.note}\n    input    {one.case.input!r}"
            yield f"    {one.problem}"
    failed = Counter(one.case.group for one in outcomes if one.problem)
    for group, total in Counter(one.case.group for one in outcomes).items():
        yield f"{group:24} {total - failed[group]:4} passed {failed[group]:4} failed"
    yield f"{'all':24} {len(outcomes) - failed.total():4} passed {failed.total():4} failed"


def main(arguments: Sequence[str] | None = None) -> int:
    """0 when every case passes, 1 when one fails, 2 for a file that cannot be read."""
    parser = argparse.ArgumentParser(prog="python -m tests.run_vectors", description=__doc__)
    parser.add_argument("file", type=Path, metavar="FILE.json")
    try:
        outcomes = [run(case) for case in load(parser.parse_args(arguments).file)]
    except UnreadableError as error:
        print(error, file=sys.stderr)
        return 2
    print("\n".join(report(outcomes)))
    return int(any(one.problem for one in outcomes))


if __name__ == "__main__":
    sys.exit(main())
