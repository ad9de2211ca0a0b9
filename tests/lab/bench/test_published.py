"""The benchmarks of AutoMem and Basic Memory: what a search answers, and what was measured on LoCoMo."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from benchmarks.published import automem, basic_memory
from tests import world
from tests.lab.bench.test_locomo import written
from tests.retrieval.test_properties import Hashed, grown
from workbench.errors import InputError
from workbench.memory.embedding.local import LocalEmbedder, Truncated
from workbench.memory.index import MemoryIndex
from workbench.retrieval.index_adapters import CachedIndex
from workbench.retrieval.pipeline import Pipeline, search
from workbench.systems.openclaw import SHIPPED
from workbench_plugins.basic_memory.pipelines import DEAD_FTS, HEAD, UNGATED
from workbench_plugins.runs.collections import Locomo, LocomoQuestion, SessionDocument, Turn, load


def question(text: str, category: int = 1, turns: Sequence[int] = (), sessions: Sequence[int] = ()) -> Any:
    told = frozenset(f"c00-D1:{number}" for number in turns)
    return LocomoQuestion(text, category, 0, told, frozenset(map(named, sessions)), "")


def named(session: int) -> str:
    return f"locomo-c00-s0{session}"


@pytest.mark.parametrize(
    ("main", "columns"),
    [
        (automem.main, ["r5   r10   MRR  kept  floor fired", "against", *(name for name, _ in automem.ROWS)]),
        (basic_memory.main, ["recall@5, recall@10, MRR", *(name for name, _ in basic_memory.ROWS)]),
    ],
    ids=["automem", "basic_memory"],
)
def test_the_script_prints_a_line_for_each_variant(
    main: Callable[[list[str]], int],
    columns: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path / "cache"))
    data, _ = written(tmp_path)
    assert main([str(data)]) == 0
    printed = capsys.readouterr().out
    assert [one for one in columns if one not in printed] == []
    assert main([str(tmp_path / "none.json")]) == 2
    assert "none.json cannot be read" in capsys.readouterr().err


# AutoMem: turns

SAID = (
    "I like tea. I like the bike. Tea again? Kites fly. A kite and tea. Rain. Sun and tea. The bike broke. "
    "A hub broke. Kite strings. Tea leaves. Goodbye then."
)
TURNS = tuple(
    Turn(f"c00-D1:{place}", 0, 1, "Ada" if place % 2 else "Ben", text)
    for place, text in enumerate(SAID.split(". "))
)
ASKED = (
    question("Who likes tea?", turns=[0]),
    question("What broke on the bike?", turns=[6, 7]),
    question("Did Ada see the kite strings?", turns=[8]),
)
DATA = Locomo((), TURNS, ASKED, 0)


@pytest.fixture(scope="module")
def one_turn_a_file(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemoryIndex]:
    """The turns as notes of a memory, each a single chunk."""
    notes = {f"memory/{i:02}.md": turn.bullet for i, turn in enumerate(TURNS)}
    with grown(tmp_path_factory.mktemp("turns"), list(notes), notes, Hashed()) as index:
        yield index


@pytest.mark.parametrize(("name", "pipeline"), automem.ROWS, ids=[name for name, _ in automem.ROWS])
@pytest.mark.parametrize("limit", [2, 10])
def test_the_bench_answers_what_a_search_answers(
    one_turn_a_file: MemoryIndex, name: str, pipeline: Pipeline, limit: int
) -> None:
    for one in automem.answers(DATA, pipeline, Hashed(), limit):
        trace = search(one.question.text, pipeline.asking(limit=limit, min_score=-1), one_turn_a_file)
        places = [int(found.chunk.path[-5:-3]) for found in trace.results]
        assert list(one.turns) == [TURNS[place].id for place in places]


# Basic Memory: sessions as notes


def session(number: int, *turns: str) -> SessionDocument:
    body = "\n".join(["# Chat session", "", *(f"- **Wren:** {turn}" for turn in turns)])
    return SessionDocument(named(number), f"{named(number)} (8 May)", body, 0, number)


SESSIONS = Locomo(
    (session(1, "a cup of tea", "more tea"), session(2, "the bike hub squeals"), session(3, "a server disk")),
    (),
    (
        question("who drank tea today ?", sessions=[1]),
        question("which bike hub squeals ?", sessions=[2, 3]),
        question("nothing known ?", category=5),
    ),
    0,
)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemoryIndex]:
    file = tmp_path_factory.mktemp("bench") / "x.sqlite"
    with basic_memory.session_index(SESSIONS, world.EMBEDDER, file) as index:
        yield index


def test_the_benchmark_means_every_question_and_tells_categories_apart(small: MemoryIndex) -> None:
    report = basic_memory.bench(SESSIONS, UNGATED, 0.5, small)
    assert report.overall.recall_5 == pytest.approx((1 + 1 / 2 + 0) / 3)
    assert (report.overall.mrr, report.overall.n) == (pytest.approx(2 / 3), 3)
    assert {number: one.n for number, one in report.by_category.items()} == {1: 2, 5: 1}
    assert report.headline.recall_10 == pytest.approx((1 + 1 / 2) / 2)
    assert report.empty_keyword_legs == 1
    assert basic_memory.bench(SESSIONS, DEAD_FTS, 0.5, small).empty_keyword_legs == 3


def test_a_pipeline_of_another_system_is_refused(small: MemoryIndex) -> None:
    with pytest.raises(InputError, match=r"not an AutoMem pipeline|no stage"):
        automem.bench(DATA, SHIPPED, Hashed())
    with pytest.raises(InputError, match="does not search notes"):
        basic_memory.bench(SESSIONS, replace(HEAD, layout=None), 0.5, small)


# LoCoMo itself, which the user provides

FOLDER = Path(os.environ.get("WORKBENCH_LOCOMO", ""))
MEASURED = yaml.safe_load((Path(__file__).parent / "measured.yaml").read_text(encoding="utf-8"))
needs_locomo = pytest.mark.skipif(
    "WORKBENCH_LOCOMO" not in os.environ, reason="WORKBENCH_LOCOMO names no folder with locomo5.json"
)


@pytest.fixture(scope="module")
def locomo() -> Locomo:
    return load(FOLDER / "locomo5.json", FOLDER / "corrections5.json")


@pytest.fixture(scope="module")
def sessions(locomo: Locomo) -> Iterator[CachedIndex]:
    with basic_memory.session_index(locomo) as index:
        yield CachedIndex(index)


@needs_locomo
@pytest.mark.parametrize("row", MEASURED["automem"])
def test_a_profile_of_automem_does_on_locomo_what_was_measured(row: str, locomo: Locomo) -> None:
    *ranked, kept, floors = MEASURED["automem"][row]
    with automem.stored(LocalEmbedder(reading=Truncated()), FOLDER / "locomo5.json") as embedder:
        got = automem.bench(locomo, dict(automem.ROWS)[row], embedder)
    assert (got.n, got.floors) == (1018, floors)
    assert (got.recall_5, got.recall_10, got.mrr) == pytest.approx(ranked, abs=0.005)
    assert got.kept == pytest.approx(kept, abs=0.01)


@needs_locomo
@pytest.mark.parametrize("row", MEASURED["basic_memory"])
def test_a_variant_of_basic_memory_does_on_locomo_what_was_measured(
    row: str, locomo: Locomo, sessions: CachedIndex
) -> None:
    for least, *ranked in MEASURED["basic_memory"][row]:
        got = basic_memory.bench(locomo, dict(basic_memory.ROWS)[row], least, sessions).overall
        assert (got.recall_5, got.recall_10, got.mrr) == pytest.approx(ranked, abs=0.005)


@needs_locomo
def test_locomo_has_as_many_chunks_as_was_counted_and_no_keyword_hit_before_994(
    locomo: Locomo, sessions: CachedIndex
) -> None:
    assert (len(locomo.documents), len(locomo.questions), sessions.size) == (136, 1_020, 3_096)
    assert basic_memory.bench(locomo, DEAD_FTS, 0.0, sessions).empty_keyword_legs == len(locomo.questions)
