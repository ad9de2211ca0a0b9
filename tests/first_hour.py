"""The first hour of a newcomer, step by step, as commands in a terminal and pages in a browser.

    python -m tests.first_hour [--quick] [--to FOLDER]

Each step prints what it does and checks what a reader sees. FOLDER keeps the outputs and the screenshots.
With --quick it takes this Python instead of a fresh .venv, this project's index, and only the first lesson.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from playwright.sync_api import Locator, Page

from tests import forked
from tests.browser import (
    NOT_FOUND,
    OUTPUT,
    becomes,
    browsing,
    end_kernels,
    free_port,
    reopen,
    run_all_cells,
    save,
)
from workbench.memory.index import default_index_path

PROJECT = Path(__file__).parent.parent
LESSONS = ("00_start", "04_rrf_and_its_scale", "06_min_max_and_convex", "09_whose_fusion")
NOTES = {
    "tea.md": "# Tea\n\nGreen tea at ten, black tea at four.\n",
    "bike.md": "# Bike\n\nThe bike has a flat tyre since May.\n",
}
WIDGET = "application/vnd.jupyter.widget-view+json"
CONFIGURATION = {"agents": {"defaults": {"memorySearch": {"query": {"maxResults": 8}}}}}


@dataclass
class Hour:
    """Where the newcomer works: a clone, a desk for own files, and where pictures and outputs are kept."""

    folder: Path
    quick: bool
    in_forks: bool = False

    @property
    def clone(self) -> Path:
        return self.folder / "clone"

    @property
    def desk(self) -> Path:
        return self.folder / "desk"

    @property
    def python(self) -> str:
        return sys.executable if self.quick else str(self.clone / ".venv" / "bin" / "python")

    @property
    def environment(self) -> dict[str, str]:
        outside = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        own = {
            "WORKBENCH_HOME": str(self.folder / "home"),
            "PYTHONPATH": str(self.clone),
            # Or JupyterLab would open again what this machine's user had open.
            "JUPYTERLAB_SETTINGS_DIR": str(self.folder / "settings"),
            "JUPYTERLAB_WORKSPACES_DIR": str(self.folder / "spaces"),
        }
        return outside | own

    def run(self, *words: object, code: int = 0) -> str:
        """Runs a command of the workbench on the desk; returns stdout and stderr. It must end with `code`."""
        ended = self._ended([*map(str, words)])
        said = f"{ended.stdout}{ended.stderr}"
        with (self.folder / "said.txt").open("a", encoding="utf-8") as log:
            log.write(f"$ workbench {' '.join(map(str, words))}\n{said}\n")
        assert ended.returncode == code, f"exit code {ended.returncode} of {words}:\n{said}"
        return said

    def _ended(self, words: list[str]) -> subprocess.CompletedProcess[str]:
        if self.in_forks:
            return forked.run("workbench", words, self.desk, self.environment, timeout=600)
        command = [self.python, "-m", "workbench", *words]
        return subprocess.run(
            command, cwd=self.desk, env=self.environment, capture_output=True, text=True, timeout=600
        )


def clone(hour: Hour) -> None:
    """A fresh clone."""
    subprocess.run(["git", "clone", "--quiet", str(PROJECT), str(hour.clone)], check=True)
    hour.desk.mkdir()
    assert (hour.clone / "Makefile").is_file()


def set_up(hour: Hour) -> None:
    """The packages, in a .venv of the clone."""
    if not hour.quick:
        subprocess.run(["make", ".venv/with-lab"], cwd=hour.clone, env=hour.environment, check=True)
    assert re.fullmatch(r"\S+ \d+\.\d+\.\d+\n", hour.run("--version"))


def own_notes(hour: Hour) -> None:
    """A memory of one's own: index, ask, and explain why a file is missing."""
    for name, text in NOTES.items():
        (hour.desk / "notes").mkdir(exist_ok=True)
        (hour.desk / "notes" / name).write_text(text, encoding="utf-8")
    assert "has no index yet" in hour.run("search", "green tea", "-m", "notes", code=2)
    assert "2 new" in hour.run("index", "notes")
    assert "tea.md" in hour.run("search", "green tea", "-m", "notes")
    assert "NEVER INDEXED" in hour.run("explain", "green tea", "-t", "milk.md", "-m", "notes", code=1)


