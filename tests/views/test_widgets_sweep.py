"""The sweep map: figure, sentence, table and code say the same."""

from __future__ import annotations

import pytest

from tests.lab.sweep.test_running import QUESTIONS
from workbench.errors import InputError
from workbench.memory.index import MemoryIndex
from workbench.systems.openclaw import THREE_FIXES
from workbench_plugins.diagnose import widgets
from workbench_plugins.diagnose.sweep import best
from workbench_plugins.diagnose.widgets import SweepMap

AXES = ("fusion.vector=0:1:5", "floor.floor=0:1:6")


@pytest.fixture
def shown(toy: MemoryIndex) -> SweepMap:
    return SweepMap(THREE_FIXES, AXES, QUESTIONS, toy, link=False)


def test_the_map_begins_at_the_best_setting_and_says_what_choosing_it_is_worth(shown: SweepMap) -> None:
    assert shown.setting_number == best(shown.sweep)
    assert shown.data["told"][str(shown.setting_number)] == shown.sentence
    *_, last = shown.sentence.split("\n")
    assert last.startswith("These questions chose this setting. With settings that other questions chose: ")


def test_a_chosen_setting_is_marked_and_compared_with_the_present_one(shown: SweepMap) -> None:
    shown.set_state({"chosen": {"fusion.vector": "0", "floor.floor": "1"}})  # as the page does
    hits = int(shown.sweep.values[shown.setting_number].sum())
    assert shown.sentence.startswith(f"fusion.vector 0, floor.floor 1: {hits} of 6 hits")
    _, now, difference, *_ = shown.sentence.split("\n")
    assert now.startswith("As it is: ")
    assert difference.startswith("The difference, hits: no significant difference (6 questions about")
    assert shown.pipeline["floor"].floor == 1
    assert [row[0] for row in shown.table.rows] == ["as it is", "best", "chosen"]
    told = shown.data
    cells = told["figure"]["data"][0]
    assert (len(told["told"]), sum(map(len, cells["z"])), told["of"]) == (30, 30, {})
    assert told["told"][str(shown.setting_number)] == shown.sentence


def test_a_large_map_asks_for_the_words_of_each_setting(
    toy: MemoryIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(widgets, "MOST_TOLD", 20)
    shown = SweepMap(THREE_FIXES, AXES, QUESTIONS, toy, link=False)
    shown.settings = {"floor.floor": "1"}
    assert shown.data["told"] == {str(shown.setting_number): shown.sentence}
    assert shown.data["of"] == {"chosen": shown.settings}


def test_a_value_that_the_sweep_does_not_have_is_refused(shown: SweepMap) -> None:
    with pytest.raises(InputError, match=r"floor.floor cannot be '0.35'"):
        shown.settings = {"floor.floor": "0.35"}


def test_a_map_needs_two_axes(toy: MemoryIndex) -> None:
    with pytest.raises(InputError, match="two axes"):
        SweepMap(THREE_FIXES, AXES[:1], QUESTIONS, toy)  # type: ignore[arg-type]


def test_the_code_gives_the_same_numbers(
    shown: SweepMap, toy: MemoryIndex, capsys: pytest.CaptureFixture[str]
) -> None:
    shown.settings = {"fusion.vector": "1"}
    exec(shown.code, {"questions": QUESTIONS, "index": toy})
    found = shown.sweep
    assert (
        capsys.readouterr().out
        == f"{found.score(shown.setting_number)} {found.silence(shown.setting_number)}\n"
    )
