"""An index in Milvus: its BM25 function and its dense vectors, with snapshots by generation.

Milvus has no transactions. Each row carries the generation that added it and the one that removed it. A
reader sees the rows of the generation that the catalogue names, so one write of the catalogue's one row makes
a change visible. A rebuild fills new collections, and one write to the catalogue replaces the old ones.

A file of Milvus Lite is served by this process while an index in it is open, and then other processes can.
"""

from __future__ import annotations

import base64
import hashlib
import json
import logging
import os
import re
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any, Literal, get_args
from urllib.parse import parse_qsl, unquote, urlsplit

import numpy as np
from filelock import FileLock, Timeout
from numpy.typing import NDArray

from workbench.errors import InputError, WorkbenchError
from workbench.memory.addresses import StoreKind
from workbench.memory.choices import index_home
from workbench.memory.data_files import load_data
from workbench.memory.store.contract import (
    Cached,
    DamagedError,
    IndexLocation,
    IndexStore,
    LockedError,
    Settings,
    Stamp,
    hits_of,
    in_order,
    keyed,
    unknown_row,
)
from workbench.records import Chunk, Clause, Document, Hits, Passage, Query, Rows, Vector
from workbench_plugins.stores.meaning import Row, has_words, meaning

Search = Literal["scan", "engine"]
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
FORM = "milvus://HOST:19530/NAME, or milvus:///FOLDER/FILE.db for a file of Milvus Lite"


@dataclass(frozen=True, repr=False)
class MilvusAddress:
    """A server or a file of Milvus Lite, and the name with which the collections of the index begin.

    `database` is the server's database; empty for its default one. `token` is an API key or USER:PASSWORD.
    `vectors` says who finds the nearest vectors: `scan` (exact, in NumPy) or `engine`.
    """

    uri: str
    token: str
    name: str
    prefix: str = "workbench"
    vectors: Search = "scan"
    database: str = ""

    def __repr__(self) -> str:
        return f"MilvusAddress({self.name})"


def parse(address: str) -> MilvusAddress:
    """Reads `milvus://HOST:PORT/NAME?db=NAME&vectors=engine` or `milvus:///FOLDER/FILE.db?name=NAME`.

    The token comes from user and password in the address, or else from MILVUS_TOKEN. Raises InputError for an
    address that cannot be read; its message never repeats the address, which may hold a password.
    """
    try:
        parts = urlsplit(address)
        given = dict(parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query)))
        host, port = parts.hostname, parts.port or 19530
    except ValueError:
        raise InputError("The Milvus address cannot be read.", f"Write it as {FORM}") from None
    vectors, prefix = given.pop("vectors", "scan"), given.pop("name", "")
    database = given.pop("db", "") if host else ""
    path = unquote(parts.path)
    if host:
        prefix = prefix or path.strip("/")
    prefix = prefix or "workbench"
    named = [prefix, database] if database else [prefix]
    if given or vectors not in get_args(Search) or not all(map(NAME.fullmatch, named)):
        raise InputError(
            "The Milvus address has a name or a parameter that cannot be used.",
            f"Write it as {FORM}; parameters are name, db (a server's database) and vectors "
            f"({' or '.join(get_args(Search))}).",
        )
    if not host:
        return _lite(path, prefix, vectors)  # type: ignore[arg-type]
    token = os.environ.get("MILVUS_TOKEN", "")
    if parts.password:
        token = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
    scheme = "https" if parts.scheme == "milvus+tls" else "http"
    shown = f"{parts.scheme}://{host}:{port}/{prefix}" + (f"?db={database}" if database else "")
    uri = f"{scheme}://{host}:{port}"
    return MilvusAddress(uri, token, shown, prefix, vectors, database)  # type: ignore[arg-type]


def _lite(path: str, prefix: str, vectors: Search) -> MilvusAddress:
    if Path(path).suffix != ".db":
        raise InputError("A file of Milvus Lite must end in .db.", f"Write the address as {FORM}")
    file = str(Path(path).absolute())
    return MilvusAddress(file, "", f"milvus://{file}?name={prefix}", prefix, vectors)


