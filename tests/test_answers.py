"""Every answer has three sizes: one line that says it, a few that show it, and all of it on request."""

from __future__ import annotations

import re

import pytest

from tests.commands import Run
from workbench.excerpts import excerpt
from workbench.memory.index import MemoryIndex
from workbench.retrieval.explain import explain
from workbench.retrieval.pipeline import search
from workbench.systems.catalogue import SYSTEMS, system
from workbench.systems.openclaw import SHIPPED
from workbench.tables import Excerpt, Note, hanging, html_of
from workbench.terminal import text_of

QUESTION = "how should I evaluate if a claim is actually true"
TARGET = "memory/protocols/falsification-first.md"


# An excerpt


def test_an_excerpt_begins_where_the_words_of_the_question_are_and_marks_them() -> None:
    text = (
        "# Machines\n\nNothing here.\n\n"
        + "Filler words. " * 20
        + "\n## Disks\nThe disks of Heron are new.\n"
    )
    above, found = excerpt(text, "which disk is in heron")
    assert above == "Disks"
    assert found.text == "The disks of Heron are new."
    assert [found.text[begin:end] for begin, end in found.marks] == ["disks", "Heron"]


@pytest.mark.parametrize(
    ("question", "text", "marked"),
    [
        ("strings", "a stream, a string, Strings", ["string", "Strings"]),
        ("東京の天気", "明日の東京の天気は", ["東京の天気"]),
        ("the", "the cat", ["the"]),  # it has no other word
        ("the cat", "the cat", ["cat"]),
        ("notify", "notified, notifying, notification", ["notified", "notifying"]),
        ("how long must it dry", "it dries, dried, drier, a dryad", ["dries", "dried", "drier"]),
        ("berries", "a berry, berries, taxi", ["berry", "berries"]),
        ("taxis", "a taxi, taxis", ["taxi", "taxis"]),
        ("", "any text", []),
    ],
)
def test_words_are_marked_as_a_reader_expects(question: str, text: str, marked: list[str]) -> None:
    found = excerpt(text, question)[1]
    assert [found.text[begin:end] for begin, end in found.marks] == marked


def test_an_excerpt_is_cut_after_its_lines_and_its_whole_part_never() -> None:
    long = "word " * 100
    assert len(text_of([Excerpt(long, lines=2)], width=40).splitlines()) == 2
    assert text_of([Excerpt(long, lines=2)], width=40).endswith("…")
    place = "memory/" + "x" * 60 + ".md:1-2"
    told = text_of([Excerpt(f"{place} {long}", lines=1, whole=len(place))], width=40)
    assert place in told.replace("\n", "")
    assert len(text_of([Excerpt(f"a.md:1 {long}", lines=1, whole=6)], width=40).splitlines()) == 1
    place = "x" * 33 + ".md:1-2"  # after it, nothing of the heading fits: no ellipsis seems to cut the place
    assert text_of([Excerpt(f"{place}  {long}", lines=1, whole=len(place))], width=41).strip() == place


def test_a_key_of_the_environment_is_in_no_excerpt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "key-of-the-environment-1")
    part = Excerpt("so key-of-the-environment-1 it is", [(7, 12)])
    assert "environment" not in text_of([part]) + html_of([part])


# search


def test_a_search_shows_each_result_and_what_was_dropped_by_which_rule(sample: MemoryIndex) -> None:
    trace = search("where to send urgent notifications", system("openclaw-2026.2.13+or+rrf+minmax"), sample)
    caution, lines = text_of(trace.cautions).splitlines(), text_of(trace.view()).splitlines()
    assert lines[: len(caution)] == caution
    assert lines[len(caution)] == f"6 results of {len(trace.chunks)} candidates, by {trace.system}"
    for place, found in enumerate(trace.results, 1):
        assert any(
            line.startswith(f"{place:>2}  {found.score:.3f}  {found.chunk.location}") for line in lines
        )
    assert re.fullmatch(
        r"Dropped: \d+ by the floor \(.*\), \d+ by the limit \(keep the first 6\)\.", lines[-1]
    )


