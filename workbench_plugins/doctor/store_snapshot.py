"""What a store holds, as plain rows, read from files of six kinds without writing.

Ours, OpenClaw's and Basic Memory's are SQLite files. mem0 and LangChain keep vectors in folders of Qdrant's
local mode, of Chroma or of FAISS. A pickle in such a folder is read without importing what it names, so that
no code of a foreign file runs.
"""

from __future__ import annotations

import json
import pickle
import shlex
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from io import BytesIO
from pathlib import Path
from types import MappingProxyType
from typing import Any

import apsw
import numpy as np
import sqlite_vec
from numpy.typing import NDArray

from workbench.errors import InputError
from workbench.memory.choices import is_default_path
from workbench.memory.embedding.local import unit
from workbench.memory.files import SOURCE, FileRules, open_named
from workbench.memory.guard import bound_queries, check_tables, guarded, read_apart
from workbench.memory.index_files import default_index_path
from workbench.memory.sources import is_sound, whole_characters
from workbench.memory.store.contract import rebuild_command
from workbench.memory.store.sqlite.database import (
    CHECKSUM_BYTES,
    WRONG_CHECKSUM,
    can_be_read,
    checksum_vfs,
    has_a_wrong_page,
    has_wal,
    is_marked,
    wrong_checksum,
)
from workbench.memory.store.sqlite.location import words_file
from workbench.records import Chunk
from workbench_plugins.doctor.write_ahead_log import log_problems

Vectors = NDArray[np.float32]
MISSING = np.empty(0, np.float32)
"""The vector of a chunk that has none."""


@dataclass(frozen=True)
class StoreSnapshot:
    """The chunks of a store, one per place in `ids`, `paths`, `texts` and `vectors`.

    `model` is empty where the store does not name one. `full_text` has the text of each row of the keyword
    index by chunk id; None where there is no such index. `hashes` has the digest of each file that the store
    knows, empty where it keeps none, and `rules` say which files it reads, None for all Markdown.
    `folder` is that of the notes if the user has named it, `says_folder` the one that only the file names.
    `unreachable` are ids that the vector leg leaves out although they have a vector, and `shares` the parts
    of the texts that the model read. `repair` makes the index anew. With `later`, chunks may lack vectors.
    Without `checksums`, an older workbench made the file, and a changed bit of a vector is not found.
    """

    name: str
    kind: str
    repair: str
    ids: Sequence[str]
    paths: Sequence[str]
    texts: Sequence[str]
    vectors: Sequence[Vectors]
    model: str = ""
    revision: str = ""
    full_text: Mapping[str, str] | None = None
    hashes: Mapping[str, str] = field(default_factory=dict)
    folder: Path | None = None
    says_folder: str = ""
    rules: FileRules | None = None
    unreachable: Sequence[str] = ()
    shares: Sequence[float] = ()
    problems: Sequence[str] = ()
    later: bool = False
    checksums: bool = True


def read_store(path: Path) -> StoreSnapshot:
    """The content of a store's file or folder. Raises InputError for one of no known kind."""
    if not path.exists():
        raise InputError(f"There is no index at {path}.", "Make one: workbench index FOLDER")
    remedy = "If it is a store, close the program that uses it, or update the workbench. Else name a store."
    if is_default_path(path):
        with guarded(path, remedy):
            found = _found(path)
    else:
        found = _unpacked(read_apart(path, remedy, packed))
    if found is None:
        raise InputError(
            f"{path} is no store that the doctor knows.",
            "Give a memory's folder, an index, OpenClaw's or Basic Memory's SQLite file, or a folder of "
            "Qdrant, Chroma or FAISS.",
        )
    return found


def _found(path: Path) -> StoreSnapshot | None:
    readers = FOLDERS if path.is_dir() else FILES
    with np.errstate(all="ignore"):  # a vector can have any numbers
        found = next((snapshot for read in readers if (snapshot := read(path)) is not None), None)
    unread = [] if found is None or path.is_dir() else log_problems(path)
    return replace(found, problems=[*found.problems, *unread]) if found else None


def packed(path: Path) -> Iterator[bytes]:
    """What a store holds as a line of JSON, and after it the float32 of its vectors; nothing for no store."""
    found = _found(path)
    if found is None:
        return
    plain = vars(found) | {
        "vectors": [one.size for one in found.vectors],
        "folder": str(found.folder or ""),
        "rules": found.rules and asdict(found.rules),
    }
    yield json.dumps(plain).encode() + b"\n"
    yield from (one.tobytes() for one in found.vectors)


