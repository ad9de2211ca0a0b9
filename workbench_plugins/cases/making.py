"""Makes a case of a search: its notes, vectors, system, expectation, and what was observed.

A case is made of a question, of labelled questions, of a trace, of a diagnosis, or of a specimen. Nobody has
to think of the name of its file: it comes from the question, and is never that of another file.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from itertools import chain, count
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

from workbench.contracts import Index
from workbench.errors import InputError
from workbench.memory.embedding.local import ToyEmbedder
from workbench.memory.index import MemoryIndex, OpenIndex
from workbench.memory.sources import Chunker, LineChunker, chunker_of_file, sizes_in
from workbench.memory.store.contract import IndexStore
from workbench.records import Chunk, Rows, Trace, Vector
from workbench.registry import has_feature
from workbench.retrieval.index_adapters import innermost
from workbench.retrieval.pipeline import Pipeline, Source, search
from workbench.safe_text import counted
from workbench.systems.catalogue import INDEXINGS
from workbench_plugins.cases import SUFFIX
from workbench_plugins.cases.case_index import Numbers, packed
from workbench_plugins.cases.case_results import CaseRun
from workbench_plugins.cases.model import (
    Case,
    CaseAnnotations,
    CaseChunker,
    CaseLists,
    CaseMemory,
    CaseModel,
    CaseNote,
    CasePassage,
    CaseQuestion,
    CaseSystem,
    Elsewhere,
    Expected,
    environment,
    file_in_case,
    save_case,
)
from workbench_plugins.cases.running import run_case, system_of_case, with_observations

if TYPE_CHECKING:
    from workbench.measure.questions import QuestionSet
    from workbench_plugins.diagnose.page import Diagnosis
    from workbench_plugins.engines.museum import Side, Specimen

Travelling = Literal["none", "float16", "float32"]


def case_of(
    question: str,
    pipeline: Pipeline,
    index: Index,
    expected: str | Expected = "",
    *,
    vectors: Travelling = "float32",
    title: str = "",
) -> Case:
    """A case of one question: its memory is that of `index`, and its observation is made by running the case.

    `expected` is the file that should be found, or another expectation of the answer. With the vectors
    inside, the case runs without the model. Where the pipeline corrects misspelt words, the case asks the
    corrected question, since only a model and the whole memory tell which words are misspelt.

    Raises InputError for an index that does not give its vectors, and for a pipeline with unnamed stages.
    """
    wanted = expected if isinstance(expected, Expected) else Expected(found=file_in_case(expected))
    return with_observations(first_run(question, pipeline, index, wanted, vectors, title))


def first_run(
    question: str, pipeline: Pipeline, index: Index, wanted: Expected, vectors: Travelling, title: str = ""
) -> CaseRun:
    """The run of a new case of one question, from which `case_of` takes what is observed."""
    question = _as_read(question, pipeline, index)
    asked = CaseQuestion(question=question, expect=wanted)
    title = title or f"{pipeline.name}: {question}"[:200]
    return run_case(_case([asked], pipeline, index, vectors, title))


def case_of_questions(
    questions: QuestionSet, pipeline: Pipeline, index: Index, vectors: Travelling = "float32"
) -> Case:
    """One case of all labelled questions, each with its target, and of all controls, which expect nothing.

    A question whose expectation does not hold on `pipeline` is a known bug of it, so that the case passes as
    a test until an answer changes. Raises InputError as `case_of` does.
    """
    asked = [
        CaseQuestion(question=one.question, expect=Expected(found=file_in_case(one.target)))
        for one in questions.questions
    ]
    asked += [
        CaseQuestion(question=one.question, expect=Expected(nothing=True)) for one in questions.controls
    ]
    asked = [one.with_changes(question=_as_read(one.question, pipeline, index)) for one in asked]
    title = f"{pipeline.name}: {counted(len(asked), 'question')}"
    run = run_case(_case(asked, pipeline, index, vectors, title))
    known = ["" if one.holds else f"{pipeline.name}: {one.description}" for one in run.answers]
    case = with_observations(run)
    seen = [one.with_changes(known_bug=bug) for one, bug in zip(case.questions, known, strict=True)]
    return case.with_changes(questions=seen)


def _as_read(question: str, pipeline: Pipeline, index: Index) -> str:
    """The question with its misspelt words corrected, where the pipeline's first stage corrects them."""
    return search(question, pipeline, index, last=1).read_as or question


