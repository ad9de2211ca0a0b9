"""How near two words are: by letters, by sound, and by their stems."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from functools import cache

LONG_WORD = 10
"""A word of so many letters may have two slips, and a shorter one only one."""
ENDINGS = ("s", "es", "ed", "d", "er", "r", "ers", "ing", "ings", "ly", "y", "ies", "ion", "ions")
SHORTEST_STEM = 3


def stems(word: str) -> set[str]:
    """A word in small letters without each ending that it may have, and whole.

    >>> sorted(stems("washed")), stems("washer") & stems("washed") != set()
    (['wash', 'washe', 'washed'], True)
    """
    cut = {word.removesuffix(one) for one in ENDINGS}
    return {word, *(one for one in cut if len(one) >= SHORTEST_STEM)}


def slips(word: str, other: str) -> int:
    """How many letters are wrong, missing, too many, or exchanged with their neighbours.

    Source: optimal string alignment, Boytsov 2011, ACM JEA 16, section 2.

    >>> slips("recipie", "recipe"), slips("glutin", "gluten"), slips("sounding", "sending"), slips("ab", "ba")
    (1, 1, 2, 1)
    """
    rows = [list(range(len(other) + 1))]
    for at, letter in enumerate(word, 1):
        row = [at]
        for to, wanted in enumerate(other, 1):
            least = min(rows[-1][to] + 1, row[-1] + 1, rows[-1][to - 1] + (letter != wanted))
            if at > 1 and to > 1 and word[at - 2 : at] == other[to - 2 : to][::-1]:
                least = min(least, rows[-2][to - 2] + 1)
            row.append(least)
        rows.append(row)
    return rows[-1][-1]


def is_near(word: str, known: Counter[str]) -> bool:
    """Whether a word, or one that begins like it and differs in its ending, is among some.

    >>> is_near("keys", Counter(["key"])), is_near("mfa", Counter(["key"]))
    (True, False)
    """
    if word in known:
        return True
    stem = word[: max(3, len(word) - 3)]
    return len(word) > 3 and any(one.startswith(stem) and abs(len(one) - len(word)) <= 3 for one in known)


def spelled_alike(word: str, known: Counter[str]) -> list[str]:
    """The words that sound alike; then those that one slip makes of this one, or two of a long one, or that
    differ in their ending."""
    words = [one for one in known if one.isalpha() or not word.isalpha()]
    near = difflib.get_close_matches(word.lower(), words, n=2, cutoff=0.75) if len(word) > 3 else []
    most = 1 if len(word) < LONG_WORD else 2
    near = [one for one in near if slips(word.lower(), one) <= most or is_near(word.lower(), Counter([one]))]
    return list(dict.fromkeys([*sounds_alike(word, known), *near]))


SOUNDS = (("ph", "f"), ("c(?=[eiy])", "s"), ("ck|c(?!h)|q", "k"), ("ks", "x"), ("z", "s"), ("y", "i"))


@cache
def sound(word: str) -> str:
    """A word with one letter for those that sound alike in English, and none twice in a row.

    Source: a few rules of Metaphone, Philips 1990, Computer Language 7 (12).

    >>> sound("accomodation") == sound("accommodation"), sound("fotocell") == sound("photosel")
    (True, True)
    """
    word = word.lower()
    for letters, one in SOUNDS:
        word = re.sub(letters, one, word)
    return re.sub(r"(.)\1", r"\1", word)


def sounds_alike(word: str, known: Counter[str]) -> list[str]:
    """The words of the notes that sound like another spelling of a word, the most frequent first."""
    if len(word) <= 3 or not word.isalpha():
        return []
    return sorted((one for one in known if sound(one) == sound(word)), key=lambda one: (-known[one], one))
