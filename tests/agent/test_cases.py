"""The tool memory_case writes into the folder that the user has allowed, and nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import world
from tests.agent.test_agent import QUESTION, over
from tests.agent.test_mcp import asked, call
from workbench.agent.server import memory_server
from workbench.errors import InputError
from workbench.lab.cases.files import load_case
from workbench.lab.cases.intake.naming import MOST_CASES
from workbench.lab.cases.running import run_case

TARGET = "memory/bike.md"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with world.build(tmp_path):
        (tmp_path / "cases").mkdir()
        return tmp_path


def everything(folder: Path) -> set[Path]:
    return {one.relative_to(folder) for one in folder.rglob("*") if "index" not in one.name}


def test_a_failing_search_is_saved_under_a_new_name_each_time(folder: Path) -> None:
    with over(folder, cases=folder / "cases") as tools:
        results = [
            call(tools, "memory_case", {"query": QUESTION, "path": TARGET, "maxResults": 1}) for _ in range(2)
        ]
    files = [Path(one.structured_content["file"]) for one in results if one.structured_content]
    assert [one.name for one in files] == [
        "where-is-the-rooibos-tea.case.yaml", "where-is-the-rooibos-tea-2.case.yaml",
    ]  # fmt: skip
    run = run_case(load_case(files[0]).case)
    assert (run.holds, run.as_observed) == (False, True)
    assert run.answers[0].observed.fate == (results[0].structured_content or {})["fate"]


def test_there_is_no_such_tool_without_a_folder(folder: Path) -> None:
    with over(folder) as tools, pytest.raises(InputError, match="no tool 'memory_case'"):
        tools.call("memory_case", {"query": QUESTION, "path": TARGET})
    with pytest.raises(InputError, match="does not exist"):
        over(folder, cases=folder / "none")


def test_the_tool_says_that_it_writes(folder: Path) -> None:
    with over(folder, cases=folder / "cases") as tools:
        listed = asked(memory_server(tools), lambda client: client.list_tools()).tools
    assert {one.name: one.annotations.read_only_hint for one in listed}["memory_case"] is False
    assert "name" not in listed[-1].input_schema["properties"]


@pytest.mark.parametrize(
    "arguments",
    [
        {"query": QUESTION, "path": "../secret.md"},
        {"query": QUESTION, "path": "/etc/passwd"},
        {"query": QUESTION, "path": "memory/\x1b[31m.md"},
        {"query": QUESTION, "path": TARGET, "name": "../../x"},
        {"query": QUESTION, "path": TARGET, "out": "../x.case.yaml"},
        {"query": "", "path": TARGET},
        {"query": QUESTION},
    ],
)
def test_hostile_arguments_write_nothing(arguments: dict[str, object], folder: Path) -> None:
    before = everything(folder)
    with over(folder, cases=folder / "cases") as tools:
        assert call(tools, "memory_case", arguments).is_error
    assert everything(folder) == before


def test_a_question_cannot_lead_out_of_the_folder_or_over_a_link(folder: Path) -> None:
    outside = folder / "outside.yaml"
    outside.write_text("mine")
    (folder / "cases" / "etc-x.case.yaml").symlink_to(outside)
    with over(folder, cases=folder / "cases") as tools:
        for question in ("../../etc/x", "/etc/x", "茶" * 300, "a" * 300, "..\\..\\etc x"):
            answer = tools.call("memory_case", {"query": question, "path": TARGET})
            assert Path(answer["file"]).parent == (folder / "cases").resolve()
            assert len(Path(answer["file"]).name) <= 70
    assert outside.read_text() == "mine"


def test_a_folder_does_not_fill_without_end(folder: Path) -> None:
    for number in range(MOST_CASES):
        (folder / "cases" / f"{number}.case.yaml").write_text("")
    with over(folder, cases=folder / "cases") as tools, pytest.raises(InputError, match="100 cases already"):
        tools.call("memory_case", {"query": QUESTION, "path": TARGET})
