"""The museum's specimens and the labelled questions as cases, each of them a file that runs as a test."""

from __future__ import annotations

from pathlib import Path

from workbench.errors import InputError
from workbench.memory.embedding.local import ToyEmbedder
from workbench_plugins.cases.files import save_case
from workbench_plugins.cases.making import environment
from workbench_plugins.cases.model import (
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
from workbench_plugins.cases.running import run_case, system_of_case, with_observations
from workbench_plugins.engines.museum import (
    SPECIMENS,
    FusedLists,
    Side,
    SmallSearch,
    Specimen,
)


def case_of_specimen(specimen: Specimen) -> Case:
    """A specimen as a case: the shipped side should answer as the fixed side does.

    Where both sides return the same files in the same order, their scores are compared, too. Raises
    InputError for a specimen that is neither a search of a memory nor a fusion of two lists, with the reason.
    """
    shipped, fixed = specimen.sides
    if shipped.pipeline is None or fixed.pipeline is None:
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
