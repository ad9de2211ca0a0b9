"""The command line: what each command prints, as text and as JSON, and its exit code."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import workbench
from tests import world
from tests.commands import Run, python
from workbench.cli.app import IndexOptions
from workbench.memory.embedding import local
from workbench.memory.index import MemoryIndex
from workbench.memory.options import Options
from workbench.memory.store.sqlite.store import Store
from workbench.memory.sync import index_folder
from workbench.systems.catalogue import default_system

SYSTEM = "openclaw-2026.2.13"
FIXED = f"{SYSTEM}+or+rrf+minmax"
QUESTION = "rooibos in the afternoon"
NO_WORD_THERE = "zyzzyva quixotry"
QUESTIONS = """
questions:
  - {question: rooibos in the afternoon, target: memory/tea.md, kind: direct}
  - {question: the front brake squeals, target: memory/bike.md, kind: natural}
  - {question: which drive broke in the machine, target: memory/server.md, kind: natural}
controls:
  - zyzzyva quixotry
"""


@dataclass(frozen=True)
class Place:
    """The notes of `world` and their index, made with the packaged model."""

    folder: Path
    index: Path

    @property
    def options(self) -> list[str]:
        return ["--memory", str(self.folder), "--index", str(self.index)]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    home = tmp_path_factory.mktemp("place")
    made = Place(world.write(home / "memory_of_wren"), home / "i.sqlite")
    (made.folder / "questions.yaml").write_text(QUESTIONS, encoding="utf-8")
    index_folder(made.folder, options=Options(index_path=made.index))
    return made


# search


def test_search_finds_the_note(run: Run, place: Place) -> None:
    outcome = run("search", QUESTION, *place.options, "--system", SYSTEM)
    assert outcome.code == 0
    assert "memory/tea.md:1-3" in outcome.out
    assert outcome.err == ""


def test_openclaws_own_file_is_searched_as_openclaw_does_and_all_else_as_recommended(tmp_path: Path) -> None:
    (tmp_path / "main.sqlite").touch()
    assert IndexOptions(str(tmp_path / "main.sqlite")).system(None) == "openclaw-2026.2.13"
    for memory in ("notes", "postgresql://me@localhost/notes", "milvus:///notes.db"):
        assert IndexOptions(memory).system(None) == "recommended"
        assert IndexOptions(memory).system("bm-head") == "bm-head"


def test_search_and_explain_use_the_recommended_system_by_default(run: Run, place: Place) -> None:
    assert run("search", QUESTION, *place.options, "--json").json()["system"] == "recommended"
    told = run("explain", QUESTION, "--target", "memory/tea.md", *place.options, "--json").json()
    assert (told["system"], told["fate"]) == ("recommended", "returned")


def test_search_as_json_has_the_whole_trace(run: Run, place: Place) -> None:
    found = run("search", QUESTION, *place.options, "--system", SYSTEM, "--json").json()
    keys = {
        "question",
        "read_as",
        "system",
        "match",
        "indexed_otherwise",
        "legs",
        "notes",
        "results",
        "dropped",
    }
    assert set(found) == keys
    assert (found["question"], found["system"]) == (QUESTION, SYSTEM)
    assert found["match"] == '"rooibos" AND "in" AND "the" AND "afternoon"'
    assert found["legs"]["vector"] == {"asked": "384 dimensions", "depth": 24, "brought": 6}
    assert len(found["results"]) + len(found["dropped"]) == 6
    first, dropped = found["results"][0], found["dropped"]
    assert (first["path"], first["snippet"]) == ("memory/tea.md", world.NOTES["memory/tea.md"])
    assert (first["position"], first["start_line"], first["end_line"]) == (1, 1, 3)
    assert first["dropped_by"] is None
    assert first["score"] == pytest.approx(0.7 * first["vector_score"] + 0.3 * first["keyword_score"])
    assert all(one["dropped_by"] == "floor: drop what scores below 0.35" for one in dropped)
    assert {one["keyword_rank"] for one in dropped} == {None}


def test_a_search_with_no_result_ends_with_1(run: Run, place: Place) -> None:
    outcome = run("search", NO_WORD_THERE, *place.options, "--system", SYSTEM)
    assert outcome.code == 1
    assert "Nothing returned." in outcome.out
    outcome = run("search", NO_WORD_THERE, *place.options, "--system", SYSTEM, "--json")
    assert (outcome.code, outcome.json()["results"]) == (1, [])


def test_another_floor_and_limit_are_taken(run: Run, place: Place) -> None:
    cut = ["--min-score", "-1", "--limit", "2"]
    found = run("search", NO_WORD_THERE, *place.options, "--system", SYSTEM, *cut, "--json").json()
    assert len(found["results"]) == 2
    assert found["legs"]["keyword"]["depth"] == 2 * 4


def test_another_system_is_asked(run: Run, place: Place) -> None:
    found = run("search", QUESTION, *place.options, "--system", FIXED, "--json").json()
    assert found["system"] == FIXED
    assert found["match"] == '"rooibos" OR "in" OR "the" OR "afternoon"'


# explain


def after_the_caution(printed: str) -> str:
    """A printed answer without its first line, which says that the index is not made as the release's."""
    first, _, answer = printed.partition("\n")
    assert first.startswith(f"This index differs from the one that {SYSTEM} makes (")
    return answer


