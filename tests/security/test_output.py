"""Names, notes, questions and messages are printed as text: no markup is read, no control code gets out."""

from __future__ import annotations

import io
import json
import re
import sys
from inspect import getfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from tests import world
from tests.commands import Outcome, Run, python
from tests.conftest import PROJECT
from workbench.cli.output import prepare_streams, print_output
from workbench.memory.options import Options
from workbench.memory.sync import index_folder
from workbench.safe_text import VISIBLE, json_text, one_line, visible
from workbench.tables import Block, Table
from workbench.terminal import PlainConsole, renderable
from workbench_plugins.agent.watching import Watcher

SYSTEM, OTHER = "openclaw-2026.2.13", "openclaw-2026.2.13+or+rrf+minmax"

MARKED = ["memory/plan [draft].md", "memory/x[red].md", "memory/c[/]d.md", "memory/[bold]b[/bold].md"]
HOSTILE = ["memory/t\x1b]0;owned\x07.md", "memory/e\x1b[2Je.md"]
HOSTILE += ["memory/r\u202egnp.md", "memory/n\nforged: line.md"]
QUESTION = "[/] rooibos \x1b[2J \x9b31m tea"
FORBIDDEN = {chr(code) for code in VISIBLE}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A memory whose names and notes hold markup and control characters, with its index beside it."""
    home = tmp_path_factory.mktemp("home")
    text = "# [red]Rooibos[/red] tea\nA cup of rooibos tea, number {}. [/]\x1b]0;owned\x07\x9b2J \u202eevil\n"
    notes = {name: text.format(place) for place, name in enumerate([*MARKED, *HOSTILE])}
    made = world.write(home / "memory_of_[red]wren", notes)
    questions = [{"question": QUESTION, "target": name, "kind": "[/]"} for name in [*MARKED, *HOSTILE]]
    labels = {"questions": questions, "controls": ["[/] \x1b[2J zyzzyva"]}
    (made / "questions.yaml").write_text(json.dumps(labels), encoding="utf-8")
    index_folder(made, options=Options(index_path=home / "i.sqlite"))
    return made


def options(root: Path) -> list[str]:
    return ["--memory", str(root), "--index", str(root.parent / "i.sqlite")]


def is_safe(outcome: Outcome) -> bool:
    assert "Traceback" not in outcome.err
    assert sorted(set(outcome.out) & FORBIDDEN) == []
    assert sorted(set(outcome.err) & FORBIDDEN) == []
    return True


def test_a_search_prints_every_name_whole(run: Run, root: Path) -> None:
    outcome = run("search", "rooibos tea", *options(root), "--limit", 20, "--min-score", -1)
    assert is_safe(outcome)
    assert [name for name in MARKED if name not in outcome.out] == []
    assert [name for name in HOSTILE if one_line(name) not in outcome.out] == []


def test_json_loses_nothing_and_holds_no_control_character(run: Run, root: Path) -> None:
    outcome = run("search", QUESTION, *options(root), "--limit", 20, "--min-score", -1, "--json")
    assert is_safe(outcome)
    found = outcome.json()
    assert {one["path"] for one in found["results"]} == {*MARKED, *HOSTILE}
    assert "\x9b2J \u202eevil" in found["results"][0]["snippet"]
    assert found["question"] == QUESTION


@pytest.mark.parametrize("name", [*MARKED, *HOSTILE])
def test_explain_names_the_file(run: Run, root: Path, name: str) -> None:
    for question in ("rooibos tea", QUESTION):
        outcome = run("explain", question, "--target", name, *options(root))
        assert is_safe(outcome)
        assert outcome.code in (0, 1)
        assert one_line(name) in " ".join(outcome.out.replace("\n", "").split("  "))


def test_tables_and_given_lists_are_printed_as_text(run: Run, root: Path, tmp_path: Path) -> None:
    lists = tmp_path / "[red]lists.json"
    lists.write_text(json.dumps({"vector": {"[/]a\x1b[2J": 1}, "keyword": {"[red]": 2}}))
    compared = ("compare", SYSTEM, OTHER, "-q", QUESTION, "--min-score", -1)
    for shown, *command in (
        ("[/]", "evaluate", "-s", SYSTEM, "-s", OTHER, "--details", *options(root)),
        ("[/] rooibos ␛[2J", *compared, *options(root)),
        ("[/]", "fusion", "-q", QUESTION, *options(root)),
        ("[/]a␛[2J 1", "fusion", "--lists", lists, "--watch", "[red]"),
    ):
        outcome = run(*command)
        assert (outcome.code, is_safe(outcome), str(shown) in outcome.out) == (0, True, True)


def test_index_watch_and_doctor_print_every_name(run: Run, root: Path, tmp_path: Path) -> None:
    index, bad = ["--index", tmp_path / "i.sqlite"], root / "memory" / "bad\x1b[2J[red].md"
    bad.write_bytes(b"caf\xe9")
    try:
        refused, skipped = run("index", root, *index, "--no-skip"), run("index", root, *index)
    finally:
        bad.unlink()
    assert (refused.code, is_safe(refused)) == (2, True)
    assert (skipped.code, is_safe(skipped)) == (0, True)
    assert "bad␛[2J[red].md" in refused.err
    assert "left out: memory/bad␛[2J[red].md" in skipped.err
    assert is_safe(run("doctor", "-m", root, *index))


def test_watch_prints_a_hostile_name_visibly(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def once(watcher: Watcher, stop: object) -> None:
        """Syncs once, and then is stopped as by Ctrl-C."""
        watcher.sync()
        raise KeyboardInterrupt

    made = world.write(tmp_path / "memory", {"MEMORY.md": "tea", HOSTILE[0]: "[/] tea"})
    (made / "memory" / "bad\x1b[2J[red].md").write_bytes(b"caf\xe9")
    (made / "memory" / "bad\nleft out: forged.md").write_bytes(b"caf\xe9")
    monkeypatch.setattr(Watcher, "run", once)
    outcome = run("watch", made, "--index", tmp_path / "i.sqlite")
    assert (outcome.code, is_safe(outcome)) == (0, True)
    assert "left out: memory/bad␛[2J[red].md" in outcome.err
    assert "left out: memory/bad␊left out: forged.md" in outcome.err
    assert "2 new" in outcome.out


EVIL = "[/]\x1b[2J"


@pytest.mark.parametrize(
    "command",
    [
        "sea\x1b[2Jrch", f"show name more{EVIL}", "search q --limit \x9b2J", f"search q -s {EVIL}",
        f"search q -m {EVIL}", f"show {EVIL}.json", f"museum {EVIL}", f"--config {EVIL}.json search q",
    ],
)  # fmt: skip
def test_an_error_repeats_hostile_input_visibly(run: Run, command: str) -> None:
    outcome = run(*command.split(" "))
    assert (outcome.code, is_safe(outcome)) == (2, True)
    assert outcome.err


def test_a_mistake_of_ours_shows_its_place_and_no_control_character(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise KeyError("\x1b]0;owned\x07 Authorization: Bearer abcdefgh12345")

    monkeypatch.setattr("workbench.cli.searching.systems_table", broken)
    outcome = run("systems")
    assert outcome.code == 70
    assert "report the lines above" in outcome.err
    assert "in broken" in outcome.err
    assert "abcdefgh12345" not in outcome.err
    assert sorted(set(outcome.out + outcome.err) & FORBIDDEN) == []


@pytest.mark.parametrize("command", [["search", "[/] “é” → \x1b[2J"], ["systems"], ["systems", "--json"]])
def test_an_output_that_is_only_ascii_is_enough(
    root: Path, command: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONIOENCODING", "ascii:strict")
    place = options(root) if command[0] == "search" else []
    outcome = python("-m", "workbench", *command, *place)
    assert (outcome.code in (0, 1), outcome.err) == (True, "")
    assert outcome.out.isascii()
    if "--json" in command:
        assert json.loads(outcome.out)


def test_a_key_of_the_environment_is_printed_nowhere(
    run: Run, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "key-of-the-environment-1")
    for command in (
        ["search", "tea key-of-the-environment-1", *options(root)],
        ["search", "tea key-of-the-environment-1", *options(root), "--json"],
        ["search", "tea", "-m", "key-of-the-environment-1"],
        ["key-of-the-environment-1"],
    ):
        outcome = run(*command)
        assert "key-of-the-environment-1" not in outcome.out + outcome.err


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_a_key_that_json_escapes_is_masked_in_json(encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    key = 'schlüssel"\\-geheim-1'
    out = io.TextIOWrapper(io.BytesIO(), encoding)
    monkeypatch.setenv("SOME_API_KEY", key)
    monkeypatch.setattr(sys, "stdout", out)
    print_output({key: [f"a kettle {key}", 1]}, as_json=True)
    out.seek(0)
    assert json.load(out) == {"…": ["a kettle …", 1]}


# Structure


@given(st.text())
def test_a_visible_line_has_no_control_character_and_keeps_its_length(text: str) -> None:
    assert not set(one_line(text)) & (FORBIDDEN | {"\n", "\t"})
    assert not set(visible(text)) & FORBIDDEN
    assert len(visible(text)) == len(one_line(text)) == len(text)


@given(st.text())
def test_json_keeps_every_text(text: str) -> None:
    for only_ascii in (False, True):
        written = json_text({text: [text]}, only_ascii)
        assert json.loads(written) == {text: [text]}
        assert not set(written) & FORBIDDEN


@given(st.text(st.sampled_from("[]/=abx#:@\x1b\x9b\u202e\n ")))
def test_no_cell_header_or_line_is_read_as_markup(text: str) -> None:
    table = Table("", ["one", one_line(text)], [(text, text)])
    for console in (Console(width=400), PlainConsole(width=400)):
        with console.capture() as captured:
            console.print(renderable([table, text, Block(text)]))
        squeezed = captured.get().replace(" ", "")
        assert squeezed.count(one_line(text).replace(" ", "")) >= 3
    assert not set(squeezed) & FORBIDDEN


RICH = r"^ *import rich|^ *from rich import|^ *from rich\.\w+ import .*\b(Console|Table|Markup)\b"
PRINTING = r"\bprint\(|\bs?echo\(|sys\.std(out|err)"


@pytest.mark.parametrize(
    ("pattern", "files", "home"),
    [(RICH, "workbench*/**/*.py", PlainConsole), (PRINTING, "workbench/cli/[a-z]*.py", prepare_streams)],
)
def test_only_one_module_makes_consoles_and_only_one_prints(pattern: str, files: str, home: Any) -> None:
    """Elsewhere a string could be read as markup, or as a command to the terminal.

    `workbench.cli` itself prints one constant sentence, before other modules are loaded.
    """
    texts = {file: file.read_text(encoding="utf-8") for file in PROJECT.glob(files)}
    assert [one for one, text in texts.items() if re.search(pattern, text, re.M)] == [Path(getfile(home))]
