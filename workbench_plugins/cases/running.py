"""Runs a case: does the answer agree with what is expected, and what happened to the file that decides?

A system in words that a file can hold is a name, named changes, and settings: `pipeline_of_case` makes a
pipeline of it, and `system_of_case` the words of a pipeline.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from math import isclose
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

from workbench.contracts import Index
from workbench.errors import InputError, WorkbenchError, unknown_name
from workbench.records import Fate, Trace
from workbench.retrieval.columns import parameters
from workbench.retrieval.cutoff import AddedFloor, Limit, MinScore
from workbench.retrieval.explain import Explanation, explain
from workbench.retrieval.legs import legs_of
from workbench.retrieval.pipeline import Change, Difference, Pipeline, search
from workbench.retrieval.scope import Scope
from workbench.retrieval.settings import has_parameter, with_settings
from workbench.systems.catalogue import SYSTEMS
from workbench.systems.history import changes_of, line_of
from workbench.systems.languages import LANGUAGES, is_configuration, with_keys_of_any_language
from workbench_plugins.cases.case_index import opened_memory, path_in_case
from workbench_plugins.cases.case_results import Answered, CaseRun, Matrix
from workbench_plugins.cases.model import Case, CaseQuestion, CaseSystem, Expected, Observed, read_plain


def pipeline_of_case(system: CaseSystem, folder: Path | None = None) -> Pipeline:
    """The pipeline of a case's system; `folder` is that of the case file.

    Raises InputError for a system, change, setting or configuration that cannot be used. A case names no file
    by the name of its system: a configuration is inside of it, or beside it.
    """
    if system.openclaw is not None:
        return _adapted(_configured(system, folder), system)
    if system.specimen:
        return _adapted(_side(system), system)
    if is_configuration(system.name):
        raise InputError(
            f"The system {system.name} is the name of a file.",
            "Put the file beside the case: system: {openclaw: {file: openclaw.json}}",
        )
    _check_settings(system)
    pipeline = _named(system.name)
    known = changes_of(system.name) if system.changes else {}
    for name in system.changes:
        if name not in known:
            raise unknown_name("change", name, known, f"{system.name} takes {', '.join(known) or 'none'}.")
        pipeline = pipeline.with_changes(known[name])
    (pipeline,), slots = with_keys_of_any_language([pipeline], system.settings)
    return with_settings(pipeline.asking(system.limit, system.min_score), slots)


def _named(name: str) -> Pipeline:
    """The system of that name. Raises InputError, which also says what a system of one's own needs."""
    try:
        return SYSTEMS.named(name)
    except InputError as error:
        own = "A case has no code: if this is a system of one's own, install the package that registers it."
        raise InputError(error.problem, f"{error.remedy}\n  {own}") from None


def _check_settings(system: CaseSystem) -> None:
    """Raises InputError for a setting of a case that names a file: a case reads none outside its folder."""
    for setting in system.settings:
        if any(one.reads_files and one.key_of(setting) for one in LANGUAGES.values()):
            raise InputError(
                f"The setting {setting} of a case names a file.",
                "Write the thresholds of that file as settings of the case.",
            )


def _adapted(pipeline: Pipeline, system: CaseSystem) -> Pipeline:
    """Another pipeline with the limit and floor of a system, and with those of its settings that fit."""
    _check_settings(system)
    (pipeline,), slots = with_keys_of_any_language([pipeline], system.settings, leave_out=True)
    asked = pipeline.asking(system.limit, system.min_score)
    return with_settings(asked, [one for one in slots if has_parameter(asked, one.partition("=")[0])])


def _side(system: CaseSystem) -> Pipeline:
    from workbench_plugins.engines.museum import SPECIMENS

    specimen = SPECIMENS.named(system.specimen or "")
    found: Pipeline | None = getattr(specimen.sides, system.side).pipeline
    if found is None:
        raise InputError(
            f"The specimen {system.specimen} is not a search, so it is no system of a case.",
            f"See what it computes: workbench museum {system.specimen}",
        )
    return replace(found, name=system.called)


