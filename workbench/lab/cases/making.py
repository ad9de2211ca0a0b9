"""Makes a case of a search: its notes, vectors, system, expectation, and what was observed."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.contracts import Index
from workbench.errors import InputError
from workbench.lab.cases.model import (
    Case,
    CaseAnnotations,
    CaseChunker,
    CaseEnvironment,
    CaseMemory,
    CaseModel,
    CaseNote,
    CasePassage,
    CaseQuestion,
    CaseWindows,
    CaseWords,
    Expected,
    VectorText,
)
from workbench.lab.cases.running import run_case, with_observations
from workbench.lab.cases.systems import system_of_case
from workbench.lab.cases.vectors import Numbers, packed, packed_windows, packed_words
from workbench.lab.questions import QuestionSet
from workbench.memory.chunking import LineChunker, sizes_in
from workbench.memory.embedding.local import ToyEmbedder
from workbench.memory.index import MemoryIndex, OpenIndex
from workbench.memory.store.sqlite.database import libraries
from workbench.memory.store.values import Settings
from workbench.records import Chunk, Rows, Vector
from workbench.retrieval.index_adapters import innermost
from workbench.retrieval.passages.index import PassageIndex, PassagesLayout, passages_of
from workbench.retrieval.pipeline import Pipeline
from workbench.retrieval.query import BLANKS
from workbench.safe_text import counted
from workbench.systems.openclaw.annotations import Annotated, Annotations

Travelling = Literal["none", "float16", "float32"]
MOST_READ = 12_000_000
"""Characters that may be spent on what a model has read word by word; a case has at most 20,000,000."""


def case_of(
    question: str,
    pipeline: Pipeline,
    index: Index,
    target: str = "",
    *,
    expect: Expected | None = None,
    vectors: Travelling = "float32",
    title: str = "",
    known_bug: str = "",
    references: Iterable[str] = (),
    note: str = "",
) -> Case:
    """A case of one question: its memory is that of `index`, and its observation is made by running the case.

    `target` is the file that should be found, or `expect` says what should be the answer. With the vectors
    inside, the case runs without the model.

    Raises InputError for an index that does not give its vectors, and for a pipeline with unnamed stages.
    """
    expected = expect or Expected(found=target)
    with index.snapshot():
        memory, model = memory_of(index, vectors, pipeline)
        asked = None if vectors == "none" else packed(index.embed(question), vectors)
        words = _question_words(question, index, pipeline) if _reads_words(memory) else None
    case = Case(
        title=title or f"{pipeline.name}: {question}"[:200],
        references=list(references),
        note=note,
        known_bug=known_bug,
        system=system_of_case(pipeline),
        questions=[CaseQuestion(question=question, vector=asked, words=words, expect=expected)],
        model=model,
        memory=memory,
        environment=environment(),
    )
    return with_observations(run_case(case))


def case_of_questions(
    questions: QuestionSet, pipeline: Pipeline, index: Index, vectors: Travelling = "float32"
) -> Case:
    """One case of all labelled questions, each with its target, and of all controls, which expect nothing.

    A question whose expectation does not hold on `pipeline` is a known bug of it, so that the case passes as
    a test until an answer changes. Raises InputError as `case_of` does.
    """
    asked = [(one.question, Expected(found=one.target)) for one in questions.questions]
    asked += [(one.question, Expected(nothing=True)) for one in questions.controls]
    with index.snapshot():
        memory, model = memory_of(index, vectors, pipeline)
        words = _reads_words(memory)
        known = [None if vectors == "none" else packed(index.embed(one), vectors) for one, _ in asked]
    case = Case(
        title=f"{pipeline.name}: {counted(len(asked), 'question')}",
        system=system_of_case(pipeline),
        questions=[
            CaseQuestion(
                question=question,
                vector=vector,
                words=_question_words(question, index, pipeline) if words else None,
                expect=expected,
            )
            for (question, expected), vector in zip(asked, known, strict=True)
        ],
        model=model,
        memory=memory,
        environment=environment(),
    )
    run = run_case(case)
    seen = [
        one.asked.model_copy(
            update={
                "observed": one.observed,
                "known_bug": "" if one.holds else f"{pipeline.name}: {one.says}",
            }
        )
        for one in run.answers
    ]
    return case.model_copy(update={"questions": seen})


def travelling(name: str) -> Travelling:
    """How vectors travel, by its name. Raises InputError for an unknown one."""
    if name == "none":
        return "none"
    if name == "float16":
        return "float16"
    if name == "float32":
        return "float32"
    raise InputError(f"Vectors do not travel as {name!r}.", "Choose float32, float16 or none.")


def environment() -> CaseEnvironment:
    """The versions here."""
    here = libraries()
    return CaseEnvironment(
        workbench=version("hybrid-search-workbench"),
        python=platform.python_version(),
        sqlite=str(here["sqlite"]),
        numpy=np.__version__,
    )


def memory_of(
    index: Index, vectors: Travelling, pipeline: Pipeline | None = None
) -> tuple[CaseMemory, CaseModel]:
    """The notes of an index in the order in which they are stored, and the model of their vectors.

    With vectors, what `pipeline` reads of the passages word by word travels, too, unless it is larger than a
    case may be. Annotations travel that the index stores itself. Raises InputError for an index that does not
    give its vectors.
    """
    inner = innermost(index)
    settings, known, by_row = _inside(inner)
    chunker = _line_chunker(settings.chunker)
    rows = {path: inner.rows_of(path) for path in inner.paths()}
    order = sorted(rows, key=lambda path: (int(rows[path].min()) if rows[path].size else 1 << 62, path))
    sources = {one.path: (one.source, one.text) for one in inner.documents() or ()}
    windows = {} if vectors == "none" else _windows(inner, rows, pipeline)
    stored = inner.annotations() if isinstance(inner, Annotated) else None
    notes = []
    for path in order:
        inside = rows[path].tolist()
        chunks = list(inner.chunks(rows[path]))
        parts = NoteParts(
            chunks,
            None if vectors == "none" else [_packed(known, row, path, vectors) for row in inside],
            [windows[row] for row in inside] if windows else None,
            [_annotations(stored.get(one.id)) for one in chunks] if stored else [None] * len(chunks),
        )
        notes.append(_note(path, sources.get(path), parts, chunker))
    memory = CaseMemory(
        notes=notes,
        annotations="read" if stored is None else "stored",
        chunker=CaseChunker(tokens=chunker.tokens, overlap=chunker.overlap),
        ties="stored order" if by_row else "chunk id",
    )
    toy = isinstance(inner, OpenIndex) and isinstance(inner.embedder, ToyEmbedder) and inner.embedder.axes
    model = CaseModel(
        name=_travelling(settings.model),
        revision=settings.revision,
        dimensions=settings.dimensions,
        vectors=vectors,
        axes={axis: list(words) for axis, words in toy.items()} if toy else None,
    )
    return memory, model


def _travelling(model: str) -> str:
    """The name of a model as a case says it: of a folder the last part, as its path is nobody else's."""
    return os.path.basename(model) if os.path.isabs(model) else model


