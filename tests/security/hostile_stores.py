"""Hostile stores of the six kinds that the workbench reads, made from sound ones by a number.

A sound store has three chunks. An attack changes one thing in it: bytes, sizes, types, tables, or what kind
of file lies there.
"""

from __future__ import annotations

import json
import os
import pickle
import random
import shutil
import socket
import struct
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import apsw
import numpy as np
import sqlite_vec

from tests.lab.doctor import stores
from tests.lab.doctor.stores import Row
from tests.security.forged_stores import FORGED, Point, databases, decoy, files, linked_outside

TEXTS = {"tea.md": "Tea is in the pot.", "bike.md": "The bike has a flat.", "sea.md": "The sea is far."}
SPARSE = 5_000_000_000


def _vectors() -> np.ndarray:
    return np.eye(3, 384, dtype=np.float32)


def qdrant(rows: list[Row], notes: Path, place: Path) -> Path:
    folder = place / "qdrant" / "collection" / "notes"
    folder.mkdir(parents=True)
    vectors = {"size": 384, "distance": "Cosine"}
    meta = {"collections": {"notes": {"vectors": vectors}}}
    (place / "qdrant" / "meta.json").write_text(json.dumps(meta), encoding="utf-8")
    db = apsw.Connection(str(folder / "storage.sqlite"))
    db.execute("CREATE TABLE points (id TEXT PRIMARY KEY, point BLOB)")
    for at, row in enumerate(rows):
        payload = {"data": row.text, "source": row.path}
        point = Point(id=f"p{at}", vector=row.vector.tolist(), payload=payload)
        db.execute("INSERT INTO points VALUES (?, ?)", (f"p{at}", pickle.dumps(point)))
    db.close()
    return place / "qdrant"


CHROMA = """
    CREATE TABLE embeddings (id INTEGER PRIMARY KEY, segment_id TEXT, embedding_id TEXT);
    CREATE TABLE embedding_metadata (id INTEGER, key TEXT, string_value TEXT);
    CREATE TABLE embeddings_queue (seq_id INTEGER PRIMARY KEY, operation INTEGER, id TEXT, vector BLOB);
    CREATE TABLE segments (id TEXT, scope TEXT);
    CREATE VIRTUAL TABLE embedding_fulltext_search USING fts5 (string_value, tokenize = 'trigram');
    INSERT INTO segments VALUES ('s', 'VECTOR');
"""


def chroma(rows: list[Row], notes: Path, place: Path) -> Path:
    folder = place / "chroma"
    (folder / "s").mkdir(parents=True)
    db = apsw.Connection(str(folder / "chroma.sqlite3"))
    db.execute(CHROMA)
    level = b""
    for at, row in enumerate(rows, 1):
        db.execute("INSERT INTO embeddings VALUES (?, 's', ?)", (at, f"c{at}"))
        values = {"chroma:document": row.text, "source": row.path}
        for key, value in values.items():
            db.execute("INSERT INTO embedding_metadata VALUES (?, ?, ?)", (at, key, value))
        db.execute(
            "INSERT INTO embedding_fulltext_search (rowid, string_value) VALUES (?, ?)", (at, row.text)
        )
        if at == 1:
            blob = row.vector.tobytes()
            db.execute("INSERT INTO embeddings_queue VALUES (1, 0, 'c1', ?)", (blob,))
        level += b"\0" * 8 + row.vector.tobytes() + struct.pack("<Q", at)
    db.close()
    size = 8 + 4 * 384 + 8
    header = struct.pack("<iQQQQQQ", 1, 0, 10, len(rows), size, size - 8, 8)
    (folder / "s" / "header.bin").write_bytes(header)
    (folder / "s" / "data_level0.bin").write_bytes(level)
    labels = {"label_to_id": {at: f"c{at}" for at in range(1, len(rows) + 1)}}
    (folder / "s" / "index_metadata.pickle").write_bytes(pickle.dumps(labels))
    return folder


def faiss(rows: list[Row], notes: Path, place: Path) -> Path:
    folder = place / "faiss"
    folder.mkdir()
    data = np.vstack([row.vector for row in rows]).tobytes()
    header = b"IxF2" + struct.pack("<iq", 384, len(rows)) + b"\0" * 21 + struct.pack("<q", len(data))
    (folder / "index.faiss").write_bytes(header + data)
    kept = {f"d{at}": {"page_content": row.text, "source": row.path} for at, row in enumerate(rows)}
    names = {at: f"d{at}" for at in range(len(rows))}
    (folder / "index.pkl").write_bytes(pickle.dumps((kept, names)))
    return folder


