"""Hostile and half-written case files: one clear error with line and field, and nothing read outside."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.commands import Run, runner
from workbench.errors import InputError, WorkbenchError
from workbench.lab.cases.files import LARGEST_FILE, case_text, load_case, parsed_case, save_case
from workbench.lab.cases.model import Case
from workbench.lab.cases.running import run_case
from workbench.lab.cases.yaml_tree import MOST_VALUES

GOOD = """\
case: 1
system: openclaw-2026.2.13
questions:
- question: tea
  expect: {found: memory/tea.md}
model: {name: toy, dimensions: 1, axes: {tea: [tea]}}
memory:
  notes:
  - {path: memory/tea.md, text: Tea is in the pot.}
"""


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(monkeypatch, capsys)


def test_the_good_case_is_good() -> None:
    assert run_case(parsed_case(GOOD, "good")).holds


def bomb() -> str:
    lines = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    lines += [
        f"{new}: &{new} [{', '.join([f'*{old}'] * 9)}]"
        for old, new in zip("abcdefgh", "bcdefghi", strict=True)
    ]
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "line 1: it has no keys"),
        ("- 1\n- 2\n", "line 1: it has no keys"),
        ("just words", "line 1: it has no keys"),
        ("case: 1\nsystem: [", "line 3: .*did not find expected node content"),
        (GOOD.replace("case: 1", "case: 2"), "line 1: case: Input should be 1"),
        (GOOD.replace("system:", "sytem:"), "line 2: sytem: Extra inputs are not permitted"),
        (
            GOOD + "  folder: notes\n",
            "line 8: memory: the memory needs one of these: notes, a folder, or lists",
        ),
        (GOOD.replace("expect:", "expects:"), r"line 5: questions\.0\.expects: Extra inputs"),
        (
            GOOD.replace("{found: memory/tea.md}", "{}"),
            r"line 5: questions\.0\.expect: expect exactly one of",
        ),
        (
            GOOD.replace("question: tea", "question: [tea]"),
            r"line 4: questions\.0\.question: .* valid string",
        ),
        (
            GOOD.replace("question: tea", 'question: "  "'),
            r"line 4: questions\.0\.question: the question is blank",
        ),
        (
            GOOD.replace("- question: tea", "- question: !!python/object/apply:os.system [ls]"),
            "line 4: the tag .* not allowed",
        ),
        (GOOD.replace("- question: tea", "- question: !mine tea"), "line 4: the tag !mine is not allowed"),
        (GOOD + "case: 1\n", "line 10: the key 'case' is there twice"),
        (bomb(), r"line 2: the alias \*a is not allowed"),
        ("a: " + "[" * 100_000, "line 1: it is nested more than 30 levels deep"),
        ("a:\n" + "- 1\n" * (MOST_VALUES + 10), "it has more than 300,000 values"),
        (GOOD.replace("tea.md, text", "t\x1b[31m.md, text"), "line 9: control characters are not allowed"),
        (
            GOOD.replace("path: memory/tea.md", 'path: "memory/\\e[31m.md"'),
            "line 9: memory.notes.0.path: it has a control",
        ),
        (GOOD.replace("Tea is", '"\\ud800"'), "line 9: "),
        (GOOD.replace("axes: {tea: [tea]}", "vectors: float32"), "needs vectors of the model toy"),
        (
            GOOD.replace("dimensions: 1", "dimensions: 100000000000"),
            "line 6: model.dimensions: .* less than or equal",
        ),
        (GOOD.replace("name: toy", "name: .nan"), ""),
    ],
)
def test_a_bad_case_is_one_error_with_line_and_field(text: str, says: str) -> None:
    if not says:
        assert parsed_case(text, "fine").model.name == ".nan"
        return
    with pytest.raises(WorkbenchError, match=says) as raised:
        run_case(parsed_case(text, "bad.case.yaml"))
    assert "\x1b" not in str(raised.value)


def test_a_file_of_100_megabytes_is_refused_at_once(tmp_path: Path, run: Run) -> None:
    file = tmp_path / "large.case.yaml"
    with file.open("wb") as out:
        out.truncate(100_000_000)
    began = time.monotonic()
    outcome = run("case", "run", file)
    assert (outcome.code, outcome.out) == (2, "")
    assert f"has more than {LARGEST_FILE:,} bytes" in outcome.err
    assert time.monotonic() - began < 60


OUTSIDE = ("/etc", "../outside", "a/../../outside", "link", "inner/link", "a\\..\\outside", "/proc/self")


@pytest.mark.parametrize("folder", OUTSIDE)
def test_no_folder_outside_the_cases_own_is_read(tmp_path: Path, folder: str) -> None:
    home = tmp_path / "home"
    (home / "inner").mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.md").write_text("tea and a secret")
    (home / "link").symlink_to(tmp_path / "outside")
    (home / "inner" / "link").symlink_to(tmp_path / "outside")
    head = GOOD.split("memory:\n")[0]
    (home / "x.case.yaml").write_text(f"{head}memory: {{folder: '{folder}'}}\n")
    loaded = load_case(home / "x.case.yaml")
    with pytest.raises(InputError, match="leads out of its own folder"):
        run_case(loaded.case, folder=loaded.folder)


def test_a_link_inside_the_folder_is_refused_and_a_plain_note_is_read(tmp_path: Path) -> None:
    (tmp_path / "notes" / "memory").mkdir(parents=True)
    (tmp_path / "notes" / "memory" / "tea.md").write_text("Tea is in the pot.")
    head = GOOD.split("memory:\n")[0]
    (tmp_path / "x.case.yaml").write_text(f"{head}memory: {{folder: notes}}\n")
    loaded = load_case(tmp_path / "x.case.yaml")
    assert run_case(loaded.case, folder=loaded.folder).holds
    (tmp_path / "secret.md").write_text("a secret")
    (tmp_path / "notes" / "memory" / "link.md").symlink_to(tmp_path / "secret.md")
    with pytest.raises(InputError, match="symbolic link"):
        run_case(loaded.case, folder=loaded.folder)


@pytest.mark.parametrize(
    "system",
    [
        "/etc/openclaw.json", "openclaw-2026.2.13@/etc/openclaw.json", "{openclaw: {file: ../openclaw.json}}",
        "{openclaw: {file: /etc/openclaw.json}}", "{openclaw: {file: link.json}}",
    ],
)  # fmt: skip
def test_no_configuration_outside_the_cases_own_folder_is_read(tmp_path: Path, system: str) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (tmp_path / "openclaw.json").write_text("{}")
    (home / "link.json").symlink_to(tmp_path / "openclaw.json")
    (home / "x.case.yaml").write_text(GOOD.replace("openclaw-2026.2.13", system))
    loaded = load_case(home / "x.case.yaml")
    with pytest.raises(InputError, match=r"leads out of its own folder|is the name of a file"):
        run_case(loaded.case, folder=loaded.folder)


def test_a_configuration_beside_the_case_is_read(tmp_path: Path) -> None:
    settings = '{"agents": {"defaults": {"memorySearch": {"query": {"maxResults": 3}}}}}'
    (tmp_path / "openclaw.json").write_text(settings)
    text = GOOD.replace(
        "system: openclaw-2026.2.13", "system: {openclaw: {file: openclaw.json, release: 2026.2.13}}"
    )
    (tmp_path / "x.case.yaml").write_text(text)
    loaded = load_case(tmp_path / "x.case.yaml")
    assert run_case(loaded.case, folder=loaded.folder).pipeline.limit == 3
    inline = text.replace("file: openclaw.json", f"content: {settings}")
    assert run_case(parsed_case(inline, "inline")).pipeline.limit == 3


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


def test_a_null_character_in_a_note_is_kept(tmp_path: Path) -> None:
    case = parsed_case(GOOD.replace("Tea is in the pot.", '"Tea \\0 pot"'), "null")
    assert "\0" in (case.memory.notes or [])[0].whole
    assert parsed_case(case_text(case), "again") == case
    assert run_case(case).answers[0].holds


def test_a_file_that_exists_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "a.case.yaml").write_text("mine")
    with pytest.raises(InputError, match="exists already"):
        save_case(parsed_case(GOOD, "good"), tmp_path / "a.case.yaml")
    assert (tmp_path / "a.case.yaml").read_text() == "mine"


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
