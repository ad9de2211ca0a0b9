"""A case in other words, and a case with fewer words, fail for the same reason as before."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.lab.cases import example
from workbench.errors import InputError
from workbench.measure.questions import QuestionSet
from workbench.memory.index import MemoryIndex
from workbench.systems.catalogue import system
from workbench_plugins.cases.case_index import cosines_alone
from workbench_plugins.cases.making import case_of
from workbench_plugins.cases.model import (
    Case,
    CaseFile,
    CaseSystem,
    Elsewhere,
    case_text,
    load_case,
    parsed_case,
    save_case,
)
from workbench_plugins.cases.redact import Kind, Pseudonyms, fold, kept_words, redacted, words_of
from workbench_plugins.cases.running import run_case
from workbench_plugins.cases.shrink import (
    SHRUNK,
    frozen,
    original_of,
    shrink_file,
    shrunk,
    smallest,
    verdicts,
)

SHIPPED, FIXED = "openclaw-2026.2.13", "openclaw-2026.2.13+or+rrf+minmax"
MOST_WORDS = 0.05

# delta debugging


@given(st.lists(st.integers(0, 50), unique=True), st.data())
def test_the_smallest_part_is_what_the_failure_needs(items: list[int], data: st.DataObject) -> None:
    needed = set(data.draw(st.lists(st.sampled_from(items), unique=True))) if items else set()
    assert set(smallest(items, lambda some: needed <= set(some))) == needed


@given(st.lists(st.integers(-9, 9), max_size=12))
def test_no_item_of_the_smallest_part_can_be_taken_away(items: list[int]) -> None:
    def fails(some: Sequence[int]) -> bool:
        return sum(some) % 3 == sum(items) % 3

    found = smallest(items, fails)
    assert fails(found)
    assert not any(fails([*found[:n], *found[n + 1 :]]) for n in range(len(found)))


# other words


@pytest.mark.parametrize("kind", ["words", "prefixes", "letters"])
@given(text=st.text(max_size=60))
def test_other_words_have_the_same_lengths_and_are_as_different(kind: Kind, text: str) -> None:
    names = Pseudonyms(kind, dates=False)
    made = names.text(text)
    assert names.text(text) == made
    assert len(set(names.images.values())) == len(names.images)
    assert re.sub(r"[^\W_]", "x", made).count("x") == re.sub(r"[^\W_]", "x", text).count("x")
    assert [len(one) for one in made.split()] == [len(one) for one in text.split()]


def test_names_and_numbers_are_gone_and_capitals_and_marks_stay() -> None:
    text = "Dr. Zoë Brandt paid 4711 EUR to zoe.brandt@example.org on 2026-02-03 (2026-02-05). ZOE! naïve"
    names = Pseudonyms("words", dates=True, taken=set(words_of(text)))
    made = names.text(text)
    assert not set(words_of(text)) & set(words_of(made)) - kept_words()
    first, second = re.findall(r"\d{4}-\d{2}-\d{2}", made)
    assert (np.datetime64(second) - np.datetime64(first)).astype(int) == 2
    title, surname = made.split()[1:3]
    assert fold(title).upper() in made
    assert title[0].isupper()
    assert surname.lower() in made.split("@")[0]
    assert len(made) == len(text)


def test_what_systems_read_in_their_own_way_stays() -> None:
    text = (
        "---\ntags: tea\nimportance: 0.7\n---\nWho is AND what <!-- importance: 8 --> <!-- project: acme -->"
    )
    made = Pseudonyms("words", True).text(text)
    assert re.fullmatch(
        r"---\ntags: \w{3}\nimportance: 0\.7\n---\n"
        r"Who is AND what <!-- importance: 8 --> <!-- project: \w{4} -->",
        made,
    )
    assert "acme" not in made
    path = Pseudonyms("words", True).path("memory/people/ada.md")
    assert re.fullmatch(r"memory/\w{6}/\w{3}\.md", path)


def test_common_beginnings_stay_common() -> None:
    names = Pseudonyms("prefixes", True)
    cup, cups = names.text("teacup teacups").split()
    assert cups.startswith(cup)


def test_chinese_is_replaced_character_by_character() -> None:
    made = Pseudonyms("words", True).text("东京东京 京都")
    assert made[:2] == made[2:4]
    assert made[1] == made[5]
    assert "东" not in made
    assert all("\u4e00" <= one <= "\u9fff" for one in made.replace(" ", ""))


# cosines


def test_the_cosines_with_the_questions_are_kept_and_nothing_else() -> None:
    numbers = np.random.default_rng(0).normal(size=(12, 384))
    vectors = (numbers / np.linalg.norm(numbers, axis=1, keepdims=True)).astype(np.float32)
    asked, known = cosines_alone(list(vectors[:2]), vectors[2:])
    assert np.array(known).shape == (10, 3)
    assert np.allclose(np.array(asked) @ np.array(known).T, vectors[:2] @ vectors[2:].T, atol=1e-6)
    assert np.allclose(np.linalg.norm(known, axis=1), 1, atol=1e-6)
    assert asked[0] == pytest.approx([1, 0, 0])


# cases of the sample memory


FOLDERS = {"memory"}
"""Systems treat this folder in their own way, so its name stays."""


def failing(sample: MemoryIndex, questions: QuestionSet, name: str) -> Iterator[Case]:
    """The cases of the questions that fail on that system and hold on FIXED."""
    for one in questions.questions:
        case = case_of(one.question, system(name), sample, one.target)
        if not run_case(case).holds and run_case(case, system(FIXED)).holds:
            elsewhere = [Elsewhere(system=CaseSystem(name=FIXED))]
            yield case.model_copy(update={"elsewhere": elsewhere})


SOME = {SHIPPED: 2, "bm-dead-fts": 0}
"""Two systems that index in their own ways, and the place of the failing question that is reduced."""


@pytest.mark.parametrize("name", SOME)
def test_a_failing_question_in_other_and_fewer_words_fails_for_the_same_reason(
    sample: MemoryIndex, questions: QuestionSet, name: str
) -> None:
    case = next(islice(failing(sample, questions, name), SOME[name], None))
    redaction = redacted(case)
    assert redaction.proof.complete, redaction.proof
    secret = set(words_of(case.questions[0].question)) - FOLDERS
    assert not secret & set(words_of(case_text(redaction.case).split("model:")[0]))
    small = shrunk(redaction.case, quiet=True)
    assert verdicts(small) == verdicts(case)
    assert not run_case(small).holds
    assert run_case(small, system(FIXED)).holds
    assert small.words <= MOST_WORDS * case.words


# files

CASE = example("two-questions")


def test_a_case_is_shrunk_in_its_file_and_its_original_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "depot.case.yaml"
    file.write_text(CASE)
    made = shrink_file(load_case(file), quiet=True)
    assert load_case(file).case == made
    assert original_of(file).read_text() == CASE
    assert [one.question for one in made.questions] == ["Rocky Point bagging operations"]
    assert made.system.settings == []
    assert [one.path for one in made.memory.notes or ()] == ["memory/depot.md"]
    assert made.words >= 3, "a sentence, and no single word"
    assert SHRUNK in made.note
    again = shrink_file(load_case(file), quiet=True)
    assert again == made
    assert original_of(file).read_text() == CASE


def test_an_interrupted_run_is_continued_to_the_same_result(tmp_path: Path) -> None:
    whole = shrunk(parsed_case(CASE, "whole"), quiet=True)
    for steps in range(1, 6):
        file = save_case(parsed_case(CASE, "part"), tmp_path / f"{steps}.case.yaml")
        taken: list[Case] = []

        def interrupt(case: Case, taken: list[Case] = taken, steps: int = steps, file: Path = file) -> None:
            save_case(case, file, overwrite=True)
            taken.append(case)
            if len(taken) == steps:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            shrunk(load_case(file).case, kept=interrupt, quiet=True)
        assert shrink_file(CaseFile(file, load_case(file).case), quiet=True) == whole


def test_a_case_that_does_not_fail_as_it_states_is_not_shrunk() -> None:
    fine = CASE.replace("found: memory/depot.md", "not_found: memory/depot.md")
    with pytest.raises(InputError, match="no failure to shrink"):
        shrunk(parsed_case(fine, "fine"), quiet=True)
    wrong = CASE + "elsewhere: [{system: openclaw-2026.2.15}]\n"
    with pytest.raises(InputError, match="does not do what it states under elsewhere"):
        shrunk(parsed_case(wrong, "wrong"), quiet=True)


def test_a_frozen_case_fails_as_before() -> None:
    case = parsed_case(CASE, "case")
    assert frozen(case, None).model.vectors == "cosines"
    for cosines in (True, False):
        assert run_case(frozen(case, None, cosines=cosines)).reasons == run_case(case).reasons
