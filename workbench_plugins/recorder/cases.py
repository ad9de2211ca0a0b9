"""A recording as a case: the two lists, a system with the same fusion, and what was expected."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from workbench.errors import InputError
from workbench.retrieval.columns import parameters
from workbench.retrieval.cutoff import Limit, MinScore
from workbench_plugins.cases.model import (
    Case,
    CaseLists,
    CaseMemory,
    CaseQuestion,
    CaseSystem,
    Expected,
    environment,
)
from workbench_plugins.cases.running import run_case
from workbench_plugins.engines.presets import PIPELINES


def case_of(recording: Any, target: str) -> Case:
    """A case that expects `target` in the answer to the recorded question.

    Raises InputError for other legs than `vector` and `keyword`, for a fusion that no system `engine-…` has,
    and for a case that does not return what was recorded, such as where equal scores decide.
    """
    trace, pipeline = recording.trace, recording.pipeline
    if set(trace.legs) != {"vector", "keyword"}:
        raise InputError(
            "A case of lists has the legs vector and keyword.", f"This has {', '.join(trace.legs)}."
        )
    lists = {}
    for name, leg in trace.legs.items():
        scores = recording.scores_of(leg)
        ids = [one.id for one in recording.index.chunks(leg.hits.rows)]
        lists[name] = dict(zip(ids, scores, strict=True))
    (limit,) = [one for one in pipeline.stages if isinstance(one, Limit)]
    floor = next((one.floor for one in pipeline.stages if isinstance(one, MinScore)), None)
    case = Case(
        case=1,
        title=f"{target} is missing in an answer of {recording.recorder.engine}",
        note=f"{recording.says}.",
        system=CaseSystem(
            limit=max(1, int(min(limit.count, len(trace.chunks)))),
            min_score=floor,
            **_system(pipeline["fusion"]),
        ),
        questions=[CaseQuestion(question=recording.question, expect=Expected(found=target))],
        memory=CaseMemory(lists=CaseLists(**lists)),
        environment=environment(),
    )
    (answer,) = run_case(case).answers
    if answer.trace.paths() != trace.paths():
        raise InputError(
            f"As a case the lists give {', '.join(answer.trace.paths()) or 'nothing'}, and the recording "
            f"{', '.join(trace.paths()) or 'nothing'}.",
            "Use the recording itself: it keeps the order of equal scores.",
        )
    return case


def _system(fusion: Any) -> dict[str, Any]:
    """The system that has a fusion of this kind, and the settings in which it differs."""
    kind = type(fusion).__name__.removeprefix("Inferred")
    for one in PIPELINES:
        base: Any = one["fusion"]
        if type(base).__name__ == kind:
            now, wanted = parameters(base), parameters(fusion)
            others = [part.name for part in fields(type(base)) if part.name not in now]
            if all(getattr(base, name) == getattr(fusion, name) for name in others):
                changed = (name for name in wanted if wanted[name] != now[name])
                return {"name": one.name, "settings": [f"fusion.{name}={wanted[name]!r}" for name in changed]}
    raise InputError(
        "No system here fuses lists as this recording does, so no case can hold it.",
        f"These can: {', '.join(one.name for one in PIPELINES)}.",
    )
