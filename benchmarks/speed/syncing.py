"""The time of indexing a folder of notes: first, from cached vectors, unchanged, and with one new note."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.speed.corpus import Corpus
from benchmarks.speed.ours import A_DOCUMENT, RandomEmbedder
from benchmarks.speed.report import Synced
from benchmarks.speed.timing import taken
from workbench.memory.options import Options
from workbench.memory.sync import index_folder

REPEATED = 3
A_LINE = 12
"""The words of a line; notes have short lines, and the chunker cuts between them."""


def synced(corpus: Corpus) -> Synced:
    """Indexes the corpus as notes of ten texts each, cut by the default chunker; vectors cost little."""
    with tempfile.TemporaryDirectory() as home:
        root, index = Path(home) / "notes", Path(home) / "index.sqlite"
        files = write(root, corpus)

        def sync(rebuild: bool = False) -> int:
            return index_folder(
                root, RandomEmbedder(), rebuild=rebuild, options=Options(index_path=index)
            ).chunks

        first = taken(sync)
        cached = taken(lambda: sync(rebuild=True))
        unchanged = min(taken(sync) for _ in range(REPEATED))
        walk = min(taken(lambda: sum(1 for _ in looks(str(root)))) for _ in range(REPEATED))
        changes = (_with_another_note(root, sync, number) for number in range(REPEATED))
        one_file = min(changes)
        return Synced(files, sync(), first, cached, unchanged, one_file, walk[0])


def _with_another_note(root: Path, sync: Callable[[], int], number: int) -> tuple[float, float]:
    (root / "memory" / "000" / "0.md").write_text(f"Another note, number {number}.\n", encoding="utf-8")
    return taken(sync)


def write(root: Path, corpus: Corpus) -> int:
    """Writes the corpus as notes in folders of a hundred; returns how many."""
    texts = corpus.texts
    starts = range(0, len(texts), A_DOCUMENT)
    for number, start in enumerate(starts):
        folder = root / "memory" / f"{number // 100:03}"
        folder.mkdir(parents=True, exist_ok=True)
        lines = [line for text in texts[start : start + A_DOCUMENT] for line in _lines(text)]
        (folder / f"{number}.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return len(starts)


def _lines(text: str) -> Iterator[str]:
    words = text.split()
    yield from (" ".join(words[start : start + A_LINE]) for start in range(0, len(words), A_LINE))


def looks(folder: str) -> Iterator[os.stat_result]:
    """The stat of every file below a folder, and nothing else."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from looks(entry.path)
            else:
                yield entry.stat(follow_symlinks=False)
