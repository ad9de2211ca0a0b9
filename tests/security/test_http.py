"""Attacks on `workbench serve --http`: half requests, slow ones, clients that leave, and full logs."""

from __future__ import annotations

import logging
import resource
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Any, ClassVar

import httpx2
import pytest
import uvicorn

from tests import world
from tests.agent.test_agent import QUESTION, over
from tests.conftest import PROJECT
from workbench.cli.bounded_http import MOST_CONNECTIONS, BoundedConnection
from workbench.memory.embedding.engines import Role
from workbench.memory.embedding.local import Embedded, ToyEmbedder
from workbench_plugins.agent import server as limits
from workbench_plugins.agent.server import http_app, listening
from workbench_plugins.agent.tools import AgentTools

HALF_REQUESTS = 1_100
DESCRIPTORS = 1_024
CLIENTS = 20
LOG_BYTES = 100_000
DEADLINE = 120
"""Seconds after which a test fails; each waits for a state."""

HALF_HEAD = b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:1\r\nContent-Le"
HALF_BODY = HALF_HEAD + b'ngth: 1000\r\nContent-Type: application/json\r\n\r\n{"jsonrpc":'
HEADERS = {"Accept": "application/json, text/event-stream"}

SERVER = """
import resource, sys
from pathlib import Path
resource.setrlimit(resource.RLIMIT_NOFILE, ({descriptors}, {descriptors}))
from tests.agent.test_agent import over
from workbench_plugins.agent.server import serve_http
serve_http(over(Path({folder!r})), port=0)
"""


