"""What an agent gets: chunks, lines of files and explanations, in the form of two releases of OpenClaw."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests import world
from workbench.errors import InputError
from workbench.memory.options import Options
from workbench.memory.sources import utf16_length
from workbench.memory.sync import index_folder
from workbench.systems.catalogue import SYSTEMS, openclaw
from workbench_plugins.agent.answer_length import MOST_TOKENS, tokens
from workbench_plugins.agent.excerpts import MOST_UNITS, bounded
from workbench_plugins.agent.tool_contracts import (
    CONTRACTS,
    FEBRUARY,
    SEPTEMBER,
    WORKBENCH,
    Citations,
    Contract,
)
from workbench_plugins.agent.tools import AgentTools

QUESTION = "where is the rooibos tea"


def over(folder: Path, **options: Any) -> AgentTools:
    """The tools over the memory in `folder`."""
    root, file = folder / "memory_of_wren", folder / "index.sqlite"
    return AgentTools(root, **{"embedder": world.EMBEDDER, "index_path": file, **options})


def table(name: str) -> list[Any]:
    """The rows of a table beside this file."""
    text = Path(__file__).with_name(f"{name}.yaml").read_text(encoding="utf-8")
    rows: list[Any] = yaml.safe_load(text)
    return rows


@pytest.fixture
def tools(folder: Path) -> Iterator[AgentTools]:
    with over(folder) as made:
        yield made


def add(folder: Path, path: str, text: str) -> None:
    world.write(folder / "memory_of_wren", {path: text})
    index_folder(
        folder / "memory_of_wren", world.EMBEDDER, options=Options(index_path=folder / "index.sqlite")
    )


# memory_search


def test_the_answer_of_february(folder: Path) -> None:
    with over(folder, contract=FEBRUARY, pipeline=openclaw.SHIPPED) as tools:
        answer = tools.memory_search("rooibos tea")
    first = answer["results"][0]
    assert list(first) == ["path", "startLine", "endLine", "score", "snippet", "source", "citation"]
    assert [first[name] for name in ("path", "source")] == ["memory/tea.md", "memory"]
    assert first["score"] == pytest.approx(0.7 * 1.0 + 0.3 * 1.0)
    assert first["citation"] == "memory/tea.md#L1-L3"
    assert first["snippet"] == f"{world.NOTES['memory/tea.md'].strip()}\n\nSource: memory/tea.md#L1-L3"
    del answer["results"]
    assert answer == {"provider": "local", "model": world.EMBEDDER.name, "citations": "auto"}


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("openai/text-embedding-3-small", ("openai", "text-embedding-3-small")),
        ("somebody/model", ("local", "somebody/model")),
    ],
)
def test_an_answer_names_the_provider_of_the_model(tmp_path: Path, name: str, told: tuple[str, str]) -> None:
    root, file = world.write(tmp_path / "memory_of_wren"), tmp_path / "index.sqlite"
    embedder = replace(world.EMBEDDER, name=name)
    index_folder(root, embedder, options=Options(index_path=file))
    with AgentTools(root, embedder=embedder, index_path=file, contract=FEBRUARY) as tools:
        answer = tools.memory_search("rooibos tea")
    assert (answer["provider"], answer["model"]) == told


def test_the_answer_of_september_says_more(tools: AgentTools) -> None:
    answer = tools.memory_search(QUESTION)
    assert answer["mode"] == "hybrid"
    assert answer["corpora"] == [{"corpus": "memory", "outcome": "ok"}]
    assert answer["debug"]["hits"] == len(answer["results"]) > 0
    assert {one["corpus"] for one in answer["results"]} == {"memory"}
    assert not {"stale", "warning", "action", "disabled"} & answer.keys()


def test_without_a_keyword_leg_february_gives_the_vector_rows_with_their_ids(folder: Path) -> None:
    with over(folder, contract=FEBRUARY, pipeline=openclaw.WORKAROUND) as tools:
        assert all(len(one["id"]) == 64 for one in tools.memory_search(QUESTION)["results"])
    with over(folder, pipeline=openclaw.WORKAROUND) as tools:
        answer = tools.memory_search(QUESTION)
        assert answer["mode"] == "vector"
        assert answer["results"]
        assert not any("id" in one for one in answer["results"])


@pytest.mark.parametrize(("mode", "session", "cited"), table("citations"))
def test_citations_are_for_a_chat_between_two(mode: str, session: str, cited: bool, folder: Path) -> None:
    with over(folder, citations=Citations(mode), session_key=session) as tools:
        answer = tools.memory_search(QUESTION)
    assert answer["citations"] == mode
    for one in answer["results"]:
        assert ("citation" in one) == ("\n\nSource: " in one["snippet"]) == cited


def snippets(tools: AgentTools, path: str) -> list[str]:
    """What a search for a cup shows of a file."""
    return [one["snippet"] for one in tools.memory_search("cup")["results"] if one["path"] == path]


@pytest.mark.parametrize(("contract", "begins"), [(FEBRUARY, "# Tea"), (SEPTEMBER, " \n# Tea")])
def test_february_trims_a_cited_snippet_and_september_only_its_end(
    contract: Contract, begins: str, folder: Path
) -> None:
    add(folder, "memory/tea.md", " \n# Tea\nrooibos tea cup\n \n")
    cited = f"{begins}\nrooibos tea cup\n\nSource: memory/tea.md#L1-L5"
    with over(folder, contract=contract) as tools:
        assert snippets(tools, "memory/tea.md") == [cited]


@pytest.mark.parametrize(("text", "kept"), [("x" * 900, 700), ("🚲" * 400, 350), ("x" + "🚲" * 400, 1 + 349)])
def test_a_snippet_has_at_most_700_utf16_units_and_whole_characters(
    text: str, kept: int, folder: Path
) -> None:
    add(folder, "memory/long.md", f"{text} cup cup cup")
    with over(folder, citations=Citations.OFF) as tools:
        assert snippets(tools, "memory/long.md") == [text[:kept]]
    assert utf16_length(text[:kept]) in (699, 700)


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_system_can_stand_behind_the_tool(name: str, folder: Path) -> None:
    with over(folder, pipeline=SYSTEMS[name]) as tools:
        answer = tools.memory_search(QUESTION, max_results=2)
        explained = tools.memory_explain(QUESTION, "memory/plain.md", max_results=2)
        strict = tools.memory_search(QUESTION, min_score=1e9)["results"]
    assert strict == [] or "rescue" in [stage.slot for stage in SYSTEMS[name].stages]
    json.dumps([answer, explained], allow_nan=False)
    assert len(answer["results"]) <= 2
    assert [one["path"] for one in answer["results"]] == [one["path"] for one in explained["results"]]


def test_a_corpus_keeps_its_own_source(tools: AgentTools) -> None:
    everything = [one["path"] for one in tools.memory_search(QUESTION)["results"]]
    assert [one["path"] for one in tools.memory_search(QUESTION, corpus="memory")["results"]] == everything
    assert tools.memory_search(QUESTION, corpus="sessions")["results"] == []
    wiki = tools.memory_search(QUESTION, corpus="wiki")
    assert (wiki["results"], wiki["corpora"]) == ([], [{"corpus": "wiki", "outcome": "unavailable"}])
    assert "no wiki" in wiki["warning"]


def test_a_memory_that_has_changed_since_is_said_to_be_stale(tools: AgentTools) -> None:
    (tools.memory / "memory" / "new.md").write_text("# New\n", encoding="utf-8")
    answer = tools.memory_search(QUESTION)
    assert (answer["stale"], "workbench index" in answer["action"]) == (True, True)
    assert "1 file differs, memory/new.md first" in answer["warning"]


def test_without_an_index_the_search_is_disabled_and_says_what_to_do(folder: Path) -> None:
    missing = folder / "none.sqlite"
    with over(folder, index_path=missing, contract=FEBRUARY) as tools:
        answer = tools.memory_search(QUESTION)
        assert list(answer) == ["results", "disabled", "error"]
        assert (answer["results"], answer["disabled"]) == ([], True)
    with over(folder, index_path=missing) as tools:
        answer = tools.memory_search(QUESTION)
        assert (answer["disabled"], answer["unavailable"], answer["results"]) == (True, True, [])
        assert answer["corpora"] == [{"corpus": "memory", "outcome": "unavailable"}]
        assert "no index" in answer["error"]
        assert "workbench index" in answer["action"]
        assert tools.memory_explain(QUESTION)["disabled"]
        index_folder(tools.memory, world.EMBEDDER, options=Options(index_path=missing))
        assert tools.memory_search(QUESTION)["results"]


CALLS = table("bad_calls")
CALLS += [["both", "memory_search", {"query": query}, ""] for query in ("half \ud800", "tea " * 2000)]
BAD_CALLS = [(name, *call) for name in CONTRACTS for form, *call in CALLS if form in ("both", name)]


@pytest.mark.parametrize(("name", "tool", "arguments", "description"), BAD_CALLS)
def test_arguments_that_cannot_be_used_are_named_with_a_remedy(
    name: str, tool: str, arguments: dict[str, Any], description: str, folder: Path
) -> None:
    with over(folder, contract=CONTRACTS[name]) as tools, pytest.raises(InputError) as error:
        tools.call(tool, arguments)
    assert description in error.value.problem
    assert error.value.remedy


def test_what_only_february_takes(folder: Path) -> None:
    with over(folder, contract=FEBRUARY) as tools:
        for loose, count in (("2", 2), (0.1, 0), (-1, 0)):
            found = tools.call("memory_search", {"query": QUESTION, "maxResults": loose})["results"]
            assert len(found) == count
        tools.call("memory_search", {"query": QUESTION, "minScore": "0.2"})
        read = tools.memory_get("memory/tea.md", 1.9, 1.2)
        assert read == {"text": "# Tea", "path": "memory/tea.md"}


# memory_get


def test_what_a_search_finds_can_be_read(tools: AgentTools) -> None:
    for found in tools.memory_search(QUESTION)["results"]:
        read = tools.memory_get(found["path"], found["startLine"], found["endLine"])
        assert (read["status"], read["path"]) == ("ok", found["path"])
        assert read["text"] == world.NOTES[found["path"]].removesuffix("\n")


@pytest.mark.parametrize(("release", "path", "corpus", "answers"), table("reads"))
def test_each_release_reads_a_file_or_says_why_not(
    release: str, path: str, corpus: dict[str, str], answers: dict[str, Any], folder: Path
) -> None:
    world.write(folder / "memory_of_wren", {"USER.md": "She is Wren.\n"})
    with over(folder, contract=CONTRACTS[release]) as tools:
        answer = tools.memory_get(path.format(memory=tools.memory.resolve()), **corpus)
    assert answers.items() <= answer.items()
    if (CONTRACTS[release], path) == (FEBRUARY, "memory/none.md"):
        assert answer["error"].startswith("ENOENT")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_file_without_permission_says_so(tools: AgentTools) -> None:
    (tools.memory / "memory" / "tea.md").chmod(0)
    read = tools.memory_get("memory/tea.md")
    assert (read["status"], read["code"]) == ("error", "EACCES")


def test_a_folder_of_any_markdown_is_readable_as_it_is_indexed(tmp_path: Path) -> None:
    world.write(tmp_path, {"notes/a.md": "tea", ".trash/b.md": "gone"})
    tools = AgentTools(tmp_path, embedder=world.EMBEDDER)
    assert tools.memory_get("notes/a.md")["text"] == "tea"
    assert tools.memory_get(".trash/b.md")["status"] == "error"


@pytest.mark.parametrize("extra", ["../beside", "{outer}/beside", "../beside/a.md"])
def test_an_extra_path_may_be_read_by_the_path_that_a_search_gives(extra: str, folder: Path) -> None:
    world.write(folder, {"beside/a.md": "a note beside", "beside/a.txt": "no note", "other/a.md": "no"})
    with over(folder, extra_paths=(extra.format(outer=folder),)) as tools:
        read = tools.memory_get("../beside/a.md")
        assert (read["text"], read["path"]) == ("a note beside", "../beside/a.md")
        for one in ("../beside/a.txt", "../other/a.md"):
            assert tools.memory_get(one)["status"] == "error"


def test_what_was_indexed_beside_the_memory_can_be_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKBENCH_HOME", str(folder / "cache"))
    world.write(folder, {"beside/a.md": "rooibos tea beside"})
    root, file = folder / "memory_of_wren", folder / "index.sqlite"
    index_folder(root, world.EMBEDDER, options=Options(index_path=file, extra=["../beside"]))
    with over(folder) as tools:
        assert "../beside/a.md" in [one["path"] for one in tools.memory_search(QUESTION)["results"]]
        assert tools.memory_get("../beside/a.md")["text"] == "rooibos tea beside"
    with over(folder, extra_paths=()) as tools:
        assert tools.memory_get("../beside/a.md")["status"] == "error"


def test_a_long_file_comes_in_parts_that_make_the_whole() -> None:
    text = "".join(f"{number} {'🚲' * (number % 90)}\n" for number in range(1, 1000))
    start: int | None = 1
    whole: list[str] = []
    while start is not None:
        part = bounded(text, start)
        assert part.start == start
        lines = part.text.split("\n")[: part.lines]
        assert utf16_length("\n".join(lines)) <= MOST_UNITS
        whole += lines
        start = part.next_start
    assert "\n".join(whole) + "\n" == text


# memory_explain


def test_an_explanation_counts_what_each_stage_dropped(tools: AgentTools) -> None:
    answer = tools.memory_explain(QUESTION, max_results=1, more=True)
    dropped = answer["dropped"]
    assert len(answer["results"]) == 1
    assert dropped["count"] == sum(dropped["by"].values()) == len(dropped["nearest"]) > 0
    assert "limit: keep the first 1" in dropped["by"]
    assert answer["legs"]["keyword"]["asked"] in answer["says"]
    assert "file" not in answer


def test_an_explanation_says_why_a_file_is_here_or_not(tools: AgentTools) -> None:
    for path, fate in (("memory/tea.md", "returned"), ("./memory/none.md", "not in the index")):
        for more in (False, True):
            file = tools.memory_explain(QUESTION, path, more=more)["file"]
            assert (file["fate"], file["target"]) == (fate, path.removeprefix("./"))
            assert fate.upper() in file["says"]


def test_an_explanation_of_a_file_has_at_most_so_many_tokens(folder: Path) -> None:
    long = "a-very-long-folder-name-" * 6
    for number in range(30):
        add(folder, f"memory/{long}/{long}/tea-{number}.md", f"# Rooibos {number}\nSome rooibos tea.\n" * 9)
    with over(folder, contract=WORKBENCH, pipeline=SYSTEMS["engine-rrf-60"]) as tools:
        every = tools.memory_explain("rooibos tea", max_results=1)
        short = tools.memory_explain("rooibos tea", f"memory/{long}/{long}/tea-29.md", max_results=1)
    assert tokens(short) <= MOST_TOKENS
    assert 1 <= len(short["dropped"]["nearest"]) < len(every["dropped"]["nearest"])


def test_an_answer_has_at_most_so_many_tokens_and_the_next_one_has_the_rest(folder: Path) -> None:
    for number in range(30):
        add(folder, f"memory/tea-{number}.md", f"# Rooibos {number}\n" + "Some rooibos tea, and a cup. " * 20)
    seen, more = [], 1
    with over(folder, contract=WORKBENCH, pipeline=SYSTEMS["engine-rrf-60"]) as tools:
        while more:
            answer = tools.memory_search("rooibos tea", 25, more=more)
            assert tokens(answer) <= MOST_TOKENS
            assert all(row["snippet"].startswith("> ") for row in answer["results"])
            seen += [row["path"] for row in answer["results"]]
            more = answer.get("more", 0)
        explained = tools.memory_explain("rooibos tea", "memory/tea-3.md", max_results=25)
        assert tokens(explained) < tokens(tools.memory_explain("rooibos tea", "memory/tea-3.md", more=True))
        whole = replace(tools.contract, most_tokens=None)
        tools.contract = whole
        assert seen == [row["path"] for row in tools.memory_search("rooibos tea", 25)["results"]]
    assert len(seen) == 25


def test_a_search_gives_the_columns_of_its_trace_on_request(folder: Path) -> None:
    with over(folder, contract=WORKBENCH, pipeline=SYSTEMS["engine-rrf-60"]) as tools:
        plain = tools.memory_search("rooibos tea")
        answer = tools.memory_search("rooibos tea", columns=True)
        whole = tools.memory_explain("rooibos tea", more=True)
    for row, one in zip(answer["results"], whole["results"], strict=True):
        numbers = row.pop("columns")
        assert {"vector_raw", "vector_rank", "score"} <= numbers.keys()
        assert numbers == {name: one[name] for name in numbers}
    assert answer.pop("legs") == whole["legs"]
    assert answer == plain


def test_an_explanation_says_that_its_file_has_changed_since_it_was_indexed(folder: Path) -> None:
    world.write(folder / "memory_of_wren", {"memory/tea.md": "Now it is coffee.\n"})
    with over(folder) as tools:
        said = tools.memory_explain(QUESTION, "memory/tea.md")["warning"]
        other = tools.memory_explain(QUESTION, "memory/bike.md")["warning"]
        stale = tools.memory_search(QUESTION)["action"]
        (folder / "memory_of_wren/memory/tea.md").unlink()
        gone = tools.memory_explain(QUESTION, "memory/tea.md")["warning"]
    command = f"workbench index {folder / 'memory_of_wren'} --index {folder / 'index.sqlite'}"
    assert said.startswith("memory/tea.md has changed since it was indexed")
    assert gone.startswith("memory/tea.md is no longer in the memory: this is about the text that it had.")
    assert other.startswith("1 file changed since the memory was indexed, such as memory/tea.md.")
    assert all(one.endswith(command) for one in (said, other, stale))


def test_the_floor_is_the_strictest_one_that_costs_no_label_its_file(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    root = folder / "memory_of_wren"
    asked = [{"question": f"rooibos tea {number}", "target": "memory/tea.md"} for number in range(20)]
    labels = {"questions": asked, "controls": [f"does the server drink tea {n}" for n in range(5)]}
    (root / "questions.yaml").write_text(yaml.safe_dump(labels), encoding="utf-8")
    pipeline = SYSTEMS["openclaw-2026.2.13-vector-only"]
    with over(folder, pipeline=pipeline, calibrated=True) as tools:
        tools.memory_search("rooibos tea")
        assert tools.pipeline != pipeline
        assert "Unanswerable questions that get an answer: 0 of 5, before 5" in caplog.text
        for one in asked:
            paths = [hit["path"] for hit in tools.memory_search(one["question"])["results"]]
            assert "memory/tea.md" in paths
    labels["questions"] = asked[:18]
    (root / "questions.yaml").write_text(yaml.safe_dump(labels), encoding="utf-8")
    with over(folder, pipeline=pipeline, calibrated=True) as tools:
        tools.memory_search("rooibos tea")
        assert tools.pipeline == pipeline
    assert "18 labelled questions find their file" in caplog.text


# memory_diagnose


def test_a_diagnosis_has_the_form_of_the_command_and_is_priced_with_the_memorys_labels(folder: Path) -> None:
    labels = "questions:\n- question: afternoon rooibos\n  target: memory/tea.md\n"
    (folder / "memory_of_wren" / "questions.yaml").write_text(labels, encoding="utf-8")
    with over(folder) as tools:
        answer = tools.memory_diagnose("afternoon rooibos", "memory/bike.md")
    keys = {"question", "target", "fate", "indexed_otherwise", "causes", "fixes", "price", "says"}
    assert keys == set(answer)
    assert "What happened" in answer["says"]
    assert all(fix["verified"] for fix in answer["fixes"])
    assert (answer["price"]["proxy"], answer["price"]["questions"]) == (False, 1)


def test_an_answer_without_result_or_file_names_the_next_step(folder: Path, tmp_path: Path) -> None:
    with over(folder, contract=WORKBENCH) as tools:
        empty = tools.memory_search("zebra", min_score=0.99)
        next_step = "Use other words, or ask memory_explain why."
        assert (empty["results"], empty["action"]) == (
            [],
            f"Nothing found: no leg brought a candidate. {next_step}",
        )
        silenced = tools.memory_search("rooibos bike tomorrow", min_score=0.99)["action"]
        first = "memory/both.md:1-3: score 0.986 < 0.990, so the added floor drops it"
        assert silenced == f"Nothing returned. The first in order was {first}. {next_step}"
        assert "action" not in tools.memory_search(QUESTION)
        said = tools.memory_explain(QUESTION, "memory/te.md")["file"]["says"]
        assert said.endswith("\nThe most similar path is memory/tea.md.")
        assert tools.memory_get("memory/te.md")["action"] == "Give a path as memory_search returns it."
        world.write(folder / "memory_of_wren", {"memory/later.md": "Now it is coffee.\n"})
        later = tools.memory_explain(QUESTION, "memory/later.md")
        assert later["warning"].startswith("1 file changed since the memory was indexed")
    with over(folder, contract=SEPTEMBER) as tools:
        assert "Nothing" not in tools.memory_search("zebra", min_score=0.99).get("action", "")
    root, file = world.write(tmp_path / "bare", {"memory/a.md": " \n"}), tmp_path / "bare.sqlite"
    index_folder(root, world.EMBEDDER, options=Options(index_path=file))
    with AgentTools(str(root), embedder=world.EMBEDDER, index_path=file, contract=WORKBENCH) as tools:
        assert tools.memory_search(QUESTION)["action"].startswith("The index has no text")
