"""The project against vectors of real systems: `python -m tests.run_vectors [--import MODULE] FILE.json`.

A file is a list of cases: {group, version or commit, input, expected, note}. Each group of a version has an
adapter in `tests.adapters`. A group or a version without one is a failure, and is named. `--import` imports a
module first, which may register systems.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.adapters import Case, adapter_for

VECTORS = Path(__file__).parent / "vectors"


@dataclass(frozen=True)
class Outcome:
    """What became of a case; `problem` is empty when it passed."""

    case: Case
    problem: str = ""


class UnreadableError(Exception):
    """A file that holds no cases."""


# Comparing

EXACT = {"rel_tol": 0.0, "abs_tol": 1e-9}
TOLERANCES = {"fts5-ranks": {"rel_tol": 1e-6, "abs_tol": 2e-6}}
NOT_JSON = ("NaN", "Infinity", "-Infinity")


def same(got: Any, expected: Any, tolerance: Mapping[str, float]) -> bool:
    """Whether two values agree: numbers within the tolerance, all else exactly.

    >>> same({"a": [0.1 + 0.2, None]}, {"a": [0.3, None]}, EXACT), same(0, None, EXACT), same(1, True, EXACT)
    (True, False, False)
    """
    if isinstance(expected, Mapping):
        return (
            isinstance(got, Mapping)
            and got.keys() == expected.keys()
            and all(same(got[key], expected[key], tolerance) for key in expected)
        )
    if isinstance(expected, list):
        return (
            isinstance(got, list)
            and len(got) == len(expected)
            and all(same(one, other, tolerance) for one, other in zip(got, expected, strict=True))
        )
    if _is_number(got) and (_is_number(expected) or expected in NOT_JSON):
        return _same_number(float(got), float(expected), tolerance)
    return type(got) is type(expected) and bool(got == expected)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _same_number(got: float, expected: float, tolerance: Mapping[str, float]) -> bool:
    if math.isnan(expected):
        return math.isnan(got)
    return math.isclose(got, expected, **tolerance)


# Running

FIELDS = {"group", "input", "expected"}
MORE = {"version", "commit", "note", "system"}


def load(file: Path) -> list[Case]:
    """The cases in a file. Raises UnreadableError when it holds none, or cannot be read."""
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UnreadableError(f"{file} cannot be read: {error}") from None
    if not isinstance(data, list) or not data:
        raise UnreadableError(f"{file} holds no list of cases")
    return [_case(file, number, row) for number, row in enumerate(data, 1)]


def _case(file: Path, number: int, row: Any) -> Case:
    if not isinstance(row, Mapping) or not FIELDS <= row.keys() <= FIELDS | MORE:
        raise UnreadableError(f"{file}: case {number} does not have the fields {', '.join(sorted(FIELDS))}")
    version = row.get("version", row.get("commit", ""))
    note, system = row.get("note", ""), row.get("system", "")
    return Case(row["group"], version, row["input"], row["expected"], note, system)


def run(case: Case) -> Outcome:
    """The case, passed or not; an exception is a failure too."""
    adapter = adapter_for(case)
    if adapter is None:
        return Outcome(case, f"no adapter for group {case.group!r} in version {case.version!r}")
    try:
        got = adapter(case)
    except Exception as error:
        return Outcome(case, f"expected {case.expected!r}\n    got {type(error).__name__}: {error}")
    if same(got, case.expected, TOLERANCES.get(case.group, EXACT)):
        return Outcome(case)
    return Outcome(case, f"expected {case.expected!r}\n    got      {got!r}")


def report(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Lines to print: each failing case, then passed and failed per group."""
    for one in outcomes:
        if one.problem:
            yield f"FAILED {one.case.group}: {one.case.note}\n    input    {one.case.input!r}"
            yield f"    {one.problem}"
    failed = Counter(one.case.group for one in outcomes if one.problem)
    for group, total in Counter(one.case.group for one in outcomes).items():
        yield f"{group:24} {total - failed[group]:4} passed {failed[group]:4} failed"
    yield f"{'all':24} {len(outcomes) - failed.total():4} passed {failed.total():4} failed"


def main(arguments: Sequence[str] | None = None) -> int:
    """0 when every case passes, 1 when one fails, 2 for a file that cannot be read."""
    parser = argparse.ArgumentParser(prog="python -m tests.run_vectors", description=__doc__)
    parser.add_argument("--import", dest="module", metavar="MODULE", help="a module that registers systems")
    parser.add_argument("file", type=Path, metavar="FILE.json")
    asked = parser.parse_args(arguments)
    if asked.module:
        importlib.import_module(asked.module)
    try:
        outcomes = [run(case) for case in load(asked.file)]
    except UnreadableError as error:
        print(error, file=sys.stderr)
        return 2
    print("\n".join(report(outcomes)))
    return int(any(one.problem for one in outcomes))


if __name__ == "__main__":
    sys.exit(main())
