"""What answers as it is told: an expander, a reranker, and a server on this machine."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from workbench.errors import ProviderError

Body = dict[str, Any]


@dataclass(frozen=True)
class Told:
    """An expander and a reranker that answers with the result of `give`."""

    give: Callable[[Any], Any]
    name: str = "test"

    def variants(self, question: str) -> Any:
        return self.give(question)

    def scores(self, question: str, texts: Sequence[str]) -> Any:
        return self.give(texts)


def failing(_: Any) -> Any:
    raise ProviderError("it is down", "wait")


@contextmanager
def server(answer: Callable[[Body], tuple[int, Any]]) -> Iterator[str]:
    """The address of a server; `answer` gets the body and path of a request, and gives status and text."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, said = answer({"path": self.path, **body})
            data = (said if isinstance(said, str) else json.dumps(said)).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            pass

    running = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=running.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{running.server_address[1]}/v2"
    finally:
        running.shutdown()
        running.server_close()


def saying(text: str) -> Callable[[Body], tuple[int, Any]]:
    """The answer of a chat model that says `text`."""
    return lambda _: (200, {"choices": [{"message": {"content": text}}]})
