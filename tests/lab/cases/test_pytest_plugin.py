"""The pytest plugin: each kind of outcome of a case, told without a traceback, in one run of pytest."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands import python
from tests.conftest import PROJECT
from tests.lab.cases import example, table
from workbench_plugins.cases.model import load_case

PUBLIC = PROJECT / "tests" / "cases"
PLUGIN = ("-p", "workbench_plugins.cases.pytest_plugin", "-p", "no:cacheprovider")

OUTCOMES: dict[str, tuple[dict[str, str], str, str]] = table("outcomes")
DEFAULTS = {"KNOWN": "note: x", "EXPECT": "{found: memory/depot.md}", "OBSERVED": "{}", "ELSEWHERE": ""}


def written(name: str) -> str:
    """The text of a file with its outcome."""
    text = example("outcome")
    for old, new in [*OUTCOMES[name][0].items(), *DEFAULTS.items()]:
        text = text.replace(old, new)
    return text


def run_pytest(folder: Path, *arguments: str) -> str:
    command = [sys.executable, "-m", "pytest", *PLUGIN, "-rA", "--color=no", *arguments]
    wide = os.environ | {"COLUMNS": "250"}
    ended = subprocess.run(command, cwd=folder, env=wide, capture_output=True, text=True, timeout=600)
    return ended.stdout + ended.stderr


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("project")
    (folder / "pytest.ini").write_text("[pytest]\n")
    for name in OUTCOMES:
        (folder / f"{name}.case.yaml").write_text(written(name))
    return run_pytest(folder, "--continue-on-collection-errors")


@pytest.mark.parametrize("name", OUTCOMES)
def test_each_outcome_is_told(report: str, name: str) -> None:
    _, outcome, description = OUTCOMES[name]
    told = [line for line in report.splitlines() if line.startswith(f"{outcome} {name}.case.yaml")]
    assert len(told) == 1, report
    assert description in told[0]


def test_a_failure_is_explained_without_a_traceback(report: str) -> None:
    assert "keyword leg: no match: it does not find “bagging”, “operations” (0 chunks match)" in report
    assert "observed before: below the floor" in report
    assert "observed now: listed by no leg" in report
    assert "no-case.case.yaml, line 2: titel: Extra inputs are not permitted." in report
    assert "There is no system 'openclaw-1.0'; the nearest are" in report
    assert "install the package that registers it" in report
    assert "Traceback" not in report
    assert not re.search(r"\.py:\d+: ", report)


def test_observations_are_rewritten_when_that_is_asked(tmp_path: Path) -> None:
    file = tmp_path / "known.case.yaml"
    file.write_text(written("other-reason"))
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    assert "1 xfailed" in run_pytest(tmp_path, "--case-update")
    (asked,) = load_case(file).case.model_dump()["questions"]
    assert (asked["observed"]["fate"], asked["observed"]["returned"]) == ("listed by no leg", [])
    before = file.read_bytes()
    assert "1 xfailed" in run_pytest(tmp_path)
    assert file.read_bytes() == before


def test_the_plugin_loads_nothing_large_until_a_case_is_collected() -> None:
    code = "import sys, workbench_plugins.cases.pytest_plugin; print({'numpy', 'yaml'} & set(sys.modules))"
    assert python("-c", code).out.strip() == "set()"


def test_the_public_reports_fail_and_are_mended_where_their_cases_state_it() -> None:
    files = sorted(PUBLIC.glob("*.case.yaml"))
    cases = [load_case(file).case for file in files]
    tests = sum(len(one.questions) + len(one.elsewhere) for one in cases)
    assert len(files) >= 8
    assert all(one.known_bug and one.elsewhere for one in cases)
    told = run_pytest(PUBLIC)
    assert f"{tests - len(files)} passed, {len(files)} xfailed" in told
