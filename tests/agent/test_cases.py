"""The tool memory_case writes into the folder that the user has allowed, and nowhere else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.agent.test_agent import QUESTION, over
from tests.agent.test_mcp import call, listed
from workbench.errors import InputError
from workbench_plugins.cases.making import MOST_CASES
from workbench_plugins.cases.model import load_case
from workbench_plugins.cases.running import run_case

TARGET = "memory/bike.md"


@pytest.fixture
def cases(folder: Path) -> Path:
    """The folder into which an agent may write."""
    (folder / "cases").mkdir()
    return folder / "cases"


def everything(folder: Path) -> set[Path]:
    return {one.relative_to(folder) for one in folder.rglob("*") if "index" not in one.name}


def test_a_failing_search_is_saved_under_a_new_name_each_time(folder: Path, cases: Path) -> None:
    asking = {"query": QUESTION, "path": TARGET, "maxResults": 1}
    with over(folder, cases=cases) as tools:
        first, second = (call(tools, "memory_case", asking).structured_content or {} for _ in range(2))
    assert Path(first["file"]).name == "where-is-the-rooibos-tea.case.yaml"
    assert Path(second["file"]).name == "where-is-the-rooibos-tea-2.case.yaml"
    run = run_case(load_case(Path(first["file"])).case)
    assert (run.holds, run.as_observed) == (False, True)
    assert run.answers[0].observed.fate == first["fate"]


def test_the_tool_says_that_it_writes_and_there_is_none_without_a_folder(folder: Path, cases: Path) -> None:
    with over(folder) as tools, pytest.raises(InputError, match="no tool 'memory_case'"):
        tools.call("memory_case", {"query": QUESTION, "path": TARGET})
    with pytest.raises(InputError, match="does not exist"):
        over(folder, cases=folder / "none")
    with over(folder, cases=cases) as tools:
        *_, saving = listed(tools)
    assert (saving.name, saving.annotations.read_only_hint) == ("memory_case", False)
    assert "name" not in saving.input_schema["properties"]


@pytest.mark.parametrize(
    "wrong",
    [{"path": path} for path in ("../secret.md", "/etc/passwd", "memory/\x1b[31m.md", None)]
    + [{"name": "../../x"}, {"out": "../x.case.yaml"}, {"query": ""}],
)
def test_hostile_arguments_write_nothing(wrong: dict[str, Any], folder: Path, cases: Path) -> None:
    before = everything(folder)
    with over(folder, cases=cases) as tools:
        assert call(tools, "memory_case", {"query": QUESTION, "path": TARGET, **wrong}).is_error
    assert everything(folder) == before


def test_a_question_cannot_lead_out_of_the_folder_or_over_a_link(folder: Path, cases: Path) -> None:
    outside = folder / "outside.yaml"
    outside.write_text("mine")
    (cases / "etc-x.case.yaml").symlink_to(outside)
    with over(folder, cases=cases) as tools:
        for question in ("../../etc/x", "/etc/x", "茶" * 300, "a" * 300, "..\\..\\etc x"):
            answer = tools.call("memory_case", {"query": question, "path": TARGET})
            assert Path(answer["file"]).parent == cases.resolve()
            assert len(Path(answer["file"]).name) <= 70
    assert outside.read_text() == "mine"


def test_a_folder_does_not_fill_without_end(folder: Path, cases: Path) -> None:
    for number in range(MOST_CASES):
        (cases / f"{number}.case.yaml").write_text("")
    with over(folder, cases=cases) as tools, pytest.raises(InputError, match="100 cases already"):
        tools.call("memory_case", {"query": QUESTION, "path": TARGET})
