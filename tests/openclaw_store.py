"""OpenClaw's memory file as its releases lay it out, filled by hand; and a process that keeps writing one.

python -m tests.openclaw_store FILE STOP FORM yes|no
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import apsw
import numpy as np

from tests import world
from workbench.memory.embedding.local import Embedder
from workbench.memory.files import content_hash
from workbench.memory.sources import Chunker, LineChunker, chunk_id

TABLES = Path(__file__).with_name("openclaw_tables")
FEBRUARY, AGENT = ((TABLES / f"{name}.sql").read_text(encoding="utf-8") for name in ("february", "agent"))
FULL_TEXT = """
    CREATE VIRTUAL TABLE {full_text} USING fts5 (
        text, id UNINDEXED, path UNINDEXED, source UNINDEXED, model UNINDEXED,
        start_line UNINDEXED, end_line UNINDEXED
    )
"""


PROJECT = Path(__file__).parent.parent


@dataclass(frozen=True)
class Form:
    """One of the forms that OpenClaw gave its memory file."""

    schema: str
    meta: str
    files: str
    chunks: str
    journal: str
    as_bytes: bool = False

    @property
    def full_text(self) -> str:
        return f"{self.chunks}_fts"

    def stored(self, vector: Any) -> Any:
        """A vector as this form stores it."""
        numbers = np.asarray(vector, float)
        return numbers.astype("<f8").tobytes() if self.as_bytes else json.dumps(numbers.tolist())


FORMS = {
    "2026.2": Form(FEBRUARY, "meta", "files", "chunks", "delete"),
    "2026.2 in WAL mode": Form(FEBRUARY, "meta", "files", "chunks", "wal"),
    "2026.9": Form(
        AGENT, "memory_index_meta", "memory_index_sources", "memory_index_chunks", "wal", as_bytes=True
    ),
}


@dataclass
class OpenClaw:
    """OpenClaw's part: what it writes into its file."""

    file: Path
    form: Form = FORMS["2026.2"]
    model: str = "toy"
    provider: str = "local"
    embedder: Embedder = world.EMBEDDER
    chunker: Chunker = field(default_factory=LineChunker)

    @contextmanager
    def opened(self, busy_seconds: float = 10) -> Iterator[apsw.Connection]:
        """A connection of OpenClaw's."""
        db = apsw.Connection(str(self.file))
        db.set_busy_timeout(int(busy_seconds * 1000))
        try:
            yield db
        finally:
            db.close()

    def create(self, notes: Mapping[str, str] | None = None, full_text: bool = True) -> OpenClaw:
        """The file, with these notes indexed."""
        self.file.parent.mkdir(parents=True, exist_ok=True)
        with self.opened() as db:
            db.pragma("journal_mode", self.form.journal)
            db.execute(self.form.schema)
            if full_text:
                db.execute(FULL_TEXT.format(full_text=self.form.full_text))
            described = {"provider": self.provider, "model": self.model, "chunkTokens": 400}
            self.describe(db, json.dumps(described))
            for path, text in (world.NOTES if notes is None else notes).items():
                self.write(db, path, text, full_text)
        return self

    def describe(self, db: apsw.Connection, value: str, key: str = "memory_index_meta_v1") -> None:
        """The one row of meta."""
        db.execute(f"DELETE FROM {self.form.meta}")
        db.execute(f"INSERT INTO {self.form.meta} VALUES (?, ?)", (key, value))

    def write(self, db: apsw.Connection, path: str, text: str, full_text: bool = True) -> None:
        """One file indexed, in place of what was; in a transaction only where the caller has begun one."""
        form = self.form
        if full_text:
            db.execute(f"DELETE FROM {form.full_text} WHERE path = ?", (path,))
        db.execute(f"DELETE FROM {form.chunks} WHERE path = ?", (path,))
        db.execute(f"DELETE FROM {form.files} WHERE path = ?", (path,))
        db.execute(
            f"INSERT INTO {form.files} (path, source, hash, mtime, size) VALUES (?, 'memory', ?, ?, ?)",
            (path, content_hash(text), 1_770_000_000_000, len(text)),
        )
        passages = [one for one in self.chunker.chunk(text) if one.text.strip()]
        vectors = self.embedder.embed([one.text for one in passages], "passage").vectors
        for one, vector in zip(passages, vectors, strict=True):
            lines = one.start_line, one.end_line
            key = chunk_id("memory", path, *lines, one.hash, self.model)
            db.execute(
                f"INSERT INTO {form.chunks} (id, path, source, start_line, end_line, hash, model, text, "
                "embedding, updated_at) VALUES (?, ?, 'memory', ?, ?, ?, ?, ?, ?, 0)",
                (key, path, *lines, one.hash, self.model, one.text, form.stored(vector)),
            )
            if full_text:
                db.execute(
                    f"INSERT INTO {form.full_text} (text, id, path, source, model, start_line, end_line) "
                    "VALUES (?, ?, ?, 'memory', ?, ?, ?)",
                    (one.text, key, path, self.model, *lines),
                )

    @property
    def beside(self) -> dict[str, bytes]:
        """What lies in the file's folder, byte by byte."""
        return {one.name: one.read_bytes() for one in self.file.parent.iterdir()}


NAMES = [f"memory/n{number}.md" for number in range(8)]


def notes_of(version: int) -> dict[str, str]:
    """A memory of which every note says the same version."""
    return {name: f"{name} has tea and a hub, v{version:05}" for name in NAMES}


def write(file: str, stop: str, form: str, comes_and_goes: str) -> None:
    """Writes version after version, each in one transaction, until the file `stop` is there."""
    openclaw, version = OpenClaw(Path(file), FORMS[form]), 0
    while not Path(stop).exists():
        with openclaw.opened() as db:
            while not Path(stop).exists():
                version += 1
                db.execute("BEGIN IMMEDIATE")
                for path, text in notes_of(version).items():
                    openclaw.write(db, path, text)
                db.execute("COMMIT")
                time.sleep(0.003)
                if comes_and_goes == "yes":
                    break


@contextmanager
def writing(file: Path, form: str, comes_and_goes: str) -> Iterator[None]:
    """`write` in a process of its own, for as long as this lasts; it has met no error."""
    stop = file.parent.parent / "stop"
    command = [sys.executable, "-m", "tests.openclaw_store", file, stop, form, comes_and_goes]
    with subprocess.Popen(command, cwd=PROJECT) as writer:
        try:
            yield
        finally:
            stop.touch()
    assert writer.returncode == 0


if __name__ == "__main__":
    write(*sys.argv[1:])
