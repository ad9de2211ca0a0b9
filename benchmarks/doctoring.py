"""What `workbench doctor` costs on healthy stores, and whether it is silent: CPU seconds of each command.

    python -m benchmarks.doctoring [--notes 20000] [--keep FOLDER] [STORE …]

Each note is one sentence, and no two are the same, so there are as many chunks as notes. They are embedded
once, which takes minutes; then each store is made by its own package, and the doctor gets the store and the
folder of notes. With `--keep` the notes and stores stay in a folder and are used again. A finding on any of
these stores is a false alarm: the exit code is then 1.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from itertools import product
from pathlib import Path

import numpy as np

from benchmarks.starting import as_typed
from tests.lab.doctor.stores import STORES, Row
from workbench.memory.opening import open_index
from workbench.memory.options import Options
from workbench.memory.sync import index_folder

WHO = [
    "Mara",
    "Tobias",
    "Ines",
    "Yusuf",
    "Petra",
    "Luca",
    "Hanna",
    "Omar",
    "Greta",
    "Pavel",
    "Aiko",
    "Diego",
    "Nadia",
    "Erik",
    "Salma",
    "Bruno",
]
DID = [
    "repaired",
    "sold",
    "borrowed",
    "painted",
    "measured",
    "photographed",
    "described",
    "lost",
    "found",
    "ordered",
    "returned",
    "cleaned",
    "hid",
    "counted",
    "sketched",
    "weighed",
    "wrapped",
    "tested",
    "labelled",
    "packed",
]
WHAT = [
    "the copper kettle",
    "an invoice of the dentist",
    "the spare key of the shed",
    "a map of the river",
    "two concert tickets",
    "the backup disk",
    "a jar of plum jam",
    "the winter tyres",
    "an old violin",
    "the tax return",
    "a box of tulip bulbs",
    "the server's certificate",
    "a letter from Oslo",
    "the kitchen scales",
    "a passport photo",
    "the bread recipe",
    "a microscope slide",
    "the tent poles",
    "an unpaid bill",
    "the beehive frames",
]
WHERE = [
    "in the attic",
    "at the station",
    "behind the greenhouse",
    "in Lisbon",
    "near the old mill",
    "on the ferry",
    "in meeting room four",
    "at the market",
    "under the stairs",
    "in the archive",
    "beside the canal",
    "at the hospital",
    "on the roof",
]


def sentences(count: int) -> list[str]:
    """So many sentences, each another one, in an order that mixes their parts."""
    every = [*product(WHO, DID, WHAT, WHERE)]
    chosen = np.random.default_rng(3).permutation(len(every))[:count].tolist()
    return [f"{' '.join(every[place])} on day {at}." for at, place in enumerate(chosen)]


def written(folder: Path, count: int) -> Path:
    """The folder of notes, a hundred to a folder."""
    notes = folder / "notes"
    for at, text in enumerate(sentences(count)):
        file = notes / "memory" / f"{at // 100:03}" / f"{at}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n", encoding="utf-8")
    return notes


def rows_of(index_path: Path, notes: Path) -> list[Row]:
    """The chunks of our index, as other stores get them."""
    with open_index(notes, index_path=index_path) as index:
        rows, vectors = index.vectors()
        chunks = index.chunks(rows)
        return [Row(one.path, one.text, vector) for one, vector in zip(chunks, vectors, strict=True)]


def told(store: Path, notes: Path) -> tuple[float, int, str]:
    """CPU seconds of the doctor on a store, its exit code, and what it printed."""
    command = [sys.executable, "-P", "-m", "workbench", "doctor", str(store), "--notes", str(notes)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, capture_output=True, text=True, env=as_typed())
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, done.returncode, done.stdout + done.stderr


def main() -> int:
    """Prints a line for each kind of store."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--notes", type=int, default=20_000)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("stores", nargs="*", metavar="STORE")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.keep or Path(temporary)
        notes, ours = folder / "notes", folder / "index.sqlite"
        if not ours.exists():
            index_folder(written(folder, given.notes), options=Options(index_path=ours))
        rows: list[Row] = []
        silent = True
        for name in given.stores or STORES:
            build, module = STORES[name]
            place = folder / name
            if find_spec(module) is None:
                print(f"{name}: {module} is not installed")
                continue
            made = ours if name == "ours" else next(place.iterdir(), None) if place.is_dir() else None
            if made is None:
                place.mkdir()
                rows = rows or rows_of(ours, notes)
                made = build(rows, notes, place)
            told(made, notes)  # compiled files and the cache of the disk
            seconds, code, description = told(made, notes)
            silent = silent and code == 0
            print(f"{name}: {seconds:.1f} CPU s, exit code {code}\n{description.strip()}", flush=True)
    return 0 if silent else 1


if __name__ == "__main__":
    sys.exit(main())
