"""The project against records of real systems, end to end.

python -m tests.run_records RECORD.json --system NAME --workspace NAME=FOLDER ... [--today DATE]

A record holds the result lists that a released system gave for questions about workspaces; `tests.replaying`
knows the forms of records. Each workspace's folder is indexed as the system's release does it, each question
is asked again, and the lists are compared. The last line is `N lists, M equal`.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.replaying import Asked, Row, Rows, Unreadable, form_of
from workbench.errors import InputError

TOLERANCE = 1e-6
"""Scores that differ by at most this much are equal."""


@dataclass(frozen=True)
class Compared:
    """A recorded list beside our own; `difference` is empty when they are equal.

    `ties_differ` says that rows of equal score stand in another order, which is no difference. `tied_at_end`
    says that only rows with the last score differ: which of them the page still shows is not known.
    """

    asked: Asked
    here: Rows
    difference: str
    ties_differ: bool
    tied_at_end: bool


def compare(asked: Asked, here: Rows) -> Compared:
    """A recorded list compared with ours."""
    found = difference(asked.rows, here)
    moved = not found and _places(asked.rows) != _places(here)
    return Compared(asked, here, found, moved, bool(found) and _tied_at_end(asked.rows, here))


def _tied_at_end(there: Rows, here: Rows) -> bool:
    """Whether two lists have the same scores, and the same rows above the last score."""
    if not there or not here or not _equal(there[-1].score, here[-1].score) or len(there) != len(here):
        return False
    above = [[row for row in one if not _equal(row.score, one[-1].score)] for one in (there, here)]
    return not difference(*above)


def difference(there: Rows, here: Rows) -> str:
    """What differs first between a recorded list and ours: members, order, score or snippet; else nothing.

    Rows may change places when their scores are equal, since no rule of the system orders them. None stands
    for a question that is refused.

    >>> a, b = Row("a.md:1-2", 0.5, "x"), Row("b.md:1-2", 0.4, "y")
    >>> difference([a, b], [b, a]), difference([a], [a])
    ('order: a.md:1-2 is number 1 there, b.md:1-2 here', '')
    """
    if there is None or here is None:
        return "" if there is here else f"refused: only {'there' if there is None else 'here'}"
    lacking, added = (Counter(_places(one)) - Counter(_places(other)) for one, other in _both(there, here))
    if lacking or added:
        return f"members: only there {_named(lacking)}; only here {_named(added)}"
    for number, (one, other) in enumerate(zip(there, here, strict=True), 1):
        if one.location != other.location and not _equal(one.score, other.score):
            return f"order: {one.location} is number {number} there, {other.location} here"
    for one, other in zip(_paired(there), _paired(here), strict=True):
        if not _equal(one.score, other.score):
            return f"score: {one.location} has {one.score!r} there, {other.score!r} here"
        if one.snippet != other.snippet:
            return f"snippet: that of {one.location} is another one"
    return ""


def _both(there: Sequence[Row], here: Sequence[Row]) -> list[tuple[Sequence[Row], Sequence[Row]]]:
    return [(there, here), (here, there)]


def _places(rows: Rows) -> list[str] | None:
    return None if rows is None else [row.location for row in rows]


def _paired(rows: Sequence[Row]) -> list[Row]:
    """Rows in an order that both lists can be read in; parts of one long line share their place."""
    return sorted(rows, key=lambda row: (row.location, row.snippet, -row.score))


def _equal(one: float, other: float) -> bool:
    return abs(one - other) <= TOLERANCE


def _named(places: Counter[str]) -> str:
    return ", ".join(places.elements()) or "nothing"


def load(file: Path) -> Mapping[str, Any]:
    """The record in a file. Raises Unreadable when it holds none, or cannot be read."""
    try:
        opened = gzip.open if file.suffix == ".gz" else open
        with opened(file, "rt", encoding="utf-8") as text:
            data = json.load(text)
    except (OSError, ValueError) as error:
        raise Unreadable(f"{file} cannot be read: {error}") from None
    if not isinstance(data, Mapping) or not isinstance(data.get("results"), Mapping):
        raise Unreadable(f"{file} holds no record: it has no object 'results'")
    return data


def replayed(
    record: Mapping[str, Any],
    system: str,
    folders: Mapping[str, Path],
    today: str = "",
    keep: Path | None = None,
) -> Iterator[Compared]:
    """Every recorded list of the given workspaces, compared with ours; indexes are kept in the folder `keep`.

    Raises Unreadable for a record of an unknown form, for a workspace that it does not have, and for
    arguments that cannot be replayed; InputError for a system or a folder that cannot be used.
    """
    form = form_of(record)
    asked = form.lists(record["results"], folders)
    for workspace in dict.fromkeys(one.workspace for one in asked):
        with (
            _folder(keep, workspace) as scratch,
            form.opened(record, system, folders[workspace], scratch, today) as answer,
        ):
            yield from (compare(one, answer(one)) for one in asked if one.workspace == workspace)


@contextmanager
def _folder(keep: Path | None, workspace: str) -> Iterator[Path]:
    if keep is None:
        with tempfile.TemporaryDirectory() as scratch:
            yield Path(scratch)
    else:
        (keep / workspace).mkdir(parents=True, exist_ok=True)
        yield keep / workspace


def report(compared: Sequence[Compared]) -> Iterator[str]:
    """Lines to print: each list that is not equal, then how many of each workspace are, then the sum."""
    for one in compared:
        if one.difference:
            yield f"{one.asked.workspace} {one.asked.arguments} {one.asked.question!r}\n    {one.difference}"
    kinds = Counter(one.difference.partition(":")[0] for one in compared if one.difference)
    if kinds:
        yield "what differs first: " + ", ".join(f"{kind} {count}" for kind, count in kinds.most_common())
    groups = Counter((one.asked.workspace, one.asked.arguments) for one in compared)
    equal = Counter((one.asked.workspace, one.asked.arguments) for one in compared if not one.difference)
    for group, total in groups.items():
        yield f"{' '.join(group):50} {total:5} lists {equal[group]:5} equal"
    if moved := sum(one.ties_differ for one in compared):
        yield f"equal but for the order of rows with equal scores: {moved}"
    yield f"{groups.total()} lists, {equal.total()} equal"


def _workspace(text: str) -> tuple[str, Path]:
    name, equals, folder = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form NAME=FOLDER")
    return name, Path(folder)


def main(arguments: Sequence[str] | None = None) -> int:
    """0 when every list is equal, 1 when one is not, 2 for what cannot be replayed."""
    parser = argparse.ArgumentParser(prog="python -m tests.run_records", description=__doc__)
    parser.add_argument("record", type=Path, metavar="RECORD.json")
    parser.add_argument("--system", required=True, metavar="NAME")
    parser.add_argument("--workspace", required=True, action="append", type=_workspace, metavar="NAME=FOLDER")
    parser.add_argument("--today", default="", metavar="DATE", help="by default the record's own clock")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="where indexes stay for the next run")
    given = parser.parse_args(arguments)
    try:
        record = load(given.record)
        compared = list(replayed(record, given.system, dict(given.workspace), given.today, given.keep))
    except (Unreadable, InputError) as error:
        print(error, file=sys.stderr)
        return 2
    print("\n".join(report(compared)))
    return int(any(one.difference for one in compared))


if __name__ == "__main__":
    sys.exit(main())
