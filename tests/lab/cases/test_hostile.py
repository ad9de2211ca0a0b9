"""Hostile and half-written case files: one clear error with line and field, and nothing read outside."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import world
from tests.commands import Run
from tests.lab.cases import example, run_file, table
from workbench.errors import InputError, WorkbenchError
from workbench.systems.catalogue import SYSTEMS
from workbench_plugins.cases.making import case_of
from workbench_plugins.cases.model import (
    LARGEST_FILE,
    MOST_VALUES,
    Case,
    case_text,
    load_case,
    parsed_case,
    save_case,
)
from workbench_plugins.cases.running import run_case
from workbench_plugins.reproduce.report_state import ReportState

GOOD = example("good")


def bomb() -> str:
    lines = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    lines += [
        f"{new}: &{new} [{', '.join([f'*{old}'] * 9)}]"
        for old, new in zip("abcdefgh", "bcdefghi", strict=True)
    ]
    return "\n".join(lines)


HUGE = [
    (bomb(), r"line 2: the alias \*a is not allowed"),
    ("a: " + "[" * 100_000, "line 1: it is nested more than 30 levels deep"),
    ("a:\n" + "- 1\n" * (MOST_VALUES + 10), "it has more than 300,000 values"),
]


@pytest.mark.parametrize(("old", "new", "description"), [*table("bad-cases"), *(("", *one) for one in HUGE)])
def test_a_bad_case_is_one_error_with_line_and_field(old: str, new: str, description: str) -> None:
    with pytest.raises(WorkbenchError, match=description) as raised:
        run_case(parsed_case(GOOD.replace(old, new) if old else new, "bad.case.yaml"))
    assert "\x1b" not in str(raised.value)


def test_a_file_of_100_megabytes_is_refused_at_once(tmp_path: Path, run: Run) -> None:
    file = tmp_path / "large.case.yaml"
    with file.open("wb") as out:
        out.truncate(100_000_000)
    outcome = run("case", "run", file)
    assert (outcome.code, outcome.out) == (2, "")
    assert f"has more than {LARGEST_FILE:,} bytes" in outcome.err


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder for a case, with links to the note and the configuration outside."""
    (tmp_path / "home" / "inner").mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.md").write_text("tea and a secret")
    (tmp_path / "openclaw.json").write_text("{}")
    for link, target in (("link", "outside"), ("inner/link", "outside"), ("link.json", "openclaw.json")):
        (tmp_path / "home" / link).symlink_to(tmp_path / target)
    return tmp_path / "home"


SYSTEM, MEMORY = "system: openclaw-2026.2.13", f"memory:{GOOD.partition('memory:')[2]}"
OUTSIDE = ("/etc", "../outside", "a/../../outside", "link", "inner/link", "a\\..\\outside", "/proc/self")
FILES = ("../openclaw.json", "/etc/openclaw.json", "link.json")
NAMES = ("/etc/openclaw.json", "openclaw-2026.2.13@/etc/openclaw.json")


@pytest.mark.parametrize(
    ("old", "new"),
    [(MEMORY, f"memory: {{folder: '{folder}'}}\n") for folder in OUTSIDE]
    + [(SYSTEM, f"system: {{openclaw: {{file: {file}}}}}") for file in FILES]
    + [(SYSTEM, f"system: {name}") for name in NAMES],
)
def test_nothing_outside_the_cases_own_folder_is_read(home: Path, old: str, new: str) -> None:
    (home / "x.case.yaml").write_text(GOOD.replace(old, new))
    with pytest.raises(InputError, match=r"leads out of its own folder|is the name of a file"):
        run_file(home / "x.case.yaml")


def test_a_link_inside_the_folder_is_refused_and_a_plain_note_is_read(home: Path) -> None:
    world.write(home / "notes", {"memory/tea.md": "Tea is in the pot."})
    (home / "x.case.yaml").write_text(GOOD.replace(MEMORY, "memory: {folder: notes}\n"))
    assert run_file(home / "x.case.yaml").holds
    (home / "notes" / "memory" / "link.md").symlink_to(home.parent / "outside" / "secret.md")
    with pytest.raises(InputError, match="symbolic link"):
        run_file(home / "x.case.yaml")


