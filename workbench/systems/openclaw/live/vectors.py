"""The vectors of an OpenClaw memory's chunks: its own, or ours, stored in a separate index file.

Ours are stored by the hash of the text, so after a change of the store only new texts are embedded.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from pydantic_core import from_json

from workbench.memory.embedding.cache import embed_through_cache
from workbench.memory.embedding.local import Embedder, unit
from workbench.memory.files import content_hash
from workbench.memory.store.sqlite.lock import alone
from workbench.memory.store.sqlite.place import make_folder
from workbench.memory.store.sqlite.store import Store
from workbench.memory.store.values import Settings
from workbench.progress import progress_bar
from workbench.records import Vector
from workbench.systems.openclaw.live.store import LiveStore


class Vectors(Protocol):
    """A source of vectors: each chunk has a value, and the value's key identifies its vector."""

    def values(self, store: LiveStore) -> Sequence[tuple[int, str, Any]]:
        """The row, the id and the value of every chunk."""

    def key(self, value: Any) -> Hashable: ...

    def known(self, keys: Sequence[Any]) -> Mapping[Any, Vector | None]:
        """The vectors that are already known, by key; None for a value without a vector."""

    def add(self, values: Mapping[Any, Any]) -> None:
        """Computes the vectors of these values, which are given by key; this may take long."""

    def close(self) -> None: ...


class StoredVectors:
    """The vectors that OpenClaw has stored."""

    def __init__(self) -> None:
        self._decoded: dict[int, Vector | None] = {}

    def values(self, store: LiveStore) -> Sequence[tuple[int, str, Any]]:
        return store.embeddings()

    def key(self, value: Any) -> int:
        return hash(value)

    def known(self, keys: Sequence[int]) -> Mapping[int, Vector | None]:
        """The vectors of these values; all others are removed from memory."""
        self._decoded = {key: self._decoded[key] for key in keys if key in self._decoded}
        return self._decoded

    def add(self, values: Mapping[int, Any]) -> None:
        self._decoded |= {key: stored_vector(value) for key, value in values.items()}

    def close(self) -> None:
        """Does nothing: there is nothing to close."""


class OwnVectors:
    """Vectors of the chunks' texts from another model, stored in a separate index file."""

    def __init__(self, kept: Store, embedder: Embedder) -> None:
        self.path = kept.path
        self._kept = kept
        self._embedder = embedder
        self._settings = Settings(embedder.name, embedder.revision, embedder.dimensions, "")

    @classmethod
    def open(cls, path: Path, embedder: Embedder) -> OwnVectors:
        """Opens the vectors in the index file at `path`; creates the file if it does not exist."""
        settings = Settings(embedder.name, embedder.revision, embedder.dimensions, "OpenClaw's chunks")
        make_folder(path.parent)
        with alone(path):
            return cls(Store.open(path) if path.exists() else Store.create(path, settings), embedder)

    def values(self, store: LiveStore) -> Sequence[tuple[int, str, str]]:
        return store.texts()

    def key(self, value: str) -> str:
        return content_hash(value)

    def known(self, keys: Sequence[str]) -> Mapping[str, Vector | None]:
        return {key: one.vector for key, one in self._kept.cached(self._settings, "passage", keys).items()}

    def add(self, values: Mapping[str, str]) -> None:
        with progress_bar(total=len(values), desc="embedding", unit="chunk") as bar:
            embed_through_cache(self._kept, self._settings, self._embedder, "passage", values, bar.update)

    def question(self, text: str) -> Vector:
        """The vector of a question; from the cache if it was embedded before."""
        key = content_hash(text)
        found = embed_through_cache(self._kept, self._settings, self._embedder, "query", {key: text})
        return found[key].vector

    def close(self) -> None:
        self._kept.close()


def stored_vector(value: Any) -> Vector | None:
    """Reads a vector as OpenClaw stores it (JSON, or little-endian float64), and scales it to length 1.

    None for any other format, for an empty vector, and for a number that float32 cannot hold.

    >>> stored_vector("[3, 4]"), stored_vector("[]"), stored_vector("[NaN]")
    (array([0.6, 0.8], dtype=float32), None, None)
    """
    try:
        blob = isinstance(value, bytes)
        numbers = np.frombuffer(value, "<f8") if blob else np.array(from_json(value), float)
    except (ValueError, TypeError, OverflowError):
        return None
    if numbers.ndim != 1 or not numbers.size or not (np.abs(numbers) < np.finfo(np.float32).max).all():
        return None
    scaled: Vector = unit(numbers[None])[0]
    return scaled
