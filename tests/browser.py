"""A browser for tests: JupyterLab as a served page, and widgets as a reader sees and moves them.

What a widget shows is compared with its twin, the same widget made in this process: its words, its table,
and its drawing, read back from the SVG.
"""

from __future__ import annotations

import random
import re
import shutil
import socket
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from inspect import getsource
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from playwright.sync_api import ConsoleMessage, Locator, Page, sync_playwright

from tests.conftest import PROJECT, SAMPLE
from workbench.cli.lab import command_line, environment
from workbench.measure.evaluation import Evaluation
from workbench.memory.index import MemoryIndex
from workbench.views import widgets

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome") or shutil.which("chromium-browser")
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
OUTPUT = PROJECT / "test-output"
MINUTE = 60_000
REOPENINGS = 3
NOT_FOUND = "Error displaying widget"
SIZE = {"width": 1280, "height": 800}

needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium: apt-get install chromium")

SHOWN_SYSTEMS = (
    "openclaw-2026.2.13",
    "openclaw-2026.2.13+or+rrf+minmax",
    "openclaw-2026.2.13-vector-only",
)


def preset(widget: Any, **settings: Any) -> Any:
    """The widget, with these settings."""
    widget.settings = settings
    return widget


QUESTION = "tenacity and persistence protocol"
SET_UP = f"""\
from typing import Any

import workbench as wb
from workbench.views.widgets import *

{getsource(preset)}
QUESTION = {QUESTION!r}
index = wb.open_index({str(SAMPLE)!r})
questions = wb.load_questions({str(SAMPLE / "questions.yaml")!r})
evaluations = wb.evaluate(questions, [wb.system(name) for name in {SHOWN_SYSTEMS}], index)
"""
WIDGETS = {
    "threshold-lab": "(lab := ThresholdLab(evaluations, link=False))",
    # Set before it is shown: what changes a figure then reaches the browser in another way.
    "fusion-lab": "preset(FusionLab(index=index, question=QUESTION, link=False), vector=0.7)",
    "survival-chart": "SurvivalChart(evaluations, index, link=False)",
    "microscope": "Microscope(index, 'audience calibration rules', link=False)",
    "question-explorer": "QuestionExplorer(index, QUESTION, link=False)",
    "prediction": "Prediction('Which leg finds it?', ['keyword', 'vector', 'both', 'neither'])",
}
"""What a cell shows: every widget, as an expression over the names of `SET_UP`."""

LINKED = (
    "import workbench as wb\nfrom workbench.views.widgets import *",
    f"index = wb.open_index({str(SAMPLE)!r})",
    "QuestionExplorer(index, 'rooibos tea')",
    f"FusionLab(index=index, question={QUESTION!r})",
    f"Microscope(index, {QUESTION!r})",
    "print('selected:', wb.selection)",
)
"""A notebook of linked widgets."""

PANELS = ("fusion-lab", "microscope")
"""Those whose figure Python draws."""


def write_notebook(path: Path) -> None:
    """A notebook that shows every widget, each below a heading of its own, and a cell to set them from."""
    shown = [
        cell
        for name, expression in WIDGETS.items()
        for cell in (new_markdown_cell(f"## {name}"), new_code_cell(expression))
    ]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    cells = [new_code_cell(SET_UP), *shown, new_code_cell("# A test writes here what it sets from Python.")]
    nbformat.write(new_notebook(cells=cells, metadata=kernel), path)
    linked = [new_code_cell(cell) for cell in LINKED]
    nbformat.write(new_notebook(cells=linked, metadata=kernel), path.with_name("linked.ipynb"))


def twin(name: str, index: MemoryIndex, evaluations: Sequence[Evaluation]) -> Any:
    """The widget of that name as the notebook makes it, in this process."""
    names: dict[str, Any] = {name: getattr(widgets, name) for name in dir(widgets)}
    names |= {"preset": preset, "index": index, "evaluations": evaluations, "QUESTION": QUESTION}
    return eval(WIDGETS[name], names)


@contextmanager
def jupyterlab(folder: Path) -> Iterator[str]:
    """The address of a JupyterLab as `workbench lab` starts it, on the notebooks and `widgets.ipynb`."""
    shutil.copytree(PROJECT / "notebooks", folder / "notebooks")
    (folder / "sample_memory").symlink_to(SAMPLE)
    write_notebook(folder / "notebooks" / "widgets.ipynb")
    quiet = folder / "user" / "@jupyterlab" / "docmanager-extension" / "plugin.jupyterlab-settings"
    quiet.parent.mkdir(parents=True)
    quiet.write_text('{"autosave": false}')  # a test that waits for its own saving must not see another
    port = free_port()
    command = [
        *command_line(folder / "notebooks", "00_start.ipynb", port),
        "--no-browser", "--IdentityProvider.token=", "--ServerApp.password=",
    ]  # fmt: skip
    own = {
        "JUPYTERLAB_SETTINGS_DIR": str(folder / "user"),
        "JUPYTERLAB_WORKSPACES_DIR": str(folder / "spaces"),
    }
    with _served(command, folder, own, f"http://127.0.0.1:{port}/api") as root:
        yield f"{root}/lab/tree"


