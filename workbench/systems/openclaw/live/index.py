"""An OpenClaw memory as an index: its own keyword search, with its own vectors or ours.

A question is embedded with the model that the store names. If that model is not available, the workbench
never switches to another one silently: you can have the chunks re-embedded with a local model.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.errors import InputError, WorkbenchError
from workbench.memory.chunking import whole_characters
from workbench.memory.embedding.local import PACKAGED_MODEL, Embedder, LocalEmbedder
from workbench.memory.embedding.providers.catalogue import PROVIDERS, remote_embedder
from workbench.memory.index import OpenIndex, default_index_path
from workbench.memory.store.opening import How, Opener
from workbench.memory.store.scan import Scan
from workbench.memory.store.sqlite.match import match_expression
from workbench.records import Chunk, Document, Hits, Query, Rows, Vector
from workbench.systems.openclaw.annotations import Annotations
from workbench.systems.openclaw.live.store import LiveStore, MadeWith
from workbench.systems.openclaw.live.vectors import OwnVectors, StoredVectors, Vectors

ATTEMPTS = 20
"""The number of attempts to read one state, before the store counts as changing too fast."""


class LiveIndex(OpenIndex):
    """An OpenClaw memory that can be searched while OpenClaw runs; use an index in one thread at a time.

    Within a `snapshot`, everything comes from one state: the latest one at the first read. Embed the question
    before that, so that no writer has to wait.
    """

    def __init__(self, store: LiveStore, embedder: Embedder, own: OwnVectors | None = None) -> None:
        self.store = store
        self.embedder = embedder
        self._own = own
        self._vectors: Vectors = own or StoredVectors()
        self._made_with = store.made_with
        self._questions: dict[str, Vector] = {}
        self._within = False
        self._seen = 0
        self._unusable: list[int] = []
        self._scan = Scan(np.empty(0, np.int64), [], np.empty((0, 0), np.float32))

    def close(self) -> None:
        self.store.close()
        self._vectors.close()

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """One state of the store for everything that is read within it.

        Raises InputError at its end if the store changed nevertheless; do not use what was read then.
        """
        if self._within:
            yield
            return
        self._within = True
        try:
            yield
        finally:
            self._within = False
            self.store.release()
        self.store.check_unchanged()

    @contextmanager
    def _reading(self) -> Iterator[LiveStore]:
        with self.snapshot():
            self._hold()
            yield self.store

    def _hold(self) -> None:
        """Holds a state of the store, with a known vector for each of its chunks."""
        for _ in range(ATTEMPTS):
            self.store.hold()
            missing = self._refreshed() if self.store.generation != self._seen else {}
            if not missing:
                return
            self.store.release()  # embedding takes long: hold no state meanwhile
            self._vectors.add(missing)
        raise InputError(
            f"The store {self.store.path} changes faster than it can be read.", "Search again later."
        )

    def _refreshed(self) -> Mapping[Any, Any]:
        """The values, by key, whose vectors are not known yet; if there are none, the scan is up to date."""
        self._check_model()
        values = self._vectors.values(self.store)
        keys = [self._vectors.key(value) for _, _, value in values]
        known = self._vectors.known(keys)
        missing = {key: value for key, (_, _, value) in zip(keys, values, strict=True) if key not in known}
        if not missing:
            self._scan_all([(row, id_, known[key]) for key, (row, id_, _) in zip(keys, values, strict=True)])
            self._seen = self.store.generation
        return missing

    def _check_model(self) -> None:
        if self._own is None and self.store.made_with != self._made_with:
            raise InputError(
                f"The vectors of the store {self.store.path} now come from {self.store.made_with}, no longer "
                f"from {self._made_with}.",
                "Open it again.",
            )

    def _scan_all(self, found: Sequence[tuple[int, str, Vector | None]]) -> None:
        """Scans vectors of the most common length; leaves out chunks with another length or no vector."""
        sizes = Counter(vector.size for _, _, vector in found if vector is not None)
        usual = next((size for size, _ in sizes.most_common(1)), 0)
        usable = [
            (row, id_, vector) for row, id_, vector in found if vector is not None and vector.size == usual
        ]
        vectors = np.array([vector for _, _, vector in usable], np.float32).reshape(len(usable), usual)
        rows = np.array([row for row, _, _ in usable], np.int64)
        self._scan = Scan(rows, [id_ for _, id_, _ in usable], vectors)
        self._unusable = sorted({row for row, _, _ in found} - set(rows.tolist()))

    @property
    def remarks(self) -> list[str]:
        """Remarks on every answer: which vectors it uses, and what is left out. One sentence each."""
        with self._reading() as store:
            return list(self._remarks(store))

    def _remarks(self, store: LiveStore) -> Iterator[str]:
        if self._own:
            whose = (
                f"its vectors come from {store.made_with}"
                if store.made_with.has_vectors
                else "it has no vectors"
            )
            yield f"{store.path}: {whose}; re-embedded with {self.embedder.name}, in {self._own.path}."
        if not store.full_text:
            yield f"{store.path} has no full-text index that SQLite can search: the keyword leg is empty."
        if self._unusable:
            first = store.chunks(np.array(self._unusable[:1], np.int64))[0]
            yield (
                f"{store.path}: {len(self._unusable)} of {store.size} chunks have no usable vector, "
                f"{first.place} is the first; the vector leg does not find them."
            )
        if store.of_other_models:
            yield f"{store.path}: chunks of other models are left out: {store.of_other_models}."

    # the methods that a search calls

    @property
    def size(self) -> int:
        with self._reading() as store:
            return store.size

    @property
    def name(self) -> str:
        return str(self.store.path)

    def compiled(self, query: Query) -> str:
        return match_expression(query)

    def keyword(self, query: Query, limit: int) -> Hits:
        with self._reading() as store:
            return store.keyword(query, limit)

    def vector(self, query: Vector, limit: int) -> Hits:
        with self._reading() as store:
            if not self._scan.size:
                return Hits(np.empty(0, np.int64), np.empty(0))
            if query.size != self._scan.dimensions:
                raise InputError(
                    f"The question's vector has {query.size} dimensions, but those of {store.path} have "
                    f"{self._scan.dimensions}.",
                    f"{self.embedder.name} did not make them. Embed the chunks again: --re-embed",
                )
            return self._scan.nearest(query, limit)

    def vectors(self) -> tuple[Rows, NDArray[np.float32]]:
        with self._reading():
            return self._scan.rows, self._scan.vectors

    def embed(self, question: str) -> Vector:
        """The question's unit vector; each question is embedded once."""
        text = whole_characters(question)
        if self._own:
            return self._own.question(text)
        if text not in self._questions:
            self._questions[text] = self.embedder.embed([text], "query").vectors[0]
        return self._questions[text]

    @property
    def generation(self) -> int:
        """A number that changes with every change of the store."""
        with self._reading() as store:
            return store.generation

    def documents(self) -> Sequence[Document]:
        """All files by path, with texts joined from their chunks."""
        with self._reading() as store:
            return store.documents()

    def paths(self) -> list[str]:
        with self._reading() as store:
            return sorted(store.stamps())

    @property
    def model(self) -> str:
        return self.embedder.name

    def annotations(self) -> Mapping[str, Annotations]:
        """The annotations that OpenClaw stores, by chunk id."""
        with self._reading() as store:
            return store.annotations()

    def time_limit(self, seconds: float) -> AbstractContextManager[None]:
        return self.store.time_limit(seconds)

    def chunks(self, rows: Rows) -> Sequence[Chunk]:
        with self._reading() as store:
            return store.chunks(rows)

    def rows_of(self, path: str) -> Rows:
        with self._reading() as store:
            return store.rows_of(path)


