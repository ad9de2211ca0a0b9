"""Identifiers: words that mean one thing, such as a serial number, a name in code, or a date."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice, pairwise
from typing import Protocol

from workbench.records import Chunk
from workbench.retrieval.dates import MONTHS, Day, dates_in

WORD = re.compile(r"[^\W_](?:[\w.-]*\w)?")
PART = re.compile(r"\d+|[^\W\d_]+")
DOTTED = re.compile(r"\w\w\.\w\w")
"""A dot inside a name, as in config.yaml; that of e.g. is none."""
ORDINAL = re.compile(r"\d+(?:st|nd|rd|th)", re.IGNORECASE)
SIGN = r"[-_. ]"
"""What people write between two parts of an identifier: AG-4471, AG_4471, AG 4471; AG4471 has none."""
OTHERWISE = 0.5
"""What an identifier counts that is written with other signs, and a date without its year."""
LONG_NUMBER = 5
"""Digits. Shorter numbers are amounts and years, which many notes have."""
MOST = 20
"""So many different identifiers of a question are looked for: a pasted log can have hundreds."""


def identifiers_in(text: str) -> list[str]:
    """Dates, long numbers, and words with letters and digits, or with a dot or an underscore inside.

    At most MOST, each once.

    >>> identifiers_in("is AG-4471 set in night_watch or in config.yaml, e.g. 40 °C, on 5 May 2026?")
    ['5 May 2026', 'AG-4471', 'night_watch', 'config.yaml']
    """
    words = dict.fromkeys(match[0] for match in WORD.finditer(text))
    return list(islice([*_dates_in(text), *filter(_is_identifier, words)], MOST))


def _dates_in(text: str) -> dict[str, list[Day]]:
    """The dates that have a year or the name of a month; 10.5 is a number."""
    return {
        written: days
        for written, days in dates_in(text)
        if days[0][0] is not None or any(one.isalpha() for one in written)
    }


def _is_identifier(word: str) -> bool:
    parts = PART.findall(word)
    digits = sum(part.isdigit() for part in parts)
    if word.isdecimal():
        return len(word) >= LONG_NUMBER
    if digits:
        return digits < len(parts) and not ORDINAL.fullmatch(word)
    return len(parts) > 1 and ("_" in word or DOTTED.search(word) is not None)


class Wanted(Protocol):
    """What is looked for in texts: it is `written` so in the question."""

    written: str

    def share(self, text: str) -> float:
        """How well a text has it, 0 to 1."""


class Dated:
    """A date to look for in texts, in any form.

    >>> [Dated("5 May 2026").share(text) for text in ("2026-05-05.md", "on May 5th", "5 May 2025", "in May")]
    [1.0, 0.5, 0.0, 0.0]
    """

    def __init__(self, written: str) -> None:
        self.written = written
        self._days = {day for days in _dates_in(written).values() for day in days}

    def share(self, text: str) -> float:
        """1 if the text has the day; a half if it lacks the year of the question."""
        if not any(str(day) in text for *_, day in self._days):
            return 0.0  # most paths, which need no slow search
        there = {day for days in _dates_in(text).values() for day in days}
        return max((_share_of_day(mine, one) for mine in self._days for one in there), default=0.0)


def _share_of_day(asked: Day, found: Day) -> float:
    if asked[1:] != found[1:] or (asked[0] and found[0] and asked[0] != found[0]):
        return 0.0
    return OTHERWISE if asked[0] and not found[0] else 1.0


class Identifier:
    """An identifier to look for in texts, in either case, and as a word of its own.

    >>> [Identifier("AG-4471").share(text) for text in ("the ag-4471.", "AG4471", "AG 4471", "AG-44713")]
    [1.0, 0.5, 0.5, 0.0]
    """

    def __init__(self, written: str) -> None:
        parts = PART.findall(written)
        signs = [SIGN + "?" * (one.isdigit() != other.isdigit()) for one, other in pairwise(parts)]
        self.written = written
        self._parts = [part.lower() for part in parts]
        self._exact = _as_a_word(re.escape(written))
        self._alike = _as_a_word("".join(map(str.__add__, parts, [*signs, ""])))

    def share(self, text: str) -> float:
        """1 if the text has it as it is written; a half if it has other signs between the parts, or none."""
        small = text.lower()
        if not all(part in small for part in self._parts):
            return 0.0  # most texts, which need no slow search
        return 1.0 if self._exact.search(text) else OTHERWISE * bool(self._alike.search(text))


def paths_with(question: str, paths: Sequence[str]) -> list[str]:
    """The paths that have an identifier of the question, in their order."""
    wanted = [*map(_wanted, identifiers_in(question))]
    return [path for path in paths if any(one.share(path) for one in wanted)]


def words_of_dates(question: str) -> list[str]:
    """The words with which notes write the dates of a question.

    >>> words_of_dates("what happened on 2026-05-04?")
    ['2026', '5', '05', 'May', '4', '04']
    """
    found = list[str]()
    for days in _dates_in(question).values():
        for year, month, day in days:
            found += [str(year)] if year else []
            found += [str(month), f"{month:02}", MONTHS[month - 1], str(day), f"{day:02}"]
    return list(dict.fromkeys(found))


def _wanted(written: str) -> Wanted:
    return Dated(written) if _dates_in(written) else Identifier(written)


def identifier_shares(question: str, chunks: Sequence[Chunk]) -> list[dict[str, float]]:
    """How well each chunk has the question's identifiers, in its text or in its path.

    1 is as it is written, and a half if it is written otherwise; one that it does not have is left out.
    """
    wanted = [*map(_wanted, identifiers_in(question))]
    if not wanted:
        return [{} for _ in chunks]
    texts = (f"{chunk.path}\n{chunk.text}" for chunk in chunks)
    shares = ({one.written: one.share(text) for one in wanted} for text in texts)
    return [{name: share for name, share in one.items() if share} for one in shares]


def _as_a_word(pattern: str) -> re.Pattern[str]:
    """The pattern where no letter, no figure and no decimal stands beside it."""
    return re.compile(rf"(?<![^\W_])(?<!\d[.,]){pattern}(?![^\W_])(?![.,]\d)", re.IGNORECASE)
