"""What must be found as it is written: serial numbers, versions and names in code."""

from __future__ import annotations

import pytest

from tests.home import Home
from workbench.memory.index import MemoryIndex
from workbench.retrieval.explain import explain
from workbench.retrieval.pipeline import search
from workbench_plugins.recommended.identifiers import MOST, Identifier, identifiers_in
from workbench_plugins.recommended.pipelines import RECOMMENDED


@pytest.mark.parametrize(
    "word", ["E3372", "AG-4471", "v2.3.1", "hx4_revc", "night_watch", "config.yaml", "3.5mm"]
)
def test_a_word_of_letters_and_digits_or_with_a_sign_of_code_is_an_identifier(word: str) -> None:
    assert identifiers_in(f"Where is {word}, and (“{word}”)?") == [word]


def test_of_a_pasted_log_the_first_identifiers_are_looked_for() -> None:
    log = " ".join(f"id-{number // 2}x" for number in range(1_000))
    assert identifiers_in(log) == [f"id-{number}x" for number in range(MOST)]


@pytest.mark.parametrize(
    "text", ["in 2023", "on 2026-02-11", "the 18th", "re-embed it", "e.g. 40", "the U.S.", "0.35", "_x_"]
)
def test_a_number_a_date_and_a_word_are_no_identifiers(text: str) -> None:
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
    assert best.evidence == {"identifier_score": "it has AG4471 with other signs"}
    assert not without.columns["identifier_score"].any()
