"""What must be found as it is written: serial numbers, versions and names in code."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import pytest

from tests import world
from tests.home import Home
from workbench.memory.index import MemoryIndex
from workbench.retrieval.explain import explain
from workbench.retrieval.pipeline import search
from workbench_plugins.recommended.identifiers import (
    MOST,
    Dated,
    Identifier,
    identifiers_in,
    words_of_dates,
)
from workbench_plugins.recommended.layout import MOST_NAMED, PassagesLayout, passages_of
from workbench_plugins.recommended.pipelines import RECOMMENDED


@pytest.mark.parametrize(
    "word", ["E3372", "AG-4471", "v2.3.1", "hx4_revc", "night_watch", "config.yaml", "3.5mm"]
)
def test_a_word_of_letters_and_digits_or_with_a_sign_of_code_is_an_identifier(word: str) -> None:
    assert identifiers_in(f"Where is {word}, and (“{word}”)?") == [word]


@pytest.mark.parametrize(
    "date", ["2026-05-04", "4 May 2026", "May 4th, 2026", "4. May", "04.05.2026", "2026/5/4"]
)
def test_a_date_is_an_identifier_in_any_form(date: str) -> None:
    assert identifiers_in(f"What happened on {date}?") == [date]
    assert {"5", "05", "May", "4", "04"} <= {*words_of_dates(date)}
    assert Dated(date).share("memory/2026-05-04.md") == 1
    assert Dated(date).share("memory/2026-05-14.md") == Dated(date).share("memory/2026-04-05.md") == 0


@pytest.mark.parametrize(
    ("date", "text", "share"),
    [
        ("4 May", "on 2025-05-04", 1),
        ("4 May 2026", "on 2025-05-04", 0),
        ("4 May 2026", "the 4th of May", 0.5),
        ("4 May 2026", "in May", 0),
        ("4 May 2026", "", 0),
    ],
)
def test_a_date_without_its_year_counts_half(date: str, text: str, share: float) -> None:
    assert Dated(date).share(text) == share


def test_a_long_number_is_an_identifier() -> None:
    assert identifiers_in("where is 202402021100 of 2024") == ["202402021100"]


def test_the_note_of_a_day_is_found_by_the_day_in_its_name_alone(tmp_path: Path) -> None:
    days = [date(2026, 1, 1) + timedelta(days=number) for number in range(240)]
    weekdays = {f"memory/{day}.md": f"# {day:%A}\n\nThe tea was cold, and it rained.\n" for day in days}
    with world.build(tmp_path, weekdays) as index:
        for asked in ("what happened on 2026-05-04", "what was on 4 May 2026?", "May 4th", "04.05.2026"):
            assert search(asked, RECOMMENDED, index).paths()[:1] == ["memory/2026-05-04.md"], asked


def test_nothing_is_held_back_where_the_question_names_the_first_file(sample: MemoryIndex) -> None:
    trace = search("what happened on 2026-01-13", RECOMMENDED, sample)
    assert trace.paths()[:1] == ["memory/2026-01-13.md"]
    assert {one.numbers["answerable"] for one in trace.results} == {1.0}
    plain = search("what happened", RECOMMENDED, sample)
    assert all(one.numbers["answerable"] < 1 for one in plain.candidates)


def test_of_files_that_share_an_identifier_a_bounded_number_are_candidates(tmp_path: Path) -> None:
    notes = {f"memory/v2.3/{number}.md": f"# Page {number}\n\nTea.\n" for number in range(MOST_NAMED + 40)}
    with world.build(tmp_path, notes) as index:
        passages = passages_of(index.laid_out(PassagesLayout()))
        assert passages is not None
        assert passages.rows_named("what is in v2.3").size == MOST_NAMED
        assert not passages.rows_named("what is in it").size


def test_of_a_pasted_log_the_first_identifiers_are_looked_for() -> None:
    log = " ".join(f"id-{number // 2}x" for number in range(1_000))
    assert identifiers_in(log) == [f"id-{number}x" for number in range(MOST)]


@pytest.mark.parametrize(
    "text", ["in 2023", "10.5 mm", "the 18th", "re-embed it", "e.g. 40", "the U.S.", "0.35", "_x_", "4471"]
)
def test_a_short_number_and_a_word_are_no_identifiers(text: str) -> None:
    assert identifiers_in(text) == []


@pytest.mark.parametrize(
    ("identifier", "text", "share"),
    [
        ("AG-4471", "part ag-4471, two of them", 1),
        ("AG4471", "part AG 4471", 0.5),
        ("AG-4471", "part AG-44710", 0),
        ("AG-4471", "part TAG-4471", 0),
        ("v2.3", "since v2_3", 0.5),
        ("v2.3", "since v23", 0),
        ("v2.3", "since v2.3.1", 0),
        ("5mm", "a 3.5mm jack", 0),
        ("v2.3", "since v2.3.", 1),
        ("night_watch", "the night watch", 0.5),
        ("night_watch", "the nightwatch", 0),
    ],
)
def test_an_identifier_counts_whole_as_written_and_half_with_other_signs(
    identifier: str, text: str, share: float
) -> None:
    assert Identifier(identifier).share(text) == share


def test_an_identifier_is_no_name_whose_absence_from_a_line_means_another_one(sample: MemoryIndex) -> None:
    found = search("which stick is the E3372", RECOMMENDED, sample)
    assert found.paths()[:1] == ["memory/reference/notification-routing.md"]
    assert not found.columns["other_name"].any()


def test_the_chunk_with_an_identifier_comes_before_its_neighbours(home: Home) -> None:
    for number in range(4466, 4476):
        text = f"# Part\n\nThe bracket AG-{number} is on the shelf beside the door.\n"
        (home.root / "memory" / f"{chr(97 + number % 10)}.md").write_text(text, encoding="utf-8")
    home.sync()
    with home.opened() as index:
        trace = search("where is the bracket AG4471", RECOMMENDED, index)
        best = explain(trace, index, "memory/b.md").verdicts[0]
        without = search("where is the bracket", RECOMMENDED, index)
    assert trace.paths()[0] == "memory/b.md"
    assert best.evidence == {"identifier_score": "it has AG4471, written otherwise"}
    assert not without.columns["identifier_score"].any()
