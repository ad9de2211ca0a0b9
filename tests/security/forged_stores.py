"""Attacks on a store by somebody who knows its format: forged rows, schemas, pickles, names and side files.

Each attack changes a sound store at `place`, with a source of chance, and never writes through a link. A text
or a name that must not be read as a path, an escape or a script is in `ODD_TEXTS`.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import pickle
import random
import shutil
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import apsw
import numpy as np
import sqlite_vec

from workbench.memory.store.sqlite.database import checksum_vfs

DECOY = "what only a file outside of the store says"
"""The text of the file that links lead to. No command prints it, and none changes it."""
DECOY_NAME = "outside.txt"
ODD_TEXTS = (
    f"../{DECOY_NAME}", "/etc/passwd", "../../../../../../etc/passwd", "~root/.ssh/id_rsa", "$HOME/.bashrc",
    r"\\host\share\a.md", "file:///etc/passwd", "http://127.0.0.1:9/a.md", "a\0b.md", "\u202egnp.md",
    "\x1b]0;title\x07\x1b[2J.md", "a\nb\r\nc.md", "<script>alert(1)</script>.md", "@CASE@{0}%s${x}", "-rf",
    " ", ".", "..", "a/" * 50_000, "x" * 1_000_000, "[[" * 100_000, "\ud800.md", "é" * 300, "\U0010ffff",
    "٣.md", "NUL", "con.md", "`id`; id",
)  # fmt: skip
WIDE = 2**63 - 1


def files(place: Path) -> list[Path]:
    """The files of a store, in order; never a link, through which a change would leave the store."""
    found = [place.resolve()] if place.is_file() else sorted(place.rglob("*"))
    if place.is_file() and not found[0].is_relative_to(place.parent.resolve()):
        raise ValueError(f"{place} leads to a file elsewhere, which no attack may change")
    return [one for one in found if one.is_file() and not one.is_symlink()]


def databases(place: Path) -> list[Path]:
    """The SQLite files of a store."""
    return [one for one in files(place) if one.read_bytes()[:6] == b"SQLite"]


def decoy(place: Path) -> Path:
    """A file beside a store that no command may print or change."""
    file = place.parent / DECOY_NAME
    file.write_text(DECOY, encoding="utf-8")
    return file


def linked_outside(file: Path, place: Path, chance: random.Random) -> None:
    """Puts a link into the place of a file: to the decoy, to itself, to a folder, or to nothing."""
    outside = decoy(place)
    file.unlink(missing_ok=True)
    file.symlink_to(chance.choice((outside, file.name, outside.parent, outside.with_name("nothing"))))


@contextmanager
def opened(file: Path) -> Iterator[apsw.Connection]:
    """A database whose schema can be written; an index of the workbench keeps its checksums."""
    with closing(apsw.Connection(str(file), vfs=checksum_vfs())) as db:
        db.enable_load_extension(True)
        db.load_extension(sqlite_vec.loadable_path())
        db.enable_load_extension(False)
        db.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
        yield db


def tables(db: apsw.Connection, kind: str = "%") -> list[tuple[str, str]]:
    """The names and the SQL of tables, those whose SQL is like `kind`."""
    found = db.execute(
        "SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' "
        "AND sql LIKE ? ORDER BY name",
        (kind,),
    )
    return [(name, sql) for name, sql in found]


def columns(db: apsw.Connection, table: str) -> list[str]:
    return [name for (name,) in db.execute("SELECT name FROM pragma_table_info(?)", (table,))]


def rewritten(db: apsw.Connection, name: str, sql: str, kind: str = "table") -> None:
    """Another definition of a table in the schema itself."""
    db.execute("PRAGMA writable_schema = 1")
    db.execute("UPDATE sqlite_schema SET sql = ?, type = ? WHERE name = ?", (sql, kind, name))
    db.execute("PRAGMA writable_schema = 0")


# Databases

SLOW = "hex(zeroblob(4000)) LIKE '%0%0%0%0%0%0%0%0%0%1'"
"""An expression with a pattern of many parts over a long text."""
COMPUTED = (
    f"(CASE WHEN {SLOW} THEN 1 END)",
    "(hex(zeroblob(49000000)))",
    "(replace(hex(zeroblob(9000000)), '0', 'xxxx'))",
    "(1)",
    "(CAST(x'ff' AS TEXT))",
    "(json_extract('[', '$'))",
)


def computed(place: Path, chance: random.Random) -> None:
    """A computed column in place of one of a table."""
    for file in databases(place):
        with opened(file) as db, suppress(apsw.Error, IndexError):
            name, _ = chance.choice([one for one in tables(db) if "VIRTUAL" not in one[1].upper()])
            names = columns(db, name)
            slow = chance.choice(names[1:] or names)
            defined = ", ".join(
                f'"{one}" AS {chance.choice(COMPUTED)}' if one == slow else f'"{one}"' for one in names
            )
            db.execute(f'ALTER TABLE "{name}" RENAME TO was')
            db.execute(f'CREATE TABLE "{name}" ({defined})')
            rest = ", ".join(f'"{one}"' for one in names if one != slow)
            db.execute(f'INSERT INTO "{name}" ({rest}) SELECT {rest} FROM was')
            db.execute("DROP TABLE was")


def inner_view(place: Path, chance: random.Random) -> None:
    """A view in place of a table that a virtual table keeps its rows in."""
    for file in databases(place):
        with opened(file) as db, suppress(apsw.Error, IndexError):
            name, _ = chance.choice(tables(db, "%VIRTUAL%"))
            inner = chance.choice([one for one, _ in tables(db) if one.startswith(f"{name}_")])
            chosen = ", ".join(f'n AS "{one}"' for one in columns(db, inner))
            rows = "WITH RECURSIVE a (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM a)"
            rewritten(db, inner, f'CREATE VIEW "{inner}" AS {rows} SELECT {chosen} FROM a', "view")


INNER = (b"", b"\0", b"\xff" * 8, b"\xff" * 100_000, None, -1, WIDE, "x", b"\1" * 128, b"\0" * 4_000_000)


def inner_rows(place: Path, chance: random.Random) -> None:
    """Other values in the tables that a virtual table keeps its rows in."""
    for file in databases(place):
        with opened(file) as db:
            for name, _ in tables(db, "%VIRTUAL%"):
                for inner, _ in tables(db):
                    if inner.startswith(f"{name}_") and chance.random() < 0.7:
                        column = chance.choice(columns(db, inner))
                        with suppress(apsw.Error, IndexError):
                            value = chance.choice(INNER)
                            db.execute(f'UPDATE "{inner}" SET "{column}" = ? WHERE random() % 2', (value,))


ARGUMENTS = (
    "vec0 (embedding float[2147483647])", "vec0 (embedding float[1], chunk_size = 8)",
    "vec0 (embedding float[8192], chunk_size = 4096)", "vec0 (embedding float[0])", "vec0 (embedding bit[8])",
    "vec0 (embedding int8[384])",
    "vec0 (embedding float[384] distance_metric = cosine, a text partition key, b float, +c text)",
    "fts5 (string_value, id, text, tokenize = 'unicode61 tokenchars ''abc''')", "fts5 (text, content = '')",
    "fts5 (id, text, title, prefix = '1 2 3 4 5 999')", "fts5 (text, tokenize = 'no_such')",
    "fts5 (text, detail = none, columnsize = 0)", "fts5 (text, content = sqlite_schema)",
    "rtree (id, a, b)", "fts4 (text)", "fts5vocab (chunks_fts, instance)", "dbstat", "sqlite_dbpage",
    "csv (filename = '/etc/passwd')", "vec_npy_each", "no_such_module (a)", "fts5 (" + "a, " * 3_000 + "b)",
)  # fmt: skip


def arguments(place: Path, chance: random.Random) -> None:
    """Another module, or other arguments, of a virtual table, or a virtual table in place of a table."""
    for file in databases(place):
        with opened(file) as db, suppress(apsw.Error, IndexError):
            name, _ = chance.choice(tables(db, "%VIRTUAL%" if chance.random() < 0.8 else "%"))
            rewritten(db, name, f'CREATE VIRTUAL TABLE "{name}" USING {chance.choice(ARGUMENTS)}')


def expressions(place: Path, chance: random.Random) -> None:
    """Indexes, checks and triggers with an expression of the store."""
    for file in databases(place):
        with opened(file) as db, suppress(apsw.Error, IndexError):
            name, sql = chance.choice([one for one in tables(db) if "VIRTUAL" not in one[1].upper()])
            column = columns(db, name)[0]
            match chance.randrange(4):
                case 0:
                    db.execute(f'CREATE INDEX odd ON "{name}" ("{column}")')
                    rewritten(db, "odd", f'CREATE INDEX odd ON "{name}" (({SLOW}))', "index")
                case 1:
                    db.execute(f'CREATE INDEX odd ON "{name}" ("{column}")')
                    rewritten(db, "odd", f'CREATE INDEX odd ON "{name}" ("{column}") WHERE {SLOW}', "index")
                case 2:
                    rewritten(db, name, sql.rstrip().removesuffix(")") + f", CHECK ({SLOW}))")
                case _:
                    body = f'SELECT {SLOW}; DELETE FROM "{name}";'
                    db.execute(f'CREATE TRIGGER odd AFTER INSERT ON "{name}" BEGIN {body} END')


def schemas(place: Path, chance: random.Random) -> None:
    """A schema that is very long, very deep, or has very many tables or columns."""
    for file in databases(place):
        with opened(file) as db, suppress(apsw.Error, IndexError):
            match chance.randrange(4):
                case 0:
                    wide = ", ".join(f"c{number} TEXT DEFAULT 'x'" for number in range(1_900))
                    db.execute(f"CREATE TABLE wide ({wide})")
                case 1:
                    with db:
                        for number in range(3_000):
                            db.execute(f"CREATE TABLE t{number} (a)")
                case 2:
                    db.execute(f"CREATE TABLE deep (a CHECK ({'(' * 900}1{')' * 900}))")
                case _:
                    db.execute(f"CREATE TABLE long (a DEFAULT '{'x' * 900_000}')")


def _texts(db: apsw.Connection) -> list[tuple[str, str]]:
    """The columns of text in the tables of a store."""
    virtual = [name for name, _ in tables(db, "%VIRTUAL%")]
    inner = tuple(f"{name}_" for name in virtual)
    return [
        (name, column)
        for name, _ in tables(db)
        if name not in virtual and not name.startswith(inner)
        for column in columns(db, name)
        if column not in ("id", "point", "embedding", "vector", "seq_id", "key")
    ]


def odd_texts(place: Path, chance: random.Random) -> None:
    """A path, a name or a text that is meant for another reader, in a column or in a payload."""
    odd = chance.choice(ODD_TEXTS)
    for file in databases(place):
        with opened(file) as db:
            for name, column in chance.sample(_texts(db), min(3, len(_texts(db)))):
                with suppress(apsw.Error, UnicodeEncodeError):
                    db.execute(f'UPDATE OR IGNORE "{name}" SET "{column}" = ?', (odd,))
    payload = {"data": odd, "page_content": odd, "source": odd, "metadata": {"path": odd}}
    forged_points(place, chance, [{"id": odd, "vector": [1.0] * 384, "payload": payload}])


VALUES = (
    math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, 1e-45, 0.0, 2**31, 2**63 - 1, -(2**63),
    253402300800, 1e18, -62135596801, "2026-13-45", "9999-99-99T99:99:99Z",
)  # fmt: skip


def odd_numbers(place: Path, chance: random.Random) -> None:
    """A date, a line or a size beyond every calendar and file."""
    for file in databases(place):
        with opened(file) as db:
            every = [(name, column) for name, _ in tables(db) for column in columns(db, name)]
            for name, column in chance.sample(every, min(3, len(every))):
                with suppress(apsw.Error, IndexError):
                    value = chance.choice(VALUES)
                    db.execute(f'UPDATE OR IGNORE "{name}" SET "{column}" = ?', (value,))


def loosened(place: Path, chance: random.Random) -> None:
    """Any value in a table that was strict about its types."""
    for file in databases(place):
        with opened(file) as db, suppress(apsw.Error, IndexError):
            for name, sql in tables(db, "%STRICT%"):
                rewritten(db, name, sql.replace("NOT NULL", "").replace("STRICT", ""))
    for file in databases(place):
        with opened(file) as db:
            every = [(table, one) for table, _ in tables(db) for one in columns(db, table)]
            for name, column in every:
                if chance.random() < 0.1:
                    with suppress(apsw.Error, IndexError):
                        value = chance.choice((*VALUES, *INNER))
                        db.execute(f'UPDATE OR IGNORE "{name}" SET "{column}" = ?', (value,))


DEEP = "[" * 900 + "]" * 900
METAS = (
    '{"heads": [1, 2]}', '{"heads": ["/etc"], "anywhere": "x"}', '{"heads": null}', '{"anywhere": []}',
    '{"model": "' + "a-" * 100_000 + '", "revision": "r", "dimensions": 384}', f'{{"model": {DEEP}}}',
    '{"model": "http://127.0.0.1:9/m", "revision": "r", "dimensions": 384}',
    '{"dimensions": ' + "9" * 5_000 + "}", '{"model": "../../../../etc", "revision": ""}',
    '{"model": "openai/m", "revision": "\\ud800", "dimensions": 384}',
    '{"model": "\\ud800", "provider": "\\u001b[2J"}', '{"model": NaN, "vectorDims": -1}', "1" * 100_000,
    '{"collections": {"notes": {"vectors": "x"}}}', '{"collections": {"notes": {"vectors": ' + DEEP + "}}}",
    '{"a": 1, "a": 2, "": {}}', "{" + ", ".join(f'"{n}": {n}' for n in range(50_000)) + "}",
)  # fmt: skip


def metas(place: Path, chance: random.Random) -> None:
    """What a store says of itself, of another type or for another reader."""
    for file in files(place):
        if file.suffix == ".json":
            file.write_text(chance.choice(METAS), encoding="utf-8")
    for file in databases(place):
        with opened(file) as db:
            for name in ("meta", "memory_index_meta"):
                with suppress(apsw.Error, IndexError):
                    keys = [key for (key,) in db.execute(f"SELECT key FROM {name} ORDER BY key")]
                    keys = [one for one in keys if chance.random() < 0.3] or keys
                    values = [(chance.choice(METAS), key) for key in keys]
                    db.executemany(f"UPDATE {name} SET value = ? WHERE key = ?", values)


# Pickles and vectors


class Point:
    """What stands for the classes of other packages in a pickle."""

    def __init__(self, **values: object) -> None:
        vars(self).update(values)


def nested(depth: int) -> object:
    """A tuple in which each tuple is there twice; to hash it takes 2 to the power of `depth` steps."""
    made: tuple[object, ...] = ("x",)
    for _ in range(depth):
        made = (made, made)
    return made


def key_of_years(depth: int = 60) -> bytes:
    """A pickle of a dictionary with one key, which takes years to hash."""
    steps = b"".join(
        b"h" + bytes([one]) + b"h" + bytes([one]) + b"\x86q" + bytes([one + 1]) for one in range(depth)
    )
    return b"\x80\x02}(X\x01\x00\x00\x00x\x85q\x00" + steps + b"K\x01u."  # fmt: skip


def one_hash(count: int = 60_000) -> bytes:
    """A pickle of a dictionary whose keys all have the same hash."""
    return pickle.dumps(dict.fromkeys(number * (2**61 - 1) for number in range(1, count)))


PICKLES: tuple[Callable[[], bytes], ...] = (
    key_of_years,
    one_hash,
    lambda: b"\x80\x02" + b"(" * 5_000_000 + b".",
    lambda: b"\x80\x02" + b"N2" * 3_000_000 + b"t.",
    lambda: b"\x80\x04\x8b" + struct.pack("<i", 2**31 - 1) + b".",
    lambda: b"\x80\x04\x8a\xff" + b"\xff" * 255 + b".",
    lambda: b"L" + b"9" * 3_000_000 + b"L\n.",
    lambda: b"\x80\x04\x95" + struct.pack("<Q", WIDE) + b".",
    lambda: b"\x80\x02X" + struct.pack("<I", 2**32 - 1) + b".",
    lambda: b"\x80\x02P0\n.",
    lambda: b"\x80\x02cworkbench.cli\nmain\n)R.",
    lambda: b"\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x09touch ran\x85R.",
    lambda: pickle.dumps((dict.fromkeys(range(3), DEEP), dict.fromkeys(range(3), 0))),
    lambda: pickle.dumps({"label_to_id": {1: ["x"], 2: {}, 3: None}}),
    lambda: pickle.dumps({"label_to_id": dict.fromkeys(range(100), "c1")}),
    lambda: pickle.dumps(
        ({"d0": {"page_content": "x", "source": f"../{DECOY_NAME}"}}, {0: "d0", 1: "d0", 2: "d0"})
    ),
    lambda: pickle.dumps(({"\ud800": {"page_content": "\ud800", "source": "\ud800.md"}}, {0: "\ud800"})),
)


def pickles(place: Path, chance: random.Random) -> None:
    """Another pickle."""
    content = PICKLES[chance.randrange(len(PICKLES))]()
    for file in files(place):
        if file.suffix in (".pkl", ".pickle"):
            file.write_bytes(content)
    for file in databases(place):
        with opened(file) as db, suppress(apsw.Error, IndexError):
            db.execute("UPDATE points SET point = ?", (content,))


def _odd_vectors() -> list[object]:
    return [
        [], [0.0] * 384, [math.nan] * 384, [math.inf] * 384, [1e-45] * 384, [1e308] * 384, [10**300] * 384,
        [True] * 384, [None] * 384, ["1"] * 384, {"a": [1.0] * 384, "b": [2.0]}, {}, "[1, 2]", "[" * 5_000,
        b"\xff" * 1536, b"\xff" * 1537, [[1.0] * 384] * 2, [1.0] * 1_000_000, 5, "NaN", "[1e999]",
        [0.1] * 383, [1.0],
        "[" + ",".join(["1e-400"] * 384) + "]", "[" + "9" * 5_000 + "]",
    ]  # fmt: skip


def forged_points(place: Path, chance: random.Random, points: list[dict[str, object]]) -> None:
    """Points of a Qdrant store, and documents of a FAISS store, with other values."""
    for file in databases(place):
        with opened(file) as db, suppress(apsw.Error, IndexError):
            db.execute("UPDATE points SET point = ?", (pickle.dumps(Point(**chance.choice(points))),))
    for file in files(place):
        if file.name == "index.pkl":
            payload = chance.choice(points)["payload"]
            file.write_bytes(pickle.dumps(({f"d{at}": payload for at in range(4)}, {0: "d0", 1: "d1"})))


def vectors(place: Path, chance: random.Random) -> None:
    """Vectors that are no unit vectors, no numbers, no list, or of no length."""
    odd = _odd_vectors()
    forged_points(place, chance, [{"id": 1, "vector": chance.choice(odd), "payload": {"data": "tea"}}])
    wrong = np.array([chance.choice([math.nan, math.inf, 3e38, 1e-45, 0.0])] * 384, "<f4").tobytes()
    for file in files(place):
        if file.name in ("index.faiss", "data_level0.bin"):
            data = file.read_bytes()
            file.write_bytes(data[: -len(wrong)] + wrong)
    texts = [one for one in odd if isinstance(one, str | bytes | int)] + [wrong]
    for file in databases(place):
        with opened(file) as db:
            for name, _ in tables(db):
                for column in {"embedding", "vector"} & {*columns(db, name)}:
                    with suppress(apsw.Error, IndexError):
                        db.execute(f'UPDATE "{name}" SET "{column}" = ?', (chance.choice(texts),))


def long_text(place: Path, chance: random.Random) -> None:
    """One text of 20 MB, of one word or of many."""
    text = chance.choice(("tea ", "x", "\n", "a-", "# a\n", "é", "\t")) * 5_000_000
    payload: dict[str, object] = {"data": text, "page_content": text, "source": "tea.md"}
    forged_points(place, chance, [{"id": 1, "vector": [0.05] * 384, "payload": payload}])
    for file in databases(place):
        with opened(file) as db:
            for name in ("text", "chunk_text", "string_value"):
                for table in [table for table, _ in tables(db) if name in columns(db, table)]:
                    with suppress(apsw.Error, IndexError):
                        db.execute(f'UPDATE "{table}" SET "{name}" = ? WHERE rowid = 1', (text,))


# Files and sizes

SIZES = (0, 1, 7, 8, 16, 2**31 - 1, 2**32, 2**61, 2**63 - 1, -1, -(2**63))


def sizes(place: Path, chance: random.Random) -> None:
    """A header in which sizes contradict each other, in either direction."""
    for file in files(place):
        if file.name == "index.faiss":
            dimensions = chance.choice((0, 1, 3, -1, 383, 2**31 - 1, -(2**31)))
            head = chance.choice((b"IxF2", b"IxFI", b"IxFl", b"IHNf", b"IwFl", b"\0\0\0\0"))
            count = chance.choice(SIZES)
            file.write_bytes(head + struct.pack("<iq", dimensions, count) + file.read_bytes()[16:])
        if file.name == "header.bin":
            wrong = [chance.choice(SIZES) & (2**64 - 1) for _ in range(6)]
            known = list(struct.unpack("<iQQQQQQ", file.read_bytes()[:52]))
            at = chance.sample(range(6), chance.randrange(1, 6))
            mixed = [wrong[one] if one in at else known[one + 1] for one in range(6)]
            file.write_bytes(struct.pack("<iQQQQQQ", 1, *mixed)[: chance.choice((52, 52, 20, 0))])
        if file in databases(place):
            with file.open("r+b") as out:
                out.seek(chance.choice((16, 18, 20, 28, 32, 36, 52, 56, 100, 105)))
                out.write(struct.pack(">I", chance.choice(SIZES) & (2**32 - 1)))


def beside(place: Path, chance: random.Random) -> None:
    """A log or a journal of somebody else beside a database, which may name a file elsewhere."""
    found = databases(place) or files(place)
    file = chance.choice([*found, place]) if place.is_file() else chance.choice(found)
    end = chance.choice(("-wal", "-journal", "-shm", ".lock", ".words"))
    name = file.with_name(file.name + end)
    name.unlink(missing_ok=True)
    victim = str(place.parent / "notes" / "tea.md").encode()
    super_journal = struct.pack(">I", 0x40000000 // 4096 + 1) + victim
    super_journal += struct.pack(">II", len(victim), sum(victim)) + bytes.fromhex("d9d505f920a163d7")
    rolled = bytes.fromhex("d9d505f920a163d7") + struct.pack(">iIIII", -1, 0, 1, 512, 4096)
    match chance.randrange(6):
        case 0:
            name.write_bytes(rolled.ljust(512, b"\0") + super_journal)
        case 1:
            name.write_bytes(chance.randbytes(100_000))
        case 2:
            head = struct.pack(">6I", 0x377F0682, 3007000, chance.choice((512, 65536, 1, 0)), 0, 1, 2)
            name.write_bytes(head + chance.randbytes(200_000))
        case 3:
            with name.open("wb") as out:
                out.truncate(5_000_000_000)
        case 4:
            linked_outside(name, place, chance)
        case _:
            name.mkdir()


def device(place: Path, chance: random.Random) -> None:
    """A device in place of a file or beside it; a named pipe for who may not make devices."""
    file = chance.choice(files(place))
    if chance.random() < 0.5:
        file = file.with_name(file.name + "-wal")
    file.unlink(missing_ok=True)
    try:
        os.mknod(file, 0o600 | 0o020000, os.makedev(1, chance.choice((3, 5))))
    except OSError:
        os.mkfifo(file)


def forbidden(place: Path, chance: random.Random) -> None:
    """A file or a folder that only its owner, who is somebody else, may read."""
    target = chance.choice([*files(place), place])
    target.chmod(0o000)


def folders(place: Path, chance: random.Random) -> None:
    """A folder in itself, very deep folders, and names that are no text."""
    folder = place if place.is_dir() else place.parent
    match chance.randrange(4):
        case 0:
            (folder / "again").symlink_to(folder)
        case 1:
            deep = folder
            with suppress(OSError):
                for _ in range(900):
                    deep /= "d"
                    deep.mkdir()
        case 2:
            for name in (b"\xff\xfe.faiss", b"a\nb.faiss", b"\x1b[2J.faiss", b"-rf.faiss"):
                (Path(os.fsdecode(os.fsencode(folder) + b"/" + name))).write_bytes(b"IxF2" + b"\0" * 60)
        case _:
            collection = folder / "collection"
            for number in range(300):
                (collection / str(number)).mkdir(parents=True, exist_ok=True)
                known = [one for one in databases(place) if one.name == "storage.sqlite"]
                if known:
                    shutil.copy(known[0], collection / str(number))
                else:
                    (collection / str(number) / "storage.sqlite").touch()


def _shortened(name: str, size: int) -> None:
    """Cuts a plain file; a link or a pipe in its place is an OSError."""
    file = os.open(name, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        os.ftruncate(file, size)
    finally:
        os.close(file)


def _keep_changing(names: list[str], outside: str, seed: int) -> None:
    chance, ends = random.Random(seed), time.monotonic() + 2
    kept = {name: Path(name).read_bytes() for name in names}
    while time.monotonic() < ends:
        name = chance.choice(names)
        with suppress(OSError):
            match chance.randrange(4):
                case 0:
                    _shortened(name, chance.randrange(len(kept[name]) + 1))
                case 1:
                    Path(name).unlink()
                    os.mkfifo(name)
                case 2:
                    Path(name).unlink()
                    Path(name).symlink_to(outside)
                case _:
                    Path(f"{name}.new").write_bytes(kept[name])
                    Path(f"{name}.new").rename(name)
        time.sleep(0.001)


def changing(place: Path, chance: random.Random) -> None:
    """A store that another process changes for two seconds, while it is read."""
    names = [str(one) for one in files(place)]
    one = multiprocessing.get_context("fork").Process(
        target=_keep_changing, args=(names, str(decoy(place)), chance.randrange(1_000)), daemon=True
    )
    one.start()


FORGED: dict[str, Callable[[Path, random.Random], object]] = {
    one.__name__: one
    for one in (
        computed, inner_view, inner_rows, arguments, expressions, schemas, odd_texts, odd_numbers, loosened,
        metas, pickles, vectors, long_text, sizes, beside, device, forbidden, folders, changing,
    )
}  # fmt: skip
