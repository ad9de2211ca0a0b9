"""docs/your_engine.md is true: every block runs, on a real PostgreSQL and on a loopback server.

LangChain is not installed: its block runs with an object that has the same `invoke`.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest

from tests import world
from tests.conftest import PROJECT
from workbench.lab.evaluation import evaluate
from workbench.lab.exchange.no_memory import NoMemory
from workbench.lab.questions import Question, QuestionSet
from workbench.memory.index import MemoryIndex
from workbench.retrieval.pipeline import search

TEXT = (PROJECT / "docs" / "your_engine.md").read_text(encoding="utf-8")
FIRST, LANGCHAIN, PGVECTOR, HTTP = re.findall(r"^```python\n(.*?)^```$", TEXT, re.M | re.S)
ASKED = QuestionSet(questions=(Question(question="rooibos tea", target="memory/tea.md"),))


def run(block: str, **names: Any) -> dict[str, Any]:
    from workbench.lab.exchange.recorder import Recorder

    names["Recorder"] = Recorder
    exec(compile(block, "docs/your_engine.md", "exec"), names)
    return names


def test_the_first_block_puts_a_function_beside_a_system(
    sample: MemoryIndex, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(PROJECT)
    run(FIRST)
    assert "my-engine" in capsys.readouterr().out


def test_the_block_for_langchain_runs_with_an_object_that_has_its_interface() -> None:
    documents = [SimpleNamespace(metadata={"source": path}) for path in ("memory/tea.md", "MEMORY.md")]
    names = run(LANGCHAIN, ensemble=SimpleNamespace(invoke=lambda _: documents))
    (found,) = evaluate(ASKED, [names["langchain"]], NoMemory())
    assert (found.overall.hits, found.mrr) == (1, 1.0)


def test_the_block_for_pgvector_runs_on_a_real_server(postgres: str) -> None:
    def embed(text: str) -> list[float]:
        return [float(one) for one in world.EMBEDDER.embed([text], "query").vectors[0]]

    with psycopg.connect(postgres) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        connection.execute("CREATE TABLE notes (path text, embedding vector, words tsvector); ")
        for path, text in world.NOTES.items():
            connection.execute(
                "INSERT INTO notes VALUES (%s, %s::vector, to_tsvector('english', %s))",
                (path, str(embed(text)), text),
            )
    try:
        names = run(PGVECTOR, address=postgres, embed=embed)
        trace = search("a cup of rooibos tea", names["pgvector"], NoMemory())
        assert trace.paths()[0] == "memory/tea.md"
        assert trace.results[0].score == pytest.approx(1 / 61 + 1 / 61, abs=1e-3)
    finally:
        with psycopg.connect(postgres) as connection:
            connection.execute("DROP TABLE notes")


@pytest.fixture
def api() -> Iterator[str]:
    class Engine(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            hits = [{"_source": {"path": "memory/tea.md"}, "_score": float(asked["size"])}]
            body = json.dumps({"hits": {"hits": hits}}).encode()
            self.send_response(200)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002
            """Tests print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Engine)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    thread.join()
    server.server_close()


def test_the_block_for_an_api_asks_it(api: str) -> None:
    names = run(HTTP, url=api)
    (found,) = evaluate(ASKED, [names["api"]], NoMemory())
    assert found.overall.hits == 1
    assert found.asked[0].trace.results[0].score == 6.0


def test_an_api_that_is_down_is_an_error_and_not_an_unanswered_question() -> None:
    names = run(HTTP, url="http://127.0.0.1:9/")
    with pytest.raises(OSError, match="refused"):
        evaluate(ASKED, [names["api"]], NoMemory())