@contextmanager
def descriptors(count: int) -> Iterator[None]:
    """This process may open so many files meanwhile."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard not in (resource.RLIM_INFINITY,) and hard < count:
        pytest.skip(f"this system allows {hard} descriptors, and the attacker needs {count}")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, count), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@contextmanager
def served(folder: Path, log: IO[str]) -> Iterator[int]:
    """The port of a server with DESCRIPTORS descriptors, whose stderr goes to `log` after its first line."""
    code = SERVER.format(descriptors=DESCRIPTORS, folder=str(folder))
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, cwd=PROJECT, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        address = process.stderr.readline()
        copying = threading.Thread(target=lambda: log.writelines(process.stderr or ()))
        copying.start()
        try:
            yield int(address.rpartition(":")[2].split("/")[0])
            process.terminate()
            process.wait(DEADLINE)
        finally:
            process.kill()
            copying.join(DEADLINE)


@contextmanager
def running(tools: AgentTools, protocol: type[BoundedConnection] = BoundedConnection) -> Iterator[int]:
    """The port of a server in this process."""
    with listening("127.0.0.1", 0) as opened:
        server = uvicorn.Server(uvicorn.Config(http_app(tools), http=protocol, log_config=None, ws="none"))
        thread = threading.Thread(target=server.run, args=([opened],))
        thread.start()
        try:
            yield opened.getsockname()[1]
        finally:
            server.should_exit = True
            thread.join(DEADLINE)
            assert not thread.is_alive()


def connected(port: int, data: bytes) -> socket.socket:
    """A connection that has sent this much of a request."""
    made = socket.create_connection(("127.0.0.1", port), timeout=DEADLINE)
    made.sendall(data)
    return made


def ends(connection: socket.socket, more: bytes = b"") -> bool:
    """Whether the server closes a connection, which sends more; waits for that until its timeout."""
    try:
        connection.sendall(more)
        return connection.recv(1) == b""
    except ConnectionError:
        return True


def searches(port: int, count: int) -> list[Any]:
    """The results of so many clients that search at once."""
    with ThreadPoolExecutor(count) as threads:
        made = [threads.submit(call, port, "memory_search", {"query": QUESTION}) for _ in range(count)]
    return [one.result().json()["result"]["structuredContent"]["results"] for one in made]


def call(port: int, tool: str, arguments: dict[str, Any], **options: Any) -> httpx2.Response:
    """One call of a tool without a handshake."""
    message = {
        "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}
    }  # fmt: skip
    address = f"http://127.0.0.1:{port}/mcp"
    return httpx2.post(address, json=message, headers=HEADERS, **{"timeout": DEADLINE, **options})


# half requests


def test_1100_half_requests_at_1024_descriptors_keep_no_client_out(folder: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with (
        descriptors(HALF_REQUESTS + 400),
        log.open("w") as written,
        served(folder, written) as port,
        ExitStack() as attack,
    ):
        halves = [
            attack.enter_context(connected(port, (HALF_HEAD, HALF_BODY)[number % 2]))
            for number in range(HALF_REQUESTS)
        ]
        during = searches(port, CLIENTS)
        assert all(ends(one) for one in halves[: HALF_REQUESTS - MOST_CONNECTIONS])
        assert all(ends(one) for one in halves), "the last ones at their deadline"
        after = searches(port, CLIENTS)
    assert [len(during), len(after), all(during + after)] == [CLIENTS, CLIENTS, True]
    assert log.stat().st_size < LOG_BYTES


class Impatient(BoundedConnection):
    request_seconds: ClassVar[float] = 1.0


@pytest.mark.parametrize("sent", [b"", b"P", HALF_HEAD, HALF_BODY], ids=["nothing", "P", "head", "body"])
def test_a_request_that_does_not_arrive_in_time_is_dropped(
    sent: bytes, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(over(folder), Impatient) as port, connected(port, sent) as half:
        assert ends(half)
        monkeypatch.setattr(Impatient, "request_seconds", DEADLINE)  # a busy machine is slow to send
        assert call(port, "memory_get", {"path": "memory/tea.md"}).status_code == 200


def test_a_body_that_breaks_off_in_a_wrong_chunk_gets_one_answer_and_no_traceback(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    head = HALF_HEAD.removesuffix(b"Content-Le") + b"Transfer-Encoding: chunked\r\n"
    body = b'Content-Type: application/json\r\n\r\n5\r\n{"jso\r\nzz\r\n'
    with running(over(folder)) as port, connected(port, head + body) as wrong:
        got = b"".join(iter(lambda: wrong.recv(4096), b""))
    assert got.count(b"HTTP/1.1 ") == 1
    assert "Traceback" not in caplog.text


def test_a_client_that_sends_a_byte_at_a_time_is_dropped_too(folder: Path) -> None:
    with running(over(folder), Impatient) as port, connected(port, HALF_BODY) as slow:
        slow.settimeout(0.01)
        for _ in range(100 * DEADLINE):
            with suppress(TimeoutError):
                if ends(slow, b" "):
                    return
    pytest.fail("the connection is still open")


class Few(BoundedConnection):
    most_connections = 4


def test_the_oldest_connection_that_sent_nothing_makes_room_for_a_client(folder: Path) -> None:
    with over(folder) as tools, running(tools, Few) as port, ExitStack() as attack, httpx2.Client() as known:
        known.post(f"http://127.0.0.1:{port}/mcp", json={})
        halves = [attack.enter_context(connected(port, HALF_HEAD)) for _ in range(9)]
        assert all(ends(one) for one in halves[:6])
        assert call(port, "memory_get", {"path": "memory/tea.md"}).status_code == 200
        assert ends(halves[6])


# bounds of one request


def test_a_long_body_a_stream_without_end_and_what_is_no_json_rpc_are_refused(folder: Path) -> None:
    with running(over(folder)) as port:
        assert call(port, "memory_search", {"query": "tea " * (limits.MOST_BYTES // 4)}).status_code == 413
        assert (
            httpx2.get(f"http://127.0.0.1:{port}/mcp", headers=HEADERS, timeout=DEADLINE).status_code == 405
        )
        headers = {**HEADERS, "Content-Type": "application/json"}
        for body in (b"{", b"[" * 100_000, b'{"a":"\\ud800"}', b"\xff"):
            answer = httpx2.post(f"http://127.0.0.1:{port}/mcp", content=body, headers=headers)
            assert answer.status_code == 400
            assert answer.json()["error"]["code"] in (-32700, -32600, -32602)
        assert len(searches(port, 1)) == 1


# searches side by side


class Gate(ToyEmbedder):
    """An embedder whose questions that begin with `held` wait until the gate is opened; it counts them."""

    def __init__(self, held: str = "") -> None:
        super().__init__(world.AXES)
        self.held = held
        self.opened, self.arrived = threading.Event(), threading.Semaphore(0)
        self.asked: list[str] = []

    def embed(self, texts: Sequence[str], role: Role) -> Embedded:
        if texts[0].startswith(self.held):
            self.asked += texts
            self.arrived.release()
            assert self.opened.wait(DEADLINE)
        return super().embed(texts, role)


@contextmanager
def asking(port: int, gate: Gate, count: int, tool: str = "memory_search", **given: str) -> Iterator[None]:
    """So many calls are under way, two of them at once, and the gate opens at the end."""
    with ThreadPoolExecutor(count) as threads:
        for number in range(count):
            threads.submit(call, port, tool, {"query": f"tea {number}", **given})
        try:
            assert all(gate.arrived.acquire(timeout=DEADLINE) for _ in range(2))
            yield
        finally:
            gate.opened.set()


@pytest.fixture
def two_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many searches run side by side as on two cores."""
    for module in ("tools", "server"):
        monkeypatch.setattr(f"workbench_plugins.agent.{module}.side_by_side", lambda: 2)


