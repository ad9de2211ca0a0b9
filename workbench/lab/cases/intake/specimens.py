"""The museum's specimens and the labelled questions as cases, each of them a file that runs as a test."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from workbench.errors import InputError
from workbench.lab.cases.files import save_case
from workbench.lab.cases.making import environment
from workbench.lab.cases.model import (
    SUFFIX,
    Case,
    CaseLists,
    CaseMemory,
    CaseModel,
    CaseNote,
    CaseQuestion,
    CaseSystem,
    Elsewhere,
    Expected,
)
from workbench.lab.cases.running import run_case, with_observations
from workbench.lab.cases.systems import system_of_case
from workbench.lab.museum.catalogue import SPECIMENS
from workbench.lab.museum.sides import FusedLists, SmallSearch, pipeline_of_side
from workbench.lab.museum.specimen import Side, Specimen
from workbench.memory.embedding.local import ToyEmbedder

NO_CASES: Mapping[str, str] = {
    "mulder-silent-syntax-error": "it is a program that hides an error of SQLite; our search raises it",
    "fts5-idf-floor": "it compares FTS5's IDF with Lucene's, and no search here has Lucene's",
    "txtai-half-penalty": "it compares two depths of a pool, and the given lists of a case are whole",
    "memory-lancedb-pro-unweighted-branch": "it is a formula with a branch, and not a fusion of two lists",
    "qmd-blend-floor": "it scores the first results of two questions, and one search has one question",
    "metronix-constant-score": "it compares the best scores of two questions, each normalised alone",
    "langchain-duplicate-chunks": "its lists hold a document several times, and the lists of a case once",
    "floor-before-squash": "it is the order of two steps on given scores, after any search",
    "openviking-fill-below-floor": "it fills an answer up after the search has cut it",
    "agentmemory-token-budget": "it fits records into a budget of tokens after the search",
    "qmd-filter-after-top-k": "it filters by collection, and a memory here has no collections",
    "score-depends-on-size": "it asks one question twice, for three and for six results",
    "qdrant-fusion-per-shard": "it distributes points over shards, and a memory here has none",
    "qdrant-grouping-widens-the-pool": "it groups results, and a search here does not",
}
"""The specimens that are no case, each with the reason: they are not one question to one memory."""


def case_of_specimen(specimen: Specimen) -> Case:
    """A specimen as a case: the shipped side should answer as the fixed side does.

    Where both sides return the same files in the same order, their scores are compared, too. Raises
    InputError for a specimen that is neither a search of a memory nor a fusion of two lists, with the reason.
    """
    shipped, fixed = specimen.sides
    if pipeline_of_side(shipped) is None or pipeline_of_side(fixed) is None:
        reason = NO_CASES.get(specimen.name, "it is a function, and neither a search nor a fusion")
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
        run = run_case(case.model_copy(update={"questions": [with_scores]}))
    return with_observations(run)


def _system(specimen: Specimen, side: Side, which: str) -> CaseSystem:
    """The side's pipeline by the name of a system, or as a side of the specimen."""
    own = CaseSystem.model_validate({"specimen": specimen.name, "side": which})
    if not isinstance(side.answer, SmallSearch):
        return own
    try:
        return system_of_case(side.answer.pipeline)
    except InputError:
        return own


def _asked(specimen: Specimen, side: Side) -> tuple[CaseMemory, CaseModel, str]:
    """The memory of a side with its model, and the question to it."""
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
    written, left_out = [], {}
    for name, one in SPECIMENS.items():
        try:
            made = case_of_specimen(one)
        except InputError as error:
            left_out[name] = error.problem.partition(": ")[2].rstrip(".")
        else:
            written.append(save_case(made, folder / f"{name}{SUFFIX}", overwrite))
    return written, left_out
