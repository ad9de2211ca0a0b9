"""The part of a text that has the most of a question's words, with these words marked.

It is for reading. How an engine compares words is in its keyword leg. Here a word is found in upper or lower
case, and with the common endings of English: `tide` in `Tides`, `notify` in `notifying`, `dry` in `dries`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from workbench.stop_words import content_words
from workbench.tables import Excerpt

NEAR = 150
"""The number of characters in which most of a question's words shall be: two lines of a terminal."""
LONGEST = 600
"""The number of characters that an excerpt has at most, for wide terminals."""
WORDS = re.compile(r"\w+")
HEADING = re.compile(r"^#{1,6}[ \t]+(.+?)[ \t]*#*$", re.M)
LINE = re.compile(r"[^\n]+")
WITHOUT_WORDS = re.compile(r"[\W_]*")
"""A line such as the one below the head of a table."""
SENTENCE = re.compile(r"(?<=[.!?:;])\s+")
ENDING = re.compile(r"(?<=\w{3})(?:ings?|ed|es|s)$", re.I)
ENDINGS = r"(?:e|s|es|ed|d|ings?|ers?|ly|y|ies)?\b"
CHANGING = re.compile(r"(\w+[^\W\d_aeiou])(?:y|ies|ied)", re.I)
"""A word whose last y becomes i before an ending: `dry` and `dries`."""
Y_ENDINGS = r"(?:ying|yings|y|i(?:es?|ed|ers?|est|ly))\b"
UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
"""A character of a script that does not part its words with blanks, or that adds endings to them."""


def excerpt(text: str, question: str, indent: int = 0) -> tuple[str, Excerpt]:
    """The first part of a text with the most different words of the question, and the heading above it.

    The heading is empty if the text has none before this part.

    >>> above, found = excerpt("# Tides\\n\\nThe moon is far. High tide is at noon.", "when are tides high")
    >>> above, found.text, [found.text[a:b] for a, b in found.marks]
    ('Tides', 'High tide is at noon.', ['High', 'tide'])
    """
    patterns = [
        _pattern(word) for word in content_words(list(dict.fromkeys(WORDS.findall(question.lower()))))
    ]
    start = _start(patterns, text)
    lines = (HEADING.sub(r"· \1 ·", line) for line in text[start : start + 2 * LONGEST].split("\n"))
    shown = " ".join(" ".join(line for line in lines if not WITHOUT_WORDS.fullmatch(line)).split())
    above = [part[1] for part in HEADING.finditer(text, 0, start)]
    return above[-1] if above else "", Excerpt(shown[:LONGEST], _marks(patterns, shown[:LONGEST]), indent)


def _start(patterns: Sequence[re.Pattern[str]], text: str) -> int:
    """Where the excerpt begins: as near to the first part with the most different words as it can be."""
    found = [(at, _found(patterns, text[at : at + NEAR])) for at in _beginnings(text)]
    most = max(count for _, count in found)
    first = next(number for number, (_, count) in enumerate(found) if count == most)
    if most:
        while found[first + 1 :] and found[first + 1][1] == most:
            first += 1
    return found[first][0]


def _pattern(word: str) -> re.Pattern[str]:
    if UNSPACED.search(word):
        return re.compile(re.escape(word), re.I)
    if changing := CHANGING.fullmatch(word):
        return re.compile(rf"\b{re.escape(changing[1])}{Y_ENDINGS}", re.I)
    return re.compile(rf"\b{re.escape(ENDING.sub('', word))}{ENDINGS}", re.I)


def _beginnings(text: str) -> list[int]:
    """Where an excerpt may begin: at each line and each sentence, but not at a heading unless all are."""
    lines = [part for part in LINE.finditer(text) if not WITHOUT_WORDS.fullmatch(part[0])]
    plain = [part for part in lines if not HEADING.fullmatch(part[0])] or lines
    inside = [part.start() + one.end() for part in plain for one in SENTENCE.finditer(part[0])]
    return sorted([*(part.start() for part in plain), *inside]) or [0]


def _found(patterns: Iterable[re.Pattern[str]], text: str) -> int:
    return sum(one.search(text) is not None for one in patterns)


def _marks(patterns: Sequence[re.Pattern[str]], text: str) -> tuple[tuple[int, int], ...]:
    """The places of the words, in their order and without overlaps."""
    marks: list[tuple[int, int]] = []
    for begin, end in sorted(part.span() for one in patterns for part in one.finditer(text)):
        if not marks or begin >= marks[-1][1]:
            marks.append((begin, end))
    return tuple(marks)
