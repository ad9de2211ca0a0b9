"""The vectors of a text's words and passages, from the model that gives one vector for it all; their codes.

A vector becomes its 384 signs and one number, its size: 50 bytes. Words of a chunk that are alike share a
code. The question's own vectors stay exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from workbench.memory.embedding.engines import (
    TORCH,
    ModelEngine,
    ModelVariant,
    PieceVectors,
    Role,
    cpu_has,
)
from workbench.memory.embedding.local import LocalEmbedder, unit
from workbench.records import Floats
from workbench.stop_words import STOP_WORDS

MARKS = "#▁Ġ"
"""What tokenizers put in front of a word piece to say whether it begins a word."""
PASSAGE, STEP = 24, 20
"""Word pieces in a passage, and from the beginning of one to that of the next."""
MEAN = 0.99
"""A model whose text vector has at least this cosine with the mean of its pieces makes it by that mean."""


POOLED = 2.2
"""The number of words of a chunk that share a code on average."""


@dataclass(frozen=True, slots=True)
class WordVectors:
    """The unit vectors of a text's content words, one row per word piece, and those of its passages.

    Function words, punctuation and the model's own markers are left out, unless nothing else is there.
    `passages` holds a unit vector for each passage of 24 word pieces: the mean of what the model made of
    them within the whole text. Source: late chunking, Günther et al., 2024. A model whose text vector is not
    the mean of its pieces gives one passage, the text.
    """

    words: NDArray[np.float32]
    passages: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class AskedWords:
    """A question's content words: their texts, the unit vector of each piece, and the word that it is in."""

    texts: tuple[str, ...]
    pieces: NDArray[np.float32]
    owners: NDArray[np.int64]


def for_signs(embedder: LocalEmbedder) -> LocalEmbedder:
    """The same model for vectors of which only the signs are kept: in bf16 where that is faster.

    It is faster in another backend than torch, on a processor with instructions for it.
    """
    if embedder.backend == TORCH or embedder.variant.precision != "fp32" or not cpu_has("bf16"):
        return embedder
    return replace(embedder, variant=ModelVariant(embedder.backend, "bf16"))


def word_vectors(embedder: LocalEmbedder, texts: Sequence[str], role: Role) -> list[WordVectors]:
    """The vectors of each text's content words and passages; it is truncated after the model's window."""
    engine = embedder.engine
    return [_read(engine, one) for one in _read_pieces(embedder, texts, role)]


def _read(engine: ModelEngine, found: PieceVectors) -> WordVectors:
    chosen = _content(_texts(engine, found))
    return WordVectors(unit(found.vectors)[chosen], passages(found.vectors, unit(found.whole[None])[0]))


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


@lru_cache(maxsize=100_000)
def _is_word(piece: str) -> bool:
    return any(one.isalnum() for one in piece)


@lru_cache(maxsize=100_000)
def _is_content(piece: str) -> bool:
    """Whether a word piece is a part of a content word."""
    function = piece.lstrip(MARKS).lower() in STOP_WORDS and not piece.startswith("##")
    return _is_word(piece) and not function


# The codes


@dataclass(frozen=True)
class Codes:
    """Coded vectors, a row for each: the signs of its numbers, eight in a byte, and its size."""

    packed: NDArray[np.uint8]
    sizes: NDArray[np.float16]

    @property
    def bytes(self) -> int:
        """The number of bytes that these codes take."""
        return self.packed.nbytes + self.sizes.nbytes

    def of(self, ordinals: slice | NDArray[np.int64]) -> Codes:
        """The codes of some of the vectors."""
        return Codes(self.packed[ordinals], self.sizes[ordinals])

    @classmethod
    def joined(cls, parts: Sequence[Codes], width: int) -> Codes:
        """The codes of all parts, in their order; `width` is the number of bytes in a row."""
        packed = [np.empty((0, width), np.uint8), *(one.packed for one in parts)]
        return cls(
            np.concatenate(packed), np.concatenate([np.empty(0, np.float16), *(one.sizes for one in parts)])
        )


def pooled(words: NDArray[np.float32]) -> NDArray[np.float32]:
    """The unit vectors of words that are much alike as one, their mean: fewer rows by the factor POOLED.

    Source: Clavié, Chaffin and Adams, token pooling by Ward's clusters, 2024.
    """
    from scipy.cluster.hierarchy import fcluster, linkage

    if len(words) < 2:
        return words
    group = fcluster(linkage(words, "ward"), int(np.ceil(len(words) / POOLED)), "maxclust")
    order = np.argsort(group, kind="stable")
    return unit(np.add.reduceat(words[order], np.flatnonzero(np.diff(group[order], prepend=-1))))


