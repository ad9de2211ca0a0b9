"""Identifiers: words that must be found as they are written, such as a serial number or a name in code."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice, pairwise

from workbench.records import Chunk

WORD = re.compile(r"[^\W_](?:[\w.-]*\w)?")
PART = re.compile(r"\d+|[^\W\d_]+")
DOTTED = re.compile(r"\w\w\.\w\w")
"""A dot inside a name, as in config.yaml; that of e.g. is none."""
ORDINAL = re.compile(r"\d+(?:st|nd|rd|th)", re.IGNORECASE)
SIGN = r"[-_. ]"
"""What people write between two parts of an identifier: AG-4471, AG_4471, AG 4471; AG4471 has none."""
OTHERWISE = 0.5
"""What an identifier counts that is written with other signs."""
MOST = 20
"""So many different identifiers of a question are looked for: a pasted log can have hundreds."""


def identifiers_in(text: str) -> list[str]:
    """The words with letters and digits, or with a dot or an underscore inside: at most MOST, each once.

    >>> identifiers_in("is AG-4471 set in night_watch or in config.yaml, e.g. 40 °C?")
    ['AG-4471', 'night_watch', 'config.yaml']
    """
    words = dict.fromkeys(match[0] for match in WORD.finditer(text))
    return list(islice(filter(_is_identifier, words), MOST))


def _is_identifier(word: str) -> bool:
    parts = PART.findall(word)
    digits = sum(part.isdigit() for part in parts)
    if digits:
        return digits < len(parts) and not ORDINAL.fullmatch(word)
    return len(parts) > 1 and ("_" in word or DOTTED.search(word) is not None)


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


def identifier_shares(question: str, chunks: Sequence[Chunk]) -> list[dict[str, float]]:
    """How well each chunk has the question's identifiers, in its text or in its path.

    1 is as it is written, and a half with other signs; one that it does not have is left out.
    """
    wanted = [Identifier(one) for one in identifiers_in(question)]
    if not wanted:
        return [{} for _ in chunks]
    texts = (f"{chunk.path}\n{chunk.text}" for chunk in chunks)
    shares = ({one.written: one.share(text) for one in wanted} for text in texts)
    return [{name: share for name, share in one.items() if share} for one in shares]


def _as_a_word(pattern: str) -> re.Pattern[str]:
    """The pattern where no letter, no figure and no decimal stands beside it."""
    return re.compile(rf"(?<![^\W_])(?<!\d[.,]){pattern}(?![^\W_])(?![.,]\d)", re.IGNORECASE)
