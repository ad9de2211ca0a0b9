"""Values show themselves: as HTML with the words and numbers of `wb.show`, and as its text for a terminal."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from typing import Any

import pytest

from workbench.measure.blame import SHOWN_FLIPS, Blame, Flipped, blame
from workbench.measure.checks import warnings_about
from workbench.measure.evaluation import evaluate
from workbench.measure.missed import missed_questions, survivals
from workbench.measure.paired import paired
from workbench.measure.questions import Control, Question, QuestionSet
from workbench.measure.thresholds import scores
from workbench.memory.index import MemoryIndex
from workbench.records import Chunk
from workbench.retrieval.explain import explain
from workbench.retrieval.picture import parallel
from workbench.retrieval.pipeline import search
from workbench.systems.catalogue import SYSTEMS
from workbench.systems.openclaw import SHIPPED, THREE_FIXES
from workbench.tables import NO_FORMULAS, STYLE, html_of
from workbench.views.show import show
from workbench_plugins.diagnose.diagnosis import diagnose
from workbench_plugins.diagnose.findings import lint, lint_pair
from workbench_plugins.diagnose.sweep import sweep
from workbench_plugins.engines.museum import run_specimens
from workbench_plugins.engines.whose_fusion import EXAMPLE, whose_fusion

SET = QuestionSet(
    questions=(Question(question="rooibos tea", target="memory/tea.md"),),
    controls=(Control(question="zebra crossing"),),
)
HOSTILE = "</td></div><script>alert(1)</script><img src=x onerror=alert(2)>&amp;\x1b[31m"


@pytest.fixture(scope="module")
def things(toy: MemoryIndex) -> dict[str, Any]:
    """One value of each kind that shows itself."""
    trace = search("rooibos tea", SHIPPED, toy)
    evaluations = evaluate(SET, [SHIPPED, THREE_FIXES], toy)
    return {
        "trace": trace,
        "explanation": explain(trace, toy, "memory/tea.md"),
        "pipeline": THREE_FIXES,
        "diff": SHIPPED.diff(THREE_FIXES),
        "no diff": SHIPPED.diff(SHIPPED),
        "evaluation": evaluations[0],
        "evaluations": evaluations,
        "paired": paired(*evaluations),
        "scores": scores(evaluations[0]),
        "survivals": survivals(evaluations, toy),
        "missed": missed_questions(evaluations[0], toy),
        "fusion": whose_fusion(*EXAMPLE),
        "specimen": run_specimens()[0],
        "diagnosis": diagnose("bike hub brake", SHIPPED, toy, "memory/both.md", questions=SET),
        "blame": blame(SHIPPED, THREE_FIXES, toy, SET),
        "sweep": sweep(THREE_FIXES, ["floor.floor=0:1:3"], SET, toy),
        "findings": lint(SHIPPED),
        "no findings": lint_pair(SHIPPED, THREE_FIXES),
        "warnings": warnings_about(evaluations, toy),
        "no warnings": warnings_about([], toy),
    }


class Reader(HTMLParser):
    """The visible text of a page, and the tags that are open at its end."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.text, self.tags, self.open = "", set[str](), list[str]()
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.add(tag)
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.text += f" {data}"


def words(text: str) -> list[str]:
    return text.replace("\xa0", " ").split()


