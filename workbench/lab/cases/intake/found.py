"""A search that somebody has looked at as a case: a trace, or a diagnosis."""

from __future__ import annotations

from workbench.contracts import Index
from workbench.lab.cases.making import Travelling, case_of
from workbench.lab.cases.model import Case, Expected
from workbench.lab.diagnose.diagnosis import Diagnosis
from workbench.lab.diagnose.runs import Aim
from workbench.records import Trace
from workbench.retrieval.pipeline import Pipeline, Source


def case_of_trace(
    trace: Trace,
    index: Index,
    target: str = "",
    *,
    expect: Expected | None = None,
    vectors: Travelling = "float32",
) -> Case:
    """A case of the search that made `trace`; `index` is the one that was searched.

    `target` is the file that should be found, or `expect` says what should be the answer. Raises InputError
    as `case_of` does.
    """
    source = Source("the trace", "", trace.system)
    pipeline = Pipeline(trace.system, trace.stages, source, layout=trace.layout)
    return case_of(trace.question, pipeline, index, target, expect=expect, vectors=vectors)


def case_of_diagnosis(diagnosis: Diagnosis, index: Index, vectors: Travelling = "float32") -> Case:
    """A case of what is diagnosed: it expects what was wanted of the file.

    `index` is the one of the diagnosis. Raises InputError as `case_of` does.
    """
    goal = diagnosis.goal
    match goal.aim:
        case Aim.OUT:
            expected = Expected(not_found=goal.path)
        case Aim.FIRST:
            expected = Expected(found=goal.path, within=1)
        case Aim.IN:
            expected = Expected(found=goal.path)
    return case_of(diagnosis.question, diagnosis.pipeline, index, expect=expected, vectors=vectors)
