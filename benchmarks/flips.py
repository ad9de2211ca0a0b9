"""Flips single bits in each kind of file of an index, and looks for a wrong answer that nobody is told of.

`python -m benchmarks.flips [COUNT] [KIND] [SEED]` flips COUNT (200) random bits, one at a time, in each kind
(or in KIND, unless it is `all`), chosen with SEED (11): the database, its first page, its pages of vectors,
its -wal with the last sync in it, the file of words, and the -wal of that. After each flip the doctor reads
the index, and two systems answer eight questions. An answer is right, or it is the sentence of a damaged
index with the command that mends it, or it says which files the index has not read. Anything else is printed,
and the exit code is 1.
"""

from __future__ import annotations

import os
import random
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import apsw
import sqlite_vec

from workbench.errors import WorkbenchError
from workbench.memory.embedding.local import LocalEmbedder
from workbench.memory.index import MemoryIndex
from workbench.memory.opening import open_index
from workbench.memory.options import Options
from workbench.memory.store.sqlite.database import checksum_vfs
from workbench.memory.store.sqlite.location import words_file
from workbench.memory.sync import index_folder
from workbench.retrieval.pipeline import search
from workbench.systems.catalogue import system
from workbench_plugins.doctor.faults import faults
from workbench_plugins.doctor.store_snapshot import read_store

COUNT = 200
SAMPLE = Path(__file__).parent.parent / "sample_memory"
SYSTEMS = ("openclaw-2026.9.6", "recommended")
QUESTIONS = (
    "rooibos tea", "Where is the spare key?", "bike brake", "kite festival", "Which day is the dentist?",
    "server backup disk", "What did we eat?", "xylophone",
)  # fmt: skip
NOTES = 4


class State(NamedTuple):
    """A folder with all files of an index, and the files of each kind in it."""

    folder: Path
    notes: Path
    index: Path

    @property
    def build(self) -> Path:
        """The database that the index's name leads to."""
        return self.index.resolve()

    @property
    def words(self) -> Path:
        """The file of words beside the index."""
        return words_file(self.index)


def opened(state: State, embedder: LocalEmbedder) -> MemoryIndex:
    """The index of a state, opened by its folder."""
    index = open_index(state.notes, embedder, index_path=state.index)
    assert isinstance(index, MemoryIndex)
    return index


def answers(state: State, embedder: LocalEmbedder) -> list[str]:
    """What all systems answer, whole; and what the index says of itself."""
    with opened(state, embedder) as index:
        told = [f"remarks {index.remarks}"]
        for name in SYSTEMS:
            for question in QUESTIONS:
                with index.snapshot():
                    trace = search(question, system(name), index)
                told += [f"{name} {question} {one.chunk} {one.score!r}" for one in trace.results]
    return told


def made(home: Path, embedder: LocalEmbedder) -> tuple[State, State]:
    """An index at rest, and one whose last sync is in the -wal files alone, as after a kill."""
    rest = State(home / "rest", home / "notes", home / "rest" / "i.sqlite")
    rest.notes.mkdir()
    for note in sorted((SAMPLE / "memory").glob("*.md"))[:NOTES]:
        shutil.copy(note, rest.notes)
    rest.folder.mkdir()
    index_folder(rest.notes, embedder, options=Options(index_path=rest.index))
    answers(rest, embedder)
    later = State(home / "later", home / "later_notes", home / "later" / "i.sqlite")
    shutil.copytree(rest.notes, later.notes, copy_function=shutil.copy2)
    shutil.copytree(rest.folder, later.folder, symlinks=True)
    note = sorted(later.notes.rglob("*.md"))[3]
    note.write_text(
        note.read_text(encoding="utf-8") + "\nThe kite festival is on the beach.\n", encoding="utf-8"
    )
    (later.notes / "added.md").write_text("# Added\nThe dentist is on Monday.\n", encoding="utf-8")
    with closing(connected(later.build)) as one, closing(connected(later.words)) as other:
        index_folder(
            later.notes, embedder, options=Options(index_path=later.index)
        )  # a reader keeps the -wal
        answers(later, embedder)
        kept = home / "kept"
        shutil.copytree(later.folder, kept, symlinks=True, ignore=shutil.ignore_patterns("*-shm"))
        one.execute("SELECT 1")
        other.execute("SELECT 1")
    shutil.rmtree(later.folder)
    kept.rename(later.folder)
    return rest, later