def test_a_value_shows_the_words_of_show_as_html_and_as_text(
    things: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    for kind, thing in things.items():
        bundle = thing._repr_mimebundle_()
        show(thing)
        printed = capsys.readouterr().out
        # A pipe gets whole cells, and the text of a notebook folds them: the letters are compared.
        assert sorted("".join(words(bundle["text/plain"]))) == sorted("".join(words(printed))), kind
        read = Reader(bundle["text/html"])
        assert read.open == [], kind
        assert "script" not in read.tags, kind
        letters = "".join(words(read.text))
        assert [word for word in words(printed) if word not in letters] == [], kind


def test_a_long_list_of_flips_names_where_python_has_all(things: dict[str, Any]) -> None:
    found: Blame = things["blame"]
    flip = Flipped("rooibos tea", "memory/tea.md", 0, 1, ())
    long = replace(found, flips=(flip,) * (SHOWN_FLIPS + 2))
    assert "2 more questions; the attribute flips has all." in long._repr_mimebundle_()["text/html"]


def test_the_colours_are_those_of_the_page(things: dict[str, Any]) -> None:
    for thing in things.values():
        html = thing._repr_mimebundle_()["text/html"]
        found = re.findall(r"(?<![-\w])(?:color|background(?:-color)?):([^;}\"]+)", html)
        assert {one.strip() for one in found} <= {"inherit", "none"}


def test_a_trace_folds_all_candidates_with_their_fates(toy: MemoryIndex) -> None:
    trace = search("rooibos tea", SHIPPED, toy)
    html = trace._repr_mimebundle_()["text/html"]
    folded = html[html.rindex("<details>") :]
    assert f"All {len(trace.chunks)} candidates" in folded
    for one in trace.candidates:
        assert one.chunk.location in folded
    assert "so the floor drops it" in unescape(folded)


def test_hostile_texts_are_shown_and_not_run(toy: MemoryIndex) -> None:
    trace = search("rooibos tea", SHIPPED, toy)
    chunks = tuple(
        Chunk(one.id, HOSTILE, one.source, one.start_line, one.end_line, HOSTILE) for one in trace.chunks
    )
    hostile = replace(trace, chunks=chunks, question=HOSTILE, system=HOSTILE)
    unknown = explain(trace, toy, HOSTILE)
    asked = QuestionSet(questions=(Question(question="tea" + HOSTILE, target=HOSTILE),))
    missing = missed_questions(evaluate(asked, [SHIPPED], toy)[0], toy)
    renamed, fused = replace(SHIPPED, name=HOSTILE), whose_fusion({HOSTILE: 1.0}, {})
    for thing in (hostile, unknown, missing, renamed, fused):
        html = thing._repr_mimebundle_()["text/html"]
        read = Reader(html)
        assert read.open == []
        assert not read.tags & {"script", "img"}
        assert html.removeprefix(STYLE).startswith(f'<div class="workbench-shown {NO_FORMULAS}">')
        assert "\x1b" not in html
        assert "<script>alert(1)</script>" in read.text


def test_a_pipeline_draws_each_stage_once_in_order_legs_side_by_side_and_marks_its_changes() -> None:
    slots = [[stage.slot for stage in group] for group in parallel(SHIPPED.stages)]
    for together in (["keyword_leg", "vector_leg"], ["keyword_score", "vector_score"], ["fusion"]):
        assert together in slots
    for pipeline in SYSTEMS.values():
        groups = parallel(pipeline.stages)
        assert [stage for group in groups for stage in group] == list(pipeline.stages)
        for group in groups:
            written = {column for stage in group for column in stage.writes()}
            assert not any(written & {*stage.reads(), *stage.may_read()} for stage in group)
        html = pipeline._repr_mimebundle_()["text/html"]
        assert html.count('<span class="stage') == len(pipeline.stages)
        marked = re.findall(r'class="stage(?: leg)? changed"[^>]*>([^<]+)<small>([^<]+)</small>', html)
        last = {one.stage.slot.replace("_", " "): f"+{one.name}" for one in pipeline.changes}
        assert dict(marked) == last


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_picture_of_a_search_says_where_the_file_falls_out(name: str, toy: MemoryIndex) -> None:
    trace = search("rooibos tea", SYSTEMS[name], toy)
    returned = [one.chunk.path for one in trace.results]
    for path in toy.paths():
        picture = html_of([explain(trace, toy, path).picture()])
        lost = re.findall(r'class="stage[^"]*lost"[^>]*>([^<]*)<', picture)
        for leg in trace.legs.values():
            held = dict(zip(trace.rows.tolist(), trace.chunks, strict=True))
            rank = next((n for n, row in enumerate(leg.hits.rows.tolist(), 1) if held[row].path == path), 0)
            at = f"the file at {rank}" if rank else "without the file"
            assert f"{leg.hits.rows.size} found, {at}" in picture
        if path in returned:
            place = returned.index(path) + 1
            assert f"{len(returned)} returned; the file at place {place}" in picture
            assert lost == []
            continue
        mine = [one for one in trace.candidates if one.chunk.path == path]
        drops = [(trace.stage_number(one.drop.stage), one.drop.stage.slot) for one in mine if one.drop]
        assert lost == [max(drops)[1].replace("_", " ") if drops else "candidates"]
