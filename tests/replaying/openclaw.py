"""Records of OpenClaw's memory_search: results[workspace][arguments as JSON][question] = rows."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.replaying import Answer, Asked, Row, Rows, Unreadable, chosen
from workbench.contracts import Index
from workbench.memory.embedding.engines import ModelVariant, Role
from workbench.memory.embedding.local import Embedded, LocalEmbedder, Reading, Truncated
from workbench.memory.index import MemoryIndex
from workbench.memory.opening import open_index
from workbench.memory.options import Options
from workbench.memory.sources import Indexing
from workbench.memory.sync import index_folder
from workbench.records import Candidate
from workbench.retrieval.pipeline import Pipeline, search
from workbench.retrieval.query import BLANKS
from workbench.retrieval.settings import with_settings
from workbench.systems.catalogue import SYSTEMS, indexing
from workbench.systems.catalogue import system as named
from workbench_plugins.openclaw.live_index import LiveIndex, open_live_store

ARGUMENTS = {"maxResults": "limit", "minScore": "min_score"}
DIGITS = 12
"""How many digits of a snippet's sha256 a row has."""


@dataclass(frozen=True)
class OpenClawForm:
    """A row is path, first line, last line, score, digest of the snippet, and perhaps scores of the legs."""

    def fits(self, record: Mapping[str, Any]) -> bool:
        lists = [one for asked in record["results"].values() for one in asked.values()]
        return all(isinstance(one, Mapping) for one in lists)

    def lists(self, results: Mapping[str, Any], folders: Mapping[str, Path]) -> list[Asked]:
        return [
            Asked(workspace, arguments, question, _recorded(rows))
            for workspace in chosen(results, folders)
            for arguments, questions in results[workspace].items()
            for question, rows in questions.items()
        ]

    @contextmanager
    def opened(
        self, record: Mapping[str, Any], system: str, folder: Path, scratch: Path, today: str
    ) -> Iterator[Answer]:
        with _opened(folder, indexing(system), scratch / "index.sqlite") as index:
            yield self.answering(record, system, index, today)

    def answering(self, record: Mapping[str, Any], system: str, index: Index, today: str = "") -> Answer:
        pipeline = _on(named(system if system in SYSTEMS else "openclaw-2026.2.13"), today or _clock(record))

        def answer(asked: Asked) -> Rows:
            if not asked.question.strip(BLANKS):
                return None  # memory_search says that it needs a query
            trace = search(asked.question, _asking(pipeline, asked.arguments), index)
            return [_row(one) for one in trace.results]

        return answer


@dataclass
class RecordingEmbedder(LocalEmbedder):
    """The embedder of the recordings: the first window of a text, one text at a time, in torch's own fp32.

    Some recorded chunks have nearly equal scores, so the last digits decide which of them comes first.
    """

    reading: Reading = field(default_factory=Truncated)
    batch_size: int = 1
    variant: ModelVariant = field(default_factory=lambda: ModelVariant("torch"))


def _opened(folder: Path, like: Indexing, file: Path) -> MemoryIndex | LiveIndex:
    """The folder indexed as the release does it, or the SQLite file that OpenClaw itself wrote."""
    embedder = RecordingEmbedder()
    if folder.is_file():
        revision, dimensions = embedder.revision, embedder.dimensions
        return open_live_store(folder, Renamed(embedder, revision, dimensions))
    index_folder(folder, embedder, rebuild=file.exists(), options=Options(index_path=file, like=like))
    return open_index(folder, embedder, index_path=file)


@dataclass(frozen=True)
class Renamed:
    """The embedder under the name by which the recorded gateway asked for it."""

    inner: LocalEmbedder
    revision: str
    dimensions: int
    name: str = "text-embedding-3-small"

    def embed(self, texts: Sequence[str], role: Role) -> Embedded:
        return self.inner.embed(texts, role)


def _recorded(rows: Any) -> Rows:
    if isinstance(rows, Mapping):  # the tool's error
        return None
    return [
        Row(f"{path}:{first}-{last}", float(score), digest) for path, first, last, score, digest, *_ in rows
    ]


def _row(one: Candidate) -> Row:
    text = one.chunk.snippet.strip(BLANKS)
    digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:DIGITS]
    return Row(one.chunk.location, one.score, digest)


def _clock(record: Mapping[str, Any]) -> str:
    """The day of the recording, where the record says that the answers depend on it."""
    about = record.get("about")
    clock = str(about.get("clock", "")) if isinstance(about, Mapping) else ""
    found = re.match(r"\d{4}-\d{2}-\d{2}", clock)
    return found[0] if found else ""


def _on(pipeline: Pipeline, today: str) -> Pipeline:
    dated = any(stage.slot == "recency" for stage in pipeline.stages)
    return with_settings(pipeline, [f"recency.today={today}"]) if dated and today else pipeline


def _asking(pipeline: Pipeline, arguments: str) -> Pipeline:
    given = json.loads(arguments)
    if not given.keys() <= ARGUMENTS.keys():
        raise Unreadable(f"the arguments {arguments} cannot be replayed; known are {', '.join(ARGUMENTS)}")
    return pipeline.asking(**{ARGUMENTS[name]: value for name, value in given.items()})
