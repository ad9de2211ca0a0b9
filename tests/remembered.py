"""What the packaged model makes of a text, computed once in a run of the tests.

Each text is read alone, so its vectors are the same bit by bit, whichever process and test asked first.
"""

from __future__ import annotations

import hashlib
import os
import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.memory.embedding.engines import ModelEngine, PieceVectors, Role
from workbench.memory.embedding.local import PACKAGED_MODEL, LocalEmbedder

FOLDER = "WORKBENCH_TESTS_REMEMBERED"
"""The environment variable with the folder of the answers, which all processes of a run share."""


@dataclass
class Remembering:
    """An engine that keeps its answers in files, each whole from its first moment on."""

    engine: ModelEngine
    name: str

    def vectors(self, texts: Sequence[str], role: Role, batch_size: int) -> NDArray[np.float32]:
        return np.concatenate([self._once("vectors", text, role, batch_size) for text in texts])

    def piece_vectors(self, texts: Sequence[str], role: Role, batch_size: int) -> list[PieceVectors]:
        return [one for text in texts for one in self._once("piece_vectors", text, role, batch_size)]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.engine, name)

    def _once(self, method: str, text: str, role: Role, batch_size: int) -> Any:
        key = hashlib.sha256(repr((self.name, method, role, text)).encode())
        file = Path(os.environ[FOLDER]) / key.hexdigest()
        if file.exists():
            return pickle.loads(file.read_bytes())
        answer = getattr(self.engine, method)([text], role, batch_size)
        with NamedTemporaryFile(dir=file.parent, delete=False) as written:
            pickle.dump(answer, written, pickle.HIGHEST_PROTOCOL)
        os.replace(written.name, file)
        return answer


def remember() -> None:
    """Lets the packaged model of this process remember."""
    load = LocalEmbedder.engine.func

    def engine(self: LocalEmbedder) -> Any:
        if self.name != PACKAGED_MODEL:
            return load(self)
        return Remembering(load(self), f"{self.backend} {self.variant.precision}")

    LocalEmbedder.engine = cached_property(engine)  # type: ignore[misc]
    LocalEmbedder.engine.__set_name__(LocalEmbedder, "engine")
