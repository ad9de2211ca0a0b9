"""AutoMem's benchmark: what a search answers, and what was measured on LoCoMo."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.retrieval.test_properties import Hashed, grown
from workbench.errors import InputError
from workbench.lab.bench.automem import (
    ROWS,
    StoredEmbedder,
    TurnFigures,
    answers,
    bench,
    change,
    settings_of,
    stored,
)
from workbench.lab.bench.locomo import Locomo, LocomoQuestion, Turn, load
from workbench.memory.embedding.local import LocalEmbedder, Truncated
from workbench.memory.index import MemoryIndex
from workbench.memory.store.sqlite.store import Store
from workbench.retrieval.pipeline import Pipeline, search
from workbench.systems.automem.pipelines import (
    LIVE_KEYWORD,
)
from workbench.systems.openclaw.pipelines import SHIPPED

SAID = [
    "I like tea.", "I like the bike.", "Tea again?", "Kites fly.", "A kite and tea.", "Rain.",
    "Sun and tea.", "The bike broke.", "A hub broke.", "Kite strings.", "Tea leaves.", "Goodbye then.",
]  # fmt: skip
TURNS = tuple(Turn(f"c00-D1:{i}", 0, 1, "Ada" if i % 2 else "Ben", text) for i, text in enumerate(SAID))
ASKED = tuple(
    LocomoQuestion(text, 1, 0, frozenset(ids), frozenset(), "")
    for text, ids in [
        ("Who likes tea?", ["c00-D1:0"]),
        ("What broke on the bike?", ["c00-D1:7", "c00-D1:8"]),
        ("Did Ada see the kite strings?", ["c00-D1:9"]),
        ("Nobody knows?", []),
    ]
)
DATA = Locomo((), TURNS, ASKED, 0)


@pytest.fixture(scope="module")
def one_turn_a_file(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The turns as notes of a memory, each a single chunk."""
    notes = {f"memory/{i:02}.md": turn.bullet for i, turn in enumerate(TURNS)}
    with grown(tmp_path_factory.mktemp("turns"), list(notes), notes, Hashed()) as index:
        yield index


@pytest.mark.parametrize(("name", "pipeline"), ROWS, ids=[name for name, _ in ROWS])
@pytest.mark.parametrize("limit", [2, 10])
def test_the_bench_answers_what_a_search_answers(
    one_turn_a_file: MemoryIndex, name: str, pipeline: Pipeline, limit: int
) -> None:
    for one in answers(DATA, pipeline, Hashed(), limit):
        trace = search(one.question.text, pipeline.asking(limit=limit, min_score=-1), one_turn_a_file)
        places = [int(found.chunk.path[-5:-3]) for found in trace.results]
        assert list(one.turns) == [TURNS[place].id for place in places]


def test_a_question_without_a_turn_is_not_counted() -> None:
    assert bench(DATA, LIVE_KEYWORD, Hashed()).n == 3
    assert bench(Locomo((), TURNS, ASKED[3:], 0), LIVE_KEYWORD, Hashed()) == TurnFigures(0, 0, 0, 0, 0, 0)


def test_two_pipelines_are_compared_question_by_question() -> None:
    from ir_measures import R

    one, ten = (list(answers(DATA, LIVE_KEYWORD, Hashed(), limit))[:3] for limit in (1, 10))
    found = change(one, ten, R @ 10)
    right = [[len(each.question.turns & set(each.turns)) for each in some] for some in (one, ten)]
    more = sum(after > before for before, after in zip(*right, strict=True))
    assert (found.n, found.measure, found.wins, found.losses) == (3, "R@10", more, 0)
    assert more > 0


def test_a_pipeline_of_another_system_is_refused() -> None:
    with pytest.raises(InputError, match=r"not an AutoMem pipeline|no stage"):
        bench(DATA, SHIPPED, Hashed())


class Counting(Hashed):
    """Counts the texts that it embeds."""

    count = 0

    def embed(self, texts: Any, role: Any) -> Any:
        self.count += len(texts)
        return super().embed(texts, role)


def test_a_stored_embedder_embeds_a_text_once(tmp_path: Path) -> None:
    counting = Counting()
    with Store.create(tmp_path / "cache.sqlite", settings_of(counting)) as store:
        stored_embedder = StoredEmbedder(counting, store)
        first = stored_embedder.embed(["a", "b", "a"], "passage").vectors
        second = stored_embedder.embed(["b", "a", "c"], "passage").vectors
    assert counting.count == 3
    assert np.array_equal(first, Hashed().embed(["a", "b", "a"], "passage").vectors)
    assert np.array_equal(second, Hashed().embed(["b", "a", "c"], "passage").vectors)


def test_a_missing_file_ends_the_bench_with_2(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "workbench.lab.bench.automem", str(tmp_path / "none.json")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "none.json cannot be read" in done.stderr


PUBLISHED = [
    (0.379, 0.471, 0.297, 8.88, 147),
    (0.399, 0.498, 0.304, 10, 0),
    (0.398, 0.435, 0.342, 6.74, 447),
    (0.431, 0.498, 0.356, 10, 0),
    (0.438, 0.498, 0.368, 10, 0),
    (0.457, 0.540, 0.380, 10, 0),
    (0.425, 0.487, 0.368, 7.55, 325),
]
"""Recall@5, recall@10, MRR, mean kept, floors fired: five of LoCoMo's conversations, all-MiniLM-L6-v2."""

LOCOMO = os.environ.get("WORKBENCH_LOCOMO")


@pytest.mark.skipif(LOCOMO is None, reason="WORKBENCH_LOCOMO names no folder with locomo5.json")
@pytest.mark.parametrize(
    ("row", "expected"), list(zip(ROWS, PUBLISHED, strict=True)), ids=[name for name, _ in ROWS]
)
def test_a_profile_does_on_locomo_what_was_measured(
    row: tuple[str, Pipeline], expected: tuple[float, float, float, float, int]
) -> None:
    folder = Path(str(LOCOMO))
    folder = folder if folder.is_dir() else folder.parent
    data = load(folder / "locomo5.json", folder / "corrections5.json")
    with stored(LocalEmbedder(reading=Truncated()), folder / "locomo5.json") as embedder:
        got = bench(data, row[1], embedder)
    assert got.n == 1018
    assert (got.recall_5, got.recall_10, got.mrr) == pytest.approx(expected[:3], abs=0.005)
    assert got.kept == pytest.approx(expected[3], abs=0.01)
    assert got.floors == expected[4]
