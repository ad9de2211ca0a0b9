"""An engine whose ids name no file of the memory is told so first, and one that fails gives one sentence."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import world
from workbench.errors import InputError
from workbench.measure.evaluation import evaluate
from workbench.measure.questions import Question, QuestionSet
from workbench.memory.index import MemoryIndex
from workbench.retrieval.explain import explain
from workbench.retrieval.foreign_ids import path_form
from workbench.retrieval.pipeline import search
from workbench.terminal import text_of
from workbench_plugins.diagnose.diagnosis import diagnose
from workbench_plugins.engines.lists import Asked
from workbench_plugins.recorder.recording import Recorder as Legs
from workbench_plugins.runs.recorder import Recorder

NOTES = {
    f"memory/{name}.md": f"# {name.title()}\n\nThe {name} is here.\n" for name in ("kettle", "saw", "map")
}
QUESTION = "where is the saw"
QUESTIONS = QuestionSet(questions=(Question(question=QUESTION, target="memory/saw.md", kind="other"),))


@pytest.fixture
def index(tmp_path: Path) -> Iterator[MemoryIndex]:
    with world.build(tmp_path, NOTES) as opened:
        yield opened


def test_ids_that_name_no_file_are_told_first_everywhere(index: MemoryIndex) -> None:
    found = {"memory/map.md#0": 0.9, "memory/saw.md#12": 0.5}
    engine = Recorder(lambda _: found.items(), "acme").pipeline()
    trace = search(QUESTION, engine, index)
    told = (
        f"None of the 2 ids that acme returned for “{QUESTION}” names a file of this memory. The first is "
        "memory/map.md#0; the nearest form is the path without '#0': memory/map.md"
    )
    for shown in (trace, explain(trace, index, "memory/saw.md"), evaluate(QUESTIONS, [engine], index)):
        assert " ".join(text_of(shown.view()).split()).startswith(told)
    diagnosis = diagnose(QUESTION, engine, index, "memory/saw.md")
    assert diagnosis.headline == f"Cause: ids: {told}"
    assert diagnosis.causes[0].verified
    assert diagnosis.causes[0].evidence == "with such paths, memory/saw.md is number 2 of 2"


def test_an_answer_with_one_known_id_is_no_such_fault(index: MemoryIndex) -> None:
    engine = Recorder(lambda _: [("memory/map.md#0", 0.9), ("memory/saw.md", 0.5)], "acme").pipeline()
    assert search(QUESTION, engine, index).unknown_ids == ""
    assert evaluate(QUESTIONS, [engine], index)[0].unknown_ids == ""


@pytest.mark.parametrize(
    ("id_", "words", "path"),
    [
        ("memory/saw.md:3-9", "the path without ':3-9'", "memory/saw.md"),
        ("/notes/memory/saw.md", "the path without '/notes/'", "memory/saw.md"),
        ("saw.md", "the path, which has 'memory/' besides", "memory/saw.md"),
        ("memory/saw", "the path, which has '.md' besides", "memory/saw.md"),
    ],
)
def test_the_nearest_form_of_an_id_is_a_path(id_: str, words: str, path: str) -> None:
    found = path_form([id_], sorted(NOTES))
    assert found is not None
    assert (found[0], found[1](id_)) == (words, path)


def test_an_id_that_is_near_to_no_path_has_no_form() -> None:
    assert path_form(["9f3c", "a", "memory/sawdust.md"], sorted(NOTES)) is None


def test_a_question_that_was_not_recorded_is_a_sentence_and_ends_no_diagnosis(index: MemoryIndex) -> None:
    recorded = {QUESTION: [("memory/map.md", 0.9)]}
    engine = Recorder(lambda question: recorded[question], "acme").pipeline()
    found = diagnose(QUESTION, engine, index, "memory/saw.md")
    assert found.prices.alone
    assert "acme has no answer to “kettle”: its search raises KeyError" in found.text
    legs = Legs("acme", {"vector": Asked(lambda question, _: recorded[question])}, limit=1)
    with pytest.raises(InputError, match="acme has no answer to “another one”: its search raises KeyError"):
        legs.record("another one")
