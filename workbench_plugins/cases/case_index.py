"""The memory of a case as an index in RAM: its notes, cut and embedded, or with the vectors that travel.

A vector is written as base64 or as decimal numbers; redacting and shrinking reduce vectors to their cosines.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.errors import InputError
from workbench.memory.embedding.engines import Role
from workbench.memory.embedding.local import (
    PACKAGED_MODEL,
    Embedded,
    Embedder,
    LocalEmbedder,
    ToyEmbedder,
    local_embedder,
    unit,
)
from workbench.memory.files import FileLocation, content_hash, list_files, read_document
from workbench.memory.index import MemoryIndex
from workbench.memory.sources import (
    Chunker,
    LineChunker,
    chunk_id,
    chunker_of_file,
    resized,
    sizes_in,
    whole_characters,
)
from workbench.memory.store.contract import Cached, Settings
from workbench.memory.store.sqlite.store import Store
from workbench.records import Document, Passage, Vector
from workbench.registry import has_feature
from workbench.retrieval.pipeline import Pipeline
from workbench.retrieval.query import BLANKS
from workbench.safe_text import counted
from workbench.systems.catalogue import indexing
from workbench_plugins.cases.model import (
    MOST_NOTES,
    Case,
    CaseAnnotations,
    CaseMemory,
    CaseModel,
    CaseNote,
    CasePassage,
    VectorText,
    file_in_case,
)

LARGEST_MEMORY = 20_000_000
"""Characters of all notes."""
MOST_PASSAGES, LARGEST_CUT = 100_000, 100_000_000
"""Passages of all notes, and their characters: what overlaps counts several times."""


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
    chunker, notes = chunker_of(case.memory), notes_of(case, folder)
    _check_cut(case.memory, notes)
    cuts = [cut_note(note, chunker) for note in notes]
    embedder = _embedder(case, questions, cuts)
    model = case.model
    settings = Settings(model.name, model.revision, model.dimensions, chunker.name)
    with Store.create(Path(":memory:"), settings) as store:
        store.provenance.describe(ties_by_row=case.memory.ties == "stored order")
        index = MemoryIndex(store, embedder)
        if case.memory.annotations == "stored" and has_feature("openclaw"):
            from workbench_plugins.openclaw.release_indexing import Annotations

            said = _annotations(cuts, model.name)
            stored = {key: Annotations(**dict(one)) for key, one in said.items()}
            index = AnnotatedMemory(store, embedder, stored)
        with store.writing():
            for cut in cuts:
                store.replace(cut.document, cut.passages, _vectors(cut, case, embedder))
        yield index


def _embedder(case: Case, questions: dict[str, Vector], cuts: Sequence[CutNote]) -> CaseEmbedder:
    """The questions' vectors; with what was read word by word, if that travels and a system here reads it."""
    read = {
        (cut.document.path, one.start_line, one.end_line, one.text): given.windows
        for cut in cuts
        for one, given in zip(cut.passages, cut.given_passages, strict=True)
        if given.windows is not None
    }
    if not read or not has_feature("recommended"):
        return CaseEmbedder(case.model, questions)
    from workbench_plugins.cases.case_passages import CaseReader

    return CaseReader(case, questions, read)


class AnnotatedMemory(MemoryIndex):
    """The memory of a case whose annotations travel with the passages, as OpenClaw stores them."""

    def __init__(self, store: Store, embedder: CaseEmbedder, stored: Mapping[str, Any]) -> None:
        super().__init__(store, embedder)
        self._stored = stored

    def annotations(self) -> Mapping[str, Any]:
        """The annotations by chunk id."""
        return self._stored


def _annotations(cuts: Sequence[CutNote], model: str) -> dict[str, CaseAnnotations]:
    return {
        chunk_id(cut.document.source, cut.document.path, one.start_line, one.end_line, one.hash, model): said
        for cut in cuts
        for one, given in zip(cut.passages, cut.given_passages, strict=True)
        if (said := given.annotations) is not None
    }


def chunker_of(memory: CaseMemory) -> Chunker:
    """The chunker that cuts the texts of a memory. Raises InputError for an unknown release."""
    given = memory.chunker
    return indexing(given.release).chunker if given.release else LineChunker(given.tokens, given.overlap)


def other_chunks(case: Case, pipeline: Pipeline, folder: Path | None) -> str:
    """Why a case has other chunks than the release of a pipeline makes of its notes, and a remedy.

    Empty if it has the same. `folder` is that of the case file.
    """
    if pipeline.indexing is None or case.memory.lists is not None:
        return ""
    cut = chunker_of(case.memory)
    own, sizes = pipeline.indexing.chunker, sizes_in(cut.name)
    if sizes is not None and sizes_in(own.name) is not None:
        own = resized(own, sizes)
    notes = notes_of(case, folder)
    differ = [one.path for one in notes if one.text is not None and _places(one, own) != _places(one, cut)]
    if differ:
        count = f"{counted(len(differ), 'note')} of the case otherwise (such as {differ[0]})"
        return f"{pipeline.name} cuts {count}. {own_index(pipeline.name)}"
    given = [one.path for one in notes if one.text is None]
    if not given:
        return ""
    count = f"{counted(len(given), 'note')} as passages (such as {given[0]})"
    return f"The case gives {count}, which the release cuts itself. Leave such notes out to compare the rest."


