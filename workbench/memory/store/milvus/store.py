"""The Milvus store of an index: its BM25 function and its dense vectors, with snapshots by generation."""

from __future__ import annotations

import base64
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.errors import InputError
from workbench.memory.chunking import chunk_id
from workbench.memory.paths import FileRules
from workbench.memory.store.contract import IndexStore
from workbench.memory.store.errors import DamagedError
from workbench.memory.store.milvus import catalogue
from workbench.memory.store.milvus.address import MilvusAddress
from workbench.memory.store.milvus.catalogue import NO_VECTOR, State
from workbench.memory.store.milvus.filtering import TOKENS, matches, needs_filter
from workbench.memory.store.milvus.rows import (
    CHUNK_FIELDS,
    FOREVER,
    cache_id,
    cache_key,
    check_length,
    chunk_of,
    digest,
    document_of,
    pieces_of,
    without_sparse,
)
from workbench.memory.store.milvus.session import LARGEST_LIMIT, MilvusSession, number, real, text
from workbench.memory.store.values import Cached, Settings, Stamp
from workbench.records import Chunk, Clause, Document, Hits, Passage, Query, Rows, Vector

NUMBER = "milvus bm25"


class MilvusStore(MilvusSession, IndexStore):
    """An open index in Milvus, for one thread at a time."""

    engine = "milvus"

    def __init__(self, address: MilvusAddress, state: State | None = None) -> None:
        super().__init__(address)
        found = state or catalogue.read(self)
        if found is None:
            self.close()
            raise InputError(
                f"There is no index at {address.name}.",
                f"Make one: workbench index FOLDER --store '{address.name}'",
            )
        self._state = found
        self._pinned: State | None = None
        self._depth = 0
        self._deadline = float("inf")
        self._removed: set[str] = set()

    # The state

    @property
    def state(self) -> State:
        """The state that is read: the latest, or that of the open block."""
        if self._pinned is not None:
            return self._pinned
        latest = catalogue.read(self)
        if latest is not None and latest.build == self._state.build:
            self._state = latest
        return self._state

    def collection(self, kind: str) -> str:
        """The name of one of the index's collections: chunks, documents or cache."""
        build = "" if kind == "cache" else f"_{self._state.build}"
        return f"{self.address.prefix}{build}_{kind}"

    def create(self) -> None:
        """Creates the collections of an empty build, and the cache if there is none."""
        life = ("added", "removed")
        chunks = {"path": text(64), "key": text(64), "place": number(), "first": number(), "last": number()}
        chunks |= {"hash": text(64), "read_share": real(), "file": text(8_192), "source": text(200)}
        chunks |= {"text": text(enable_analyzer=True)} | {name: number() for name in life}
        self.make(self.collection("chunks"), chunks, self._state.settings.dimensions, bm25=True)
        documents = {"path": text(64), "file": text(8_192), "source": text(200), "hash": text(64)}
        documents |= {"size": number(), "mtime_ns": number(), "piece": number(), "text": text()}
        documents |= {name: number() for name in life}
        self.make(self.collection("documents"), documents, len(NO_VECTOR))
        if not self.has(self.collection("cache")):
            cache = {
                "key": text(64),
                "hash": text(64),
                "role": text(16),
                "vector": text(),
                "read_share": real(),
            }
            self.make(self.collection("cache"), cache, len(NO_VECTOR))

    @property
    def settings(self) -> Settings:
        return self.state.settings

    @property
    def generation(self) -> int:
        return self.state.generation

    @property
    def folder(self) -> str:
        return self.state.folder

    @property
    def file_rules(self) -> FileRules:
        return self.state.file_rules

    def describe(
        self, folder: str | None = None, file_rules: FileRules | None = None, ties_by_row: bool | None = None
    ) -> None:
        given = {"folder": folder, "file_rules": file_rules, "ties_by_row": ties_by_row}
        values = {name: value for name, value in given.items() if value is not None}
        with self.writing():
            assert self._pinned is not None
            self._pinned = self._pinned.changed(**values)

    # Connections and transactions

    @property
    def writable(self) -> bool:
        return True

    @property
    def replaced(self) -> bool:
        latest = catalogue.read(self)
        return latest is not None and latest.build != self._state.build

    @property
    def busy(self) -> bool:
        return self._pinned is not None

    def reopened(self) -> MilvusStore:
        return MilvusStore(self.address)

    @contextmanager
    def time_limit(self, seconds: float) -> Iterator[None]:
        """Refuses the next request after so many seconds; Milvus cannot stop one that runs."""
        self._deadline = time.monotonic() + seconds
        try:
            yield
        finally:
            self._deadline = float("inf")

    def _in_time(self) -> None:
        if time.monotonic() > self._deadline:
            raise InputError("The search was stopped: it took too long.", "Ask with fewer words.")

    @contextmanager
    def reading(self) -> Iterator[None]:
        if self.busy:
            yield
            return
        self._pinned = self.state
        try:
            yield
        finally:
            self._pinned = None

    @contextmanager
    def writing(self) -> Iterator[None]:
        if self._depth:
            yield
            return
        if self.busy:
            raise RuntimeError("Writes inside a block of `reading` would be lost.")
        before = self.state
        self._pinned, self._depth = before.changed(generation=before.generation + 1), 1
        try:
            yield
            catalogue.write(self, self._pinned)
            self._state = self._pinned
        except BaseException:
            self.undo(before.generation)
            raise
        finally:
            self._pinned, self._depth = None, 0

    def undo(self, generation: int) -> None:
        """Takes back what writes after this generation have left: they have never been visible."""
        for kind in ("chunks", "documents"):
            name = self.collection(kind)
            self.remove(name, f"added > {generation}")
            taken = self.rows(name, f"removed > {generation} and removed < {FOREVER}", ["*"])
            self.put(name, [without_sparse(row) | {"removed": FOREVER} for row in taken])

    def purge(self) -> None:
        """Deletes the rows that earlier changes have removed; a reader of an older state loses them."""
        for kind in ("chunks", "documents"):
            self.remove(self.collection(kind), f"removed <= {self.generation}")

    # Reading

    def _seen(self, *conditions: str) -> str:
        """The condition for the rows of the state that is read."""
        now = self.state.generation
        return " and ".join([f"added <= {now}", f"removed > {now}", *conditions])

    @property
    def size(self) -> int:
        return self.count(self.collection("chunks"), self._seen())

    def stamps(self) -> dict[str, Stamp]:
        fields = ["file", "hash", "size", "mtime_ns", "source"]
        rows = self.rows(self.collection("documents"), self._seen("piece == 0"), fields)
        return {row["file"]: Stamp(row["hash"], row["size"], row["mtime_ns"], row["source"]) for row in rows}

    def documents(self) -> list[Document]:
        pieces: dict[str, list[dict[str, Any]]] = {}
        for row in self.rows(self.collection("documents"), self._seen(), ["*"]):
            pieces.setdefault(row["file"], []).append(row)
        return [document_of(some) for _, some in sorted(pieces.items())]

    def chunks(self, rows: Rows) -> list[Chunk]:
        by_row = {row["id"]: row for row in self._at(rows, CHUNK_FIELDS)}
        if len(by_row) < len(set(rows.tolist())):
            raise DamagedError(f"The index {self.name} is damaged: a chunk is missing.", "Use --rebuild.")
        return [chunk_of(by_row[row]) for row in rows.tolist()]

    def _at(self, rows: Rows, fields: Sequence[str]) -> list[dict[str, Any]]:
        wanted = sorted(set(rows.tolist()))
        found: list[dict[str, Any]] = []
        for start in range(0, len(wanted), 1_000):
            found += self.rows(self.collection("chunks"), f"id in {wanted[start : start + 1_000]}", fields)
        return found

    def rows_of(self, path: str) -> Rows:
        where = self._seen(f'path == "{digest(path)}"')
        return np.array(
            sorted(row["id"] for row in self.rows(self.collection("chunks"), where, ["id"])), np.int64
        )

    def keys(self) -> list[str]:
        found = sorted((row["id"], row["key"]) for row in self._all(["id", "key"]))
        return [f"{row:020d}" if self.state.ties_by_row else key for row, key in found]

    def _all(self, fields: Sequence[str]) -> list[dict[str, Any]]:
        return self.rows(self.collection("chunks"), self._seen(), fields)

    def matrix(self) -> tuple[Rows, NDArray[np.float32]]:
        found = sorted(self._all(["id", "dense"]), key=lambda row: int(row["id"]))
        vectors = np.array([row["dense"] for row in found], np.float32)
        rows = np.array([row["id"] for row in found], np.int64)
        return rows, vectors.reshape(-1, self.settings.dimensions)

    # Searching

    def compiled(self, query: Query) -> str:
        """The words that Milvus's BM25 is asked for, and the filter that is applied to its hits here."""
        if query.expression is not None:
            return query.expression
        texts = [f"{one.text}*" if one.prefix else one.text for one in query.clauses]
        return f"bm25: {' '.join(texts)}, keeping hits with {f' {query.operator} '.join(texts)}"

    def keyword(self, query: Query, limit: int) -> Hits:
        """The chunks that match a query, by Milvus's BM25 over its words.

        Milvus joins words with OR; AND, phrases and prefixes are kept by a filter over the hits. Simplified:
        at most 16,384 hits are filtered.
        """
        if query.expression is not None:
            words, whole = TOKENS.findall(query.expression), query.expression
            query = Query(tuple(map(Clause, words)), "OR") if words else Query((Clause(whole),))
        self._in_time()
        asked = " ".join(self._expanded(clause) for clause in query.clauses)
        plain = query.operator == "OR" and not any(needs_filter(one) for one in query.clauses)
        found = self._matching(asked, limit if plain else LARGEST_LIMIT, None if plain else query)
        hits = found[:limit]
        # Milvus Lite 3.2 gives BM25 with a negative sign, a server with a positive one.
        larger = not any(raw < 0 for _, raw in hits)
        rows = np.array([row for row, _ in hits], np.int64)
        return Hits(rows, np.array([raw for _, raw in hits], float), larger, NUMBER)

    def _matching(self, asked: str, limit: int, query: Query | None) -> list[tuple[int, float]]:
        """The hits, best first and ties by chunk id. The best `limit` are complete, with all ties."""
        depth = limit + 1
        while True:
            found = self.nearest(self.collection("chunks"), "sparse", asked, "BM25", self._seen(), depth)
            complete = len(found) < depth or depth >= LARGEST_LIMIT
            if complete or abs(found[limit - 1][1] - found[-1][1]) > 0:
                break
            depth *= 2
        chunks = {
            row["id"]: row for row in self._at(np.array([row for row, _ in found]), ["id", "key", "text"])
        }
        kept = [one for one in found if query is None or matches(query, str(chunks[one[0]]["text"]))]
        by_row = self.state.ties_by_row
        return sorted(kept, key=lambda one: (-abs(one[1]), one[0] if by_row else chunks[one[0]]["key"]))

    def _expanded(self, clause: Clause) -> str:
        """The words of a clause; a prefix becomes the words of the index that begin with it."""
        if not clause.prefix:
            return clause.text
        words = [word.lower() for word in TOKENS.findall(clause.text)]
        if not words:
            return clause.text
        known = {word for row in self._all(["text"]) for word in TOKENS.findall(str(row["text"]).lower())}
        return " ".join([*words[:-1], *sorted(word for word in known if word.startswith(words[-1]))])

    def nearest_by_engine(self, query: Vector, limit: int) -> Hits | None:
        if self.address.vectors == "scan":
            return None
        self._in_time()
        asked = query.astype(np.float32).tolist()
        found = self.nearest(self.collection("chunks"), "dense", asked, "COSINE", self._seen(), limit)
        rows = np.array([row for row, _ in found], np.int64)
        far = np.array([1.0 - cosine for _, cosine in found], float)
        keys = rows if self.state.ties_by_row else np.array([one.id for one in self.chunks(rows)], np.str_)
        order = np.lexsort((keys, far))
        return Hits(rows[order], far[order])

    # Writing

    def replace(self, document: Document, passages: Sequence[Passage], cached: Sequence[Cached]) -> None:
        with self.writing():
            self._delete(document.path)
            assert self._pinned is not None
            now, row, model = self._pinned.generation, self._pinned.next_row, self._pinned.settings.model
            chunks: dict[str, dict[str, Any]] = {}
            for place, (one, (vector, read_share)) in enumerate(zip(passages, cached, strict=True)):
                lines = one.start_line, one.end_line
                key = chunk_id(document.source, document.path, *lines, one.hash, model)
                check_length(one.text, document.path)
                kept = {
                    "id": row + len(chunks),
                    "key": key,
                    "place": place,
                    "first": lines[0],
                    "last": lines[1],
                }
                kept |= {"path": digest(document.path), "file": document.path, "source": document.source}
                kept |= {"hash": one.hash, "text": one.text, "read_share": float(read_share)}
                kept |= {"dense": vector.astype(np.float32).tolist(), "added": now, "removed": FOREVER}
                chunks.setdefault(key, kept)
            self.put(self.collection("chunks"), list(chunks.values()))
            pieces = pieces_of(document, row + len(chunks), now)
            self.put(self.collection("documents"), pieces)
            self._pinned = self._pinned.changed(next_row=row + len(chunks) + len(pieces))

    def delete(self, path: str) -> None:
        with self.writing():
            self._delete(path)

    def _delete(self, path: str) -> None:
        assert self._pinned is not None
        where = self._seen(f'path == "{digest(path)}"')
        for kind in ("chunks", "documents"):
            gone = self.rows(self.collection(kind), where, ["*"])
            if kind == "chunks":
                self._removed.update(str(row["hash"]) for row in gone)
            now = self._pinned.generation
            self.put(self.collection(kind), [without_sparse(row) | {"removed": now} for row in gone])

    def restamp(self, looks: Mapping[str, tuple[int, int]]) -> None:
        with self.writing():
            name = self.collection("documents")
            for path, (size, mtime_ns) in looks.items():
                rows = self.rows(name, self._seen(f'path == "{digest(path)}"'), ["*"])
                self.put(name, [row | {"size": size, "mtime_ns": mtime_ns} for row in rows])

    # The embedding cache

    def cached(self, settings: Settings, role: str, hashes: Iterable[str]) -> dict[str, Cached]:
        by_key = {cache_key(settings, role, hash_): hash_ for hash_ in hashes}
        found: dict[str, Cached] = {}
        keys = sorted(by_key)
        for start in range(0, len(keys), 500):
            ids = [cache_id(key) for key in keys[start : start + 500]]
            for row in self.rows(self.collection("cache"), f"id in {ids}", ["key", "vector", "read_share"]):
                vector = np.frombuffer(base64.b64decode(row["vector"]), np.float32)
                if row["key"] in by_key and vector.size == settings.dimensions:
                    found[by_key[row["key"]]] = Cached(vector, float(row["read_share"]))
        return found

    def remember(self, settings: Settings, role: str, found: Mapping[str, Cached]) -> None:
        rows = []
        for hash_, one in found.items():
            key = cache_key(settings, role, hash_)
            vector = base64.b64encode(one.vector.astype(np.float32).tobytes()).decode()
            row = {"id": cache_id(key), "key": key, "hash": hash_, "role": role, "vector": vector}
            rows.append(row | {"read_share": float(one.read_share), "dense": NO_VECTOR})
        self.put(self.collection("cache"), rows)

    def forget_removed_texts(self) -> None:
        if self._removed:
            still = {row["hash"] for row in self._all(["hash"])}
            for hash_ in sorted(self._removed - still):
                if re.fullmatch(r"[0-9a-f]+", hash_):
                    self.remove(self.collection("cache"), f'role == "passage" and hash == "{hash_}"')
            self._removed.clear()
