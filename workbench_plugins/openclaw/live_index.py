"""An OpenClaw memory as an index: its own keyword search, with its own vectors or ours.

A question is embedded with the model that the store names. If that model is not available, the workbench
never switches to another one silently: you can have the chunks re-embedded with a local model.

The vectors of an OpenClaw memory's chunks: its own, or ours, stored in a separate index file.

Ours are stored by the hash of the text, so after a change of the store only new texts are embedded.

The text of a file is joined from the chunks that OpenClaw cut it into.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic_core import from_json

from workbench.errors import InputError, WorkbenchError
from workbench.memory.embedding.cache import embed_through_cache
from workbench.memory.embedding.local import PACKAGED_MODEL, Embedder, LocalEmbedder, unit
from workbench.memory.files import content_hash
from workbench.memory.index import OpenIndex, default_index_path
from workbench.memory.opening import Opener
from workbench.memory.sources import whole_characters
from workbench.memory.store.contract import Settings, Stamp
from workbench.memory.store.scan import Scan
from workbench.memory.store.sqlite.fts5 import match_expression
from workbench.memory.store.sqlite.place import alone, make_folder
from workbench.memory.store.sqlite.store import Store
from workbench.progress import progress_bar
from workbench.records import Chunk, Document, Hits, Query, Rows, Vector
from workbench.registry import register
from workbench.safe_text import counted
from workbench_plugins.openclaw.annotations import Annotations
from workbench_plugins.openclaw.live_store import ColumnTypes, LiveStore, MadeWith

if TYPE_CHECKING:
    from workbench_plugins.providers.embedder import Provider


FILE_TYPES = (str, str, int, (int, float), str)
LATEST_MS = 1e15

RECALL = "memory_index_chunk_recall_metadata"
"""The table of annotations, which only the agent's database has."""
RECALL_TYPES = (str, (float, int, type(None)), (str, type(None)), (str, type(None)))

KEYWORD_SQL = """
    WITH found AS MATERIALIZED (
        SELECT id, bm25({full_text}) AS raw FROM {full_text} WHERE {full_text} MATCH :asked AND model = :model
    )
    SELECT chunks.rowid, min(raw) AS best FROM found JOIN {chunks} AS chunks ON chunks.id = found.id
    GROUP BY chunks.rowid ORDER BY best, chunks.id LIMIT :limit
"""
# The segments of one very long line can share an id: they are one chunk, but several full-text rows.

RECALL_SQL = f"""
    SELECT chunk_id, importance, triggers, project_key FROM {RECALL}
    WHERE coalesce(importance, triggers, project_key) IS NOT NULL
"""

CHUNKS_SQL = """
    SELECT rowid, id, path, source, start_line, end_line, text FROM {chunks}
    WHERE rowid IN (SELECT value FROM json_each(:rows))
"""


def whole_text(pieces: Iterable[tuple[int, int, str]]) -> str:
    """Joins pieces (first line, last line, text), which are in order; lines that pieces share appear once.

    A piece with more or fewer lines than it states, such as a part of one very long line, is taken whole.

    >>> whole_text([(1, 2, "a\\nb"), (2, 3, "b\\nc")])
    'a\\nb\\nc'
    """
    lines: dict[int, str] = {}
    for first, last, text in pieces:
        split = text.split("\n")
        if len(split) == last - first + 1:
            for number, line in enumerate(split, first):
                lines.setdefault(number, line)
        else:
            lines[first] = f"{lines[first]}\n{text}" if first in lines else text
    return "\n".join(lines[number] for number in sorted(lines))


class StoredVectors:
    """The vectors that OpenClaw has stored; each chunk has a value, whose key identifies its vector.

    `column` is the chunks' column with the values, of the type `kind`.
    """

    column: ClassVar[str] = "embedding"
    kind: ClassVar[type] = object

    def __init__(self) -> None:
        self._decoded: dict[int, Vector | None] = {}

    def key(self, value: Any) -> Hashable:
        return hash(value)

    def known(self, keys: Sequence[Any]) -> Mapping[Any, Vector | None]:
        """The vectors that are known, by key; None for a value without a vector. All others are forgotten."""
        self._decoded = {key: self._decoded[key] for key in keys if key in self._decoded}
        return self._decoded

    def add(self, values: Mapping[Any, Any]) -> None:
        """Computes the vectors of these values, which are given by key; this may take long."""
        self._decoded |= {key: stored_vector(value) for key, value in values.items()}

    def close(self) -> None:
        """Does nothing: there is nothing to close."""


