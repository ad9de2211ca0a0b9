"""The commands and the code in the README, in docs/*.md and in what was measured work in this version."""

from __future__ import annotations

import importlib.util
import re
import shlex
from collections.abc import Iterator
from typing import Any

import pytest
import typer.main

from benchmarks import stores
from benchmarks.published.__main__ import bench
from benchmarks.speed import __main__ as speed
from docs import reference
from tests.commands import Run
from tests.conftest import PROJECT
from workbench.systems.catalogue import SYSTEMS

README = (PROJECT / "README.md").read_text(encoding="utf-8")
DOCS = sorted((PROJECT / "docs").glob("*.md"))
MEASURED = PROJECT / "workbench_plugins" / "recommended" / "measured.md"
TEXT = "\n".join([README, *(file.read_text(encoding="utf-8") for file in (*DOCS, MEASURED))])
ROOT: Any = reference.root_command()

INLINE = list(dict.fromkeys(re.findall(r"`((?:workbench|python -m|make) [^`]+)`", TEXT)))
PLACEHOLDER = re.compile(r"…|\[|\bA B\b|\b[A-Z]{4,}\b|openai/")
NOT_RUN = {
    "lab": "it opens JupyterLab",
    "serve": "it ends when a client ends it",
    "explore": "it ends with Ctrl-C",
    "evaluate --all": "it takes a minute; tests/lab runs the evaluation",
    "index --model": "it needs a provider's key",
    "config": "it needs your openclaw.json",
    "case": "it needs a case file; tests/lab/cases runs cases",
    "memory-search": "it needs a question",
}
OTHER_PROGRAMS = {
    "--build-arg", "--case-update", "--docs", "--explain", "--file", "--held", "--import", "--locomo",
    "--no-deps", "--publish", "--require-hashes", "--rm", "--tag", "--told", "--torch-backend", "--write",
}  # fmt: skip
"""Options of pip, pytest, qmd, `python -m tests.run_vectors` and of benchmarks."""


pytestmark = pytest.mark.usefixtures("in_project")


def test_the_readme_is_short_and_begins_with_the_two_first_commands() -> None:
    blocks = re.findall(r"^```\n(.*?)^```$", README, re.M | re.S)
    assert len(README.splitlines()) <= 120
    assert blocks[0].startswith("make lab ")
    assert blocks[1].startswith("$ .venv/bin/workbench demo\n")


def test_at_most_twelve_pages_are_written_by_hand() -> None:
    assert len([page for page in DOCS if page.name not in reference.PAGES]) <= 12


def words_of(text: str) -> list[str]:
    return shlex.split(text.replace("'", ""), comments=True)


def printed_commands() -> Iterator[tuple[str, str]]:
    """Each `$ workbench …` of the README with the output that is printed below it."""
    for block in re.findall(r"^```\n(\$ .*?)^```$", README, re.M | re.S):
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, _, output = part.replace("\\\n", " ").partition("\n")
            yield command, output


def pattern(output: str) -> str:
    """A pattern for printed output: line breaks may be elsewhere, and … stands for anything."""
    pieces = " ".join(output.split()).split("…")
    return ".*?".join(re.escape(piece) for piece in pieces)


PRINTED = list(printed_commands())


@pytest.mark.parametrize(("command", "output"), PRINTED, ids=lambda one: " ".join(one.split()[:2]))
def test_the_readme_prints_what_a_command_prints(run: Run, command: str, output: str) -> None:
    assert (len(PRINTED), len(INLINE) >= 20) == (2, True)
    outcome = run(*words_of(command)[1:])
    assert outcome.err == ""
    assert re.search(pattern(output), " ".join(outcome.out.split()))


def runnable() -> Iterator[str]:
    for text in INLINE:
        command = text.removeprefix("workbench ")
        listed = any(command == one or command.startswith(f"{one} ") for one in NOT_RUN)
        if command != text and not PLACEHOLDER.search(command) and not listed:
            yield command


@pytest.mark.usefixtures("own_cache")
@pytest.mark.parametrize(
    "command", [one for one in runnable() if len(one.split()) > 1 or one in ROOT.commands]
)
def test_a_command_in_the_text_runs(run: Run, command: str) -> None:
    words = words_of(command)
    if "-m" in words:
        run("index", words[words.index("-m") + 1])
    outcome = run(*words)
    assert outcome.code in (0, 1), outcome.err


def options_of(command: Any) -> Iterator[str]:
    for parameter in command.params:
        yield from (*parameter.opts, *parameter.secondary_opts)
    for inner in getattr(command, "commands", {}).values():
        yield from options_of(inner)


def command_in(words: list[str]) -> Any:
    command = ROOT
    for word in words:
        if word in getattr(command, "commands", {}):
            command = command.commands[word]
    return command