def test_a_configuration_beside_the_case_is_read(tmp_path: Path) -> None:
    settings = '{"agents": {"defaults": {"memorySearch": {"query": {"maxResults": 3}}}}}'
    (tmp_path / "openclaw.json").write_text(settings)
    text = GOOD.replace(SYSTEM, "system: {openclaw: {file: openclaw.json, release: 2026.2.13}}")
    (tmp_path / "x.case.yaml").write_text(text)
    assert run_file(tmp_path / "x.case.yaml").pipeline.limit == 3
    inline = text.replace("file: openclaw.json", f"content: {settings}")
    assert run_case(parsed_case(inline, "inline")).pipeline.limit == 3


@pytest.mark.parametrize("name", ["a\x1b[31m.md", "a\u202e.md", f"{'long' * 60}/{'long' * 60}/{'a' * 60}.md"])
def test_a_file_whose_name_no_case_can_have_is_named(home: Path, run: Run, name: str) -> None:
    world.write(home / "notes", {f"memory/{name}": "Tea is in the pot."})
    with world.build(home, {name: "Tea.", "tea.md": "Tea."}) as index:
        for target in (name, "tea.md"):
            with pytest.raises(InputError, match="A case cannot have the file"):
                case_of("tea", SYSTEMS.named("openclaw-2026.2.13"), index, target)
    (home / "x.case.yaml").write_text(GOOD.replace(MEMORY, "memory: {folder: notes}\n"))
    with pytest.raises(InputError, match="A case cannot have the file"):
        run_file(home / "x.case.yaml")
    with pytest.raises(InputError, match="A case cannot have the file"):
        ReportState("No hit for tea.").settings = {"notes": f"=== {name}\nTea."}
    issue = home / "issue.md"
    issue.write_text("No hit for tea.")
    told = run("reproduce", issue, "--note", world.write(home, {name: "Tea."}) / name)
    assert (told.code, "\x1b" in told.err) == ((2, False) if "/" not in name else (10, False))


EVIL = "\x1b]0;title\x07 <script>alert(1)</script> \u202e [bold]x[/bold] ```"


def evil(case: Case) -> Case:
    question = case.questions[0].model_copy(update={"question": f"tea {EVIL}"})
    notes = [case.memory.notes[0].model_copy(update={"text": f"Tea {EVIL}"})] if case.memory.notes else []
    memory = case.memory.model_copy(update={"notes": notes})
    texts = {"title": EVIL, "note": EVIL, "known_bug": EVIL, "references": [EVIL]}
    return case.model_copy(update={**texts, "questions": [question], "memory": memory})


def test_control_characters_in_every_field_do_not_reach_the_terminal(tmp_path: Path, run: Run) -> None:
    file = save_case(evil(parsed_case(GOOD, "good")), tmp_path / "evil.case.yaml")
    assert load_case(file).case == evil(parsed_case(GOOD, "good"))
    for arguments in ((), ("--releases",), ("--json",)):
        outcome = run("case", "run", file, *arguments)
        assert outcome.code in (0, 1)
        assert not {"\x1b", "\x07", "\u202e"} & set(outcome.out + outcome.err)


def test_a_null_character_in_a_note_and_a_name_like_a_number_are_kept() -> None:
    text = GOOD.replace("Tea is in the pot.", '"Tea \\0 pot"').replace("name: toy", "name: .nan")
    case = parsed_case(text, "null")
    assert case.model.name == ".nan"
    assert "\0" in (case.memory.notes or [])[0].whole
    assert parsed_case(case_text(case), "again") == case
    assert run_case(case).answers[0].holds


def test_a_case_that_is_a_link_to_elsewhere_is_not_read(tmp_path: Path) -> None:
    inside, outside = tmp_path / "cases", tmp_path / "secret.case.yaml"
    inside.mkdir()
    outside.write_text(GOOD)
    link, neighbour = inside / "link.case.yaml", inside / "same.case.yaml"
    link.symlink_to(outside)
    with pytest.raises(InputError, match="a link that leads out of its own folder"):
        load_case(link)
    (inside / "good.case.yaml").write_text(GOOD)
    neighbour.symlink_to("good.case.yaml")
    assert load_case(neighbour).case == load_case(outside).case
