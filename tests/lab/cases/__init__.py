"""Tests of cases. The folder `given` has their examples of cases, and tables of bad input."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from workbench_plugins.cases.case_results import CaseRun
from workbench_plugins.cases.model import load_case
from workbench_plugins.cases.running import run_case

GIVEN = Path(__file__).parent / "given"


def example(name: str) -> str:
    """The text of an example."""
    return (GIVEN / f"{name}.yaml").read_text(encoding="utf-8")


def table(name: str) -> Any:
    """The rows of a table."""
    return yaml.safe_load(example(name))


def run_file(file: Path) -> CaseRun:
    """The case in a file, run as the command runs it."""
    loaded = load_case(file)
    return run_case(loaded.case, folder=loaded.folder)
