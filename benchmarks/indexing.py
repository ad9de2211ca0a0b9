"""The time of indexing, compared with the model alone on the same texts, and with a second run.

python -m benchmarks.indexing [FOLDER]

Also the processor time of what `workbench index` does, as a multiple of that of an index with the vectors of
its chunks: it reads words and passages, and leaves those vectors for later. Give another folder than the
sample memory, whose vectors are shipped.
"""

from __future__ import annotations

import sys
import tempfile
from contextlib import nullcontext
from pathlib import Path
from time import perf_counter, process_time
from unittest.mock import patch

from workbench.memory.embedding.local import LocalEmbedder
from workbench.memory.files import list_files, memory_root
from workbench.memory.opening import open_index
from workbench.memory.options import Options
from workbench.memory.sources import LineChunker, MemoryFolder
from workbench.memory.sync import index_folder
from workbench_plugins.recommended import passage_index
from workbench_plugins.recommended.passage_index import files_of, newly_read
from workbench_plugins.recommended.words import for_signs


def encoded_texts(root: Path, embedder: LocalEmbedder) -> list[str]:
    """The texts that indexing gives to the model: every window of every chunk, each chunk once."""
    documents = [MemoryFolder(root).read(path) for path in list_files(root)]
    chunks = {p.hash: p.text for d in documents for p in LineChunker().chunk(d.text) if p.text.strip()}
    texts = list(chunks.values())
    spans = embedder.offsets(texts)
    pieces = (embedder.reading.pieces(text, s, embedder.window) for text, s in zip(texts, spans, strict=True))
    return [piece for several in pieces for piece in several]


def usual(root: Path, place: Path, exact: bool) -> tuple[float, float]:
    """Seconds of the processor: what `workbench index` takes, and that with what it leaves for later.

    `exact` reads words in fp32.
    """
    embedder = LocalEmbedder()
    embedder.engine, for_signs(embedder).engine
    started = process_time()
    index_folder(root, embedder, options=Options(index_path=place, vectors_later=True))
    with open_index(root, embedder, index_path=place) as index:
        files = {one.key(embedder): one for one in files_of(index)}
        with patch.object(passage_index, "for_signs", lambda same: same) if exact else nullcontext():
            list(newly_read(files, embedder))
        first = process_time() - started
        index.vectors()
        return first, process_time() - started


def main() -> None:
    """Prints the times and their ratios, and the least of two turns each."""
    root = memory_root(sys.argv[1] if len(sys.argv) > 1 else "sample_memory")
    embedder = LocalEmbedder()
    texts = encoded_texts(root, embedder)
    embedder.engine.vectors(texts[:64], "passage", embedder.batch_size)  # warm
    bare, whole, cpu, coded, exact = [], [], [], [], []
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(2):
            started = perf_counter()
            embedder.engine.vectors(texts, "passage", embedder.batch_size)
            bare.append(perf_counter() - started)
            started, worked = perf_counter(), process_time()
            place = Path(folder) / f"{turn}.sqlite"
            index_folder(root, embedder, options=Options(index_path=place))
            whole.append(perf_counter() - started)
            cpu.append(process_time() - worked)
            coded.append(usual(root, Path(folder) / f"usual{turn}.sqlite", exact=False))
            exact.append(usual(root, Path(folder) / f"exact{turn}.sqlite", exact=True))
        started = perf_counter()
        summary = index_folder(root, embedder, options=Options(index_path=Path(folder) / "0.sqlite"))
        again = perf_counter() - started
    print(f"{len(texts)} windows; the model alone {min(bare):.2f} s, indexing {min(whole):.2f} s")
    print(f"indexing / the model alone = {min(whole) / min(bare):.3f}")
    print(f"indexing again / indexing = {again / min(whole):.4f} ({summary})")
    for name, times in (("bf16 where the processor has it", coded), ("fp32", exact)):
        first, later = (min(each) / min(cpu) for each in zip(*times, strict=True))
        print(
            f"words in {name}: `workbench index` / an index with vectors = {first:.2f} (processor time), and "
            f"{later:.2f} once a system has asked for those"
        )


if __name__ == "__main__":
    main()
