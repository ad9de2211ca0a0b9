"""How long the first search of a process takes on a large memory of distinct texts, and what is kept for it.

    python -m benchmarks.first_search [CHUNKS ...] [--times 9]

Texts, and what the model would read of their words, are generated: to read 100,000 chunks takes the model
hours, and a search reads as many bytes of either. The question is embedded by the model. Each search is a new
process, and each question is a new one.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median
from time import process_time
from unittest.mock import patch

import numpy as np

from benchmarks.starting import HERE, as_typed, took
from workbench.memory.embedding.local import LocalEmbedder
from workbench.memory.opening import open_index
from workbench.memory.options import Options
from workbench.memory.store.sqlite.location import words_file
from workbench.memory.sync import index_folder
from workbench_plugins.recommended import stored_passages
from workbench_plugins.recommended.passage_index import IndexedFile, WordsRead
from workbench_plugins.recommended.pipelines import RECOMMENDED
from workbench_plugins.recommended.words import Codes

CHUNKS_PER_FILE = 11
WORDS_PER_FILE, WORDS_PER_LINE = 1_080, 14
VOCABULARY = 40_000
WORDS, PASSAGES = (70, 110), (12, 17)
"""How many codes of words and of passages a chunk of 1,600 characters has, at least and below."""
MOST_SECONDS = {1_000: 1.2, 16_000: 1.5, 100_000: 3.0}
MOST_BYTES = 8_192


def write_memory(folder: Path, chunks: int) -> None:
    """Writes notes with words of a Zipfian vocabulary, which cut into about so many chunks."""
    chance = np.random.default_rng(5)
    syllables = [
        "ka",
        "ro",
        "mi",
        "tel",
        "van",
        "dor",
        "lis",
        "pur",
        "gen",
        "sto",
        "bra",
        "quin",
        "ze",
        "fal",
    ]
    words = np.array(
        sorted({"".join(chance.choice(syllables, 4)) for _ in range(2 * VOCABULARY)})[:VOCABULARY]
    )
    chance.shuffle(words)
    shares = 1 / np.arange(1, words.size + 1) ** 1.02
    for number in range(chunks // CHUNKS_PER_FILE):
        text = chance.choice(words, WORDS_PER_FILE, p=shares / shares.sum()).tolist()
        lines = [" ".join(text[at : at + WORDS_PER_LINE]) for at in range(0, len(text), WORDS_PER_LINE)]
        file = folder / "memory" / f"{number // 200:03}" / f"note-{number}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("\n".join([f"# Note {number}", "", *lines]), encoding="utf-8")


def generated(files: Mapping[str, IndexedFile], embedder: LocalEmbedder) -> Iterator[tuple[str, WordsRead]]:
    """Random codes in place of what the model would read."""
    chance = np.random.default_rng(1)

    def codes(count: int) -> Codes:
        signs = chance.integers(0, 256, (count, embedder.dimensions // 8), np.uint8)
        return Codes(signs, chance.uniform(0.03, 0.05, count).astype(np.float16))

    for key, one in files.items():
        words, passages = (chance.integers(*of, len(one.chunks), np.int32) for of in (WORDS, PASSAGES))
        yield key, WordsRead(words, codes(int(words.sum())), passages, codes(int(passages.sum())))


def measure(chunks: int, times: int, folder: Path) -> str:
    """A line for a memory of so many chunks."""
    memory, embedder = folder / "memory", LocalEmbedder()
    variables = as_typed(WORKBENCH_HOME=f"{folder}/home", PYTHONPYCACHEPREFIX=f"{folder}/pyc")
    write_memory(memory, chunks)
    with patch.dict(os.environ, variables), patch.object(stored_passages, "newly_read", generated):
        started = process_time()
        index_folder(memory, embedder, options=Options(vectors_later=True))
        indexed = process_time()
        with open_index(memory, embedder) as index, index.snapshot():
            index.laid_out(RECOMMENDED.layout)
            size, file = index.size, Path(index.name)
        laid_out = process_time()
    found = []
    for turn in range(times + 1):  # the first turn compiles, and is left out
        question = f"kaka garden {turn} of stones in winter"
        found.append(took(HERE, ["search", question, "-m", str(memory)], variables))
    bytes_ = words_file(file).stat().st_size / size
    most = min(MOST_SECONDS.items(), key=lambda one: abs(one[0] - size))[1]
    wall, cpu = (median(some) for some in zip(*((one.wall, one.cpu) for one in found[1:]), strict=True))
    return (
        f"{size:,} chunks: {wall:.2f} s (at most {most} s), of CPU {cpu:.2f} s; {bytes_:,.0f} bytes a chunk "
        f"beside the index (at most {MOST_BYTES:,}); laid out in {laid_out - indexed:.0f} s of CPU, after "
        f"{indexed - started:.0f} s without the model"
    )


def main() -> None:
    """Prints a line for each size."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("chunks", type=int, nargs="*", default=[1_000, 16_000, 100_000])
    parser.add_argument("--times", type=int, default=9)
    given = parser.parse_args()
    for chunks in given.chunks:
        with tempfile.TemporaryDirectory() as folder:
            print(measure(chunks, given.times, Path(folder)), flush=True)


if __name__ == "__main__":
    main()
