"""Function words of English, which say nothing about what a text is about.

They are the pronouns, articles, prepositions, conjunctions, auxiliary verbs and question words that stop-word
lists have in common (as in Fox, SIGIR Forum 1989), with the rests that an apostrophe leaves.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

STOP_WORDS = frozenset(Path(__file__).with_suffix(".txt").read_text(encoding="utf-8").split())


def content_words(words: Sequence[str]) -> list[str]:
    """The words without English function words; all words if there are no others.

    >>> content_words(["Where", "is", "the", "tea"]), content_words(["who", "is", "it"])
    (['tea'], ['who', 'is', 'it'])
    """
    content = [word for word in words if word.lower() not in STOP_WORDS]
    return content or list(words)