def _inside(index: Index) -> tuple[Settings, Mapping[int, Vector], bool]:
    """What an index was made with, its vectors by row, and whether ties are in the stored order."""
    if isinstance(index, OpenIndex):
        rows, vectors = index.vectors()
        store = index.store if isinstance(index, MemoryIndex) else None
        chunker = store.settings.chunker if store else ""
        made_by = index.embedder
        settings = Settings(index.model, made_by.revision, int(vectors.shape[1]), chunker)
        return settings, _by_row(rows, vectors), bool(getattr(store, "ties_by_row", False))
    raise InputError(
        f"The index {index.name} does not give its vectors, so it cannot travel in a case.",
        "Open the memory with workbench.open, or index its folder.",
    )


def _by_row(rows: NDArray[np.int64], vectors: NDArray[np.float32]) -> dict[int, Vector]:
    return dict(zip(rows.tolist(), vectors, strict=True))


def _packed(known: Mapping[int, Vector], row: int, path: str, numbers: Numbers) -> VectorText:
    if row not in known:
        raise InputError(
            f"A chunk of {path} has no vector, so the vectors cannot travel.",
            "Embed the chunks again (--re-embed), or make the case with --vectors none.",
        )
    return packed(known[row], numbers)


def _line_chunker(name: str) -> LineChunker:
    """The line chunker of that name; the default one for another chunker, whose passages are then written."""
    sizes = sizes_in(name)
    made = LineChunker(*sizes) if sizes else LineChunker()
    return made if made.name == name else LineChunker()