@contextmanager
def _served(command: Sequence[str], folder: Path, own: Mapping[str, str], ready: str) -> Iterator[str]:
    """The root of a server that answers at the address `ready`; it ends with the block."""
    variables = environment(folder / "settings") | own
    with (folder / "log").open("w") as log:
        server = subprocess.Popen(command, env=variables, stdout=log, stderr=subprocess.STDOUT)
        try:
            wait_for(ready, server, folder / "log")
            yield "/".join(ready.split("/")[:3])
        finally:
            server.terminate()
            server.wait(300)


def free_port() -> int:
    """A port of this machine that nobody listens on, below those that systems give away by themselves.

    One of those could be taken by a kernel, or by another test, before the server has it.
    """
    while True:
        port = random.SystemRandom().randrange(10_000, 32_000)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def wait_for(url: str, server: subprocess.Popen[bytes], log: Path, seconds: float = 300) -> None:
    """Waits until a server answers at the address. Raises AssertionError with its log when it does not."""
    ends = time.monotonic() + seconds
    while True:
        try:
            urllib.request.urlopen(url, timeout=30).close()
            return
        except OSError:
            if server.poll() is not None or time.monotonic() > ends:
                raise AssertionError(f"No answer from {url}:\n{log.read_text()}") from None
            time.sleep(0.3)


def becomes(ask: Callable[[], Any], expected: Callable[[Any], bool], seconds: float = 300) -> None:
    """Asks until the answer is as expected: a busy machine may still be drawing the page."""
    ends = time.monotonic() + seconds
    while not expected(found := ask()):
        assert time.monotonic() < ends, found
        time.sleep(0.1)


def reopen(tab: Tab, address: str, found: Callable[[], bool]) -> None:
    """Opens a saved notebook, again if need be, until its widgets are `found`.

    ipywidgets reads the widgets of the kernel and those of the saved notebook. If the kernel connects while
    the saved ones are read, as may happen on a busy machine, they are "not found" until the page is loaded
    anew (restoreWidgets in jupyterlab-manager 5).
    """
    for _ in range(REOPENINGS):
        tab.page.goto(address)
        tab.errors.clear()  # JupyterLab complains in its console that the kernel which it ended is dead
        tab.page.locator(".jp-CodeCell .jp-OutputArea-output").first.wait_for()
        if found():
            break


def click_mark(page: Page, box: Callable[[], Mapping[str, float] | None]) -> None:
    """Clicks a mark of a figure, in its box, once plotly says what it is: the page may still be drawn."""

    def named() -> bool:
        found = box()
        if found:
            page.mouse.move(found["x"] + found["width"] / 2, found["y"] + found["height"] / 2)
            page.evaluate(NEXT_FRAME)
        return page.locator(".hoverlayer .hovertext").count() > 0 and box() == found

    becomes(named, bool)
    page.mouse.down()
    page.mouse.up()


POINT = """(figure, [name, place]) => {
  const group = [...figure.querySelectorAll("g.trace")].find(one => one.__data__?.[0]?.trace?.name === name);
  const point = group?.querySelectorAll(".points path.point")[place];
  point?.scrollIntoViewIfNeeded();
  return point ? point.getBoundingClientRect().toJSON() : null;
}"""
"""The box of a point of the trace of that name."""


def save(page: Page) -> None:
    """Saves the notebook, and waits until it is saved."""
    with page.expect_response(lambda one: "/api/contents/" in one.url and one.request.method == "PUT"):
        choose(page, "File", "Save Notebook")


def end_kernels(page: Page) -> None:
    """Ends all kernels of JupyterLab, as its menu does, and waits until the server has none."""
    choose(page, "Kernel", "Shut Down All Kernels…")
    page.locator(".jp-Dialog .jp-mod-accept").click()
    # A page that is opened before that would find the dying kernel, and wait for its answer for ever.
    for kind in ("kernels", "sessions"):
        page.wait_for_function(f"async () => (await (await fetch('/api/{kind}')).json()).length === 0")


OF_A_SLOW_MACHINE = (
    # anywidget complains when a model takes two seconds, as on a busy machine that opens a saved page.
    "[anywidget] Failed to initialize model",
    # Chromium says so when a frame has no time left for what resizes. It goes on in the next frame.
    "ResizeObserver loop",
)