def two_releases(hour: Hour) -> None:
    """The same openclaw.json is two systems in two releases; without a release, the workbench asks."""
    (hour.desk / "openclaw.json").write_text(json.dumps(CONFIGURATION), encoding="utf-8")
    asked = ("search", "green tea", "-m", "notes")
    assert "--release" in hour.run("--config", "openclaw.json", *asked, code=2)
    for release in ("2026.2.13", "2026.9.6"):
        said = hour.run("--config", "openclaw.json", "--release", release, *asked)
        assert said.count(f"OpenClaw {release}, because you named it") == 1
        assert f"openclaw-{release}@openclaw.json" in said


def interruption(hour: Hour) -> None:
    """Ctrl-C during the first index: what is kept is said, and the next run goes on."""
    memory, index = hour.desk / "notes", hour.desk / "interrupted.sqlite"
    command = [hour.python, "-m", "tests.processes", "stall", str(memory), str(index), "1"]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, cwd=hour.clone, env=hour.environment, stdout=pipe, stderr=pipe, text=True
    ) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "stalled\n"
        assert "is making the first one" in hour.run("search", "tea", "-m", "notes", "--index", index, code=2)
        running.send_signal(signal.SIGINT)
        _, said = running.communicate()
    assert "1 vector is computed and kept" in said
    assert "was interrupted" in hour.run("search", "tea", "-m", "notes", "--index", index, code=2)


def stale_index(hour: Hour) -> None:
    """A changed note: the search says that the index is old, and indexing mends it."""
    (hour.desk / "notes" / "tea.md").write_text("# Tea\n\nRed tea at noon.\n", encoding="utf-8")
    assert "out of date" in hour.run("search", "red tea", "-m", "notes")
    assert "1 changed" in hour.run("index", "notes")
    said = hour.run("search", "red tea", "-m", "notes")
    assert "out of date" not in said
    shutil.rmtree(hour.desk / "notes")
    assert "--remove-gone" in hour.run("doctor", code=1)


def lessons(hour: Hour) -> None:
    """`workbench lab`; lessons run in the browser, are saved, and show the same when they are reopened."""
    if hour.quick:
        _take_index(hour)
    with _lab(hour) as address, browsing() as tab:
        for name in LESSONS[:1] if hour.quick else LESSONS:
            alone = address.replace("/lab?", f"/lab/tree/{name}.ipynb?reset&")  # no lesson before it
            tab.page.goto(alone)
            run_all_cells(tab.page)
            _picture(hour, tab.page, f"{name}-run")
            save(tab.page)
            _check(tab.page, name)
            assert tab.errors == []
            end_kernels(tab.page)
            places = _widget_cells(hour.clone / "notebooks" / f"{name}.ipynb")
            reopen(tab, alone, partial(_are_found, tab.page, places))
            _check(tab.page, name)
            _picture(hour, tab.page, f"{name}-reopened")
        assert tab.errors == []


def _are_found(page: Page, places: Iterable[int]) -> bool:
    return all(_is_found(page, place) for place in places)


def _is_found(page: Page, place: int) -> bool:
    """Scrolls to the cell at a place, and says whether its widget is there once it is loaded."""
    cell = page.locator(f".jp-Cell[data-windowed-list-index='{place}']")
    becomes(partial(_output_in_view, cell), bool)
    cell.get_by_text("Loading widget").first.wait_for(state="detached")
    return NOT_FOUND not in str(cell.text_content())


def _output_in_view(cell: Locator) -> bool:
    """Scrolls to a cell, and says whether its output is there: what appears above may push it away again."""
    cell.scroll_into_view_if_needed()
    return cell.locator(".jp-OutputArea-output:visible").count() > 0


