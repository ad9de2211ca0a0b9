"""The dates of a text, in the forms in which notes and questions write them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date

Day = tuple[int | None, int, int]
"""A year, if it is known, a month and a day."""

MONTHS = tuple(date(2000, month, 1).strftime("%B") for month in range(1, 13))
MONTH = "|".join(f"{one}|{one[:3]}" for one in MONTHS)
DATES = (
    re.compile(r"\b(?P<y>(?:19|20)\d\d)[-/.](?P<m>\d{1,2})[-/.](?P<d>\d{1,2})\b"),
    re.compile(r"\b(?P<d>\d{1,2})[-/.](?P<m>\d{1,2})[-/.](?P<y>(?:19|20)?\d\d)\b"),
    re.compile(r"\b(?P<m>\d{1,2})/(?P<d>\d{1,2})/(?P<y>(?:19|20)?\d\d)\b"),
    re.compile(r"(?<![\d./-])(?P<d>\d{1,2})\.(?P<m>\d{1,2})(?:\.|(?![\d./-]))(?!\d)"),
    re.compile(
        rf"\b(?P<d>\d{{1,2}})(?:st|nd|rd|th|\.)?(?: of)? (?P<n>{MONTH})\.?(?:,? (?P<y>(?:19|20)\d\d))?\b",
        re.I,
    ),
    re.compile(rf"\b(?P<n>{MONTH})\.? (?P<d>\d{{1,2}})(?:st|nd|rd|th)?(?:,? (?P<y>(?:19|20)\d\d))?\b", re.I),
)


def dates_in(text: str) -> Iterator[tuple[str, list[Day]]]:
    """The dates of a text as they are written, each with the days that it may mean."""
    found: dict[str, list[Day]] = {}
    for pattern in DATES:
        for match in pattern.finditer(text):
            parts = match.groupdict()
            month = parts.get("m") or 1 + [one[:3].lower() for one in MONTHS].index(parts["n"][:3].lower())
            year = int(parts["y"]) if parts.get("y") else None
            year = 2000 + year if year is not None and year < 100 else year
            if 1 <= int(month) <= 12 and 1 <= int(parts["d"]) <= 31:
                found.setdefault(match[0], []).append((year, int(month), int(parts["d"])))
    yield from found.items()
