"""Runs the packaged model in OpenVINO: one thread for a question, all cores for many texts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workbench.errors import InputError
from workbench.memory.embedding.engines import PieceVectors, Precision, Role, batches, cores, cpu_has
from workbench.memory.embedding.fast.bert import Rounding, Shape, built
from workbench.memory.embedding.fast.rounding import Rounded, stored_ranges
from workbench.memory.embedding.fast.weights import weights_of

if TYPE_CHECKING:
    from openvino import CompiledModel
    from tokenizers import Encoding, Tokenizer

STEP = 16
"""Batches are padded to a multiple of this many word pieces: OpenVINO prepares itself for each new length."""


class OpenVinoEngine:
    """A BERT model from a folder in the layout of sentence-transformers.

    Raises InputError when the extra `fast` is not installed.
    """

    def __init__(self, folder: Path, precision: Precision = "fp32") -> None:
        try:
            import openvino  # noqa: F401
            import tokenizers  # noqa: F401
        except ImportError as error:
            raise InputError(
                f"The backend openvino needs the package {error.name}, which is not installed.",
                "Install it: pip install 'hybrid-search-workbench[fast]', or leave --backend out.",
            ) from None
        self.folder = folder
        self.precision = precision

    @cached_property
    def window(self) -> int:
        settings = json.loads((self.folder / "sentence_bert_config.json").read_text(encoding="utf-8"))
        return int(settings["max_seq_length"]) - self.tokenizer.num_special_tokens_to_add(False)

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer, without the padding and the limit of 128 word pieces that its file contains."""
        from tokenizers import Tokenizer

        made = Tokenizer.from_file(str(self.folder / "tokenizer.json"))
        made.no_padding()
        made.no_truncation()
        return made

    def cut(self, texts: Sequence[str]) -> list[Encoding]:
        """The word pieces of each text, cut off after the window, with the model's own markers."""
        encoded = self.tokenizer.encode_batch(list(texts), add_special_tokens=False)
        for one in encoded:
            one.truncate(self.window)
        return [self.tokenizer.post_process(one) for one in encoded]

    @cached_property
    def _for_one(self) -> CompiledModel:
        return self.compiled(1, words=True)

    @cached_property
    def _for_many(self) -> CompiledModel:
        return self.compiled(cores())

    @cached_property
    def _for_many_words(self) -> CompiledModel:
        return self.compiled(cores(), words=True)

    def compiled(self, threads: int, words: bool = False) -> CompiledModel:
        """The model made ready for so many threads; with `words` its second output is that of word pieces."""
        from openvino import Core

        rounding: Rounding | None = Rounded(stored_ranges()) if self.precision == "int8" else None
        graph = built(weights_of(self.folder / "model.safetensors"), self.shape, rounding, words)
        halved = self.precision != "fp32" and cpu_has("bf16")
        settings = {
            "INFERENCE_NUM_THREADS": threads,
            "NUM_STREAMS": 1,
            "INFERENCE_PRECISION_HINT": "bf16" if halved else "f32",
        }
        return Core().compile_model(graph, "CPU", settings)

    @property
    def shape(self) -> Shape:
        """The layers and heads that the model's configuration names."""
        found = json.loads((self.folder / "config.json").read_text(encoding="utf-8"))
        return Shape(found["num_hidden_layers"], found["num_attention_heads"], found["layer_norm_eps"])

    def offsets(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        encoded = self.tokenizer.encode_batch(list(texts), add_special_tokens=False)
        return [one.offsets for one in encoded]

    def vectors(self, texts: Sequence[str], role: Role, batch_size: int) -> NDArray[np.float32]:
        """One unit vector per text. Texts of similar length are in one batch, so little of it is padding."""
        encoded = self.cut(texts)
        compiled = self._for_one if len(texts) == 1 else self._for_many
        found: NDArray[np.float32] | None = None
        for places in batches([len(one.ids) for one in encoded], batch_size):
            rows: Any = compiled(list(padded([encoded[place] for place in places])))[0]
            if found is None:
                found = np.empty((len(texts), rows.shape[1]), np.float32)
            found[places] = rows
        assert found is not None, "there is at least one text"
        return found

    def piece_vectors(self, texts: Sequence[str], role: Role, batch_size: int) -> list[PieceVectors]:
        """The vectors of each text and of its word pieces."""
        encoded = self.cut(texts)
        compiled = self._for_one if len(texts) == 1 else self._for_many_words
        found: dict[int, PieceVectors] = {}
        for places in batches([len(one.ids) for one in encoded], batch_size):
            made: Any = compiled(list(padded([encoded[place] for place in places])))
            for row, place in enumerate(places):
                pieces = np.array(encoded[place].ids, np.int64)
                found[place] = PieceVectors(made[0][row], pieces, made[1][row, : pieces.size])
        return [found[place] for place in range(len(texts))]

    def piece(self, number: int) -> str:
        """How the vocabulary writes a word piece; empty for the model's own markers."""
        return "" if number in self._markers else str(self.tokenizer.id_to_token(number))

    @cached_property
    def _markers(self) -> frozenset[int]:
        added = self.tokenizer.get_added_tokens_decoder()
        return frozenset(number for number, token in added.items() if token.special)


def padded(encoded: Sequence[Encoding]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The numbers of the word pieces and a mask of where they are: shapes (texts, word pieces)."""
    length = -(-max(len(one.ids) for one in encoded) // STEP) * STEP
    ids, mask = np.zeros((2, len(encoded), length), np.int64)
    for row, one in enumerate(encoded):
        ids[row, : len(one.ids)] = one.ids
        mask[row, : len(one.ids)] = 1
    return ids, mask