def _unpacked(content: bytes) -> StoreSnapshot | None:
    """The snapshot that `packed` has written, its rows and sizes checked again."""
    if not content:
        return None
    line = content[: content.index(b"\n") + 1]
    plain = json.loads(line)
    numbers = np.frombuffer(content, np.float32, offset=len(line))
    *vectors, more = np.split(numbers, np.cumsum(plain.pop("vectors"), dtype=int))
    if more.size:
        raise ValueError("there are more numbers than the vectors have")
    rows = zip(*(plain.pop(name) for name in ("ids", "paths", "texts")), vectors, strict=True)
    plain["folder"] = Path(plain["folder"]) if plain["folder"] else None
    plain["rules"] = plain["rules"] and _rules(plain["rules"])
    return _snapshot(rows=rows, **plain)


def _rules(plain: Mapping[str, Any]) -> FileRules:
    return FileRules(**{**plain, "heads": tuple(plain["heads"])})


def is_store(folder: Path) -> bool:
    """Whether a folder is a vector store, and no memory."""
    return any(
        any(folder.glob(name)) for name in ("collection/*/storage.sqlite", "chroma.sqlite3", "*.faiss")
    )


@contextmanager
def reading(file: Path) -> Iterator[apsw.Connection]:
    """A connection that cannot write; a file in WAL mode that nobody has open is read as it lies there."""
    with open_named(file) as opened:
        resting = opened.read(20)[18:19] == b"\x02" and not file.with_name(f"{file.name}-wal").exists()
    db = _connected(file, resting)
    if not resting and not can_be_read(db) and not has_wal(file.resolve()):
        db.close()  # on a full disk no reader can make the -shm file
        db = _connected(file, resting=True)
    try:
        db.set_busy_timeout(2000)
        db.enable_load_extension(True)
        db.load_extension(sqlite_vec.loadable_path())
        db.enable_load_extension(False)
        db.pragma("trusted_schema", False)  # the file may come from elsewhere
        bound_queries(db, file)
        yield db
    finally:
        db.close()


def _connected(file: Path, resting: bool) -> apsw.Connection:
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    how = "immutable=1" if resting else "mode=ro"
    return apsw.Connection(f"{file.resolve().as_uri()}?{how}", flags=flags, vfs=checksum_vfs())


def _rows(db: apsw.Connection, sql: str, *given: Any) -> list[Any]:
    return db.execute(sql, given).fetchall()


def _tables(db: apsw.Connection) -> set[str]:
    return {name for (name,) in _rows(db, "SELECT name FROM sqlite_schema WHERE type = 'table'")}


def vector_of(stored: Any, wide: bool = False) -> Vectors:
    """A vector out of a blob of 4 or, if `wide`, 8 bytes a number, out of JSON, or out of a list."""
    if isinstance(stored, str):
        stored = json.loads(stored)
    if isinstance(stored, bytes):
        return np.frombuffer(stored, "<f8" if wide else "<f4").astype(np.float32)
    if stored is None:
        return MISSING
    if not isinstance(stored, list) or not all(isinstance(one, int | float) for one in stored):
        raise ValueError("a vector is no list of numbers")
    return np.array(stored, np.float32)


def _snapshot(name: str, kind: str, repair: str, rows: Iterable[Sequence[Any]], **more: Any) -> StoreSnapshot:
    """A store of rows: the id, path, text and vector of each chunk, and what else they have."""
    every = [_checked(row) for row in rows]
    return StoreSnapshot(
        name,
        kind,
        repair,
        ids=[row[0] for row in every],
        paths=[row[1] for row in every],
        texts=[row[2] for row in every],
        vectors=[row[3] for row in every],
        **more,
    )


def _checked(row: Sequence[Any]) -> tuple[str, str, str, Vectors]:
    """A row with an id, a path and a text. Raises ValueError for values of other types."""
    one, path, text, vector = row
    if not all(isinstance(value, str | int | None) for value in (one, path, text)) or vector.ndim != 1:
        kinds = ", ".join(type(value).__name__ for value in (one, path, text))
        raise ValueError(f"a row has values of the types {kinds}")
    return str(one), str(path or ""), whole_characters(str("" if text is None else text)), vector


