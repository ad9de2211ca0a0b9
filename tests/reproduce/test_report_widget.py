"""The report reader of a notebook: what it shows, and what a click and a selection do, in a real browser."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, sync_playwright

from tests.browser import CHROMIUM, FLAGS, needs_chromium
from workbench_plugins.reproduce import report_widget
from workbench_plugins.reproduce.report_widget import ReportReader

TEXT = """# The search <b>finds nothing</b> 🙂
Query: kettle
OpenClaw 2026.2.13
I asked for the red kettle on Monday. <script>document.title = "ran"</script>
password: hunter2hunter2
"""


def test_a_click_takes_a_fact_away_and_a_selection_makes_one() -> None:
    reader = ReportReader(TEXT)
    assert reader.report.value("question") == "kettle"
    place = [one.kind for one in reader.report.facts].index("question")
    reader.reject(place)
    assert reader.report.of("question") == []
    assert reader.verdict["kind"] == "needs"
    start = TEXT.index("red kettle")
    reader.add("question", start, start + len("red kettle"))
    (asked,) = reader.report.of("question")
    assert (asked.value, asked.line, asked.source) == ("red kettle", 4, "given")
    reader.add("symptom", 0, 3, "order")
    assert reader.report.symptom == "order"


@pytest.mark.parametrize(
    "sent",
    [
        {},
        {"reject": 99},
        {"reject": "x"},
        {"add": {"kind": "question", "start": 5, "end": 2}},
        {"add": {"kind": "engine", "start": 0, "end": 3}},
        {"add": {"kind": "question", "start": 0, "end": 10_000}},
        {"add": []},
    ],
)
def test_what_the_page_may_not_send_changes_nothing(sent: dict[str, Any]) -> None:
    reader = ReportReader(TEXT)
    before = reader.report
    reader._hear(None, sent, None)
    assert reader.report is before


def test_the_pieces_are_the_report_without_its_secrets() -> None:
    pieces = ReportReader(TEXT).pieces
    shown = "".join(one["text"] for one in pieces)
    assert "hunter2" not in shown
    assert shown == TEXT.replace("hunter2hunter2", "…")


@pytest.fixture
def page() -> Iterator[Page]:
    with sync_playwright() as play, play.chromium.launch(executable_path=CHROMIUM, args=FLAGS) as browser:
        yield browser.new_page()


def shown(page: Page, reader: ReportReader) -> None:
    """The widget on a page, with a model that hands over what it sends and takes what changes."""
    names = ("pieces", "facts", "choices", "verdict")

    def values() -> str:
        return json.dumps({name: getattr(reader, name) for name in names})

    def send(content: dict[str, Any]) -> str:
        reader._hear(None, content, None)
        return values()

    page.expose_function("toPython", send)
    code = Path(report_widget.__file__).with_suffix(".js").read_text(encoding="utf-8")
    page.set_content("<div id='here'></div>")
    page.evaluate(
        """async ([code, start]) => {
            const module = await import("data:text/javascript;charset=utf-8," + encodeURIComponent(code));
            let values = JSON.parse(start);
            const heard = [];
            const model = {
                get: (name) => values[name],
                on: (_, hear) => heard.push(hear),
                send: async (content) => {
                    values = JSON.parse(await toPython(content));
                    heard.forEach((one) => one());
                },
            };
            module.default.render({ model, el: document.getElementById("here") });
        }""",
        [code, values()],
    )


@needs_chromium
def test_marks_and_selections_work_in_a_browser(page: Page) -> None:
    reader = ReportReader(TEXT)
    shown(page, reader)
    mark = page.locator("mark[data-kind='question']")
    assert mark.inner_text() == "kettle"
    assert page.locator(".report-text").inner_text() == TEXT.replace("hunter2hunter2", "…")
    assert page.title() == ""
    mark.click()
    mark.wait_for(state="detached")
    assert "Which words exactly" in page.locator(".report-ask").first.inner_text()
    page.evaluate(
        """() => {
            const text = document.querySelector(".report-text");
            const walk = document.createTreeWalker(text, NodeFilter.SHOW_TEXT);
            while (walk.nextNode()) {
                const at = walk.currentNode.data.indexOf("red kettle");
                if (at < 0) continue;
                const range = document.createRange();
                range.setStart(walk.currentNode, at);
                range.setEnd(walk.currentNode, at + "red kettle".length);
                getSelection().removeAllRanges();
                getSelection().addRange(range);
            }
        }"""
    )
    page.locator("button[data-kind='question']").click()
    mark.wait_for()
    assert mark.inner_text() == "red kettle"
    assert reader.report.value("question") == "red kettle"