QUIET: dict[str, int] = {"grpc.keepalive_time_ms": 2**31 - 1, "grpc.keepalive_permit_without_calls": 0}
"""Options of a client. By default, an idle client sends a ping every ten seconds, and after a few of these,
the server of Milvus Lite ends the connection. A client that connects at that moment fails."""

_lock = threading.Lock()
_open: Counter[str] = Counter()
"""How many sessions of this process use a file whose server the first of them has started."""


def begin(file: str) -> bool:
    """Counts a session of this file. False if somebody else in this process already serves the file."""
    from milvus_lite.server_manager import server_manager_instance as servers

    with _lock:
        # milvus_lite has no public way to ask this. To end somebody else's server would break their client.
        if not _open[file] and file in servers._servers:
            return False
        _open[file] += 1
        return True


def end(file: str) -> None:
    """Ends a counted session. The last one of a file ends its server, which otherwise keeps the file."""
    from milvus_lite.server_manager import server_manager_instance as servers

    with _lock:
        _open[file] -= 1
        if not _open[file]:
            servers.release_server(file)


SECONDS = 30.0
"""How long one request may take."""
PAGE = 1_000
LONGEST_TEXT = 65_535
"""Bytes of a VARCHAR."""
LARGEST_LIMIT = 16_384
"""The most hits of a search, and rows of a query."""
LARGEST_DIMENSIONS = 32_768
ANALYSED: Literal["ANALYSED"] = "ANALYSED"
Field = int | Literal["INT64", "DOUBLE", "ANALYSED"]
"""A text of at most so many bytes, a number, or a text that BM25 searches."""


@contextmanager
def plain_errors(name: str) -> Iterator[None]:
    """Turns Milvus's errors in the block into a WorkbenchError that names the index and the remedy."""
    import grpc
    from pymilvus.exceptions import MilvusException

    # pymilvus logs each error with its stack before it raises it.
    logger = logging.getLogger("pymilvus")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    except (MilvusException, grpc.RpcError) as error:
        raise _plain(name, error) from None
    finally:
        logger.setLevel(before)


def _plain(name: str, error: Exception) -> WorkbenchError:
    from pymilvus.exceptions import ErrorCode

    said, code = _server_message(error), getattr(error, "code", None)

    def fits(row: Row) -> bool:
        has_code = "code" in row and code == ErrorCode[row["code"]]
        return has_code or has_words(row, said.lower())

    return meaning("milvus", name, said, fits)


def _server_message(error: Exception) -> str:
    text = getattr(error, "message", "") or getattr(error, "details", lambda: "")() or type(error).__name__
    return " ".join(str(text).split())[:200].rstrip(".")


