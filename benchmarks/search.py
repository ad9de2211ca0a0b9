"""The time of one search on a warm index, stage by stage, without the embedding of the question.

python -m benchmarks.search [CHUNKS]
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter

from rich.console import Console
from rich.table import Table

from benchmarks.corpus import build
from benchmarks.speed.corpus import questions
from workbench.memory.index import MemoryIndex
from workbench.records import Trace
from workbench.retrieval.pipeline import Pipeline, Running, search
from workbench.systems.openclaw import SHIPPED, THREE_FIXES, WORKAROUND

BUDGET_MS = 5.0
KNN_SQL = "SELECT chunk_id, distance FROM chunks_vec WHERE embedding MATCH ? AND k = ?"
RANK_SQL = "SELECT rowid, rank FROM chunks_fts WHERE chunks_fts MATCH ? ORDER BY rank LIMIT 24"


def stage_times(question: str, pipeline: Pipeline, index: MemoryIndex) -> dict[str, float]:
    """Milliseconds by slot for one search, and `total`."""
    running = Running(index, question, pipeline.limit, index.embed(question))
    trace = Trace(question, pipeline.name, pipeline.stages)
    times: dict[str, float] = {}
    with index.snapshot():
        for stage in pipeline.stages:
            started = perf_counter()
            trace = stage.run(trace, running)
            times[stage.slot] = (perf_counter() - started) * 1e3
    started = perf_counter()
    _ = trace.results
    times["results"] = (perf_counter() - started) * 1e3
    return times | {"total": sum(times.values())}


def medians(pipeline: Pipeline, index: MemoryIndex, asked: list[str]) -> dict[str, float]:
    """The median milliseconds by slot."""
    every = [stage_times(question, pipeline, index) for question in asked]
    return {slot: median(times[slot] for times in every) for slot in every[0]}


def timed(call: Callable[[str], object], asked: list[str]) -> float:
    """The median milliseconds of one call per question."""
    times = []
    for question in asked:
        started = perf_counter()
        call(question)
        times.append((perf_counter() - started) * 1e3)
    return median(times)


GROUPS = {
    "keyword leg": ("query", "keyword_leg"),
    "vector leg": ("vector_leg",),
    "union and chunks": ("candidates",),
    "scores and fusion": ("keyword_score", "vector_score", "fusion"),
    "order, floor, limit": ("order", "floor", "limit"),
    "results of the trace": ("results",),
    "total": ("total",),
}


def main() -> None:
    chunks = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    with tempfile.TemporaryDirectory() as folder, build(Path(folder), chunks) as index:
        asked = questions(60)
        for question in asked:
            search(question, THREE_FIXES, index)
        measured = {one.name: medians(one, index, asked) for one in (SHIPPED, THREE_FIXES, WORKAROUND)}
        _print(chunks, measured)
        _print_peers(index, asked)


def _print(chunks: int, measured: dict[str, dict[str, float]]) -> None:
    table = Table(title=f"one search over {chunks:,} chunks, median ms of 60 questions, without embedding")
    table.add_column("stage")
    for name in measured:
        table.add_column(name, justify="right")
    for group, slots in GROUPS.items():
        row = (sum(times.get(slot, 0.0) for slot in slots) for times in measured.values())
        table.add_row(group, *(f"{value:.2f}" for value in row))
    budget = (f"{times['total'] / BUDGET_MS:.2f}" for times in measured.values())
    table.add_row("ratio to the 5 ms budget", *budget)
    Console(width=130).print(table)


def _print_peers(index: MemoryIndex, asked: list[str]) -> None:
    vectors = {question: index.embed(question) for question in asked}
    either = {question: THREE_FIXES["query"].query(question) for question in asked}  # type: ignore[attr-defined]
    ours, knn = (
        timed(lambda q: index.vector(vectors[q], 24), asked),
        timed(lambda q: index.store.db.execute(KNN_SQL, (vectors[q].tobytes(), 24)).fetchall(), asked),
    )
    postings = timed(lambda q: index.keyword(either[q], 24), asked)
    bm25, rank = (
        timed(lambda q: index.store.keyword(either[q], 24), asked),
        timed(lambda q: index.store.db.execute(RANK_SQL, (index.compiled(either[q]),)).fetchall(), asked),
    )
    print(f"vector leg: vec0 KNN / NumPy scan = {knn:.2f} ms / {ours:.2f} ms = {knn / ours:.1f}")
    print(f"OR keyword leg: SQL / postings = {bm25:.2f} ms / {postings:.2f} ms = {bm25 / postings:.0f}")
    print(
        f"OR keyword leg: ORDER BY rank / ORDER BY bm25() = {rank:.2f} ms / {bm25:.2f} ms = {rank / bm25:.1f}"
    )


if __name__ == "__main__":
    main()