def _places(note: CaseNote, chunker: Chunker) -> list[tuple[str, int, int]]:
    cut = chunker_of_file(chunker, note.path).chunk(whole_characters(note.whole))
    return [(one.text, one.start_line, one.end_line) for one in cut if one.text.strip()]


def own_index(name: str) -> str:
    """The commands that make a case from the index that is made as a system makes its own."""
    return (
        f"A case from its own index: workbench index FOLDER --as {name} && "
        f"workbench case new QUESTION -m FOLDER -s {name}"
    )


class CutNote(NamedTuple):
    """A note's document and passages, and what the case gives for each passage."""

    document: Document
    passages: list[Passage]
    given_passages: list[CasePassage]


def cut_note(note: CaseNote, chunker: Chunker) -> CutNote:
    """The passages of a note. Raises InputError if it gives another number of them."""
    text = whole_characters(note.whole)
    document = Document(note.path, note.source, text, content_hash(text), len(text.encode()), 0)
    given = note.passages or []
    if note.text is None:
        return CutNote(document, [_passage(one.lines or (0, 0), one.text or "") for one in given], given)
    cut = [one for one in chunker_of_file(chunker, note.path).chunk(text) if one.text.strip()]
    if note.passages is not None and len(given) != len(cut):
        raise InputError(
            f"The note {note.path} is cut into {len(cut)} passages, and the case gives {len(given)}.",
            "Remove its passages, or write the case again: workbench case new",
        )
    return CutNote(document, cut, given or [CasePassage()] * len(cut))


def _check_cut(memory: CaseMemory, notes: Sequence[CaseNote]) -> None:
    """Raises InputError for a chunker that makes too much of these notes, before it cuts any."""
    size, new = sum(len(one.text or "") for one in notes), memory.chunker.tokens - memory.chunker.overlap
    given = sum(len(one.passages or ()) for one in notes)
    if size / (4 * new) + given > MOST_PASSAGES or size * memory.chunker.tokens / new > LARGEST_CUT:
        raise InputError(
            f"The notes of the case are cut into more than {MOST_PASSAGES:,} passages, or into passages with "
            f"more than {LARGEST_CUT:,} characters together.",
            "Choose a chunker with more tokens or less overlap, or send fewer notes.",
        )


def _passage(lines: tuple[int, int], text: str) -> Passage:
    return Passage(text, *lines, content_hash(whole_characters(text)))


def _vectors(cut: CutNote, case: Case, embedder: CaseEmbedder) -> list[Cached]:
    """The vectors that the case gives; the others are made by its model, if that is here."""
    missing = [
        one.text for one, given in zip(cut.passages, cut.given_passages, strict=True) if given.vector is None
    ]
    answer = embedder.embed(missing, "passage") if missing else None
    made = zip(answer.vectors, answer.read_share.tolist(), strict=True) if answer else iter(())
    where = f"the note {cut.document.path}"
    return [
        Cached(*next(made))
        if one.vector is None
        else Cached(unpacked(one.vector, case.model, where), one.read)
        for one in cut.given_passages
    ]


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
    root = path_in_case(name, folder)
    if not root.is_dir():
        raise InputError(f"The folder {name} is not beside the case.", "Send it along with the case file.")
    paths = list_files(root)
    if len(paths) > MOST_NOTES:
        raise InputError(f"The folder {name} has more than {MOST_NOTES:,} notes.", "Send fewer notes.")
    notes, size = [], 0
    for path in paths:
        read = read_document(FileLocation(root, tuple(path.split("/"))), path)
        notes.append(CaseNote(path=file_in_case(read.path), text=read.text))
        size += len(read.text)
        if size > LARGEST_MEMORY:
            break  # `notes_of` refuses them; the rest of a large folder is not read
    return notes


def path_in_case(name: str, folder: Path | None) -> Path:
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


# Vectors

Numbers = Literal["float16", "float32"]
BYTES = {"float16": "<f2", "float32": "<f4"}


def packed(vector: Vector, numbers: Numbers) -> str:
    """The vector as base64 of little-endian numbers."""
    return in_base64(vector.astype(BYTES[numbers]))


def in_base64(numbers: NDArray[Any]) -> str:
    """The bytes of numbers as base64."""
    return base64.b64encode(numbers.tobytes()).decode()


