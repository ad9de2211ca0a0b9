"""The code of the folder in which the workbench is started never runs."""

from __future__ import annotations

import ast
import os
import sys
from pathlib import Path

import pytest

from tests.conftest import PROJECT
from workbench.cli import lab

NAMES = ("yaml", "numpy", "typer", "voila", "jupyterlab", "ipykernel_launcher", "sitecustomize", "workbench")
STARTING = {"subprocess", "multiprocessing", "pty"}


@pytest.fixture
def hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: a memory with modules that leave a trace when they are imported."""
    for name in NAMES:
        trace = repr(str(tmp_path / f"{name} ran"))
        (tmp_path / f"{name}.py").write_text(f"open({trace}, 'w').close()\nraise SystemExit(66)\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_no_process_that_is_started_imports_from_the_current_folder(hostile: Path) -> None:
    indexing = [sys.executable, "-m", "workbench", "index", str(hostile / "no-such-memory")]
    assert lab.serve(indexing, os.environ) == 2
    for module in ("voila", "jupyterlab", "ipykernel_launcher"):
        assert lab.serve([sys.executable, "-m", module, "--version"], os.environ) == 0
    assert not list(hostile.glob("* ran"))


def test_a_kernel_of_the_lab_imports_nothing_from_the_current_folder(hostile: Path) -> None:
    kernel = "import subprocess, sys; sys.exit(subprocess.call([sys.executable, '-m', 'yaml']))"
    assert lab.serve([sys.executable, "-c", kernel], os.environ) == 1  # no module that can be run
    assert not list(hostile.glob("* ran"))


def test_one_function_starts_all_processes() -> None:
    starts = set()
    for package in ("workbench", "workbench_plugins"):
        for file in (PROJECT / package).rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                modules = [one.name for one in node.names] if isinstance(node, ast.Import) else []
                modules += [str(node.module)] if isinstance(node, ast.ImportFrom) else []
                if STARTING & {module.partition(".")[0] for module in modules}:
                    starts.add(file.relative_to(PROJECT).as_posix())
    assert starts == {"workbench/cli/lab.py"}
