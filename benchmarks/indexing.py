"""The time of indexing, compared with the model alone on the same texts, and with a second run.

python -m benchmarks.indexing [FOLDER]
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from time import perf_counter

from workbench.memory.embedding.local import LocalEmbedder
from workbench.memory.files import list_files, memory_root
from workbench.memory.sources import LineChunker, MemoryFolder
from workbench.memory.sync import index_folder


def encoded_texts(root: Path, embedder: LocalEmbedder) -> list[str]:
    """The texts that indexing gives to the model: every window of every chunk, each chunk once."""
    documents = [MemoryFolder(root).read(path) for path in list_files(root)]
    chunks = {p.hash: p.text for d in documents for p in LineChunker().chunk(d.text) if p.text.strip()}
    texts = list(chunks.values())
    spans = embedder.offsets(texts)
    pieces = (embedder.reading.pieces(text, s, embedder.window) for text, s in zip(texts, spans, strict=True))
    return [piece for several in pieces for piece in several]


def main() -> None:
    root = memory_root(sys.argv[1] if len(sys.argv) > 1 else "sample_memory")
    embedder = LocalEmbedder()
    texts = encoded_texts(root, embedder)
    embedder.engine.vectors(texts[:64], "passage", embedder.batch_size)  # warm
    bare, whole = [], []
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(2):
            started = perf_counter()
            embedder.engine.vectors(texts, "passage", embedder.batch_size)
            bare.append(perf_counter() - started)
            started = perf_counter()
            index_folder(root, embedder, index_path=Path(folder) / f"{turn}.sqlite")
            whole.append(perf_counter() - started)
        started = perf_counter()
        summary = index_folder(root, embedder, index_path=Path(folder) / "0.sqlite")
        again = perf_counter() - started
    print(f"{len(texts)} windows; the model alone {min(bare):.2f} s, indexing {min(whole):.2f} s")
    print(f"indexing / the model alone = {min(whole) / min(bare):.3f}")
    print(f"indexing again / indexing = {again / min(whole):.4f} ({summary})")


if __name__ == "__main__":
    main()