def _texts(rows: Iterable[tuple[Any, Any]]) -> dict[str, str]:
    """Pairs of texts. Raises ValueError for values of other types."""
    pairs = dict(rows)
    if not all(isinstance(one, str) for pair in pairs.items() for one in pair):
        raise ValueError("a column of texts has other values")
    return pairs


# SQLite files


def _ours(file: Path) -> StoreSnapshot | None:
    try:
        with reading(file) as db:
            if not has_a_wrong_page(db) and not {"documents", "embedding_cache"} <= _tables(db):
                return None  # no other program's file has checksums
            found = ours(db, str(file))
    except (apsw.CorruptError, apsw.NotADBError) as error:
        if not is_marked(file):
            raise
        return _damaged(str(file), str(error))
    words = words_file(file)
    return replace(found, problems=[*found.problems, *_words_problems(words), *log_problems(words)])


def _words_problems(file: Path) -> list[str]:
    """What is wrong with the file of words beside an index."""
    if not file.is_file():
        return []
    try:
        with reading(file) as db:
            return [f"{file.name}: {said}" for (said,) in _rows(db, "PRAGMA quick_check") if said != "ok"]
    except (apsw.CorruptError, apsw.NotADBError, apsw.IOError) as error:
        if isinstance(error, apsw.IOError) and not wrong_checksum(error):
            raise
        return [f"{file.name}: {WRONG_CHECKSUM}"]


def _damaged(name: str, problem: str) -> StoreSnapshot:
    """All that is known of an index whose pages are not as they were written."""
    return _snapshot(name, "ours", rebuild_command(name), (), problems=[problem])


def ours(db: apsw.Connection, name: str) -> StoreSnapshot:
    """What an index file of the workbench holds, read through an open connection.

    Of a file with a page that is not as it was written, only that problem is read.
    """
    if has_a_wrong_page(db):
        return _damaged(name, WRONG_CHECKSUM)
    broken = [one for (one,) in _rows(db, "PRAGMA integrity_check") if one != "ok"]
    known = dict(_rows(db, "SELECT key, value FROM meta"))
    folder = _own_folder(name, known.get("folder") or "", known.get("indexed_as") or "")
    settings, rules = (json.loads(known.get(key) or "{}") for key in ("settings", "file_rules"))
    rows = _rows(db, OUR_CHUNKS)
    chunks = [Chunk(*fields) for *fields, _, _ in rows]
    texts = {str(row): one.text for one, (*_, row) in zip(chunks, rows, strict=True)}
    changed = [one.location for one in chunks if one.path and not is_sound(one, settings["model"])]
    return _snapshot(
        name,
        "ours",
        rebuild_command(name) if folder is None else _rebuild_there(folder, known.get("indexed_as") or ""),
        (
            (row, one.path, one.text, vector_of(found))
            for one, (*_, found, row) in zip(chunks, rows, strict=True)
        ),
        model=settings["model"],
        revision=settings["revision"],
        later=known.get("vectors_later") == "yes",
        full_text=dict(_differing(db, texts)),
        hashes=_texts(_rows(db, "SELECT path, hash FROM documents WHERE source = ?", SOURCE)),
        folder=folder,
        says_folder=str(known.get("folder") or ""),
        rules=_rules(rules) if rules else FileRules(),
        shares=[one.read_share for one in chunks],
        problems=[*broken, *(f"{location} has another text than it was made with" for location in changed)],
        checksums=db.reserve_bytes("main") == CHECKSUM_BYTES,
    )


def _own_folder(name: str, folder: str, release: str) -> Path | None:
    """The memory that an index names, if the index is at a default place of that memory, else None."""
    if not folder:
        return None
    paths = {default_index_path(Path(folder)), default_index_path(Path(folder), release)}
    return Path(folder) if Path(name).resolve() in {one.resolve() for one in paths} else None


def _rebuild_there(folder: Path, release: str) -> str:
    return rebuild_command(default_index_path(folder, release), shlex.quote(str(folder)))


OUR_CHUNKS = """
    SELECT key, ifnull(path, ''), ifnull(source, ''), start_line, end_line, chunks.text, read_share,
        embedding, chunks.id
    FROM chunks LEFT JOIN documents ON documents.id = document_id
    LEFT JOIN chunks_vec ON chunk_id = chunks.id ORDER BY chunks.id
"""


