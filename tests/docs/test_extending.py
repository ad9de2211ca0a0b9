"""docs/extending.md is true: each file is printed as it is, its code runs, and its package installs."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests import world
from tests.conftest import PROJECT
from tests.run_vectors import main
from workbench.measure.evaluation import evaluate
from workbench.measure.questions import QuestionSet
from workbench.measure.reach import reaches
from workbench.measure.thresholds import scores
from workbench.memory.index import MemoryIndex
from workbench.registry import GROUP
from workbench.systems.catalogue import SYSTEMS
from workbench_plugins.engines.presets import ENGINES, fuse

DOCUMENT = PROJECT / "docs" / "extending.md"
EXAMPLES = PROJECT / "tests" / "strangers"
TEXT = DOCUMENT.read_text(encoding="utf-8")
BLOCK = re.compile(r"(?:^`([\w/.]+)`:\n\n)?^```(\w+)\n(.*?)^```$", re.M | re.S)
BLOCKS = [match.groups() for match in BLOCK.finditer(TEXT)]
FILES = {name: text for name, _, text in BLOCKS if name}
CODE = [text for name, language, text in BLOCKS if not name and language == "python"]
CONSOLE = "".join(text for _, language, text in BLOCKS if language == "console")
COMMANDS = [shlex.split(line.removeprefix("$ ")) for line in CONSOLE.splitlines()]


@pytest.fixture
def examples(nothing_registered: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The folder of the examples, from which modules are imported anew."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    yield
    for module in ("acme", "bars", "squares"):
        sys.modules.pop(module, None)


def run_code() -> dict[str, Any]:
    """The names that the document's code defines when it runs in its order."""
    names: dict[str, Any] = {}
    for block in CODE:
        exec(compile(block, str(DOCUMENT), "exec"), names)
    return names


def test_the_page_has_every_example() -> None:
    files = [path for path in EXAMPLES.iterdir() if path.is_file() and path.name != "__init__.py"]
    there = {path.relative_to(PROJECT).as_posix() for path in files}
    extensions = {f"tests/extensions/{name}.py" for name in ("phrase_leg", "reranker", "memory_index")}
    assert set(FILES) <= there | extensions
    assert [name for name in there | extensions if name not in TEXT] == []
    assert len(CODE) == 3


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
    assert names["late"]["scope"] != names["first"]["scope"]


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


def test_the_installed_package_is_known_to_every_command(tmp_path: Path) -> None:
    """Its metadata are written as pip writes them, from the page's pyproject.toml."""
    site = tmp_path / "site"
    shutil.copytree(EXAMPLES, site, ignore=shutil.ignore_patterns("__*"))
    project = tomllib.loads((site / "pyproject.toml").read_text())["project"]
    metadata = site / f"acme_memory-{project['version']}.dist-info"
    metadata.mkdir()
    named = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    (metadata / "METADATA").write_text(named)
    points = [f"{name} = {one}" for name, one in project["entry-points"][GROUP].items()]
    (metadata / "entry_points.txt").write_text("\n".join([f"[{GROUP}]", *points]))
    paths = os.pathsep.join([str(site), str(PROJECT)])
    environment = {**os.environ, "PYTHONPATH": paths, "SHELF": str(tmp_path / "shelf")}
    world.write(tmp_path / "sample_memory", {"MEMORY.md": "The rear hub.", "memory/b.md": "A hub of a bike."})
    said = ""
    for command in [["workbench", "index", "sample_memory"], *COMMANDS]:
        module = ["-m"] if command[0] == "workbench" else []
        called = [sys.executable, *module, *(command if module else command[1:])]
        ended = subprocess.run(called, env=environment, cwd=tmp_path, capture_output=True, text=True)
        assert ended.returncode == 0, (command, ended.stderr)
        said += ended.stdout
    for name in ("acme", "squares", "rerank", "MEMORY.md", "2 chunks", "bars.Bars"):
        assert name in said
    assert (tmp_path / "shelf" / "notes.sqlite").exists()


def test_the_examples_are_in_no_table_of_the_workbench() -> None:
    assert {"acme", "engine-squares"}.isdisjoint(wb.SYSTEMS)
