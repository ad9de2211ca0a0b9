"""The commands about systems: list, show, diff, compare, museum, fusion, and the benchmark's bad input."""

from __future__ import annotations

import json
from pathlib import Path

from tests import world
from tests.commands import Run
from workbench import __version__
from workbench.memory.options import Options
from workbench.memory.sync import index_folder
from workbench.systems.catalogue import ON_A_SERVER, SYSTEMS, default_system

SHIPPED, FIXED = "openclaw-2026.2.13", "openclaw-2026.2.13+or+rrf+minmax"


def test_systems_lists_every_system(run: Run) -> None:
    listed = run("systems", "--json").json()
    assert [one["name"] for one in listed] == [*SYSTEMS, *ON_A_SERVER]
    assert all(one["source"]["repository"] for one in listed)


def test_show_prints_the_stages_the_changes_and_the_source(run: Run) -> None:
    shown = run("systems", FIXED).out
    assert run("show", FIXED).out == shown  # its old name
    assert "joined with OR" in shown
    assert "+rrf: ranks instead of scores" in shown
    assert "source: openclaw/openclaw 2026.2.13" in shown


def test_diff_names_only_the_slots_that_differ(run: Run) -> None:
    found = run("systems", SHIPPED, FIXED, "--json")
    assert run("diff", SHIPPED, FIXED, "--json") == found  # its old name
    assert [one["slot"] for one in found.json()] == ["query", "keyword_score", "fusion"]
    assert found.code == 0


def test_diff_shows_a_changed_layout(run: Run) -> None:
    told = run("systems", "bm-cjk-regress", "bm-cjk-regress-one-match")
    assert "layout\n  − whole notes" in told.out
    assert "+ whole notes of the project main" in told.out
    assert told.out.count("MATCH") == 3
    (found,) = run("systems", "bm-cjk-regress", "bm-cjk-regress-one-match", "--json").json()
    assert found["slot"] == "layout"
    assert found["after"].endswith("one MATCH over title and content_stems")


def test_diff_of_a_system_with_itself_ends_with_1(run: Run) -> None:
    same = run("systems", SHIPPED, SHIPPED)
    assert (same.code, same.out.strip()) == (1, "no difference")


def test_compare_sets_answers_side_by_side(run: Run, tmp_path: Path) -> None:
    root = world.write(tmp_path / "memory_of_wren")
    index_folder(root, options=Options(index_path=tmp_path / "i.sqlite"))
    options = ["--memory", str(root), "--index", str(tmp_path / "i.sqlite"), "-q", "who drinks rooibos"]
    traces = run("compare", SHIPPED, FIXED, *options, "--json").json()
    assert [one["system"] for one in traces] == [SHIPPED, FIXED]
    shown = run("compare", SHIPPED, FIXED, *options).out
    assert SHIPPED in shown
    assert "memory/tea.md:1-3" in shown


def test_compare_without_names_compares_the_default_with_the_report_s_release(
    run: Run, tmp_path: Path
) -> None:
    root = world.write(tmp_path / "memory_of_wren")
    index_folder(root, options=Options(index_path=tmp_path / "i.sqlite"))
    options = ["--memory", str(root), "--index", str(tmp_path / "i.sqlite"), "-q", "who drinks rooibos"]
    traces = run("compare", *options, "--json").json()
    assert [one["system"] for one in traces] == [default_system(), SHIPPED]


def test_a_specimen_is_run_and_told(run: Run) -> None:
    told = run("museum", "openclaw-clamped-bm25")
    assert (told.code, "openclaw/openclaw#5767" in told.out) == (0, True)


def test_two_lists_from_a_file_are_fused_by_every_engine(run: Run, tmp_path: Path) -> None:
    lists = tmp_path / "lists.json"
    lists.write_text(json.dumps({"vector": {"a": 0.9, "b": 0.5}, "keyword": {"b": 7.0}}))
    shown = run("fusion", "--lists", lists).out
    assert "rrf-60" in shown
    assert "tm2c2" in shown


def test_a_file_is_watched_by_its_name(run: Run, tmp_path: Path) -> None:
    lists = tmp_path / "lists.json"
    vector = {"memory/complaints.md:1-4": 0.9, "memory/tea.md:1-3": 0.5, "memory/tea.md:4-9": 0.4}
    lists.write_text(json.dumps({"vector": vector, "keyword": {}}))
    for name in ("complaints.md", "memory/complaints.md", "memory/complaints.md:1-4"):
        assert "watched: memory/complaints.md:1-4" in run("fusion", "--lists", lists, "--watch", name).out
    several = run("fusion", "--lists", lists, "--watch", "tea.md")
    assert (several.code, "memory/tea.md:1-3, memory/tea.md:4-9" in several.err) == (2, True)
    unknown = run("fusion", "--lists", lists, "--watch", "plaints.md")
    assert (unknown.code, "The nearest are memory/complaints.md:1-4" in unknown.err) == (2, True)


def test_the_version_is_printed(run: Run) -> None:
    shown = run("--version")
    assert (shown.code, shown.out) == (0, f"workbench {__version__}\n")
