"""The speed benchmark: same questions to all, honest ratios, saved runs, and peers that are not installed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.speed.__main__ import script
from benchmarks.speed.catalogue import FLOORS
from benchmarks.speed.corpus import Corpus
from benchmarks.speed.ours import FIRST, HYBRID, BareNumPy
from benchmarks.speed.peers.bm25s_peer import BM25S
from benchmarks.speed.report import Search, SpeedReport, compare, growth, load, ratios, targets
from benchmarks.speed.running import measure
from tests.commands import Run, runner

CORPUS = Corpus(40)


@pytest.fixture(scope="module")
def report() -> SpeedReport:
    return measure(FLOORS, [40, 60], questions=4, cold=False)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(monkeypatch, capsys, script)


def a_search(system: str, chunks: int, *ms: float, kind: str = HYBRID) -> Search:
    return Search(system, kind, chunks, list(ms), list(ms))


def test_every_way_to_ask_is_timed_once_for_each_question(report: SpeedReport) -> None:
    kinds = len({one.kind for one in report.searches})
    assert len(report.searches) == 2 * (kinds + 1)  # at each size; the vector leg also for bare NumPy
    assert {HYBRID, FIRST} < {one.kind for one in report.searches}
    assert {len(one.wall_ms) for one in report.searches} == {4}
    assert all(ms > 0 for one in report.searches for ms in one.wall_ms)


def test_a_ratio_is_paired_by_question_and_has_its_quartiles() -> None:
    ours, peer = a_search("workbench", 10, 1, 2, 4), a_search("peer", 10, 3, 4, 40)
    [(one, spread)] = ratios(SpeedReport({}, [ours, peer]))
    assert one == peer
    assert (spread.low, spread.median, spread.high) == (2.5, 3, 6.5)


def test_growth_is_the_slope_on_logarithmic_axes() -> None:
    report = SpeedReport({}, [a_search("workbench", 10**n, 2.0 * 100**n) for n in (2, 3, 4)])
    [(_, _, exponent)] = growth(report)
    assert exponent == pytest.approx(2)


def test_a_promise_is_measured_against_the_fastest_peer() -> None:
    searches = [a_search(name, 10_000, ms) for name, ms in (("workbench", 3), ("slow", 30), ("fast", 5))]
    [promise] = targets(SpeedReport({}, searches))
    assert (promise.measured, promise.kept) == (pytest.approx(0.6), False)


def test_only_a_change_beyond_the_spread_is_called_one() -> None:
    def run_of(*ms: float) -> SpeedReport:
        return SpeedReport({}, [a_search("workbench", 10, 1, 1, 1), a_search("peer", 10, *ms)])

    assert [one.beyond_spread for one in compare(run_of(2, 3, 4), run_of(3, 4, 5))] == [False]
    assert [one.beyond_spread for one in compare(run_of(2, 3, 4), run_of(6, 7, 8))] == [True]
    assert compare(run_of(2, 3, 4), SpeedReport({}, [])) == []


def test_a_saved_run_is_read_as_it_was(report: SpeedReport, tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    file.write_text(json.dumps(report.as_json()))
    assert json.loads(json.dumps(load(file).as_json())) == json.loads(file.read_text())


class NotInstalled(BM25S):
    """A peer whose library nobody has."""

    name = "nobody"
    needs = ("a_library_that_nobody_has",)


class Slow(BareNumPy):
    """A system that takes too long for more than ten chunks."""

    name = "slow"
    largest = 10
    why_largest = "it takes a second a chunk"


def test_who_is_left_out_is_named_with_the_reason() -> None:
    report = measure([BareNumPy, NotInstalled, Slow], [40], questions=2, sync=False, cold=False)
    assert {one.system for one in report.searches} == {"bare NumPy"}
    missing, slow = report.skipped
    assert "a_library_that_nobody_has not installed" in missing
    assert "[bench]" in missing
    assert slow == "slow at 40 chunks: it takes a second a chunk."


def test_the_command_measures_saves_prints_and_compares(run: Run, tmp_path: Path) -> None:
    saved, figure = tmp_path / "run.json", tmp_path / "figure.html"
    measured = run("--alone", "--quick", "--size", "40", "-n", "2", "--save", saved)
    assert measured.code == 0, measured.err
    assert {one.system for one in load(saved).searches} == {"workbench", "bare NumPy"}
    saved.write_text(json.dumps(replace(load(saved), skipped=["peer: gone"]).as_json()))
    outcome = run("--saved", saved, "--against", saved, "--figure", figure)
    assert outcome.code == 0, outcome.err
    for words in ("vector leg", "Left out: peer: gone", "0 of 1 ratios"):
        assert words in outcome.out
    assert "plotly" in figure.read_text(encoding="utf-8")
