"""The pytest plugin: each kind of outcome of a case, told without a traceback, in one run of pytest."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import PROJECT
from workbench.lab.cases.files import load_case

PUBLIC = PROJECT / "tests" / "cases"
PLUGIN = ("-p", "workbench.pytest_plugin", "-p", "no:cacheprovider")

SMALL = """\
case: 1
title: a depot with <b>markup</b>
KNOWN
system: openclaw-2026.2.13
questions:
- question: Rocky Point bagging operations
  expect: EXPECT
  observed: OBSERVED
elsewhere: [ELSEWHERE]
model: {name: toy, dimensions: 1, axes: {server: [server, disk]}}
memory:
  notes:
  - {path: memory/depot.md, text: Rocky Point is where the bark is packed into bags.}
"""
FILES = {
    "fails": SMALL,
    "known": SMALL.replace("KNOWN", "known_bug: AND joins the words").replace(
        "OBSERVED", "{fate: matched by no leg}"
    ),
    "known-question": SMALL.replace("observed: OBSERVED", "known_bug: one question alone"),
    "mended": SMALL.replace("KNOWN", "known_bug: AND joins the words").replace("EXPECT", "{nothing: true}"),
    "other-reason": SMALL.replace("KNOWN", "known_bug: AND").replace("OBSERVED", "{fate: below the floor}"),
    "elsewhere": SMALL.replace("EXPECT", "{nothing: true}").replace(
        "ELSEWHERE", "{system: openclaw-2026.9.6}"
    ),
    "no-case": "case: 1\nsystem: openclaw-2026.2.13\nqestions: []\n",
    "no-system": SMALL.replace("openclaw-2026.2.13", "openclaw-1.0"),
}
DEFAULTS = {"KNOWN": "note: x", "EXPECT": "{found: memory/depot.md}", "OBSERVED": "{}", "ELSEWHERE": ""}


def written(text: str) -> str:
    for name, value in DEFAULTS.items():
        text = text.replace(name, value)
    return text


Ran = Callable[[str], str]


def run_pytest(folder: Path, *arguments: str) -> str:
    command = [sys.executable, "-m", "pytest", *PLUGIN, "-rA", "--color=no", *arguments]
    wide = os.environ | {"COLUMNS": "250"}
    ended = subprocess.run(command, cwd=folder, env=wide, capture_output=True, text=True, timeout=600)
    return ended.stdout + ended.stderr


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("project")
    (folder / "pytest.ini").write_text("[pytest]\n")
    for name, text in FILES.items():
        (folder / f"{name}.case.yaml").write_text(written(text))
    return run_pytest(folder, "--continue-on-collection-errors")


@pytest.mark.parametrize(
    ("name", "outcome", "says"),
    [
        ("fails", "FAILED", "The expectation does not hold."),
        ("known", "XFAIL", "AND joins the words"),
        ("known-question", "XFAIL", "one question alone"),
        ("mended", "FAILED", "The expectation holds. If the bug is mended, remove known_bug"),
        ("other-reason", "FAILED", "What is observed differs from what the case states."),
        ("elsewhere", "FAILED", "The case states that its expectations hold on openclaw-2026.9.6"),
        ("no-case", "ERROR", ""),
        ("no-system", "ERROR", ""),
    ],
)
def test_each_outcome_is_told(report: str, name: str, outcome: str, says: str) -> None:
    told = [line for line in report.splitlines() if line.startswith(f"{outcome} {name}.case.yaml")]
    assert len(told) == 1, report
    assert says in told[0]


def test_a_failure_is_explained_without_a_traceback(report: str) -> None:
    assert "keyword leg: no match, it lacks “bagging”, “operations” (0 chunks match)" in report
    assert "observed before: below the floor" in report
    assert "observed now: matched by no leg" in report
    assert "no-case.case.yaml, line 3: qestions: Extra inputs are not permitted." in report
    assert "There is no system 'openclaw-1.0'; the nearest are" in report
    assert "Traceback" not in report
    assert not re.search(r"\.py:\d+: ", report)


def test_observations_are_rewritten_when_that_is_asked(tmp_path: Path) -> None:
    file = tmp_path / "known.case.yaml"
    file.write_text(written(FILES["other-reason"]))
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    assert "1 xfailed" in run_pytest(tmp_path, "--case-update")
    observed = load_case(file).case.questions[0].observed
    assert observed is not None
    assert (observed.fate, observed.returned) == ("matched by no leg", [])
    before = file.read_bytes()
    assert "1 xfailed" in run_pytest(tmp_path)
    assert file.read_bytes() == before


def test_the_plugin_imports_nothing_of_the_workbench_until_a_case_is_collected() -> None:
    code = (
        "import sys, pytest; before = set(sys.modules); import workbench.pytest_plugin;"
        "print(sorted({one.split('.')[0] for one in set(sys.modules) - before}))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=600
    )
    assert ended.stdout.strip() == "['workbench']"


def test_the_public_reports_fail_and_are_mended_where_their_cases_state_it() -> None:
    files = sorted(PUBLIC.glob("*.case.yaml"))
    tests = sum(len(one.questions) + len(one.elsewhere) for one in (load_case(f).case for f in files))
    names = {"openclaw-16021", "openclaw-5767", "openclaw-29485", "openclaw-33757", "openclaw-46671"}
    names |= {"openclaw-115001", "basic-memory-577", "automem-128"}
    assert names <= {file.name.removesuffix(".case.yaml") for file in files}
    assert all(load_case(file).case.known_bug and load_case(file).case.elsewhere for file in files)
    told = run_pytest(PUBLIC)
    assert f"{tests - len(files)} passed, {len(files)} xfailed" in told
