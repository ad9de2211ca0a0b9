"""Names and quantities that the wanted note writes otherwise: `maxRetryCount`, `5,000 m`."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from itertools import chain, product

from workbench.memory.data_files import load_data
from workbench.retrieval.dates import dates_in
from workbench.retrieval.query import unicode_words
from workbench_plugins.diagnose.asked import Asked, short
from workbench_plugins.diagnose.causes import Cause
from workbench_plugins.diagnose.short_forms import NUMBERS_IN_WORDS

UNITS = {
    name: (kind, float(size))
    for kind, units in load_data(__file__, "units.toml").items()
    for name, size in units.items()
}
"""What each unit measures, and how many of the common unit it is."""
IN_WORDS = "|".join(filter(str.isalpha, NUMBERS_IN_WORDS))
QUANTITY = re.compile(
    rf"(?<![\w.,])(\d{{1,3}}(?:[ ,.]\d{{3}})+|\d+(?:[.,]\d+)?|{IN_WORDS})[ \u00a0-]?([^\W\d_]+)(?!\w)",
    re.IGNORECASE,
)
SAME_SIZE = 0.02
"""Quantities that differ by this share are the same, since one of them may be rounded."""
MOST_WORDS = 4
"""The largest number of words of one text that may be one word of the other."""

Pair = tuple[str, str]
"""What the question has, and what the note has for it."""


def written_otherwise(asked: Asked) -> Iterator[Cause]:
    """A name or a quantity that the note writes otherwise: named if the question works in the note's form."""
    near = [one for one in asked.near if one not in asked.index.paths()]  # a search does not read the path
    if not asked.deep:
        return
    pairs = chain(
        *(_quantities(asked.question, text) for text in near),
        *(_numerals(asked.question, text) for text in near),
        *(_names(asked.question, text) for text in near),
    )
    questions: dict[str, Pair] = {}
    dates = [written for written, _ in dates_in(asked.question)]
    for mine, theirs in pairs:
        if any(mine in one for one in dates):
            continue  # a part of a date means the day alone
        questions.setdefault(asked.question.replace(mine, theirs), (mine, theirs))
    better = asked.first_that_works(iter(questions))
    if better:
        mine, theirs = questions[better]
        yield asked.cause(f"the question writes “{short(mine)}”, and the note has “{short(theirs)}”", better)


def _quantities(question: str, text: str) -> Iterator[Pair]:
    """The quantities of a question, each with the same one as a text writes it."""
    for (mine, some), (theirs, others) in product(quantities_in(question), quantities_in(text)):
        alike = any(
            kind == other and math.isclose(size, other_size, rel_tol=SAME_SIZE)
            for (kind, size), (other, other_size) in product(some, others)
        )
        if alike and _as_asked(mine) != _as_asked(theirs):
            yield mine, theirs


def quantities_in(text: str) -> list[tuple[str, list[tuple[str, float]]]]:
    """The quantities of a text as they are written, each with what it may mean: a kind, and a size.

    >>> quantities_in("5,000 m of rope, 3 goats")
    [('5,000 m', [('length', 5000.0), ('length', 5.0)])]
    """
    found = []
    for match in QUANTITY.finditer(text):
        unit = match[2].lower()
        known = UNITS.get(unit) or UNITS.get(unit.removesuffix("s")) or UNITS.get(unit.removesuffix("es"))
        if known is not None:
            kind, size = known
            found.append((match[0], [(kind, number * size) for number in _numbers(match[1])]))
    return found


def _numbers(written: str) -> list[float]:
    """What a number may mean whose mark is one of thousands or a decimal one, by where its writer lives."""
    if written.isalpha():
        return [float(NUMBERS_IN_WORDS[written.lower()])]
    whole = re.sub(r"[ ,.](?=\d{3}(?!\d))", "", written)
    decimal = written.replace(" ", "").replace(",", ".")
    readings = [one for one in (whole, decimal) if one.count(".") <= 1 and "," not in one]
    return [float(one) for one in dict.fromkeys(readings)]


ROMAN = {
    f"{ten}{one}": 10 * len(ten) + number
    for ten in ("", "X")
    for number, one in enumerate(("", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX"))
    if ten or number
}


def _numerals(question: str, text: str) -> Iterator[Pair]:
    """The numbers of a question that the text writes otherwise: `III`, `3` and `three`."""
    there: dict[int, str] = {}
    for word in unicode_words(text):
        there.setdefault(_value(word), word)
    for word in unicode_words(question):
        theirs = there.get(_value(word), word)
        if _value(word) and theirs.lower() != word.lower() and word.lower() != "one":  # mostly no number
            yield word, theirs


def _value(word: str) -> int:
    """The small number that a word is, in figures, in Roman ones of two letters and more, or in words."""
    if len(word) > 1 and word in ROMAN:
        return ROMAN[word]
    figures = word if word.isdecimal() else NUMBERS_IN_WORDS.get(word.lower(), "0")
    return int(figures) if figures.isdecimal() else 0


def _names(question: str, text: str) -> Iterator[Pair]:
    """Words that one of both writes as one and the other apart, or with other marks between them."""
    there: dict[str, str] = {}
    for written in _runs(text):
        there.setdefault(_letters(written), written)
    for mine in _runs(question):
        theirs = there.get(_letters(mine), mine)
        if _as_asked(mine) != _as_asked(theirs):
            yield mine, theirs


def _runs(text: str) -> Iterator[str]:
    """Every run of a few words on one line of a text, as it is written."""
    for line in text.splitlines():
        words = list(re.finditer(r"\w+", line))
        for first in range(len(words)):
            for last in range(first, min(first + MOST_WORDS, len(words))):
                yield line[words[first].start() : words[last].end()]


def _letters(text: str) -> str:
    """The letters and figures of a text alone, in lower case."""
    return re.sub(r"[\W_]+", "", text).lower()


def _as_asked(text: str) -> list[str]:
    return [one.lower() for one in unicode_words(text)]
