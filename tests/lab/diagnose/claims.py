"""What tests of diagnoses share: the failing questions of the report, and how a claim is checked."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.conftest import SAMPLE
from workbench.contracts import Index
from workbench.measure.questions import Question, QuestionSet, load_questions
from workbench.measure.reruns import Reruns
from workbench.records import Trace
from workbench.retrieval.index_adapters import CachedIndex
from workbench.retrieval.pipeline import Pipeline, search
from workbench.terminal import text_of
from workbench_plugins.diagnose.fixes import Fix
from workbench_plugins.diagnose.keys import keys_of
from workbench_plugins.diagnose.page import Diagnosis, becomes_text
from workbench_plugins.diagnose.parameters import TYPED, parameters_of
from workbench_plugins.diagnose.repairs import combined

REPORTED = [one for one in load_questions(SAMPLE / "questions.yaml").questions if one.from_report]
"""The questions of the sample memory in the report's own wording."""

FAILING = [one for one in REPORTED if one.question != "what to do when a task seems impossible"]
"""Those that OpenClaw 2026.2.13 does not answer here: the report's eight, and three more of its wording."""


def missed(pipeline: Pipeline, index: Index, questions: QuestionSet) -> Iterator[Question]:
    """The questions whose target a pipeline does not return, each searched for when it is asked for."""
    asked = questions.questions
    return (one for one in asked if one.target not in search(one.question, pipeline, index).paths())


def check_claims(found: Diagnosis, index: Index) -> None:
    """Asserts that each fix has a value to type, and by searches that it works and that `fails` does not."""
    for fix in found.fixes:
        assert fix.verified
        assert found.goal.reached(search(found.question, fix.pipeline, index)), fix.setting
        if fix.fails is not None:
            every = keys_of(found.pipeline) if fix.is_key else parameters_of(found.pipeline)
            (parameter,) = [one for one in every if one.name == fix.setting]
            assert abs(float(fix.value)) in (0, *TYPED, abs(parameter.low), abs(parameter.high))
            failing = parameter.put(fix.fails)
            assert not found.goal.reached(search(found.question, failing, index)), (fix.setting, fix.fails)


def merged(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """Settings with others pasted into them, key by key."""
    both = {key: merged(old[key], value) for key, value in new.items() if isinstance(old.get(key), dict)}
    return {**old, **new, **both}


def check_sentences(found: Diagnosis, index: Index) -> None:
    """Asserts each sentence of a page about its causes, fixes and prices by searches of its own."""
    now, before = search(found.question, found.pipeline, index), found.prices.now
    assert (before.hits, before.silences) == counts(found, found.pipeline, index)
    page = " ".join(text_of(found.view(), details=True, width=10_000).split())  # no cell is wrapped
    for cause in found.causes:
        if not cause.repairs:
            continue
        repaired = combined(found.pipeline, cause.repairs)
        deep = any(one.removes for one in cause.repairs)
        after = deeper(found, repaired, index) if deep else search(found.question, repaired, index)
        assert cause.verified == found.goal.reached(after)
        assert cause.after is not None
        if not deep:
            assert (cause.after.hits, cause.after.silences) == counts(found, repaired, index)
        check_evidence(found.target, cause.evidence, now, after)
        told = f"hits {found.prices.now.hits} → {cause.after.hits} of {len(found.prices.questions)}"
        assert " ".join(cause.evidence.split()) in page
        assert f"repaired: {told}" in page
    for fix in found.fixes:
        check_fix(found, fix, now, index)
        assert becomes_text(fix) in page
        after = fix.price.after
        assert (fix.price.before.hits, fix.price.before.silences) == (before.hits, before.silences)
        assert f"{before.hits} → {after.hits}" in page
        assert not found.prices.controls or f"{before.silences} → {after.silences}" in page


def deeper(found: Diagnosis, pipeline: Pipeline, index: Index) -> Trace:
    """What a repair by removal answers: the legs bring what they bring now."""
    return Reruns(found.question, found.pipeline, CachedIndex(index)).at_same_depth(pipeline)


def counts(found: Diagnosis, pipeline: Pipeline, index: Index) -> tuple[int, int]:
    """The hits and the empty answers of a pipeline over the questions of the price."""
    prices = found.prices
    hits = sum(one.target in search(one.question, pipeline, index).paths() for one in prices.questions)
    return hits, sum(not search(one.question, pipeline, index).paths() for one in prices.controls)


def check_evidence(target: str, evidence: str, now: Trace, after: Trace) -> None:
    """Asserts what the evidence of a cause says of the file's best chunk, before and after the repair."""
    before, _, then = evidence.partition(" Repaired: ")
    for trace, told in ((now, before), (after, then)):
        dropped = re.findall(r"so the ([a-z ]+) drops it", told)
        place = evidence.partition(": ")[0]
        chunks = [one for one in trace.candidates if one.chunk.location == place]
        assert [one.drop.stage.slot.replace("_", " ") for one in chunks if one.drop] in ([], dropped)
        assert not dropped or chunks
        for leg, rank in re.findall(r"(\w+) leg: rank (\d+) of", told):
            own = chunks[0].numbers[f"{leg}_rank"] if chunks else math.nan
            assert own == float(rank) or (math.isnan(own) and "beyond this leg's depth" in told), told
        for name, value in re.findall(r"([a-z][a-z ]*) = [^;]*? = (-?[\d.e-]+)(?=[;,.]? )", told):
            column = name.strip().replace(" ", "_")
            assert float(value) == pytest.approx(chunks[0].numbers[column], rel=1e-3), (name, told)
    paths = after.paths()
    for place, count in re.findall(r"file (\d+) of (\d+) in the answer", then):
        assert (paths.index(target) + 1, len(paths)) == (int(place), int(count))
    assert ("in the answer" in then) == (target in paths)


def check_fix(found: Diagnosis, fix: Fix, now: Trace, index: Index) -> None:
    """Asserts what a row of the table of fixes says: its side, the files that it moves, and its price."""
    after = search(found.question, fix.pipeline, index)
    others = [one for one in after.paths() if one != found.target]
    assert fix.gained == tuple(one for one in others if one not in now.paths())
    assert set(fix.lost) == set(now.paths()) - set(after.paths()) - {found.target}
    assert (fix.price.after.hits, fix.price.after.silences) == counts(found, fix.pipeline, index)
    if fix.side and fix.fails is not None:
        assert (fix.side == "at least") == (float(fix.value) > fix.fails)
    slots = [one.slot for one in found.pipeline.diff(fix.pipeline)]
    assert fix.change is not None or fix.is_key or slots == [fix.setting.partition(".")[0]]
