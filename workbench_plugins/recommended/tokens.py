"""The vectors of a text's words and passages, from the same local model that gives one vector for it all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from workbench.memory.embedding.engines import ModelEngine, PieceVectors, Role
from workbench.memory.embedding.local import LocalEmbedder, unit
from workbench.retrieval.query import STOP_WORDS

MARKS = "#▁Ġ"
"""What tokenizers put in front of a word piece to say whether it begins a word."""
PASSAGE, STEP = 24, 16
"""Word pieces in a passage, and from the beginning of one to that of the next."""
MEAN = 0.99
"""A model whose text vector has at least this cosine with the mean of its pieces makes it by that mean."""


@dataclass(frozen=True, slots=True)
class WordVectors:
    """A text's unit vector, and the unit vectors of its content words, one row per word piece.

    Function words, punctuation and the model's own markers are left out, unless nothing else is there.
    `passages` holds a unit vector for each passage of 24 word pieces: the mean of what the model made of
    them within the whole text. Source: late chunking, Günther et al., 2024. A model whose text vector is not
    the mean of its pieces gives one passage, the text.
    """

    whole: NDArray[np.float32]
    words: NDArray[np.float32]
    passages: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class AskedWords:
    """A question's content words: their texts, the unit vector of each piece, and the word that it is in."""

    texts: tuple[str, ...]
    pieces: NDArray[np.float32]
    owners: NDArray[np.int64]


def word_vectors(embedder: LocalEmbedder, texts: Sequence[str], role: Role) -> list[WordVectors]:
    """The vectors of each text and of its content words; a text is truncated after the model's window."""
    engine = embedder.engine
    return [_read(engine, one) for one in _read_pieces(embedder, texts, role)]


def _read(engine: ModelEngine, found: PieceVectors) -> WordVectors:
    whole = unit(found.whole[None])[0]
    chosen = _content(_texts(engine, found))
    return WordVectors(whole, unit(found.vectors)[chosen], passages(found.vectors, whole))


def _read_pieces(embedder: LocalEmbedder, texts: Sequence[str], role: Role) -> Sequence[PieceVectors]:
    with embedder.alone():
        return list(embedder.engine.piece_vectors(texts, role, embedder.batch_size))


def _texts(engine: ModelEngine, found: PieceVectors) -> list[str]:
    return [engine.piece(number) for number in found.pieces.tolist()]


def _content(texts: Sequence[str]) -> NDArray[np.bool_]:
    """Which pieces are of content words; those of all words, or all pieces, if nothing else is there."""
    content, words = np.array([*map(_is_content, texts)]), np.array([*map(_is_word, texts)])
    return next((some for some in (content, words) if some.any()), np.ones(len(texts), bool))


def asked_words(embedder: LocalEmbedder, question: str) -> AskedWords:
    """The vectors of a question's content words; it is truncated after the model's window."""
    (found,) = _read_pieces(embedder, [question], "query")
    texts = _texts(embedder.engine, found)
    chosen = _content(texts)
    owners = _owners(texts)
    kept, owner = np.unique(owners[chosen], return_inverse=True)
    words = tuple(
        "".join(text.lstrip(MARKS) for text, at in zip(texts, owners, strict=True) if at == one)
        for one in kept
    )
    return AskedWords(words, unit(found.vectors[chosen]), owner)


def _owners(pieces: Sequence[str]) -> NDArray[np.int64]:
    """The number of each piece's word. Some tokenizers mark what begins a word, others what continues it."""
    marked = any(piece.startswith(("▁", "Ġ")) for piece in pieces)
    begins = [
        not _is_word(before)  # the model's own marker, or punctuation
        or (piece[:1] in "▁Ġ" if marked else not piece.startswith("##"))
        for before, piece in pairwise(["", *pieces])
    ]
    return np.cumsum(begins)


def passages(pieces: NDArray[np.float32], whole: NDArray[np.float32]) -> NDArray[np.float32]:
    """The unit vectors of the passages of a text, from the vectors of its pieces and its own."""
    if pieces.shape[1] != whole.size or unit(pieces.mean(axis=0)[None])[0] @ whole < MEAN:
        return whole[None]
    starts = range(0, max(1, len(pieces) - (PASSAGE - STEP)), STEP)
    return unit(np.array([pieces[start : start + PASSAGE].mean(axis=0) for start in starts]))


def _is_word(piece: str) -> bool:
    return any(one.isalnum() for one in piece)


@lru_cache(maxsize=100_000)
def _is_content(piece: str) -> bool:
    """Whether a word piece is a part of a content word."""
    function = piece.lstrip(MARKS).lower() in STOP_WORDS and not piece.startswith("##")
    return _is_word(piece) and not function
