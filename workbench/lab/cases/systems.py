"""The system of a case as a pipeline, and a pipeline as the system of a case."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from workbench.errors import InputError
from workbench.lab.cases.indexing import beside
from workbench.lab.cases.model import Case, CaseSystem
from workbench.lab.museum.catalogue import specimen
from workbench.lab.museum.sides import pipeline_of_side
from workbench.retrieval.pipeline import Pipeline
from workbench.systems.descriptions import Description, adapted_to, built, described
from workbench.systems.lines import line_of
from workbench.systems.openclaw.config.file import load
from workbench.systems.openclaw.config.system import configured
from workbench.systems.registry import is_configuration


def pipeline_of_case(system: CaseSystem, folder: Path | None = None) -> Pipeline:
    """The pipeline of a case's system; `folder` is that of the case file.

    Raises InputError for a system, change, setting or configuration that cannot be used. A case names no file
    by the name of its system: a configuration is inside of it, or beside it.
    """
    if system.openclaw is not None:
        return _configured(system, folder)
    if system.specimen:
        return adapted_to(_side(system), _description(system))
    if is_configuration(system.name):
        raise InputError(
            f"The system {system.name} is the name of a file.",
            "Put the file beside the case: system: {openclaw: {file: openclaw.json}}",
        )
    return built(_description(system))


def _side(system: CaseSystem) -> Pipeline:
    found = pipeline_of_side(getattr(specimen(system.specimen).sides, system.side))
    if found is None:
        raise InputError(
            f"The specimen {system.specimen} is not a search, so it is no system of a case.",
            f"See what it computes: workbench museum {system.specimen}",
        )
    return replace(found, name=system.called)


def _configured(system: CaseSystem, folder: Path | None) -> Pipeline:
    given = system.openclaw
    assert given is not None
    name = given.file or "openclaw.json"
    data = given.content if given.content is not None else load(beside(name, folder))
    pipeline = configured(data, Path(name), given.agent, release=given.release).pipeline
    return adapted_to(pipeline, _description(system))


def _description(system: CaseSystem) -> Description:
    return Description(
        system.name, tuple(system.changes), tuple(system.settings), system.limit, system.min_score
    )


def system_of_case(pipeline: Pipeline) -> CaseSystem:
    """The pipeline as a case names it. Raises InputError for one that has unnamed stages."""
    found = described(pipeline)
    limit = None if found.limit is None else int(found.limit)
    return CaseSystem(
        name=found.name,
        changes=list(found.changes),
        settings=list(found.settings),
        limit=limit,
        min_score=found.min_score,
    )


def another_system(name: str, case: Case) -> Pipeline:
    """Another system by its name, with the limit, the floor and the settings of the case where they fit."""
    return adapted_to(pipeline_of_case(CaseSystem(name=name)), _description(case.system))


def releases_of_case(case: Case, folder: Path | None = None) -> list[Pipeline]:
    """The releases of the case's system, oldest first. Raises InputError for a system without releases."""
    name = pipeline_of_case(case.system, folder).name
    return [adapted_to(one, _description(case.system)) for one in line_of(name).releases]
