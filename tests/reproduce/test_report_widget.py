"""The report reader of a notebook: what it shows, and what a click and a selection do, in a real browser."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests import world
from tests.browser import becomes, browsing, needs_chromium, served_here
from workbench.errors import InputError
from workbench_plugins.explore.page import Desk
from workbench_plugins.explore.page_server import Server
from workbench_plugins.reproduce.report_widget import ReportReader

TEXT = """# The search <b>finds nothing</b> 🙂
Query: kettle
OpenClaw 2026.2.13
On Monday, it was the page of the "red kettle". <script>document.title = "ran"</script>
password: hunter2hunter2
"""


def test_a_click_takes_a_fact_away_and_a_selection_makes_one() -> None:
    reader = ReportReader(TEXT)
    assert reader.report.value("question") == "kettle"
    place = [one.kind for one in reader.report.facts].index("question")
    reader.reject(place)
    assert reader.report.of("question") == []
    assert reader.data["verdict"]["kind"] == "needs"
    start = TEXT.index("red kettle")
    reader.add("question", start, start + len("red kettle"))
    (asked,) = reader.report.of("question")
    assert (asked.value, asked.line, asked.source) == ("red kettle", 4, "given")
    assert reader.question == "red kettle"
    reader.add("symptom", 0, 3, "order")
    assert (reader.report.symptom, reader.happened) == ("order", "order")


def test_the_form_puts_what_is_typed_in_place_of_what_was_read() -> None:
    reader = ReportReader(TEXT)
    assert (reader.question, reader.system) == ("kettle", "openclaw-2026.2.13")
    reader.settings = {"question": "red kettle", "target": "kettle.md", "parameters": "min_score=0.3, k=60"}
    (asked,) = reader.report.of("question")
    assert (asked.value, asked.source) == ("red kettle", "given")
    assert reader.report.value("target") == "kettle.md"
    assert reader.report.settings == {"min_score": "0.3", "k": "60"}
    reader.system = "bm-head"
    assert (reader.report.system.name, reader.report.system.exact) == ("bm-head", True)
    reader.question = ""
    assert reader.report.of("question") == []
    before = reader.report
    for wrong in ({"parameters": "k"}, {"system": "nosuch"}, {"happened": "rain"}):
        with pytest.raises(InputError):
            reader.settings = wrong
    assert reader.report == before


def test_a_report_without_a_word_is_refused() -> None:
    with pytest.raises(InputError):
        ReportReader(" ")


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
    reader.pressed(sent)
    assert reader.report is before


def test_the_pieces_are_the_report_without_its_secrets() -> None:
    pieces = ReportReader(TEXT).data["pieces"]
    shown = "".join(one["text"] for one in pieces)
    assert "hunter2" not in shown
    assert shown == TEXT.replace("hunter2hunter2", "…")


KEY = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD"


def test_the_form_the_facts_and_the_table_have_no_secret() -> None:
    reader = ReportReader(f"OpenClaw 2026.2.13\nQuery: why is {KEY} not found\nmin_score: 0.3\n")
    reader.parameters = f"{reader.parameters}, api_key={KEY}"
    reader.notes = f"=== memory/keys.md\nThe key is {KEY}.\n"
    shown = json.dumps([reader.data, reader.values]) + str(reader.table.rows) + reader.sentence
    assert KEY[8:] not in shown
    assert "why is … not found" in reader.question
    assert any(KEY in one.value for one in reader.report.facts)  # what is computed has the real words
    assert reader.report.notes[0].text == f"The key is {KEY}.\n"


def test_notes_are_given_in_the_form() -> None:
    reader = ReportReader(TEXT)
    assert reader.report.notes == ()
    reader.settings = {"target": "kettle.md", "notes": "The red kettle whistles.\n=== other.md\nTea.\n"}
    notes = [(one.path, one.text) for one in reader.report.notes]
    assert notes == [("kettle.md", "The red kettle whistles.\n"), ("other.md", "Tea.\n")]
    assert reader.values["notes"] == "=== kettle.md\nThe red kettle whistles.\n=== other.md\nTea.\n"
    reader.notes = ""
    assert reader.report.notes == ()


BACKGROUND = "one => getComputedStyle(one).backgroundColor"
SELECT = """words => {
    const walk = document.createTreeWalker(document.querySelector(".wb-report"), NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) {
        const at = walk.currentNode.data.indexOf(words);
        if (at < 0) continue;
        getSelection().setBaseAndExtent(walk.currentNode, at, walk.currentNode, at + words.length);
    }
}"""


@needs_chromium
def test_a_report_is_pasted_marked_and_corrected_on_the_page_of_explore(tmp_path: Path) -> None:
    with world.build(tmp_path) as index, browsing() as tab:
        mine = Server(Desk(index, None, tmp_path / "saved.yaml"))
        with served_here(mine.app) as address:
            page = tab.page
            page.set_default_timeout(60_000)
            page.goto(f"{address}/?token={mine.token}")
            page.get_by_role("button", name="Bug report").click()
            below = page.locator("#below")
            below.get_by_label("the report").fill(TEXT)
            below.get_by_role("button", name="Read the report").click()
            mark = below.locator("mark[data-kind='question']")
            assert mark.inner_text() == "kettle"
            happened = below.locator("mark[data-kind='symptom']").first
            assert str(happened.get_attribute("title")).startswith("what happened: ")
            in_the_list = below.locator(".wb-facts [data-kind='question']")
            assert in_the_list.evaluate(BACKGROUND) == mark.evaluate(BACKGROUND)
            text = below.locator(".wb-report")
            assert text.text_content() == TEXT.replace("hunter2hunter2", "…")
            assert page.title() == "workbench explore"
            mark.click()
            mark.wait_for(state="detached")
            below.get_by_text("Which words exactly").wait_for()
            below.get_by_role("button", name="red kettle").click()
            mark.filter(has_text="red kettle").wait_for()
            page.evaluate(SELECT, "red kettle")
            below.get_by_role("button", name="question that fails").click()
            mark.filter(has_text="red kettle").wait_for()
            below.get_by_label("question", exact=True).fill("a blue kettle")
            below.get_by_label("question", exact=True).press("Enter")
            mark.wait_for(state="detached")  # what is typed stands nowhere in the report
            below.locator(".wb-facts").get_by_text("a blue kettle").wait_for()
            below.get_by_role("button", name="take away: question").click()
            below.locator(".wb-facts").get_by_text("a blue kettle").wait_for(state="detached")
            below.get_by_label("settings", exact=True).fill("nonsense")
            below.get_by_label("settings", exact=True).press("Enter")
            page.get_by_text("'nonsense' is no setting.").wait_for()
            below.get_by_label("settings", exact=True).fill("min_score=0.3")
            below.get_by_label("settings", exact=True).press("Enter")
            below.locator(".wb-facts").get_by_text("0.3").wait_for()
            below.get_by_label("notes", exact=True).fill("=== kettle.md\nThe blue kettle.")
            below.get_by_label("settings", exact=True).focus()
            becomes(lambda: below.get_by_label("notes", exact=True).input_value(), lambda one: "blue" in one)
            page.set_viewport_size({"width": 400, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth") <= 400
            assert [one for one in tab.errors if "422" not in one] == []


def test_what_may_be_the_question_is_offered_and_one_press_takes_it() -> None:
    text = '# Odd results\nPeople get odd pages, for example "coding blocs".\n'
    reader = ReportReader(text)
    (offer,) = reader.data["offered"]
    assert offer == {"start": text.index("coding"), "end": text.index('".\n'), "value": "coding blocs"}
    reader.pressed({"add": {"kind": "question", "name": "", "start": offer["start"], "end": offer["end"]}})
    assert (reader.report.value("question"), reader.data["offered"]) == ("coding blocs", [])


def test_the_page_shows_what_a_verdict_rests_on() -> None:
    reader = ReportReader("# Search finds nothing\nAll words must match, they are joined with AND.\n")
    verdict = reader.data["verdict"]
    assert verdict["kind"] == "stand-in"
    assert verdict["more"][-1].startswith("Run it: workbench museum")
    assert verdict["ask"]