def _take_index(hour: Hour) -> None:
    """Gives the clone the index of this project's sample memory, whose chunks are the same."""
    own = default_index_path(PROJECT / "sample_memory")
    before = os.environ.get("WORKBENCH_HOME")
    os.environ["WORKBENCH_HOME"] = str(hour.folder / "home")
    try:
        there = default_index_path(hour.clone / "sample_memory")
    finally:
        os.environ.pop("WORKBENCH_HOME") if before is None else os.environ.update(WORKBENCH_HOME=before)
    if own.exists():
        there.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(own.resolve(), there)


@contextmanager
def _lab(hour: Hour) -> Iterator[str]:
    """`workbench lab` in the clone; gives the address that it prints."""
    port, log = free_port(), hour.folder / "lab.txt"
    command = [hour.python, "-m", "workbench", "lab", "--no-browser", "--port", str(port)]
    with log.open("w") as out:
        lab = subprocess.Popen(command, cwd=hour.clone, env=hour.environment, stdout=out, stderr=out)
    try:
        yield _address(lab, log, port)
    finally:
        lab.terminate()
        lab.wait(300)


def _address(lab: subprocess.Popen[bytes], log: Path, port: int, seconds: float = 600) -> str:
    ends = time.monotonic() + seconds
    while time.monotonic() < ends and lab.poll() is None:
        said = log.read_text()
        if found := re.search(rf"http://127\.0\.0\.1:{port}/lab\S*\?(token=\w+)", said):
            assert "Step 1 of 2" in said
            assert "Step 2 of 2" in said
            return f"http://127.0.0.1:{port}/lab?{found[1]}"
        time.sleep(0.3)
    raise AssertionError(log.read_text())


def _widget_cells(path: Path) -> list[int]:
    """The places of the cells whose saved output has a widget; there must be one.

    A progress bar that is gone leaves the place of a widget without its model.
    """
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    places = [
        place
        for place, cell in enumerate(cells)
        if any(output.get("data", {}).get(WIDGET, {}).get("model_id") for output in cell.get("outputs", ()))
    ]
    assert places, f"{path} has no widget"
    return places


def _check(page: Page, name: str) -> None:
    # Not inner_text: a browser skips the layout of what is far off the screen, and that text is empty.
    shown = page.locator(".jp-Notebook")
    becomes(lambda: NOT_FOUND in str(shown.text_content()), lambda found: not found)
    assert "Traceback (most recent call last)" not in str(shown.text_content()), f"{name} shows an error"


def _picture(hour: Hour, page: Page, name: str) -> None:
    page.screenshot(path=hour.folder / f"{name}.png")


STEPS: tuple[Callable[[Hour], None], ...] = (
    clone, set_up, own_notes, two_releases, interruption, lessons, stale_index,
)  # fmt: skip


def walk(folder: Path, quick: bool, in_forks: bool = False) -> None:
    """Goes through all steps in `folder`, a new one. Raises AssertionError at the first that fails.

    `in_forks` runs the commands in forks, which have torch already, instead of new processes.
    """
    folder.mkdir(parents=True)
    hour = Hour(folder, quick, in_forks)
    for step in STEPS:
        started = time.monotonic()
        print(f"{step.__name__.replace('_', ' ')}: {step.__doc__}", flush=True)
        step(hour)
        print(f"  fine, {time.monotonic() - started:.0f} s", flush=True)


def main() -> None:
    """Walks through the first hour, and says where the pictures are."""
    parser = argparse.ArgumentParser(description="The first hour of a newcomer.")
    parser.add_argument("--quick", action="store_true", help="this Python, one lesson: two minutes")
    parser.add_argument("--to", type=Path, default=OUTPUT / "first_hour", help="where outputs are kept")
    given = parser.parse_args()
    shutil.rmtree(given.to, ignore_errors=True)
    walk(given.to.resolve(), given.quick)
    print(f"Outputs and pictures: {given.to}")


if __name__ == "__main__":
    main()
