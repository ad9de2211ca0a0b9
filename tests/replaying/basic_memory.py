"""Records of Basic Memory's search_notes: results[mode][question] = rows of permalink and score.

With several workspaces it is results[workspace][mode][question].
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from benchmarks.published.basic_memory import note_index
from tests.replaying import Answer, Asked, Row, Rows, Unreadable, chosen
from workbench.contracts import Index
from workbench.memory.files import content_hash
from workbench.memory.store.contract import IndexLocation
from workbench.records import Document, Trace
from workbench.retrieval.pipeline import Pipeline, search
from workbench.systems.catalogue import system as named
from workbench_plugins.basic_memory.note_chunkers import BulletChunker, SectionChunker
from workbench_plugins.basic_memory.notes import note_of
from workbench_plugins.basic_memory.pipelines import VECTOR_ONLY, MinSimilarity
from workbench_plugins.runs.collections import SessionDocument, load
from workbench_plugins.stores.postgres import PostgresLocation, local_server, parse

MODES = ("text", "vector", "hybrid")
LEAST = 0.3
"""The min similarity of the recording."""
PAGE = 10
PROJECT = "main"


@dataclass(frozen=True)
class BasicMemoryForm:
    """A workspace is a folder of notes, or a LoCoMo file with `#N` behind it for its conversation N.

    A session of a conversation is a note, whose permalink is its id. The one workspace of a record that names
    none may be given under any name.
    """

    def fits(self, record: Mapping[str, Any]) -> bool:
        results = record["results"]
        return _modes(results) or all(isinstance(one, Mapping) and _modes(one) for one in results.values())

    def lists(self, results: Mapping[str, Any], folders: Mapping[str, Path]) -> list[Asked]:
        known = dict.fromkeys(list(folders)[:1], results) if _modes(results) else results
        return [
            Asked(workspace, mode, question, [Row(permalink, float(score)) for permalink, score in rows])
            for workspace in chosen(known, folders)
            for mode, questions in known[workspace].items()
            for question, rows in questions.items()
        ]

    @contextmanager
    def opened(
        self, record: Mapping[str, Any], system: str, folder: Path, scratch: Path, today: str
    ) -> Iterator[Answer]:
        chunker = SectionChunker() if "0.24" in system else BulletChunker()
        notes = _notes(folder)
        with (
            _server(named(system)) as place,
            note_index(notes, PROJECT, None, scratch / "index.sqlite", chunker, place) as index,
        ):
            yield self.answering(record, system, index)

    def answering(self, record: Mapping[str, Any], system: str, index: Index, today: str = "") -> Answer:
        least = MinSimilarity(LEAST)
        hybrid = named(system).with_stage(least)
        vector, text = replace(VECTOR_ONLY.with_stage(least), layout=hybrid.layout), _text_mode(hybrid)
        permalinks = {note.path: note_of(note, PROJECT).permalink for note in index.documents() or ()}

        def answer(asked: Asked) -> Rows:
            if asked.arguments == "text":
                found = _keyword_rows(search(asked.question, text, index))
            else:
                pipeline = hybrid if asked.arguments == "hybrid" else vector
                results = search(asked.question, pipeline, index).results
                found = [(one.chunk.path, one.score) for one in results]
            return [Row(permalinks[path], score) for path, score in found]

        return answer


@contextmanager
def _server(system: Pipeline) -> Iterator[IndexLocation | None]:
    """A place on a server of one's own for a system that needs one."""
    if not getattr(system.layout, "server", False):
        yield None
        return
    with local_server() as address:
        yield PostgresLocation(parse(address))


def _text_mode(hybrid: Pipeline) -> Pipeline:
    """The pipeline whose keyword leg is search_type=text."""
    for stage in hybrid.stages:
        if hasattr(stage, "parentheses"):
            hybrid = hybrid.with_stage(replace(cast(Any, stage), parentheses=False))
    return hybrid


def _modes(results: Mapping[str, Any]) -> bool:
    return bool(results) and results.keys() <= set(MODES)


def _notes(folder: Path) -> list[Document]:
    """The notes of a folder, or of a LoCoMo file's conversation."""
    if folder.is_dir():
        return [
            _note(path.relative_to(folder), path.read_text("utf-8")) for path in sorted(folder.rglob("*.md"))
        ]
    file, _, number = str(folder).partition("#")
    if not Path(file).is_file():
        raise Unreadable(f"{folder} is no folder and no LoCoMo file")
    sessions = [one for one in load(Path(file)).documents if one.conversation == int(number or 0)]
    return [_note(Path(f"{one.id}.md"), _session(one)) for one in sessions]


def _session(session: SessionDocument) -> str:
    return f"---\ntitle: {json.dumps(session.title)}\npermalink: {session.id}\n---\n\n{session.body}"


def _note(path: Path, text: str) -> Document:
    return Document(path.as_posix(), "memory", text, content_hash(text), len(text.encode()), 0)


def _keyword_rows(trace: Trace) -> list[tuple[str, float]]:
    """What the keyword leg alone returns: the first page of its hits, with FTS5's own numbers."""
    ranks = trace.columns["keyword_rank"]
    first = sorted((rank, row) for row, rank in enumerate(ranks.tolist()) if rank <= PAGE)
    raw = trace.columns["keyword_raw"]
    return [(trace.chunks[row].path, float(raw[row])) for _, row in first]