def coded(vectors: NDArray[np.float32]) -> Codes:
    """The signs of these vectors, one row each, with the mean size of their numbers."""
    return Codes(np.packbits(vectors > 0, axis=1), np.abs(vectors).mean(axis=1).astype(np.float16))


def similarities(question: NDArray[np.float32], codes: Codes) -> NDArray[np.float32]:
    """About the cosine of each coded word with each of the question's words: (coded, asked)."""
    bits = np.unpackbits(codes.packed, axis=1, count=question.shape[1]).astype(np.float32)
    signed: NDArray[np.float32] = 2 * (bits @ question.T) - question.sum(axis=1)
    return signed * codes.sizes[:, None].astype(np.float32)


def max_sim(question: NDArray[np.float32], codes: Codes, starts: NDArray[np.int64]) -> Floats:
    """MaxSim of each text: for each word of the question its best match in the text, and the mean of these.

    `starts` holds the offset of each text's first word; no text is empty. Source: ColBERT, SIGIR 2020, with
    the mean in place of the sum, so that long and short questions have one scale.
    """
    return np.asarray(best_matches(question, codes, starts).mean(axis=1), float)


def best_matches(
    question: NDArray[np.float32], codes: Codes, starts: NDArray[np.int64]
) -> NDArray[np.float32]:
    """The cosine of each of the question's words with its best word in each text: (texts, asked).

    A text is compared alone. So its numbers do not depend on the other texts, not even in the last bit.
    """
    if not starts.size:
        return np.empty((0, question.shape[0]), np.float32)
    ends = [*starts[1:].tolist(), codes.sizes.size]
    texts = (codes.of(slice(start, end)) for start, end in zip(starts.tolist(), ends, strict=True))
    return np.array([similarities(question, text).max(axis=0) for text in texts])


AT_ONCE = 1_000
"""Texts whose codes are read at once."""


def coded_passages(vectors: NDArray[np.float32]) -> Codes:
    """The signs of these unit vectors, one row each, with sizes that suit `cosines`.

    A size makes a code's product with its own vector 1, so that cosines are right on average (RaBitQ).
    """
    own = np.maximum(np.abs(vectors).sum(axis=1), 1e-12) / 2
    return Codes(np.packbits(vectors > 0, axis=1), (1 / own).astype(np.float16))


def cosines(question: NDArray[np.float32], codes: Codes) -> NDArray[np.float32]:
    """About the cosine of each coded vector with the question's vector.

    Codes of cases that were written before have two or four bits a number, which their width tells.
    """
    # A product by BLAS would depend on the number of vectors in the last bit.
    bits = next(one for one in (1, 2, 4) if packed_width(question.size, one) == codes.packed.shape[1])
    shifts, most = np.arange(8 - bits, -1, -bits, dtype=np.uint8), 2**bits - 1
    numbers = (codes.packed[:, :, None] >> shifts & most).reshape(len(codes.packed), -1)
    found = np.einsum("ij,j->i", numbers[:, : question.size] - np.float32(most / 2), question)
    return np.asarray(found * codes.sizes.astype(np.float32), np.float32)


def means(codes: Codes, ends: NDArray[np.int64], dimensions: int) -> NDArray[np.float32]:
    """The unit vector of each text, the mean of what its codes stand for: (texts, dimensions).

    The codes of text i are `ends[i]:ends[i + 1]`. A text without codes gets a vector of zeros. The errors of
    single signs cancel out in the mean.
    """
    found = np.zeros((ends.size - 1, dimensions), np.float32)
    for start in range(0, len(found), AT_ONCE):
        cut = ends[start : start + AT_ONCE + 1]
        some = np.flatnonzero(np.diff(cut))
        part = codes.of(slice(cut[0], cut[-1]))
        bits = np.unpackbits(part.packed, axis=1, count=dimensions)
        signed = (2 * bits.astype(np.float32) - 1) * part.sizes[:, None].astype(np.float32)
        found[start + some] = np.add.reduceat(signed, cut[some] - cut[0])
    return unit(found)


def packed_width(dimensions: int, bits: int) -> int:
    """The bytes of a row of so many numbers of so many bits."""
    return -(-dimensions * bits // 8)
