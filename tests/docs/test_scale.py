"""The calculated numbers of docs/stores.md are what its own formulas give."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from tests.conftest import PROJECT

PAGE = (PROJECT / "docs" / "stores.md").read_text(encoding="utf-8")
ROUNDING = 0.08
"""Cells have one or two digits."""
DAY = 86_400
UNITS = {"ms": 1e-3, "s": 1, "min": 60, "h": 3_600, "days": DAY, "years": 365 * DAY, "GB": 1e9, "TB": 1e12}
Calculated = Callable[[list[float], float, dict[str, float]], float]
ROWS: dict[str, Calculated] = {
    "text": lambda given, n, _: given[0] * 1e3 * n,
    "SQLite file": lambda given, n, _: given[0] * 1e3 * n,
    "disk, a month": lambda given, _, known: given[0] * known["SQLite file"] / 1e9,
    "vectors in memory": lambda given, n, _: given[0] * n,
    "memory, a month": lambda given, _, known: given[0] * known["vectors in memory"] / 1e9,
    "embedding by a provider": lambda given, n, _: n * given[0] * given[1] / 1e6,
    "writing the index, one core": lambda given, n, _: given[0] * 1e-3 * n,
    "vector leg, exact, without main directions": lambda given, n, _: given[0] * 1e-6 * n,
}
"""The value of a row in bytes, seconds or dollars, by the numbers of its formula and the rows before it."""


def embedding(given: list[float], n: float, known: dict[str, float]) -> float:
    """The seconds of embedding, and in the second row of this name what they cost."""
    if "embedding on two cores" not in known:
        return n / given[0]
    return given[0] * known["embedding on two cores"] / 3_600 * given[1]


def rows() -> list[list[str]]:
    """The cells of the table of what each size costs."""
    table = PAGE.partition("## What each size costs")[2].partition("\n## ")[0]
    lines = [line for line in table.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if "---" not in line]


def value(cell: str) -> float:
    """A cell in bytes, seconds or dollars."""
    number, _, unit = cell.lstrip("$").replace(",", "").partition(" ")
    return float(number) * UNITS.get(unit, 1)


def test_every_calculated_cell_is_what_its_formula_gives() -> None:
    heading, *body = rows()
    sizes = [float(name.replace("10^", "1e")) for name in heading[2:]]
    assert sizes == [1e5, 1e6, 1e7, 1e9]
    checked = 0
    for place, n in enumerate(sizes, 2):
        known: dict[str, float] = {}
        for row in body:
            name, formula = row[0].replace("**C**", "").strip(), row[1]
            calculate = embedding if name == "embedding on two cores" else ROWS.get(name)
            if calculate is None:
                continue
            given = [float(one.replace(",", "")) for one in re.findall(r"\d[\d,]*\.?\d*", formula)]
            expected = calculate(given, n, known)
            assert value(row[place]) == pytest.approx(expected, rel=ROUNDING), f"{name} at {n:.0e}"
            known.setdefault(name, expected)
            checked += 1
    assert checked >= 8 * len(sizes), "the table has the steps that this test knows"
