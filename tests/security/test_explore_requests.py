"""Odd requests to the page of `workbench explore` get a sentence, whatever they hold."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests import world
from workbench.memory.index import MemoryIndex
from workbench_plugins.explore.page import Desk
from workbench_plugins.explore.page_server import HEADER, Server

ACTIONS = ("case", "right", "none", "losses", "lab", "diagnose", "file", "map", "log", "report")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("explored")
    with world.build(folder) as index:
        yield Server(Desk(index, None, folder / "saved.yaml"))


def asked(server: Server, path: str, body: bytes) -> tuple[int, Any]:
    """The status and the JSON of the answer to a request, as an ASGI server would bring it."""
    headers = {HEADER: server.token, "content-type": "application/json", "content-length": str(len(body))}
    scope = {
        "type": "http", "method": "POST", "path": path, "raw_path": path.encode(), "query_string": b"",
        "headers": [(b"host", b"localhost"), *((k.encode(), v.encode()) for k, v in headers.items())],
    }  # fmt: skip
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    anyio.run(server.app, scope, receive, send)
    whole = b"".join(one.get("body", b"") for one in sent)
    return sent[0]["status"], json.loads(whole)


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