class NoteParts(NamedTuple):
    """What an index holds of a note: its chunks, and for each of them what travels with it."""

    chunks: list[Chunk]
    vectors: list[VectorText] | None
    windows: list[CaseWindows] | None
    annotations: list[CaseAnnotations | None]


def _note(path: str, found: tuple[str, str] | None, parts: NoteParts, chunker: LineChunker) -> CaseNote:
    """A note as its text, if that is cut into these chunks, and otherwise as its passages."""
    chunks, vectors, windows, annotations = parts
    source, text = found or (chunks[0].source if chunks else "memory", "")
    kind: Literal["memory", "sessions"] = "sessions" if source == "sessions" else "memory"
    cut = [one for one in chunker.chunk(text) if one.text.strip()] if found else []
    here = [(one.text, one.start_line, one.end_line) for one in chunks]
    reads = [round(one.read_share, 6) for one in chunks]
    same = found and [(one.text, one.start_line, one.end_line) for one in cut] == here
    if same and not any(annotations):
        kept = reads if any(one < 1 for one in reads) else None
        return CaseNote(
            path=path, source=kind, text=text, vectors=vectors or None, reads=kept, windows=windows or None
        )
    passages = [
        CasePassage(
            lines=(one.start_line, one.end_line),
            text=one.text,
            vector=vectors[number] if vectors else None,
            read=reads[number],
            windows=windows[number] if windows else None,
            annotations=annotations[number],
        )
        for number, one in enumerate(chunks)
    ]
    return CaseNote(path=path, source=kind, passages=passages)


def _annotations(said: Annotations | None) -> CaseAnnotations | None:
    if said is None:
        return None
    return CaseAnnotations(importance=said.importance, triggers=said.triggers, projects=said.projects)


# What a model has read word by word


def _laid_out(index: Index, pipeline: Pipeline | None) -> PassageIndex | None:
    """The passages of an index, if that is how the pipeline lays it out."""
    reads = pipeline is not None and isinstance(pipeline.layout, PassagesLayout)
    return passages_of(index.laid_out(pipeline.layout)) if pipeline and reads else None


def _windows(index: Index, rows: Mapping[str, Rows], pipeline: Pipeline | None) -> dict[int, CaseWindows]:
    """What the model has read of each row, or nothing: without a model, or if it has no room in a case."""
    laid_out = _laid_out(index, pipeline)
    if laid_out is None:
        return {}
    every = [row for some in rows.values() for row in some.tolist()]
    read = {row: found for row in every if (found := laid_out.read_of(row)) is not None}
    size = (
        sum(vectors.nbytes // 2 + words.bytes + some.bytes for vectors, words, some in read.values()) * 4 // 3
    )
    if size > MOST_READ:
        return {}
    return {row: packed_windows(*found) for row, found in read.items()}


def _reads_words(memory: CaseMemory) -> bool:
    notes = memory.notes or ()
    return any(one.windows or any(part.windows for part in one.passages or ()) for one in notes)


def _question_words(question: str, index: Index, pipeline: Pipeline) -> CaseWords | None:
    laid_out = _laid_out(index, pipeline)
    found = laid_out.question_words(question.strip(BLANKS)) if laid_out else None
    return None if found is None else packed_words(found)
