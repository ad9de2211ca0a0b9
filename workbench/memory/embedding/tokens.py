"""The vectors of a text's single words, from the same local model that gives one vector for all of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workbench.memory.embedding.local import Embedder, LocalEmbedder, Role, unit
from workbench.memory.embedding.stop_words import STOP_WORDS

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

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
    model = embedder.model
    encode = model.encode_query if role == "query" else model.encode_document
    with embedder.alone():
        features: Any = encode(
            list(texts), batch_size=embedder.batch_size, output_value=None, show_progress_bar=False
        )
    return [_read(embedder, one) for one in features]


def _read(embedder: LocalEmbedder, features: Any) -> WordVectors:
    real = features["attention_mask"].bool().cpu().numpy()
    pieces = features["input_ids"].cpu().numpy()[real]
    vectors = unit(features["token_embeddings"].float().cpu().numpy()[real])
    whole = unit(features["sentence_embedding"].float().cpu().numpy()[None])[0]
    return WordVectors(whole, vectors[_content(pieces, *_kinds(embedder.model.tokenizer))])


def _content(
    pieces: NDArray[np.int64], word: NDArray[np.bool_], function: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    for chosen in (word[pieces] & ~function[pieces], word[pieces]):
        if chosen.any():
            return chosen
    return np.ones(pieces.size, bool)


@lru_cache(maxsize=4)
def _kinds(tokenizer: PreTrainedTokenizerBase) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """For each piece of the vocabulary: has it a letter or digit, and is it a function word?"""
    special = set(tokenizer.all_special_tokens)
    texts = [str(one) for one in tokenizer.convert_ids_to_tokens(list(range(len(tokenizer))))]
    word = [text not in special and any(one.isalnum() for one in text) for text in texts]
    function = [text.lstrip(MARKS).lower() in STOP_WORDS and not text.startswith("##") for text in texts]
    return np.array(word), np.array(function)
