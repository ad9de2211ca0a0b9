"""`workbench runs`, `gate` and `triage` on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.commands import Run
from workbench.measure.questions import load_questions
from workbench.memory.index import MemoryIndex

QUESTIONS = "sample_memory/questions.yaml"
FIXED = "openclaw-2026.2.13+or+rrf+minmax"


pytestmark = pytest.mark.usefixtures("in_project")


def test_runs_are_exported_imported_compared_and_blamed(run: Run, tmp_path: Path) -> None:
    ours, labels, topics = (tmp_path / name for name in ("ours.jsonl", "qrels.txt", "topics.tsv"))
    written = "-o", ours, "--qrels", labels, "--topics", topics
    exported = run("runs", "export", "--questions", QUESTIONS, "--system", FIXED, *written)
    assert exported.code == 0
    evaluated = run("evaluate", "--system", FIXED, "--json").json()[0]
    trec = tmp_path / "ours.trec"
    assert run("runs", "import", ours, "-o", trec).code == 0
    for file in (ours, trec):
        found = run("runs", "compare", file, "--qrels", labels, "--json").json()["runs"][0]
        assert (found["hits"], found["mrr"]) == (evaluated["hits"], pytest.approx(evaluated["mrr"]))
    both = run("runs", "compare", trec, "--questions", QUESTIONS, "--system", "openclaw-2026.2.13", "--json")
    assert both.code == 0
    assert both.json()["paired"][0]["differs"]
    assert {one["gained"] for one in both.json()["flips"]} == {False}
    blamed = run(
        "runs", "blame", trec, "--qrels", labels, "--topics", topics, "-m", "sample_memory", "--json"
    )
    assert (blamed.code, len(blamed.json())) == (1, 57 - evaluated["hits"])
    assert all(one["ours"]["legs"]["vector"]["rank"] for one in blamed.json())


def test_lint_ends_with_1_for_a_suspicious_run(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "theirs.jsonl"
    file.write_text(json.dumps({"question": "tea", "results": [["a", 1], ["b", 1]]}) + "\n")
    outcome = run("runs", "lint", file)
    assert outcome.code == 1
    assert "constant scores" in outcome.out
    assert "workbench museum openclaw-clamped-bm25" in " ".join(outcome.out.split())
    file.write_text(json.dumps({"question": "tea", "results": [["a", 0.9], ["b", 0.1]]}) + "\n")
    assert run("runs", "lint", file).code == 0


def test_lint_checks_the_order_against_a_memory_that_is_named_also_the_sample(
    run: Run, sample: MemoryIndex, tmp_path: Path
) -> None:
    files = {True: tmp_path / "turned.jsonl", False: tmp_path / "ours.jsonl"}
    asked = ("--questions", QUESTIONS)
    for turned, file in files.items():
        file.write_text("".join(whole_ranking(sample, one, turned) for one in questions()[:12]))
    named = ("-m", "sample_memory")
    assert "upside down" in run("runs", "lint", files[True], *asked, *named).out
    assert "upside down" not in run("runs", "lint", files[False], *asked, *named).out
    assert "upside down" not in run("runs", "lint", files[True], *asked).out
    assert "Add --questions FILE." in run("runs", "lint", files[True], *named).err
    file = tmp_path / "others.jsonl"
    file.write_text(json.dumps({"question": questions()[0], "results": [["a", 0.9], ["b", 0.1]]}) + "\n")
    told = run("runs", "lint", file, *asked, *named).err
    assert "no question has 3 results that are files of sample_memory" in told


def questions() -> list[str]:
    return [one.question for one in load_questions(QUESTIONS).questions]


def whole_ranking(index: MemoryIndex, question: str, turned: bool) -> str:
    """All files of an index by cosine, or the farthest first, as a line of a run."""
    hits = index.vector(index.embed(question), index.size)
    paths = list(dict.fromkeys(one.path for one in index.chunks(hits.rows)))
    ordered = paths[::-1] if turned else paths
    rows = [[path, 1 - rank / 1000] for rank, path in enumerate(ordered)]
    return json.dumps({"question": question, "results": rows}) + "\n"


def test_no_file_is_written_over_without_force(run: Run, tmp_path: Path) -> None:
    theirs, out = tmp_path / "theirs.jsonl", tmp_path / "out.trec"
    theirs.write_text(json.dumps({"question": "tea", "results": [["a", 1]]}) + "\n")
    out.write_text("my work")
    for command in (
        ("runs", "import", theirs, "-o", out),
        ("runs", "export", "-o", tmp_path / "new.trec", "--questions", QUESTIONS, "--topics", out),
        ("gate", "--questions", QUESTIONS, "--save", out),
    ):
        refused = run(*command)
        assert (refused.code, out.read_text()) == (2, "my work")
        assert "--force" in refused.err
    assert run("runs", "import", theirs, "-o", out, "--force").code == 0
    assert out.read_text() == "tea Q0 a 1 1.0 theirs\n"
    nowhere = run("runs", "import", theirs, "-o", tmp_path / "no" / "out.trec")
    assert (nowhere.code, "cannot be written" in nowhere.err) == (3, True)


def test_a_gate_ends_with_1_when_answers_fall_and_says_who_and_why(run: Run, tmp_path: Path) -> None:
    saved = tmp_path / "answers.json"
    assert run("gate", "--questions", QUESTIONS, "--save", saved, "--system", FIXED).code == 0
    same = run("gate", "--questions", QUESTIONS, "--against", saved, "--system", FIXED)
    assert same.code == 0
    assert same.out.startswith("PASSED")
    fallen = run("gate", "--questions", QUESTIONS, "--against", saved, "--system", "openclaw-2026.2.13")
    told = " ".join(fallen.out.split())
    assert fallen.code == 1
    assert told.startswith("FAILED: hits, RR fell")
    assert "lost: “falsification-first reasoning protocol” → memory/protocols/falsification-first.md" in told
    assert "below the floor" in told


@pytest.mark.parametrize(
    "command", [("gate", "--save", "x.json"), ("diagnose", "how do I reason", "-t", "MEMORY.md")]
)
def test_a_label_whose_file_is_gone_is_named(run: Run, tmp_path: Path, command: tuple[str, ...]) -> None:
    (tmp_path / "q.yaml").write_text("questions: [{question: tea, target: memory/gone.md}]\n")
    outcome = run(*command, "--questions", tmp_path / "q.yaml")
    assert (outcome.code, "memory/gone.md is not in the index" in outcome.err) == (2, True)


def test_triage_prints_specimens_the_check_and_the_lesson(run: Run) -> None:
    outcome = run("triage", "the limit changes who is first")
    assert outcome.code == 0
    assert "score-depends-on-size" in outcome.out
    assert "notebooks/06_whose_fusion.ipynb" in outcome.out
    assert run("triage", "the printer is on fire").code == 1
