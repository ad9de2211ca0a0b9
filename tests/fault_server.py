"""A server on this machine that speaks the providers' four APIs, and fails as it is told to."""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

DIMENSIONS = 4
DEADLINE = 50
"""Seconds after which a request is answered although those that it waits for have not come."""
KEY = "sk-secret-0123456789"

Vectors = list[list[float]]


def vector(text: str, dimensions: int = DIMENSIONS) -> list[float]:
    """The server's vector of a text, not of length 1: the text's length, and counts of three words."""
    words = text.lower().split()
    counts = [words.count(one) + 0.1 for one in ("tea", "bike", "server")]
    return ([len(text) / 1000, *counts] * dimensions)[:dimensions]


@dataclass(frozen=True)
class Fault:
    """What happens to one request: a status, a wait, a dropped connection, other vectors or another text."""

    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    message: str = "the server says no"
    seconds: float = 0.0
    together: int = 0
    """Before it is answered, this many requests must have been there at one moment."""
    drop: bool = False
    drip: float = 0.0
    """Seconds before each byte of the answer."""
    vectors: Callable[[Vectors], Vectors] = list
    numbers: Callable[[int], Sequence[int]] = range
    text: Callable[[str], str] = str


@dataclass(frozen=True)
class Request:
    """What one request said."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def texts(self) -> list[str]:
        if "requests" in self.body:
            return [one["content"]["parts"][0]["text"] for one in self.body["requests"]]
        return list(self.body["input"])

    @property
    def dimensions(self) -> int:
        """How many numbers a vector is asked to have, in the words of any of the four."""
        first = self.body.get("requests", [self.body])[0]
        names = ("dimensions", "output_dimension", "outputDimensionality")
        return next((first[name] for name in names if first.get(name)), DIMENSIONS)


@dataclass
class Server:
    """The server's address, the faults still to come, and what it has been asked."""

    url: str = ""
    faults: deque[Fault] = field(default_factory=deque)
    requests: list[Request] = field(default_factory=list)
    always: Fault = Fault()
    now: int = 0
    most: int = 0
    """How many requests there are at this moment, and the most that there were at one."""

    lock: threading.Lock = field(default_factory=threading.Lock)

    def reset(self) -> None:
        """As new, once the requests of before have ended."""
        while self.now:
            time.sleep(0.01)
        self.faults.clear()
        self.requests.clear()
        self.always, self.most = Fault(), 0

    def next_fault(self) -> Fault:
        with self.lock:
            return self.faults.popleft() if self.faults else self.always

    def has_heard(self, requests: int) -> None:
        """Waits for requests that have been sent, and perhaps given up, but not for ever."""
        ends = time.monotonic() + DEADLINE
        while len(self.requests) < requests and time.monotonic() < ends:
            time.sleep(0.005)

    def wait_for_the_most(self, requests: int) -> None:
        """Until so many were there at one moment, but not for ever."""
        ends = time.monotonic() + DEADLINE
        while self.most < requests and time.monotonic() < ends:
            time.sleep(0.005)

    @contextmanager
    def counted(self, request: Request) -> Iterator[None]:
        with self.lock:
            self.requests.append(request)
            self.now += 1
            self.most = max(self.most, self.now)
        try:
            yield
        finally:
            with self.lock:
                self.now -= 1


class Handler(BaseHTTPRequestHandler):
    """Answers each request as the next fault says."""

    state: Server
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        request = Request(self.path, {name.lower(): value for name, value in self.headers.items()}, body)
        with self.state.counted(request):
            fault = self.state.next_fault()
            self.state.wait_for_the_most(fault.together)
            time.sleep(fault.seconds)
            if fault.drop:
                self.connection.close()
                self.close_connection = True
                return
        self._send(fault, self._answer(request, fault))

    def _answer(self, request: Request, fault: Fault) -> dict[str, Any]:
        if fault.status != 200:
            error = {"message": fault.message, "code": fault.status, "status": "SAID_NO"}
            return {"error": error}
        vectors = fault.vectors([vector(text, request.dimensions) for text in request.texts])
        if "requests" in request.body:
            return {"embeddings": [{"values": one} for one in vectors]}
        rows = [
            {"object": "embedding", "index": number, "embedding": one}
            for number, one in zip(fault.numbers(len(vectors)), vectors, strict=True)
        ]
        return {"object": "list", "data": rows, "model": request.body["model"], "usage": {}}

    def _send(self, fault: Fault, answer: dict[str, Any]) -> None:
        data = fault.text(json.dumps(answer)).encode()
        try:
            self.send_response(fault.status)
            for name, value in (("Content-Type", "application/json"), *fault.headers):
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            for start in range(0, len(data), 1 if fault.drip else len(data)):
                time.sleep(fault.drip)
                self.wfile.write(data[start : start + (1 if fault.drip else len(data))])
        except ConnectionError:
            self.close_connection = True  # the client has not waited

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass


@contextmanager
def serving() -> Iterator[Server]:
    """A server on a free port of 127.0.0.1, until the end of the block."""
    state = Server()
    handler = type("BoundHandler", (Handler,), {"state": state})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    state.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
