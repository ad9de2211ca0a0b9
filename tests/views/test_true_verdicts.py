"""What the one-line verdicts of search and explain say is read from the printed text and computed again.

Systems, questions, files and one moved setting are drawn at random. Nothing is taken from the code that words
the verdicts: ranks, counts and numbers come from the columns of the trace and from the legs' own lists.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import closing

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st

from tests import world
from workbench.errors import InputError
from workbench.records import KEPT, Trace
from workbench.retrieval.explain import explain
from workbench.retrieval.index_adapters import CachedIndex
from workbench.retrieval.pipeline import Pipeline, search
from workbench.systems.catalogue import SYSTEMS
from workbench.terminal import text_of
from workbench_plugins.diagnose.parameters import parameters_of

KINDS = ("tea", "cup", "bike", "wheel", "garden", "tomato", "rain", "key", "red", "old")
NOTES = {
    f"memory/{one}-{other}.md": f"# {one} {other}\n\nThe {one} is by the {other}" + f", {one}" * at + ".\n"
    for at, one in enumerate(KINDS)
    for other in KINDS[:at]
}
QUESTIONS = (
    "tea", "where is the red bike", "tea cup", "the", "the old garden and the rain", "zebra quagga",
    "tomato wheel key", "rain in the old cup by the garden", "bikes", "?", "red OR old", "key key key",
)  # fmt: skip


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CachedIndex]:
    with closing(world.build(tmp_path_factory.mktemp("verdicts"), NOTES)) as opened:
        yield CachedIndex(opened)


@st.composite
def asked(draw: st.DrawFn) -> tuple[Pipeline, str, str]:
    """A system with at most one moved setting, a question, and a file."""
    pipeline = SYSTEMS[draw(st.sampled_from(sorted(SYSTEMS)))]
    if draw(st.booleans()) and (some := parameters_of(pipeline)):
        one = draw(st.sampled_from(some))
        if one.is_number:
            low, high = max(one.low, -2.0), min(one.high, 40.0)
            value = draw(st.integers(int(low), int(high)) if one.whole else st.floats(low, high))
        else:
            value = draw(st.sampled_from(one.choices))
        moved = one.with_value(value)
        assume(moved is not None)
        pipeline = moved or pipeline
    return pipeline, draw(st.sampled_from(QUESTIONS)), draw(st.sampled_from(sorted(NOTES)))


def found(index: CachedIndex, pipeline: Pipeline, question: str) -> Trace:
    try:
        return search(question, pipeline, index)
    except InputError:  # a setting that this index or this question cannot be asked with
        assume(False)
        raise


MANY = settings(max_examples=400, suppress_health_check=[HealthCheck.filter_too_much], deadline=None)


@MANY
@given(one=asked())
def test_the_last_lines_of_a_search_count_what_was_returned_and_dropped(
    one: tuple[Pipeline, str, str], index: CachedIndex
) -> None:
    pipeline, question, _ = one
    trace = found(index, pipeline, question)
    printed = text_of(trace.view(), width=10_000)
    kept = [row for row in trace.order.tolist() if trace.dropped[row] == KEPT]
    if not len(trace.rows):
        assert "Nothing found: no leg brought a candidate." in printed
        return
    if kept:
        count = re.search(r"^(\d+) results? of ([\d,]+) candidates?, by ", printed, re.M)
        assert count is not None
        assert (int(count[1]), int(count[2].replace(",", ""))) == (len(kept), len(trace.rows))
    else:
        first = re.search(r"^Nothing returned\. The first in order was (\S+): (.*)\.$", printed, re.M)
        assert first is not None
        row = int(trace.order[0])
        assert first[1] == trace.chunks[row].location
        check_reason(trace, row, first[2])
    dropped = Counter(int(number) for number in trace.dropped if number != KEPT)
    said = re.search(r"^Dropped: (.*?)\.(?: Brought back .*?: (\d+)\.)?$", printed, re.M)
    assert (said is not None) == bool(dropped), printed
    if said is not None:
        assert said[1].startswith(f"{dropped[min(dropped)]} by the ")
        counts = [int(one) for one in re.findall(r"(?:^|, )(\d+) by the ", said[1])]
        assert sum(counts) == sum(dropped.values())
    back = 0
    for row in range(len(trace.rows)):
        states = [int(moment.dropped[row]) for moment in trace.moments if moment.dropped.size]
        back += trace.dropped[row] == KEPT and any(state != KEPT for state in states)
    assert f"Brought back after they were dropped: {back}." in printed or not back
    for name, leg in trace.legs.items():
        said = "was not asked" if leg.unasked else "is empty"
        assert (f"The {name} leg {said}" in printed) == (not leg.hits.rows.size)


def check_reason(trace: Trace, row: int, text: str) -> None:
    """What dropped a candidate: the stage and the two numbers, as they are printed."""
    stage = trace.stages[int(trace.dropped[row])]
    assert re.search(r"the ([a-z ]+) drops it", text), text
    assert f"the {stage.slot.replace('_', ' ')} drops it" in text
    cut = trace.cutoffs[int(trace.dropped[row])]
    numbers = re.findall(r"(-?[\d.]+(?:e[+-]?\d+)?) ([<>]) (-?[\d.]+(?:e[+-]?\d+)?)", text)
    for value, sign, limit in numbers:
        assert float(value) < float(limit) if sign == "<" else float(value) > float(limit)
        assert any(
            math.isclose(float(one.values[row]), float(value), rel_tol=1e-3, abs_tol=6e-4)
            and math.isclose(float(one.limit), float(limit), rel_tol=1e-3, abs_tol=6e-4)
            for one in cut.thresholds
            if not isinstance(one.limit, str) and one.values.dtype.kind == "f"
        ), (text, cut.thresholds)


@MANY
@given(one=asked())
def test_the_first_line_of_an_explanation_is_what_happened(
    one: tuple[Pipeline, str, str], index: CachedIndex
) -> None:
    pipeline, question, target = one
    trace = found(index, pipeline, question)
    line = explain(trace, index, target).headline
    mine = [row for row in range(len(trace.rows)) if trace.chunks[row].path == target]
    if returned := re.match(r"Returned: file (\d+) of (\d+) in the answer(.*)\.$", line):
        kept = [row for row in trace.order.tolist() if trace.dropped[row] == KEPT]
        files = list(dict.fromkeys(trace.chunks[row].path for row in kept))
        assert (int(returned[1]), int(returned[2])) == (files.index(target) + 1, len(files))
        states = {int(moment.dropped[row]) for moment in trace.moments if moment.dropped.size for row in mine}
        assert not returned[3] or states - {KEPT}
        event("returned" + (", brought back" if returned[3] else ""))
        return
    assert line.startswith("Not returned: "), line
    assert target not in trace.paths()
    rest = line.removeprefix("Not returned: ")
    if not mine:
        event("no candidate")
        check_unlisted(trace, index, target, rest)
        return
    event("dropped")
    sentence, _, _ = rest.partition(" The ")
    by = re.match(r"the ([a-z ]+) drops it, (.*?)\.$", sentence)
    assert by is not None, sentence
    fates = [str(one.fate) for one in explain(trace, index, target).verdicts if one.candidate is not None]
    first = {row for row in mine if str(trace.candidate(row).fate) == fates[0]}
    best = min(first, key=trace.order.tolist().index)
    check_reason(trace, best, f"{by[2]}, so the {by[1]} drops it")
    for name, leg in trace.legs.items():
        own = {int(one) for one in index.laid_out(trace.layout).rows_of(target)}
        brought = bool(own & {int(one) for one in leg.hits.rows})
        if f"The {name} leg is empty" in line:
            assert not leg.hits.rows.size
        if f"The {name} leg does not bring it" in line:
            assert leg.hits.rows.size
            assert math.isnan(trace.columns[f"{name}_rank"][best])
            event("one leg does not bring it" + (", another chunk" if brought else ""))
        asks = re.search(rf"The {name} leg is empty: its query asks for all (\d+) words", line)
        if asks is not None:
            assert trace.query is not None
            assert trace.query.operator == "AND"
            assert int(asks[1]) == len(set(trace.query.clauses))


def check_unlisted(trace: Trace, index: CachedIndex, target: str, rest: str) -> None:
    """Each rank beyond a depth is that in the leg's whole list, and no leg lists what it is said not to."""
    laid_out = index.laid_out(trace.layout)
    own = {int(one) for one in laid_out.rows_of(target)}
    for leg in trace.legs.values():
        assert not own & {int(one) for one in leg.hits.rows}
    for rank, name, depth in re.findall(r"rank (\d+) in the (\w+) leg, which brings (\d+)", rest):
        assert int(rank) > int(depth) == trace.legs[name].hits.rows.size, rest
        if name == "vector" and trace.legs[name].hits.rows.size:
            brought = set(trace.legs[name].hits.rows.tolist())
            every = laid_out.vector(laid_out.embed(trace.question), laid_out.size).rows.tolist()
            if set(every[: len(brought)]) == brought:  # else the leg asks its index in another way
                ranks = [place for place, row in enumerate(every, 1) if row in own]
                assert int(rank) in ranks
    if rest.startswith("no leg lists it"):
        for leg in trace.legs.values():
            assert np.intersect1d(leg.hits.rows, list(own)).size == 0
