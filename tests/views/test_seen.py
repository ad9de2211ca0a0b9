"""Where things stand on the page of a widget, and what their looks mean, without a kernel."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page

import workbench as wb
from docs.still import page_of
from tests.browser import SHOWN_SYSTEMS, browsing, needs_chromium
from workbench.measure.evaluation import evaluate
from workbench.measure.questions import QuestionSet
from workbench.memory.embedding.local import LocalEmbedder, Truncated
from workbench.memory.index import MemoryIndex
from workbench.systems.catalogue import SYSTEMS
from workbench.views.widgets.survival import SurvivalChart
from workbench.views.widgets.threshold import ThresholdLab
from workbench_plugins.explore.chunk_widget import FileChunks
from workbench_plugins.reproduce.report_widget import ReportReader

pytestmark = needs_chromium

REPORT = 'OpenClaw 2026.2.13 returns nothing for "who likes rooibos tea". I expected `memory/tea.md`.'

ARROWS = """flow => [...flow.querySelectorAll("li")].map((one) => {
    const after = getComputedStyle(one, "::after");
    return after.content === "none" ? 0 : one.getBoundingClientRect().right - parseFloat(after.right);
})"""
"""The right edge of the arrow behind each stage of a pipeline."""


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    with browsing() as opened:
        yield opened.page


def shown(page: Page, widget: Any, folder: Path, width: int = 1280) -> Locator:
    """The widget on a page that is so wide."""
    file = folder / "widget.html"
    file.write_text(page_of(widget), encoding="utf-8")
    page.set_viewport_size({"width": width, "height": 1000})
    page.goto(file.as_uri())
    return page.locator(".wb-living")


def place(one: Locator) -> dict[str, float]:
    found = one.bounding_box()
    assert found
    return {**found}


def test_a_report_is_as_high_as_its_text_and_each_fact_has_its_button_beside_it(
    page: Page, tmp_path: Path
) -> None:
    seen = shown(page, ReportReader(REPORT), tmp_path)
    assert place(seen.locator(".wb-report"))["height"] < 100
    for fact in seen.locator(".wb-facts li").all():
        words, button = place(fact.locator("> span")), place(fact.locator("button"))
        assert button["x"] >= words["x"] + words["width"]
        assert button["y"] <= words["y"] + 4


def test_the_box_of_a_system_stands_beside_its_name(
    page: Page, sample: MemoryIndex, questions: QuestionSet, tmp_path: Path
) -> None:
    runs = evaluate(questions, [SYSTEMS[name] for name in SHOWN_SYSTEMS], sample)
    seen = shown(page, SurvivalChart(runs, sample, link=False), tmp_path)
    for label in seen.locator("label:has([type='checkbox'])").all():
        assert place(label.locator("input"))["width"] < 20


@pytest.mark.parametrize("width", [400, 560, 800])
def test_no_arrow_of_a_pipeline_leaves_the_page(
    page: Page, sample: MemoryIndex, questions: QuestionSet, tmp_path: Path, width: int
) -> None:
    lab = ThresholdLab(evaluate(questions, [SYSTEMS[SHOWN_SYSTEMS[0]]], sample), link=False)
    flow = shown(page, lab, tmp_path, width).locator(".wb-flow").first
    edge = place(flow)["x"] + place(flow)["width"]
    assert max(flow.evaluate(ARROWS)) <= edge


def test_the_looks_of_a_chunk_are_explained_where_it_has_them(
    page: Page, sample: MemoryIndex, tmp_path: Path
) -> None:
    whole = shown(page, FileChunks(sample, "memory/protocols/tenacity.md", link=False), tmp_path)
    assert whole.locator("pre .wb-unread").count() == 0
    assert whole.get_by_text("the model has not read it").count() == 0
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "long.md").write_text("\n".join(f"The kettle of room {n} whistles." for n in range(200)))
    place_of = tmp_path / "cut.sqlite"
    cut = LocalEmbedder(reading=Truncated())
    wb.index_folder(notes, cut, options=wb.Options(index_path=place_of))
    with wb.open_index(notes, cut, index_path=place_of) as index:
        seen = shown(page, FileChunks(index, "long.md", link=False), tmp_path)
        assert seen.locator("pre .wb-unread").count() > 0
        seen.get_by_text("Struck through: the model has not read it. In italics: it ends").wait_for()
