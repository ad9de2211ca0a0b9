"""Long work says how far it is, also where there is no terminal."""

from __future__ import annotations

from pathlib import Path

import pytest
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook

from tests.conftest import PATIENT
from tests.forked import ForkedKernels
from workbench.progress import LINE_SECONDS, progress


class Clock:
    """A clock that moves only when it is told to."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_without_a_terminal_long_work_prints_a_line_a_minute(
    capsys: pytest.CaptureFixture[str],
) -> None:
    clock = Clock()
    with progress(6, "indexing", "files", clock=clock) as done:
        for _ in range(6):
            clock.now += LINE_SECONDS / 2
            done()
    assert capsys.readouterr().err.splitlines() == [
        "indexing: 2 of 6 files (33%), about 2 min left",
        "indexing: 4 of 6 files (67%), about 1 min left",
    ]
    with progress(3, "indexing", "files", clock=clock) as done:
        for _ in range(3):
            clock.now += 1
            done()
    assert capsys.readouterr().err == ""


def test_in_a_notebook_a_finished_bar_leaves_no_output_and_an_interrupted_one_says_where(
    tmp_path: Path,
) -> None:
    cells = (
        "from tqdm.notebook import tqdm\nfrom workbench.progress import passing",
        "with passing(tqdm)(total=1, leave=False) as bar:\n    bar.refresh()\n    bar.update()",
        "with passing(tqdm)(total=2, leave=False) as bar:\n    bar.refresh()",
    )
    notebook = new_notebook(cells=[new_code_cell(cell) for cell in cells])
    place = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(notebook, **PATIENT, kernel_manager_class=ForkedKernels, resources=place).execute()
    _, finished, interrupted = ([one.get("data") for one in cell.outputs] for cell in notebook.cells)
    assert finished == [{}]
    assert list(interrupted[0]) == ["text/plain", "application/vnd.jupyter.widget-view+json"]
