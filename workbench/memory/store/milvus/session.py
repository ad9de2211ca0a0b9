"""A connection to Milvus, and its errors as messages with a remedy."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from workbench.errors import InputError, WorkbenchError
from workbench.memory.store.errors import DamagedError, LockedError, UnwritableError
from workbench.memory.store.milvus import lite
from workbench.memory.store.milvus.address import MilvusAddress

SECONDS = 30.0
"""How long one request may take."""
PAGE = 1_000
LONGEST_TEXT = 65_535
"""Bytes of a VARCHAR."""
LARGEST_LIMIT = 16_384
"""The most hits of a search, and rows of a query."""
LARGEST_DIMENSIONS = 32_768


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


REFUSED_USER = re.compile(r"\b(auth|unauthenticated|authenticat\w*|authori[sz]\w*|permission|password)\b")
GONE = re.compile(r"\b(connect\w*|unavailable|deadline|timeout|timed out|closed)\b")
NO_ROOM = re.compile(r"quota exceeded|force deny|deny to write|no space|disk full|memory limit")
OVERLOADED = re.compile(r"rate ?limit|too many requests|resource_?exhausted|request limit exceeded")


def _plain(name: str, error: Exception) -> WorkbenchError:
    from pymilvus.exceptions import ErrorCode

    said, code = _said(error), getattr(error, "code", None)
    low = said.lower()
    if code == ErrorCode.RATE_LIMIT or OVERLOADED.search(low):
        # Before what looks like a lost connection: the client tries again until its time is up.
        return UnwritableError(
            f"The server of {name} takes no more requests at the moment: {said}. "
            "What was stored before is unchanged.",
            "Index again when it has less to do, or raise the limits in its quotaAndLimits.",
        )
    if code == ErrorCode.FORCE_DENY or NO_ROOM.search(low):
        return UnwritableError(
            f"The server of {name} has no room: {said}. What was stored before is unchanged.",
            "Make room, or raise its quota. Then index again.",
        )
    if REFUSED_USER.search(low):
        return UnwritableError(
            f"The server of {name} refuses this user.",
            "Give the user's token in MILVUS_TOKEN: an API key, or USER:PASSWORD.",
        )
    if "database not found" in low:
        return InputError(f"There is no such database: {name}.", "Make it, or change db= in the address.")
    if "open local milvus failed" in low:
        return LockedError(
            f"The file of {name} cannot be opened: another process has it open, or it is damaged.",
            "Milvus Lite serves one process at a time. End the other one, or run a Milvus server.",
        )
    if GONE.search(low):
        return UnwritableError(
            f"No Milvus server answers at {name}: {said}. What was stored before is unchanged.",
            "Start the server, or check host and port. Then index again.",
        )
    return DamagedError(
        f"Milvus refused a request for {name}: {said}.",
        "Look at the server's log. If the index is damaged, build it again with --rebuild.",
    )


def _said(error: Exception) -> str:
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
            self._file = self._file if lite.begin(self._file) else None
        try:
            with plain_errors(address.name):
                self.client = MilvusClient(
                    address.uri,
                    token=address.token,
                    db_name=address.database,
                    timeout=SECONDS,
                    grpc_options={} if address.uri.startswith("http") else lite.QUIET,
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
            lite.end(self._file)
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

    def _load(self, collection: str) -> None:
        """Loads a collection, once. Milvus Lite has none loaded when a process opens its file."""
        if collection not in self._loaded:
            self.client.load_collection(collection, timeout=SECONDS)
            self._loaded.add(collection)

    def put(self, collection: str, rows: Sequence[dict[str, Any]]) -> None:
        """Writes rows; one with a known key replaces the old one."""
        with plain_errors(self.name):
            for start in range(0, len(rows), PAGE):
                self.client.upsert(collection, list(rows[start : start + PAGE]), timeout=SECONDS)

    def remove(self, collection: str, where: str) -> None:
        """Deletes the rows for which a condition holds."""
        with plain_errors(self.name):
            self._load(collection)
            self.client.delete(collection, filter=where, timeout=SECONDS)

    def rows(self, collection: str, where: str, fields: Sequence[str]) -> list[dict[str, Any]]:
        """All rows for which a condition holds, page by page in the order of their ids."""
        found: list[dict[str, Any]] = []
        page: list[dict[str, Any]] = []
        while not found or len(page) == PAGE:
            after = f"({where}) and id > {max(int(row['id']) for row in page)}" if page else where
            with plain_errors(self.name):
                self._load(collection)
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
        with plain_errors(self.name):
            self._load(collection)
            found = self.client.query(collection, filter=where, output_fields=["count(*)"], timeout=SECONDS)
        return int(found[0]["count(*)"])

    def nearest(
        self, collection: str, field: str, asked: Any, metric: str, where: str, limit: int
    ) -> list[tuple[int, float]]:
        """The ids and numbers of the best hits of one vector field, best first."""
        with plain_errors(self.name):
            self._load(collection)
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

    def make(
        self, collection: str, fields: dict[str, dict[str, Any]], dense: int, bm25: bool = False
    ) -> None:
        """Creates a collection of an int64 id, these fields, and vectors of `dense` dimensions.

        With `bm25`, the field text is analysed and its BM25 vector is indexed. Raises InputError for vectors
        that Milvus cannot store.
        """
        from pymilvus import DataType, Function, FunctionType

        if not 2 <= dense <= LARGEST_DIMENSIONS:
            raise InputError(
                f"Milvus cannot store vectors of {dense:,} dimensions.",
                f"Use a model with 2 to {LARGEST_DIMENSIONS:,} dimensions.",
            )
        schema = self.client.create_schema(auto_id=False, enable_dynamic_field=False)
        schema.add_field("id", DataType.INT64, is_primary=True)
        for name, options in fields.items():
            schema.add_field(name, DataType[options.pop("type")], **options)
        schema.add_field("dense", DataType.FLOAT_VECTOR, dim=dense)
        indexes = self.client.prepare_index_params()
        indexes.add_index("dense", index_type="FLAT", metric_type="COSINE")
        if bm25:
            schema.add_field("sparse", DataType.SPARSE_FLOAT_VECTOR)
            schema.add_function(
                Function(
                    name="bm25",
                    function_type=FunctionType.BM25,
                    input_field_names=["text"],
                    output_field_names=["sparse"],
                )
            )
            indexes.add_index("sparse", index_type="SPARSE_INVERTED_INDEX", metric_type="BM25")
        with plain_errors(self.name):
            self.client.create_collection(
                collection, schema=schema, consistency_level="Strong", timeout=SECONDS
            )
            # Waiting for an index polls every half second, and an empty collection has nothing to index.
            self.client.create_index(collection, indexes, sync=False, timeout=SECONDS)
            self._load(collection)


def text(longest: int = LONGEST_TEXT, **options: Any) -> dict[str, Any]:
    """A text field of at most so many bytes."""
    return {"type": "VARCHAR", "max_length": longest, **options}


def number() -> dict[str, Any]:
    """A field of whole numbers."""
    return {"type": "INT64"}


def real() -> dict[str, Any]:
    """A field of floating-point numbers."""
    return {"type": "DOUBLE"}
