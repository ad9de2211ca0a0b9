"""Puts the vectors of a case inside of it, so that its words can change while its vectors stay.

Redacting and shrinking change texts. A model would give the new texts other vectors, and the failure would be
another one. So each passage keeps the vector of its original text, as its cosines with the questions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from workbench.contracts import Index
from workbench.lab.cases.indexing import chunker_of, cut_note, notes_of, opened_memory
from workbench.lab.cases.model import Case, CaseMemory, CaseNote, CasePassage, CaseQuestion, VectorText
from workbench.lab.cases.vectors import cosines_alone, packed
from workbench.memory.index import MemoryIndex
from workbench.records import Vector
from workbench.retrieval.query import BLANKS


def frozen(case: Case, folder: Path | None, cosines: bool = True) -> Case:
    """The case with its notes inline, and a vector for each question and each passage.

    With `cosines` the vectors have few dimensions, and only the cosines of questions with passages are kept;
    otherwise they are float32 vectors of the model. What the model has read word by word is then left out,
    since words can be read out of it.
    """
    with opened_memory(case, folder) as index:
        questions = [index.embed(one.question.strip(BLANKS)) for one in case.questions]
        passages = [_passages(note, index) for note in notes_of(case, folder)]
    every = [vector for _, vectors in passages for vector in vectors]
    width = case.model.dimensions
    asked, known = np.array(questions, np.float32), np.array(every, np.float32).reshape(len(every), width)
    if cosines:
        short_questions, short = cosines_alone(questions, known)
        dimensions = len(short_questions[0])
        written: Iterator[VectorText] = iter(short)
        of_questions: Sequence[VectorText] = short_questions
    else:
        dimensions = width
        written = iter([packed(one, "float32") for one in known])
        of_questions = [packed(one, "float32") for one in asked]
    notes = [_with_vectors(note, [next(written) for _ in vectors]) for note, vectors in passages]
    kind = "cosines" if cosines else "float32"
    model = {"vectors": kind, "dimensions": dimensions, "axes": None}
    return case.model_copy(
        update={
            "memory": case.memory.model_copy(update={"notes": notes, "folder": None}),
            "model": case.model.model_copy(update=model),
            "questions": [
                one.model_copy(update={"vector": vector, "words": None})
                for one, vector in zip(case.questions, of_questions, strict=True)
            ],
        }
    )


def _passages(note: CaseNote, index: MemoryIndex) -> tuple[CaseNote, list[Vector]]:
    rows, vectors = index.vectors()
    known = dict(zip(rows.tolist(), vectors, strict=True))
    by_place: dict[tuple[int, int, str], Vector] = {}
    mine = index.rows_of(note.path)
    for row, chunk in zip(mine.tolist(), index.chunks(mine), strict=True):
        by_place[chunk.start_line, chunk.end_line, chunk.text] = known[row]
    return note, [by_place[one] for one in _places(note, index)]


def _places(note: CaseNote, index: Index) -> list[tuple[int, int, str]]:
    if note.passages is not None:
        return [(*one.lines, one.text) for one in note.passages]
    mine = index.chunks(index.rows_of(note.path))
    return [(one.start_line, one.end_line, one.text) for one in mine]


def _with_vectors(note: CaseNote, vectors: Sequence[VectorText]) -> CaseNote:
    if note.passages is None:
        return note.model_copy(update={"vectors": list(vectors), "windows": None})
    passages = [
        one.model_copy(update={"vector": vector, "windows": None})
        for one, vector in zip(note.passages, vectors, strict=True)
    ]
    return note.model_copy(update={"passages": passages})


def in_passages(case: Case) -> Case:
    """The case with every note as its passages, so that a passage can change without moving the others."""
    chunker = chunker_of(case.memory)
    return with_notes(case, [_in_passages(note, chunker) for note in case.memory.notes or ()])


def _in_passages(note: CaseNote, chunker: object) -> CaseNote:
    if note.passages is not None:
        return note
    cut = cut_note(note, chunker)  # type: ignore[arg-type]
    passages = [
        CasePassage(
            lines=(one.start_line, one.end_line), text=one.text, vector=vector, read=read, windows=windows
        )
        for one, vector, read, windows in zip(cut.passages, cut.vectors, cut.reads, cut.windows, strict=True)
    ]
    return CaseNote(path=note.path, source=note.source, passages=passages)


def in_texts(note: CaseNote) -> CaseNote:
    """A note of one passage as a text with its vector."""
    if note.passages is None or len(note.passages) != 1 or note.passages[0].annotations:
        return note
    (one,) = note.passages
    vectors = None if one.vector is None else [one.vector]
    reads = None if one.read == 1 else [one.read]
    windows = None if one.windows is None else [one.windows]
    return CaseNote(
        path=note.path, source=note.source, text=one.text, vectors=vectors, reads=reads, windows=windows
    )


def with_notes(case: Case, notes: Sequence[CaseNote]) -> Case:
    """The case with other notes."""
    memory: CaseMemory = case.memory.model_copy(update={"notes": list(notes), "folder": None})
    return case.model_copy(update={"memory": memory})


def with_questions(case: Case, questions: Sequence[CaseQuestion]) -> Case:
    """The case with other questions."""
    return case.model_copy(update={"questions": list(questions)})