class MilvusSession:
    """A client of one server, for one thread at a time."""

    def __init__(self, address: MilvusAddress) -> None:
        from pymilvus import MilvusClient

        self.address = address
        self._loaded: set[str] = set()
        self._file = None if address.uri.startswith("http") else address.uri
        if self._file:
            Path(self._file).parent.mkdir(parents=True, exist_ok=True)
            self._file = self._file if begin(self._file) else None
        try:
            with plain_errors(address.name):
                self.client = MilvusClient(
                    address.uri,
                    token=address.token,
                    db_name=address.database,
                    timeout=SECONDS,
                    grpc_options={} if address.uri.startswith("http") else QUIET,
                )
        except WorkbenchError:
            self._free()
            raise

    @property
    def name(self) -> str:
        return self.address.name

    def close(self) -> None:
        """Closes the connection, and lets other processes open the file of Milvus Lite."""
        self.client.close()
        self._free()

    def _free(self) -> None:
        if self._file:
            end(self._file)
        self._file = None

    def has(self, collection: str) -> bool:
        """Whether there is a collection of this name."""
        with plain_errors(self.name):
            return bool(self.client.has_collection(collection, timeout=SECONDS))

    def drop(self, collection: str) -> None:
        """Removes a collection if it exists."""
        self._loaded.discard(collection)
        with plain_errors(self.name):
            if self.client.has_collection(collection, timeout=SECONDS):
                self.client.drop_collection(collection, timeout=SECONDS)

    @contextmanager
    def _asking(self, collection: str) -> Iterator[None]:
        """Loads a collection, once: Milvus Lite has none loaded when a process opens its file."""
        with plain_errors(self.name):
            if collection not in self._loaded:
                self.client.load_collection(collection, timeout=SECONDS)
                self._loaded.add(collection)
            yield

    def put(self, collection: str, rows: Sequence[dict[str, Any]]) -> None:
        """Writes rows; one with a known key replaces the old one."""
        with self._asking(collection):
            for start in range(0, len(rows), PAGE):
                self.client.upsert(collection, list(rows[start : start + PAGE]), timeout=SECONDS)

    def remove(self, collection: str, where: str) -> None:
        """Deletes the rows for which a condition holds."""
        with self._asking(collection):
            self.client.delete(collection, filter=where, timeout=SECONDS)

    def rows(self, collection: str, where: str, fields: Sequence[str]) -> list[dict[str, Any]]:
        """All rows for which a condition holds, page by page in the order of their ids."""
        found: list[dict[str, Any]] = []
        page: list[dict[str, Any]] = []
        while not found or len(page) == PAGE:
            after = f"({where}) and id > {max(int(row['id']) for row in page)}" if page else where
            with self._asking(collection):
                page = self.client.query(
                    collection,
                    filter=after,
                    output_fields=[*dict.fromkeys(["id", *fields])] if "*" not in fields else ["*"],
                    limit=PAGE,
                    timeout=SECONDS,
                )
            found += page
            if not page:
                break
        return found

    def count(self, collection: str, where: str) -> int:
        """How many rows a condition holds for."""
        with self._asking(collection):
            found = self.client.query(collection, filter=where, output_fields=["count(*)"], timeout=SECONDS)
        return int(found[0]["count(*)"])

    def best_of_field(
        self, collection: str, field: str, asked: Any, metric: str, where: str, limit: int
    ) -> list[tuple[int, float]]:
        """The ids and numbers of the best hits of one vector field, best first."""
        with self._asking(collection):
            [hits] = self.client.search(
                collection,
                [asked],
                anns_field=field,
                limit=max(1, min(limit, LARGEST_LIMIT)),
                filter=where,
                search_params={"metric_type": metric},
                timeout=SECONDS,
            )
        return [(int(hit["id"]), float(hit["distance"])) for hit in hits]

    def make(self, collection: str, fields: Mapping[str, Field], dense: int) -> None:
        """Creates a collection of an int64 id, these fields, and vectors of `dense` dimensions.

        The texts of a field ANALYSED are analysed and their BM25 vector is indexed. Raises InputError for
        vectors that Milvus cannot store.
        """
        from pymilvus import DataType, Function, FunctionType

        if not 2 <= dense <= LARGEST_DIMENSIONS:
            raise InputError(
                f"Milvus cannot store vectors of {dense:,} dimensions.",
                f"Use a model with 2 to {LARGEST_DIMENSIONS:,} dimensions.",
            )
        schema = self.client.create_schema(auto_id=False, enable_dynamic_field=False)
        schema.add_field("id", DataType.INT64, is_primary=True)
        schema.add_field("dense", DataType.FLOAT_VECTOR, dim=dense)
        indexes = self.client.prepare_index_params()
        indexes.add_index("dense", index_type="FLAT", metric_type="COSINE")
        for name, kind in fields.items():
            if isinstance(kind, int):
                schema.add_field(name, DataType.VARCHAR, max_length=kind)
            elif kind != ANALYSED:
                schema.add_field(name, DataType[kind])
            else:
                schema.add_field(name, DataType.VARCHAR, max_length=LONGEST_TEXT, enable_analyzer=True)
                schema.add_field("sparse", DataType.SPARSE_FLOAT_VECTOR)
                schema.add_function(Function("bm25", FunctionType.BM25, [name], ["sparse"]))
                indexes.add_index("sparse", index_type="SPARSE_INVERTED_INDEX", metric_type="BM25")
        with plain_errors(self.name):
            self.client.create_collection(
                collection, schema=schema, consistency_level="Strong", timeout=SECONDS
            )
            # Waiting for an index polls every half second, and an empty collection has nothing to index.
            self.client.create_index(collection, indexes, sync=False, timeout=SECONDS)