def open_live_store(
    file: str | os.PathLike[str],
    embedder: Embedder | None = None,
    *,
    re_embed: bool = False,
    index_path: Path | None = None,
) -> LiveIndex:
    """Opens the OpenClaw memory in a SQLite file for searching; nothing is written to it or beside it.

    Questions are embedded with `embedder`, or else with the model that the store names. With `re_embed`, the
    chunks are embedded with `embedder`, or else with the packaged model; the vectors are stored at
    `index_path`, by default in the cache folder. Raises InputError for a file that is not such a memory, and,
    without `re_embed`, if the store's model is not available or `embedder` is another one.
    """
    path = Path(file).expanduser()
    store = LiveStore(path)
    try:
        if not re_embed:
            return LiveIndex(store, _embedder_of(store, embedder))
        chosen, ours = embedder or LocalEmbedder(), index_path or default_index_path(path)
        if ours.resolve() == path.resolve():
            raise InputError(
                f"{path} belongs to OpenClaw, and the workbench does not write to it.",
                "Give --index another file.",
            )
        return LiveIndex(store, chosen, OwnVectors.open(ours, chosen))
    except WorkbenchError:
        store.close()
        raise


def _embedder_of(store: LiveStore, given: Embedder | None) -> Embedder:
    made_with = store.made_with
    if given is not None and given.name in (made_with.model, str(made_with)):
        return given
    why = _why_not(made_with, given)
    if why:
        raise InputError(
            f"The vectors of {store.path} come from {made_with}: {why}."
            if made_with.has_vectors
            else f"The store {store.path} has no vectors: it was indexed for keywords only.",
            f"Embed its chunks with {PACKAGED_MODEL}, into a separate index: --re-embed "
            "(re_embed=True in Python)",
        )
    if made_with.provider not in PROVIDERS:
        return LocalEmbedder()
    remote = remote_embedder(PROVIDERS[made_with.provider], made_with.model)
    if made_with.dimensions:
        remote.dimensions = made_with.dimensions
    return remote


def _why_not(made_with: MadeWith, given: Embedder | None) -> str:
    """Why questions cannot be embedded with the store's model; empty if they can."""
    if given is not None:
        return f"{given.name} makes other vectors"
    provider = PROVIDERS.get(made_with.provider)
    if provider is None:
        return "" if made_with.model == PACKAGED_MODEL else "that model is not on this machine"
    if provider.needs_key and not provider.key:
        return f"{' or '.join(provider.key_variables)} is not set, so it is not available"
    return ""


def _open(address: str, how: How) -> OpenIndex:
    return open_live_store(address, how.embedder, re_embed=how.re_embed, index_path=how.index_path)


OPENCLAW_FILE = Opener(
    "openclaw", "OpenClaw's SQLite file", lambda address: os.path.isfile(os.path.expanduser(address)), _open
)