def _configured(system: CaseSystem, folder: Path | None) -> Pipeline:
    given = system.openclaw
    assert given is not None
    try:
        from workbench_plugins.openclaw.config import configured
        from workbench_plugins.openclaw.config_values import parsed
    except ImportError:
        raise InputError(
            "The system is an openclaw.json, and nothing here reads that.",
            "Install the whole package, with the folder workbench_plugins/openclaw.",
        ) from None
    content, name = given.content, "openclaw.json"
    if given.file is not None:
        file, name = path_in_case(given.file, folder), given.file
        what = f"The configuration {file}"
        content = parsed(read_plain(file, what), what)
    return configured(content or {}, Path(name), given.agent, release=given.release).pipeline


def system_of_case(pipeline: Pipeline) -> CaseSystem:
    """The pipeline as a case names it: `pipeline_of_case` gives the same stages and layout.

    Raises InputError for a pipeline that has stages which no system or change names.
    """
    stages = tuple(one for one in pipeline.stages if not getattr(one, "only_checks", False))
    pipeline = replace(pipeline, stages=stages)
    for base in _bases(pipeline):
        found = _from(base, pipeline)
        if found is not None:
            return found
    raise InputError(
        f"The pipeline {pipeline.name} has stages that no named system or change has.",
        "Register it as a system (docs/extending.md), and use its name.",
    )


def _bases(pipeline: Pipeline) -> Iterator[Pipeline]:
    """Systems to describe it by: the longest beginnings of its name first, then the most similar."""
    plain = pipeline.name.partition("@")[0]
    named = [name for name in SYSTEMS if plain.startswith(name)]
    yield from (SYSTEMS[name] for name in sorted(named, key=len, reverse=True))
    yield from sorted(SYSTEMS.values(), key=lambda one: len(one.diff(pipeline)))[:3]


def _from(base: Pipeline, pipeline: Pipeline) -> CaseSystem | None:
    changes: list[str] = []
    changed, settings = base, []
    limit = min_score = None
    for one in base.diff(pipeline):
        match one.after:
            case Limit(count=count):
                limit = count
            case AddedFloor(floor=floor):
                min_score = floor
            case MinScore(floor=floor) if isinstance(one.before, MinScore):
                min_score = floor
            case _:
                change = _change(base.name, one)
                if change is not None:
                    changes.append(change.name)
                    changed = changed.with_changes(change)
                settings += _settings(changed, one)
    limit = None if limit is None else int(limit)
    found = CaseSystem(name=base.name, changes=changes, settings=settings, limit=limit, min_score=min_score)
    try:
        same = pipeline_of_case(found)
    except InputError:
        return None
    return found if same.searches_as(pipeline) else None


def _change(name: str, one: Difference) -> Change | None:
    """The named change whose stage is the new one, or of its kind where the old one is of another kind."""
    if one.after is None or one.slot == "layout":
        return None
    known = [change for change in changes_of(name).values() if change.stage.slot == one.slot]
    exact = [change for change in known if change.stage == one.after]
    alike = [change for change in known if type(change.stage) is type(one.after)]
    return next(iter(exact or (alike if type(one.before) is not type(one.after) else [])), None)


def _settings(pipeline: Pipeline, one: Difference) -> list[str]:
    stage = next((stage for stage in pipeline.stages if stage.slot == one.slot), None)
    if stage is None or one.after is None or one.slot == "layout":
        return []
    before, after = parameters(stage), parameters(one.after)
    return [f"{one.slot}.{name}={value}" for name, value in after.items() if before.get(name) != value]


def systems_named(names: Sequence[str], case: Case) -> list[Pipeline]:
    """Other systems by their names, with the limit, floor and settings of the case where they fit."""
    return [_adapted(pipeline_of_case(CaseSystem(name=name)), case.system) for name in names]


CLOSE = {"rel_tol": 1e-9, "abs_tol": 1e-12}
"""Scores that differ by less than this are the same: rounding in another order of operations."""
MOST_SECONDS = 600.0
"""The time that the questions of a case may take on all of its systems together."""
MOST_RETURNED = 10
"""The number of returned files that an observation keeps."""


