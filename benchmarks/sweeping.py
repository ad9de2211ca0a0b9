"""The time and memory of a sweep over cached legs, and of BM25 with other constants beside FTS5.

python -m benchmarks.sweeping [SETTINGS QUESTIONS CANDIDATES]
"""

from __future__ import annotations

import resource
import sys
import tempfile
from itertools import product
from pathlib import Path
from time import perf_counter, process_time
from timeit import repeat

import numpy as np

from benchmarks.corpus import build
from benchmarks.speed.corpus import questions
from workbench.records import KEPT, Clause, Query
from workbench.retrieval.settings import with_settings
from workbench.systems.openclaw import SHIPPED
from workbench_plugins.diagnose.sweep import FILES, IDS, CandidateTable, ManyQuestions, answers

BUDGET_S, BUDGET_GB = 1.0, 1.0


def synthetic(count: int, candidates: int) -> CandidateTable:
    """Candidates of two legs with scores at random, a fifth of them found by both."""
    random = np.random.default_rng(1)
    shape = candidates, count
    half = int(candidates * 0.6)
    columns = {
        IDS: random.permuted(np.tile(np.arange(float(candidates))[:, None], count), axis=0),
        FILES: random.integers(0, 400, shape).astype(float),
    }
    for name, rows in (("vector", slice(0, half)), ("keyword", slice(candidates - half, candidates))):
        raw, rank = np.full(shape, np.nan), np.full(shape, np.nan)
        raw[rows] = np.sort(random.random((half, count)), axis=0)
        rank[rows] = np.arange(1.0, half + 1)[:, None]
        raw[rows] = raw[rows] if name == "vector" else -20 * raw[rows][::-1]
        columns |= {f"{name}_raw": raw, f"{name}_rank": rank, f"{name}_relevance": -raw}
    order = np.broadcast_to(np.arange(candidates)[:, None], shape)
    trace = ManyQuestions("", "", (), columns=columns, dropped=np.full(shape, KEPT), order=order)
    return CandidateTable(trace, np.full(count, 7.0))


def main() -> None:
    settings, asked, candidates = map(int, sys.argv[1:4]) if len(sys.argv) > 3 else (1_000, 2_000, 100)
    table = synthetic(asked, candidates)
    side = max(1, round((settings / 10) ** 0.5))
    weights, floors = np.linspace(0, 1, side), np.linspace(0, 0.9, 10)
    grid = [
        with_settings(SHIPPED, [f"fusion.vector={v}", f"fusion.keyword={k}", f"floor.floor={f}"])
        for v, k, f in product(weights, weights, floors)
    ]
    line = [with_settings(SHIPPED, [f"fusion.vector={v}"]) for v in np.linspace(0, 1, settings)]
    print(f"{asked:,} questions × {candidates} candidates")
    for name, pipelines in (("two weights and a floor", grid), ("one weight", line)):
        started, worked = perf_counter(), process_time()
        found = answers(table, pipelines)
        seconds, cpu = perf_counter() - started, process_time() - worked
        hits = (found.rank > 0).sum(axis=1)
        print(f"{len(pipelines):6,} settings of {name}: {seconds:.2f} s, {cpu:.2f} s of CPU,", end=" ")
        print(f"{cpu / BUDGET_S:.2f} of the budget; {hits.min()} to {hits.max()} hits")
    _constants()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"{peak:.2f} GB at most, {peak / BUDGET_GB:.2f} of the budget")


def _constants(chunks: int = 1_000, asked: int = 57) -> None:
    """BM25 of all questions with other constants, beside asking FTS5 question by question."""
    with tempfile.TemporaryDirectory() as folder, build(Path(folder), chunks) as index:
        queries = [Query(tuple(map(Clause, one.split())), "OR") for one in questions(asked)]
        with index.snapshot():
            ours = min(
                repeat(
                    lambda: [index.keyword_with(one, 24, 0.9, 0.4) for one in queries],
                    timer=process_time,
                    number=1,
                    repeat=9,
                )
            )
            fts5 = min(
                repeat(
                    lambda: [index.store.keyword(one, 24) for one in queries],
                    timer=process_time,
                    number=1,
                    repeat=5,
                )
            )
    print(
        f"{asked} questions × {chunks:,} chunks with other k1 and b: FTS5, which cannot, asked once "
        f"{fts5 * 1e3:.1f} ms / postings {ours * 1e3:.2f} ms of CPU = {fts5 / ours:.0f}"
    )


if __name__ == "__main__":
    main()