TOKENS = re.compile(r"\w+")


def needs_filter(clause: Clause) -> bool:
    """Whether a clause asks for more than one word as it is."""
    return clause.prefix or clause.phrase or len(TOKENS.findall(clause.text)) > 1


def matches(query: Query, passage: str) -> bool:
    """Whether a passage has the clauses of a query: all of them, or with OR one of them."""
    words = f" {_words(passage)} "
    has = (_has(clause, words) for clause in query.clauses)
    return all(has) if query.operator == "AND" else any(has)


def _words(text: str) -> str:
    return " ".join(TOKENS.findall(text)).lower()


def _has(clause: Clause, words: str) -> bool:
    wanted = _words(clause.text)
    return wanted != "" and f" {wanted}{'' if clause.prefix else ' '}" in words


VERSION = "2"
NO_VECTOR = [1.0, 0.0]
"""Each collection must have a vector; tables without one get this."""
TABLES: Mapping[str, Mapping[str, Field]] = load_data(__file__)
"""The fields of each collection, beside the id and the vector."""
State = dict[str, str]
"""What an index says of itself; `build` is a part of the names of its collections."""


def catalogue(session: MilvusSession) -> str:
    """The name of the collection whose one row is the state of the index."""
    return f"{session.address.prefix}_catalogue"


def read(session: MilvusSession) -> State | None:
    """The state of the index; None if there is no index. Raises InputError for one of another version."""
    if not session.has(catalogue(session)):
        return None
    found = session.rows(catalogue(session), "id == 1", ["value"])
    if not found:
        return None
    remedy = "Build it again with --rebuild."
    try:
        known = {str(key): str(value) for key, value in json.loads(found[0]["value"]).items()}
        version, _ = known["version"], known["build"]
    except (ValueError, AttributeError, KeyError) as error:
        raise DamagedError(
            f"The index {session.name} is damaged: its catalogue has {error!r:.80}.", remedy
        ) from None
    if version != VERSION:
        raise InputError(
            f"The index {session.name} has version {version}; this workbench reads {VERSION}.", remedy
        )
    return known


def write(session: MilvusSession, state: State) -> None:
    """Makes a state the visible one, with one write."""
    if not session.has(catalogue(session)):
        session.make(catalogue(session), {"value": LONGEST_TEXT}, dense=len(NO_VECTOR))
    session.put(catalogue(session), [{"id": 1, "value": json.dumps(state), "dense": NO_VECTOR}])


KINDS = ("chunks", "documents")
"""The collections of a build."""
FOREVER = 2**62
"""The generation that removes a row which no change has removed."""
PIECE = 15_000
"""Characters of a document's text in one row: at most 60,000 bytes."""
CHUNK_FIELDS = ("key", "file", "source", "first", "last", "text", "read_share")
CHUNK_OF = itemgetter(*CHUNK_FIELDS)
STAMP_OF = itemgetter(*Stamp._fields)
"""The values of a chunk and of a stamp in a row, in the order of their fields."""


def digest(path: str) -> str:
    """A name for a path that can stand in a condition, whatever characters the path has."""
    return hashlib.sha256(path.encode()).hexdigest()


def cache_key(settings: Settings, role: str, hash_: str) -> str:
    """The name of a text in the embedding cache."""
    return digest("\0".join([settings.model, settings.revision, role, hash_]))


def cache_id(key: str) -> int:
    """The row id of a name in the embedding cache."""
    return int(key[:15], 16)


NUMBER = "milvus bm25"


