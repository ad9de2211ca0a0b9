"""Every printed sentence of an explanation is checked against the trace that it explains."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

import pytest

from tests.arithmetic import evaluated
from workbench.measure.questions import QuestionSet
from workbench.memory.index import MemoryIndex
from workbench.records import Candidate, DropKind, Stage, Trace
from workbench.retrieval.cutoff import EvidenceFloor, Limit, MinScore
from workbench.retrieval.explain import Explanation, Fate, Verdict, explain
from workbench.retrieval.index_adapters import CachedIndex
from workbench.retrieval.pipeline import Pipeline, search
from workbench.systems.registry import SYSTEMS
from workbench.views.text import explanation_text
from workbench_plugins.automem.recall import AdaptiveFloor
from workbench_plugins.basic_memory.scores import MinSimilarity
from workbench_plugins.openclaw.ranking import ReadableProjects
from workbench_plugins.qmd.fusion import CandidateLimit
from workbench_plugins.recommended.stages import BestOfFile

QUESTIONS_EACH = 4
"""How many questions each system is asked; together the systems are asked all of them."""

FATE_OF_KIND = {
    DropKind.LIMIT: Fate.BEYOND_LIMIT,
    DropKind.FLOOR: Fate.BELOW_FLOOR,
    DropKind.LEG_FLOOR: Fate.BELOW_LEG_FLOOR,
    DropKind.FILTER: Fate.FILTERED,
    DropKind.FOLD: Fate.FOLDED,
}
COMPARED = re.compile(
    r"(?:^|and )(?:(?P<absent>[a-z][^<>≥≤]*?) is absent"
    r"|(?P<measure>[a-z][^<>≥≤]*?) (?P<value>-?[\d.e+-]+) (?P<sign>[<>≥≤]) (?P<limit>-?[\d.e+-]+))"
)
ENDING = re.compile(r"(?P<kept>returned|not returned); position (?P<position>\d+) of (?P<all>\d+)")
FORMULA = re.compile(r"(?P<name>[a-z][a-z_ ]*) = (?P<rest>.+)")
SIGNS = {"<": float.__lt__, ">": float.__gt__, "≥": float.__ge__, "≤": float.__le__}


def limits_of(stage: Stage) -> set[float]:
    """The limits that a cut-off stage has as parameters; none for one that computes its limit."""
    match stage:
        case MinScore(floor=floor):
            return {floor}
        case Limit(count=count) | CandidateLimit(count=count):
            return {float(int(count))}
        case BestOfFile():
            return {1.0}
        case MinSimilarity(least=least):
            return {least}
        case EvidenceFloor(cosine=cosine, relevance=relevance):
            return {cosine, relevance}
        case ReadableProjects():
            return {0.0}
    assert isinstance(stage, AdaptiveFloor)
    return set()


def check_lines(trace: Trace, verdict: Verdict, lines: Sequence[str]) -> None:
    candidate = verdict.candidate
    assert candidate is not None
    assert lines[0] == f"{candidate.chunk.place}: {verdict.fate}"
    assert verdict.fate is (Fate.RETURNED if candidate.drop is None else FATE_OF_KIND[candidate.drop.kind])
    dropping = [line for line in lines if re.search(r": the [a-z ]+ drops it", line)]
    assert len(dropping) == (candidate.drop is not None) + sum("brought back by" in line for line in lines)
    if candidate.drop is not None:
        assert f": the {candidate.drop.stage.slot.replace('_', ' ')} drops it" in dropping[-1]
    for line in lines[1:]:
        check_line(trace, candidate, line.strip())


def check_line(trace: Trace, candidate: Candidate, line: str) -> None:
    if ending := ENDING.fullmatch(line):
        assert (ending["kept"] == "returned") == (candidate.drop is None)
        assert (int(ending["position"]), int(ending["all"])) == (candidate.position, len(trace.chunks))
    elif not line.startswith("brought back by ") and re.search(r": the [a-z ]+ drops it|: passes the ", line):
        check_decision(trace, candidate, line)
    elif (found := FORMULA.fullmatch(line)) and found["name"].replace(" ", "_") in trace.columns:
        check_formula(candidate, found["name"].replace(" ", "_"), found["rest"])
    else:
        assert re.match(r"[a-z]+ leg: |brought back by the |the model has read ", line), line


def check_formula(candidate: Candidate, column: str, rest: str) -> None:
    *expression, value = rest.split(" = ")
    assert value == f"{candidate.numbers[column]:.4g}" or not expression
    if expression:  # four digits of each number leave this much room
        try:
            computed = evaluated(expression[0])
        except ZeroDivisionError:  # the difference of two numbers that agree in four digits
            computed = 0.0
        assert computed == pytest.approx(candidate.numbers[column], rel=0.02, abs=0.002)


def check_decision(trace: Trace, candidate: Candidate, line: str) -> None:
    compared, _, decision = line.rpartition(": ")
    slot = re.sub(r"^(passes )?the | drops it.*$", "", decision).replace(" ", "_")
    (stage,) = [one for one in trace.stages if one.slot == slot]
    cutoff = trace.cutoffs[trace.place_of(stage)]
    row = trace.chunks.index(candidate.chunk)
    found = list(COMPARED.finditer(compared))
    measured = {one.measure: one for one in cutoff.thresholds}
    assert len(found) == len(measured) or (found and "passes the" in line), line
    for shown in found:
        threshold = measured[(shown["measure"] or shown["absent"]).strip()]
        value = float(threshold.values[row])
        assert math.isnan(value) == (shown["absent"] is not None)
        if not math.isnan(value):
            assert float(shown["limit"]) == pytest.approx(threshold.limit, rel=1e-4, abs=5e-4)
            assert not limits_of(stage) or threshold.limit in limits_of(stage)
            # Three places: half a unit of the last, and a little for numbers like 0.0625.
            assert float(shown["value"]) == pytest.approx(value, rel=1e-4, abs=5.01e-4)
            assert SIGNS[shown["sign"]](value, float(threshold.limit)), line
        if threshold.measure in trace.columns:
            assert value == pytest.approx(candidate.numbers[threshold.measure], nan_ok=True)


def told(explanation: Explanation) -> Mapping[str, list[str]]:
    """The lines of each chunk that the text tells about, by the place of the chunk."""
    blocks = explanation_text(explanation, chunks=len(explanation.verdicts)).split("\n\n")[1:]
    return {block.split("\n")[0].rpartition(": ")[0]: block.split("\n") for block in blocks}


@pytest.fixture(scope="module")
def cached(sample: MemoryIndex) -> CachedIndex:
    return CachedIndex(sample)


@pytest.mark.parametrize("number", range(len(SYSTEMS)), ids=list(SYSTEMS))
def test_every_sentence_about_every_file_is_true(
    number: int, sample: MemoryIndex, cached: CachedIndex, questions: QuestionSet
) -> None:
    asked = [one.question for one in (*questions.questions, *questions.controls)]
    pipeline: Pipeline = list(SYSTEMS.values())[number]
    for turn in range(QUESTIONS_EACH):
        trace = search(asked[(number * QUESTIONS_EACH + turn) % len(asked)], pipeline, cached)
        for path in sample.store.stamps():
            explanation = explain(trace, cached, path)
            lines = told(explanation)
            for verdict in explanation.verdicts:
                if verdict.candidate is not None:
                    check_lines(trace, verdict, lines[verdict.chunk.place])
                else:
                    assert not any(verdict.chunk.id == chunk.id for chunk in trace.chunks)
