"""What the lists of words take while an index is made, and what they save of a question never asked.

OMP_NUM_THREADS=1 python -m benchmarks.word_lists [CHUNKS]

It compares an index file without lists, one with lists of words in 64 chunks or more, and one with those of
rarer words as well, which is what `workbench index` writes. All figures are CPU time of this process. The
files take turns.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.speed.corpus import Asked, Corpus
from benchmarks.speed.ours import HYBRID, ThisWorkbench
from benchmarks.speed.timing import taken
from workbench.memory.store.sqlite import word_listing, word_lists
from workbench.memory.store.sqlite.store import Store

CHUNKS = 10_000
QUESTIONS = 300
WARM_UP = 10
"""Questions. After eight of them, the vectors of an index are summarised."""
REPEATED = 5
LEAST = {
    "no lists": 2**62,
    "in 64 chunks or more": 64,
    f"in {word_listing.LEAST_CHUNKS} chunks or more": word_listing.LEAST_CHUNKS,
}
"""From how many chunks on a word has a list."""
SIZE = """
    SELECT sum(pgsize) FROM dbstat WHERE name IN ('word_rows', 'word_lists', 'sqlite_autoindex_word_lists_1')
"""


def listed(file: Path, least: int) -> tuple[float, int]:
    """Makes the lists of a file anew: the seconds of CPU time, and their bytes."""
    word_listing.LEAST_CHUNKS = least
    with Store.open(file) as store:
        with store.writing():
            for name in word_lists.TABLES:
                store.db.execute(f"DROP TABLE IF EXISTS {name}")
        store.settle()
        spent = taken(store.list_words).cpu + taken(store.settle).cpu
        size: int = store.db.execute(SIZE).get
        return spent, size


def asked(folders: list[Path], questions: list[Asked]) -> list[list[float]]:
    """The seconds of each question in each index, in turns; a list for each index."""
    subjects = [ThisWorkbench() for _ in folders]
    for subject, folder in zip(subjects, folders, strict=True):
        subject.open(folder)
    asks = [subject.asks[HYBRID] for subject in subjects]
    found: list[list[float]] = [[] for _ in asks]
    for number, question in enumerate(questions):
        for step in range(len(asks)):
            place = (number + step) % len(asks)
            found[place].append(taken(partial(asks[place], question)).cpu)
    for subject in subjects:
        subject.close()
    return [one[WARM_UP:] for one in found]


def measured(chunks: int) -> None:
    """Prints a line for each choice of words."""
    corpus = Corpus(chunks)
    _ = corpus.texts, corpus.vectors  # made now, so that no time contains it
    with tempfile.TemporaryDirectory() as home:
        folders = [Path(home) / str(place) for place in range(len(LEAST))]
        folders[0].mkdir()
        subject = ThisWorkbench()
        writing = taken(lambda: subject.build(corpus, folders[0])).cpu
        subject.close()
        for folder in folders[1:]:
            shutil.copytree(folders[0], folder)
        files = [folder / "index.sqlite" for folder in folders]
        runs = [[listed(*one) for one in zip(files, LEAST.values(), strict=True)] for _ in range(REPEATED)]
        spent = asked(folders, corpus.questions(QUESTIONS + WARM_UP))
    print(f"{chunks:,} chunks; writing the whole index {writing:.2f} s")
    for name, made, seconds in zip(LEAST, zip(*runs, strict=True), spent, strict=True):
        listing, size = float(np.median([one for one, _ in made])), made[0][1] / chunks
        share = float(np.median(np.divide(seconds, spent[0])))
        print(
            f"{name}: {listing:.3f} s, {1e6 * listing / chunks:.1f} µs and {size:.0f} bytes a chunk; "
            f"a question {1e3 * float(np.median(seconds)):.2f} ms, {share:.2f} of one without lists"
        )


if __name__ == "__main__":
    measured(int(sys.argv[1]) if len(sys.argv) > 1 else CHUNKS)
