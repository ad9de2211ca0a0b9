"""Which scripts a memory has, and which leg does nothing for one of them: told by asking, not from a list.

A probe is two words of one chunk, as a question has them. In a script without blanks it is two pieces of the
chunk, written together.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

import numpy as np

from workbench.contracts import Index
from workbench.memory.embedding.local import LocalEmbedder
from workbench.records import Chunk
from workbench.retrieval.legs import legs_of
from workbench.retrieval.pipeline import Pipeline, search

ENOUGH, MOST = 3, 24
"""Fewer probes tell nothing of a script, and no more are asked."""
SHARE = 0.05
"""A memory has a script if at least so many of its chunks give a probe."""
FEW = 0.1
"""A leg that finds at most this share of a script's probes is dead for it."""
UNKNOWN, LETTERS = 0.25, 1.5
"""A model with more unknown pieces, or with fewer letters a piece, does not know a script."""
PIECE = 3
"""Characters of a piece in a script without blanks."""

WORD = re.compile(
    r"[^\W\d_](?:[^\W\d_]|[\u0300-\u036f\u0591-\u05c7\u0610-\u06ed\u0900-\u109f\u1780-\u17d3])*"
)
NAMES = {
    "CJK": "Chinese and Japanese", "HIRAGANA": "Chinese and Japanese", "KATAKANA": "Chinese and Japanese",
    "LATIN": "Latin with accents", "MYANMAR": "Burmese",
}  # fmt: skip
UNSPACED = {"Chinese and Japanese", "Thai", "Lao", "Khmer", "Burmese"}


@cache
def script(word: str) -> str:
    """The script of a word, by its first letter beyond ASCII; empty for a word of ASCII letters.

    >>> script("tea"), script("Köln"), script("мир"), script("高铁")
    ('', 'Latin with accents', 'Cyrillic', 'Chinese and Japanese')
    """
    letter = next((one for one in word if not one.isascii() and one.isalpha()), "")
    name = unicodedata.name(letter, "").partition(" ")[0] if letter else ""
    return NAMES.get(name, name.capitalize())


def probes(chunks: Sequence[Chunk]) -> Mapping[str, list[tuple[str, Chunk]]]:
    """For each script its probes, each with the chunk of its words; scripts of few chunks are left out."""
    found: dict[str, list[tuple[str, Chunk]]] = {}
    for chunk in chunks:
        words: dict[str, list[str]] = {}
        for word in dict.fromkeys(WORD.findall(chunk.text)):
            words.setdefault(script(word), []).append(word)
        for name, some in words.items():
            if asked := _probe(some, name in UNSPACED):
                found.setdefault(name, []).append((asked, chunk))
    least = max(ENOUGH, SHARE * len(chunks))
    return {name: some[:MOST] for name, some in found.items() if name and len(some) >= least}


def _probe(words: Sequence[str], unspaced: bool) -> str:
    """The two longest words, or pieces from their middles; empty without two."""
    first, *rest = sorted((one for one in words if len(one) > PIECE), key=len, reverse=True)[:2] or [""]
    if not rest:
        return ""
    middles = (one[len(one) // 2 - 1 :][:PIECE] for one in (first, *rest))
    return "".join(middles) if unspaced else f"{first} {rest[0]}"


def dead_for(pipeline: Pipeline, index: Index, chunks: Sequence[Chunk]) -> Iterator[tuple[str, str]]:
    """The scripts for which the legs of words find nothing, each with the arithmetic."""
    legs = [leg.name for leg in legs_of(pipeline.stages) if leg.name != "vector"]
    for name, asked in probes(chunks).items() if legs else ():
        found = sum(_finds(pipeline, index, legs, *one) for one in asked)
        if found <= FEW * len(asked):
            question, chunk = asked[0]
            yield name, f"{found} of {len(asked)} probes, such as {question!r} for {chunk.path}"


def _finds(pipeline: Pipeline, index: Index, legs: Sequence[str], question: str, chunk: Chunk) -> bool:
    """Whether a leg of words brings the chunk's file with a score other than 0, where it has a score."""
    trace = search(question, pipeline, index)
    found = np.zeros(trace.rows.size, bool)
    for leg in legs:
        ranks = trace.columns.get(f"{leg}_rank", np.full(trace.rows.size, np.nan))
        found |= ~np.isnan(ranks) & (trace.columns.get(f"{leg}_score", ranks) != 0)
    return any(trace.chunks[row].path == chunk.path for row in np.flatnonzero(found))


def unknown_to(embedder: LocalEmbedder, chunks: Sequence[Chunk]) -> Iterator[tuple[str, str]]:
    """The scripts that a model does not know: most pieces are unknown to it, or single letters."""
    for name, asked in probes(chunks).items():
        texts = [question for question, _ in asked]
        with embedder.alone():
            read = list(embedder.engine.piece_vectors(texts, "passage", embedder.batch_size))
        pieces = [embedder.engine.piece(number) for one in read for number in one.pieces.tolist()]
        known = [one for one in pieces if one]
        size = len(pieces) - 2 * len(read)  # the model's own two markers
        unknown = 1 - len(known) / max(1, size)
        letters = sum(map(len, texts)) / max(1, size)
        if unknown > UNKNOWN or (name not in UNSPACED and letters < LETTERS):
            yield name, f"{unknown:.0%} of its pieces are unknown, {letters:.1f} letters a piece"
