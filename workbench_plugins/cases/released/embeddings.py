"""A server on this machine with OpenAI's embeddings API, whose model is the packaged all-MiniLM-L6-v2.

It reads the first 256 word pieces of a text and embeds one text at a time, so that a vector does not depend
on what else was in the request. Run it alone to serve any program:

    python -m workbench_plugins.cases.released.embeddings 8900
"""

from __future__ import annotations

import base64
import json
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast

import numpy as np

from workbench.errors import InputError
from workbench.memory.embedding.local import Embedder, LocalEmbedder, Truncated


class Embeddings(ThreadingHTTPServer):
    """The server. It keeps the vectors of the texts that it has seen, and those that it has refused."""

    request_queue_size = 128

    def __init__(self, port: int, embedder: Embedder) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self._embedder = embedder
        self._known: dict[str, Any] = {}
        self.refused: list[str] = []
        self._lock = threading.Lock()

    @property
    def url(self) -> str:
        """The address that a client takes for OpenAI's."""
        return f"http://127.0.0.1:{self.server_port}/v1"

    def vectors(self, texts: Sequence[str]) -> list[Any]:
        """The vector of each text, float32 and of length 1."""
        with self._lock:
            for text in texts:
                if text not in self._known:
                    (self._known[text],) = self._embedder.embed([text], "passage").vectors
            return [self._known[text] for text in texts]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        given = body["input"]
        texts = [_whole(text) for text in ([given] if isinstance(given, str) else given)]
        server = cast(Embeddings, self.server)
        try:
            vectors = server.vectors(texts)
        except InputError as error:
            server.refused += texts
            self._send(400, {"error": {"message": error.problem}})
            return
        as_text = body.get("encoding_format") == "base64"
        rows = [
            {"object": "embedding", "index": number, "embedding": _encoded(vector, as_text)}
            for number, vector in enumerate(vectors)
        ]
        usage = {"prompt_tokens": 0, "total_tokens": 0}
        self._send(200, {"object": "list", "model": body["model"], "data": rows, "usage": usage})

    def _send(self, status: int, answer: Any) -> None:
        sent = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)

    def log_message(self, *arguments: Any) -> None:
        """Print nothing for a request."""


def _whole(text: str) -> str:
    """The text with U+FFFD for each half of a character; JavaScript can cut a text within a character."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _encoded(vector: Any, as_text: bool) -> str | list[float]:
    if as_text:
        return base64.b64encode(vector.astype("<f4").tobytes()).decode()
    return [float(number) for number in vector.astype(np.float64)]


@contextmanager
def served(port: int = 0, embedder: Embedder | None = None) -> Iterator[Embeddings]:
    """A running server at `port`, or at a free one; another embedder can be served."""
    server = Embeddings(port, embedder or LocalEmbedder(reading=Truncated()))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


if __name__ == "__main__":
    with served(int(sys.argv[1]) if len(sys.argv) > 1 else 8900) as running:
        print(running.url, flush=True)
        threading.Event().wait()
