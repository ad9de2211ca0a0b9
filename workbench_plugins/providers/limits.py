"""How much a provider takes at once: of one text, and in one request.

The limits are OpenClaw's: a model's tokens are compared with bytes of UTF-8, of which a token has at least
one. Source: openclaw 2026.2.13, src/memory/embedding-chunk-limits.ts and manager.ts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from workbench.memory.sources import USUAL_LONGEST

REQUEST_BYTES = 8000
"""How many bytes of text go into one request, unless one text alone has more."""

LONGEST: Mapping[str, int] = {
    "gemini": 2048,
    "openai/text-embedding-ada-002": 8191,
    "voyage/voyage-3": 32_000,
    "voyage/voyage-3-lite": 16_000,
    "voyage/voyage-code-3": 32_000,
}


def longest(provider: str, model: str) -> int:
    """How many bytes of one text the model takes: its own number, its provider's, or the usual one."""
    return LONGEST.get(f"{provider}/{model}", LONGEST.get(provider, USUAL_LONGEST))


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