def test_explain_says_how_a_note_got_in(run: Run, place: Place) -> None:
    outcome = run("explain", QUESTION, "--target", "memory/tea.md", *place.options, "--system", SYSTEM)
    assert outcome.code == 0
    assert after_the_caution(outcome.out).startswith("Returned: file 1 of 2 in the answer.")
    assert "score = 0.7 × " in outcome.out


def test_explain_says_why_a_note_is_not_there(run: Run, place: Place) -> None:
    asked = ("explain", QUESTION, "--target", "memory/bike.md", *place.options, "--system", SYSTEM)
    printed, outcome = run(*asked), run(*asked, "--json")
    assert printed.code == 1
    assert after_the_caution(printed.out).startswith("Not returned: the floor drops it, score 0.")
    assert "“rooibos”" in printed.out
    told = outcome.json()
    (chunk,) = told["chunks"]
    assert (outcome.code, told["target"], told["fate"]) == (1, "memory/bike.md", "below the floor")
    assert chunk["formulas"].keys() == {"vector_score", "score"}
    assert [leg["leg"] for leg in chunk["legs"]] == ["keyword", "vector"]
    assert chunk["legs"][0]["missing"] == ["rooibos", "in", "afternoon"]


@pytest.mark.parametrize("before", ["", "{folder}/", "{folder}/memory/../"])
def test_a_target_may_have_the_memorys_folder_before_it(run: Run, place: Place, before: str) -> None:
    target = before.format(folder=place.folder) + "memory/tea.md"
    told = run("explain", QUESTION, "--target", target, *place.options, "--system", SYSTEM, "--json").json()
    assert told["target"] == "memory/tea.md"


@pytest.mark.parametrize(
    ("target", "description"),
    [
        ("memory/bikes.md", "The most similar path in the index is memory/bike.md."),
        ("memory/report.pdf", "The index has no such file, and there is none at {folder}/memory/report.pdf."),
    ],
)
def test_a_file_that_is_not_indexed_is_said_to_be_so_and_why(
    run: Run, place: Place, target: str, description: str
) -> None:
    outcome = run("explain", QUESTION, "--target", target, *place.options, "--system", SYSTEM)
    assert outcome.code == 1
    assert after_the_caution(outcome.out).startswith("Not in the index: ")
    assert description.format(folder=place.folder) in " ".join(outcome.out.split())