class Tab:
    """A page of the browser, and what its console complained of, but for a machine that is slow."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.errors: list[str] = []
        page.on("console", self._heard)
        page.on("pageerror", lambda error: self._note(str(error)))

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self._note(message.text)

    def _note(self, error: str) -> None:
        if not any(one in error for one in OF_A_SLOW_MACHINE):
            self.errors.append(error)


@contextmanager
def browsing() -> Iterator[Tab]:
    """A page of a headless Chromium, as large as a small laptop's."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page(viewport=SIZE)
        page.set_default_timeout(5 * MINUTE)
        yield Tab(page)
        browser.close()


def choose(page: Page, *path: str) -> None:
    """Opens a menu of JupyterLab, and clicks through it.

    A page that still starts may close the menu, or offer nothing in it yet: then the menu is opened anew.
    """
    menu = page.locator("li.lm-MenuBar-item", has_text=path[0]).first
    for label in path[1:]:
        item = page.locator(".lm-Menu-item:not(.lm-mod-disabled) .lm-Menu-itemLabel").filter(
            has_text=re.compile(f"^{label}$")
        )

        def offered(first: bool = label == path[1], item: Locator = item) -> bool:
            if first and not item.is_visible():
                menu.click()
                page.evaluate(NEXT_FRAME)
            return item.is_visible()

        becomes(offered, bool)
        item.click()


def run_all_cells(page: Page) -> None:
    """Waits for the notebook and its kernel, and then for the last cell."""
    page.locator(".jp-CodeCell").first.wait_for()
    page.get_by_text("| Idle").wait_for()
    choose(page, "Run", "Run All Cells")
    page.wait_for_function(
        "() => [...document.querySelectorAll('.jp-CodeCell .jp-InputArea-prompt')]"
        ".every(prompt => /\\d/.test(prompt.textContent))"
    )


DRAWN = Path(__file__).with_name("drawn.js").read_text(encoding="utf-8")
"""What is drawn of a trace: its SVG, in the units of its axes, and how much of these a pixel is."""


CELLS = "table => [...table.tBodies[0].rows].map(row => [...row.cells].map(cell => cell.innerText))"
"""The texts of a table's body."""

BOXES = "all => all.map(one => JSON.stringify(one.getBoundingClientRect()))"
"""Where elements are, at one moment."""

NEXT_FRAME = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
"""What is waited for before a picture is taken: everything has been painted."""

NOTHING: dict[str, Any] = {"points": [], "lines": [], "filled": False, "bars": [], "texts": []}


class Shown:
    """A widget on a page, beside its twin, the same widget in this process."""

    def __init__(self, page: Page, twin: Any) -> None:
        self.page, self.twin = page, twin
        self.root = page.locator(f".workbench-{twin.name}")
        self.figure = self.root.locator(".js-plotly-plot")

    def control(self, label: str) -> Locator:
        return self.root.get_by_label(label, exact=True)

    def box(self, label: str) -> Locator:
        """What can be typed into, by its label: the number box beside a slider, or a box for text."""
        number = self.root.get_by_role("spinbutton", name=label, exact=True)
        return number.or_(self.control(label).and_(self.page.locator("input:not([type=number])")))

    def slider(self, label: str) -> Locator:
        named = self.page.locator(".widget-label", has_text=re.compile(f"^{label}$"))
        return self.root.locator(".widget-slider").filter(has=named)

    def press(self, label: str, key: str, times: int = 1) -> None:
        """Presses a key on a slider."""
        handle = self.root.get_by_role("slider", name=label, exact=True)
        for _ in range(times):
            handle.press(key)

    def number(self, label: str) -> float:
        """The number in the box beside a slider, once the kernel has brought the slider's last move there."""
        ends = [self.slider(label).locator(".noUi-target"), self.box(label)]
        self.page.wait_for_function(
            "([slider, box]) => Math.abs(slider.noUiSlider.get(true) - box.value) < 1e-6",
            arg=[one.element_handle() for one in ends],
        )
        return float(self.box(label).input_value())

    def type(self, label: str, text: str) -> None:
        """Types into a box, and presses Enter."""
        self.box(label).fill(text)
        self.box(label).press("Enter")

    def drag(self, label: str, share: float) -> None:
        """Drags a slider with the mouse to a share of its length, once its handle stays below the mouse."""
        handle, base = (self.slider(label).locator(f".noUi-{part}") for part in ("handle", "base"))

        def grasped() -> bool:
            handle.scroll_into_view_if_needed()
            self.page.mouse.move(*_middle(handle))
            self.page.evaluate(NEXT_FRAME)
            return bool(handle.evaluate("handle => handle.matches(':hover')"))

        becomes(grasped, bool)
        self.page.mouse.down()
        track = base.bounding_box()
        assert track
        self.page.mouse.move(track["x"] + share * track["width"], _middle(handle)[1], steps=8)
        self.page.mouse.up()

    def agrees(self, **settings: Any) -> None:
        """With these settings the page says and draws what the twin does."""
        self.twin.settings = settings
        self.root.get_by_role("status").filter(has_text=self.twin.sentence).wait_for()
        for trace in self.twin.figure.data:
            self._draws(trace)

    def _draws(self, trace: Any) -> None:
        """The SVG of a trace follows, to two pixels, and with its words."""
        expected = _expected(trace)
        becomes(lambda: self.figure.evaluate(DRAWN, trace.name), lambda drawn: _same(drawn, expected))

    def lists(self, rows: list[list[str]]) -> None:
        """The open table begins with these rows."""
        table = self.root.get_by_role("table").last
        becomes(lambda: table.evaluate(CELLS)[: len(rows)], rows.__eq__)

    def picture(self, name: str) -> None:
        """The window with the widget at its top, kept as test output."""
        OUTPUT.mkdir(exist_ok=True)
        self.root.evaluate("root => root.scrollIntoView({block: 'start'})")
        self.page.mouse.move(0, 0)
        self.page.evaluate(NEXT_FRAME)
        self.page.screenshot(path=OUTPUT / f"{name}.png")


