"""How AutoMem splits a question, a memory's text, and a memory's metadata into words."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any

STOPWORDS = frozenset({
    "the", "and", "for", "with", "that", "this", "from", "into", "using", "have", "will", "your", "about",
    "after", "before", "when", "then", "than", "also", "just", "very", "more", "less", "over", "under",
})  # fmt: skip
"""Words that are not tokens of a question. Question words such as did, what and who are not in the list."""

SHORTEST = 3
LONGEST_TERM = 256
QUERY_WORDS = re.compile(r"[a-z0-9_-]+")
CONTENT_WORDS = re.compile(r"\b[a-z0-9]+\b")


def query_tokens(question: str) -> tuple[str, ...]:
    """The tokens of a question: lower case, inner hyphens and underscores, 3 characters or more, each once.

    Source: automem, automem/utils/text.py; it is the same in all commits that we use.

    >>> query_tokens("When did Melanie paint a multi-hop sunrise in the naïve café?")
    ('did', 'melanie', 'paint', 'multi-hop', 'sunrise', 'caf')
    """
    words = (word.strip("-_") for word in QUERY_WORDS.findall(question.lower()))
    return tuple(dict.fromkeys(word for word in words if len(word) >= SHORTEST and word not in STOPWORDS))


def content_words(content: str) -> frozenset[str]:
    """The words of a memory's text, by another rule than a question's: multi-hop is two, foo_bar is none.

    >>> sorted(content_words("A multi-hop foo_bar"))
    ['a', 'hop', 'multi']
    """
    return frozenset(CONTENT_WORDS.findall(content.lower()))


def metadata_terms(metadata: Any, skipped: Iterable[str] = ()) -> frozenset[str]:
    """Every string in the metadata at any depth, and its words; keys and long strings are left out.

    `skipped` names keys whose values are left out, as AutoMem does for `entities` since 8ff266e.

    >>> sorted(metadata_terms({"topic": "Alpha beta", "more": [{"n": 1, "x": "gamma-ray"}]}))
    ['alpha', 'alpha beta', 'beta', 'gamma-ray']
    """
    terms: set[str] = set()
    for string in _strings(metadata, frozenset(skipped)):
        terms |= {string, *QUERY_WORDS.findall(string)}
    return frozenset(terms)


def _strings(value: Any, skipped: frozenset[str]) -> Iterator[str]:
    if isinstance(value, str):
        if 0 < len(cleaned := value.strip().lower()) <= LONGEST_TERM:
            yield cleaned
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            if key not in skipped:
                yield from _strings(inner, skipped)
    elif isinstance(value, list | tuple | set | frozenset):
        for inner in value:
            yield from _strings(inner, skipped)


def tag_words(tags: Iterable[str]) -> frozenset[str]:
    """The tags in lower case, without surrounding blanks, for the comparison with tokens."""
    return frozenset(tag.strip().lower() for tag in tags)


def hits_in(tokens: Iterable[str], known: Container[str]) -> int:
    """How many of the tokens are in `known`: words of a set, or substrings of a text."""
    return sum(token in known for token in tokens)


def is_exact(question: str, terms: frozenset[str]) -> bool:
    """Whether the whole question is a metadata term."""
    return question.strip().lower() in terms


def phrase_of(question: str) -> str:
    """The question as a phrase to search for; empty if it has fewer than 3 characters."""
    phrase = question.strip().lower()
    return phrase if len(phrase) >= SHORTEST else ""


def graph_raw(content: str, tags: Sequence[str], keywords: Sequence[str], phrase: str) -> int:
    """The graph's keyword score: 2 for each keyword in the text, 1 for each in any tag; also for the phrase.

    Substrings match: `car` is in `carpet`. The comparison ignores case.

    >>> graph_raw("AutoMem keyword scoring rocks", ["automem"], ["automem", "scoring"], "keyword scoring")
    7
    """
    text, labels = content.lower(), [tag.lower() for tag in tags]
    sought = [*keywords, phrase] if len(phrase) >= SHORTEST else keywords
    return sum(2 * (word in text) + any(word in tag for tag in labels) for word in sought)


def graph_best(keywords: int) -> int:
    """The graph's highest raw score for that many keywords plus the phrase; 3 for no keywords.

    Source: automem 3653ddf (#191).
    """
    return 3 * keywords + 3


def most_raw(question: str) -> int:
    """The highest possible graph score for this question; for a question without tokens it is an importance.

    >>> [most_raw(question) for question in ("Which hub did he fix?", "???", "C")]
    [15, 3, 1]
    """
    tokens = query_tokens(question)
    return graph_best(len(tokens)) if tokens or phrase_of(question) else 1
