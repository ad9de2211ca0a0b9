"""Processes of their own for tests: one that syncs in forks that can be killed, one that reads all the while.

    python -m tests.processes work
    python -m tests.processes read FOLDER INDEX STOP
    python -m tests.processes stall FOLDER INDEX AFTER

A torn note can be told: every line names its note, its version, and how many lines there are.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event

from tests import world
from tests.home import Watched
from workbench.cli import main, memory
from workbench.memory.embedding import cache
from workbench.memory.embedding.engines import Role
from workbench.memory.embedding.local import Embedded
from workbench.memory.opening import open_index
from workbench.memory.options import Options
from workbench.memory.sources import LineChunker
from workbench.memory.sync import index_folder
from workbench.records import Trace
from workbench.retrieval.pipeline import search
from workbench.systems.openclaw import SHIPPED

PROJECT = Path(__file__).parent.parent
ENOUGH = 50


def lines_of(name: str, version: int) -> list[str]:
    """One version of a note; each has another number of lines."""
    count = 4 + version % 3
    return [f"{name} v{version:04} {line:02} of {count:02} tea hub" for line in range(count)]


def whole(lines: list[str]) -> bool:
    """Whether these are all the lines of one version of a note, each once."""
    name, version = lines[0].split()[:2]
    return sorted(lines) == lines_of(name, int(version[1:]))


@dataclass
class Notes:
    """A memory that is rewritten from turn to turn."""

    root: Path
    file: Path
    chance: random.Random = field(default_factory=lambda: random.Random(5))
    versions: dict[str, int] = field(default_factory=lambda: {f"n{number:03}": 1 for number in range(12)})
    chunkers: int = 0

    def rewrite(self) -> None:
        """A third of the notes get a new version, one goes, and one is new."""
        names = sorted(self.versions)
        for name in self.chance.sample(names, 4):
            self.versions[name] += 1
        gone = self.chance.choice(names)
        (self.root / f"{gone}.md").unlink(missing_ok=True)
        del self.versions[gone]
        self.versions[f"n{self.chance.randrange(1000):03}"] = self.chance.randrange(100)
        for name, version in self.versions.items():
            world.write(self.root, {f"{name}.md": "\n".join(lines_of(name, version))})

    def contents(self) -> dict[str, list[str]]:
        """The lines of every note, by path."""
        return {f"{name}.md": lines_of(name, version) for name, version in self.versions.items()}

    def job(self, rebuild: bool) -> str:
        """What a process is to do, as one line of JSON; every rebuild has another chunker."""
        self.chunkers += rebuild
        return json.dumps([str(self.root), str(self.file), self.chunkers, rebuild]) + "\n"


def do(job: str) -> None:
    """Syncs or rebuilds as told; the chunker makes each line a passage."""
    folder, index, chunker, rebuild = json.loads(job)
    made_with = LineChunker(tokens=8 + chunker % 2, overlap=0)
    index_folder(
        folder, world.EMBEDDER, rebuild=rebuild, options=Options(index_path=Path(index), chunker=made_with)
    )


@contextmanager
def process(*arguments: object, errors: int | None = None) -> Iterator[subprocess.Popen[str]]:
    """This file as a process of its own, to talk to by lines; it ends with a block that fails."""
    command, pipe = [sys.executable, "-m", "tests.processes", *map(str, arguments)], subprocess.PIPE
    with subprocess.Popen(
        command, stdin=pipe, stdout=pipe, stderr=errors, text=True, bufsize=1, cwd=PROJECT
    ) as started:
        try:
            yield started
        except BaseException:
            started.kill()  # it may wait for what the block would have sent
            raise


def work() -> None:
    """For each job on stdin: forks and prints the child's number; after another line, the child's status.

    Until then the child has its number, dead or alive.
    """
    for job in sys.stdin:
        child = os.fork()
        if child == 0:
            try:
                do(job)
            except BaseException as error:
                print(repr(error), file=sys.stderr, flush=True)
                os._exit(1)
            os._exit(0)
        print(child, flush=True)
        sys.stdin.readline()
        print(os.waitpid(child, 0)[1], flush=True)


def read(folder: str, index: str, stop: str) -> None:
    """Searches until the file `stop` is there, then prints how often, and every note that was seen torn.

    After 50 searches that saw 50 versions of notes, a file of the process's number lies beside `stop`.
    """
    searches, torn, seen = 0, [], set()
    with open_index(folder, world.EMBEDDER, index_path=Path(index)) as opened:
        print("ready", flush=True)
        while not Path(stop).exists():
            notes = _notes(search("tea", SHIPPED.asking(limit=50), opened))
            torn += [lines for lines in notes if not whole(lines)]
            seen |= {lines[0] for lines in notes}
            searches += 1
            if searches > ENOUGH and len(seen) > ENOUGH:
                Path(f"{stop}.{os.getpid()}").touch()
    print(json.dumps({"searches": searches, "torn": torn, "seen": len(seen)}), flush=True)


@dataclass
class Stalling(Watched):
    """Embeds `fails_at` texts, one at a time. Before the next one it says so and waits for ever."""

    def embed(self, texts: Sequence[str], role: Role) -> Embedded:
        if len(self.asked) == self.fails_at:
            print("stalled", flush=True)
            Event().wait()
        self.asked.append(list(texts))
        return world.EMBEDDER.embed(texts, role)


def stall(folder: str, index: str, after: str) -> None:
    """Runs `workbench index` with an embedder that stalls after that many texts, until Ctrl-C."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job starts with SIGINT ignored
    cache.TEXTS_IN_FLIGHT = 1
    memory.configured_embedder = lambda *_: Stalling(int(after))
    sys.argv = ["workbench", "index", folder, "--index", index]
    main()


def _notes(trace: Trace) -> list[list[str]]:
    """The lines of each note; each leg must have brought all of them."""
    assert {leg.hits.rows.size for leg in trace.legs.values()} == {len(trace.chunks)}
    notes = defaultdict(list)
    for chunk in trace.chunks:
        notes[chunk.path].append(chunk.text)
    return list(notes.values())


if __name__ == "__main__":
    {"work": work, "read": read, "stall": stall}[sys.argv[1]](*sys.argv[2:])
