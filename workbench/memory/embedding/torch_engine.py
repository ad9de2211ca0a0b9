"""Runs a sentence-transformers model in torch."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.memory.embedding.engines import PieceVectors, Precision, Role


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

        logging.disable_progress_bar()  # type: ignore[no-untyped-call]
        self.model = SentenceTransformer(folder, device="cpu", local_files_only=not download)
        if precision == "bf16":
            self.model.bfloat16()

    @property
    def window(self) -> int:
        special: int = self.model.tokenizer.num_special_tokens_to_add()
        return int(self.model.max_seq_length or 512) - special

    def offsets(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        encoded = self.model.tokenizer(
            list(texts), return_offsets_mapping=True, add_special_tokens=False, truncation=False,
            padding=False, verbose=False,
        )  # fmt: skip
        offsets: list[list[tuple[int, int]]] = encoded["offset_mapping"]
        return offsets

    def vectors(self, texts: Sequence[str], role: Role, batch_size: int) -> NDArray[np.float32]:
        """One unit vector per text; sentence-transformers puts texts of similar length in one batch."""
        encode: Any = self.model.encode_query if role == "query" else self.model.encode_document
        with threads(1 if len(texts) == 1 else None):
            found = encode(
                list(texts), batch_size=batch_size, normalize_embeddings=True, show_progress_bar=False
            )
        return np.asarray(found, np.float32)

    def piece_vectors(self, texts: Sequence[str], role: Role, batch_size: int) -> list[PieceVectors]:
        """The vectors of each text and of its word pieces."""
        encode: Any = self.model.encode_query if role == "query" else self.model.encode_document
        with threads(1 if len(texts) == 1 else None):
            found = encode(list(texts), batch_size=batch_size, output_value=None, show_progress_bar=False)
        return [_pieces(one) for one in found]

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


@contextmanager
def threads(count: int | None) -> Iterator[None]:
    """Runs torch in `count` threads within the block; None leaves it as it is.

    One text is too little work for two threads: they wait for each other, and on a busy machine for long.
    """
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(count or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)