class MilvusStore(MilvusSession, IndexStore):
    """An open index in Milvus, for one thread at a time."""

    def __init__(self, address: MilvusAddress, state: State | None = None) -> None:
        super().__init__(address)
        found = state or read(self)
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
        latest = read(self)
        if latest is not None and latest["build"] == self._state["build"]:
            self._state = latest
        return self._state

    def publish(self, state: State) -> None:
        """Makes a state the one that others read."""
        write(self, state)

    def meta(self, key: str) -> str:
        return self.state.get(key, "")

    def set_meta(self, key: str, value: str) -> None:
        """Writes one value of the state, within `writing`."""
        assert self._pinned is not None
        self._pinned[key] = value

    def collection(self, kind: str) -> str:
        """The name of one of the index's collections: chunks, documents or cache."""
        build = "" if kind == "cache" else f"_{self._state['build']}"
        return f"{self.address.prefix}{build}_{kind}"

    def create(self) -> None:
        """Creates the collections of an empty build, and the cache if there is none."""
        self.make(self.collection("chunks"), TABLES["chunks"], self.settings.dimensions)
        self.make(self.collection("documents"), TABLES["documents"], len(NO_VECTOR))
        if not self.has(self.collection("cache")):
            self.make(self.collection("cache"), TABLES["cache"], len(NO_VECTOR))

    # Connections and transactions

    @property
    def writable(self) -> bool:
        return True

    @property
    def _busy(self) -> bool:
        return self._pinned is not None

    def latest(self) -> MilvusStore:
        if self._busy:
            return self
        latest = read(self)
        rebuilt = latest is not None and latest["build"] != self._state["build"]
        return self.reopened() if rebuilt else self

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
        if self._busy:
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
        if self._busy:
            raise RuntimeError("Writes inside a block of `reading` would be lost.")
        before = self.state
        self._pinned, self._depth = dict(before), 1
        try:
            self.set_meta("generation", str(self.generation + 1))
            yield
            self.publish(self._pinned)
            self._state = self._pinned
        except BaseException:
            self.undo(int(before["generation"]))
            raise
        finally:
            self._pinned, self._depth = None, 0

    def undo(self, generation: int) -> None:
        """Takes back what writes after this generation have left: they have never been visible."""
        for kind in KINDS:
            self.remove(self.collection(kind), f"added > {generation}")
            self._change(kind, f"removed > {generation} and removed < {FOREVER}", removed=FOREVER)

    def _change(self, kind: str, where: str, **values: int) -> list[dict[str, Any]]:
        """Writes these values into the rows for which a condition holds, and gives the rows as they were."""
        found = self.rows(self.collection(kind), where, ["*"])
        for row in found:
            row.pop("sparse", None)  # Milvus computes the BM25 vector itself
        self.put(self.collection(kind), [row | values for row in found])
        return found

    def purge(self) -> None:
        """Deletes the rows that earlier changes have removed; a reader of an older state loses them."""
        for kind in KINDS:
            self.remove(self.collection(kind), f"removed <= {self.generation}")

    # Reading

    def _seen(self, *conditions: str) -> str:
        """The condition for the rows of the state that is read."""
        now = self.generation
        return " and ".join([f"added <= {now}", f"removed > {now}", *conditions])

    @property
    def size(self) -> int:
        return self.count(self.collection("chunks"), self._seen())

    def stamps(self) -> dict[str, Stamp]:
        fields = ["file", *Stamp._fields]
        rows = self.rows(self.collection("documents"), self._seen("piece == 0"), fields)
        return {row["file"]: Stamp(*STAMP_OF(row)) for row in rows}

    def documents(self) -> list[Document]:
        rows = self.rows(self.collection("documents"), self._seen(), ["*"])
        texts: dict[str, str] = {}
        for row in sorted(rows, key=itemgetter("file", "piece")):
            texts[row["file"]] = texts.get(row["file"], "") + row["text"]
        stamps = {row["file"]: Stamp(*STAMP_OF(row)) for row in rows}
        return [Document(path, stamps[path].source, text, *stamps[path][:3]) for path, text in texts.items()]

    def chunks(self, rows: Rows) -> list[Chunk]:
        by_row = {row["id"]: row for row in self._with_ids("chunks", rows.tolist(), CHUNK_FIELDS)}
        if missing := [row for row in rows.tolist() if row not in by_row]:
            raise unknown_row(self.name, missing[0])
        return [Chunk(*CHUNK_OF(by_row[row])) for row in rows.tolist()]

    def _with_ids(self, kind: str, ids: Iterable[int], fields: Sequence[str]) -> list[dict[str, Any]]:
        wanted = sorted(set(ids))
        found: list[dict[str, Any]] = []
        for start in range(0, len(wanted), 1_000):
            found += self.rows(self.collection(kind), f"id in {wanted[start : start + 1_000]}", fields)
        return found

    def rows_of(self, path: str) -> Rows:
        where = self._seen(f'path == "{digest(path)}"')
        return np.array(
            sorted(row["id"] for row in self.rows(self.collection("chunks"), where, ["id"])), np.int64
        )

    def keys(self) -> list[str]:
        found = sorted((row["id"], row["key"]) for row in self._all(["id", "key"]))
        by_row = self.provenance.ties_by_row
        return [f"{row:020d}" if by_row else key for row, key in found]

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
        return hits_of(hits, larger, NUMBER)

    def _matching(self, asked: str, limit: int, query: Query | None) -> list[tuple[int, float]]:
        """The hits, best first and ties by chunk id. The best `limit` are complete, with all ties."""
        depth = limit + 1
        while True:
            found = self.best_of_field(
                self.collection("chunks"), "sparse", asked, "BM25", self._seen(), depth
            )
            complete = len(found) < depth or depth >= LARGEST_LIMIT
            if complete or abs(found[limit - 1][1] - found[-1][1]) > 0:
                break
            depth *= 2
        fields = ["id", "key", *(["text"] if query is not None else [])]
        chunks = {row["id"]: row for row in self._with_ids("chunks", (row for row, _ in found), fields)}
        kept = [one for one in found if query is None or matches(query, str(chunks[one[0]]["text"]))]
        by_row = self.provenance.ties_by_row
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

    def nearest(self, query: Vector, limit: int, alone: bool = False) -> Hits | None:
        if self.address.vectors == "scan":
            return None
        self._in_time()
        asked = query.astype(np.float32).tolist()
        found = self.best_of_field(self.collection("chunks"), "dense", asked, "COSINE", self._seen(), limit)
        return in_order(self, hits_of([(row, 1.0 - cosine) for row, cosine in found]))

    # Writing

    def replace(self, document: Document, passages: Sequence[Passage], cached: Sequence[Cached]) -> None:
        with self.writing():
            self._delete(document.path)
            now, row = self.generation, int(self.meta("next_row"))
            common: dict[str, Any] = {
                "path": digest(document.path),
                "file": document.path,
                "source": document.source,
            }
            common |= {"added": now, "removed": FOREVER}
            chunks: list[dict[str, Any]] = []
            for key, (one, (vector, share)) in keyed(self, document, passages, cached).items():
                if len(one.text.encode()) > LONGEST_TEXT:
                    raise InputError(
                        f"A chunk of {document.path} has more than {LONGEST_TEXT:,} bytes, which Milvus "
                        "cannot store.",
                        "Index with smaller chunks.",
                    )
                chunk = common | {"id": row + len(chunks), "key": key, "hash": one.hash, "text": one.text}
                chunk |= {"first": one.start_line, "last": one.end_line, "read_share": float(share)}
                chunks.append(chunk | {"dense": vector.astype(np.float32).tolist()})
            self.put(self.collection("chunks"), chunks)
            texts = [document.text[at : at + PIECE] for at in range(0, len(document.text), PIECE)] or [""]
            common |= {"hash": document.hash, "size": document.size, "mtime_ns": document.mtime_ns}
            common |= {"dense": NO_VECTOR}
            pieces = [
                common | {"id": row + len(chunks) + number, "piece": number, "text": one}
                for number, one in enumerate(texts)
            ]
            self.put(self.collection("documents"), pieces)
            self.set_meta("next_row", str(row + len(chunks) + len(pieces)))

    def delete(self, path: str) -> None:
        with self.writing():
            self._delete(path)

    def _delete(self, path: str) -> None:
        where = self._seen(f'path == "{digest(path)}"')
        gone = self._change("chunks", where, removed=self.generation)
        self._removed.update(str(row["hash"]) for row in gone)
        self._change("documents", where, removed=self.generation)

    def restamp(self, stamps: Mapping[str, tuple[int, int]]) -> None:
        with self.writing():
            for path, (size, mtime_ns) in stamps.items():
                where = self._seen(f'path == "{digest(path)}"')
                self._change("documents", where, size=size, mtime_ns=mtime_ns)

    # The embedding cache

    def cached(self, settings: Settings, role: str, hashes: Iterable[str]) -> dict[str, Cached]:
        by_key = {cache_key(settings, role, hash_): hash_ for hash_ in hashes}
        found: dict[str, Cached] = {}
        fields = ["key", "vector", "read_share"]
        for row in self._with_ids("cache", map(cache_id, by_key), fields):
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