def test_a_file_that_is_not_indexed_is_told_before_a_model_is_loaded(
    run: Run, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(MemoryIndex, "embed", lambda *_: pytest.fail("The question was embedded."))
    outcome = run("explain", QUESTION, "--target", "memory/bikes.md", *place.options, "--system", SYSTEM)
    assert (outcome.code, "Not in the index: memory/bikes.md." in outcome.out) == (1, True)


def test_a_file_that_is_not_indexed_yet_is_said_to_be_there_and_renamed(run: Run, tmp_path: Path) -> None:
    folder, index = world.write(tmp_path / "notes"), tmp_path / "i.sqlite"
    index_folder(folder, options=Options(index_path=index))
    (folder / "memory/tea.md").rename(folder / "memory/rooibos.md")
    world.write(folder, {"memory/later.md": "Now it is coffee.\n"})
    options = ("-m", folder, "--index", index)
    for target, former in (("memory/rooibos.md", "memory/tea.md"), ("memory/later.md", "")):
        told = run("explain", QUESTION, "-t", target, *options).out.strip().split("\n")[2:]
        assert told[0] == (
            f"{folder / target} is there, and not in the index yet. "
            f"Add it: workbench index {folder} --index {index}"
        )
        renamed = f"It was renamed since: the index has the same text as {former}."
        assert told[1:] == ([renamed] if former else [])


def test_an_empty_note_that_was_written_since_is_said_to_have_changed(run: Run, tmp_path: Path) -> None:
    folder, index = world.write(tmp_path / "notes", {"memory/draft.md": "\n"}), tmp_path / "i.sqlite"
    index_folder(folder, options=Options(index_path=index))
    world.write(folder, {"memory/draft.md": "Send urgent notifications to the on-call phone.\n"})
    told = run("explain", QUESTION, "-t", "memory/draft.md", "-m", folder, "--index", index).out
    assert (
        "memory/draft.md had no text when it was indexed, and has changed since. "
        f"Update the index: workbench index {folder} --index {index}"
    ) in told


# evaluate


def test_the_figures_of_an_evaluation_belong_together(run: Run, place: Place) -> None:
    (told,) = run("evaluate", "-s", SYSTEM, *place.options, "--json").json()
    assert (told["n"], told["controls"], told["files"]) == (3, 1, 3)
    assert told["hit_rate"] == told["hits"] / 3
    assert told["by_kind"]["direct"] == {"n": 1, "hits": 1, "hit_rate": 1.0}
    assert told["by_kind"]["natural"]["n"] == 2
    assert told["hits"] == sum(kind["hits"] for kind in told["by_kind"].values())
    assert told["files_passing"] == 0
    assert told["controls_silent"] == 1


def test_evaluate_asks_every_system_when_told(run: Run, place: Place) -> None:
    told = run("evaluate", "--all", *place.options, "--json").json()
    assert [one["system"] for one in told] == list(workbench.SYSTEMS)


def test_evaluate_compares_a_few_systems_when_none_is_named(run: Run, place: Place) -> None:
    outcome = run("evaluate", *place.options)
    assert SYSTEM in outcome.out
    assert "openclaw-2026.9.6" in outcome.out
    assert f"7 of {len(workbench.SYSTEMS)} systems; --all runs every one." in outcome.err
    told = run("evaluate", *place.options, "--json").json()
    assert told[0]["system"] == default_system()  # the others are compared with what a search runs


def test_evaluate_lists_the_missed_questions_with_their_fate(run: Run, place: Place) -> None:
    (told,) = run("evaluate", "-s", SYSTEM, *place.options, "--json").json()
    assert len(told["missed"]) == told["n"] - told["hits"]
    for one in told["missed"]:
        explained = run(
            "explain", one["question"], "-t", one["target"], *place.options, "--system", SYSTEM, "--json"
        ).json()
        assert one["fate"] == explained["fate"]
    shown = run("evaluate", "-s", SYSTEM, *place.options, "--missed").out
    assert all(one["question"] in shown and one["fate"] in shown for one in told["missed"])
    assert f"{SYSTEM} missed {len(told['missed'])}" in shown
    assert "missed" not in run("evaluate", "-s", SYSTEM, *place.options).out


def test_files_passing_is_left_out_where_no_file_can_pass(run: Run, place: Place, tmp_path: Path) -> None:
    assert "passing" not in run("evaluate", "-s", SYSTEM, *place.options, "--details").out
    more = "\n".join(f"  - {{question: rooibos {place}, target: memory/tea.md}}" for place in range(3))
    file = tmp_path / "q.yaml"
    file.write_text(QUESTIONS.replace("controls:", f"{more}\ncontrols:"), encoding="utf-8")
    shown = run("evaluate", "-s", SYSTEM, *place.options, "-q", file, "--details").out
    assert "passing" in shown
    assert "2 of 3 files have fewer questions and cannot pass" in " ".join(shown.split())


def test_evaluate_compares_each_later_system_with_the_first(run: Run, place: Place) -> None:
    options = ("-s", SYSTEM, "-s", FIXED, *place.options)
    first, second = run("evaluate", *options, "--json").json()
    assert first["paired"] is None
    verdict = second["paired"]
    assert verdict.keys() >= {"wins", "losses", "p", "interval", "sentence"}
    assert verdict["wins"] - verdict["losses"] == second["hits"] - first["hits"]
    assert "no significant difference (3 questions)" in verdict["sentence"]
    detailed = " ".join(run("evaluate", *options, "--details").out.split())
    assert verdict["sentence"] in detailed
    assert "With --details: " not in detailed
    assert "With --details: " in run("evaluate", *options).out
    printed = run("evaluate", *options).out.splitlines()
    assert printed[0].startswith("This index differs from")
    answer = [line for line in printed if line.startswith((f"{SYSTEM} returns", f"{FIXED}: "))]
    assert answer[0].startswith(f"{SYSTEM} returns the right file for {first['hits']} of 3 questions")
    assert answer[1] == f"{FIXED}: {verdict['sentence']}."
    assert "compared with" not in run("evaluate", "-s", SYSTEM, *place.options).out


def test_evaluate_compares_by_the_measure_that_is_asked(run: Run, place: Place) -> None:
    options = ("-s", SYSTEM, "-s", FIXED, *place.options)
    first, second = run("evaluate", *options, "--measure", "RR", "--json").json()
    assert second["paired"]["measure"] == "RR"
    assert abs(second["paired"]["difference"] - (second["mrr"] - first["mrr"])) < 1e-12
    refused = run("evaluate", *options, "--measure", "nonsense")
    assert refused.code == 2
    assert "'nonsense' is not a measure" in refused.err


# index and doctor


def test_index_says_what_it_did(run: Run, tmp_path: Path) -> None:
    folder = world.write(tmp_path / "m", {"MEMORY.md": "tea", "memory/a.md": "bike"})
    arguments = ["index", folder, "--index", tmp_path / "i.sqlite", "--json"]
    first, again = run(*arguments).json(), run(*arguments).json()
    assert (first["new"], first["chunks"], first["later"]) == (["MEMORY.md", "memory/a.md"], 2, 2)
    assert (again["new"], again["unchanged"], again["embedded"]) == ([], 2, 0)


def test_index_computes_the_vectors_of_whole_chunks_when_told(run: Run, tmp_path: Path) -> None:
    folder, file = world.write(tmp_path / "m", {"MEMORY.md": "tea", "memory/a.md": "bike"}), tmp_path / "i"
    for option, kept in (([], 0), (["--vectors"], 2)):
        assert run("index", folder, "--index", file, *option).code == 0
        with Store.open(file) as store:
            count = "SELECT count(*) FROM embedding_cache WHERE role = 'passage'"
            assert store.db.execute(count).get == kept
    as_a_release = run("index", folder, "--index", tmp_path / "j", "--as", "openclaw-2026.2.13", "--json")
    assert as_a_release.json()["later"] == 0
    assert run("index", folder, "--watch", "--vectors").code == 2


def test_index_reads_as_it_is_told_and_rebuilds_when_told(run: Run, tmp_path: Path) -> None:
    folder = world.write(tmp_path / "m", {"MEMORY.md": "tea"})
    asked = ("index", folder, "--index", tmp_path / "i.sqlite", "--reading", "truncated")
    run(*asked)
    again = run(*asked, "--rebuild", "--json").json()
    assert (again["new"], again["later"]) == (["MEMORY.md"], 1)
    with Store.open(tmp_path / "i.sqlite") as store:
        assert store.settings.revision.endswith("/truncated")


def test_a_large_memory_is_truncated_and_stderr_says_so_once(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "READ_WHOLE", 2)
    folder = world.write(tmp_path / "m", {"MEMORY.md": "tea"})
    asked = ("index", folder, "--index", tmp_path / "i.sqlite")
    told = [run(*asked, *more).err for more in ([], [], ["--rebuild"], ["--reading", "truncated"])]
    assert ["--reading windowed" in one for one in told] == [True, False, True, False]
    run(*asked, "--reading", "windowed", "--rebuild")
    assert "--reading windowed" not in run(*asked).err
    with Store.open(tmp_path / "i.sqlite") as store:
        assert store.settings.revision.endswith("/windowed")


def test_index_goes_to_the_home_of_the_workbench(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path / "home"))
    run("index", world.write(tmp_path / "m", {"MEMORY.md": "tea"}))
    assert len(list((tmp_path / "home").glob("m-*.sqlite"))) == 1


