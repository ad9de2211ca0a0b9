"""The memory of a case as an index in RAM: its notes, cut and embedded, or with the vectors that travel."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import numpy as np

from workbench.errors import InputError
from workbench.lab.cases.model import MOST_NOTES, Case, CaseMemory, CaseNote, CaseWindows, VectorText
from workbench.lab.cases.vectors import CaseEmbedder, CaseReader, unpacked, unpacked_windows, unpacked_words
from workbench.memory.chunking import Chunker, LineChunker, chunk_id, chunker_of_file, whole_characters
from workbench.memory.files import Place, content_hash, read_document
from workbench.memory.index import MemoryIndex
from workbench.memory.paths import list_files
from workbench.memory.store.sqlite.store import Store
from workbench.memory.store.values import Cached, Settings
from workbench.records import Document, Passage, Vector
from workbench.retrieval.query import BLANKS
from workbench.systems.indexing import indexing
from workbench.systems.openclaw.annotations import Annotations

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
    chunker = chunker_of(case.memory)
    cuts = [cut_note(note, chunker) for note in notes_of(case, folder)]
    embedder = _embedder(case, questions, cuts)
    model = case.model
    settings = Settings(model.name, model.revision, model.dimensions, chunker.name)
    with Store.create(Path(":memory:"), settings) as store:
        store.describe(ties_by_row=case.memory.ties == "stored order")
        index = MemoryIndex(store, embedder)
        if case.memory.annotations == "stored":
            index = AnnotatedMemory(store, embedder, _annotations(case.memory, cuts, model.name))
        with store.writing():
            for cut in cuts:
                store.replace(cut.document, cut.passages, _vectors(cut, case, embedder))
        yield index


def _embedder(case: Case, questions: dict[str, Vector], cuts: Sequence[CutNote]) -> CaseEmbedder:
    """The questions' vectors; with what was read word by word, if that travels for any passage."""
    if not any(one is not None for cut in cuts for one in cut.windows):
        return CaseEmbedder(case.model, questions)
    read = {
        (cut.document.path, one.start_line, one.end_line, one.text): unpacked_windows(
            given, case.model, f"the note {cut.document.path}"
        )
        for cut in cuts
        for one, given in zip(cut.passages, cut.windows, strict=True)
        if given is not None
    }
    words = {
        one.question.strip(BLANKS): unpacked_words(
            one.words, case.model, f"the question {one.question[:40]!r}"
        )
        for one in case.questions
        if one.words is not None
    }
    return CaseReader(case.model, questions, read=read, words=words)


class AnnotatedMemory(MemoryIndex):
    """The memory of a case whose annotations travel with the passages, as OpenClaw stores them."""

    def __init__(self, store: Store, embedder: CaseEmbedder, stored: Mapping[str, Annotations]) -> None:
        super().__init__(store, embedder)
        self._stored = stored

    def annotations(self) -> Mapping[str, Annotations]:
        """The annotations by chunk id."""
        return self._stored


def _annotations(memory: CaseMemory, cuts: Sequence[CutNote], model: str) -> dict[str, Annotations]:
    found = {}
    for note, cut in zip(memory.notes or (), cuts, strict=True):
        for given, one in zip(note.passages or (), cut.passages, strict=bool(note.passages)):
            if given.annotations is not None:
                lines = one.start_line, one.end_line
                key = chunk_id(note.source, note.path, *lines, one.hash, model)
                said = given.annotations
                found[key] = Annotations(said.importance, said.triggers, said.projects)
    return found


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
    windows: Sequence[CaseWindows | None]


def cut_note(note: CaseNote, chunker: Chunker) -> CutNote:
    """The passages of a note. Raises InputError if it has another number of vectors."""
    text = whole_characters(note.whole)
    document = Document(note.path, note.source, text, content_hash(text), len(text.encode()), 0)
    if note.passages is not None:
        made = [
            Passage(one.text, *one.lines, content_hash(whole_characters(one.text))) for one in note.passages
        ]
        given = note.passages
        vectors, reads = [p.vector for p in given], [p.read for p in given]
        return CutNote(document, made, vectors, reads, [p.windows for p in given])
    cut = [one for one in chunker_of_file(chunker, note.path).chunk(text) if one.text.strip()]
    for what, some in (("vectors", note.vectors), ("reads", note.reads), ("windows", note.windows)):
        if some is not None and len(some) != len(cut):
            raise InputError(
                f"The note {note.path} is cut into {len(cut)} passages, and has {len(some)} {what}.",
                f"Remove its {what}, or write the case again: workbench case new",
            )
    none = [None] * len(cut)
    return CutNote(document, cut, note.vectors or none, note.reads or [1.0] * len(cut), note.windows or none)


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