def unpacked(written: VectorText, model: CaseModel, where: str) -> Vector:
    """A vector of a case, float32; a vector in float16 is scaled to length 1 again.

    Raises InputError, naming `where`, for text that is not such a vector.
    """
    if isinstance(written, str):
        numbers = "float16" if model.vectors == "float16" else "float32"
        try:
            vector = np.frombuffer(base64.b64decode(written, validate=True), BYTES[numbers]).astype(
                np.float32
            )
        except (binascii.Error, ValueError) as error:
            raise unusable(where, f"is not base64 of {numbers} numbers: {error}") from None
        vector = unit(vector[np.newaxis])[0] if numbers == "float16" else vector
    else:
        vector = np.array(written, np.float32)
    if vector.size != model.dimensions:
        raise unusable(where, f"has {vector.size} numbers, and the model {model.dimensions} dimensions")
    if not np.isfinite(vector).all() or float(np.abs(vector).max(initial=0)) > 2:
        raise unusable(where, "is not a unit vector")
    return vector


def unusable(where: str, problem: str) -> InputError:
    """The error for a vector that cannot be used."""
    return InputError(f"The vector of {where} {problem}.", "Write the case again: workbench case new")


def cosines_alone(
    questions: Sequence[Vector], passages: NDArray[np.float32]
) -> tuple[list[list[float]], list[list[float]]]:
    """Shorter unit vectors of questions and passages that have the same cosines with each other.

    A vector of a model can be inverted to the text that it came from; a cosine cannot. The questions span a
    space of at most their number of dimensions. A passage is its shadow in this space, and one more number
    for the rest of it. Cosines of two passages are not kept: no stage reads them.
    """
    asked = np.array(questions, float)
    basis = _orthonormal(asked)
    shadows = passages.astype(float) @ basis.T
    rest = np.sqrt(np.clip(1 - (shadows**2).sum(axis=1), 0, None))
    rest = np.where(passages.any(axis=1), rest, 0.0)
    small = np.column_stack([shadows, rest])
    own = np.column_stack([asked @ basis.T, np.zeros(len(asked))])
    return _decimals(own), _decimals(small)


def _orthonormal(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """A basis of what the vectors span, by Gram and Schmidt: the first question is (1, 0, …)."""
    basis: list[NDArray[np.float64]] = []
    for vector in vectors:
        rest = vector - sum((one * (one @ vector) for one in basis), np.zeros_like(vector))
        length = float(np.linalg.norm(rest))
        if length > 1e-6:
            basis.append(rest / length)
    return np.array(basis, float).reshape(len(basis), vectors.shape[1])


def _decimals(vectors: NDArray[np.float64]) -> list[list[float]]:
    return [[round(float(one), 7) + 0.0 for one in row] for row in vectors]


class CaseEmbedder:
    """The questions' vectors of a case; other texts go to the model that the case names, if it is here."""

    def __init__(self, model: CaseModel, questions: Mapping[str, Vector]) -> None:
        self.model, self.questions = model, questions
        self.name, self.revision, self.dimensions = model.name, model.revision, model.dimensions

    @cached_property
    def _inner(self) -> Embedder:
        return model_of(self.model)

    def embed(self, texts: Sequence[str], role: Role) -> Embedded:
        """One vector per text. Raises InputError for a text without a vector if the model is not here."""
        if role == "query" and all(text in self.questions for text in texts):
            vectors = np.array([self.questions[text] for text in texts], np.float32)
            return Embedded(vectors.reshape(len(texts), self.dimensions), np.ones(len(texts)))
        if self.model.vectors == "cosines":
            raise InputError(
                "This case holds cosines with its own questions only, so no other text can be compared.",
                "Ask its own questions, or make a case with --vectors float32.",
            )
        found = self._inner.embed(texts, role)
        if len(texts) and found.vectors.shape[1] != self.dimensions:
            raise InputError(
                f"The model of the case makes vectors of {found.vectors.shape[1]} numbers, and the case says "
                f"{self.dimensions} dimensions.",
                "Correct model.dimensions in the case.",
            )
        return found


def model_of(model: CaseModel) -> Embedder:
    """The embedder that a case names: the toy model, or the packaged one in the same reading.

    Raises InputError for another model: the workbench never switches models silently.
    """
    if model.axes is not None:
        return ToyEmbedder({axis: tuple(words) for axis, words in model.axes.items()}, model.name)
    local = local_embedder(PACKAGED_MODEL, model.revision) if model.revision else LocalEmbedder()
    if local is None or model.name != PACKAGED_MODEL or model.revision not in ("", local.revision):
        raise InputError(
            f"The case needs vectors of the model {model.name} ({model.revision}), which is not here, and "
            "they are not in the case.",
            "Make the case where that model is, with --vectors float32.",
        )
    return local
