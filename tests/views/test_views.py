"""Words and tables say what the numbers are."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from workbench import terminal
from workbench.measure.evaluation import evaluate
from workbench.measure.questions import QuestionSet
from workbench.memory.index import MemoryIndex
from workbench.retrieval.explain import explain
from workbench.retrieval.pipeline import search
from workbench.systems.catalogue import SYSTEMS
from workbench.systems.openclaw import SHIPPED, THREE_FIXES, WORKAROUND
from workbench.tables import WIDTH
from workbench.terminal import renderable
from workbench.views.living.data import Chunks
from workbench.views.show import parts_of, show


def printed(thing: object, width: int = 140, details: bool = False) -> str:
    console = terminal.PlainConsole(width=width, record=True, file=None)
    with console.capture() as capture:
        console.print(renderable(parts_of(thing), details))
    return capture.get()


def test_a_search_shows_what_it_asked_and_what_it_dropped(toy: MemoryIndex) -> None:
    trace = search("rooibos tea", SHIPPED, toy)
    for shown in ("memory/tea.md:1-3", "by the floor (drop what scores below 0.35)"):
        assert shown in printed(trace)
    for shown in ('"rooibos" AND "tea"', "memory/tea.md:1-3", "dropped by the floor"):
        assert shown in printed(trace, details=True)
    assert "no leg brought a candidate" in printed(search("zebra", SHIPPED, toy))


def test_a_long_path_shortens_no_number_and_what_was_dropped_is_in_the_order_of_the_stages(
    sample: MemoryIndex,
) -> None:
    trace = search("Michael personality profile", THREE_FIXES, sample)
    text = printed(trace.numbers(), WIDTH)
    assert text.index("dropped by the floor") < text.index("dropped by the limit")
    assert re.search(r"score +vector +keyword", text)
    assert re.search(r"# +RRF / max +cosine +rank +min-max +rank +chunk", text)
    assert "memory/protocols/audience-calibration.md:31-46" in text


def test_an_empty_answer_names_the_nearest_chunk_and_the_floor(sample: MemoryIndex) -> None:
    text = printed(search("how should I evaluate if a claim is actually true", SHIPPED, sample))
    assert "Nothing returned." in text
    assert "falsification-first.md:1-15: score 0.349 < 0.350, so the floor" in text


def test_an_explanation_says_which_words_are_missing_and_the_formula(toy: MemoryIndex) -> None:
    trace = search("tea for the hub", SHIPPED, toy)
    text = explain(trace, toy, "memory/tea.md").text()
    assert "it does not find “for”, “hub”" in text
    assert re.search(r"score = 0\.7 × [\d.]+ \+ 0\.3 × 0 = [\d.]+", text)


def test_an_explanation_says_what_a_floor_on_evidence_asks_for(sample: MemoryIndex) -> None:
    trace = search("audience calibration rules", SYSTEMS["openclaw-2026.2.13+or+rrf+minmax+evidence"], sample)
    text = explain(trace, sample, "memory/protocols/audience-calibration.md").text()
    assert re.search(r"keyword relevance r / \(1 \+ r\) .*: the floor drops it", text)


def test_a_long_line_of_an_explanation_goes_on_below_its_beginning(toy: MemoryIndex) -> None:
    trace = search("a wheel that grinds on the way uphill", SHIPPED, toy)
    lines = printed(explain(trace, toy, "memory/tea.md"), width=60).splitlines()
    at = next(place for place, line in enumerate(lines) if "it does not find" in line)
    assert lines[at].startswith("  keyword leg")
    assert re.match(r"  \S", lines[at + 1])


def test_a_notebook_gets_bold_words_that_fit_its_page(
    toy: MemoryIndex, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(terminal, "in_notebook", lambda: True)
    show(search("rooibos tea", SHIPPED, toy))
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("\x1b[1m") for line in lines)
    plain = [re.sub(r"\x1b\[\d*m", "", line) for line in lines]
    assert all(len(line) <= WIDTH or line.lstrip().startswith("workbench ") for line in plain)


@pytest.mark.parametrize(
    ("text", "begins"),
    [
        ("---\ntitle: Tea\ntags: [a]\n---\n\n# Rooibos\n", "# Rooibos"),
        ("---\ntitle: Tea\n---\n", "--- title: Tea ---"),
        ('+++\ntitle = "Tea"\n+++\n\nBrewed leaves.', "Brewed leaves."),
        ("+++\nno end", "+++ no end"),
        ("# Tea\n---\nmore\n---\n", "# Tea --- more ---"),
    ],
)
def test_a_result_begins_after_the_front_matter_of_its_file(toy: MemoryIndex, text: str, begins: str) -> None:
    trace = search("rooibos tea", THREE_FIXES, toy)
    found = [replace(one, chunk=replace(one.chunk, text=text)) for one in trace.results]
    assert begins in printed(trace.candidates_table(found), 200)


def test_traces_and_explanations_are_plain_json(toy: MemoryIndex) -> None:
    trace = search("rooibos tea", THREE_FIXES, toy)
    data = json.loads(json.dumps(trace.as_json(), allow_nan=False))
    assert [one["path"] for one in data["results"]] == [one.chunk.path for one in trace.results]
    assert [one["rank"] for one in data["results"]] == list(range(1, len(trace.results) + 1))
    assert len(data["results"]) + len(data["dropped"]) == len(trace.chunks)
    json.dumps(explain(trace, toy, "memory/bike.md").as_json(), allow_nan=False)


def test_evaluations_print_hits_intervals_and_kinds_and_fit_a_notebook(
    sample: MemoryIndex, questions: QuestionSet
) -> None:
    evaluations = evaluate(questions, [SHIPPED, THREE_FIXES, WORKAROUND], sample)
    text = printed(evaluations)
    for one in evaluations:
        assert f"{one.overall.hits}/57" in text
        assert f"{one.overall.rate:.1%}" in text
    assert "cross domain" in text
    name = "openclaw-2026.2.13+or+rrf+minmax+evidence"
    narrow = printed(evaluate(questions, [SYSTEMS[name]], sample), width=WIDTH)
    assert (narrow.count(name), "…" in narrow) == (2, False)


def test_a_diff_prints_only_what_differs() -> None:
    text = str(SHIPPED.diff(THREE_FIXES))
    assert text.count("−") == text.count("  + ") == 3
    assert str(SHIPPED.diff(SHIPPED)) == "no difference"
    differences = [SHIPPED.diff(one) for one in SYSTEMS.values()]
    lines = [line for one in differences for line in str(one).splitlines()]
    assert max(map(len, lines)) <= WIDTH
    assert any(line.startswith("    ") for line in lines)  # it goes on below


@pytest.mark.parametrize(
    ("name", "question", "line"),
    [
        ("openclaw-2026.2.13", "rooibos", r"keyword leg: rank \d of \d, bm25 -\d"),
        ("openclaw-2026.2.13", "rooibos", r"vector leg: rank \d of \d, cosine distance \d"),
        ("am-150", "Michael", r"keyword leg: rank 1 of 1, raw score 4"),
    ],
)
def test_a_leg_names_its_own_number(toy: MemoryIndex, name: str, question: str, line: str) -> None:
    trace = search(question, SYSTEMS[name], toy)
    explanation = explain(trace, toy, "MEMORY.md")
    assert re.search(line, explanation.text())
    (chunk,) = explanation.as_json()["chunks"]
    assert any(re.search(rf"\b{leg['number']}\b", line) for leg in chunk["legs"])


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("word " * 60, "word "),
        ("word " * 139 + "broken in the middle", "word word …"),
        ("字" * 800, "字字 …"),
    ],
)
def test_a_long_text_of_a_view_ends_with_a_whole_word_and_an_ellipsis(
    toy: MemoryIndex, text: str, end: str
) -> None:
    trace = search("rooibos tea", SHIPPED, toy)
    trace = replace(trace, chunks=[replace(one, text=text) for one in trace.chunks])
    assert all(one["text"].endswith(end) for one in Chunks([trace]).data)