def test_a_garbled_index_in_the_home_of_the_workbench_is_said_and_rebuilt(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path / "home"))
    folder = world.write(tmp_path / "m", {"MEMORY.md": "tea"})
    run("index", folder)
    (file,) = (tmp_path / "home").glob("m-*.sqlite")
    file.write_text("This is no database.")
    for command in (["index", folder], ["search", "tea", "--memory", folder]):
        ended = run(*command)
        assert (ended.code, "--rebuild" in ended.err) == (3, True)
    assert run("index", folder, "--rebuild").code == 0
    assert run("search", "tea", "--memory", folder).code == 0


def test_index_verifies_when_told(run: Run, tmp_path: Path) -> None:
    folder = world.write(tmp_path / "m", {"MEMORY.md": "tea"})
    arguments = ["index", folder, "--index", tmp_path / "i.sqlite", "--json"]
    run(*arguments)
    info = (folder / "MEMORY.md").stat()
    (folder / "MEMORY.md").write_text("hub")
    os.utime(folder / "MEMORY.md", ns=(info.st_atime_ns, info.st_mtime_ns))
    assert run(*arguments).json()["changed"] == []
    assert run(*arguments, "--verify").json()["changed"] == ["MEMORY.md"]


def test_doctor_finds_everything_there(run: Run, place: Place) -> None:
    outcome = run("doctor", *place.options, "--json")
    findings = {one["what"]: one for one in outcome.json()}
    assert all({"what", "fine", "says", "count"} <= one.keys() for one in findings.values())
    assert {"Python", "SQLite", "sqlite-vec", "model", "torch", "index"} <= findings.keys()
    assert "6 files, 6 chunks" in findings["index"]["says"]
    assert outcome.code == int(not all(one["fine"] for one in findings.values()))
    first, *lines = run("doctor", *place.options).out.splitlines()
    bad = [name for name, one in findings.items() if not one["fine"]]
    assert first == (
        f"{len(bad)} of {len(findings)} checks failed: {', '.join(bad)}." if bad else "All is well."
    )
    assert sum(line.startswith("✗ ") for line in lines) == len(bad)
    assert sum(line.startswith("✓ ") for line in lines) == len(findings) - len(bad)


