"""Kills commands at random moments: stored data stays in its old or new state, and the next run completes it.

`python -m benchmarks.kills [COUNT] [SECONDS]` kills COUNT (200) commands in turn: a first index, a sync, a
rebuild, a search that reads words, a search that embeds the vectors left for later, and an export over a file
that exists. After each kill the same command runs again, and its answer must be that of an index that nobody
has killed. It stops after SECONDS, if they are given. It needs Linux.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from benchmarks.hostile import ended

CASE = Path(__file__).parent.parent / "tests" / "cases" / "openclaw-16021.case.yaml"

COUNT = 200
WHOLE = 900.0
"""Seconds by the clock that a command may take which is not killed: other work may hold the machine."""
KINDS = ("index", "sync", "rebuild", "words", "vectors", "export")
NOTES = {f"n{number}.md": f"# Note {number}\n" + f"Tea {number} is in the pot.\n" * 9 for number in range(12)}
CHANGED = NOTES | {"n3.md": "# Note 3\nThe bike has a flat.\n", "n20.md": "# Note 20\nThe sea is far.\n"}


class Place:
    """A memory with its index and an exported file, made for one kill."""

    def __init__(self, home: Path) -> None:
        self.home, self.notes, self.sound = home, home / "notes", home.with_name("sound")
        self.index, self.out = home / "index" / "i.sqlite", home / "exported"

    def write(self, notes: dict[str, str]) -> None:
        """Puts these notes into the memory, in place of those before."""
        shutil.rmtree(self.notes, ignore_errors=True)
        self.notes.mkdir(parents=True)
        for name, text in notes.items():
            (self.notes / name).write_text(text, encoding="utf-8")

    def command(self, kind: str) -> list[str]:
        """The command that is killed."""
        at = ["--index", str(self.index)]
        if kind in ("index", "sync", "rebuild"):
            return ["index", str(self.notes), *at, *(["--rebuild"] if kind == "rebuild" else [])]
        if kind == "export":
            return ["case", "export", str(CASE), str(self.out), "--to", "pytest", "--force"]
        system = "recommended" if kind == "words" else "openclaw-2026.9.6"
        return ["search", "Where is the tea?", "-m", str(self.notes), *at, "-s", system, "--json"]

    def exported(self) -> list[bytes]:
        """The content of the exported file; a file of another name may be half of one."""
        return [file.read_bytes() for file in self.out.glob("*.py")]

    def answers(self) -> list[str]:
        """What two systems answer, and whether the index is sound."""
        told = []
        for command in (self.command("words"), self.command("vectors"), ["doctor", str(self.index)]):
            got = ended(command, self.home / "log", WHOLE)
            told.append(f"{got.code} {got.told}".replace(str(self.home), "").replace(str(self.sound), ""))
        return told


def prepared(kind: str, place: Path, sound: Path) -> Place:
    """A place in the state before the command: a copy of a sound one, or notes without an index."""
    shutil.copytree(sound, place, symlinks=True)
    made = Place(place)
    if kind == "index":
        shutil.rmtree(place / "index")
    if kind in ("sync", "rebuild"):
        made.write(CHANGED)
    if kind == "words":
        for one in (place / "index").glob("*.words*"):
            one.unlink()
    return made


def main(count: int = COUNT, most: int = 10**6) -> int:
    """Prints what was lost, and the sums by kind."""
    chance, began = random.Random(4), time.monotonic()
    killed, lost = Counter[str](), Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        os.environ["WORKBENCH_HOME"] = str(home / "home")
        sound, expected, seconds = _references(home)
        print({one: round(took, 1) for one, took in seconds.items()}, flush=True)
        while sum(killed.values()) < count and time.monotonic() - began < most:
            kind = KINDS[sum(killed.values()) % len(KINDS)]
            place = prepared(kind, home / "place", sound)
            before = place.exported()
            got = ended(place.command(kind), home / "log", chance.uniform(0, seconds[kind]))
            if got.code == -signal.SIGKILL:
                killed[kind] += 1
                torn = place.exported() != before
                again = ended(place.command(kind), home / "log", WHOLE)
                told = place.answers()
                if torn or again.code or told != expected[kind in ("sync", "rebuild")]:
                    lost[kind] += 1
                    print(
                        kind, again.code, again.told[-300:], [one[:80] for one in told], sep="\n", flush=True
                    )
            shutil.rmtree(place.home)
    print(f"{sum(killed.values())} killed {dict(killed)}; lost: {sum(lost.values())} {dict(lost)}")
    return int(bool(lost))


def _references(home: Path) -> tuple[Path, list[list[str]], dict[str, float]]:
    """A sound place, the answers before and after the change, and how long each command takes."""
    sound = Place(home / "sound")
    expected, seconds = [], {}
    sound.write(NOTES)
    for kind in ("index", "export"):
        seconds[kind] = ended(sound.command(kind), home / "log", WHOLE).seconds
    shutil.copytree(sound.home, home / "changed", symlinks=True)
    for place in (sound, Place(home / "changed")):
        if place is not sound:
            place.write(CHANGED)
            seconds["sync"] = ended(place.command("sync"), home / "log", WHOLE).seconds
            seconds["rebuild"] = 2 * seconds["sync"]
            expected.append(place.answers())
        else:
            shutil.copytree(sound.home, home / "first", symlinks=True)
            first = Place(home / "first")
            for kind in ("vectors", "words"):
                seconds[kind] = ended(first.command(kind), home / "log", WHOLE).seconds
            expected.append(first.answers())
    return sound.home, expected, seconds


if __name__ == "__main__":
    raise SystemExit(main(*map(int, sys.argv[1:])))
