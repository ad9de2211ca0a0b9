"""Every widget and the explore page with a keyboard, and as axe-core sees them in both themes."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

from docs.still import page_of
from tests import world
from tests.browser import (
    NEXT_FRAME,
    SHOWN_SYSTEMS,
    WIDGETS,
    Tab,
    becomes,
    browsing,
    needs_chromium,
    served_here,
    twin,
)
from workbench.measure.evaluation import Evaluation, evaluate
from workbench.measure.questions import QuestionSet
from workbench.memory.index import MemoryIndex
from workbench.systems.catalogue import SYSTEMS
from workbench_plugins.diagnose.widgets import FixFinder, SweepMap
from workbench_plugins.explore.page import Desk
from workbench_plugins.explore.page_server import Server
from workbench_plugins.reproduce.report_widget import ReportReader

FOUND = importlib.util.find_spec("axe_playwright_python")
pytestmark = [
    needs_chromium,
    pytest.mark.skipif(FOUND is None, reason="needs axe-core: pip install axe-playwright-python"),
]

SERIOUS = """async () => (await axe.run()).violations
    .filter(one => ["serious", "critical"].includes(one.impact))
    .map(one => [one.id, one.nodes.length, one.nodes[0].html.slice(0, 200)])"""

CONTROLS = """() => {
    const all = [...document.querySelectorAll("button, input, select, textarea, summary, [tabindex='0']")];
    const there = all.filter(one => one.checkVisibility() && !one.disabled && one.type !== "radio");
    there.forEach((one, place) => one.dataset.place = place);
    return there.length;
}"""
"""Numbers the controls that a keyboard should reach. Of radio buttons it reaches one."""

NUMBERED = """() => Object.fromEntries([...document.querySelectorAll("[data-place]")]
    .map(one => [one.dataset.place, one.outerHTML.slice(0, 200)]))"""


OUTSIDE = """() => {
    const rolls = (one) => ["auto", "scroll"].includes(getComputedStyle(one).overflowX);
    const scrolls = (one) => one && (rolls(one) || scrolls(one.parentElement));
    const sticks = (one, [left, right]) => {
        const box = one.getBoundingClientRect();
        return box.width && (box.left < left - 1 || box.right > right + 1);
    };
    const figure = (one) => one.closest(".wb-figure").getBoundingClientRect();
    const texts = [...document.querySelectorAll(".wb-figure .main-svg text")];
    const others = [...document.querySelectorAll(".wb-living *:not(svg *)")];
    return [
        ...texts.filter(one => sticks(one, [figure(one).left, figure(one).right])),
        ...others.filter(one => one.checkVisibility() && !scrolls(one.parentElement))
            .filter(one => sticks(one, [0, innerWidth])),
    ].map(one => one.outerHTML.slice(0, 200));
}"""
"""What stands beyond the edge of the page, and the texts of figures that stand beyond the figure's."""


@pytest.fixture(scope="module")
def tab() -> Iterator[Tab]:
    with browsing() as opened:
        opened.page.set_viewport_size({"width": 1280, "height": 1000})
        yield opened


@pytest.fixture(scope="module")
def evaluations(sample: MemoryIndex, questions: QuestionSet) -> list[Evaluation]:
    return evaluate(questions, [SYSTEMS[name] for name in SHOWN_SYSTEMS], sample)


def widget(name: str, index: MemoryIndex, evaluations: list[Evaluation], questions: QuestionSet) -> Any:
    few = QuestionSet(questions=questions.questions[::9], controls=questions.controls[::9])
    if name == "fix-finder":
        target = "memory/protocols/falsification-first.md"
        return FixFinder(index, "how should I evaluate if a claim is actually true", target, few, link=False)
    if name == "sweep-map":
        axes = ("floor.floor=0:0.5:3", "query.join=AND,OR")
        return SweepMap(SYSTEMS[SHOWN_SYSTEMS[0]], axes, few, index, link=False)
    if name == "report-reader":
        return ReportReader('OpenClaw 2026.2.13 returns nothing for "who likes rooibos tea".')
    return twin(name, index, evaluations)