KINDS: dict[str, Callable[[list[Row], Path, Path], Path]] = {
    "ours": stores.ours,
    "openclaw": stores.openclaw,
    "basic-memory": stores.basic_memory,
    "qdrant": qdrant,
    "chroma": chroma,
    "faiss": faiss,
}


def sound(kind: str, place: Path) -> Path:
    """A sound store of a kind, in the folder `place`, with its notes beside it."""
    notes = place / "notes"
    notes.mkdir(parents=True)
    for name, text in TEXTS.items():
        (notes / name).write_text(text, encoding="utf-8")
    rows = [Row(name, text, one) for (name, text), one in zip(TEXTS.items(), _vectors(), strict=True)]
    return KINDS[kind](rows, notes, place)


# Attacks: each changes a store at `place`, with a source of chance

Attack = Callable[[Path, random.Random], object]


def _pick(place: Path, chance: random.Random) -> Path:
    return chance.choice(files(place))


def flipped(place: Path, chance: random.Random) -> None:
    file = _pick(place, chance)
    data = bytearray(file.read_bytes())
    for _ in range(chance.choice((1, 8, 200))):
        data[chance.randrange(len(data))] = chance.randrange(256)
    file.write_bytes(data)


def cut(place: Path, chance: random.Random) -> None:
    file = _pick(place, chance)
    data = file.read_bytes()
    file.write_bytes(data[: chance.choice((0, 1, 7, 20, 100, len(data) // 2, len(data) - 1))])


def repeated(place: Path, chance: random.Random) -> None:
    file = _pick(place, chance)
    file.write_bytes(file.read_bytes() * chance.choice((2, 3)))


def noise(place: Path, chance: random.Random) -> None:
    _pick(place, chance).write_bytes(chance.randbytes(chance.choice((1, 16, 5_000))))


def sparse(place: Path, chance: random.Random) -> None:
    with _pick(place, chance).open("r+b" if chance.random() < 0.7 else "wb") as file:
        file.truncate(SPARSE)


def pipe(place: Path, chance: random.Random) -> None:
    file = _pick(place, chance)
    file.unlink()
    os.mkfifo(file)


def pipe_beside(place: Path, chance: random.Random) -> None:
    file = chance.choice(databases(place) or files(place))
    for end in ("-wal", "-shm", "-journal"):
        file.with_name(file.name + end).unlink(missing_ok=True)
    os.mkfifo(file.with_name(file.name + chance.choice(("-wal", "-shm", "-journal"))))


def folder_instead(place: Path, chance: random.Random) -> None:
    file = _pick(place, chance)
    file.unlink()
    (file / "in" / "it").mkdir(parents=True)


def socket_instead(place: Path, chance: random.Random) -> None:
    file = _pick(place, chance)
    file.unlink()
    back = Path.cwd()
    os.chdir(file.parent)  # the address of a socket is short
    try:
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(file.name)
    finally:
        os.chdir(back)


def linked(place: Path, chance: random.Random) -> None:
    linked_outside(_pick(place, chance), place, chance)


NUMBERS = (0, 1, -1, 2**31 - 1, 2**31, 10**9, 2**40, 2**62, 2**63 - 1)


def header(place: Path, chance: random.Random) -> None:
    """A number in the beginning of a file that speaks of more than there is."""
    file = _pick(place, chance)
    data = bytearray(file.read_bytes())
    at = chance.randrange(0, min(80, max(1, len(data) - 8)), 4)
    data[at : at + 8] = struct.pack("<q", chance.choice(NUMBERS))
    file.write_bytes(data)


PICKLES = [
    b"\x80\x02r\xff\xff\xff\x0fN.",  # a memo of 4 GB
    b"\x80\x05\x96" + struct.pack("<Q", 4_000_000_000) + b".",
    b"\x80\x04\x8e" + struct.pack("<Q", 2**40) + b".",
    b"\x80\x02]" + b"(" * 1_000_000 + b".",
    b"\x80\x02" + b"]" * 300_000 + b"a" * 299_999 + b".",
    b"cos\nsystem\n(S'touch ran'\ntR.",
    b"\x80\x02]q\x00" + b"".join(b"]q\x01(h\x00h\x00eq\x00" for _ in range(60)) + b".",
    b"I" + b"9" * 100_000 + b"\n.",
    b".", b"N.", b"", b"\x80\xff.", b"}.", b"(t.",
    b"\x80\x02cbuiltins\nobject\n)\x81}(X\x01\x00\x00\x00aK\x01ub.",
]  # fmt: skip


def doubled(depth: int) -> list[object]:
    """A list in which each list is there twice: 2 to the power of `depth` in all."""
    made: list[object] = ["x"]
    for _ in range(depth):
        made = [made, made]
    return made


ODD_POINTS = [
    {"id": "a", "vector": doubled(40), "payload": {"data": "x"}},
    {"id": doubled(40), "vector": [1.0], "payload": {"data": doubled(40)}},
    {"id": None, "vector": {"a": "b"}, "payload": [1]},
    {"id": "a", "vector": [10**400], "payload": {"data": 1, "source": doubled(40)}},
    {"id": 1, "vector": ["x"], "payload": {"metadata": [], "data": b"\xff"}},
    {"id": "a", "vector": [float("nan")] * 3, "payload": None},
    {"vector": [[1.0, 2.0], [3.0]], "payload": {1: 2}},
]


def pickled(place: Path, chance: random.Random) -> None:
    """Another pickle in place of one, or of a point."""
    known = [one for one in files(place) if one.suffix in (".pkl", ".pickle")]
    content = chance.choice(PICKLES)
    if known:
        known[0].write_bytes(content)
        return
    for file in databases(place):
        db = apsw.Connection(str(file))
        if db.execute("SELECT 1 FROM sqlite_schema WHERE name = 'points'").fetchall():
            content = chance.choice([*PICKLES, *(pickle.dumps(Point(**one)) for one in ODD_POINTS)])
            db.execute("UPDATE points SET point = ?", (content,))
        db.close()


JSONS = [
    "",
    "null",
    "[]",
    "1",
    '"x"',
    "[" * 100_000,
    '{"model": 1}',
    '{"model": [], "revision": {}}',
    "\ud800",
]
JSONS += ['{"heads": 5}', '{"a": 1e999, "dimensions": -1}', '{"collections": []}', '{"collections": 3}']


def settings(place: Path, chance: random.Random) -> None:
    """Another JSON in a file or in the table of what a store says of itself."""
    for file in files(place):
        if file.suffix == ".json":
            file.write_text(chance.choice(JSONS), encoding="utf-8", errors="surrogatepass")
    for file in databases(place):
        db = _opened(file)
        if db.execute("SELECT 1 FROM sqlite_schema WHERE name = 'meta'").fetchall():
            keys = [key for (key,) in db.execute("SELECT key FROM meta")]
            value = chance.choice(JSONS).encode("utf-8", "surrogatepass").decode(errors="replace")
            db.execute("UPDATE meta SET value = ? WHERE key = ?", (value, chance.choice(keys)))
        db.close()


def _opened(file: Path) -> apsw.Connection:
    db = apsw.Connection(str(file))
    db.enable_load_extension(True)
    db.load_extension(sqlite_vec.loadable_path())
    db.enable_load_extension(False)
    return db


def _tables(db: apsw.Connection) -> list[str]:
    return [
        name
        for (name,) in db.execute(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
        )
    ]


VALUES = (
    None,
    0,
    -1,
    2**62,
    1e300,
    "",
    "x" * 1_000,
    "\0",
    b"",
    b"\xff\xfe",
    b"\0" * 5,
    "[1, 2",
    "[]",
    "[[1]]",
)


def typed(place: Path, chance: random.Random) -> None:
    """Another value in one column of one table."""
    for file in databases(place):
        db = _opened(file)
        with suppress(apsw.Error):
            table = chance.choice(_tables(db))
            columns = [name for (name,) in db.execute("SELECT name FROM pragma_table_info(?)", (table,))]
            db.execute(f'UPDATE "{table}" SET "{chance.choice(columns)}" = ?', (chance.choice(VALUES),))
        db.close()


VIEWS = (
    "WITH RECURSIVE a (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM a) SELECT {columns} FROM a",
    "WITH RECURSIVE a (n) AS (SELECT 1 UNION ALL SELECT n FROM a) SELECT {columns} FROM a WHERE n < 0",
    "SELECT {columns} FROM (SELECT zeroblob(900000000) AS n)",
    "SELECT {columns} FROM (SELECT 1 AS n UNION ALL SELECT 2)",
    'SELECT {columns} FROM "{table}" AS n',
)


def view(place: Path, chance: random.Random) -> None:
    """A view in place of a table."""
    for file in databases(place):
        db = _opened(file)
        with suppress(apsw.Error):
            table = chance.choice(_tables(db))
            columns = [name for (name,) in db.execute("SELECT name FROM pragma_table_info(?)", (table,))]
            db.execute(f'DROP TABLE "{table}"')
            chosen = ", ".join(f'n AS "{one}"' for one in columns)
            sql = chance.choice(VIEWS).replace("{table}", table).replace("{columns}", chosen)
            db.execute(f'CREATE VIEW "{table}" AS {sql}')
        db.close()


def content_in_a_view(place: Path, chance: random.Random) -> None:
    """Full-text tables whose content is a view that does not end."""
    for file in databases(place):
        db = _opened(file)
        for name, sql in db.execute("SELECT name, sql FROM sqlite_schema WHERE sql LIKE '%fts5%'").fetchall():
            with suppress(apsw.Error, ValueError):
                db.execute(f'DROP TABLE "{name}"')
                columns = [one.split()[0] for one in sql[sql.index("(") + 1 : sql.rindex(")")].split(",")]
                names = [one for one in columns if "=" not in one]
                chosen = ", ".join(f'n AS "{one}"' for one in names)
                db.execute(f"CREATE VIEW endless AS {VIEWS[0].replace('{columns}', chosen)}")
                db.execute(
                    f'CREATE VIRTUAL TABLE "{name}" USING fts5 ({", ".join(names)}, content = endless)'
                )
        db.close()


def dropped(place: Path, chance: random.Random) -> None:
    for file in databases(place):
        db = _opened(file)
        with suppress(apsw.Error):
            db.execute(f'DROP TABLE "{chance.choice(_tables(db))}"')
        db.close()


def schema(place: Path, chance: random.Random) -> None:
    """Other words in the schema itself."""
    for file in databases(place):
        db = _opened(file)
        db.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
        db.execute("PRAGMA writable_schema = 1")
        sql = chance.choice(("", "CREATE TABLE x", "CREATE VIRTUAL TABLE x USING fts5 (", "\0", "SELECT 1"))
        table = chance.choice(_tables(db))
        db.execute("UPDATE sqlite_schema SET sql = ? WHERE name = ?", (sql, table))
        db.close()


def many_rows(place: Path, chance: random.Random) -> None:
    for file in databases(place):
        db = _opened(file)
        with suppress(apsw.Error):
            table = chance.choice(_tables(db))
            db.execute(f'CREATE TABLE again AS SELECT * FROM "{table}"')
            for _ in range(11):
                db.execute("INSERT INTO again SELECT * FROM again")
            db.execute(f'DROP TABLE "{table}"')
            db.execute(f'ALTER TABLE again RENAME TO "{table}"')
        db.close()


def emptied(place: Path, chance: random.Random) -> None:
    file = _pick(place, chance)
    file.unlink()
    if chance.random() < 0.3 and file.parent != place.parent:
        shutil.rmtree(file.parent)


def crowded(place: Path, chance: random.Random) -> None:
    """Very many files in a store's folder, or beside its file."""
    folder = place if place.is_dir() else place.parent
    for number in range(2_000):
        (folder / f"{number}.faiss").touch()


ATTACKS: dict[str, Attack] = {
    one.__name__: one
    for one in (
        flipped, cut, repeated, noise, sparse, pipe, pipe_beside, folder_instead, socket_instead, linked,
        header, pickled, settings, typed, view, content_in_a_view, dropped, schema, many_rows, emptied,
        crowded,
    )
} | FORGED  # fmt: skip


def numbered(number: int, sounds: Path, place: Path) -> tuple[str, str, Path]:
    """The kind, the attack and the place of the hostile store of this number.

    `sounds` is a folder with a sound store of each kind, and is filled where one is missing.
    """
    chance = random.Random(number)
    kind = list(KINDS)[number % len(KINDS)]
    attack = list(ATTACKS)[number // len(KINDS) % len(ATTACKS)]
    if not (sounds / kind).is_dir():
        sound(kind, sounds / kind)
    shutil.copytree(sounds / kind, place, symlinks=True)
    name = {"ours": "index.sqlite", "openclaw": "main.sqlite", "basic-memory": "memory.db"}.get(kind, kind)
    store = place / name
    decoy(store)
    ATTACKS[attack](store, chance)
    return kind, attack, store
