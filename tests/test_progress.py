"""Long work says how far it is, also where there is no terminal."""

from __future__ import annotations

import sys

import pytest

from workbench.progress import LINE_SECONDS, progress


class Clock:
    """A clock that moves only when it is told to."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_without_a_terminal_long_work_prints_a_line_a_minute(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    with progress(6, "indexing", "files", clock=clock) as done:
        for _ in range(6):
            clock.now += LINE_SECONDS / 2
            done()
    assert capsys.readouterr().err.splitlines() == [
        "indexing: 2 of 6 files (33%), about 2 min left",
        "indexing: 4 of 6 files (67%), about 1 min left",
    ]
    with progress(3, "indexing", "files", clock=clock) as done:
        for _ in range(3):
            clock.now += 1
            done()
    assert capsys.readouterr().err == ""


def test_in_a_terminal_nothing_of_finished_work_stays_and_no_work_has_no_bar(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with progress(0, "indexing", "files"):
        pass
    assert capsys.readouterr().err == ""
    with progress(2, "indexing", "files") as done:
        done(2)
    shown = capsys.readouterr().err
    assert "indexing:" in shown
    assert shown.rpartition("\r")[2] == ""