def _case(
    asked: Sequence[CaseQuestion], pipeline: Pipeline, index: Index, vectors: Travelling, title: str
) -> Case:
    with index.snapshot():
        memory, model, questions = carried(asked, index, vectors, pipeline)
    return Case(
        title=title,
        system=system_of_case(pipeline),
        questions=questions,
        model=model,
        memory=memory,
        environment=environment(),
    )


def travelling(name: str) -> Travelling:
    """How vectors travel, by its name. Raises InputError for an unknown one."""
    if name not in get_args(Travelling):
        raise InputError(f"Vectors do not travel as {name!r}.", "Choose float32, float16 or none.")
    return cast(Travelling, name)


def carried(
    asked: Sequence[CaseQuestion], index: Index, vectors: Travelling, pipeline: Pipeline | None = None
) -> tuple[CaseMemory, CaseModel, list[CaseQuestion]]:
    """The notes of an index in their stored order, the model of their vectors, and the questions with theirs.

    With vectors, what `pipeline` reads of the passages word by word travels, too, unless it is larger than a
    case may be. Annotations travel that the index stores itself. Raises InputError for an index that does not
    give its vectors.
    """
    inner = innermost(index)
    if not isinstance(inner, OpenIndex):
        raise InputError(
            f"The index {inner.name} does not give its vectors, so it cannot travel in a case.",
            "Open the memory with workbench.open, or index its folder.",
        )
    rows = _rows_as_stored(inner)
    reader = None if vectors == "none" else _reader(pipeline)
    every = [row for some in rows.values() for row in some.tolist()]
    windows = reader.windows_of(inner, every, pipeline) if reader else {}
    questions = [
        one.with_changes(
            vector=None if vectors == "none" else packed(index.embed(one.question), vectors),
            words=reader.question_words(one.question, inner, pipeline) if reader and windows else None,
        )
        for one in asked
    ]
    numbered, known = inner.vectors()
    by_row = dict(zip(numbered.tolist(), known, strict=True))
    memory = _memory(inner, rows, by_row, windows, vectors)
    return memory, _model(inner, int(known.shape[1]), vectors), questions


def _rows_as_stored(index: OpenIndex) -> dict[str, Rows]:
    """The rows of each file's chunks, the files in their stored order; those without chunks come last."""
    rows = {path: index.rows_of(path) for path in index.paths()}
    order = sorted(rows, key=lambda path: (int(rows[path].min()) if rows[path].size else 1 << 62, path))
    return {path: rows[path] for path in order}


def _memory(
    index: OpenIndex,
    rows: Mapping[str, Rows],
    by_row: Mapping[int, Vector],
    windows: Mapping[int, Any],
    vectors: Travelling,
) -> CaseMemory:
    """The notes of an index with these rows, their vectors `by_row`, and how the index was made."""
    store = index.store if isinstance(index, MemoryIndex) else None
    chunker, named = _chunker(store)
    sources = {one.path: (one.source, one.text) for one in index.documents() or ()}
    annotations = getattr(index, "annotations", None)
    stored = annotations() if annotations else {}
    notes = []
    for path, mine in rows.items():
        chunks = list(index.chunks(mine))
        given = [
            CasePassage(
                vector=None if vectors == "none" else _packed(by_row.get(row), path, vectors),
                read=round(chunk.read_share, 6),
                windows=windows.get(row),
                annotations=CaseAnnotations(**vars(stored[chunk.id])) if chunk.id in stored else None,
            )
            for row, chunk in zip(mine.tolist(), chunks, strict=True)
        ]
        notes.append(_note(path, sources.get(path), chunks, given, chunker))
    return CaseMemory(
        notes=notes,
        annotations="stored" if annotations else "read",
        chunker=named,
        ties="stored order" if store is not None and store.provenance.ties_by_row else "chunk id",
    )


def _model(index: OpenIndex, dimensions: int, vectors: Travelling) -> CaseModel:
    """The model of an index's vectors."""
    axes = index.embedder.axes if isinstance(index.embedder, ToyEmbedder) else None
    return CaseModel(
        name=os.path.basename(index.model) if os.path.isabs(index.model) else index.model,
        revision=index.embedder.revision,
        dimensions=dimensions,
        vectors=vectors,
        axes={axis: list(words) for axis, words in axes.items()} if axes else None,
    )


