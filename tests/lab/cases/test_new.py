"""A new case carries what its system reads, also of a live store, and says so where it cannot."""

from __future__ import annotations

import base64
import re
from pathlib import Path

import numpy as np
import pytest

from tests import world
from tests.commands import Outcome, Run, runner
from tests.conftest import PROJECT
from tests.openclaw_store import FORMS, OpenClaw
from workbench.errors import InputError
from workbench.lab.cases.files import case_text, load_case, parsed_case
from workbench.lab.cases.making import case_of
from workbench.lab.cases.redact import redacted
from workbench.lab.cases.running import run_case
from workbench.memory.index import MemoryIndex
from workbench.retrieval.pipeline import search
from workbench.systems.openclaw.live.index import open_live_store
from workbench.systems.registry import SYSTEMS

QUESTION = "don't quit too early"
TARGET = "memory/protocols/tenacity.md"


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], sample: MemoryIndex) -> Run:
    monkeypatch.chdir(PROJECT)
    return runner(monkeypatch, capsys)


def new(run: Run, out: Path, system: str) -> Outcome:
    made = run("case", "new", QUESTION, "--target", TARGET, "-s", system, "--out", out)
    assert made.code == 0
    assert f"{out.stat().st_size:,} bytes" in made.out
    return made


@pytest.mark.parametrize("system", ["openclaw-2026.2.13", "recommended"])
def test_a_case_answers_as_the_memory_number_by_number(
    run: Run, tmp_path: Path, sample: MemoryIndex, system: str
) -> None:
    out = tmp_path / "quit.case.yaml"
    assert "does not show what you see" not in " ".join(new(run, out, system).err.split())
    (answer,) = run_case(load_case(out).case).answers
    there = search(QUESTION, SYSTEMS.named(system), sample)
    assert [chunk.place for chunk in answer.trace.chunks] == [chunk.place for chunk in there.chunks]
    assert {name: column.tobytes() for name, column in answer.trace.columns.items()} == {
        name: column.tobytes() for name, column in there.columns.items()
    }


def test_a_case_without_room_for_words_says_that_it_answers_otherwise(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workbench.lab.cases.making.MOST_READ", 0)
    told = new(run, tmp_path / "quit.case.yaml", "recommended").err
    assert "So this case does not show what you see." in " ".join(told.split())


WORDS = """\
case: 1
system: recommended
questions:
- {question: which tea, vector: [1.0, 0.0], words: {vectors: ASKED, pieces: [[tea, 1]]},
   expect: {found: tea.md}}
model: {name: toy, dimensions: 2, vectors: float32}
memory:
  notes:
  - path: tea.md
    text: A cup of tea.
    vectors: [[1.0, 0.0]]
    windows: [{vectors: "ADwAAA==", signs: "gA==", sizes: "ADg=", stretches: "+A==", stretch_sizes: "RDA="}]
"""


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("ADwAAA==", "ADwA", "tea.md is not base64 of rows of 2 numbers"),
        ("ADwAAA==", "AHwAAA==", "tea.md has a number that is not finite"),
        ('"gA=="', '"gAA="', "tea.md has 1 windows, 2 signs and 1 sizes"),
        ("ADg=", "!", "tea.md is not base64"),
        ("ASKED", "ASKE", "the question 'which tea' is not base64 of rows of 2 numbers"),
        ("[tea, 1]", "[tea, 2]", "the question 'which tea' has 1 word pieces, and words of 2"),
        ('"+A=="', '"+Pg="', "tea.md has 1 windows, 2 stretches and 1 sizes"),
        (" words: {vectors: ASKED, pieces: [[tea, 1]]},", "", "no vectors for the words of 'which tea'"),
        (
            "    windows: [",
            "    windows: [{vectors: a, signs: b, sizes: c, stretches: d, stretch_sizes: e}, ",
            "1 passages, and has 2 windows",
        ),
    ],
)
def test_damaged_windows_are_refused_by_name(old: str, new: str, problem: str) -> None:
    asked = base64.b64encode(np.array([1, 0], "<f4").tobytes()).decode()
    assert run_case(parsed_case(WORDS.replace("ASKED", asked), "whole")).holds
    with pytest.raises(InputError, match=re.escape(problem)):
        run_case(parsed_case(WORDS.replace(old, new).replace("ASKED", asked), "damaged"))


def test_some_passages_without_windows_are_an_error() -> None:
    more = "  - {path: bike.md, text: A bike., vectors: [[0.0, 1.0]]}\n"
    with pytest.raises(InputError, match="have windows in the case, and others have none"):
        run_case(
            parsed_case(WORDS.replace("words: {vectors: ASKED, pieces: [[tea, 1]]},", "") + more, "half")
        )


# a live store of OpenClaw

RECALL = """
    CREATE TABLE memory_index_chunk_recall_metadata (
        chunk_id TEXT PRIMARY KEY, importance REAL, triggers TEXT, project_key TEXT
    )
"""


def live(folder: Path, form: str) -> OpenClaw:
    """A store whose notes have annotations that are not in their texts, if its form stores annotations."""
    store = OpenClaw(folder / "agent.sqlite", FORMS[form]).create()
    if form == "2026.9":
        with store.opened() as db:
            db.execute(RECALL)
            (tea,) = (db.execute("SELECT id FROM memory_index_chunks WHERE path = 'MEMORY.md'").get,)
            db.execute(
                "INSERT INTO memory_index_chunk_recall_metadata VALUES (?, 9, 'brake; hub', NULL)", (tea,)
            )
    return store


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("system", ["openclaw-2026.2.13", "openclaw-2026.9.6", "engine-rrf-60"])
def test_a_live_store_as_a_case_answers_as_the_store(tmp_path: Path, form: str, system: str) -> None:
    pipeline = SYSTEMS.named(system)
    with open_live_store(live(tmp_path, form).file, world.EMBEDDER) as index:
        for question in ("the brake of the hub", "rooibos tea", "disk"):
            there = search(question, pipeline, index)
            case = case_of(question, pipeline, index, "MEMORY.md")
            read = parsed_case(case_text(case), "live")
            (answer,) = run_case(read).answers
            assert [(one.chunk.id, one.score) for one in answer.trace.candidates] == [
                (one.chunk.id, one.score) for one in there.candidates
            ]
            said = [part.annotations for note in read.memory.notes or () for part in note.passages or ()]
            assert [one.importance for one in said if one] == ([9] if form == "2026.9" else [])
            assert read.memory.annotations == "stored"
            if form == "2026.9":
                other = redacted(read).case
                assert "brake" not in case_text(other).partition("model:")[0]
