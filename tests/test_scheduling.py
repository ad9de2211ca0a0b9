"""The tests go on after one of their processes has died."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.conftest import PROJECT

PASSES = "def test_one(): pass\ndef test_two(): pass\n"
DIES_ONCE = """
import os, pathlib

def test_one():
    pass

def test_two():
    died = pathlib.Path(__file__).with_name("died")
    if not died.exists():
        died.touch()
        os._exit(1)
"""
PLUGIN = """
from tests.scheduling import FileScheduling

def pytest_xdist_make_scheduler(config, log):
    return FileScheduling(config, log)
"""


def test_a_process_that_dies_near_the_end_leaves_no_test_unrun(tmp_path: Path) -> None:
    """pytest-xdist 3.8 by itself stands still here: each process waits for a test after its last one."""
    for name in "abcde":
        (tmp_path / f"test_{name}.py").write_text(PASSES)
    (tmp_path / "test_f.py").write_text(DIES_ONCE)
    (tmp_path / "test_g.py").write_text("def test_one(): pass\n")
    (tmp_path / "conftest.py").write_text(PLUGIN)
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "xdist", "-p", "no:cacheprovider", "--rootdir", str(tmp_path),
         "--numprocesses", "2", "--dist", "loadfile", "--no-loadscope-reorder"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(PROJECT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )  # fmt: skip
    assert (tmp_path / "died").exists()
    assert "1 failed, 13 passed" in ended.stdout, ended.stdout
