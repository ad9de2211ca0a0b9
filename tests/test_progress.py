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
        "indexing: 2 of 6 files (33%)",
        "indexing: 4 of 6 files (67%), about 1 min left",
    ]
    with progress(3, "indexing", "files", clock=clock) as done:
        for _ in range(3):
            clock.now += 1
            done()
    assert capsys.readouterr().err == ""


def test_a_slow_start_is_not_taken_for_the_speed_of_the_work(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    with progress(66, "indexing", "files", clock=clock) as done:
        for number in range(40):
            clock.now += 330 if number == 0 else 5
            done()
    first, *later = capsys.readouterr().err.splitlines()
    assert first == "indexing: 1 of 66 files (2%)"
    assert later == [
        "indexing: 13 of 66 files (20%), about 4 min left",
        "indexing: 25 of 66 files (38%), about 3 min left",
        "indexing: 37 of 66 files (56%), about 2 min left",
    ]


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
