"""A browser for tests: JupyterLab as a served page, and widgets as a reader sees and moves them.

What a widget shows is compared with its twin, the same widget made in this process: its words and its table.
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
from pathlib import Path
from threading import Thread
from typing import Any

import nbformat
import pytest
import uvicorn
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from playwright.sync_api import ConsoleMessage, Locator, Page, sync_playwright

from tests.conftest import PROJECT, SAMPLE
from workbench.cli.lab import command_line, environment
from workbench.measure.evaluation import Evaluation
from workbench.measure.questions import load_questions
from workbench.memory.index import MemoryIndex
from workbench.views import widgets
from workbench_plugins.agent.server import listening

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

SHOWN_SYSTEMS = ("openclaw-2026.2.13", "openclaw-2026.2.13+or+rrf+minmax", "openclaw-2026.2.13-vector-only")


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
    "threshold-lab": "(threshold_lab := ThresholdLab(evaluations, link=False))",
    # Set before it is shown: what changes a figure then reaches the browser in another way.
    "fusion-lab": "(fusion_lab := preset(FusionLab(index=index, question=QUESTION, link=False), vector=0.7))",
    "survival-chart": "(survival_chart := SurvivalChart(evaluations, index, link=False))",
    "microscope": "(microscope := Microscope(index, 'audience calibration rules', link=False))",
    "question-explorer": "(question_explorer := QuestionExplorer(index, QUESTION, link=False))",
    "file-chunks": "(file_chunks := FileChunks(index, 'memory/protocols/tenacity.md', link=False))",
    "blame-chart": "(blame_chart := BlameChart(questions, index, link=False))",
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

COMPOSED = (
    SET_UP + "import ipywidgets",
    "labs = [ThresholdLab(evaluations[:1], link=False) for _ in range(2)]\n"
    "ipywidgets.jslink((labs[0], 'min_score'), (labs[1], 'min_score'))\nipywidgets.HBox(labs)",
    "labs[0].min_score = 0.25",
)
"""A notebook of two linked labs in one box."""

DIFFERENT = (
    SET_UP + "import ipywidgets, pathlib, time",
    "labs = [ThresholdLab(wb.evaluate(questions, [wb.system(name)], index), link=False)"
    " for name in ('openclaw-2026.2.13', 'engine-rrf-60')]\n"
    "ipywidgets.jslink((labs[0], 'min_score'), (labs[1], 'min_score'))\nipywidgets.HBox(labs)",
    "# A test writes here.",
)
"""A notebook of two linked labs whose scores end at 1 and at 0.035."""

STEERING = (
    SET_UP + "import ipywidgets",
    "def told(floor):\n    print(f'the floor is {floor:g}')\n\n"
    "lab = ThresholdLab(evaluations[:1], link=False)\n"
    "ipywidgets.VBox([lab, ipywidgets.interactive_output(told, {'floor': lab})])",
    "ipywidgets.interact(lambda floor: print(f'half of it is {floor / 2:g}'),"
    " floor=ThresholdLab(evaluations[:1], link=False));",
)
"""A notebook in which labs steer functions, in a `VBox` and with `interact`."""

PANELS = ("fusion-lab", "microscope", "file-chunks", "blame-chart")
"""Those that say what their twins say."""


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
    for name, sources in (
        ("linked", LINKED),
        ("composed", COMPOSED),
        ("different", DIFFERENT),
        ("steering", STEERING),
    ):
        cells = [new_code_cell(cell) for cell in sources]
        nbformat.write(new_notebook(cells=cells, metadata=kernel), path.with_name(f"{name}.ipynb"))


def twin(name: str, index: MemoryIndex, evaluations: Sequence[Evaluation]) -> Any:
    """The widget of that name as the notebook makes it, in this process."""
    names: dict[str, Any] = {name: getattr(widgets, name) for name in dir(widgets)}
    names |= {"preset": preset, "index": index, "evaluations": evaluations, "QUESTION": QUESTION}
    names["questions"] = load_questions(SAMPLE / "questions.yaml")
    return eval(WIDGETS[name], names)


def lay_out(folder: Path) -> None:
    """The notebooks and `widgets.ipynb`, as JupyterLab finds them."""
    shutil.copytree(PROJECT / "notebooks", folder / "notebooks")
    (folder / "sample_memory").symlink_to(SAMPLE)
    write_notebook(folder / "notebooks" / "widgets.ipynb")


@contextmanager
def jupyterlab(folder: Path, own: Path, trusting: Path) -> Iterator[str]:
    """The address of a JupyterLab as `workbench lab` starts it, on a folder that was laid out.

    Its settings are in the new folder `own`; `trusting` has the signatures of the notebooks that it trusts.
    """
    quiet = own / "user" / "@jupyterlab" / "docmanager-extension" / "plugin.jupyterlab-settings"
    quiet.parent.mkdir(parents=True, exist_ok=True)
    quiet.write_text('{"autosave": false}')  # a test that waits for its own saving must not see another
    port = free_port()
    command = [
        *command_line(folder / "notebooks", "00_start.ipynb", port),
        "--no-browser", "--IdentityProvider.token=", "--ServerApp.password=",
    ]  # fmt: skip
    variables = {
        "JUPYTERLAB_SETTINGS_DIR": str(own / "user"),
        "JUPYTERLAB_WORKSPACES_DIR": str(own / "spaces"),
        "JUPYTER_DATA_DIR": str(trusting),
    }
    with _served(command, own, variables, f"http://127.0.0.1:{port}/api") as root:
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
            try:
                server.wait(30)
            except subprocess.TimeoutExpired:  # JupyterLab can hang when a kernel is starting
                server.kill()
                server.wait()


@contextmanager
def served_here(app: Any) -> Iterator[str]:
    """The address of an app that a thread of this process serves until the end of the block."""
    with listening("127.0.0.1", 0) as opened:  # requests wait in it until the thread is ready
        # An open page keeps connections, and without a limit the server would wait for their end.
        config = uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=5)
        server = uvicorn.Server(config)
        thread = Thread(target=server.run, args=([opened],), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{opened.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(60)
            assert not thread.is_alive()


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


def run_in_python(page: Page, code: str) -> None:
    """Runs code in the last cell of the notebook, and waits until it has ended."""
    cell = page.locator(".jp-CodeCell").last
    cell.locator(".cm-content").fill(code)
    prompt = cell.locator(".jp-InputArea-prompt")
    before = prompt.inner_text()
    cell.locator(".cm-content").press("Control+Enter")
    becomes(prompt.inner_text, lambda now: now != before and any(map(str.isdigit, now)))


def drag_line(page: Page, slider: Locator, share: float) -> None:
    """Drags the line of a threshold, the thumb of its slider, to a share of the axis."""
    slider.scroll_into_view_if_needed()
    box = slider.bounding_box()
    assert box
    at = slider.evaluate("one => (one.value - one.min) / (one.max - one.min)")
    thumb, across = 16, box["y"] + box["height"] / 3
    start, end = (box["x"] + thumb / 2 + one * (box["width"] - thumb) for one in (at, share))
    page.mouse.move(start, across)
    page.mouse.down()
    page.mouse.move(end, across, steps=12)
    page.mouse.up()


CELLS = """table => [...table.tBodies[0].rows]
    .map(row => [...row.cells].map(cell => cell.textContent.replace(/\\s+/g, " ").trim()))"""
"""The texts of a table's body, also in a cell that JupyterLab hides because it is scrolled away."""

