"""Makes the file of what the packaged model has read of the sample memory, which the package ships.

`python -m benchmarks.shipping [FILE]` writes FILE, or the one that the package ships.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from workbench.memory.embedding.local import LocalEmbedder
from workbench.memory.files import content_hash
from workbench.memory.opening import open_index
from workbench.memory.options import Options
from workbench.memory.sync import index_folder
from workbench_plugins.recommended import shipped_vectors
from workbench_plugins.recommended.passage_index import files_of, newly_read

SAMPLE = Path(__file__).parent.parent / "sample_memory"


def made() -> dict[str, Any]:
    """The arrays of the file: vectors of chunks by the hash of their text, and words by the key of a file."""
    embedder = LocalEmbedder()
    with tempfile.TemporaryDirectory() as folder, patch.object(shipped_vectors, "FILE", Path(folder, "none")):
        place = Path(folder) / "index.sqlite"
        index_folder(SAMPLE, embedder, options=Options(index_path=place))
        with open_index(SAMPLE, embedder, index_path=place) as index:
            rows, vectors = index.vectors()
            texts = [content_hash(chunk.text) for chunk in index.chunks(rows)]
            files = {one.key(embedder): one for one in files_of(index)}
            words = {key: read.packed() for key, read in newly_read(files, embedder)}
    return {
        "texts": np.array(texts),
        "vectors": vectors,
        "files": np.array(list(words)),
        "words": np.frombuffer(b"".join(words.values()), np.uint8),
        "ends": np.cumsum([0, *map(len, words.values())]),
    }


def main() -> None:
    """Writes the file anew: nothing of the old one is taken."""
    file = Path(sys.argv[1]) if len(sys.argv) > 1 else shipped_vectors.FILE
    found = made()
    np.savez_compressed(file, **found)
    chunks = len(found["texts"])
    words = found["words"].size
    print(f"{file.name}: {file.stat().st_size:,} bytes, {words / chunks:,.0f} bytes of words a chunk")


if __name__ == "__main__":
    main()
