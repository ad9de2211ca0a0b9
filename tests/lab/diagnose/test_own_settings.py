"""A setting of the user is the first cause where the system's own value works."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from tests import world
from workbench.measure.edits import Edit, edited
from workbench.memory.index import MemoryIndex
from workbench.retrieval.fusion import RankSum
from workbench.retrieval.pipeline import search
from workbench.safe_text import counted
from workbench.systems.catalogue import system
from workbench.terminal import text_of
from workbench_plugins.diagnose.diagnosis import diagnose
from workbench_plugins.diagnose.page import Diagnosis
from workbench_plugins.diagnose.pasted_command import command_with
from workbench_plugins.diagnose.stage_settings import with_typed

NOTES = {
    "memory/tea.md": "# Tea\nA cup of tea and the pot .\n",
    "memory/coffee.md": "# Coffee\nA cup of coffee .\n",
    "memory/bike.md": "# Bike\nThe bike has a hub and a brake .\n",
    "memory/shop.md": "# Shop\nThe bike shop sells a hub .\n",
}


@pytest.fixture
def index(tmp_path: Path) -> MemoryIndex:
    return world.build(tmp_path, NOTES)


def first_repair(found: Diagnosis, name: str, options: list[str]) -> list[str]:
    """The words of the search with the first repair, without the options that stay."""
    command = ["workbench", "search", found.question, "--system", name, *options]
    return shlex.split(command_with(command, found.pipeline, found.fixes[0]))[5:]


@pytest.mark.parametrize(
    ("question", "settings"),
    [
        ("tea cup, not a brake", ["floor.floor=0.9"]),
        ("rooibos", ["floor.floor=0.9"]),
        ("rooibos", ["fusion.vector=0.1", "floor.floor=0.75"]),
    ],
)
def test_it_stands_before_what_the_question_has_and_its_repair_is_to_leave_it_out(
    index: MemoryIndex, question: str, settings: list[str]
) -> None:
    name, target = "openclaw-2026.2.13+or", "memory/tea.md"
    own, changed = system(name), with_typed(system(name), settings)
    with index:
        assert target in search(question, own, index).paths()
        assert target not in search(question, changed, index).paths()
        found = diagnose(question, changed, index, target)
    assert all(one.partition("=")[2] in found.headline for one in settings), found.headline
    assert f"differs from {name}" in found.headline
    assert found.fixes[0].pipeline.stages == own.stages
    assert first_repair(found, name, [word for one in settings for word in ("--set", one)]) == []
    assert found.fixes[0].verified
    assert found.repaired


def test_a_setting_is_told_as_one_s_own_where_another_repair_of_its_stage_is_needed(
    index: MemoryIndex,
) -> None:
    name, settings = "openclaw-2026.2.13+or", ["fusion.vector=0.1", "floor.floor=0.75"]
    with index:
        found = diagnose("rooibos", with_typed(system(name), settings), index, "memory/tea.md")
    mine = [one for one in found.causes if one.where in (("fusion",), ("floor",))]
    assert any(not repair.own for one in mine for repair in one.repairs)
    for one in mine:
        told = next(setting for setting in settings if setting.startswith(one.where[0]))
        assert f"differs from {name} by {told}" in one.description


def test_a_stage_that_cannot_be_undone_alone_is_named_with_another_repair(index: MemoryIndex) -> None:
    """The system's own fusion reads scores that this pipeline does not have any more."""
    gone = [Edit(slot, None) for slot in ("keyword_score", "vector_score", "floor")]
    ranks = Edit("fusion", RankSum(keyword=0.0))
    pipeline = edited(system("openclaw-2026.2.13+or"), [*gone, ranks]).asking(limit=1)
    with index:
        found = diagnose("brake", pipeline, index, "memory/bike.md")
    (of_fusion,) = (one for one in found.causes if one.where == ("fusion",))
    assert of_fusion.verified


def test_a_lower_limit_is_no_such_cause(index: MemoryIndex) -> None:
    """A limit cuts any answer, so a fault of the question stands before it."""
    name, target = "openclaw-2026.2.13+or", "memory/shop.md"
    question = "We had tea and coffee in the shop on Sunday. Which hub and brake?"
    changed = system(name).asking(limit=1)
    with index:
        assert target in search(question, system(name), index).paths()
        assert target not in search(question, changed, index).paths()
        found = diagnose(question, changed, index, target)
    assert found.causes[0].where == ("question",), found.headline


def test_the_price_of_a_longer_answer_counts_the_files_that_come_along(index: MemoryIndex) -> None:
    pipeline = system("openclaw-2026.2.13+or")
    with index:
        answer = search("cup", pipeline.asking(min_score=0), index).paths()
        found = diagnose("cup", pipeline.asking(limit=1, min_score=0), index, answer[-1])
    (price,) = (line for line in text_of(found.view()).split("\n") if line.startswith("Price: "))
    assert len(answer) > 2
    assert price.startswith(f"Price: {counted(len(answer) - 2, 'other file')} ")


def test_a_stage_of_long_words_is_told_by_the_setting_of_the_user(index: MemoryIndex) -> None:
    changed = with_typed(system("recommended"), ["vector_leg.depth.cap=1"])
    with index:
        found = diagnose("rooibos", changed, index, "memory/bike.md")
    assert found.headline.startswith(
        "Cause: vector leg: differs from recommended by vector_leg.depth.cap=1 (this"
    )


def test_a_long_formula_that_nobody_set_is_told_with_what_it_does_to_the_question(
    sample: MemoryIndex,
) -> None:
    question, target = "should I respond to this message or stay quiet", "memory/protocols/group-chat.md"
    found = diagnose(question, system("openclaw-2026.9.6"), sample, target)
    assert found.causes[0].where == ("keyword_leg",)
    stage = found.pipeline["keyword_leg"].description
    assert found.causes[0].stage == stage
    assert found.headline.startswith("Cause: keyword leg: ")
    assert stage not in found.headline
    assert not found.headline.endswith(" …")


def test_of_several_long_causes_each_is_told_in_the_shorter_way(index: MemoryIndex) -> None:
    changed = with_typed(system("openclaw-2026.2.13+or"), ["fusion.vector=0.1", "floor.floor=0.75"])
    with index:
        found = diagnose("rooibos", changed, index, "memory/tea.md")
    fusion, floor = found.headline.split("; and ")
    assert fusion == "Cause: fusion: differs from openclaw-2026.2.13+or by fusion.vector=0.1"
    assert floor.startswith("floor: drop what scores below 0.75 (this file: ")
