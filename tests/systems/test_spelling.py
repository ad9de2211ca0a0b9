"""A misspelt word of a question is read as the notes spell it, and no other word is touched."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from workbench.memory.index import MemoryIndex
from workbench.retrieval.pipeline import search
from workbench_plugins.cases.making import case_of
from workbench_plugins.cases.running import run_case
from workbench_plugins.recommended.keywords import porter_stems
from workbench_plugins.recommended.layout import PassagesLayout, passages_of
from workbench_plugins.recommended.pipelines import RECOMMENDED
from workbench_plugins.recommended.spelling import corrections

PLAIN = RECOMMENDED.with_stage(replace(RECOMMENDED["query"], corrects=False))  # type: ignore[call-arg]
MISSPELT, RIGHT = "when was the wifi pasword changed", "when was the wifi password changed"
NOTES = {"password": 3, "passwords": 1, "hats": 2, "bread": 4, "broad": 9, "kettle": 1}
MODEL = {"when", "was", "the", "changed", "which", "are", "where", "new", "what"}


def corrected(question: str) -> dict[str, str]:
    return corrections(question, MODEL.__contains__, NOTES.__contains__, lambda word: NOTES.get(word, 0))


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("when was the pasword changed", {"pasword": "password"}),
        ("when was the Passwrod changed", {"Passwrod": "password"}),
        ("pasword", {"pasword": "password"}),
        ("where are the kettel", {"kettel": "kettle"}),
        ("which are broad", {}),
        ("which are brxad", {"brxad": "broad"}),
        ("whats new", {}),
        ("which are bred", {}),
        ("wann wurde das pasword", {}),
        ("pasword kettel brxad breaad new", {}),
        ("", {}),
    ],
    ids=[
        "a letter less", "two exchanged", "alone", "at the end", "none", "the more frequent word",
        "a function word", "too short", "another language", "too many", "empty",
    ],
)  # fmt: skip
def test_a_word_that_nothing_knows_is_read_as_the_word_one_slip_away(
    question: str, expected: dict[str, str]
) -> None:
    assert corrected(question) == expected


def test_a_misspelt_question_has_the_answer_of_the_right_one_and_says_so(sample: MemoryIndex) -> None:
    found, right = (search(one, RECOMMENDED, sample) for one in (MISSPELT, RIGHT))
    assert (found.question, found.read_as) == (MISSPELT, RIGHT)
    assert found.notes == ("No note has “pasword”. It is read as “password”.",)
    assert found.match == right.match
    assert found.rows.tolist() == right.rows.tolist()
    assert found.columns["score"].tolist() == right.columns["score"].tolist()
    assert (right.read_as, right.notes) == ("", ())


def test_a_word_that_a_file_has_in_its_name_alone_is_no_misspelt_one(sample: MemoryIndex) -> None:
    passages = passages_of(sample.laid_out(PassagesLayout()))
    assert passages is not None
    (alone, *_) = [
        word
        for path in sample.paths()
        for word in re.findall(r"[a-z]{5,}", path)
        if not any(passages.passages.chunk_stems.postings(stem)[0].size for stem in porter_stems(word))
    ]
    assert passages.corrections(f"where is the {alone}") == {}
    assert all(map(passages._is_known, porter_stems(alone)))


def test_without_correction_the_question_is_read_as_it_is_written(sample: MemoryIndex) -> None:
    plain = search(MISSPELT, PLAIN, sample)
    assert (plain.read_as, plain.notes) == ("", ())
    assert "pasword" in str(plain.match)


def test_a_case_asks_the_corrected_question_and_has_the_same_answer(
    sample: MemoryIndex, tmp_path: Path
) -> None:
    case = case_of(MISSPELT, RECOMMENDED, sample, "memory/setup/home-network.md")
    assert [one.question for one in case.questions] == [RIGHT]
    answer = run_case(case).answers[0]
    assert answer.holds
    assert answer.trace.paths() == search(MISSPELT, RECOMMENDED, sample).paths()


def test_an_index_without_a_model_on_this_machine_corrects_nothing(toy: MemoryIndex) -> None:
    assert search("where is the rooibosh", RECOMMENDED, toy).read_as == ""