@pytest.mark.parametrize("content", [None, "", "This is no database at all.\n" * 50])
def test_doctor_ends_with_1_without_a_sound_index(
    run: Run, place: Place, tmp_path: Path, content: str | None
) -> None:
    file = tmp_path / "i.sqlite"
    if content is not None:
        file.write_text(content)
    outcome = run("doctor", "--memory", place.folder, "--index", file, "--json")
    (finding,) = [one for one in outcome.json() if one["what"] == "index"]
    assert (outcome.code, finding["fine"]) == (1, False)
    assert str(file) in finding["says"]


def index_check(run: Run, place: Place) -> dict[str, Any]:
    (found,) = [one for one in run("doctor", *place.options, "--json").json() if one["what"] == "index"]
    return found


def test_doctor_ticks_no_index_that_is_older_than_its_memory(run: Run, place: Place) -> None:
    new = place.folder / "memory" / "new.md"
    new.write_text("# Something new\n", encoding="utf-8")
    found = index_check(run, place)
    new.unlink()
    assert not found["fine"]
    assert "Files are not in the store, 1" in found["says"]
    assert "workbench doctor" in found["says"]
    assert index_check(run, place)["fine"]


def test_doctor_says_what_a_store_has_and_what_repairs_it(run: Run, place: Place) -> None:
    new = place.folder / "memory" / "new.md"
    new.write_text("# Something new\n", encoding="utf-8")
    outcome = run("doctor", place.folder, "--index", place.index, "--json")
    new.unlink()
    found, store = outcome.json()
    assert (outcome.code, found["what"], found["count"], found["example"]) == (
        1,
        "not indexed",
        1,
        "memory/new.md",
    )
    assert "workbench index" in found["repair"]
    assert "6 chunks" in store["says"]
    assert run("doctor", place.folder, "--index", place.index).code == 0


