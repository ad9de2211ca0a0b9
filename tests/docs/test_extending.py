"""docs/extending.md is true: each file is printed as it is, its code runs, and its package installs."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.conftest import PROJECT
from tests.run_vectors import main
from workbench.lab.evaluation import evaluate
from workbench.lab.lint import reaches
from workbench.lab.questions import QuestionSet
from workbench.lab.thresholds import scores
from workbench.memory.index import MemoryIndex
from workbench.systems.engines.presets import ENGINES, fuse
from workbench.systems.registry import SYSTEMS

DOCUMENT = PROJECT / "docs" / "extending.md"
EXAMPLES = PROJECT / "docs" / "examples"
TEXT = DOCUMENT.read_text(encoding="utf-8")
BLOCK = re.compile(r"(?:^`([\w/.]+)`:\n\n)?^```(\w+)\n(.*?)^```$", re.M | re.S)
BLOCKS = [match.groups() for match in BLOCK.finditer(TEXT)]
FILES = {name: text for name, _, text in BLOCKS if name}
CODE = [text for name, language, text in BLOCKS if not name and language == "python"]
COMMANDS = [
    shlex.split(line.removeprefix("$ "))
    for _, language, text in BLOCKS
    if language == "console"
    for line in text.splitlines()
]


@pytest.fixture
def examples(nothing_registered: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The folder of the examples, from which modules are imported anew."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    yield
    for module in ("acme", "squares"):
        sys.modules.pop(module, None)


def run_code() -> dict[str, Any]:
    """The names that the document's code defines when it runs in its order."""
    names: dict[str, Any] = {}
    for block in CODE:
        exec(compile(block, str(DOCUMENT), "exec"), names)
    return names


def test_the_page_has_every_example() -> None:
    there = {path.relative_to(PROJECT).as_posix() for path in EXAMPLES.iterdir() if path.is_file()}
    extensions = {f"tests/extensions/{name}.py" for name in ("phrase_leg", "reranker", "memory_index")}
    assert set(FILES) == there | extensions
    assert len(CODE) == 2
    assert len(COMMANDS) == 3


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_printed_as_it_is(name: str) -> None:
    assert FILES[name] == (PROJECT / name).read_text(encoding="utf-8")


def test_the_fusion_is_computed_by_hand(examples: None) -> None:
    import squares

    hits = fuse(ENGINES["squares"].fusion, {"a": 0.9, "b": 0.8}, {"b": 7.0, "c": 2.0})
    assert [(hit.id, hit.score) for hit in hits] == [("b", 1 / 4 + 1), ("a", 1.0), ("c", 1 / 4)]
    assert squares.SQUARES is ENGINES["squares"]


def test_the_code_of_the_page_runs(
    examples: None, sample: MemoryIndex, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import squares  # noqa: F401

    monkeypatch.chdir(PROJECT)
    names = run_code()
    names["index"].close()
    assert names["trace"].system == "engine-squares"
    assert names["trace"].results
    assert set(names["found"].legs) == {"keyword", "vector", "phrase"}
    assert [one.chunk.path for one in names["found"].results] == ["tea.md"]
    printed = capsys.readouterr().out
    assert "phrase leg" in printed
    assert "rerank_score" in printed


def test_the_system_computes_its_vectors(examples: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--import", "acme", str(EXAMPLES / "acme.json")]) == 0
    assert "all                         3 passed    0 failed" in capsys.readouterr().out


def test_the_labs_know_the_system(examples: None, sample: MemoryIndex, questions: QuestionSet) -> None:
    import acme

    (evaluation,) = evaluate(questions, [SYSTEMS["acme"]], sample)
    shipped, _ = SYSTEMS["openclaw-2026.2.13"], acme.ACME
    (before,) = evaluate(questions, [shipped], sample)
    assert evaluation.overall.hits > before.overall.hits
    assert scores(evaluation).at(shipped.floor).hits.hits == evaluation.overall.hits
    assert {one.slot for one in shipped.diff(acme.ACME)} == {"query", "keyword_score"}
    assert all(one is not None for one in reaches(acme.ACME).values())


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder into which pip has installed the page's package."""
    folder = tmp_path_factory.mktemp("package")
    for name in ("pyproject.toml", "acme.py", "squares.py"):
        shutil.copy(EXAMPLES / name, folder)
    target = folder / "installed"
    pip = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "--no-index",
    ]
    command = [*pip, "--disable-pip-version-check", "--target", str(target), str(folder)]
    subprocess.run(command, check=True, capture_output=True, timeout=600)
    return target


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_the_installed_package_is_known_to_every_command(installed: Path, command: list[str]) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", *command],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(installed), str(PROJECT)])},
        cwd=installed.parent / "installed",
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "squares" in ended.stdout if "fusion" in command else "acme" in ended.stdout


def test_the_examples_are_in_no_table_of_the_workbench() -> None:
    assert {"acme", "engine-squares"}.isdisjoint(wb.SYSTEMS)
