"""The replay of records says what differs, and counts only what is equal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.replaying import Row, Rows
from tests.run_records import difference, main

A = Row("memory/a.md:1-2", 0.5, "aaa")
B = Row("memory/b.md:1-2", 0.4, "bbb")


@pytest.mark.parametrize(
    ("there", "here", "kind"),
    [
        ([A, B], [A, B], ""),
        ([A], [Row(A.location, A.score + 9e-7, A.snippet)], ""),
        ([A, Row(B.location, 0.5, "bbb")], [Row(B.location, 0.5, "bbb"), A], ""),
        ([A, B], [A], "members: only there memory/b.md:1-2; only here nothing"),
        ([A, A], [A], "members: only there memory/a.md:1-2; only here nothing"),
        ([A, B], [B, A], "order: memory/a.md:1-2 is number 1 there, memory/b.md:1-2 here"),
        ([A], [Row(A.location, A.score + 2e-6, A.snippet)], "score: memory/a.md:1-2 has 0.5 there, 0.500002"),
        ([A], [Row(A.location, float("nan"), A.snippet)], "score: memory/a.md:1-2 has 0.5 there, nan here"),
        ([A], [Row(A.location, A.score, "other")], "snippet: that of memory/a.md:1-2 is another one"),
        (None, None, ""),
        (None, [], "refused: only there"),
        ([], None, "refused: only here"),
    ],
)
def test_the_first_difference_is_named(there: Rows, here: Rows, kind: str) -> None:
    assert difference(there, here).startswith(kind)
    assert bool(difference(there, here)) == bool(kind)


def test_pieces_of_one_line_are_told_apart_by_their_scores() -> None:
    pieces = [Row("memory/long.md:1-1", score, "xxx") for score in (0.5, 0.3)]
    assert difference(pieces, pieces) == ""
    assert difference(pieces, [pieces[0], Row("memory/long.md:1-1", 0.2, "xxx")]).startswith("score:")


def record(tmp_path: Path, results: Any) -> str:
    file = tmp_path / "record.json"
    file.write_text(json.dumps({"about": {"clock": "2026-02-11"}, "results": results}), encoding="utf-8")
    return str(file)


def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "MEMORY.md").write_text("# Tea\n\nRooibos in the afternoon.\n", encoding="utf-8")
    return folder


def test_a_replay_ends_with_the_count(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    row = ["MEMORY.md", 1, 4, 9, "4c4b35a7d34e"]
    results = {"w": {"{}": {"": {"error": "query required"}, "rooibos": [row]}}}
    given = [
        record(tmp_path, results),
        "--system",
        "openclaw-2026.2.13",
        "--workspace",
        f"w={notes(tmp_path)}",
    ]
    assert main(given) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "2 lists, 1 equal"
    assert lines[0] == "w {} 'rooibos'"
    assert lines[1].startswith("    score: MEMORY.md:1-4 has 9.0 there, 0.")


@pytest.mark.parametrize(
    ("results", "workspace", "description"),
    [
        ({"w": {"{}": {}}}, "v", "the record has no workspace 'v'; it has w"),
        ({"w": {'{"corpus": "all"}': {"tea": []}}}, "w", "cannot be replayed"),
        ({"w": {"{}": []}}, "w", "none of the known forms"),
        (None, "w", "holds no record"),
    ],
)
def test_what_cannot_be_replayed_exits_with_2(
    results: Any, workspace: str, description: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [record(tmp_path, results), "--system", "openclaw-2026.2.13"]
    assert main([*given, "--workspace", f"{workspace}={notes(tmp_path)}"]) == 2
    assert description in capsys.readouterr().err
