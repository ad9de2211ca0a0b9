"""Collections are read from their own formats; ties count against a system; runs are compared in pairs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.published.__main__ import bench
from benchmarks.published.ranking import RankedRun, Ranking, _ranks, compared, folder, save, saved
from benchmarks.published.view import ranked_data
from tests import world
from tests.commands import runner
from workbench.errors import InputError
from workbench.measure.paired import Paired
from workbench.memory.store.contract import UnwritableError
from workbench.systems.openclaw import THREE_FIXES
from workbench_plugins.runs import collections
from workbench_plugins.runs.collections import BenchQuestion, Text


def question(*truth: str, id_: str = "q0") -> BenchQuestion:
    return BenchQuestion(id_, "rooibos tea", frozenset(truth))


def run(*ranks: tuple[int, ...]) -> RankedRun:
    answers = [
        Ranking(question("a", "b", id_=f"q{place}"), ("a",), one, one) for place, one in enumerate(ranks)
    ]
    return RankedRun("s", tuple(answers))


def against(path: Path, *runs: RankedRun) -> dict[str, Paired]:
    return compared(path, saved(path), runs)


def test_a_wrong_document_with_the_same_score_comes_first() -> None:
    scores = {"right": 0.5, "wrong": 0.5, "worse": 0.4, "also right": 0.4}
    assert _ranks(scores, frozenset(["right", "also right"])) == (2, 4)


def test_evidence_recall_needs_every_document_and_any_hit_one() -> None:
    figures = run((1, 7), (6,), ()).figures()
    assert figures["evidence@5"] == pytest.approx(1 / 6)
    assert figures["any@5"] == pytest.approx(1 / 3)
    assert figures["any@6"] == pytest.approx(2 / 3)
    assert figures["MRR"] == pytest.approx((1 + 1 / 6) / 3)


def test_a_saved_run_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    save(file, [run((1,))])
    with pytest.raises(InputError, match="other questions"):
        against(file, run((1,), (1,)))
    with pytest.raises(InputError, match=r"It has s: "):
        against(file, replace(run((1,)), system="other"))
    file.write_text("{}\n")
    with pytest.raises(InputError, match="line 1 is not a line of a saved run"):
        saved(file)
    with pytest.raises(UnwritableError):
        save(tmp_path, [run((1,))])


def test_whole_groups_are_resampled_not_their_questions() -> None:
    """Eight questions of two conversations that all changed are two units, which can tell nothing."""

    def of(rank: int) -> RankedRun:
        asked = [BenchQuestion(f"q{n}", "tea", frozenset("a"), "", f"c{n % 2}") for n in range(8)]
        return RankedRun("s", tuple(Ranking(one, ("a",), (rank,), (rank,)) for one in asked))

    verdict = of(1).compared_with(of(9).values())
    assert (verdict.n, verdict.units, verdict.unit, verdict.differs) == (8, 2, "group", False)


def test_a_run_is_told_by_group_and_each_other_system_against_the_chosen_one() -> None:
    good, bad = run((1, 2), (1, 2), (1, 2)), replace(run((1, 2), (9,), ()), system="bad")
    told = ranked_data([in_groups(good), in_groups(bad)], "bad", {})
    assert told[1]["by_group"]["0"]["evidence@5"] == 0.5
    assert told[1]["by_group"]["1"]["n"] == 1
    assert "against" not in told[1]
    assert (told[0]["against"]["system"], told[0]["against"]["wins"]) == ("bad", 2)


def in_groups(one: RankedRun) -> RankedRun:
    """The run with its questions in the groups 0 and 1 by turns."""
    groups = [replace(each.question, group=str(place % 2)) for place, each in enumerate(one.answers)]
    answers = [replace(each, question=asked) for each, asked in zip(one.answers, groups, strict=True)]
    return replace(one, answers=tuple(answers))


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = world.write(tmp_path / "notes")
    (folder / "questions.yaml").write_text(
        "questions: [{question: rooibos tea, target: memory/tea.md}]\n", encoding="utf-8"
    )
    return folder


def test_a_command_has_its_own_arguments_and_the_options_of_all(
    notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run, file = runner(monkeypatch, capsys, bench), tmp_path / "run.jsonl"
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path / "home"))
    one, two = THREE_FIXES.name, "openclaw-2026.2.13"
    told = run("folder", notes, "-s", one, "-s", two, "--against", two, "--save", file, "--json").json()
    assert [row["system"] for row in told] == [one, two]
    assert told[0]["against"]["system"] == two
    shown = run("folder", notes, "-s", one, "-s", two, "--against", two).out
    assert f"{one} against {two}: no significant difference" in shown
    assert len(file.read_text(encoding="utf-8").splitlines()) == 2
    again = run("folder", notes, "-s", one, "--compare", file, "--json").json()
    assert again[0]["against_saved"]["difference"] == 0
    refused = run("folder", notes, "-s", one, "--against", two)
    assert (refused.code, "is not among the systems" in refused.err) == (2, True)


# Formats

BEIR = {
    "corpus.jsonl": '{"_id": "d1", "title": "Tea", "text": "Rooibos."}\n',
    "queries.jsonl": '{"_id": "q1", "text": "tea?"}\n{"_id": "q2", "text": "no label"}\n',
    "qrels/test.tsv": "query-id\tcorpus-id\tscore\nq1\td1\t1\nq1\td9\t0\n",
}
TREC = {"collection.tsv": "d1\tRooibos.\n", "queries.tsv": "7\ttea?\n", "qrels.txt": "7 0 d1 2\n7 0 d2 0\n"}


def test_beir_is_read(tmp_path: Path) -> None:
    found = collections.beir(world.write(tmp_path, BEIR))
    assert found.documents == (Text("d1", "# Tea\n\nRooibos."),)
    assert found.questions == (BenchQuestion("q1", "tea?", frozenset(["d1"])),)


def test_trec_is_read_and_a_line_that_is_no_judgement_is_named(tmp_path: Path) -> None:
    found = collections.trec(world.write(tmp_path, TREC))
    assert found.questions == (BenchQuestion("7", "tea?", frozenset(["d1"])),)
    for line in ("7 0 d1 good", "7 d1"):
        world.write(tmp_path, TREC | {"qrels.txt": f"7 0 d1 1\n{line}\n"})
        with pytest.raises(InputError, match="line 2"):
            collections.trec(tmp_path)


def longmemeval(folder: Path, **changed: Any) -> Path:
    said = [{"role": "user", "content": "Rooibos."}]
    row = {
        "question_id": "1", "question": "Which tea?", "question_type": "single-session-user",
        "haystack_session_ids": ["s1"], "haystack_dates": ["8 May"], "haystack_sessions": [said],
        "answer_session_ids": ["s1"],
    }  # fmt: skip
    path = folder / "longmemeval.json"
    path.write_text(json.dumps([row | changed]))
    return path


def test_longmemeval_is_read_and_another_form_is_refused(tmp_path: Path) -> None:
    found = collections.longmemeval(longmemeval(tmp_path))
    assert found.documents == (Text("s1", "# Chat session at 8 May\n\n- **User:** Rooibos.\n"),)
    assert found.questions[0].truth == {"s1"}
    for changed in ({"haystack_dates": []}, {"question": 3}, {"answer_session_ids": None}):
        with pytest.raises(InputError):
            collections.longmemeval(longmemeval(tmp_path, **changed))


def test_what_is_not_there_is_named(notes: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"corpus\.jsonl"):
        collections.beir(tmp_path)
    (notes / "questions.yaml").write_text("questions: [{question: tea, target: memory/gone.md}]\n")
    with pytest.raises(InputError, match=r"memory/gone\.md"):
        folder(notes)


MADE = collections.TestCollection(
    "made",
    (Text("d1", "a cup\nof tea"), Text("d 2", "naïve “bike”")),
    (BenchQuestion("q1", "tea?", frozenset(["d1"])),),
)


def test_a_collection_comes_back(tmp_path: Path) -> None:
    collections.write_beir(MADE, tmp_path / "made")
    back = collections.read_collection(tmp_path / "made", "beir")
    assert (back.documents, back.questions) == (MADE.documents, MADE.questions)


def test_a_folder_that_holds_something_and_an_unknown_form_are_refused(tmp_path: Path) -> None:
    (tmp_path / "kept.txt").write_text("kept")
    with pytest.raises(InputError, match="is not empty"):
        collections.write_beir(MADE, tmp_path)
    with pytest.raises(InputError, match="There is no form"):
        collections.read_collection(tmp_path, "csv")
