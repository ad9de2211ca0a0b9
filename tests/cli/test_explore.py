"""`workbench explore` on a folder that it has never seen, in a browser; and its errors."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import world
from tests.browser import OUTPUT, becomes, browsing, click_mark, needs_chromium
from tests.commands import Run

HOSTILE = "<b>notes</b>/<img src=x onerror=alert(1)>.md"
NOTES = {
    "kettle.md": "# Kettle\n\nThe copper kettle needs descaling with vinegar each month.\n",
    "garden 'plan\".md": "# Garden\n\nBeans go in after the last frost, next to the shed.\n",
    HOSTILE: "# Boiler <script>alert(2)</script>\n\nDue. </pre></details><img src=x onerror=alert(3)>\n",
}
ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+/\?token=\w+")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the indexes."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def address(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the page that the command opens on a folder."""
    folder = world.write(tmp_path_factory.mktemp("explored") / "memory", NOTES)
    command = [sys.executable, "-m", "workbench", "explore", str(folder), "--no-browser", "--theme", "dark"]
    with (home / "log").open("w") as log:
        server = subprocess.Popen(
            command, env=os.environ | {"WORKBENCH_HOME": str(home)}, stdout=log, stderr=subprocess.STDOUT
        )
        try:
            ends = time.monotonic() + 300
            while not (found := ADDRESS.search((home / "log").read_text())):
                assert server.poll() is None, (home / "log").read_text()
                assert time.monotonic() < ends, (home / "log").read_text()
                time.sleep(0.2)
            yield found[0]
        finally:
            server.terminate()
            server.wait(300)


@needs_chromium
def test_a_new_folder_is_asked_compared_selected_and_cut_in_a_browser(address: str) -> None:
    with browsing() as tab:
        page, asked = tab.page, list[str]()
        page.on("request", lambda one: asked.append(one.url))
        page.on("dialog", lambda one: tab.errors.append(one.message))
        page.goto(address, wait_until="commit")
        explorer, chunks = (
            page.locator(".workbench-question-explorer"),
            page.locator(".workbench-file-chunks"),
        )
        status = explorer.get_by_role("status")
        status.filter(has_text="returned in both").wait_for()

        explorer.get_by_label("question", exact=True).fill("copper kettle vinegar")
        explorer.get_by_label("question", exact=True).press("Enter")
        explorer.get_by_role("region").first.filter(has_text="“copper kettle vinegar”").wait_for()

        explorer.get_by_label("left", exact=True).select_option("openclaw-2026.2.13-vector-only")
        status.filter(has_text="openclaw-2026.2.13-vector-only returns").wait_for()

        assert chunks.locator("details[aria-current]").count() == 0
        mark = explorer.locator(".js-plotly-plot g.subplot.x3y3 .points path.point").last
        click_mark(page, mark.bounding_box)
        selected = chunks.locator("details[aria-current]")
        selected.wait_for()
        file = chunks.get_by_label("file", exact=True)
        becomes(lambda: selected.inner_text().startswith(f"{file.input_value()}:1-"), bool)
        becomes(explorer.get_by_label("explain file", exact=True).input_value, file.input_value().__eq__)

        chunks.get_by_label("file", exact=True).fill(HOSTILE)
        chunks.get_by_label("file", exact=True).press("Enter")
        chunks.locator("details").filter(has_text="<script>alert(2)</script>").wait_for()
        status.filter(has_text=HOSTILE).wait_for()

        page.get_by_role("button", name="this file is the right answer").click()
        OUTPUT.mkdir(exist_ok=True)
        page.screenshot(path=OUTPUT / "explore_dark.png")
        page.get_by_role("tab", name="threshold lab").click()
        lab = page.locator(".workbench-threshold-lab")
        lab.get_by_role("status").filter(has_text="of 2 questions hit").wait_for()
        lab.locator(".js-plotly-plot .main-svg").first.wait_for()
        lab.get_by_role("slider").press("ArrowLeft")
        lab.get_by_role("status").filter(has_not_text="At 0.25").wait_for()
        page.screenshot(path=OUTPUT / "explore_floor_dark.png")
        assert tab.errors == []
        assert [url for url in asked if not re.match(r"data:|blob:|http://127\.0\.0\.1:", url)] == []


@needs_chromium
def test_a_page_without_the_token_is_refused_and_a_lost_index_is_said_in_words(
    address: str, home: Path
) -> None:
    with browsing() as tab:
        answer = tab.page.goto(address.partition("?")[0], wait_until="commit")
        assert answer
        assert "kettle" not in tab.page.content()
        assert "/login" in tab.page.url
        kept = [file.rename(home / f"kept-{file.name}") for file in home.glob("memory-*")]
        tab.page.goto(address, wait_until="commit")
        tab.page.get_by_role("alert").filter(has_text="has no index yet").wait_for()
        for file in kept:
            file.rename(home / file.name.removeprefix("kept-"))


def test_a_folder_that_is_not_there_is_an_error_before_anything_starts(run: Run, tmp_path: Path) -> None:
    outcome = run("explore", str(tmp_path / "nowhere"))
    assert outcome.code == 2
    assert "nowhere" in outcome.err
    assert "Traceback" not in outcome.err


def test_an_address_that_nothing_opens_is_an_error(run: Run) -> None:
    outcome = run("explore", "gopher://nowhere")
    assert outcome.code == 2
    assert "gopher://" in outcome.err


def test_without_voila_the_error_names_the_remedy(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "voila" else there(name))
    outcome = run("explore", str(tmp_path))
    assert outcome.code == 2
    assert "Voila, which shows the page, is not installed" in outcome.err
    assert "hybrid-search-workbench[lab]" in outcome.err
