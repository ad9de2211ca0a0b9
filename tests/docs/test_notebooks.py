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

LESSONS = sorted((PROJECT / "notebooks").glob("*.ipynb"))
SOLUTIONS = sorted((PROJECT / "notebooks" / "solutions").glob("*.ipynb"))
MISTAKES = [path for path in LESSONS if "01" <= path.stem[:2] <= "08"]


def each(paths: list[Path]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("path", paths, ids=lambda path: f"{path.parent.stem}/{path.stem}")


every_notebook = each(LESSONS + SOLUTIONS)
every_lesson = each(LESSONS)


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


@every_lesson
def test_a_notebook_asserts_what_it_claims(path: Path) -> None:
    source = "\n".join(cell.source for cell in read(path).cells if cell.cell_type == "code")
    assert len(re.findall(r"^assert ", source, re.MULTILINE)) >= 5


@every_lesson
def test_the_cells_of_a_notebook_are_short(path: Path) -> None:
    lines = code_lines(read(path))
    assert median(lines) <= 4
    assert quantiles(lines, n=10)[-1] <= 12


@every_lesson
def test_a_notebook_has_six_to_ten_words_of_prose_a_line_of_code(path: Path) -> None:
    notebook = read(path)
    prose = sum(len(cell.source.split()) for cell in notebook.cells if cell.cell_type == "markdown")
    assert 6 <= prose / sum(code_lines(notebook)) <= 10


@each(MISTAKES)
def test_a_lesson_has_the_arc_of_a_mistake(path: Path) -> None:
    cells = read(path).cells
    code = "\n".join(cell.source for cell in cells if cell.cell_type == "code")
    headings = re.findall(r"^## (.*)$", "\n".join(c.source for c in cells if c.cell_type == "markdown"), re.M)
    assert code.index("Prediction(") < code.index(".reveal(") < code.index("diff_text(")
    assert headings[-3:] == ["Check", "What to take away", "Exercises"]


@each(LESSONS[1:])
def test_the_exercises_of_a_lesson_have_solutions(path: Path) -> None:
    solutions = path.parent / "solutions" / path.name
    assert f"`solutions/{path.name}`" in read(path).cells[-1].source
    assert len(re.findall(r"^## [12]\. ", "\n".join(c.source for c in read(solutions).cells), re.M)) == 2
    assert re.search(r"^assert ", "\n".join(c.source for c in read(solutions).cells), re.M)
