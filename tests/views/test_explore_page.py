"""The page of `workbench explore` in a browser: lists, floors, systems, fixes and messages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page

import workbench as wb
from tests.browser import MINUTE, SIZE, becomes, browsing, needs_chromium, served_here
from workbench.memory.index import MemoryIndex
from workbench_plugins.explore.page import Desk
from workbench_plugins.explore.page_server import Server

pytestmark = needs_chromium


@pytest.fixture(scope="module")
def tab() -> Iterator[Page]:
    with browsing() as opened:
        opened.page.set_default_timeout(MINUTE / 2)
        yield opened.page


@pytest.fixture
def page(tab: Page, sample: MemoryIndex, tmp_path: Path) -> Iterator[Page]:
    """The page on the sample memory, with a question and without an expected file."""
    wb.selection.clear()
    mine = Server(Desk(sample, None, tmp_path / "explored.yaml"))
    mine.desk.explorer.settings = {"question": "rooibos tea", "target": ""}
    with served_here(mine.app) as address:
        tab.set_viewport_size(SIZE)  # type: ignore[arg-type]
        tab.goto(f"{address}/?token={mine.token}")
        yield tab
        tab.goto("about:blank")


BROKEN = """all => all.filter((one) => {
    const text = document.createRange();
    text.selectNodeContents(one);
    return new Set([...text.getClientRects()].map(({ top }) => Math.round(top))).size > 1;
}).map((one) => one.textContent)"""
"""The texts that take more than one line."""


def side(page: Page, name: str = "left") -> Locator:
    return page.get_by_label(f"{name} system")


def ask(page: Page, question: str) -> None:
    box = page.get_by_label("question", exact=True)
    with page.expect_response("**/ask"):
        box.fill(question)
        box.press("Enter")
    page.locator("#explorer .wb-living:not([aria-busy])").wait_for()


def test_another_answer_is_read_from_its_top_and_the_same_one_stays(page: Page) -> None:
    rows = side(page).locator(".wb-list")
    rows.evaluate("list => list.scrollTop = 150")
    rows.locator("li").nth(6).click()
    with page.expect_response("**/ask"):
        rows.get_by_role("button", name="explain this file").click()
    rows.locator(".wb-right").first.wait_for()
    assert rows.evaluate("list => list.scrollTop") > 0
    ask(page, "where is the backup")
    becomes(lambda: rows.evaluate("list => list.scrollTop"), (0).__eq__)


def test_a_floor_moves_along_an_axis_that_stands_still(page: Page) -> None:
    lefts = "all => all.map(one => one.style.left)"
    rows = side(page).locator(".wb-list")
    before = [rows.locator(one).evaluate_all(lefts) for one in (".wb-dot", ".wb-floor")]
    side(page).get_by_role("slider", name="floor").fill("0.9")
    dots, floors = [rows.locator(one).evaluate_all(lefts) for one in (".wb-dot", ".wb-floor")]
    assert (dots, set(floors)) == (before[0], {"90%"})
    assert floors != before[1]


def test_a_floor_does_not_move_away_from_the_hand_that_drags_it(page: Page) -> None:
    floor = side(page).get_by_role("slider", name="floor")
    before = floor.bounding_box()
    assert before
    across = before["y"] + before["height"] / 2
    page.mouse.move(before["x"] + 0.35 * before["width"], across)
    page.mouse.down()
    page.mouse.move(before["x"] + 0.2 * before["width"], across, steps=4)
    page.get_by_text("the words below do not").wait_for()
    assert floor.bounding_box() == before
    page.mouse.up()


def test_a_list_is_one_stop_of_the_tab_key_and_arrow_keys_go_through_it(page: Page) -> None:
    rows = side(page).locator(".wb-list").get_by_role("button")
    places = [one.get_attribute("tabindex") for one in rows.all()]
    assert places == ["0"] + ["-1"] * (rows.count() - 1)
    rows.first.focus()
    held = "document.activeElement.textContent"
    for key, place in (("ArrowDown", 1), ("ArrowDown", 2), ("ArrowUp", 1), ("End", -1), ("ArrowDown", -1)):
        page.keyboard.press(key)
        assert page.evaluate(held) == rows.nth(place).text_content()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert rows.nth(1).get_attribute("aria-expanded") == "true"
    assert [one.get_attribute("tabindex") for one in rows.all()].index("0") == 1
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Tab")
    assert page.evaluate(held) == rows.nth(1).text_content()


def test_a_system_is_chosen_with_enter_and_the_list_stays_closed(page: Page) -> None:
    names = side(page).locator(".wb-picker")
    names.locator("summary").press("Enter")
    with page.expect_response("**/ask"):
        names.get_by_role("searchbox").fill("vector-only")
        names.get_by_role("searchbox").press("Enter")
    names.locator("summary b").filter(has_text="vector-only").wait_for()
    assert names.get_attribute("open") is None


def test_a_press_beside_the_list_of_systems_closes_it(page: Page) -> None:
    names = side(page).locator(".wb-picker")
    names.locator("summary").click()
    names.get_by_role("searchbox").fill("openclaw")
    names.locator("section b:visible").first.click()
    assert names.get_attribute("open") is not None
    page.locator("h1").click()
    assert names.get_attribute("open") is None


@pytest.mark.parametrize("width", [400, 900])
def test_a_message_is_seen_wherever_the_page_is(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    page.get_by_role("button", name="Fixes").click()
    told = page.locator("#said", has_text="file that you expect")
    told.wait_for()
    assert page.evaluate("scrollY") > 0
    box = told.bounding_box()
    assert box
    assert 0 <= box["y"] < 100


def test_what_is_pressed_keeps_the_keyboard_when_the_answer_comes(page: Page) -> None:
    held = "document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent"
    ready = page.locator("#explorer .wb-living:not([aria-busy])")
    side(page).get_by_role("slider", name="floor").press("ArrowLeft")
    reset = side(page).get_by_role("button", name="as shipped")
    becomes(lambda: reset.get_attribute("aria-disabled"), "false".__eq__)
    reset.press("Enter")
    becomes(lambda: reset.get_attribute("aria-disabled"), "true".__eq__)
    assert page.evaluate(held) == "as shipped"
    side(page).locator(".wb-list li").nth(1).click()
    explain = side(page).get_by_role("button", name="explain this file")
    explain.press("Enter")
    becomes(lambda: explain.get_attribute("aria-disabled"), "true".__eq__)
    ready.wait_for()
    assert page.evaluate(held) == "explain this file"
    page.get_by_role("button", name="this file is the right answer").click()
    page.get_by_text("Questions with a hit").wait_for()
    page.get_by_role("button", name="Threshold lab").click()
    system = page.locator("#below").get_by_label("system", exact=True)
    system.focus()
    system.select_option(index=1)
    assert page.evaluate(held) == "system"


def test_another_system_comes_without_what_was_moved_on_its_side(page: Page) -> None:
    reset = side(page).get_by_role("button", name="as shipped")
    side(page).get_by_text("more settings").click()
    weight = side(page).get_by_label("fusion.keyword, as a number")
    weight.fill("0.1")
    weight.press("Enter")
    becomes(lambda: reset.get_attribute("aria-disabled"), "false".__eq__)
    names = side(page).locator(".wb-picker")
    names.locator("summary").click()
    names.get_by_role("searchbox").fill("bm-head")
    names.get_by_role("searchbox").press("Enter")
    names.locator("summary b").filter(has_text="bm-head").wait_for()
    assert page.locator("#said").inner_text() == ""


def test_a_question_that_cannot_be_asked_stays_in_its_box(page: Page) -> None:
    box = page.get_by_label("question", exact=True)
    box.fill(" ")
    box.press("Enter")
    page.get_by_text("The lists still show the last valid question.").wait_for()
    assert box.input_value() == " "
    assert page.locator(".wb-flow li").first.get_attribute("title") == "rooibos tea"
    ask(page, "where is the backup")
    assert box.input_value() == "where is the backup"


@pytest.mark.parametrize("width", [400, 1400])
def test_a_table_breaks_no_number_and_no_name(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.locator("#explorer summary", has_text="table").last.click()
    table = page.locator("#explorer table")
    assert table.locator("thead th, .wb-number").evaluate_all(BROKEN) == []
    assert table.locator(".wb-number").count() > 5
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_log_breaks_no_path_while_there_is_room(page: Page, tmp_path: Path) -> None:
    page.set_viewport_size({"width": 1400, "height": 900})
    question = "what is the protocol of falsification and how does it begin"
    target = "memory/protocols/falsification-first.md"
    (tmp_path / "log.jsonl").write_text(json.dumps({"question": question, "expected": target}))
    page.get_by_role("button", name="Log of questions").click()
    page.get_by_label("files of the log").set_input_files(tmp_path / "log.jsonl")
    cell = page.locator(".ex-log td", has_text=target)
    cell.wait_for()
    assert cell.evaluate_all(BROKEN) == []
    page.set_viewport_size({"width": 400, "height": 900})
    parts = "one => one.innerHTML.split('<wbr>')"
    assert cell.evaluate(parts) == ["memory/", "protocols/", "falsification-first.md"]


def test_only_whole_words_of_the_question_are_marked(page: Page) -> None:
    ask(page, "tea and protocol")
    marks = page.locator(".wb-list mark")
    assert {one.lower() for one in marks.all_inner_texts()} <= {"tea", "protocol"}
    letters = """all => all.some((one) => [one.previousSibling?.data.at(-1), one.nextSibling?.data.at(0)]
        .some((beside) => /\\p{L}/u.test(beside ?? "")))"""
    assert marks.count() > 0
    assert not marks.evaluate_all(letters)


def test_a_list_without_an_axis_names_the_score_alone(page: Page) -> None:
    page.set_viewport_size({"width": 400, "height": 900})
    assert side(page).locator(".wb-axis").inner_text() == "score"
    page.set_viewport_size(SIZE)  # type: ignore[arg-type]
    assert side(page).locator(".wb-axis").inner_text() == "score, from 0 to 1; the line is the floor, 0.35"
