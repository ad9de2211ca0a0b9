"""`workbench explore` on a folder that it has never seen, in a browser; and its errors."""

from __future__ import annotations

import importlib.util
import os
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from tests import world
from tests.browser import MINUTE, OUTPUT, becomes, browsing, needs_chromium
from tests.commands import Run
from workbench.cli.bounded_http import MOST_CONNECTIONS
from workbench.measure.questions import load_questions

HOSTILE = "<b>notes</b>/<img src=x onerror=alert(1)>.md"
NOTES = {
    "kettle.md": "# Kettle\n\nThe copper kettle needs descaling with vinegar each month.\n",
    "garden 'plan\".md": "# Garden\n\nBeans go in after the last frost, next to the shed.\n",
    HOSTILE: "# Boiler <script>alert(2)</script>\n\nDue. </pre></details><img src=x onerror=alert(3)>\n",
}
OPENED_AND_TYPED_AT_ONCE = """picker => {
  picker.open = true;
  picker.querySelector("input").value = "2.13 vector";
  picker.querySelector("input").dispatchEvent(new Event("input"));
  return new Promise(done => picker.addEventListener("toggle", done));
}"""
ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+/\?token=[\w-]+")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the indexes."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture
def address(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the page that the command opens on a folder.

    Each test has a server of its own, since a server keeps what was chosen on its page, and begins without
    right answers.
    """
    (home / "explored.yaml").unlink(missing_ok=True)
    folder = world.write(tmp_path_factory.mktemp("explored") / "memory", NOTES)
    with served(home, folder) as found:
        yield found


SLOW_CLIENTS_GO = """
from workbench.cli import bounded_http, main
bounded_http.BoundedConnection.request_seconds = 1.0
main()
"""


@contextmanager
def served(home: Path, folder: Path, *program: str) -> Iterator[str]:
    """The address of a page on a folder; `program` is what Python runs in place of the workbench."""
    questions = str(home / "explored.yaml")
    command = [
        sys.executable, *(program or ("-m", "workbench")), "explore", str(folder), "--no-browser",
        "--questions", questions, "--port", "0",
    ]  # fmt: skip
    written = home / f"log of {folder.parent.name}"
    with written.open("w") as log:
        server = subprocess.Popen(
            command, env=os.environ | {"WORKBENCH_HOME": str(home)}, stdout=log, stderr=subprocess.STDOUT
        )
        try:
            ends = time.monotonic() + 300
            while not (found := ADDRESS.search(written.read_text())):
                assert server.poll() is None, written.read_text()
                assert time.monotonic() < ends, written.read_text()
                time.sleep(0.2)
            yield found[0]
        finally:
            server.terminate()
            server.wait(300)


@needs_chromium
def test_a_new_folder_is_asked_compared_selected_and_cut_in_a_browser(address: str, home: Path) -> None:
    with browsing() as tab:
        page, asked = tab.page, list[str]()
        page.on("request", lambda one: asked.append(one.url))
        page.on("dialog", lambda one: tab.errors.append(one.message))
        page.goto(address)
        status = page.locator(".wb-status").first
        status.filter(has_text="it is returned: file 1 of").wait_for()

        page.get_by_label("question", exact=True).fill("copper kettle vinegar")
        page.get_by_label("question", exact=True).press("Enter")
        status.filter(has_text="openclaw-2026.2.13 returns ").wait_for()
        page.get_by_label("expected file").fill("kettle.md")
        page.get_by_label("expected file").press("Enter")
        page.get_by_text("why, or why not").first.click()
        why = page.get_by_role("group", name=re.compile("explanation")).first
        why.filter(has_text="“copper kettle vinegar”").wait_for()
        page.get_by_label("left system").locator(".wb-picker").evaluate(OPENED_AND_TYPED_AT_ONCE)
        page.get_by_label("search the systems, left").press("Enter")
        status.filter(has_text="In openclaw-2026.2.13-vector-only, ").wait_for()

        row = page.get_by_label("left system").locator(".wb-list li").first
        row.get_by_role("button").press("Space")
        becomes(lambda: "wb-selected" in str(row.get_attribute("class")), bool)
        before = page.get_by_label("left system").locator(".wb-flow").inner_text()
        page.get_by_label("left system").get_by_role("slider", name="floor").press("End")
        becomes(lambda: page.get_by_label("left system").locator(".wb-flow").inner_text() != before, bool)
        page.get_by_label("left system").get_by_role("button", name="as shipped").click()
        becomes(lambda: page.get_by_label("left system").locator(".wb-flow").inner_text() == before, bool)

        page.get_by_label("expected file").fill(HOSTILE)
        page.get_by_label("expected file").press("Enter")
        status.filter(has_text=HOSTILE).wait_for()
        page.get_by_role("button", name="this file is the right answer").click()
        page.get_by_text("Questions with a hit: openclaw-2026.2.13-vector-only ").wait_for()
        assert load_questions(home / "explored.yaml").questions[0].target == HOSTILE
        page.get_by_role("button", name="Read the file").click()
        page.locator("#below").filter(has_text="<script>alert(2)</script>").wait_for()
        page.get_by_role("button", name="Threshold lab").click()
        page.locator("#below").get_by_role("status").filter(has_text="of 1 questions hit").wait_for()
        page.locator("#below .wb-figure").first.hover()
        with page.expect_download() as saving:
            page.locator("#below .modebar-btn").first.click()
        assert saving.value.path().read_bytes().startswith(b"\x89PNG")
        OUTPUT.mkdir(exist_ok=True)
        page.emulate_media(color_scheme="dark")
        page.screenshot(path=OUTPUT / "explore_dark.png")
        page.get_by_role("textbox", name="question").fill(" ")
        page.get_by_role("textbox", name="question").press("Enter")
        page.get_by_text("The lists still show the last valid question.").wait_for()
        assert [one for one in tab.errors if "422" not in one] == []
        assert [url for url in asked if not re.match(r"data:|blob:|http://127\.0\.0\.1:", url)] == []


@needs_chromium
def test_a_lost_answer_leads_to_its_question_and_to_a_fix_that_is_pressed(address: str) -> None:
    with browsing() as tab:
        page = tab.page
        page.set_viewport_size({"width": 400, "height": 800})
        page.set_default_timeout(60_000)
        page.goto(address)
        status, losses = page.locator(".wb-status").first, page.locator("#losses")
        assert re.search(r"memory \(3 files, \d chunks\)", page.locator("h1").inner_text())
        page.get_by_label("question", exact=True).fill("which cleaning liquid removes limescale")
        page.get_by_label("expected file").fill("kettle.md")
        page.get_by_role("button", name="Ask").click()
        status.filter(has_text="In openclaw-2026.2.13, kettle.md is not returned").wait_for()
        assert losses.is_hidden()
        page.get_by_role("button", name="no file answers this").click()
        page.get_by_text("No right answer is known.").wait_for()
        page.get_by_role("button", name="this file is the right answer").click()
        losses.get_by_text("openclaw-2026.2.13 returns the right file for 0 of 1 questions").wait_for()
        page.get_by_role("button", name="Fixes").click()
        page.locator("#below").get_by_role("button").first.click()
        status.filter(has_text="In openclaw-2026.2.13, kettle.md is returned").wait_for()
        losses.get_by_text("right file for 1 of 1 questions").first.wait_for()
        fixes = page.locator("#below .ex-fixes button")
        assert fixes.count() > 1
        fixes.last.click()  # the others can be tried too
        status.filter(has_text="kettle.md is returned").wait_for()
        page.get_by_label("left system").get_by_role("button", name="as shipped").click()
        status.filter(has_text="In openclaw-2026.2.13, kettle.md is not returned").wait_for()
        losses.get_by_text("right file for 0 of 1 questions").wait_for()
        page.get_by_label("question", exact=True).fill("beans")
        page.get_by_label("question", exact=True).press("Enter")
        becomes(lambda: page.locator(".wb-flow li").first.get_attribute("title"), "beans".__eq__)
        losses.get_by_text("1 lost").first.click()
        losses.get_by_role("button", name="which cleaning liquid").first.click()
        status.filter(has_text="kettle.md is not returned").wait_for()

        page.get_by_role("button", name="Read the file").click()
        page.locator("#below").filter(has_text="copper").wait_for()
        page.keyboard.press("Escape")
        assert page.locator("#below").is_hidden()
        picker = page.get_by_label("left system").locator(".wb-picker")
        picker.locator("summary").click()
        search = page.get_by_label("search the systems, left")
        search.fill("fusions of other engines k2")
        assert picker.locator("li:visible").all_inner_texts() == ["engine-qdrant-k2"]
        search.fill("no such system")
        picker.get_by_text("No system has these words").wait_for()
        search.press("Escape")
        assert picker.get_attribute("open") is None
        for width in (400, 768, 1280):
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert [one for one in tab.errors if "422" not in one] == []


@needs_chromium
def test_a_new_question_has_no_expected_file_until_the_reader_names_one(address: str, home: Path) -> None:
    with browsing() as tab:
        page = tab.page
        page.goto(address)
        status, expected = page.locator(".wb-status").first, page.get_by_label("expected file")
        status.filter(has_text="it is returned: file 1 of").wait_for()
        assert expected.input_value()
        page.get_by_label("question", exact=True).fill("copper kettle vinegar")
        page.get_by_role("button", name="Ask").click()
        status.filter(has_text="openclaw-2026.2.13 returns ").wait_for()
        assert expected.input_value() == ""
        page.get_by_role("button", name="this file is the right answer").click()
        page.get_by_text("No file is chosen. Name the right one as the expected file.").wait_for()
        assert not (home / "explored.yaml").exists()

        expected.fill("kettle.md")
        expected.press("Enter")
        status.filter(has_text="kettle.md is ").wait_for()
        page.get_by_label("question", exact=True).fill("descaling the kettle")
        page.get_by_label("question", exact=True).press("Enter")
        becomes(
            lambda: page.locator(".wb-flow li").first.get_attribute("title"), "descaling the kettle".__eq__
        )
        assert expected.input_value() == "kettle.md"
        assert "kettle.md is " in status.inner_text()
        page.get_by_role("button", name="this file is the right answer").click()
        page.get_by_text("Questions with a hit: ").wait_for()
        (labelled,) = load_questions(home / "explored.yaml").questions
        assert (labelled.question, labelled.target) == ("descaling the kettle", "kettle.md")
        assert [one for one in tab.errors if "422" not in one] == []


def refused(address: str, **headers: str) -> int:
    """The status of a request for a search with these headers."""
    asked = urllib.request.Request(f"{address.partition('/?')[0]}/ask", b"{}", headers)
    try:
        return int(urllib.request.urlopen(asked).status)
    except urllib.error.HTTPError as error:
        return error.code


def test_without_the_token_or_from_another_site_nothing_is_answered(address: str) -> None:
    root = address.partition("/?")[0]
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(root)
    token = address.partition("token=")[2]
    plain = {"Content-Type": "application/json"}
    assert refused(address, **plain) == 403
    mine = {"X-Workbench-Token": token}
    assert refused(address, **plain, Cookie=f"workbench={token}") == 403  # no cookie is ever asked for
    assert refused(address, **mine) == 403  # what a form of another site could send
    assert refused(address, **plain, **mine, Host="evil.example") == 400
    for odd in ("x", "\xe9", "", token + "\xff"):
        assert refused(address, **plain, **{"X-Workbench-Token": odd}) == 403
    for odd in ("%C3%A9", "%FF", "%00", "", token[:-1]):
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(f"{root}/?token={odd}")
    for _ in range(2):  # a page that is open already goes on
        page = urllib.request.urlopen(address)
        assert (page.status, page.headers["Set-Cookie"]) == (200, None)
    assert refused(address, **plain, **mine) == 200


@needs_chromium
def test_pages_that_are_open_at_once_each_keep_working(
    address: str, home: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = world.write(tmp_path_factory.mktemp("second") / "memory", {"train.md": "The train leaves at 7."})
    with served(home, folder) as other, browsing() as tab:
        browser = tab.page.context.browser
        assert browser is not None
        context, errors = browser.new_context(), list[str]()
        pages = [context.new_page() for _ in range(3)]
        for page, to in zip(pages, (address, address, other), strict=True):
            page.set_default_timeout(5 * MINUTE)
            page.on("pageerror", lambda error: errors.append(str(error)))
            page.goto(to)
            page.locator(".wb-status").first.filter(has_text="it is returned: file 1 of").wait_for()
        words = ("copper kettle vinegar", "beans frost shed", "train leaves")
        for page, question in [*zip(pages, words, strict=True)] * 2:
            page.locator("#explorer").get_by_label("question", exact=True).fill(question)
            page.locator("#explorer").get_by_label("question", exact=True).press("Enter")
            page.get_by_role("button", name="Bug report").click()
            page.get_by_label("the report").fill(f'I ask "{question}" and get nothing.')
            page.get_by_role("button", name="Read the report").click()
            becomes(
                page.get_by_role("group", name="report").get_by_label("question", exact=True).input_value,
                question.__eq__,
            )
            page.get_by_role("button", name="Bug report").click()
        for page, question in zip(pages, words, strict=True):
            page.get_by_role("button", name="Bug report").click()
            becomes(
                page.get_by_role("group", name="report").get_by_label("question", exact=True).input_value,
                question.__eq__,
            )
        assert (context.cookies(), errors) == ([], [])
        other_root, token = other.partition("/?")[0], address.partition("token=")[2]
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(f"{other_root}/?token={token}")


def test_half_a_request_ends_at_its_deadline(home: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = world.write(tmp_path_factory.mktemp("slow") / "memory", NOTES)
    with served(home, folder, "-c", SLOW_CLIENTS_GO) as address:
        port = int(address.split(":")[2].partition("/")[0])
        token = address.partition("token=")[2].encode()
        head = b"POST /ask HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        body = b"X-Workbench-Token: " + token + b'\r\nContent-Length: 1000\r\n\r\n{"question":'
        for half in (head, head + body):
            with socket.create_connection(("127.0.0.1", port), timeout=120) as waiting:
                waiting.sendall(half)
                with suppress(ConnectionError):
                    assert waiting.recv(1) == b""
        assert urllib.request.urlopen(address).status == 200


def test_half_requests_keep_no_reader_out(address: str) -> None:
    port = int(address.split(":")[2].partition("/")[0])
    with ExitStack() as attack:
        halves = [
            attack.enter_context(socket.create_connection(("127.0.0.1", port)))
            for _ in range(2 * MOST_CONNECTIONS)
        ]
        for one in halves:
            with suppress(OSError):  # it has made room already
                one.sendall(b"POST /ask HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Le")
        assert urllib.request.urlopen(address).status == 200
        with suppress(ConnectionError):
            assert halves[0].recv(1) == b""


def test_a_port_that_is_taken_is_an_error(run: Run, folder: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        outcome = run("explore", str(folder / "memory_of_wren"), "--port", port, "--no-browser")
    assert outcome.code == 2
    assert f"Port {port} cannot be used" in outcome.err


def test_a_folder_that_is_not_there_is_an_error_before_anything_starts(run: Run, tmp_path: Path) -> None:
    outcome = run("explore", str(tmp_path / "nowhere"))
    assert outcome.code == 2
    assert "nowhere" in outcome.err
    assert "Traceback" not in outcome.err


def test_an_address_that_nothing_opens_is_an_error(run: Run) -> None:
    outcome = run("explore", "gopher://nowhere")
    assert outcome.code == 2
    assert "gopher://" in outcome.err


def test_without_starlette_the_error_names_the_remedy(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "starlette" else there(name)
    )
    outcome = run("explore", str(tmp_path))
    assert outcome.code == 2
    assert "Starlette, which serves the page, is not installed" in outcome.err
    assert "pip install -e '.[lab]'" in outcome.err
