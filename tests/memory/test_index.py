"""An open index: it follows its file, keeps what it has embedded, and answers from one state at a time."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import ClassVar

import pytest

from tests import world
from tests.home import Home, Watched, unsound
from workbench.contracts import Context
from workbench.errors import InputError
from workbench.memory.opening import open_index
from workbench.memory.store.sqlite.store import Store
from workbench.records import Fate, Trace
from workbench.retrieval.columns import PlainStage
from workbench.retrieval.explain import explain
from workbench.retrieval.pipeline import search
from workbench.systems.openclaw import SHIPPED, WORKAROUND


def test_a_question_is_embedded_once(home: Home) -> None:
    embedder = Watched()
    for _ in range(2):
        with open_index(home.root, embedder, index_path=home.file) as opened:
            assert opened.embed("a cup").tolist() == [1, 0, 0]
    assert embedder.asked == [["a cup"]]


def test_an_index_that_cannot_be_written_can_be_read(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    before = home.file.read_bytes()
    monkeypatch.setattr(os, "access", lambda *_: False)
    with open_index(home.root, world.EMBEDDER, index_path=home.file) as opened:
        assert search("tea", SHIPPED, opened).results
    assert len(home.contents()[1]) == 6
    assert home.file.read_bytes() == before


def test_a_full_text_index_that_lost_a_chunk_is_not_sound(home: Home) -> None:
    with Store.open(home.file) as store:
        store.db.execute("DELETE FROM chunks WHERE id = 1")
        assert any("full-text" in problem for problem in unsound(store))


# one state at a time

QUESTION = "rooibos tea"


@dataclass(frozen=True)
class Meddling(PlainStage, slot="meddling"):
    """A stage that has the memory rewritten while the search is under way."""

    home: Home
    rebuild: bool
    description: ClassVar[str] = "every note is rewritten"

    def run(self, trace: Trace, context: Context) -> Trace:
        world.write(self.home.root, dict.fromkeys(world.NOTES, "tea, and nothing else"))
        self.home.sync(rebuild=self.rebuild)
        return trace


@pytest.mark.parametrize("rebuild", [False, True])
@pytest.mark.parametrize("before", ["keyword_leg", "vector_leg", "candidates"])
def test_a_search_sees_one_state_whatever_happens_meanwhile(home: Home, rebuild: bool, before: str) -> None:
    system = WORKAROUND if before == "vector_leg" else SHIPPED
    with home.opened() as opened:
        expected = search(QUESTION, system, opened)
        meddled = search(QUESTION, system.with_new_stage(Meddling(home, rebuild), before), opened)
        after = search(QUESTION, system, opened)
    assert [one.chunk for one in meddled.candidates] == [one.chunk for one in expected.candidates]
    assert {one.chunk.text for one in after.candidates} == {"tea, and nothing else"}


def test_an_explanation_within_one_snapshot_is_of_the_search(home: Home) -> None:
    with home.opened() as opened, opened.snapshot():
        trace = search(QUESTION, SHIPPED, opened)
        (home.root / "memory" / "tea.md").unlink()
        home.sync()
        assert explain(trace, opened, "memory/tea.md").fate is Fate.RETURNED


@pytest.mark.parametrize("same_file", [False, True])
def test_an_open_index_moves_on_with_its_next_search(home: Home, same_file: bool) -> None:
    with home.opened() as opened:
        assert search("tea", SHIPPED, opened).candidates[0].chunk.path != "memory/new.md"
        world.write(home.root, {"memory/new.md": "tea tea tea"})
        home.sync(rebuild=not same_file)
        assert "memory/new.md" in search("tea", SHIPPED, opened).paths()


def test_an_index_rebuilt_with_a_model_that_is_not_here_says_so(home: Home) -> None:
    with home.opened() as opened:
        home.sync(Watched(revision="other"), rebuild=True)
        with pytest.raises(InputError, match=r"another model: toy \(other\)"):
            search("tea", SHIPPED, opened)


def test_a_question_asked_within_a_snapshot_is_kept_when_it_ends(home: Home) -> None:
    embedder = Watched()
    with home.opened(embedder) as opened, opened.snapshot():
        opened.embed("a cup")
        home.sync()  # another writer does not have to wait for the answer
        opened.embed("a cup")
    with home.opened(embedder) as opened:
        opened.embed("a cup")
    assert embedder.asked == [["a cup"]]


def test_a_full_disk_does_not_silence_a_search(home: Home) -> None:
    with home.opened(embedder := Watched()) as opened:
        opened.store.db.pragma("max_page_count", 1)
        asked = [f"rooibos tea, {'cup ' * n}" for n in range(1, 400)]
        answers = [search(question, WORKAROUND, opened).paths() for question in [*asked, asked[-1]]]
    assert [] not in answers
    assert embedder.asked[-2:] == [[asked[-1].strip()]] * 2


def test_what_would_be_lost_with_a_snapshot_cannot_be_written(home: Home) -> None:
    with home.opened() as opened, opened.snapshot(), pytest.raises(RuntimeError, match="would be lost"):
        opened.store.delete("MEMORY.md")
    assert len(home.contents()[1]) == 6