class OwnVectors(StoredVectors):
    """Vectors of the chunks' texts from another model, stored in a separate index file."""

    column: ClassVar[str] = "text"
    kind: ClassVar[type] = str

    def __init__(self, kept: Store, embedder: Embedder) -> None:
        super().__init__()
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
        self._vectors = own or StoredVectors()
        self._made_with = store.made_with
        self._questions: dict[str, Vector] = {}
        self._within = False
        self._seen = 0
        self._unusable: list[int] = []
        self._scan = Scan(np.empty(0, np.int64), [], np.empty((0, 0), np.float32))

    def checked(self) -> str:
        problems = self.store.problems()
        if problems:
            raise InputError(
                f"The store {self.name} is damaged: {'; '.join(problems)}.",
                "Let OpenClaw rebuild it: openclaw memory index --force",
            )
        files, chunks = counted(len(self.stamps()), "file"), counted(self.size, "chunk")
        return f"{self.name}: an OpenClaw store, {files}, {chunks}, {self.store.made_with}."

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

    def _rows(self, sql: str, types: ColumnTypes = (), **values: Any) -> list[Any]:
        with self._reading() as store:
            return store.rows(sql, types, **values)

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
        vectors = self._vectors
        values = self.store.rows(
            f"SELECT rowid, id, {vectors.column} FROM {{chunks}} WHERE model = :model",
            (int, str, vectors.kind),
        )
        keys = [vectors.key(value) for _, _, value in values]
        known = vectors.known(keys)
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
            first = self.chunks(np.array(self._unusable[:1], np.int64))[0]
            yield (
                f"{store.path}: {len(self._unusable)} of {self.size} chunks have no usable vector, "
                f"{first.place} is the first; the vector leg does not find them."
            )
        ((others,),) = store.rows("SELECT count(*) FROM {chunks} WHERE model <> :model")
        if others:
            yield f"{store.path}: chunks of other models are left out: {others}."

    # the methods that a search calls; all chunks here belong to the model that the store names

    @property
    def size(self) -> int:
        ((count,),) = self._rows("SELECT count(*) FROM {chunks} WHERE model = :model")
        return int(count)

    @property
    def name(self) -> str:
        return str(self.store.path)

    def compiled(self, query: Query) -> str:
        return match_expression(query)

    def keyword(self, query: Query, limit: int) -> Hits:
        """The chunks that match a query, by (bm25, chunk id); none without a full-text index."""
        with self._reading() as store:
            asked = match_expression(query)
            found = store.rows(KEYWORD_SQL, asked=asked, limit=limit) if store.full_text else []
        return Hits(np.array([row for row, _ in found], np.int64), np.array([raw for _, raw in found], float))

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

    def stamps(self) -> dict[str, Stamp]:
        """Every file's stamp by path, as OpenClaw recorded it."""
        rows = self._rows("SELECT path, hash, size, mtime, source FROM {files} ORDER BY path", FILE_TYPES)
        found = {}
        for path, hash_, size, mtime, source in rows:
            if not abs(mtime) < LATEST_MS:
                raise self.store.damaged(f"the time of {path} is {mtime}")
            found[path] = Stamp(hash_, size, int(mtime * 1e6), source)
        return found

    def documents(self) -> Sequence[Document]:
        """All files by path, with texts joined from their chunks."""
        pieces: dict[str, list[tuple[int, int, str]]] = {}
        with self._reading() as store:
            rows = store.rows(
                "SELECT path, start_line, end_line, text FROM {chunks} WHERE model = :model "
                "ORDER BY path, start_line, end_line, rowid",
                (str, int, int, str),
            )
            stamps = self.stamps()
        for path, *piece in rows:
            pieces.setdefault(path, []).append(tuple(piece))
        return [
            Document(path, one.source, whole_text(pieces.get(path, [])), one.hash, one.size, one.mtime_ns)
            for path, one in stamps.items()
        ]

    def paths(self) -> list[str]:
        return sorted(self.stamps())

    @property
    def model(self) -> str:
        return self.embedder.name

    def annotations(self) -> Mapping[str, Annotations]:
        """The annotations that OpenClaw stores, by chunk id; older releases store none."""
        with self._reading() as store:
            rows = store.rows(RECALL_SQL, RECALL_TYPES) if RECALL in store.tables() else []
        return {id_: Annotations(*said) for id_, *said in rows}

    def time_limit(self, seconds: float) -> AbstractContextManager[None]:
        return self.store.time_limit(seconds)

    def chunks(self, rows: Rows) -> Sequence[Chunk]:
        stored = self._rows(CHUNKS_SQL, (int, str, str, str, int, int, str), rows=json.dumps(rows.tolist()))
        found = {row: Chunk(*fields) for row, *fields in stored}
        return [found[row] for row in rows.tolist()]

    def rows_of(self, path: str) -> Rows:
        """The rows of a file's chunks, in the file's order."""
        found = self._rows(
            "SELECT rowid FROM {chunks} WHERE path = :path AND model = :model "
            "ORDER BY start_line, end_line, rowid",
            path=path,
        )
        return np.array([row for (row,) in found], np.int64)


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
    from workbench_plugins.openclaw.config_file import providers

    provider = providers().get(made_with.provider)
    why = _why_not(made_with, given, provider)
    if why:
        raise InputError(
            f"The vectors of {store.path} come from {made_with}: {why}."
            if made_with.has_vectors
            else f"The store {store.path} has no vectors: it was indexed for keywords only.",
            f"Embed its chunks with {PACKAGED_MODEL}, into a separate index: --re-embed "
            "(re_embed=True in Python)",
        )
    if provider is None:
        return LocalEmbedder()
    from workbench_plugins.providers.catalogue import remote_embedder

    remote = remote_embedder(provider, made_with.model)
    if made_with.dimensions:
        remote.dimensions = made_with.dimensions
    return remote


def _why_not(made_with: MadeWith, given: Embedder | None, provider: Provider | None) -> str:
    """Why questions cannot be embedded with the store's model; empty if they can."""
    if given is not None:
        return f"{given.name} makes other vectors"
    if provider is None:
        return "" if made_with.model == PACKAGED_MODEL else "that model is not on this machine"
    if provider.needs_key and not provider.key:
        return f"{' or '.join(provider.key_variables)} is not set, so it is not available"
    return ""


def _open(address: str, embedder: Embedder | None, index_path: Path | None, re_embed: bool) -> OpenIndex:
    return open_live_store(address, embedder, re_embed=re_embed, index_path=index_path)


OPENCLAW_FILE = Opener(
    "openclaw",
    "OpenClaw's SQLite file",
    lambda address: os.path.isfile(os.path.expanduser(address)),
    _open,
    system="openclaw-2026.2.13",
)
register(OPENCLAW_FILE)