def test_two_searches_run_at_once_and_a_file_is_read_meanwhile(folder: Path, two_searches: None) -> None:
    gate = Gate()
    with over(folder, embedder=gate) as tools, running(tools) as port, asking(port, gate, 6):
        assert call(port, "memory_get", {"path": "memory/tea.md"}).status_code == 200
        assert len(gate.asked) == 2
    assert sorted(gate.asked) == [f"tea {number}" for number in range(6)]


@pytest.mark.parametrize("tool", ["memory_explain", "memory_diagnose"])
def test_a_client_is_answered_while_what_takes_long_runs_for_others(
    tool: str, folder: Path, two_searches: None
) -> None:
    gate = Gate(held="tea")
    with over(folder, embedder=gate) as tools, running(tools) as port:
        with asking(port, gate, 6, tool, path="memory/tea.md"):
            assert all(searches(port, 4))
            assert call(port, "memory_get", {"path": "memory/tea.md"}).status_code == 200
            assert len(gate.asked) == 2
        assert set(gate.asked) >= {f"tea {number}" for number in range(6)}


class Leaving(BoundedConnection):
    """Says when a client has left."""

    left: ClassVar[threading.Semaphore] = threading.Semaphore(0)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self.left.release()


def test_nobody_searches_for_a_client_that_has_left(folder: Path, two_searches: None) -> None:
    gate = Gate()
    with over(folder, embedder=gate) as tools, running(tools, Leaving) as port:
        with asking(port, gate, 2):
            brief = httpx2.Timeout(DEADLINE, read=0.1)
            for number in range(20):
                with pytest.raises(httpx2.TimeoutException):
                    call(port, "memory_search", {"query": f"gone {number}"}, timeout=brief)
            assert all(Leaving.left.acquire(timeout=DEADLINE) for _ in range(20))
        assert call(port, "memory_search", {"query": "the last tea"}).status_code == 200
    assert sorted(gate.asked) == ["tea 0", "tea 1", "the last tea"]


# the log


def record(message: str) -> logging.LogRecord:
    return logging.LogRecord("uvicorn.error", logging.WARNING, "", 0, message, None, None)


def test_a_flood_of_messages_is_counted_and_not_printed() -> None:
    now = [0.0]
    few = limits.FewMessages(clock=lambda: now[0])
    passed = [few.filter(record(f"message {number}")) for number in range(100_000)]
    assert sum(passed) == limits.MOST_MESSAGES
    now[0] = limits.PERIOD_SECONDS
    later = record("later")
    assert few.filter(later)
    assert later.getMessage() == f"({100_000 - limits.MOST_MESSAGES:,} messages were left out) later"


def test_a_message_cannot_command_the_terminal_and_is_short() -> None:
    text = limits.ShortMessages().format(
        record("\x1b]0;title\x07 \x9b2J \u202e api_key=hunter2hunter2 " + "x" * 10_000)
    )
    assert len(text) <= limits.MOST_CHARACTERS
    assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(text)
    assert "hunter2" not in text


# long questions


@pytest.mark.parametrize("question", ["tea " * 25_000, "x" * 100_000], ids=["words", "letters"])
@pytest.mark.parametrize("tool", ["memory_search", "memory_explain"])
def test_a_question_of_100_kilobytes_is_refused_before_it_is_searched(
    tool: str, question: str, folder: Path
) -> None:
    gate = Gate()
    with over(folder, embedder=gate) as tools, running(tools) as port:
        result = call(port, tool, {"query": question}).json()["result"]
    assert result["isError"]
    assert "a search takes at most" in result["content"][0]["text"]
    assert gate.asked == []


def test_long_questions_hold_up_nobody(folder: Path) -> None:
    with over(folder) as tools, running(tools) as port, ThreadPoolExecutor(16) as threads:
        long = [threads.submit(call, port, "memory_search", {"query": "tea " * 25_000}) for _ in range(64)]
        assert all(searches(port, 8))
        assert all(one.result().json()["result"]["isError"] for one in long)
