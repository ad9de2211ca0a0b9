"""A recording as a case: the two lists, a system with the same fusion, and what was expected."""

from __future__ import annotations

import math

from workbench.errors import InputError
from workbench.records import Stage
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
from workbench_plugins.diagnose.parameters import settings_between
from workbench_plugins.engines.presets import PIPELINES
from workbench_plugins.engines.whose_fusion import lists_of
from workbench_plugins.recorder.recording import Recording, as_known


def case_of(recording: Recording, target: str) -> Case:
    """A case that expects `target` in the answer to the recorded question.

    Raises InputError for other legs than `vector` and `keyword`, for a fusion that no system `engine-…` has,
    and for a case that does not return what was recorded, such as where equal scores decide.
    """
    trace, pipeline = recording.trace, recording.pipeline
    if set(trace.legs) != {"vector", "keyword"}:
        raise InputError(
            "A case of lists has the legs vector and keyword.", f"This has {', '.join(trace.legs)}."
        )
    name, settings = _system(as_known(pipeline["fusion"]))
    vector, keyword = lists_of({one.chunk.id: one for one in trace.candidates})
    case = Case(
        case=1,
        title=f"{target} is missing in an answer of {recording.recorder.engine}",
        note=f"{recording.description}.",
        system=CaseSystem(
            name=name,
            settings=settings,
            limit=max(1, int(min(pipeline.limit, len(trace.chunks)))),
            min_score=pipeline.floor if pipeline.floor > -math.inf else None,
        ),
        questions=[CaseQuestion(question=recording.question, expect=Expected(found=target))],
        memory=CaseMemory(lists=CaseLists(vector=dict(vector), keyword=dict(keyword))),
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


def _system(fusion: Stage) -> tuple[str, list[str]]:
    """The name of a system that has a fusion of this kind, and the settings in which it differs."""
    for one in PIPELINES:
        if type(one["fusion"]) is type(fusion):
            wanted = one.with_stage(fusion)
            settings = settings_between(one, wanted)
            if settings or one.stages == wanted.stages:
                return one.name, list(settings)
    raise InputError(
        "No system here fuses lists as this recording does, so no case can hold it.",
        f"These can: {', '.join(one.name for one in PIPELINES)}.",
    )
