"""Asks the questions of a benchmark on the workers of a cluster, each over its own copy of the index.

The index file goes to each worker once, with the vectors of the questions in its cache and the word vectors
beside it. A worker runs the same code over the same bytes, so the answers are the same.
"""

from __future__ import annotations

import hashlib
import tempfile
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeVar

from workbench.contracts import Index
from workbench.errors import InputError
from workbench.memory.embedding.local import Embedded, Embedder, LocalEmbedder, Role
from workbench.memory.index import MemoryIndex
from workbench.memory.store.sqlite.database import connect_existing, plain_errors
from workbench.retrieval.index_adapters import CachedIndex, innermost
from workbench.retrieval.pipeline import Pipeline
from workbench_plugins.recommended.layout import cache_of
from workbench_plugins.stores.cluster import Cluster, ModelSettings, loaded

QUESTIONS_A_TASK = 40

Asked = TypeVar("Asked")
Answer = TypeVar("Answer")


def image(path: Path) -> bytes:
    """The bytes of a database file, with what its -wal file holds."""
    with plain_errors(path):
        db = connect_existing(path)
        try:
            return bytes(db.serialize("main"))
        finally:
            db.close()


@dataclass(frozen=True)
class AlreadyEmbedded:
    """Stands for a model that a worker does not have: each question's vector is in the index file."""

    name: str
    revision: str
    dimensions: int

    def embed(self, texts: Sequence[str], role: Role) -> Embedded:
        """Raises InputError: there is nothing to embed with."""
        raise InputError(
            f"A system asks for the vector of a new text, and no worker has the model {self.name}.",
            "Run the benchmark without --cluster, or with a local model.",
        )


@dataclass(frozen=True)
class IndexCopy:
    """An index file, the word vectors beside it if there are any, and its model."""

    digest: str
    file: bytes = field(repr=False)
    words: bytes | None = field(repr=False)
    model: ModelSettings | AlreadyEmbedded

    def open(self, folder: Path) -> MemoryIndex:
        """The index, written into a folder and opened there."""
        file = folder / f"{self.digest}.sqlite"
        file.write_bytes(self.file)
        if self.words is not None:
            file.with_name(f"{file.name}.words").write_bytes(self.words)
        model = self.model
        return MemoryIndex.open(file, loaded(model) if isinstance(model, ModelSettings) else model)


def copy_of(index: Index, pipelines: Sequence[Pipeline], questions: Sequence[str]) -> IndexCopy:
    """The index with everything that these systems compute once, and the vector of each question.

    Raises InputError for an index that is not in a file.
    """
    inner = innermost(index)
    file = Path(index.name)
    if not isinstance(inner, MemoryIndex) or not file.is_file():
        raise InputError(
            f"{index.name} is not an index file, so no worker can have a copy.", "Leave --cluster out."
        )
    for layout in {one.layout for one in pipelines if one.layout is not None}:
        index.laid_out(layout)
    for question in questions:
        index.embed(question)
    words = cache_of(inner)
    bytes_ = image(file)
    return IndexCopy(
        hashlib.sha256(bytes_).hexdigest(), bytes_, image(words) if words.is_file() else None,
        _model_of(inner.embedder),
    )  # fmt: skip


def _model_of(embedder: Embedder) -> ModelSettings | AlreadyEmbedded:
    if isinstance(embedder, LocalEmbedder):
        return ModelSettings.of(embedder)
    return AlreadyEmbedded(embedder.name, embedder.revision, embedder.dimensions)


def answers_of_each(
    cluster: Cluster,
    index: Index,
    pipelines: Sequence[Pipeline],
    asked: Sequence[Asked],
    text_of: Callable[[Asked], str],
    answer: Callable[[Pipeline, Asked, Index], Answer],
) -> list[list[Answer]]:
    """For each system its answer to each question: what `answer` makes of system, question and index.

    `answer` is a function of a module, or a `partial` of one. Raises ProviderError when the cluster fails.
    """
    copy = copy_of(index, pipelines, [text_of(one) for one in asked])
    parts = [asked[at : at + QUESTIONS_A_TASK] for at in range(0, len(asked), QUESTIONS_A_TASK)]
    tasks = [(pipeline, part) for pipeline in pipelines for part in parts]
    found = cluster.map(partial(_answered, answer), tasks, shared=copy, what="questions on the cluster")
    of_each = [found[at : at + len(parts)] for at in range(0, len(found), len(parts))]
    return [[one for part in some for one in part] for some in of_each]


def _answered(
    answer: Callable[[Pipeline, Asked, Index], Answer],
    task: tuple[Pipeline, Sequence[Asked]],
    copy: IndexCopy,
) -> list[Answer]:
    """The answers to some questions, on a worker."""
    pipeline, asked = task
    index = _opened(copy)
    return [answer(pipeline, one, index) for one in asked]


class _Opened(threading.local):
    """The copy that a thread of a worker has open: an index is for one thread at a time."""

    digest = ""
    folder: tempfile.TemporaryDirectory[str] | None = None
    index: CachedIndex | None = None


_OPENED = _Opened()


def _opened(copy: IndexCopy) -> CachedIndex:
    if _OPENED.index is not None and _OPENED.digest == copy.digest:
        return _OPENED.index
    from distributed import get_worker

    if _OPENED.folder is not None:
        _OPENED.folder.cleanup()
    # The worker's folder goes with the worker, also with one that is killed.
    folder = str(get_worker().local_directory)
    _OPENED.folder = tempfile.TemporaryDirectory(prefix="index-", dir=folder)
    _OPENED.index = CachedIndex(copy.open(Path(_OPENED.folder.name)))
    _OPENED.digest = copy.digest
    return _OPENED.index