NEXT_FRAME = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
"""What is waited for before a picture is taken: everything has been painted."""


class Shown:
    """A widget on a page, beside its twin, the same widget in this process."""

    def __init__(self, page: Page, twin: Any) -> None:
        self.page, self.twin, self.first = page, twin, dict(twin.settings)
        self.root = page.locator(f".workbench-{twin.name}")
        self.status = self.root.get_by_role("status").first

    def begin(self) -> None:
        """Gives the widget and its twin the settings that they began with, whatever a test has left."""
        self.twin.settings = self.first
        run_in_python(self.page, f"{self.twin.name.replace('-', '_')}.settings = {self.first!r}")
        self.root.evaluate("one => one.scrollIntoView()")  # running code has scrolled it away
        self.says()

    def says(self, **settings: Any) -> None:
        """With these settings the page says what the twin does. A status that is scrolled away counts too."""
        self.twin.settings = settings
        self.status.filter(has_text=self.twin.sentence).wait_for(state="attached")

    def control(self, label: str) -> Locator:
        return self.root.get_by_label(label, exact=True)

    def press(self, label: str, key: str, times: int = 1) -> None:
        """Presses a key on a slider."""
        for _ in range(times):
            self.root.get_by_role("slider", name=label, exact=True).press(key)

    def number(self, label: str) -> float:
        """The number in the box beside a slider."""
        return float(self.control(f"{label}, as a number").input_value())

    def type(self, label: str, text: str) -> None:
        """Types into a box, and presses Enter."""
        self.control(label).fill(text)
        self.control(label).press("Enter")

    def drag(self, label: str, share: float) -> None:
        """Drags a slider's handle with the mouse to a share of its length."""
        slider = self.root.get_by_role("slider", name=label, exact=True)
        slider.scroll_into_view_if_needed()
        box = slider.bounding_box()
        assert box
        across = box["y"] + box["height"] / 2
        self.page.mouse.move(box["x"] + box["width"] / 2, across)
        self.page.mouse.down()
        self.page.mouse.move(box["x"] + share * box["width"], across, steps=8)
        self.page.mouse.up()

    def agrees(self, **settings: Any) -> None:
        """With these settings the page says what the twin does, also in its table."""
        self.says(**settings)
        table = self.root.locator("details", has=self.page.locator("summary", has_text=re.compile("^table$")))
        if table.get_attribute("open") is None:
            table.locator("summary").click()
        rows = [[" ".join(cell.split()) for cell in row] for row in self.twin.table.rows]
        becomes(lambda: table.get_by_role("table").first.evaluate(CELLS), rows.__eq__)

    def picture(self, name: str) -> None:
        """The window with the widget at its top, kept as test output."""
        OUTPUT.mkdir(exist_ok=True)
        self.root.evaluate("root => root.scrollIntoView({block: 'start'})")
        self.page.mouse.move(0, 0)
        self.page.evaluate(NEXT_FRAME)
        self.page.screenshot(path=OUTPUT / f"{name}.png")
