"""Files that are safe to share and safe to run: no secret leaves unlisted, and no stranger's file hangs."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

from tests.commands import Run
from tests.lab.cases import example, table
from tests.lab.cases.test_pytest_plugin import run_pytest
from workbench.errors import InputError
from workbench.measure.questions import QuestionSet
from workbench.memory.index import MemoryIndex
from workbench.systems.catalogue import system
from workbench_plugins.cases import case_index, is_case, running
from workbench_plugins.cases.making import case_of
from workbench_plugins.cases.model import Case, case_text, load_case, parsed_case, save_case
from workbench_plugins.cases.redact import Pseudonyms, fold, redacted, words_of
from workbench_plugins.cases.report import case_markdown
from workbench_plugins.cases.running import run_case, run_releases
from workbench_plugins.cases.shrink import shrunk

GOOD = example("good")
SECRETS: dict[str, list[str]] = table("secrets")


# What leaves with a redacted case


def with_secrets() -> Case:
    """A case in which each kind of secret has a note, and those of front matter are in one."""
    data = parsed_case(GOOD, "good").model_dump(exclude_defaults=True)
    for kind, some in SECRETS.items():
        text = "---\n{}\n---\nTea.\n" if kind == "front matter" else "Tea.\n\n{}\n"
        data["memory"]["notes"].append(
            {"path": f"memory/{len(kind)}/{kind}.md", "text": text.format("\n".join(some))}
        )
    data["questions"][0]["expect"] = {"not_found": "memory/tea.md"}
    return Case.model_validate(data)


@pytest.fixture(scope="module")
def public() -> tuple[str, str]:
    """The notes of a redacted case, and the list of what is not replaced."""
    made = redacted(with_secrets())
    notes = "\n".join(one.whole for one in made.case.memory.notes or ())
    return notes, "\n".join(made.remains)


def test_there_are_100_secrets_of_30_kinds() -> None:
    assert len(SECRETS) >= 30
    assert sum(map(len, SECRETS.values())) >= 100


@pytest.mark.parametrize("kind", SECRETS)
def test_a_secret_is_replaced_or_listed(kind: str, public: tuple[str, str]) -> None:
    notes, listed = public
    words = {word for word in words_of(notes) if len(word) > 2}
    for secret in SECRETS[kind]:
        for piece in secret.split():
            shown = piece if piece.isprintable() else ascii(piece)
            assert piece not in notes.split() or shown in listed, (kind, piece)
        for word in words_of(secret):
            assert word not in words or word in fold(listed), (kind, word)


def test_what_is_left_is_what_was_there() -> None:
    text = "---\nimportance: 0.7\n---\nWho wrote “x”… <!-- importance: 8 --> \t *!?&%$#@^ 4711"
    names = Pseudonyms("words", True)
    names.text(text)
    assert {"“", "”…", "*!?&%$#@^", "importance: 0.7", "<!-- importance: 8"} <= names.left | names.unchanged
    assert names.kept == {"Who"}
    assert not any("4711" in one for one in names.left | names.unchanged)


def test_the_shift_of_dates_cannot_be_drawn_again() -> None:
    made = {Pseudonyms("words", True).text("on 2026-02-03") for _ in range(8)}
    assert len(made) > 1
    assert "2026-02-03" not in "".join(made)


# Secrets of a configuration

CONTENT = """{agents: {defaults: {memorySearch: {query: {maxResults: 3}, remote: {
    apiKey: hunter2hunter2, headers: {X-Corp: hunter3hunter3}, baseUrl: "https://me:hunter4@host/v1"}}}}}"""
CONFIGURED = GOOD.replace("openclaw-2026.2.13", "{openclaw: {release: 2026.2.13, content: " + CONTENT + "}}")


def test_no_secret_of_a_configuration_is_printed_or_written(tmp_path: Path, run: Run) -> None:
    assert CONFIGURED.count("hunter") == 5
    text = CONFIGURED.replace("{found:", "{not_found:")
    (tmp_path / "a.case.yaml").write_text(text)
    case = load_case(tmp_path / "a.case.yaml").case
    assert run_case(case).pipeline.limit == 3
    page = tmp_path / "page.html"
    told = [run("case", "report", tmp_path / "a.case.yaml").out]
    assert run("case", "report", tmp_path / "a.case.yaml", "--html", page).code == 0
    told += [page.read_text(), case_text(case), case_text(shrunk(case, quiet=True))]
    told += [case_text(redacted(case).case)]
    assert [one for one in told if "hunter" in one] == []
    same = text.replace("{not_found: memory/tea.md}", "{same_as: {openclaw: {content: " + CONTENT + "}}}")
    assert "hunter" not in case_text(parsed_case(same, "same"))


# Other releases


def test_a_smaller_and_a_redacted_case_state_the_verdict_of_the_original_on_each_release(
    sample: MemoryIndex, questions: QuestionSet
) -> None:
    for one in questions.questions[:8]:
        case = case_of(one.question, system("openclaw-2026.2.13"), sample, one.target)
        if run_case(case).holds:
            continue
        wanted = {ran.pipeline.name: ran.holds for ran in run_releases(case).runs}
        for made in (shrunk(case, quiet=True), redacted(case).case):
            stated = {ran.pipeline.name: ran.holds for ran in run_releases(made).runs}
            assert stated == {name: wanted[name] for name in stated}
            assert set(stated) <= set(made.compared or ())
        break


def test_a_report_states_nothing_of_a_release_that_was_not_compared_with_the_original() -> None:
    case = parsed_case(GOOD, "good").model_copy(
        update={"compared": ["openclaw-2026.2.13", "openclaw-2026.3.7"]}
    )
    told = case_markdown(run_case(case), run_releases(case))
    assert [ran.pipeline.name for ran in run_releases(case).runs] == [
        "openclaw-2026.2.13",
        "openclaw-2026.3.7",
    ]
    assert "openclaw-2026.9.6" not in told
    none = case.model_copy(update={"compared": []})
    with pytest.raises(InputError, match="No release ran both this case and its original"):
        run_releases(none)


def test_a_run_on_a_system_that_was_not_compared_says_so(tmp_path: Path, run: Run) -> None:
    case = parsed_case(GOOD, "good").model_copy(update={"compared": ["openclaw-2026.2.13"]})
    file = save_case(case, tmp_path / "a.case.yaml")
    said = "not compared with its original on engine-rrf-60"
    assert said in run("case", "run", file, "-s", "engine-rrf-60").out
    assert said in run("case", "run", file, "-s", "engine-rrf-60", "-s", "openclaw-2026.2.13").out
    assert "not compared" not in run("case", "run", file).out


# Files of strangers


def test_the_plugin_leaves_the_files_of_others_alone(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_mine.py").write_text("def test_mine():\n    pass\n")
    for name, text in {
        "login": "user: ada\nsteps: [a, b]\n",
        "other": "cases: 1\n",
        "binary": "\0case: 1",
    }.items():
        (tmp_path / f"{name}.case.yaml").write_text(text)
    (tmp_path / "folder.case.yaml").mkdir()
    os.mkfifo(tmp_path / "pipe.case.yaml")
    (tmp_path / "gone.case.yaml").symlink_to("nowhere")
    told = run_pytest(tmp_path)
    assert "1 passed" in told
    assert not re.search(r"error|no tests ran", told)
    (tmp_path / "mine.case.yaml").write_text(f"# a comment\n---\n{GOOD}")
    assert "2 passed" in run_pytest(tmp_path)


def test_a_case_begins_with_its_key(tmp_path: Path, run: Run) -> None:
    file = tmp_path / "a.case.yaml"
    for text, ours in (
        (GOOD, True),
        (f"\ufeff\r\n# c\r\n{GOOD}", True),
        (f"title: a\n{GOOD}", False),
        ("", False),
    ):
        file.write_text(text, encoding="utf-8")
        assert is_case(file) == ours, text[:20]
    file.write_text("user: ada\n")
    assert "There is no case in" in run("case", "run", tmp_path).err


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path, run: Run) -> None:
    os.mkfifo(tmp_path / "pipe.case.yaml")
    outcome = run("case", "run", tmp_path / "pipe.case.yaml")
    assert (outcome.code, "not a plain file" in outcome.err) == (2, True)
    os.mkfifo(tmp_path / "openclaw.json")
    file = tmp_path / "a.case.yaml"
    file.write_text(GOOD.replace("openclaw-2026.2.13", "{openclaw: {file: openclaw.json}}"))
    outcome = run("case", "run", file)
    assert (outcome.code, "not a plain file" in outcome.err) == (2, True)


@pytest.mark.parametrize(("old", "new", "problem"), table("too-much"))
def test_a_file_that_asks_for_too_much_is_refused(old: str, new: Any, problem: str) -> None:
    times = new if isinstance(new, list) else [new, 1]
    with pytest.raises(InputError, match=problem):
        run_case(
            parsed_case(GOOD.replace(old, times[0].replace("MANY", ", ".join(["or"] * times[1]))), "large")
        )


def test_a_chunker_that_repeats_too_much_is_refused_before_it_cuts() -> None:
    text = GOOD.replace("text: Tea is in the pot.", f"text: '{'tea ' * 5_000}'")
    assert run_case(parsed_case(text + "  chunker: {tokens: 100000, overlap: 80}\n", "few")).answers
    with pytest.raises(InputError, match=r"cut into more than 100,000 passages|100,000,000 characters"):
        run_case(parsed_case(text + "  chunker: {tokens: 100000, overlap: 99999}\n", "many"))


def test_a_large_folder_is_read_up_to_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "notes" / "memory").mkdir(parents=True)
    for number in range(50):
        (tmp_path / "notes" / "memory" / f"{number:02}.md").write_text("tea " * 100)
    monkeypatch.setattr(case_index, "LARGEST_MEMORY", 1_000)
    assert len(case_index.read_folder("notes", tmp_path)) == 3
    case = parsed_case(GOOD.partition("memory:\n")[0] + "memory: {folder: notes}\n", "folder")
    with pytest.raises(InputError, match="more than 1,000 characters"):
        run_case(case, folder=tmp_path)


def test_a_case_has_a_time_in_which_it_must_be_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "MOST_SECONDS", -1.0)
    with pytest.raises(InputError, match="takes more than"):
        run_case(parsed_case(GOOD, "slow"))
