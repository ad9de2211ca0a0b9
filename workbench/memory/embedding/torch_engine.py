"""Runs a sentence-transformers model in torch, the reference for every other engine."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.memory.embedding.engines import PieceVectors, Precision, Role, batches, cores


class TorchEngine:
    """A sentence-transformers model from a folder, or by the name of one on this machine.

    `download` allows sentence-transformers to get it from its hub. Raises OSError or ValueError when the
    model cannot be loaded.
    """

    def __init__(self, folder: str, precision: Precision = "fp32", download: bool = False) -> None:
        quiet = {"TRANSFORMERS_VERBOSITY": "error", "HF_HUB_DISABLE_PROGRESS_BARS": "1"}
        for key, value in quiet.items():
            os.environ.setdefault(key, value)
        from sentence_transformers import SentenceTransformer
        from transformers.utils import logging

        logging.disable_progress_bar()

        self.model = SentenceTransformer(folder, device="cpu", local_files_only=not download)
        tokenizer: Any = self.model.tokenizer
        # Where its file is missing, transformers makes one that knows no word but its own markers.
        if not getattr(tokenizer, "is_fast", False) or len(tokenizer) <= len(tokenizer.all_special_ids):
            raise ValueError("it has no tokenizer.json or vocabulary that says how to read words.")
        self.model.preprocess = _one_at_a_time(self.model.preprocess)
        if precision == "bf16":
            self.model.bfloat16()

    @property
    def window(self) -> int:
        special: int = self.model.tokenizer.num_special_tokens_to_add()
        return int(self.model.max_seq_length or 512) - special

    def offsets(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        if not texts:
            return []  # transformers 5 raises IndexError for an empty list
        encoded = self.model.tokenizer(
            list(texts),
            return_offsets_mapping=True,
            add_special_tokens=False,
            truncation=False,
            padding=False,
            verbose=False,
        )
        offsets: list[list[tuple[int, int]]] = encoded["offset_mapping"]
        return offsets

    def vectors(self, texts: Sequence[str], role: Role, batch_size: int) -> NDArray[np.float32]:
        """One unit vector per text."""
        found = self._encoded(texts, role, batch_size, normalize_embeddings=True)
        return np.asarray(found, np.float32).reshape(len(texts), -1)

    def piece_vectors(self, texts: Sequence[str], role: Role, batch_size: int) -> list[PieceVectors]:
        """The vectors of each text and of its word pieces."""
        return [_pieces(one) for one in self._encoded(texts, role, batch_size, output_value=None)]

    def _encoded(self, texts: Sequence[str], role: Role, batch_size: int, **options: Any) -> list[Any]:
        """What sentence-transformers makes of each text: each batch in one thread, on all cores.

        Threads that share a batch wait for each other after each of its layers.
        """
        encode: Any = self.model.encode_query if role == "query" else self.model.encode_document
        found: list[Any] = [None] * len(texts)

        def run(numbers: list[int]) -> None:
            batch = [texts[number] for number in numbers]
            answers = encode(batch, batch_size=len(batch), show_progress_bar=False, **options)
            for number, answer in zip(numbers, answers, strict=True):
                found[number] = answer

        with threads(1):
            if len(texts) == 1:
                run([0])
                return found
            lengths = [min(len(pieces), self.window) for pieces in self.offsets(texts)]
            with ThreadPoolExecutor(cores()) as pool:
                list(pool.map(run, batches(lengths, batch_size)))
        return found

    def piece(self, number: int) -> str:
        """How the vocabulary writes a word piece; empty for the model's own markers."""
        return "" if number in self._markers else str(self.model.tokenizer.convert_ids_to_tokens(number))

    @cached_property
    def _markers(self) -> frozenset[int]:
        return frozenset(self.model.tokenizer.all_special_ids)


def _pieces(features: Any) -> PieceVectors:
    real = features["attention_mask"].bool().cpu().numpy()
    return PieceVectors(
        features["sentence_embedding"].float().cpu().numpy(),
        features["input_ids"].cpu().numpy()[real],
        features["token_embeddings"].float().cpu().numpy()[real],
    )


def _one_at_a_time(preprocess: Callable[..., Any]) -> Callable[..., Any]:
    """`preprocess` for several threads: a fast tokenizer fails when two of them use it at once."""
    lock = Lock()

    def alone(*inputs: Any, **options: Any) -> Any:
        with lock:
            return preprocess(*inputs, **options)

    return alone


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Runs each operation of torch in `count` threads within the block, also in threads that start there."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