@pytest.mark.parametrize("text", [one for one in INLINE if one.startswith("workbench ")])
def test_a_command_in_the_text_has_the_options_that_are_written_with_it(text: str) -> None:
    words = words_of(text)[1:]
    command = command_in(words)
    assert command is not ROOT or {"--config", "--version"} & set(words), f"{text} names no command"
    known = {*options_of(command), *(option for one in ROOT.params for option in one.opts)}
    assert {word for word in words if re.match(r"--?[a-z]", word)} - known == set()


def test_every_option_in_the_text_is_one_of_some_command() -> None:
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", TEXT))
    scripts = [typer.main.get_command(one) for one in (bench, speed.script, stores.script)]
    known = {option for one in (ROOT, *scripts) for option in options_of(one)}
    assert named - known - OTHER_PROGRAMS == set()


def test_every_module_in_the_text_can_be_run() -> None:
    for text in (one for one in INLINE if one.startswith("python -m ")):
        module, *rest = words_of(text)[2:]
        assert importlib.util.find_spec(module) is not None, text
        assert [one for one in rest if "/" in one and not (PROJECT / one).exists()] == []


def test_every_make_target_in_the_text_is_in_the_makefile() -> None:
    targets = set(re.findall(r"^([a-z]+):", (PROJECT / "Makefile").read_text(encoding="utf-8"), re.M))
    named = {text.split()[1] for text in INLINE if text.startswith("make ")}
    named |= set(re.findall(r"^make ([a-z]+)", README, re.M))
    assert named >= {"lab", "test"}
    assert named <= targets


def test_the_code_of_the_readme_runs(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    for code in re.findall(r"^```python\n(.*?)^```$", README, re.M | re.S):
        exec(compile(code, "README.md", "exec"), {})
    assert "memory/reference/notification-routing.md" in capsys.readouterr().out


def test_every_link_and_every_path_in_the_text_leads_to_a_file() -> None:
    paths = [
        *re.findall(r"\]\(((?!https?:)[^)#]+)", TEXT),
        *re.findall(r"^(workbench/[\w./]*|[a-z_]+/)(?=\s)", README, re.M),
        *re.findall(r"`(workbench/[\w./]+|tests/[\w./]*)`", TEXT),
    ]
    folders = (PROJECT, PROJECT / "docs", MEASURED.parent)
    assert [one for one in paths if not any((at / one).exists() for at in folders)] == []


def test_the_reading_page_names_the_stages_in_their_order() -> None:
    page = (PROJECT / "docs" / "reading.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`[a-z_`, ]+`) \| `(retrieval/\w+\.py)` \|", page, re.M)
    named = [(slot, file) for slots, file in rows for slot in re.findall(r"\w+", slots)]
    stages = SYSTEMS["openclaw-2026.2.13"].stages
    assert [slot for slot, _ in named] == [stage.slot for stage in stages]
    bases = [[one.__module__ for one in type(stage).__mro__] for stage in stages]
    for (_, file), modules in zip(named, bases, strict=True):
        assert f"workbench.{file.removesuffix('.py').replace('/', '.')}" in modules


# the generated pages


@pytest.mark.parametrize("name", reference.PAGES)
def test_a_reference_page_is_up_to_date(name: str) -> None:
    page = (PROJECT / "docs" / name).read_text(encoding="utf-8")
    assert page == reference.PAGES[name](), f"docs/{name} is out of date. Run: {reference.RENEW}"


def test_the_table_of_newest_releases_has_each_release_that_is_recorded() -> None:
    told = {f"{one['name']} {one['compared']}" for one in reference.newest_releases()["packages"]}
    assert {package for package, _ in reference.recorded_releases()} <= told
    for one in reference.newest_releases()["packages"]:
        assert one["of"] <= reference.newest_releases()["asked"]
        assert "how" in one or f"{one['name']} {one['compared']}" in dict(reference.recorded_releases())


def test_each_product_that_is_only_read_names_its_version() -> None:
    page = (PROJECT / "docs" / "systems.md").read_text(encoding="utf-8")
    only_read = re.findall(
        r"^\| `([a-z]+)[\w+-]*` \| from its source, not run: \S+ .*\|  \|  \|  \|$", page, re.MULTILINE
    )
    named = [*reference.newest_releases()["packages"], *reference.newest_releases()["read"]]
    names = " ".join(one["name"] for one in named).lower()
    assert {"anythingllm", "dify", "weaviate"} <= {*only_read}
    assert [one for one in only_read if one not in names] == []


def test_every_command_and_every_system_is_on_its_page() -> None:
    commands, systems = ((PROJECT / "docs" / name).read_text(encoding="utf-8") for name in reference.PAGES)
    assert "\n## case run\n" in commands
    assert "\n## search\n" in commands
    assert all(f"\n## {name}\n" in systems for name in reference.SYSTEMS)


def test_the_shape_of_data_joins_the_types_of_a_key() -> None:
    found = reference.shape({"hits": [{"score": 0.5}, {"score": None}], "empty": []})
    assert found == {"hits": "list", "hits[].score": "null or number", "empty": "list"}