def _reader(pipeline: Pipeline | None) -> ModuleType | None:
    """The module for what a model has read word by word; None for a pipeline that cannot read it."""
    if pipeline is None or pipeline.layout is None or not has_feature("recommended"):
        return None
    from workbench_plugins.cases import case_passages

    return case_passages


def _packed(vector: Vector | None, path: str, numbers: Numbers) -> str:
    if vector is None:
        raise InputError(
            f"A chunk of {path} has no vector, so the vectors cannot travel.",
            "Embed the chunks again (--re-embed), or make the case with --vectors none.",
        )
    return packed(vector, numbers)


def _chunker(store: IndexStore | None) -> tuple[Chunker, CaseChunker]:
    """The chunker of an index, and how a case names it: that of a release, or a line chunker.

    It is the default one for another chunker, whose passages are then written.
    """
    name = store.settings.chunker if store else ""
    release = store.provenance.indexed_as if store else ""
    if release in INDEXINGS and INDEXINGS[release].chunker.name == name:
        return INDEXINGS[release].chunker, CaseChunker(release=release)
    sizes = sizes_in(name)
    chunker = LineChunker(*sizes) if sizes else LineChunker()
    chunker = chunker if chunker.name == name else LineChunker()
    return chunker, CaseChunker(tokens=chunker.tokens, overlap=chunker.overlap)


def _note(
    path: str,
    found: tuple[str, str] | None,
    chunks: Sequence[Chunk],
    given: list[CasePassage],
    chunker: Chunker,
) -> CaseNote:
    """A note as its text, if that is cut into these chunks, and otherwise as its passages."""
    source, text = found or (chunks[0].source if chunks else "memory", "")
    kind: Literal["memory", "sessions"] = "sessions" if source == "sessions" else "memory"
    here = [(one.text, one.start_line, one.end_line) for one in chunks]
    again = chunker_of_file(chunker, path).chunk(text)
    cut = [(one.text, one.start_line, one.end_line) for one in again if one.text.strip()]
    if found and cut == here and not any(one.annotations for one in given):
        more = any(one != CasePassage() for one in given)
        return CaseNote(path=file_in_case(path), source=kind, text=text, passages=given if more else None)
    passages = [
        one.with_changes(lines=(first, last), text=text)
        for one, (text, first, last) in zip(given, here, strict=True)
    ]
    return CaseNote(path=file_in_case(path), source=kind, passages=passages)


LONGEST = 50
MOST_CASES = 100
"""Cases in one folder that are saved without a name of the user's own."""


def file_name(case: Case) -> str:
    """The name of a case's file, from the words of its question in ASCII."""
    words = re.findall(r"[a-z0-9]+", case.questions[0].question[:1_000].lower())
    return ("-".join(words)[:LONGEST].strip("-") or "question") + SUFFIX


def save_beside(case: Case, folder: Path) -> Path:
    """Saves a case in a folder under a name from its question, and never over another file.

    Raises InputError for a folder that does not exist or has 100 cases already, StorageError if it cannot be
    written.
    """
    if not folder.is_dir():
        raise InputError(f"The folder {folder} does not exist.", "Make it, or choose another one.")
    names = {one.name for one in folder.iterdir()}
    if sum(one.endswith(SUFFIX) for one in names) >= MOST_CASES:
        raise InputError(f"{folder} has {MOST_CASES} cases already.", "Move some of them elsewhere.")
    first = file_name(case)
    numbered = (first.replace(SUFFIX, f"-{number}{SUFFIX}") for number in count(2))
    return save_case(case, folder / next(one for one in chain([first], numbered) if one not in names))


def case_of_trace(
    trace: Trace,
    index: Index,
    expected: str | Expected = "",
    *,
    vectors: Travelling = "float32",
) -> Case:
    """A case of the search that made `trace`; `index` is the one that was searched.

    `expected` is the file that should be found, or another expectation of the answer. Raises InputError as
    `case_of` does.
    """
    source = Source("the trace", "", trace.system)
    pipeline = Pipeline(trace.system, trace.stages, source, layout=trace.layout)
    return case_of(trace.question, pipeline, index, expected, vectors=vectors)


