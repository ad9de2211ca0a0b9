"""The code of some pages runs, they show what commands print, and the JSON of a diagnosis is as described."""

from __future__ import annotations

import re
import shlex
from typing import Any

import psycopg
import pytest

from tests import world
from tests.commands import Run
from tests.conftest import PROJECT
from workbench.errors import InputError
from workbench.measure.evaluation import evaluate
from workbench.measure.questions import Question, QuestionSet
from workbench.memory.index import MemoryIndex
from workbench.retrieval.pipeline import search
from workbench.systems.openclaw import SHIPPED
from workbench_plugins.diagnose.diagnosis import diagnose
from workbench_plugins.diagnose.page import FORMAT
from workbench_plugins.runs.recorder import NoMemory, Recorder

TEXT = (PROJECT / "docs" / "measuring.md").read_text(encoding="utf-8")
_, FIGURE, FIRST, RECORDED, PGVECTOR = re.findall(r"^```python\n(.*?)^```$", TEXT, re.M | re.S)
ASKED = QuestionSet(questions=(Question(question="rooibos tea", target="memory/tea.md"),))


def run(block: str, **names: Any) -> dict[str, Any]:
    names["Recorder"] = Recorder
    exec(compile(block, "docs/measuring.md", "exec"), names)
    return names


def test_the_block_of_a_figure_draws_plain_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    run(FIGURE)
    assert "right file (2 of 2 pass)" in capsys.readouterr().out


def test_the_first_block_puts_a_function_beside_a_system(
    sample: MemoryIndex, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(PROJECT)
    run(FIRST)
    assert "my-engine" in capsys.readouterr().out


def test_the_block_of_the_recorder_explains_what_another_engine_left_out(
    capsys: pytest.CaptureFixture[str],
) -> None:
    run(RECORDED)
    assert (
        "not returned; position 3 of 3 [inferred; the recorded list does not have it]"
        in capsys.readouterr().out
    )


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


def test_an_engine_that_is_down_is_an_error_and_not_an_unanswered_question() -> None:
    def down(question: str) -> list[tuple[str, float]]:
        raise ConnectionRefusedError(question)

    with pytest.raises(InputError, match="down has no answer to “rooibos tea”") as raised:
        evaluate(ASKED, [Recorder(down, "down").pipeline(limit=6)], NoMemory())
    assert isinstance(raised.value.__cause__, ConnectionRefusedError)
    assert "An empty list would mean that it finds nothing" in raised.value.remedy  # no advice to hide it


# docs/diagnose.md

PAGE = (PROJECT / "docs" / "diagnose.md").read_text(encoding="utf-8")
JSON = (PROJECT / "docs" / "commands.md").read_text(encoding="utf-8").partition("# JSON of diagnose\n")[2]


@pytest.fixture(scope="module")
def data(sample: MemoryIndex, questions: QuestionSet) -> dict[str, Any]:
    target = "memory/protocols/falsification-first.md"
    question = "how should I evaluate if a claim is actually true"
    return diagnose(question, SHIPPED, sample, target, questions=questions).as_json()


def described(heading: str) -> list[str]:
    """The keys in the first table below a heading of the description."""
    table = JSON.partition(heading)[2].partition("|---|---|\n")[2].partition("\n\n")[0]
    return [key for row in table.splitlines() for key in re.findall(r"`(\w+)`", row.split("|")[1])]


def test_the_keys_and_the_version_are_those_of_the_page(data: dict[str, Any]) -> None:
    keys = ["question", "target", "fate", "indexed_otherwise", "causes", "fixes", "price"]
    assert list(data) == keys == described("prints one object")
    assert list(data["causes"][0]) == described("Each of `causes`:")
    assert list(data["fixes"][0]) == described("Each of `fixes`:")
    assert list(data["price"]) == described("`price`:")
    assert f"This is version {FORMAT} of it" in JSON
    assert data["price"]["format"] == FORMAT


def test_the_code_of_the_page_runs(sample: MemoryIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PROJECT)
    codes = re.findall(r"^```python\n(.*?)^```$", PAGE, re.M | re.S)
    assert codes, "the page has code"
    for code in codes:
        exec(compile(code, "diagnose.md", "exec"), {})


PRINTING = [("diagnose", 1), ("measuring", 1), ("recommended", 3)]
"""Pages, each with its number of commands below which a page has what they print."""


@pytest.mark.parametrize(("page", "count"), PRINTING)
def test_a_page_shows_what_its_commands_print(
    run: Run, sample: MemoryIndex, monkeypatch: pytest.MonkeyPatch, page: str, count: int
) -> None:
    monkeypatch.chdir(PROJECT)
    text = (PROJECT / "docs" / f"{page}.md").read_text(encoding="utf-8").replace("\\\n", " ")
    blocks = re.findall(r"^```console\n\$ ([^\n]*)\n([^$`].*?)^```$", text, re.M | re.S)
    assert len(blocks) == count
    for command, output in blocks:
        printed = run(*shlex.split(command)[1:], "--index", sample.name).out
        shown = [*printed.replace(f" --index {sample.name}", "").splitlines(), "…"]
        assert [line for line in output.splitlines() if line not in shown] == []


@pytest.mark.usefixtures("own_cache")
def test_the_page_on_notes_begins_with_what_a_search_prints(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(PROJECT)
    text = (PROJECT / "docs" / "memories.md").read_text(encoding="utf-8")
    lines = text.partition("```console\n")[2].partition("```")[0].splitlines()
    commands = [line for line in lines if line.startswith("$ ")]
    *_, printed = [run(*shlex.split(command)[2:]).out for command in commands]
    assert [line for line in lines if line not in [*commands, *printed.splitlines(), "…"]] == []
