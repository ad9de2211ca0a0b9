"""A Markdown issue becomes a case, or gets the list of what is missing; hostile ones get one error."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.commands import Run
from tests.conftest import PROJECT
from tests.lab.cases import table
from workbench.errors import InputError
from workbench_plugins.cases.issue import case_of_issue
from workbench_plugins.cases.model import LARGEST_FILE, case_text, load_case, parsed_case
from workbench_plugins.cases.running import run_case

TEMPLATE = PROJECT / "docs" / "examples" / "issue.md"

PARTS: dict[str, str] = table("issue")


def issue(folder: Path, title: str = "# Nothing is found\n", **parts: str) -> Path:
    """An issue with these parts in place of the usual ones; an empty part is left out."""
    written = [f"## {name}\n\n{text}\n" for name, text in {**PARTS, **parts}.items() if text]
    file = folder / "issue.md"
    file.write_text("\n".join([title, *written]), encoding="utf-8")
    return file


def refusal(file: Path) -> str:
    with pytest.raises(InputError) as raised:
        case_of_issue(file, "none")
    return str(raised.value)


def test_an_issue_becomes_a_case_that_fails_as_it_says(tmp_path: Path, run: Run) -> None:
    out = tmp_path / "tea.case.yaml"
    outcome = run("case", "new", "--from-issue", issue(tmp_path), "--out", out)
    assert (outcome.code, "observes another answer" in outcome.err) == (0, False)
    case = load_case(out).case
    told = case.model_dump(exclude_none=True)
    assert (told["title"], told["environment"]["sqlite"]) == ("Nothing is found", "3.51.0")
    assert [one.path for one in case.memory.notes or ()] == ["memory/tea.md", "memory/my bike.md"]
    assert "<!-- kept -->\nA cup of tea.\n```\n## Question\n```" in (case.memory.notes or [])[0].whole
    assert "openclaw 2026.2.13" in case.note
    (asked,) = told["questions"]
    assert asked["expect"] == {"found": "memory/tea.md", "within": 1}
    assert (asked["observed"]["returned"], asked["observed"]["fate"]) == ([], "below the floor")
    assert case.model.vectors == "float32"
    ran = run_case(case)
    assert (ran.holds, ran.as_observed, ran.pipeline.limit) == (False, True, 3)
    assert "abcdefgh" in PARTS["System"]
    assert "abcdefgh" not in out.read_text()


def test_an_observation_that_is_not_made_here_is_kept_and_told(tmp_path: Path, run: Run) -> None:
    out = tmp_path / "tea.case.yaml"
    file = issue(tmp_path, Observed="1. `memory/my bike.md`\n2. memory/tea.md")
    outcome = run("case", "new", "--from-issue", file, "--out", out, "--vectors", "none")
    assert outcome.code == 0
    assert "The issue observes another answer. Here, " in outcome.err
    (asked,) = load_case(out).case.model_dump()["questions"]
    assert asked["observed"]["returned"] == ["memory/my bike.md", "memory/tea.md"]


@pytest.mark.parametrize(
    ("expected", "form"),
    [
        ("- not found: memory/tea.md", {"not_found": "memory/tea.md"}),
        ("order: `memory/tea.md`, memory/my bike.md", {"order": ["memory/tea.md", "memory/my bike.md"]}),
        ("Nothing", {"nothing": True}),
    ],
)
def test_each_expectation(expected: str, form: dict[str, object], tmp_path: Path) -> None:
    case = case_of_issue(issue(tmp_path, Expected=expected), "none").case
    assert case.questions[0].expect.model_dump(exclude_none=True) == form


def test_a_folder_of_notes_and_a_system_by_name(tmp_path: Path) -> None:
    (tmp_path / "notes" / "memory").mkdir(parents=True)
    (tmp_path / "notes" / "memory" / "tea.md").write_text("A cup of tea.")
    system = "system: openclaw-2026.2.13\nchanges: or\nlimit: 4\nmin score: 0.2\nset: query.maxResults=5"
    case = case_of_issue(issue(tmp_path, Memory="folder: notes", System=system), "none").case
    assert [one.path for one in case.memory.notes or ()] == ["memory/tea.md"]
    assert (case.system.changes, case.system.limit, case.system.min_score) == (["or"], 4, 0.2)
    assert case.system.settings == ["query.maxResults=5"]


def test_the_empty_template_lists_every_section_with_its_line() -> None:
    said = refusal(TEMPLATE)
    lines = TEMPLATE.read_text().split("\n")
    for name in ("Question", "Expected", "Observed", "System", "Memory"):
        assert f"line {lines.index(f'## {name}') + 1}: {name} is empty" in said
    assert said.count("  line ") == 5


def test_free_text_gets_the_list_of_what_is_missing_and_writes_nothing(tmp_path: Path, run: Run) -> None:
    file, out = tmp_path / "free.md", tmp_path / "free.case.yaml"
    file.write_text("Hi!\n\nI asked about tea and memory/tea.md did not come. System: openclaw-2026.2.13\n")
    outcome = run("case", "new", "--from-issue", file, "--out", out)
    assert (outcome.code, outcome.out, out.exists()) == (2, "", False)
    assert "line 1: 'Hi!' is in no section" in outcome.err
    for name in ("Question", "Expected", "Observed", "System", "Memory"):
        assert f"the section ## {name} is missing" in outcome.err
    assert "docs/examples/issue.md" in outcome.err


@pytest.mark.parametrize(("section", "text", "says"), table("bad-issues"))
def test_what_cannot_be_used_is_named_with_its_line(
    section: str, text: str, says: str, tmp_path: Path
) -> None:
    said = refusal(issue(tmp_path, **{section: text}))
    assert says in said
    assert "  line " in said
    assert "\x1b" not in said


@pytest.mark.parametrize("folder", ["/etc", "../outside", "a/../../outside", "link", "..\\outside"])
def test_no_folder_outside_the_issues_own_is_read(folder: str, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "MEMORY.md").write_text("a secret")
    (home / "link").symlink_to(tmp_path / "outside")
    assert "leads out of its own folder" in refusal(issue(home, Memory=f"folder: {folder}"))


def test_large_and_strange_files_are_refused_at_once(tmp_path: Path) -> None:
    file = tmp_path / "issue.md"
    for content in (b"\xff\xfe", b"\0" * (LARGEST_FILE + 1), b"", b"<!-- " * 200_000, b"#" * 1_000_000):
        file.write_bytes(content)
        assert str(file) in refusal(file)
    assert "cannot be read" in refusal(tmp_path / "none.md")
    assert "cannot be read" in refusal(tmp_path)


def test_the_issue_says_it_all_or_the_options_do(tmp_path: Path, run: Run) -> None:
    out = tmp_path / "a.case.yaml"
    for more in (("question",), ("--memory", tmp_path), ("--limit", 3)):
        outcome = run("case", "new", *more, "--from-issue", issue(tmp_path), "--out", out)
        assert (outcome.code, out.exists()) == (2, False)
        assert "With --from-issue, the issue states" in outcome.err
    assert "needs a question" in run("case", "new", "--out", out).err


def test_a_case_without_a_name_gets_one_from_its_question_and_overwrites_nothing(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = issue(tmp_path, Question="Where is ../the TEA?")
    first, again = (run("case", "new", "--from-issue", file) for _ in range(2))
    assert (first.code, again.code, "exists already" in again.err) == (0, 2, True)
    assert (tmp_path / "where-is-the-tea.case.yaml").exists()


PIECES = st.sampled_from(
    ["## Question", "## Memory", "### memory/a.md", "## System", "## Expected", "## Observed", "```", "~~~~",
     "<!--", "-->", "found: memory/a.md", "nothing", "system: bm25", "tea", "", "# T", "folder: x", "\0"]
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(lines=st.lists(PIECES, max_size=25))
def test_any_text_gives_a_case_or_one_clear_error(
    lines: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = tmp_path_factory.getbasetemp() / "any.md"
    file.write_text("\n".join(lines))
    made = None
    with suppress(InputError):
        made = case_of_issue(file, "none").case
    assert made is None or parsed_case(case_text(made), "again") == made
