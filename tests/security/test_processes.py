"""The code of the folder in which the workbench is started never runs, and one function writes its files."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import PROJECT
from workbench.cli import lab
from workbench_plugins.cases.released import basic_memory
from workbench_plugins.cases.released.installing import Installed

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
    for module in ("jupyterlab", "ipykernel_launcher"):
        assert lab.serve([sys.executable, "-m", module, "--version"], os.environ) == 0
    assert not list(hostile.glob("* ran"))


def test_a_kernel_of_the_lab_imports_nothing_from_the_current_folder(hostile: Path) -> None:
    kernel = "import subprocess, sys; sys.exit(subprocess.call([sys.executable, '-m', 'yaml']))"
    assert lab.serve([sys.executable, "-c", kernel], os.environ) == 1  # no module that can be run
    assert not list(hostile.glob("* ran"))


def test_jupyterlab_reads_no_settings_from_the_current_folder(
    hostile: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("jupyter_config", "jupyter_server_config", "jupyter_lab_config"):
        (hostile / f"{name}.py").write_text((hostile / "voila.py").read_text().replace("voila", name))
    shown = [sys.executable, "-m", "jupyterlab", "--show-config"]
    monkeypatch.setattr(lab, "command_line", lambda *_: shown)
    assert lab.launch(hostile, "a.ipynb", 0, browser=True) == 0
    assert not list(hostile.glob("* ran"))


STARTERS = {
    "workbench/cli/lab.py": "`serve`, with a safe path",
    "workbench/memory/guard.py": "the reader of a foreign store, with a safe path and without keys",
    "workbench_plugins/cases/released/installing.py": "installers, in the cache or isolated",
    "workbench_plugins/cases/released/basic_memory.py": "the release, in a home of its own, with a safe path",
    "workbench_plugins/cases/released/openclaw_gateway.py": "the release, in a folder of its own",
    "workbench_plugins/cases/released/confirming.py": "the error of a release that does not run",
}
"""The modules that start processes, and where."""


def test_processes_start_in_a_safe_place() -> None:
    starts = set()
    for package in ("workbench", "workbench_plugins"):
        for file in (PROJECT / package).rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                modules = [one.name for one in node.names] if isinstance(node, ast.Import) else []
                modules += [str(node.module)] if isinstance(node, ast.ImportFrom) else []
                if STARTING & {module.partition(".")[0] for module in modules}:
                    starts.add(file.relative_to(PROJECT).as_posix())
    assert starts == set(STARTERS)


WRITING = re.compile(
    r"\.write_text\(|\.write_bytes\(|open\([^)]*[\"'][wax]b?[\"']|shutil\.copy|write_html\((?!file)"
)

WRITERS = {
    "workbench/cli/lab.py": "settings in a temporary folder",
    "workbench/memory/files.py": "`replaced` itself",
    "workbench/memory/store/sqlite/location.py": "the number of the process in a lock file",
    "workbench_plugins/calibrate/calibration_file.py": "a file that must not exist",
    "workbench_plugins/cases/released/basic_memory.py": "a temporary home",
    "workbench_plugins/cases/released/confirming.py": "notes in a temporary folder",
    "workbench_plugins/cases/released/installing.py": "a cache that is renamed when it is whole",
    "workbench_plugins/cases/released/openclaw_gateway.py": "settings in a temporary folder",
    "workbench_plugins/diagnose/index_of_folder.py": "copies of notes in a temporary folder",
    "workbench_plugins/diagnose/note_causes.py": "changed copies of notes in a temporary folder",
    "workbench_plugins/diagnose/outside.py": "a copy of an index in a temporary folder",
    "workbench_plugins/diagnose/triage.py": "the descriptions of symptoms in the cache folder",
    "workbench_plugins/explore/commands.py": "a notebook and settings in a temporary folder",
    "workbench_plugins/runs/collections.py": "files of a folder that must be empty",
    "workbench_plugins/stores/postgres.py": "the settings of a server in a temporary folder",
}
"""The modules that write without `replaced`, and what: nothing that could be lost."""


def test_one_function_writes_the_files_that_users_keep() -> None:
    packages = [
        file for name in ("workbench", "workbench_plugins") for file in (PROJECT / name).rglob("*.py")
    ]
    found = [file for file in packages if WRITING.search(file.read_text(encoding="utf-8"))]
    assert {file.relative_to(PROJECT).as_posix() for file in found} <= set(WRITERS)


def test_a_release_runs_in_a_folder_of_its_own(hostile: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[dict[str, Any]] = []
    done = subprocess.CompletedProcess([], 0, "", "")
    monkeypatch.setattr(subprocess, "run", lambda _, **given: runs.append(given) or done)
    served: list[Mapping[str, str]] = []
    monkeypatch.setattr(basic_memory, "_served", lambda _, given: nullcontext(served.append(given)))
    (hostile / "notes").mkdir()
    release = Installed("basic-memory", "0.24.1")
    with basic_memory.running(release, hostile / "notes", "http://127.0.0.1:1"):
        pass
    assert [dict(one) for one in served] == [one["env"] for one in runs]
    (given,) = runs
    assert given["env"]["PYTHONSAFEPATH"] == "1"
    assert not given["cwd"].is_relative_to(hostile)
