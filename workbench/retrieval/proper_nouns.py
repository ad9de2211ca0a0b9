"""The names in a memory, found by how its texts write them."""

from __future__ import annotations

import calendar
import re
from collections import Counter
from collections.abc import Iterable, Sequence

from workbench.stop_words import STOP_WORDS

BEFORE = r"[\w,;)] "
"""What stands before a word that does not begin a sentence."""
WITHIN = re.compile(rf"(?<={BEFORE})[^\W\d_]\w*")
SPEAKER = re.compile(r"^- \*\*([^:*]+):\*\*", re.MULTILINE)
MONTHS = frozenset(month.lower() for month in calendar.month_name if month)
WEEKDAYS = frozenset(day.lower() for day in calendar.day_name)


def proper_nouns(texts: Iterable[str]) -> frozenset[str]:
    """The words, in lower case, that are written with a capital letter four times as often as without.

    The first word of a sentence does not count; a speaker of a transcript does.
    """
    capital, small = Counter[str](), Counter[str]()
    for text in texts:
        for word in WITHIN.findall(text):
            (capital if word[0].isupper() else small)[word.lower()] += 1
        capital.update(speaker.lower() for speaker in SPEAKER.findall(text))
    return frozenset(word for word, count in capital.items() if _is_name(word, count, small[word]))


def is_name(word: str, texts: Sequence[str]) -> bool:
    """Whether a word in lower case is among `proper_nouns`; no other word of the texts is counted."""
    bare = re.escape(word)
    within = re.compile(rf"{bare}(?!\w)(?<={BEFORE}{bare})", re.IGNORECASE)  # the word first: it is rare
    found = [one for text in texts for one in within.findall(text)] if word[0].isalpha() else []
    capital = sum(one[0].isupper() for one in found)
    spoken = sum(speaker.lower() == word for text in texts for speaker in SPEAKER.findall(text))
    return capital + spoken > 0 and _is_name(word, capital + spoken, len(found) - capital)


def _is_name(word: str, capital: int, small: int) -> bool:
    return capital >= 4 * small and word not in STOP_WORDS and word not in MONTHS | WEEKDAYS