def _middle(element: Locator) -> tuple[float, float]:
    box = element.bounding_box()
    assert box
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def _expected(trace: Any) -> dict[str, Any]:
    """What must be drawn of a trace: its points, its lines' ends, its bars' lengths, and its words."""
    if trace.visible is False or _column(trace.x) == [None]:  # hidden, or a key of the legend
        return NOTHING
    if trace.type == "bar":
        sizes = trace.y if trace.orientation != "h" else trace.x
        return NOTHING | {
            "bars": [float(size) for size in sizes if size and not np.isnan(size)],
            "texts": _words(trace),
        }
    points = [
        None if None in pair or np.isnan(pair).any() else [float(one) for one in pair]
        for pair in zip(_column(trace.x), _column(trace.y), strict=True)
    ]
    found = dict(NOTHING)
    if "markers" in trace.mode:
        found["points"] = [point for point in points if point]
    if "lines" in trace.mode:
        stepped = trace.line.shape == "hvh"
        found["lines"] = [_steps(points)] if stepped else _between_gaps(points)
        found["filled"] = trace.fill in ("tozeroy", "toself")
    if "text" in trace.mode:
        found["texts"] = _words(trace)
    return found


def _between_gaps(points: Sequence[Any]) -> list[list[Any]]:
    """The lines through points, where None is a gap."""
    runs = [list(run) for there, run in groupby(points, key=bool) if there]
    return [run for run in runs if len(run) > 1]


def _steps(points: Sequence[Any]) -> list[list[float]]:
    """The line through points that changes its height midway between two of them."""
    halfway = [
        [[(x + next_x) / 2, y], [(x + next_x) / 2, next_y]] for (x, y), (next_x, next_y) in pairwise(points)
    ]
    return [points[0], *(corner for pair in halfway for corner in pair), points[-1]]


def _column(values: Any) -> list[Any]:
    return [] if values is None else list(values)


def _words(trace: Any) -> list[str]:
    return [text for one in _column(trace.text) if (text := _plain(str(one)))]


def _plain(text: str) -> str:
    """A text of a figure without its markup, and without plotly's invisible spaces."""
    return " ".join(re.sub(r"<[^>]*>|\u200b", "", text).split())


def _same(drawn: dict[str, Any] | None, expected: dict[str, Any]) -> bool:
    """The same shapes, to two pixels, at most a fiftieth outside the axes, and the same words."""
    if drawn is None:
        return expected == NOTHING
    across, up = drawn["pixel"]
    return (
        drawn["inside"]
        and _near(drawn["points"], expected["points"], [across, up])
        and len(drawn["lines"]) == len(expected["lines"])
        and all(
            _near(*(_corners(line, drawn["pixel"]) for line in pair), [across, up])
            for pair in zip(drawn["lines"], expected["lines"], strict=True)
        )
        and drawn["filled"] == expected["filled"]
        and _near(drawn["bars"], expected["bars"], up if drawn["upright"] else across)
        and [text for one in drawn["texts"] if (text := _plain(one))] == expected["texts"]
    )


def _corners(line: Sequence[Any], pixel: Sequence[float]) -> list[Any]:
    """The points of a line at which it turns, to a tenth of a pixel."""
    found = [np.array(point) for point in line]
    for place in range(len(found) - 2, 0, -1):
        before, after = (np.abs(found[place + by] - found[place]) < np.array(pixel) / 10 for by in (-1, 1))
        if (before & after).any():
            del found[place]
    return found


def _near(drawn: list[Any], expected: list[Any], pixel: Any) -> bool:
    if len(drawn) != len(expected):
        return False
    return not drawn or bool(np.all(np.abs(np.array(drawn) - np.array(expected)) <= 2 * np.array(pixel)))