def run_case(
    case: Case, pipeline: Pipeline | None = None, *, folder: Path | None = None, index: Index | None = None
) -> CaseRun:
    """The case on `pipeline`, or on its own system. `folder` is that of the case file.

    `index` is the opened memory of the case, if it is open already. Raises InputError for a case whose system
    or memory cannot be used.
    """
    (run,) = run_on(case, [pipeline or pipeline_of_case(case.system, folder)], folder=folder, index=index)
    return run


def run_on(
    case: Case, pipelines: Iterable[Pipeline], *, folder: Path | None = None, index: Index | None = None
) -> list[CaseRun]:
    """The case on each of these pipelines; the memory is opened once."""
    lists, ends = case.memory.lists, monotonic() + MOST_SECONDS
    if lists:
        from workbench_plugins.engines.lists import index_of_lists, on_lists

        pipelines = [on_lists(one) for one in pipelines]
        index = index_of_lists(lists.vector, lists.keyword)
    with opened_memory(case, folder) if index is None else nullcontext(index) as opened:
        runs = []
        for one in pipelines:
            answers = []
            for asked in case.questions:
                if monotonic() > ends:
                    raise InputError(
                        f"The case takes more than {MOST_SECONDS:.0f} seconds.",
                        "Ask fewer questions, or shrink it.",
                    )
                answers.append(_answered(asked, one, opened, folder))
            runs.append(CaseRun(case, one, tuple(answers)))
        return runs


def _answered(asked: CaseQuestion, pipeline: Pipeline, index: Index, folder: Path | None) -> Answered:
    """A question of a case asked of a pipeline, and whether what it expects holds."""
    trace, other = search(asked.question, pipeline, index), asked.expect.same_as
    same_as = search(asked.question, pipeline_of_case(other, folder), index) if other else None
    verdict = judged(asked.expect, trace.paths(), (trace, same_as) if same_as else None)
    explanation = explain(trace, index, verdict.target) if verdict.target else None
    observed = Observed(
        fate=explanation.fate.value if explanation else "",
        stage=_stage(explanation) if explanation else "",
        returned=trace.paths()[:MOST_RETURNED],
    )
    return Answered(
        asked=asked,
        trace=trace,
        holds=verdict.holds,
        wanted=verdict.wanted,
        seen=verdict.seen,
        observed=observed,
        explanation=explanation,
    )


def releases_of_case(case: Case, folder: Path | None = None) -> list[Pipeline]:
    """The releases of the case's system, oldest first; of a reduced case, those that were compared.

    Raises InputError for a system without releases.
    """
    name = pipeline_of_case(case.system, folder).name
    releases = [_adapted(one, case.system) for one in line_of(name).releases]
    return [one for one in releases if case.compared is None or one.name in case.compared]


def run_releases(case: Case, *, folder: Path | None = None) -> Matrix:
    """The case on every release of its system. Raises InputError for a system without releases."""
    releases = releases_of_case(case, folder)
    if not releases:
        raise InputError(
            "No release ran both this case and its original.", "Run the original on its releases."
        )
    return Matrix(tuple(run_on(case, releases, folder=folder)))


class Everywhere(NamedTuple):
    """A case on its own system and then on those that it names, and whether it holds on each release."""

    systems: list[CaseRun]
    releases: dict[str, bool]


def run_everywhere(case: Case, folder: Path | None = None, wanted: Any = None) -> Everywhere:
    """The case on all systems that its verdict is about; the memory is opened once.

    With `wanted`, a case whose own system gives other reasons is run on no other system. Raises InputError if
    it cannot be run.
    """
    own, *others = [
        pipeline_of_case(system, folder) for system in (case.system, *(one.system for one in case.elsewhere))
    ]
    with opened_memory(case, folder) as index:
        mine = run_case(case, own, folder=folder, index=index)
        if wanted not in (None, mine.reasons):
            return Everywhere([mine], {})
        theirs = run_on(case, others, folder=folder, index=index)
        return Everywhere([mine, *theirs], _release_verdicts(case, folder, index))


