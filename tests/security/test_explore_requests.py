"""Odd requests to the page of `workbench explore` get a sentence, whatever they hold."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio
import pytest
import uvicorn
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests import world
from tests.commands import Run
from workbench.measure.questions import Question, QuestionSet, load_questions
from workbench.memory.index import MemoryIndex
from workbench_plugins.explore.page import PART, Desk
from workbench_plugins.explore.page_server import HEADER, PAGE, PAGES, Server, serve_page

ACTIONS = ("case", "right", "none", "losses", "lab", "diagnose", "file", "map", "log", "report")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("explored")
    with world.build(folder) as index:
        yield Server(Desk(index, None, folder / "saved.yaml"))


def scope(server: Server, path: str, *headers: tuple[bytes, bytes]) -> dict[str, Any]:
    """What an ASGI server says of a request of a page."""
    own = {
        b"host": b"localhost",
        HEADER.encode(): server.token.encode(),
        b"content-type": b"application/json",
    }
    return {
        "type": "http", "method": "POST", "path": path, "raw_path": path.encode(), "query_string": b"",
        "headers": [*own.items(), *headers],
    }  # fmt: skip


def asked(server: Server, path: str, body: bytes, page: str = "") -> tuple[int, Any]:
    """The status and the JSON of the answer to a request of a page, as an ASGI server would bring it."""
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    anyio.run(server.app, scope(server, path, (PAGE.encode(), page.encode())), receive, send)
    whole = b"".join(one.get("body", b"") for one in sent)
    return sent[0]["status"], json.loads(whole)


def test_a_client_that_leaves_in_the_middle_of_its_request_raises_nothing(server: Server) -> None:
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    anyio.run(server.app, scope(server, "/ask"), receive, send)
    assert sent[0]["status"] == 400


def test_a_memory_named_as_a_part_of_the_page_is_shown_by_its_name(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Server, "_memory", "@STATE@ @SCRIPT@ @NOTES@")
    assert "@STATE@ @SCRIPT@ @NOTES@" in server._html("nonce")


DEEP = b"[" * 100_000
KEYS = ["question", "target", "left", "right", "moved", "side", "chunk", "do", "files", "settings", "x"]
LOGS = {
    "a": '{"question": "tea", "scores": [null]}\n{"question": "tea", "score": {}}\n"tea"\n' + "[" * 10_000
}


def plain(leaf: Any) -> Any:
    return st.recursive(
        leaf, lambda one: st.lists(one, max_size=3) | st.dictionaries(st.sampled_from(KEYS), one, max_size=4)
    )


values = plain(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6) | st.sampled_from(KEYS)
)


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(path=st.sampled_from(["/ask", "/do"]), body=values, action=st.sampled_from([*ACTIONS, "x"]))
@example(path="/do", body={"files": LOGS}, action="log")
@example(path="/do", body={"files": [1]}, action="log")
@example(path="/do", body={"files": {"a": None}}, action="log")
def test_any_json_gets_an_answer(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, body: Any, action: str
) -> None:
    monkeypatch.chdir(tmp_path)
    if path == "/do" and isinstance(body, dict):
        body = {"do": action, "settings": server.desk.explorer.settings, **body}
    status, _ = asked(server, path, json.dumps(body).encode())
    assert status in (200, 400, 422)


def test_an_odd_line_of_a_log_is_left_out_and_counted(server: Server) -> None:
    body = {"do": "log", "files": LOGS, "settings": server.desk.explorer.settings}
    status, told = asked(server, "/do", json.dumps(body).encode())
    assert (status, [one["question"] for one in told["log"]["rows"]]) == (200, ["tea"])
    assert told["log"]["notes"] == ["a: left out 3 lines without a question that can be asked: 1, 2, 4."]


@pytest.mark.parametrize("body", [DEEP, b"", b"\xff", b"{", b'{"question": "' + b"a" * 1_000_000 + b'"}'])
def test_what_is_no_json_that_can_be_used_gets_a_sentence(server: Server, body: bytes) -> None:
    status, told = asked(server, "/ask", body)
    assert status in (400, 422)
    assert len(told["problem"]) < 1_000


@pytest.mark.parametrize("header", [(), ((b"content-length", b"2"), (b"transfer-encoding", b"chunked"))])
def test_a_body_without_end_is_given_up_whatever_its_headers_say(
    server: Server, header: tuple[tuple[bytes, bytes], ...]
) -> None:
    sent: list[Any] = []
    parts = iter([b" " * 1_000_000] * 100)

    async def receive() -> Any:
        return {"type": "http.request", "body": next(parts), "more_body": True}

    async def send(message: Any) -> None:
        sent.append(message)

    anyio.run(server.app, scope(server, "/ask", *header), receive, send)
    assert (sent[0]["status"], b"more than 20 MB" in sent[1]["body"]) == (422, True)
    assert len([*parts]) > 75


def test_the_address_that_a_browser_is_given_opens_the_page_once(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def opened(one: uvicorn.Server, sockets: Any) -> None:
        query = urlsplit(given[1]).query.encode()
        for _ in range(2):
            asked_for = scope(server, "/") | {"method": "GET", "query_string": query}
            anyio.run(one.config.app, asked_for, None, send)

    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    given: list[str] = []
    monkeypatch.setattr("uvicorn.Server.run", opened)
    index = server.desk.index
    serve_page(index, None, tmp_path / "saved.yaml", 0, lambda *addresses: given.extend(addresses))
    stays, once = given
    token = stays.partition("token=")[2]
    assert (bool(token), token in once) == (True, False)  # which any user can read in the list of processes
    first, second = (one for one in sent if "status" in one)
    assert (first["status"], dict(first["headers"])[b"location"]) == (303, f"/?token={token}".encode())
    assert second["status"] == 403


@pytest.mark.usefixtures("in_project")
def test_the_browser_is_given_the_address_that_opens_once(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setattr(
        "workbench_plugins.explore.page_server.serve_page", lambda *given: given[-1]("stays", "once")
    )
    assert run("explore").code == 0
    assert opened == ["once"]


def test_a_folder_that_is_removed_meanwhile_gets_a_sentence(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path_factory.mktemp("cases"))
    with world.build(tmp_path) as index:
        assert isinstance(index, MemoryIndex)
        index.root = tmp_path / "memory_of_wren"
        server = Server(Desk(index, None, tmp_path / "saved.yaml"))
        shutil.rmtree(tmp_path)
        assert set(server.actions) == {*ACTIONS}
        for action in ACTIONS:
            body = {"do": action, "settings": server.desk.explorer.settings, "files": {"a": '"tea"'}}
            status, told = asked(server, "/do", json.dumps(body).encode())
            assert status in (200, 422), (action, told)


def did(server: Server, page: str, action: str, **more: Any) -> Any:
    """What an action of a page gives."""
    body = {"do": action, "settings": server.desk.explorer.settings, **more}
    status, told = asked(server, "/do", json.dumps(body).encode(), page)
    assert status == 200, told
    return told


def test_what_is_opened_on_one_page_is_not_on_another(server: Server) -> None:
    for page, question in (("a", "rooibos tea"), ("b", "rear hub")):
        did(server, page, "report", text=f'I ask "{question}" and get nothing.')
        did(server, page, "log", files={"l": json.dumps({"question": question})})
    for page, question in (("a", "rooibos tea"), ("b", "rear hub")):
        assert did(server, page, "report", change={})["report"]["settings"]["question"] == question
        assert [one["question"] for one in did(server, page, "log")["log"]["rows"]] == [question]
    assert did(server, "c", "report") == {"report": None}
    for number in range(2 * PAGES):
        did(server, str(number), "log")
    assert did(server, "a", "log") == {"log": {}}


def test_two_pages_that_count_losses_at_once_both_end(tmp_path: Path) -> None:
    with world.build(tmp_path) as index:
        asked_for = [Question(question=f"tea {number}", target="memory/tea.md") for number in range(3 * PART)]
        server = Server(Desk(index, QuestionSet(questions=tuple(asked_for)), tmp_path / "saved.yaml"))
        settings = server.desk.explorer.settings
        pages = [settings, settings | {"left": settings["right"]}]
        told = [[did(server, "", "losses", settings=one) for one in pages] for _ in range(4)]
        assert ["losses" in one for one in told[2]] == [False, False]
        assert ["losses" in one for one in told[3]] == [True, True]


def test_right_answers_of_two_servers_are_both_kept(tmp_path: Path) -> None:
    with world.build(tmp_path) as index:
        servers = [Server(Desk(index, None, tmp_path / "saved.yaml")) for _ in range(2)]
        for server, question in zip(servers, ("rooibos tea", "rear hub"), strict=True):
            settings = server.desk.explorer.settings | {"question": question, "target": "memory/tea.md"}
            did(server, "", "right", settings=settings)
    kept = load_questions(tmp_path / "saved.yaml").questions
    assert [one.question for one in kept] == ["rooibos tea", "rear hub"]
