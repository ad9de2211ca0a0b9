"""Whether an identifier that stands in one file alone brings this file first: a serial number, a part.

    python -m benchmarks.identifiers [FOLDER] [--system NAME ...]

They are read from the notes: five characters or more, with a letter and a digit. Each is asked alone.
"""

from __future__ import annotations

import argparse
import re
from collections import defaultdict
from pathlib import Path

import workbench as wb
from workbench.contracts import Index
from workbench.safe_text import counted

SAMPLE = Path(__file__).parents[1] / "sample_memory"
TOKEN = re.compile(r"[A-Za-z0-9][\w.-]*[A-Za-z0-9]")
IDENTIFIER = re.compile(r"(?=.*\d)(?=.*[A-Za-z]).{5,}")
FILE_NAME = re.compile(r"\.(?:md|py|sh|conf)$")
NEAR = 5


def identifiers_of(index: Index) -> dict[str, str]:
    """The identifiers that stand in one file alone, each with this file."""
    where = defaultdict(set)
    for document in index.documents() or ():
        for token in TOKEN.findall(document.text):
            if IDENTIFIER.fullmatch(token) and not FILE_NAME.search(token):
                where[token].add(document.path)
    return {token: min(files) for token, files in sorted(where.items()) if len(files) == 1}


def main() -> None:
    """Prints for each system how many identifiers bring their file first, and among the first few."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", default=str(SAMPLE))
    parser.add_argument("--system", action="append")
    given = parser.parse_args()
    with wb.open_index(given.folder) as index:
        asked = identifiers_of(index)
        print(f"{counted(len(asked), 'identifier')} of {Path(given.folder).name}")
        for name in given.system or ("recommended", "openclaw-2026.9.6", "bm-head"):
            found = {one: wb.search(one, wb.system(name), index).paths() for one in asked}
            first = sum(found[one][:1] == [file] for one, file in asked.items())
            near = sum(file in found[one][:NEAR] for one, file in asked.items())
            print(f"{name}: first {first}, among the first {NEAR} {near}")


if __name__ == "__main__":
    main()