def _release_verdicts(case: Case, folder: Path | None, index: Index) -> dict[str, bool]:
    """Whether the case holds on each release of its system; releases on which it cannot run are left out."""
    try:
        releases = releases_of_case(case, folder)
    except InputError:  # a system without releases
        return {}
    found: dict[str, bool] = {}
    for one in releases:
        with suppress(WorkbenchError):  # such as a release that needs a model which is not here
            found[one.name] = run_case(case, one, folder=folder, index=index).holds
    return found


def with_observations(run: CaseRun) -> Case:
    """The case with what this run observed in each question."""
    questions = [one.asked.with_changes(observed=one.observed) for one in run.answers]
    return run.case.with_changes(questions=questions)


class Outcome(NamedTuple):
    """Whether an expectation holds, what should be, what is, and the file that decides."""

    holds: bool
    wanted: str
    seen: str
    target: str


def judged(expected: Expected, paths: Sequence[str], traces: tuple[Trace, Trace] | None = None) -> Outcome:
    """The outcome of an expectation for an answer with the files `paths`.

    `traces` are the answer, and that of the system that it should be.
    """
    few = expected.within or 0
    within = " as the first file" if few == 1 else f" among the first {few} files" if few else ""
    if expected.found is not None:
        rank = _rank(expected.found, paths)
        holds = rank is not None and rank <= (expected.within or rank)
        return Outcome(holds, f"{expected.found} should be returned{within}", _seen(rank), expected.found)
    if expected.not_found is not None:
        rank = _rank(expected.not_found, paths)
        wanted = f"{expected.not_found} should not be returned"
        return Outcome(rank is None, wanted, _seen(rank), expected.not_found)
    if expected.order is not None:
        return _ordered(expected.order, paths)
    if traces is not None:
        return _same(expected, *traces)
    seen = f"{paths[0]} is" if paths else "nothing is"
    return Outcome(not paths, "nothing should be returned", seen, next(iter(paths), ""))


def _rank(path: str, paths: Sequence[str]) -> int | None:
    return paths.index(path) + 1 if path in paths else None


def _seen(rank: int | None) -> str:
    return "is not" if rank is None else f"is number {rank}"


def _ordered(order: Sequence[str], paths: Sequence[str]) -> Outcome:
    wanted = f"{', '.join(order)} should be returned in this order"
    missing = [path for path in order if path not in paths]
    if missing:
        return Outcome(False, wanted, f"{missing[0]} is not returned", missing[0])
    there = [path for path in paths if path in order]
    holds = there == list(order)
    wrong = next((path for path, real in zip(order, there, strict=True) if path != real), order[0])
    return Outcome(holds, wanted, "are" if holds else f"the order is {', '.join(there)}", wrong)


def _same(expected: Expected, trace: Trace, other: Trace) -> Outcome:
    theirs, mine = other.paths()[: expected.within], trace.paths()[: expected.within]
    first = f"the first {expected.within} files" if expected.within else "the files"
    differing = [path for path in [*theirs, *mine] if _rank(path, theirs) != _rank(path, mine)]
    if expected.scores:
        first += " and their scores"
        new, old = _scores(trace), _scores(other)
        differing += [path for path in mine if path in old and not isclose(new[path], old[path], **CLOSE)]
    wanted, seen = f"{first} should be those of {other.system}", "are not" if differing else "are"
    return Outcome(not differing, wanted, seen, next(iter(differing), ""))


def _scores(trace: Trace) -> dict[str, float]:
    """The best score of each returned file."""
    return {one.chunk.path: one.score for one in reversed(trace.results)}


def _stage(explanation: Explanation) -> str:
    """The slot of the stage that decided the fate; for a file beyond the pool, the legs that match it."""
    if not explanation.verdicts:
        return ""
    best = explanation.verdicts[0]
    if best.candidate is not None and best.candidate.drop is not None:
        return best.candidate.drop.stage.slot
    if any(one.passing is not None for one in best.leg_ranks):
        return Scope.slot
    if explanation.fate is Fate.BEYOND_POOL:
        matched = {one.leg for one in best.leg_ranks if one.rank is not None}
        return ", ".join(leg.slot for leg in legs_of(explanation.trace.stages) if leg.name in matched)
    return ""