def _differing(db: apsw.Connection, texts: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The texts by chunk id as FTS5 has indexed them; a text that it has not indexed as it is comes empty.

    FTS5 compares its terms with the table in a copy in memory, since its check is a command that writes.
    """
    copy = apsw.Connection(":memory:")
    try:
        with copy.backup("main", db, "main") as backup:
            backup.step()
        try:
            copy.execute("INSERT INTO chunks_fts (chunks_fts, rank) VALUES ('integrity-check', 1)")
        except apsw.CorruptError:
            yield from _row_by_row(copy, texts)
            return
    finally:
        copy.close()
    yield from texts.items()


def _row_by_row(copy: apsw.Connection, texts: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The texts whose terms FTS5 has at their row, and an empty one where it has others."""
    copy.execute("CREATE VIRTUAL TABLE temp.was USING fts5vocab (main, chunks_fts, instance)")
    copy.execute("CREATE VIRTUAL TABLE again USING fts5 (text)")
    copy.executemany(
        "INSERT INTO again (rowid, text) VALUES (?, ?)", [(int(row), t) for row, t in texts.items()]
    )
    copy.execute("CREATE VIRTUAL TABLE temp.now USING fts5vocab (main, again, instance)")
    terms = []
    for table in ("was", "now"):
        found: dict[str, list[tuple[str, int]]] = {}
        for term, row, offset in copy.execute(f"SELECT term, doc, offset FROM temp.{table}"):
            found.setdefault(str(row), []).append((term, offset))
        terms.append({row: sorted(some) for row, some in found.items()})
    was, now = terms
    for row in {**was, **now}:
        if was.get(row) == now.get(row):
            yield row, texts[row]
        elif row in was:
            yield row, ""


def _openclaw(file: Path) -> StoreSnapshot | None:
    with reading(file) as db:
        names = [name for name in ("memory_index_chunks", "chunks") if name in _tables(db)]
        if not names or "embedding" not in _columns(db, names[0]):
            return None
        old = names[0] == "chunks"
        meta, files = ("meta", "files") if old else ("memory_index_meta", "memory_index_sources")
        known = dict(_rows(db, f"SELECT key, value FROM {meta}"))
        model = str(json.loads(known.get("memory_index_meta_v1", "{}")).get("model", ""))
        rows = _rows(db, f"SELECT id, path, text, embedding, model FROM {names[0]} ORDER BY rowid")
        full_text = None
        if f"{names[0]}_fts" in _tables(db):
            check_tables(db, f"{names[0]}_fts", virtual=True)
            full_text = _texts(_rows(db, f"SELECT id, text FROM {names[0]}_fts"))
        return _snapshot(
            str(file),
            "OpenClaw's",
            "openclaw memory index --force",
            ((*row[:3], _parsed(db, row[3])) for row in rows),
            model=model,
            full_text=full_text,
            hashes=_texts(_rows(db, f"SELECT path, hash FROM {files} WHERE source = ?", SOURCE)),
            rules=FileRules(anywhere=False),
            unreachable=[row[0] for row in rows if row[4] != model],
        )


def _parsed(db: apsw.Connection, stored: Any) -> Vectors:
    """A vector in JSON or 8 bytes a number; sqlite-vec parses JSON three times as fast as Python does."""
    if isinstance(stored, str):
        with suppress(apsw.SQLError):  # no number, or none at all
            return vector_of(_rows(db, "SELECT vec_f32(?)", stored)[0][0])
    return vector_of(stored, wide=True)


def _columns(db: apsw.Connection, table: str) -> set[str]:
    return {name for (name,) in _rows(db, "SELECT name FROM pragma_table_info(?)", table)}


BASIC_MEMORY_SQL = """
    SELECT chunks.id, ifnull(file_path, ''), chunk_text, embedding FROM search_vector_chunks AS chunks
    LEFT JOIN entity ON entity.id = chunks.entity_id AND entity.project_id = chunks.project_id
    LEFT JOIN search_vector_embeddings AS stored ON stored.rowid = chunks.id
    ORDER BY chunks.id
"""


def _basic_memory(file: Path) -> StoreSnapshot | None:
    with reading(file) as db:
        if not {"entity", "project", "search_index", "search_vector_chunks"} <= _tables(db):
            return None
        rows = _rows(db, BASIC_MEMORY_SQL)
        named = "embedding_model" in _columns(db, "search_vector_chunks")
        models = _rows(db, "SELECT DISTINCT embedding_model FROM search_vector_chunks") if named else []
        folders = _rows(db, "SELECT path FROM project")
        entities = _texts(_rows(db, "SELECT file_path, ifnull(checksum, '') FROM entity"))
        notes = {path for (path,) in _rows(db, "SELECT file_path FROM search_index WHERE type = 'entity'")}
        return _snapshot(
            str(file),
            "Basic Memory's",
            "basic-memory reindex",
            ((*row[:3], vector_of(row[3])) for row in rows),
            model=str(models[0][0]).split(":")[-1] if len(models) == 1 else "",
            full_text={str(row[0]): row[2] for row in rows if row[1] in notes},
            hashes=entities,
            says_folder=str(folders[0][0]) if len(folders) == 1 else "",
        )


# Folders of vector stores


class _Inert:
    """What stands for every class and function that a pickle names: it keeps what it is given."""

    kept: Mapping[str, Any] = MappingProxyType({})

    def __new__(cls, *_: object) -> _Inert:
        return super().__new__(cls)

    def __setstate__(self, state: Any) -> None:
        inner = state[0] if isinstance(state, tuple) and state else state
        self.kept = inner.get("__dict__", inner) if isinstance(inner, dict) else {}


class _Unpickler(pickle.Unpickler):
    """Reads a pickle without importing anything that it names."""

    def find_class(self, module: str, name: str) -> Any:
        return _Inert


def unpickled(content: bytes) -> Any:
    """The lists and dictionaries of a pickle; objects become `_Inert`, so nothing of it runs."""
    return _Unpickler(BytesIO(content)).load()


TEXT_KEYS = ("page_content", "data", "document", "text", "memory", "chroma:document", "_node_content")
PATH_KEYS = ("source", "path", "file_path", "file_name")


def _plain(value: Any) -> str:
    """The id of a point, which is a text, a number, or an object of UUID."""
    value = value.kept.get("int") if isinstance(value, _Inert) else value
    if not isinstance(value, str | int):
        raise ValueError(f"the id of a point is of the type {type(value).__name__}")
    return str(value)


def _text_of(payload: Mapping[str, Any]) -> str:
    return next(
        (str(payload[key]) for key in TEXT_KEYS if isinstance(payload.get(key), str | int | float)), ""
    )


def _path_of(payload: Mapping[str, Any]) -> str:
    nested = payload.get("metadata")
    every = {**payload, **(nested if isinstance(nested, dict) else {})}
    return next((every[key] for key in PATH_KEYS if every.get(key) and isinstance(every[key], str)), "")


def _of_points(
    name: str, kind: str, points: Iterable[tuple[str, Mapping[str, Any], Vectors]]
) -> StoreSnapshot:
    rows = [(one, _path_of(payload), _text_of(payload), vector) for one, payload, vector in points]
    return _snapshot(name, kind, "add the documents again with the program that made the store", rows)


def _qdrant(folder: Path) -> StoreSnapshot | None:
    files = sorted(folder.glob("collection/*/storage.sqlite"))
    if not files:
        return None
    return _of_points(str(folder), "Qdrant's", (point for file in files for point in _qdrant_points(file)))


def _qdrant_points(file: Path) -> Iterator[tuple[str, Mapping[str, Any], Vectors]]:
    """The points of a collection; Qdrant scales the vectors of one that compares by cosine to length 1."""
    known = json.loads((file.parents[2] / "meta.json").read_text(encoding="utf-8"))["collections"]
    by_cosine = '"Cosine"' in json.dumps(known.get(file.parent.name))
    with reading(file) as db:
        for (content,) in _rows(db, "SELECT point FROM points ORDER BY rowid"):
            point = unpickled(content).kept
            vectors = point.get("vector")
            if isinstance(vectors, dict):  # by name: sparse ones are objects
                vectors = next((one for one in vectors.values() if isinstance(one, list)), None)
            vector = vector_of(vectors)
            vector = unit(vector[None])[0] if by_cosine and vector.size else vector
            yield _plain(point.get("id")), point.get("payload") or {}, vector


def _chroma(folder: Path) -> StoreSnapshot | None:
    file = folder / "chroma.sqlite3"
    if not file.exists():
        return None
    with reading(file) as db:
        ids = _rows(db, "SELECT id, embedding_id FROM embeddings ORDER BY id")
        rows: dict[int, tuple[str, dict[str, Any]]] = {row: (name, {}) for row, name in ids}
        for row, key, value in _rows(db, "SELECT id, key, string_value FROM embedding_metadata"):
            if row in rows and value is not None:
                rows[row][1][key] = value
        queue = _rows(db, "SELECT id, operation, vector FROM embeddings_queue ORDER BY seq_id")
        searched = dict(_rows(db, "SELECT rowid, string_value FROM embedding_fulltext_search"))
        segments = [one for (one,) in _rows(db, "SELECT id FROM segments WHERE scope = 'VECTOR'")]
    if any(not isinstance(one, str) or Path(one).name != one for one in segments):
        raise ValueError("a segment is no name of a folder in it")
    vectors = {name: one for segment in segments for name, one in _hnsw(folder / segment)}
    for name, operation, stored in queue:
        if operation == 3:
            vectors.pop(name, None)
        elif stored is not None:
            vectors[name] = vector_of(stored)
    points = [(name, kept, vectors.get(name, MISSING)) for name, kept in rows.values()]
    by_name = {rows[row][0]: text for row, text in searched.items() if row in rows}
    return replace(_of_points(str(folder), "Chroma's", points), full_text=by_name)


HEADER = "<iQQQQQQ"
"""The beginning of header.bin: its version, level 0, most and present elements, size, label, data."""


def _hnsw(folder: Path) -> Iterator[tuple[str, Vectors]]:
    """The vectors of Chroma's HNSW files by id; none before they are first written."""
    header, level, known = (
        folder / name for name in ("header.bin", "data_level0.bin", "index_metadata.pickle")
    )
    if not (header.exists() and level.exists() and known.exists()):
        return
    _, _, _, count, size, label_at, data_at = struct.unpack_from(HEADER, header.read_bytes())
    content = level.read_bytes()
    if not (data_at <= label_at <= size - 8 and count * size <= len(content)):
        raise ValueError(f"{header} speaks of {count:,} vectors of {size:,} bytes, more than there are")
    named = unpickled(known.read_bytes())
    labels = (named.kept if isinstance(named, _Inert) else named)["label_to_id"]
    for number in range(count):
        one = content[number * size : (number + 1) * size]
        (label,) = struct.unpack_from("<Q", one, label_at)
        if label in labels:
            yield labels[label], vector_of(one[data_at:label_at])


FLAT = {b"IxFI", b"IxF2", b"IxFl"}


def _faiss(folder: Path) -> StoreSnapshot | None:
    files = sorted(folder.glob("*.faiss"))
    if not files:
        return None
    return _of_points(str(folder), "FAISS", (point for file in files for point in _faiss_points(file)))


def _faiss_points(file: Path) -> Iterator[tuple[str, Mapping[str, Any], Vectors]]:
    """The documents of one flat FAISS index, as LangChain and mem0 keep them beside it."""
    content = file.read_bytes()
    if content[:4] not in FLAT:
        raise InputError(
            f"{file} is a FAISS index of the kind {content[:4].decode(errors='replace')}.",
            "The doctor reads flat indexes (IndexFlatL2, IndexFlatIP).",
        )
    dimensions, count = struct.unpack_from("<iq", content, 4)
    if not (dimensions > 0 and count >= 0 and 16 + 4 * dimensions * count <= len(content)):
        raise ValueError(f"{file} speaks of {count:,} vectors of {dimensions:,} numbers, more than there are")
    vectors = np.frombuffer(content, "<f4", dimensions * count, len(content) - 4 * dimensions * count)
    documents, names = unpickled(file.with_suffix(".pkl").read_bytes())
    kept = documents.kept.get("_dict", {}) if isinstance(documents, _Inert) else documents
    for number, vector in enumerate(vectors.reshape(count, dimensions)):
        name = names.get(number, "")
        found = kept.get(name)
        yield str(name or number), found.kept if isinstance(found, _Inert) else found or {}, vector
    for name in sorted(set(kept) - set(names.values())):
        yield str(name), kept[name].kept if isinstance(kept[name], _Inert) else kept[name], MISSING


FILES: tuple[Callable[[Path], StoreSnapshot | None], ...] = (_ours, _basic_memory, _openclaw)
FOLDERS: tuple[Callable[[Path], StoreSnapshot | None], ...] = (_qdrant, _chroma, _faiss)
