"""The rows of Milvus's collections, from documents and chunks and back."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from workbench.errors import InputError
from workbench.memory.store.milvus.catalogue import NO_VECTOR
from workbench.memory.store.milvus.session import LONGEST_TEXT
from workbench.memory.store.values import Settings
from workbench.records import Chunk, Document

FOREVER = 2**62
"""The generation that removes a row which no change has removed."""
PIECE = 15_000
"""Characters of a document's text in one row: at most 60,000 bytes."""
CHUNK_FIELDS = ("id", "key", "file", "source", "first", "last", "text", "read_share")


def chunk_of(row: Mapping[str, Any]) -> Chunk:
    """The chunk of a row."""
    place = row["file"], row["source"], row["first"], row["last"]
    return Chunk(row["key"], *place, row["text"], row["read_share"])


def _piece(row: Mapping[str, Any]) -> int:
    return int(row["piece"])


def document_of(pieces: Sequence[Mapping[str, Any]]) -> Document:
    """The document whose text is in these rows, in any order."""
    first = pieces[0]
    whole = "".join(str(one["text"]) for one in sorted(pieces, key=_piece))
    return Document(first["file"], first["source"], whole, first["hash"], first["size"], first["mtime_ns"])


def pieces_of(document: Document, row: int, now: int) -> list[dict[str, Any]]:
    """The rows of a document, from the id `row` on, added by the generation `now`."""
    texts = [document.text[start : start + PIECE] for start in range(0, len(document.text), PIECE)] or [""]
    common: dict[str, Any] = {"path": digest(document.path), "file": document.path, "source": document.source}
    common |= {"hash": document.hash, "size": document.size, "mtime_ns": document.mtime_ns}
    common |= {"dense": NO_VECTOR, "added": now, "removed": FOREVER}
    return [common | {"id": row + place, "piece": place, "text": one} for place, one in enumerate(texts)]


def check_length(passage: str, path: str) -> None:
    """Raises InputError for a passage that is longer than a text field."""
    if len(passage.encode()) > LONGEST_TEXT:
        raise InputError(
            f"A chunk of {path} has more than {LONGEST_TEXT:,} bytes, which Milvus cannot store.",
            "Index with smaller chunks.",
        )


def without_sparse(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row as it is written again: Milvus computes the BM25 vector itself."""
    return {name: value for name, value in row.items() if name != "sparse"}


def digest(path: str) -> str:
    """A name for a path that can stand in a condition, whatever characters the path has."""
    return hashlib.sha256(path.encode()).hexdigest()


def cache_key(settings: Settings, role: str, hash_: str) -> str:
    """The name of a text in the embedding cache."""
    return digest("\0".join([settings.model, settings.revision, role, hash_]))


def cache_id(key: str) -> int:
    """The row id of a name in the embedding cache."""
    return int(key[:15], 16)
