"""The time of one question to `recommended` on a large, warm memory: copies of the sample memory.

    python -m benchmarks.recommending [CHUNKS]

What the model reads of the sample memory is shipped, and a copy has the same texts, so nothing is read. Every
question is new to the index. Equal chunks tie, which costs no less than others do.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from statistics import median
from time import perf_counter, process_time

from benchmarks.shipping import SAMPLE
from workbench.measure.questions import load_questions
from workbench.memory.embedding.local import LocalEmbedder
from workbench.memory.index import MemoryIndex
from workbench.memory.opening import open_index
from workbench.memory.options import Options
from workbench.memory.sync import index_folder
from workbench.retrieval.pipeline import search
from workbench_plugins.recommended.layout import cache_of, passages_of
from workbench_plugins.recommended.passage_file import PassageFile
from workbench_plugins.recommended.passage_index import files_of
from workbench_plugins.recommended.pipelines import RECOMMENDED
from workbench_plugins.recommended.shipped_vectors import words_of

WARM = 12
"""Questions that are asked first: the main directions of the vectors are computed after a few."""
MOST_MS = 60


def copied(folder: Path, chunks: int) -> MemoryIndex:
    """The index of so many copies of the sample memory that it has about so many chunks, and their words."""
    embedder = LocalEmbedder()
    index_folder(SAMPLE, embedder, options=Options(index_path=folder / "one.sqlite"))
    with open_index(SAMPLE, embedder, index_path=folder / "one.sqlite") as one:
        copies = -(-chunks // one.size)
        keys = {file.path: file.key(embedder) for file in files_of(one)}
    for number in range(copies):
        shutil.copytree(SAMPLE / "memory", folder / "many" / "memory" / f"{number:05}")
    place = folder / "many.sqlite"
    index_folder(folder / "many", embedder, options=Options(index_path=place))
    index = open_index(folder / "many", embedder, index_path=place)
    read = words_of(keys.values())
    with closing(PassageFile(cache_of(index))) as cache:
        for file in files_of(index):
            original = "/".join(("memory", *file.path.split("/")[2:]))
            cache.keep(file.key(embedder), read[keys[original]])
    return index


def main() -> None:
    """Prints the medians of wall and CPU time, and what the words take in memory."""
    chunks = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    asked = [one.question for one in load_questions(SAMPLE / "questions.yaml").questions]
    with tempfile.TemporaryDirectory() as folder, copied(Path(folder), chunks) as index:
        laid = passages_of(index.laid_out(RECOMMENDED.layout))
        assert laid is not None
        assert laid.passages.words is not None
        times = []
        for question in asked:
            wall, cpu = perf_counter(), process_time()
            search(question, RECOMMENDED, index)
            times.append((1e3 * (perf_counter() - wall), 1e3 * (process_time() - cpu)))
        walls, cpus = zip(*times[WARM:], strict=True)
        print(
            f"{index.size:,} chunks, {len(walls)} questions: median {median(walls):.0f} ms, of CPU "
            f"{median(cpus):.0f} ms (at most {MOST_MS} ms), the fastest {min(walls):.0f} ms; "
            f"{laid.passages.words.bytes / index.size:,.0f} bytes of words a chunk"
        )


if __name__ == "__main__":
    main()
