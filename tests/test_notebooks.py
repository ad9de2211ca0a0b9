"""Every notebook runs from top to bottom in a fresh kernel, and keeps the rhythm of a lesson."""

from __future__ import annotations

import re
from pathlib import Path
from statistics import median, quantiles

import nbformat
import pytest
from nbclient import NotebookClient
from nbformat import NotebookNode

from tests.conftest import PROJECT
from workbench.memory.index import MemoryIndex

NOTEBOOKS = sorted((PROJECT / "notebooks").glob("*.ipynb"))

every_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def read(path: Path) -> NotebookNode:
    return nbformat.read(path, as_version=4)


def code_lines(notebook: NotebookNode) -> list[int]:
    return [len(cell.source.strip().splitlines()) for cell in notebook.cells if cell.cell_type == "code"]


@every_notebook
def test_a_notebook_runs_in_a_fresh_kernel(path: Path, sample: MemoryIndex) -> None:
    notebook = read(path)
    NotebookClient(notebook, timeout=60, resources={"metadata": {"path": str(path.parent)}}).execute()
    done = [cell.execution_count for cell in notebook.cells if cell.cell_type == "code"]
    assert done == list(range(1, len(done) + 1))


@every_notebook
def test_a_notebook_names_its_kernel_and_stores_no_outputs(path: Path) -> None:
    notebook = read(path)
    assert notebook.metadata.kernelspec.name == "python3"
    assert not any(cell.get("outputs") for cell in notebook.cells)


@every_notebook
def test_a_notebook_asserts_what_it_claims(path: Path) -> None:
    source = "\n".join(cell.source for cell in read(path).cells if cell.cell_type == "code")
    assert len(re.findall(r"^assert ", source, re.MULTILINE)) >= 5


@every_notebook
def test_the_cells_of_a_notebook_are_short(path: Path) -> None:
    lines = code_lines(read(path))
    assert median(lines) <= 4
    assert quantiles(lines, n=10)[-1] <= 12


@every_notebook
def test_a_notebook_has_six_to_ten_words_of_prose_a_line_of_code(path: Path) -> None:
    notebook = read(path)
    prose = sum(len(cell.source.split()) for cell in notebook.cells if cell.cell_type == "markdown")
    assert 6 <= prose / sum(code_lines(notebook)) <= 10
