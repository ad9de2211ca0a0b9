"""How much a provider takes at once: of one text, and in one request.

The limits are OpenClaw's: a model's tokens are compared with bytes of UTF-8, of which a token has at least
one. Source: openclaw 2026.2.13, src/memory/embedding-chunk-limits.ts and manager.ts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from workbench.errors import InputError
from workbench.memory.chunking import Chunker, chunker_of_file
from workbench.memory.files import content_hash
from workbench.records import Passage

REQUEST_BYTES = 8000
"""How many bytes of text go into one request, unless one text alone has more."""

USUAL_LONGEST = 8192
LONGEST: Mapping[str, int] = {
    "gemini": 2048,
    "openai/text-embedding-ada-002": 8191,
    "voyage/voyage-3": 32_000,
    "voyage/voyage-3-lite": 16_000,
    "voyage/voyage-code-3": 32_000,
}
LONGEST_CHARACTER = 4
"""Bytes in UTF-8."""


def longest(provider: str, model: str) -> int:
    """How many bytes of one text the model takes: its own number, its provider's, or the usual one."""
    return LONGEST.get(f"{provider}/{model}", LONGEST.get(provider, USUAL_LONGEST))


def parts(text: str, most: int) -> list[str]:
    """The text in pieces of at most `most` bytes, cut between characters wherever the limit falls.

    >>> parts("naïve", 4)
    ['naï', 've']
    """
    data = text.encode()
    return [text] if len(data) <= most else list(_cut(data, most))


def _cut(data: bytes, most: int) -> Iterator[str]:
    start = 0
    while start < len(data):
        end = start + most
        while end < len(data) and data[end] & 0xC0 == 0x80:  # within a character
            end -= 1
        yield data[start:end].decode()
        start = end


def batches(sizes: Sequence[int], most: int = REQUEST_BYTES, texts: int | None = None) -> list[range]:
    """Which texts go into which request: runs of at most `most` bytes, and of at most `texts` texts.

    `sizes` are bytes. A text that alone has more goes alone.

    >>> batches([1600, 1600, 9000, 100], most=8000)
    [range(0, 2), range(2, 3), range(3, 4)]
    """
    found: list[range] = []
    start = total = 0
    for place, size in enumerate(sizes):
        if place > start and (total + size > most or place - start == texts):
            found.append(range(start, place))
            start, total = place, 0
        total += size
    return [*found, range(start, len(sizes))] if sizes else []


@dataclass(frozen=True)
class LimitedChunker:
    """What another chunker cuts, cut again to at most `most` bytes; the parts of a passage share its lines.

    Source: openclaw 2026.2.13, src/memory/embedding-chunk-limits.ts, enforceEmbeddingMaxInputTokens.
    """

    chunker: Chunker
    most: int

    def __post_init__(self) -> None:
        if self.most < LONGEST_CHARACTER:
            raise InputError(
                f"A limit of {self.most} bytes is too small for some characters.",
                f"Use at least {LONGEST_CHARACTER}.",
            )

    @property
    def name(self) -> str:
        return f"{self.chunker.name} bytes={self.most}"

    def of_file(self, path: str) -> Chunker:
        """The same limit for the chunker of one file."""
        return LimitedChunker(chunker_of_file(self.chunker, path), self.most)

    def chunk(self, text: str) -> list[Passage]:
        """The passages of `text` in order, each of at most `most` bytes."""
        return [part for passage in self.chunker.chunk(text) for part in within(passage, self.most)]


def within(passage: Passage, most: int) -> list[Passage]:
    """The passage in parts of at most `most` bytes, each with its own hash and all of its lines."""
    return [
        Passage(text, passage.start_line, passage.end_line, content_hash(text))
        for text in parts(passage.text, most)
    ]