# help, and what is loaded


ROOMS = """
import importlib, pkgutil, sys, workbench
for room in {rooms}:
    package = importlib.import_module(room)
    for module in pkgutil.walk_packages(getattr(package, "__path__", []), room + "."):
        importlib.import_module(module.name)
heavy = {{
    "torch", "sentence_transformers", "transformers", "plotly", "pandas", "scipy", "ipywidgets", "IPython",
}}
print(sorted(heavy & sys.modules.keys()))
"""


@pytest.mark.parametrize(
    "rooms",
    [
        [],
        ["workbench.memory", "workbench.retrieval", "workbench.systems.catalogue"],
        ["workbench_plugins.explore.page_server"],
    ],
)
def test_importing_loads_nothing_heavy(rooms: list[str]) -> None:
    outcome = python("-c", ROOMS.format(rooms=rooms))
    assert (outcome.out.strip(), outcome.err) == ("[]", "")


def test_the_front_door_has_at_most_24_names_and_no_other() -> None:
    assert len(workbench.__all__) <= 24
    assert all(getattr(workbench, name) is not None for name in workbench.__all__)
    assert set(workbench.__all__) <= set(dir(workbench))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = workbench.nothing


@pytest.mark.parametrize(
    ("guess", "told"),
    [
        ("compare", "Perhaps you mean: from workbench.measure.paired import paired"),
        ("diagnose", "It is a feature: workbench_plugins.diagnose"),
        ("connect", "Perhaps you mean: workbench.open_index(folder)"),
        ("index", "Perhaps you mean: workbench.index_folder(folder)"),
        ("serch", "The nearest: search"),
        ("zyzzyva", "It has InputError, "),
    ],
)
def test_a_name_that_is_guessed_is_answered_with_what_to_write(guess: str, told: str) -> None:
    with pytest.raises(AttributeError, match=f"no attribute '{guess}'. {re.escape(told)}"):
        getattr(workbench, guess)


def test_all_that_is_offered_for_a_guessed_name_is_there() -> None:
    for written, guesses in workbench._MEANT.items():
        if written.startswith("from "):
            exec(written, {})
        else:
            assert written.partition("(")[0] in workbench.__all__
        assert not set(guesses) & set(workbench.__all__)


def test_a_search_says_when_the_memory_is_newer_than_its_index(run: Run, tmp_path: Path) -> None:
    root = world.write(tmp_path / "memory_of_wren")
    index_folder(root, options=Options(index_path=tmp_path / "i.sqlite"))
    options = ["--memory", str(root), "--index", str(tmp_path / "i.sqlite")]
    assert run("search", QUESTION, *options, "--system", SYSTEM).err == ""
    (root / "memory/tea.md").write_text("Tea is gone.", encoding="utf-8")
    (root / "memory/bike.md").unlink()
    warned = run("search", QUESTION, *options, "--system", SYSTEM).err
    assert "2 files changed (memory/bike.md, memory/tea.md)" in warned
    assert f"workbench index {root}" in warned