def opened(page: Page) -> None:
    """Opens all that is folded, and waits until what it shows is there."""
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    becomes(lambda: page.locator("[aria-busy='true']").count(), (0).__eq__)


def serious(page: Page) -> list[Any]:
    """The serious findings of axe-core in both themes, each with how many elements have it, and the first."""
    assert FOUND
    assert FOUND.origin
    page.evaluate((Path(FOUND.origin).parent / "axe.min.js").read_text(encoding="utf-8"))
    found = []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        found += page.evaluate(SERIOUS)
    return found


def unreached(page: Page) -> list[str]:
    """The controls that Tab does not reach, from the beginning of the page."""
    count = page.evaluate(CONTROLS)
    reached = set()
    page.evaluate("document.activeElement.blur()")
    for _ in range(count + 10):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.dataset?.place"))
    numbered: dict[str, str] = page.evaluate(NUMBERED)
    assert len(numbered) == count, "the page has changed meanwhile"
    return [html for place, html in numbered.items() if place not in reached]


@pytest.mark.parametrize("name", [*WIDGETS, "fix-finder", "sweep-map", "report-reader"])
def test_a_widget_has_no_serious_finding_and_is_reached_by_keyboard(
    tab: Tab,
    sample: MemoryIndex,
    evaluations: list[Evaluation],
    questions: QuestionSet,
    tmp_path: Path,
    name: str,
) -> None:
    file = tmp_path / "widget.html"
    file.write_text(page_of(widget(name, sample, evaluations, questions)), encoding="utf-8")
    tab.page.goto(file.as_uri())
    tab.page.locator(".wb-living").wait_for()
    assert unreached(tab.page) == []
    opened(tab.page)
    assert serious(tab.page) == []


@pytest.mark.parametrize("name", [*WIDGETS, "fix-finder", "sweep-map", "report-reader"])
def test_a_widget_fits_a_narrow_and_a_wide_page_and_cuts_no_text(
    tab: Tab,
    sample: MemoryIndex,
    evaluations: list[Evaluation],
    questions: QuestionSet,
    tmp_path: Path,
    name: str,
) -> None:
    file = tmp_path / "widget.html"
    file.write_text(page_of(widget(name, sample, evaluations, questions)), encoding="utf-8")
    for width in (400, 768, 1280):
        tab.page.set_viewport_size({"width": width, "height": 1000})
        tab.page.goto(file.as_uri())
        tab.page.locator(".wb-living").wait_for()
        opened(tab.page)
        tab.page.evaluate(NEXT_FRAME)
        assert tab.page.evaluate(OUTSIDE) == [], width


def test_the_explore_page_has_no_serious_finding_in_any_of_its_tabs(tab: Tab, tmp_path: Path) -> None:
    with world.build(tmp_path) as index:
        mine = Server(Desk(index, None, tmp_path / "saved.yaml"))
        with served_here(mine.app) as address:
            page = tab.page
            page.goto(f"{address}/?token={mine.token}")
            page.locator(".wb-list li").first.wait_for()
            page.get_by_label("question", exact=True).fill("rooibos tea")
            page.get_by_label("expected file").fill("memory/tea.md")
            page.get_by_role("button", name="Ask").click()
            page.wait_for_function("() => document.querySelector('.wb-flow li')?.title === 'rooibos tea'")
            page.get_by_role("button", name="this file is the right answer").click()
            page.locator("#losses").get_by_text("1 of 1 questions").first.wait_for()
            assert unreached(page) == []
            for name in page.locator("#tabs button").all_inner_texts():
                page.get_by_role("button", name=name, exact=True).press("Enter")
                page.wait_for_function("() => document.querySelector('#said').className !== 'wb-busy'")
                opened(page)
                assert serious(page) == [], name
