"""The memory of a case as an index in RAM: its notes, cut and embedded, or with the vectors that travel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import numpy as np

from workbench.errors import InputError
from workbench.lab.cases.model import MOST_NOTES, Case, CaseMemory, CaseNote, VectorText
from workbench.lab.cases.vectors import CaseEmbedder, unpacked
from workbench.memory.chunking import Chunker, LineChunker, chunker_of_file, whole_characters
from workbench.memory.files import Place, content_hash, read_document
from workbench.memory.index import MemoryIndex
from workbench.memory.paths import list_files
from workbench.memory.store.sqlite.store import Store
from workbench.memory.store.values import Cached, Settings
from workbench.records import Document, Passage, Vector
from workbench.retrieval.query import BLANKS
from workbench.systems.indexing import indexing

LARGEST_MEMORY = 20_000_000
"""Characters of all notes."""


@contextmanager
def opened_memory(case: Case, folder: Path | None = None) -> Iterator[MemoryIndex]:
    """The index of the case's memory, made in RAM; `folder` is that of the case file.

    Raises InputError for a memory that cannot be used, and for a model that is not here.
    """
    if case.memory.lists is not None:
        raise InputError(
            "The case holds given lists of ids with scores, and no texts.",
            "There are no words to replace or to take away; rename ids and leave out hits by hand.",
        )
    questions = {
        one.question.strip(BLANKS): unpacked(one.vector, case.model, f"the question {one.question[:40]!r}")
        for one in case.questions
        if one.vector is not None
    }
    embedder = CaseEmbedder(case.model, questions)
    chunker = chunker_of(case.memory)
    model = case.model
    settings = Settings(model.name, model.revision, model.dimensions, chunker.name)
    with Store.create(Path(":memory:"), settings) as store:
        store.describe(ties_by_row=case.memory.ties == "stored order")
        index = MemoryIndex(store, embedder)
        with store.writing():
            for cut in _cuts(case, folder, chunker):
                store.replace(cut.document, cut.passages, _vectors(cut, case, embedder))
        yield index


def chunker_of(memory: CaseMemory) -> Chunker:
    """The chunker that cuts the texts of a memory. Raises InputError for an unknown release."""
    given = memory.chunker
    return indexing(given.release).chunker if given.release else LineChunker(given.tokens, given.overlap)


class CutNote(NamedTuple):
    """A note's document and passages, with the vectors and shares that the case gives."""

    document: Document
    passages: list[Passage]
    vectors: Sequence[VectorText | None]
    reads: Sequence[float]


def _cuts(case: Case, folder: Path | None, chunker: Chunker) -> Iterator[CutNote]:
    for note in notes_of(case, folder):
        yield cut_note(note, chunker)


def cut_note(note: CaseNote, chunker: Chunker) -> CutNote:
    """The passages of a note. Raises InputError if it has another number of vectors."""
    text = whole_characters(note.whole)
    document = Document(note.path, note.source, text, content_hash(text), len(text.encode()), 0)
    if note.passages is not None:
        made = [
            Passage(one.text, *one.lines, content_hash(whole_characters(one.text))) for one in note.passages
        ]
        return CutNote(document, made, [p.vector for p in note.passages], [p.read for p in note.passages])
    cut = [one for one in chunker_of_file(chunker, note.path).chunk(text) if one.text.strip()]
    for what, given in (("vectors", note.vectors), ("reads", note.reads)):
        if given is not None and len(given) != len(cut):
            raise InputError(
                f"The note {note.path} is cut into {len(cut)} passages, and has {len(given)} {what}.",
                f"Remove its {what}, or write the case again: workbench case new",
            )
    return CutNote(document, cut, note.vectors or [None] * len(cut), note.reads or [1.0] * len(cut))


def _vectors(cut: CutNote, case: Case, embedder: CaseEmbedder) -> list[Cached]:
    place = f"the note {cut.document.path}"
    given: list[Vector | None] = [
        None if one is None else unpacked(one, case.model, place) for one in cut.vectors
    ]
    missing = [number for number, one in enumerate(given) if one is None]
    made = np.empty((0, 0), np.float32)
    reads = list(cut.reads)
    if missing:
        answer = embedder.embed([cut.passages[number].text for number in missing], "passage")
        made = answer.vectors
        for number, share in zip(missing, answer.read_share.tolist(), strict=True):
            reads[number] = share
    for number, vector in zip(missing, made, strict=True):
        given[number] = vector
    return [Cached(one, share) for one, share in zip(given, reads, strict=True) if one is not None]


def notes_of(case: Case, folder: Path | None) -> Sequence[CaseNote]:
    """The notes of a case: inline, or read from the folder beside it.

    Raises InputError for a folder that is outside the case's own, or behind a link.
    """
    memory = case.memory
    notes = memory.notes if memory.folder is None else read_folder(memory.folder, folder)
    if not notes or sum(len(one.whole) for one in notes) > LARGEST_MEMORY:
        raise InputError(
            f"The memory of the case has no notes, or more than {LARGEST_MEMORY:,} characters.",
            "Shrink it first: a case needs the notes that matter.",
        )
    return notes


def read_folder(name: str, folder: Path | None) -> list[CaseNote]:
    """The notes of the folder `name` beside a case. Raises InputError for one that leads elsewhere."""
    root = beside(name, folder)
    if not root.is_dir():
        raise InputError(f"The folder {name} is not beside the case.", "Send it along with the case file.")
    paths = list_files(root)
    if len(paths) > MOST_NOTES:
        raise InputError(f"The folder {name} has more than {MOST_NOTES:,} notes.", "Send fewer notes.")
    read = (read_document(Place(root, tuple(path.split("/"))), path) for path in paths)
    return [CaseNote(path=one.path, text=one.text) for one in read]


def beside(name: str, folder: Path | None) -> Path:
    """The path of a file or folder that a case names: it must be below the case's own folder.

    Raises InputError for a path that leads elsewhere, also through a link.
    """
    if folder is None:
        raise InputError(f"The case names {name}, but it was not read from a file.", "Load it from its file.")
    root = folder.resolve()
    path = root.joinpath(name)
    plain = PurePosixPath(name)
    if plain.is_absolute() or ".." in plain.parts or "\\" in name or path.resolve() != path:
        raise InputError(
            f"The case names {name}, which leads out of its own folder.",
            "Put it beside the case; links are not followed.",
        )
    return path