def case_of_diagnosis(diagnosis: Diagnosis, index: Index, vectors: Travelling = "float32") -> Case:
    """A case of what is diagnosed: it expects what was wanted of the file.

    `index` is the one of the diagnosis. Raises InputError as `case_of` does.
    """
    from workbench_plugins.diagnose.parameters import Aim

    path = file_in_case(diagnosis.goal.path)
    match diagnosis.goal.aim:
        case Aim.OUT:
            expected = Expected(not_found=path)
        case Aim.FIRST:
            expected = Expected(found=path, within=1)
        case Aim.IN:
            expected = Expected(found=path)
    return case_of(diagnosis.question, diagnosis.pipeline, index, expected, vectors=vectors)


# The museum's specimens


def case_of_specimen(specimen: Specimen) -> Case:
    """A specimen as a case: the shipped side should answer as the fixed side does.

    Where both sides return the same files in the same order, their scores are compared, too. Raises
    InputError for a specimen that is neither a search of a memory nor a fusion of two lists, with the reason.
    """
    shipped, fixed = specimen.sides
    if specimen.no_case or shipped.pipeline is None or fixed.pipeline is None:
        reason = specimen.no_case or "it is a function, and neither a search nor a fusion"
        raise InputError(
            f"The specimen {specimen.name} is no case: {reason}.",
            f"Look at it in the museum: workbench museum {specimen.name}",
        )
    good = _system(specimen, fixed, "fixed")
    memory, model, question = _asked(specimen, shipped)
    case = Case(
        title=specimen.symptom,
        references=list(specimen.references),
        note=f"{specimen.mechanism} {specimen.note}".strip(),
        known_bug=f"{specimen.name}: {specimen.change}",
        system=_system(specimen, shipped, "shipped"),
        elsewhere=[Elsewhere(system=good)],
        questions=[CaseQuestion(question=question, expect=Expected(same_as=good))],
        model=model,
        memory=memory,
        environment=environment(),
    )
    run = run_case(case)
    if run.holds:
        with_scores = CaseQuestion(question=question, expect=Expected(same_as=good, scores=True))
        run = run_case(case.with_changes(questions=[with_scores]))
    return with_observations(run)


def _system(specimen: Specimen, side: Side, which: str) -> CaseSystem:
    """The side's pipeline by the name of a system, or as a side of the specimen."""
    from workbench_plugins.engines.museum import SmallSearch

    own = CaseSystem.model_validate({"specimen": specimen.name, "side": which})
    if not isinstance(side.answer, SmallSearch):
        return own
    try:
        return system_of_case(side.answer.pipeline)
    except InputError:
        return own


def _asked(specimen: Specimen, side: Side) -> tuple[CaseMemory, CaseModel, str]:
    """The memory of a side with its model, and the question to it."""
    from workbench_plugins.engines.museum import FusedLists, SmallSearch

    answer = side.answer
    if isinstance(answer, FusedLists):
        lists = CaseLists(vector=dict(answer.vector), keyword=dict(answer.keyword))
        return CaseMemory(lists=lists), CaseModel(), specimen.world
    assert isinstance(answer, SmallSearch)
    toy = ToyEmbedder(answer.axes)
    model = CaseModel(
        name=toy.name,
        revision=toy.revision,
        dimensions=toy.dimensions,
        axes={axis: list(words) for axis, words in answer.axes.items()},
    )
    notes = [CaseNote(path=path, text=text) for path, text in answer.notes.items()]
    return CaseMemory(notes=notes), model, answer.question


def export_museum(folder: Path, overwrite: bool = False) -> tuple[list[Path], dict[str, str]]:
    """Writes each specimen that is a case into a folder; returns the files, and why the others are none.

    Raises InputError for a file that exists, unless `overwrite`, and StorageError if one cannot be written.
    """
    from workbench_plugins.engines.museum import SPECIMENS

    written, left_out = [], {}
    for name, one in SPECIMENS.items():
        try:
            case = case_of_specimen(one)
        except InputError as error:
            left_out[name] = error.problem.partition(": ")[2].rstrip(".")
        else:
            written.append(save_case(case, folder / f"{name}{SUFFIX}", overwrite))
    return written, left_out
