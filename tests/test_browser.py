"""The threshold lab in a real JupyterLab, in a real browser: slide, and the numbers follow."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator

import pytest
from playwright.sync_api import ConsoleMessage, Locator, Page, sync_playwright

from tests.conftest import PROJECT, SAMPLE
from workbench.jupyter import command_line, environment
from workbench.lab.judgments import QuestionSet
from workbench.lab.metrics import evaluate
from workbench.lab.thresholds import Scores, scores
from workbench.memory.index import MemoryIndex
from workbench.systems.openclaw import SHIPPED

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome") or shutil.which("chromium-browser")
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
OUTPUT = PROJECT / "test-output"
MINUTE = 60_000

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium: apt-get install chromium")


@pytest.fixture(scope="module")
def lab_url(sample: MemoryIndex, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a JupyterLab started as `workbench lab` starts it, on a copy of the notebooks."""
    folder = tmp_path_factory.mktemp("lab")
    shutil.copytree(PROJECT / "notebooks", folder / "notebooks")
    (folder / "sample_memory").symlink_to(SAMPLE)
    port = _free_port()
    command = [
        *command_line(folder / "notebooks", "00_start.ipynb", port),
        "--no-browser", "--IdentityProvider.token=", "--ServerApp.password=",
    ]  # fmt: skip
    own = {
        "JUPYTERLAB_SETTINGS_DIR": str(folder / "user"),
        "JUPYTERLAB_WORKSPACES_DIR": str(folder / "spaces"),
    }
    with (folder / "log").open("w") as log:
        server = subprocess.Popen(
            command, env=environment(folder / "settings") | own, stdout=log, stderr=subprocess.STDOUT
        )
        try:
            _wait_for(f"http://127.0.0.1:{port}/api")
            yield f"http://127.0.0.1:{port}/lab/tree/00_start.ipynb"
        finally:
            server.terminate()
            server.wait(20)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_for(url: str, seconds: float = 60) -> None:
    ends = time.monotonic() + seconds
    while True:
        try:
            urllib.request.urlopen(url, timeout=2).close()
            return
        except OSError:
            if time.monotonic() > ends:
                raise
            time.sleep(0.3)


@pytest.fixture(scope="module")
def console_errors() -> list[str]:
    """What the browser's console complained of."""
    return []


@pytest.fixture(scope="module")
def page(lab_url: str, console_errors: list[str]) -> Iterator[Page]:
    """The notebook, open, with every cell run."""

    def heard(message: ConsoleMessage) -> None:
        if message.type == "error":
            console_errors.append(message.text)

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        opened = browser.new_page(viewport={"width": 1280, "height": 800})
        opened.on("console", heard)
        opened.on("pageerror", lambda error: console_errors.append(str(error)))
        opened.goto(lab_url)
        opened.locator(".jp-Notebook .jp-CodeCell").first.wait_for(timeout=2 * MINUTE)
        opened.get_by_text("| Idle").wait_for(timeout=2 * MINUTE)
        _choose(opened, "Run", "Run All Cells")
        _status(opened).wait_for(timeout=2 * MINUTE)
        yield opened
        browser.close()


@pytest.fixture(scope="module")
def expected(sample: MemoryIndex, questions: QuestionSet) -> Scores:
    """The shipped pipeline's scores, computed in this process."""
    return scores(evaluate(questions, [SHIPPED], sample)[0])


def _choose(page: Page, *path: str) -> None:
    """Opens a menu, and clicks through it."""
    page.locator("li.lm-MenuBar-item", has_text=path[0]).first.click()
    for label in path[1:]:
        item = page.locator(".lm-Menu-itemLabel", has_text=re.compile(f"^{label}$"))
        item.wait_for(timeout=MINUTE)
        item.click()


def _status(page: Page) -> Locator:
    return page.get_by_role("status").filter(has_text="questions hit")


def _numbers(page: Page) -> tuple[float, int, int]:
    """The floor, the hits and the silent controls that the status line says."""
    found = re.search(r"At (\S+), (\d+) of 57 .* and (\d+) of 20", _status(page).inner_text())
    assert found is not None
    return float(found[1]), int(found[2]), int(found[3])