def connected(file: Path) -> apsw.Connection:
    """A reader of a database, within one state of it, so that no other process can empty its -wal."""
    db = apsw.Connection(str(file), vfs=checksum_vfs())
    db.enable_load_extension(True)
    db.load_extension(sqlite_vec.loadable_path())
    db.execute("BEGIN")
    db.execute("SELECT * FROM sqlite_schema").fetchall()
    return db


def anywhere(file: Path, chance: random.Random) -> int:
    """A place in a file."""
    return chance.randrange(file.stat().st_size)


def in_first_page(file: Path, chance: random.Random) -> int:
    """A place in the header and the schema."""
    size = 100 if chance.random() < 0.8 else 8192
    return chance.randrange(min(size, file.stat().st_size))


def in_vectors(file: Path, chance: random.Random) -> int:
    """A place in a vector."""
    with closing(connected(file)) as db:
        rows = db.execute("SELECT embedding FROM chunks_vec").fetchall()
    data, needle = file.read_bytes(), chance.choice(rows)[0]
    at = data.find(needle[:64])
    return at + chance.randrange(64) if at >= 0 else anywhere(file, chance)


Place = Callable[[Path, random.Random], int]


def flipped(file: Path, at: int, bit: int) -> None:
    """Changes one bit of a file, as a bad disk does."""
    with file.open("r+b") as out:
        out.seek(at)
        (byte,) = out.read(1)
        out.seek(at)
        out.write(bytes([byte ^ 1 << bit]))


def tried(state: State, right: list[str], embedder: LocalEmbedder) -> str:
    """How the doctor and then the searches end: `right`, `said`, `said to be out of date`, or what is wrong.

    The doctor is first, since a search writes what is sound of a -wal into the database, and removes it.
    """
    try:
        told = "the doctor says it" if faults(read_store(state.index)) else "the doctor finds nothing"
    except WorkbenchError as error:
        told = f"the doctor says it cannot be read{'' if '--rebuild' in str(error) else f': {error}'}"
    try:
        found = answers(state, embedder)
        if found == right:
            searched = "right"
        elif "out of date" in found[0]:
            searched = "said to be out of date"
        else:
            return f"WRONG IN SILENCE: {set(found) ^ set(right)}"[:600]
    except WorkbenchError as error:
        said = str(error)
        if "damaged" not in said or "--rebuild" not in said:
            return f"OTHER SENTENCE: {said}"
        searched = "said"
    except Exception as error:
        return f"TRACEBACK: {error!r}"
    return f"{searched}, {told}"


def main(count: int = COUNT, only: str = "all", seed: int = 11) -> int:
    """Prints how the flips of each kind ended, or of one kind."""
    chance, wrong, embedder = random.Random(seed), 0, LocalEmbedder()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        os.environ["WORKBENCH_HOME"] = str(home / "home")
        rest, later = made(home, embedder)
        kinds: list[tuple[str, State, Callable[[State], Path], Place]] = [
            ("database", rest, lambda one: one.build, anywhere),
            ("first page", rest, lambda one: one.build, in_first_page),
            ("vectors", rest, lambda one: one.build, in_vectors),
            ("-wal", later, lambda one: one.build.with_name(f"{one.build.name}-wal"), anywhere),
            ("words", rest, lambda one: one.words, anywhere),
            ("-wal of words", later, lambda one: one.words.with_name(f"{one.words.name}-wal"), anywhere),
        ]
        for name, sound, file_of, place_in in [one for one in kinds if only in ("all", one[0])]:
            ends: Counter[str] = Counter()
            right: list[str] = []
            for number in range(-1, count):
                work = home / f"{name} {number}"
                shutil.copytree(sound.folder, work, symlinks=True)
                state = State(work, sound.notes, work / sound.index.name)
                if number < 0:
                    right = answers(state, embedder)
                    print(f"{name}: {file_of(sound).stat().st_size:,} bytes, {len(right)} lines", flush=True)
                    continue
                file = file_of(state)
                at, bit = place_in(file, chance), chance.randrange(8)
                flipped(file, at, bit)
                end = tried(state, right, embedder)
                if end.split(":")[0].isupper() or ": " in end:
                    wrong += 1
                    print(f"    {name} byte {at:,} bit {bit}: {end}", flush=True)
                ends[end.split(":")[0]] += 1
                shutil.rmtree(work, ignore_errors=True)
            print(f"{name}: {count} flips: {dict(ends)}", flush=True)
    print(f"{wrong} ended wrongly")
    return int(wrong > 0)


if __name__ == "__main__":
    raise SystemExit(main(*map(int, sys.argv[1:2]), *sys.argv[2:3], *map(int, sys.argv[3:4])))
