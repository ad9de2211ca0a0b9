"""What is not read is said: files elsewhere, of other endings, hidden, linked, in UTF-16, or empty."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests import world
from tests.commands import Run
from workbench.memory.index import MemoryIndex
from workbench.memory.opening import open_index
from workbench.memory.options import Options
from workbench.memory.sync import index_folder
from workbench.memory.unread import unread_lines
from workbench.systems.openclaw import THREE_FIXES
from workbench_plugins.diagnose.diagnosis import diagnose


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "wren"
    for name in ("memory/tea.md", "AGENTS.md", "projects/plan.md", "memory/LOUD.MD", "memory/far.md.icloud",
                 "memory/.old/note.md", "memory/list.txt", "code.py"):  # fmt: skip
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("Rooibos tea is red.\n", encoding="utf-8")
    return folder


def opened(root: Path, index: Path, skip: bool = False) -> MemoryIndex:
    index_folder(root, world.EMBEDDER, options=Options(index_path=index, skip=skip))
    return open_index(root, world.EMBEDDER, index_path=index)


def test_each_reason_is_a_line_with_a_count(root: Path, tmp_path: Path) -> None:
    with opened(root, tmp_path / "i.sqlite") as index:
        lines = unread_lines(index.unread())
        assert index.changed() == []
    told = "\n".join(lines)
    assert "2 Markdown files outside memory/ are not read (such as AGENTS.md). --extra . reads them." in told
    for why in (
        "it is a file that ends in .MD instead of .md",
        "it is a file that is not downloaded from iCloud",
        "it is a file in a hidden folder",
        "it is a file that ends in .txt",
    ):
        assert why in told
    assert "Open it once, so that it is here." in told
    assert "Rename it so that it ends in .md." in told
    assert "Move it into a folder without a dot" in told
    assert "code.py" not in told


def test_of_many_files_that_cannot_be_used_one_is_named_with_its_command(root: Path, tmp_path: Path) -> None:
    for number in range(3):
        lines = remarks_with_refused(root, tmp_path / f"{number}.sqlite", number + 1)
        assert len(lines) == (1 if number == 2 else number + 1)
    assert lines[0].startswith(
        "3 files are not read. The first: memory/odd0.md is not UTF-8: byte 1 is 0xfc."
    )
    assert lines[0].count("iconv") == 1


def remarks_with_refused(root: Path, index: Path, count: int) -> list[str]:
    """The remarks about so many files of the memory that are not UTF-8."""
    for number in range(count):
        (root / f"memory/odd{number}.md").write_bytes(b"K\xfcche")
    with opened(root, index, skip=True) as found:
        return [line for line in unread_lines(found.unread()) if "odd" in line]


def test_the_option_that_is_named_reads_them(root: Path, tmp_path: Path) -> None:
    file = tmp_path / "i.sqlite"
    index_folder(root, world.EMBEDDER, options=Options(index_path=file, extra=["."]))
    with open_index(root, world.EMBEDDER, index_path=file) as index:
        assert {"AGENTS.md", "projects/plan.md"} <= set(index.paths())
        assert not [one for one in index.unread() if one.why.startswith("outside")]


def test_doctor_knows_the_extra_paths_of_a_folder_that_is_named_from_here(
    root: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(root.parent)
    shutil.rmtree(root / "memory")  # so the release reads nothing without an extra path
    assert run("index", root.name, "--as", "openclaw-2026.9.6", "--extra", ".").code == 0
    told = run("doctor", root.name)
    assert "2 chunks" in told.out
    assert "are not read" not in told.out
    shutil.rmtree(root / "projects")
    (root / "AGENTS.md").unlink()
    assert "Chunks are left of files that are gone: 2 of 2" in run("doctor", root.name).out


def test_a_file_that_can_never_be_read_does_not_make_the_index_old(root: Path, tmp_path: Path) -> None:
    (root / "memory/wide.md").write_bytes("Rooibos".encode("utf-16"))
    (root / "memory/link.md").symlink_to(root / "memory/tea.md")
    (root / "memory/empty.md").write_text("", encoding="utf-8")
    with opened(root, tmp_path / "i.sqlite", skip=True) as index:
        assert index.changed() == []
        told = "\n".join(index.remarks)
        assert "it is UTF-16" in told
        assert "symbolic link" in told
        assert "out of date" not in told
        (root / "memory/new.md").write_text("A new note.\n", encoding="utf-8")
        told = "\n".join(index.remarks)
        assert "1 file changed (memory/new.md)" in told
        assert told.endswith(f"workbench index {root} --index {tmp_path / 'i.sqlite'}")


def test_an_empty_file_is_never_called_unknown(root: Path, tmp_path: Path, run: Run) -> None:
    (root / "memory/empty.md").write_text("", encoding="utf-8")
    with opened(root, tmp_path / "i.sqlite") as index:
        assert str(index.unread_near("memory/empty.md")).startswith(
            "memory/empty.md is not read: it is a file without"
        )
        assert index.unread_near("memory/tea.md") is None
    assert run("index", str(root)).code == 0
    told = run("explain", "rooibos", "--target", "memory/empty.md", "-m", str(root)).out
    assert "it is a file without text. Write something into it." in told
    assert "most similar" not in told


def test_a_transcript_of_another_form_is_not_called_empty(root: Path, tmp_path: Path, run: Run) -> None:
    sessions = tmp_path / "sessions"
    sessions.mkdir()
    line = '{"role": "user", "content": "Where did I park?"}\n'
    (sessions / "chat.jsonl").write_text(line, encoding="utf-8")
    assert run("index", str(root), "--sessions", str(sessions)).code == 0
    asked = "-t", "sessions/chat.jsonl", "-m", str(root)
    told = run("explain", "where did I park", *asked).out
    assert "it is a file without a message as OpenClaw writes them. Each message is a line" in told
    cause = run("diagnose", "where did I park", *asked).out
    assert cause.startswith(
        "Cause: index: the transcript has no message in the form of OpenClaw's transcripts"
    )
    assert "empty" not in told + cause


def test_a_link_to_a_folder_is_named_for_each_file_in_it(root: Path, tmp_path: Path) -> None:
    (tmp_path / "else").mkdir()
    (tmp_path / "else/plumber.md").write_text("The plumber comes on Thursdays.\n", encoding="utf-8")
    (root / "memory/shared").symlink_to(tmp_path / "else")
    with opened(root, tmp_path / "i.sqlite") as index:
        there = index.unread_near("memory/shared/plumber.md")
        assert there is not None
        assert str(there).startswith("memory/shared is not read: it is a link to a folder.")


@pytest.mark.parametrize(
    ("target", "why"),
    [
        ("memory/loud.md", "ends in .MD"),
        ("memory/far.md", "iCloud"),
        ("plan.md", "outside memory/"),
        ("memory/list.md", "ends in .txt"),
        ("memory/old/note.md", "in a hidden folder"),
    ],
)
def test_a_target_that_is_not_read_is_found_under_a_near_name(
    root: Path, tmp_path: Path, target: str, why: str
) -> None:
    with opened(root, tmp_path / "i.sqlite") as index:
        found = diagnose("rooibos tea", THREE_FIXES, index, target)
    assert found.causes[0].where == ("index",)
    assert why in found.causes[0].evidence


def test_index_search_explain_and_doctor_say_so(root: Path, run: Run) -> None:
    told = "2 Markdown files outside memory/ are not read"
    assert told in run("index", str(root)).err
    assert told in run("search", "rooibos", "-m", str(root)).err
    assert told in run("doctor", str(root)).out
    explained = run("explain", "rooibos", "-m", str(root), "--target", "memory/loud.md")
    assert "memory/LOUD.MD is not read" in explained.out
    (root / "memory/tea.md").write_text("Rooibos tea is brown.\n", encoding="utf-8")
    stale = (
        "memory/tea.md has changed since it was indexed: this is about its old text.\n  Update it: workbench"
    )
    explained = run("explain", "rooibos", "-m", str(root), "--target", "memory/tea.md")
    assert stale in explained.err
    assert (explained.out + explained.err).count("changed") == 1
    (root / "memory/new.md").write_text("Green tea.\n", encoding="utf-8")
    explained = run("explain", "rooibos", "-m", str(root), "--target", "memory/new.md")
    assert "2 files changed (memory/new.md, memory/tea.md)" in explained.err
    assert "its old text" not in explained.err
    (root / "memory/tea.md").rename(root / "aside.txt")
    explained = run("explain", "rooibos", "-m", str(root), "--target", "memory/tea.md")
    assert "memory/tea.md is no longer in the memory: this is about the text that it had." in explained.err
    assert "changed" not in explained.out + explained.err


def test_a_file_that_is_not_utf_8_is_explained_and_diagnosed_by_its_reason_alone(
    root: Path, run: Run
) -> None:
    (root / "memory/odd.md").write_bytes(b"K\xfcche")
    refused = run("index", str(root), "--no-skip").err.splitlines()
    assert refused[-1] == "  Or leave such files out with --skip."
    assert refused[-2].endswith(f"> {root}/memory/odd.md")  # a command that can be pasted
    assert run("index", str(root)).code == 0
    asked = ("rooibos", "-m", str(root), "--target", "memory/odd.md")
    explained, found = run("explain", *asked), run("diagnose", *asked).out.splitlines()
    assert "Files are not in the store" not in explained.err
    assert found[0] == "Cause: index: memory/odd.md is not UTF-8: byte 1 is 0xfc"
    assert found[2].startswith("Repair: cp ")
    assert found[2].endswith(f"&& workbench index {root}")


def test_a_file_in_utf_16_is_left_out_and_the_command_that_is_printed_mends_it(root: Path, run: Run) -> None:
    text = "# Rooibos\n\nIt steeps for ten minutes.\n"
    (root / "memory/wide.md").write_bytes(text.encode("utf-16"))
    found = run("index", str(root))
    assert found.code == 0
    left_out = "left out: memory/wide.md is not UTF-8: it is UTF-16. Keep it and convert a copy: "
    (command,) = (line.removeprefix(left_out) for line in found.err.splitlines() if line.startswith(left_out))
    subprocess.run(["sh", "-c", command], check=True)
    assert (root / "memory/wide.md").read_text(encoding="utf-8") == text
    assert "wide.md" not in run("index", str(root)).err