def test_a_pipe_gets_the_text_of_a_terminal_and_no_squeezed_column(run: Run, sample: MemoryIndex) -> None:
    told = run(
        "search", "urgent notifications", "-m", "sample_memory", "--index", sample.name, "--numbers"
    ).out
    assert all("memory/" in line or "MEMORY" in line for line in told.splitlines() if re.match(r"\d ", line))
    for width in (80, 120, 200):
        trace = search("urgent notifications", SHIPPED, sample)
        assert all(len(line) <= width for line in text_of(trace.view(), width=width).splitlines())


def test_a_terminal_folds_no_command_and_parts_no_number_from_its_unit() -> None:
    command = f"workbench search 'where is the tea' --memory {'/long' * 20} --system recommended"
    for width in (40, 80, 106):
        lines = text_of(
            [
                f"Try it: {command}",
                hanging(f"  Repair: {command}"),
                Note("Not so.", f"To match it: {command}"),
            ],
            width=width,
        ).splitlines()
        assert [line.strip() for line in lines if "workbench" in line] == [command] * 3
    for width in range(20, 60):
        told = "Nothing has changed since: 45 files (294 chunks), 0.7 s. Hits: 6 → 27 of 57, 0.3 < 0.4, 30 %."
        printed = text_of([told], width=width)
        assert "0.7 s" in printed
        assert all(one in printed for one in ("6 → 27", "0.3 < 0.4", "30 %"))


def test_a_formula_continues_to_the_right_of_its_equals_sign() -> None:
    formula = hanging("  score = 0.7 × vector score + 0.3 × keyword score, where absent counts as 0")
    numbers = hanging("        = 0.7 × 0.2397 + 0.3 × 0 = 0.1678")
    assert text_of([formula, numbers], width=44).splitlines() == [
        "  score = 0.7 × vector score + 0.3 × keyword",
        "          score, where absent counts as 0",
        "        = 0.7 × 0.2397 + 0.3 × 0 = 0.1678",
    ]
    assert len(text_of([formula, numbers], width=100).splitlines()) == 2


# explain


def test_an_explanation_begins_with_what_was_compared_and_what_is_missing(sample: MemoryIndex) -> None:
    found = explain(search(QUESTION, SHIPPED, sample), sample, TARGET)
    assert found.headline == (
        "Not returned: the floor drops it, score 0.349 < 0.350. The keyword leg is empty: its query asks for "
        "all 10 words in one chunk, so 30 % of the score is missing."
    )
    caution = text_of(found.trace.cautions).splitlines()
    assert len(text_of(found.view()).splitlines()) <= 10 + len(caution)
    assert text_of(found.view()).splitlines()[: len(caution)] == caution
    assert "\n".join(text_of(found.view()).splitlines()[len(caution) :]).startswith(found.headline[:80])
    every = text_of(found.view(), details=True, width=1000)
    assert every.endswith(found.text())


@pytest.mark.parametrize("name", SYSTEMS)
def test_what_is_said_to_be_missing_of_a_score_is_missing(name: str, toy: MemoryIndex) -> None:
    pipeline = SYSTEMS[name]
    trace = search("rooibos tea in the garden", pipeline, toy)
    for path in toy.paths():
        found = explain(trace, toy, path)
        said = re.findall(r"The (\w+) leg .*?, so (\d+) % of the score is missing", found.headline)
        best = found.verdicts[0].candidate if found.verdicts else None
        for leg, share in said:
            assert best is not None
            assert best.numbers[f"{leg}_score"] != best.numbers[f"{leg}_score"]
            weights = pipeline["fusion"].weights  # type: ignore[attr-defined]
            perfect = sum(weights.values())
            assert round(100 * weights[leg] / perfect) == int(share)
