"""The vectors of a text's single words, from the same local model that gives one vector for all of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from workbench.memory.embedding.engines import ModelEngine, PieceVectors
from workbench.memory.embedding.local import Embedder, LocalEmbedder, Role, unit
from workbench.memory.embedding.stop_words import STOP_WORDS

MARKS = "#▁Ġ"
"""What tokenizers put in front of a word piece to say whether it begins a word."""


@dataclass(frozen=True, slots=True)
class WordVectors:
    """A text's unit vector, and the unit vectors of its content words, one row per word piece.

    Function words, punctuation and the model's own markers are left out, unless nothing else is there.
    """

    whole: NDArray[np.float32]
    words: NDArray[np.float32]


def reads_words(embedder: Embedder) -> bool:
    """Whether this embedder can give the vectors of single words: a model on this machine can."""
    return isinstance(embedder, LocalEmbedder)


def word_vectors(embedder: LocalEmbedder, texts: Sequence[str], role: Role) -> list[WordVectors]:
    """The vectors of each text and of its content words; a text is truncated after the model's window."""
    engine = embedder.engine
    with embedder.alone():
        found = engine.piece_vectors(texts, role, embedder.batch_size)
    return [_read(engine, one) for one in found]


def _read(engine: ModelEngine, found: PieceVectors) -> WordVectors:
    kinds = [_kind(engine.piece(number)) for number in found.pieces.tolist()]
    content = np.array([kind is Kind.CONTENT for kind in kinds])
    words = np.array([kind is not Kind.NO_WORD for kind in kinds])
    chosen = next((some for some in (content, words) if some.any()), np.ones(len(kinds), bool))
    return WordVectors(unit(found.whole[None])[0], unit(found.vectors)[chosen])


class Kind(Enum):
    """What a word piece is: a part of a content word, of a function word, or no word at all."""

    CONTENT = auto()
    FUNCTION = auto()
    NO_WORD = auto()


@lru_cache(maxsize=100_000)
def _kind(text: str) -> Kind:
    if not any(one.isalnum() for one in text):
        return Kind.NO_WORD
    function = text.lstrip(MARKS).lower() in STOP_WORDS and not text.startswith("##")
    return Kind.FUNCTION if function else Kind.CONTENT
