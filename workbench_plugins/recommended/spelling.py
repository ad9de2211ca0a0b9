"""Misspelt words of a question: each is read as the word of the notes that is one slip away."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterator, Mapping

from workbench.stop_words import STOP_WORDS

WORD = re.compile(r"[^\W\d_]+")
SHORTEST = 5
"""Letters. Too many correct words are one slip away from a shorter one."""
MOST = 3
"""A question with more unknown words has a vocabulary of its own, such as that of a log."""
IN_THE_MODEL = 0.75
"""The share of the other words that the model must know: in a language that it was not trained on, a correct
word can be unknown, too."""


def corrections(
    question: str,
    knows: Callable[[str], bool],
    stand_in_notes: Callable[[str], bool],
    count: Callable[[str], int],
) -> dict[str, str]:
    """For each misspelt word of a question the word of the notes for which it stands, in small letters.

    A word is misspelt if neither the model `knows` it nor the notes have it, or it with another ending
    (`stand_in_notes`), and a word of the notes is one slip away. `count` says in how many chunks a word
    stands; the most frequent one is taken.
    """
    words = list(dict.fromkeys(WORD.findall(question)))
    unknown = [one for one in words if len(one) >= SHORTEST and not stand_in_notes(one) and not knows(one)]
    if not 0 < len(unknown) <= MOST:
        return {}
    others = [one for one in words if one not in unknown]
    if sum(map(knows, others)) < IN_THE_MODEL * len(others):
        return {}
    meant = {one: _most_frequent(one.lower(), count) for one in unknown}
    return {one: other for one, other in meant.items() if other}


def corrected(question: str, spelled: Mapping[str, str]) -> str:
    """The question with other words in the place of some.

    >>> corrected("Where is the calender?", {"calender": "calendar"})
    'Where is the calendar?'
    """
    return WORD.sub(lambda word: spelled.get(word[0], word[0]), question)


def _most_frequent(word: str, count: Callable[[str], int]) -> str:
    near = {*one_slip_away(word)}
    if near & STOP_WORDS:
        return ""  # such as "whats", which is not meant to be "hats"
    counts = {one: count(one) for one in near}
    best = max(counts, key=lambda one: (counts[one], one))
    return best if counts[best] else ""


def one_slip_away(word: str) -> Iterator[str]:
    """The texts with one letter less, one more or another one, or with two neighbours exchanged.

    The letters are those of English and of the word itself. Source: Damerau, CACM 7 (3), 1964.

    >>> {"the", "tea", "teh", "hte"} - {*one_slip_away("teh")}
    {'hte'}
    """
    letters = sorted({*string.ascii_lowercase, *word})
    for at in range(len(word) + 1):
        before, after = word[:at], word[at:]
        yield from (before + one + after for one in letters)
        if after:
            yield before + after[1:]
            yield from (before + one + after[1:] for one in letters)
        if len(after) > 1:
            yield before + after[1] + after[0] + after[2:]