def _line_position(page: Page) -> float:
    """Where the floor line of the second row is drawn, in pixels from the left."""
    line = page.locator(".js-plotly-plot .scatterlayer .trace .lines path").nth(1)
    box = line.bounding_box()
    assert box is not None
    return box["x"]


def _picture(page: Page, name: str) -> None:
    OUTPUT.mkdir(exist_ok=True)
    page.locator(".js-plotly-plot").scroll_into_view_if_needed()
    page.wait_for_timeout(500)
    page.screenshot(path=OUTPUT / name)


def test_the_notebook_opens_with_its_kernel_and_without_questions(page: Page) -> None:
    assert page.locator(".jp-Dialog").count() == 0
    assert page.get_by_text("Would you like to get notified").count() == 0


def test_every_cell_runs_without_an_error(page: Page) -> None:
    _wait_until_idle(page)
    assert page.locator(".jp-RenderedText[data-mime-type='application/vnd.jupyter.stderr']").count() == 0
    assert page.locator(".jp-mod-error, [data-mime-type='application/vnd.jupyter.error']").count() == 0


def _wait_until_idle(page: Page) -> None:
    page.wait_for_function(
        "() => ![...document.querySelectorAll('.jp-InputPrompt')].some(p => p.textContent.includes('*'))",
        timeout=2 * MINUTE,
    )


def test_the_slider_moves_the_numbers_and_the_line(page: Page, expected: Scores) -> None:
    _wait_until_idle(page)
    assert _numbers(page) == (0.35, expected.hits(0.35), expected.silent(0.35))
    before = _line_position(page)
    handle = page.locator(".widget-slider .noUi-handle")
    handle.focus()
    for _ in range(10):
        page.keyboard.press("ArrowLeft")
    _status(page).filter(has_text="At 0.25,").wait_for(timeout=MINUTE)
    assert _numbers(page) == (0.25, expected.hits(0.25), expected.silent(0.25))
    page.wait_for_timeout(500)
    assert _line_position(page) < before - 20
    _picture(page, "threshold_lab_shipped_0.25.png")


def test_the_mouse_drags_the_slider(page: Page, expected: Scores) -> None:
    handle = page.locator(".widget-slider .noUi-handle")
    handle.scroll_into_view_if_needed()
    box, track = handle.bounding_box(), page.locator(".widget-slider .noUi-base").bounding_box()
    assert box is not None
    assert track is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(track["x"] + 0.6 * track["width"], box["y"] + box["height"] / 2, steps=8)
    page.mouse.up()
    _status(page).filter(has_text=re.compile(r"At 0\.(59|60|61),")).wait_for(timeout=MINUTE)
    floor, hits, silent = _numbers(page)
    assert (hits, silent) == (expected.hits(floor), expected.silent(floor))


def test_the_box_takes_a_number_from_the_keyboard(page: Page, expected: Scores) -> None:
    box = page.locator(".widget-text input[type=number]").first
    box.fill("0.15")
    box.press("Enter")
    _status(page).filter(has_text="At 0.15,").wait_for(timeout=MINUTE)
    assert _numbers(page) == (0.15, expected.hits(0.15), expected.silent(0.15))


def test_another_system_brings_its_own_floor_and_numbers(page: Page) -> None:
    page.locator(".widget-dropdown select").select_option("openclaw-2026.2.13+or+rrf+minmax")
    _status(page).filter(has_text="At 0.35,").wait_for(timeout=MINUTE)
    floor, hits, silent = _numbers(page)
    assert (floor, silent) == (0.35, 0)
    assert hits > 40
    _picture(page, "threshold_lab_fixed_0.35.png")


def test_the_console_shows_no_error(page: Page, console_errors: list[str]) -> None:
    assert console_errors == []


def test_the_dark_theme_is_readable_too(page: Page) -> None:
    _choose(page, "Settings", "Theme", "JupyterLab Dark")
    page.locator("body[data-jp-theme-light='false']").wait_for(state="attached", timeout=MINUTE)
    _picture(page, "threshold_lab_dark.png")
    assert page.locator(".js-plotly-plot").is_visible()