class MilvusLocation(IndexLocation):
    """The collections of one index, which have a common prefix; the catalogue names the build."""

    def __init__(self, address: MilvusAddress) -> None:
        self.address = address

    @property
    def name(self) -> str:
        return self.address.name

    def _session(self) -> closing[MilvusSession]:
        return closing(MilvusSession(self.address))

    def exists(self) -> bool:
        with self._session() as session:
            return read(session) is not None

    @contextmanager
    def alone(self, wait: float) -> Iterator[None]:
        """Holds a lock file on this machine; Milvus has no locks, so other machines are not kept out."""
        home = index_home()
        home.mkdir(parents=True, exist_ok=True)
        lock = FileLock(home / f"milvus-{hashlib.sha256(self.name.encode()).hexdigest()[:16]}.lock")
        try:
            lock.acquire(timeout=wait)
        except Timeout:
            raise LockedError(
                f"Another process has been indexing into {self.name} for more than {wait:g} s.",
                "Try again when it is done.",
            ) from None
        try:
            yield
        finally:
            lock.release()

    def open(self) -> MilvusStore:
        return MilvusStore(self.address)

    @contextmanager
    def updating(self) -> Iterator[MilvusStore]:
        with self.open() as store:
            self._drop_other_builds(store, store.state["build"])
            store.undo(store.generation)
            store.purge()
            yield store

    @contextmanager
    def rebuilding(self, settings: Settings) -> Iterator[MilvusStore]:
        with self._session() as session, suppress(DamagedError):
            known = read(session)
            self._drop_other_builds(session, known["build"] if known else "")
        generation = time.time_ns()
        state = {"version": VERSION, "build": f"b{generation}", "generation": str(generation)}
        state |= {"next_row": "1", "settings": json.dumps(asdict(settings))}
        with _Building(self.address, state) as store:
            store.create()
            yield store
            write(store, store.state)
            self._drop_other_builds(store, state["build"])

    def _drop_other_builds(self, session: MilvusSession, build: str) -> None:
        """Removes the collections of other builds: unfinished ones, and the one that was replaced."""
        prefix = f"{self.address.prefix}_b"
        for name in session.client.list_collections():
            kind = name.rpartition("_")[2]
            if name.startswith(prefix) and kind in KINDS and name != f"{self.address.prefix}_{build}_{kind}":
                session.drop(name)


class _Building(MilvusStore):
    """A build that the catalogue does not name yet: its state is kept here until it is complete."""

    @property
    def state(self) -> State:
        return self._pinned or self._state

    def publish(self, state: State) -> None:
        """Nobody reads a build that is not complete."""


STORES = tuple(
    StoreKind(scheme, lambda address: MilvusLocation(parse(address))) for scheme in ("milvus", "milvus+tls")
)
