"""The first line of a diagnosis says which file stands before the wanted one, and by what."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from tests import world
from tests.lab.diagnose.claims import check_sentences
from workbench.measure.reruns import Reruns
from workbench.memory.index import MemoryIndex
from workbench.records import Floats, Trace
from workbench.retrieval.columns import ColumnStage, Numbers
from workbench.retrieval.cutoff import MinScore
from workbench.retrieval.index_adapters import CachedIndex
from workbench.retrieval.pipeline import search
from workbench.retrieval.settings import with_settings
from workbench.systems.catalogue import SYSTEMS, system
from workbench.terminal import text_of
from workbench_plugins.diagnose.ahead import ahead_text, for_this_question, two_rows
from workbench_plugins.diagnose.causes import Cause
from workbench_plugins.diagnose.diagnosis import diagnose
from workbench_plugins.diagnose.fixes import silences
from workbench_plugins.diagnose.parameters import Aim, Goal
from workbench_plugins.diagnose.question_causes import LACKS
from workbench_plugins.diagnose.repairs import repairs
from workbench_plugins.diagnose.suspects import parts_of

CLUB = {
    "memory/ride.md": "# Ride\n\nThe bike of the club: bike two is new, and the bikes rest on Friday.\n",
    "memory/repair.md": "# Repair\n\nThe bike has a new disk since March, and Zig wrote the bill for it.\n",
    "memory/tea.md": "# Tea\n\nA cup of tea in the afternoon.\n",
}


def found_for(trace: Trace, path: str, aim: Aim) -> tuple[int, int]:
    rows = two_rows(trace, Goal(path, aim))
    assert rows is not None
    return rows


def test_of_a_sum_the_leg_that_leads_is_told_with_the_words_that_the_other_file_has_more_often(
    tmp_path: Path,
) -> None:
    pipeline = with_settings(system("engine-tm2c2"), ["fusion.vector=0"])
    with world.build(tmp_path, CLUB) as index:
        trace = search("bike", pipeline, index)
    assert trace.paths()[:2] == ["memory/ride.md", "memory/repair.md"]
    other, mine = found_for(trace, "memory/repair.md", Aim.FIRST)
    part = parts_of(trace)["keyword"]
    told = ahead_text(trace, Goal("memory/repair.md", Aim.FIRST))
    scores = f"memory/ride.md scores {trace.scores[other]:.4g}, and this file {trace.scores[mine]:.4g}"
    lead = f"the keyword leg gives it {part[other]:.3g}, and this file {part[mine]:.3g}"
    assert told == f"{scores}; {lead}; its chunk has “bike” 3 times (and this file's once)"


def test_of_a_sum_of_ranks_the_ranks_of_the_leg_that_leads_are_told(toy: MemoryIndex) -> None:
    trace = search("rooibos tea", system("engine-rrf-60"), toy)
    for path in trace.paths()[1:]:
        other, mine = found_for(trace, path, Aim.FIRST)
        told = ahead_text(trace, Goal(path, Aim.FIRST))
        parts = {leg: np.nan_to_num(part) for leg, part in parts_of(trace).items()}
        leads = {leg: part[other] - part[mine] for leg, part in parts.items()}
        leg = max(leads, key=leads.__getitem__)
        ranks = trace.columns[f"{leg}_rank"]
        theirs = f"this file at rank {ranks[mine]:.0f}"
        shown = "does not bring this file" if np.isnan(ranks[mine]) else theirs
        if trace.scores[other] > trace.scores[mine]:
            assert f"; the {leg} leg has it at rank {ranks[other]:.0f}, and {shown}" in told
        else:
            assert told.endswith(", as this file does, and is put before it")


def test_a_file_behind_a_limit_is_compared_with_the_last_one_returned(toy: MemoryIndex) -> None:
    pipeline = system("engine-rrf-60").asking(limit=2)
    trace = search("rooibos tea", pipeline, toy)
    last = trace.paths()[-1]
    target = next(one.chunk.path for one in trace.candidates if one.chunk.path not in trace.paths())
    cause = Cause(("limit",), "limit: keep the first 2", "", "", verified=True)
    runs = Reruns("rooibos tea", pipeline, CachedIndex(toy))
    told = for_this_question(cause, None, runs, Goal(target)).description
    assert told.startswith(f"limit: keep the first 2; {last}, the last result, scores ")


def test_where_a_leg_brings_another_chunk_of_the_file_the_best_chunk_is_named(tmp_path: Path) -> None:
    long = "\n\n".join(["# Long", *["The bike is one of many things here. " * 3 + "filler words " * 60] * 4])
    with world.build(tmp_path, {**CLUB, "memory/long.md": f"{long}\n"}) as index:
        trace = search("bike club", with_settings(system("engine-tm2c2"), ["fusion.vector=0"]), index)
    rows = [row for row in trace.order.tolist() if trace.chunks[row].path == "memory/long.md"]
    assert len(rows) > 1
    assert "this file's best chunk" in ahead_text(trace, Goal("memory/long.md", Aim.FIRST))
    assert "this file's best chunk" not in ahead_text(trace, Goal("memory/repair.md", Aim.FIRST))


def test_of_a_score_of_no_legs_the_number_with_which_the_file_would_gain_most_is_told(
    tmp_path: Path,
) -> None:
    notes = {
        "memory/2026-01-05.md": "# Bike\n\nThe bike.\n",
        "memory/2026-06-05.md": "# Bike\n\nA bike, or two.\n",
    }
    pipeline = with_settings(system("openclaw-2026.9.6"), ["floor.floor=0"])
    with world.build(tmp_path, notes) as index:
        trace = search("bike", pipeline, index)
    assert trace.paths() == ["memory/2026-06-05.md", "memory/2026-01-05.md"]
    recency = trace.columns["recency"][trace.order]
    told = ahead_text(trace, Goal("memory/2026-01-05.md", Aim.FIRST))
    assert f"; its recency is {recency[0]:.3g}, and that of this file is {recency[1]:.3g}" in told


BACKUP = "backup of the bike", "memory/bike.md"


def test_of_chunks_with_the_same_words_the_lengths_are_told_and_of_chunks_without_any_nothing(
    tmp_path: Path,
) -> None:
    notes = {
        "memory/long.md": "# Long\n\nThe bike is old, and it stands in the yard since March.\n",
        "memory/short.md": "# Short\n\nThe bike is old.\n",
    }
    pipeline, goal = (
        with_settings(system("engine-tm2c2"), ["fusion.vector=0"]),
        Goal("memory/long.md", Aim.FIRST),
    )
    with world.build(tmp_path, notes) as index:
        told = ahead_text(search("bike", pipeline, index), goal)
        assert told.endswith("; its chunk has “bike” as often, but in 5 words, and this file's in 13")
        trace = search("bike", pipeline, index)
        chunks = tuple(replace(one, text="No word of it.") for one in trace.chunks)
        assert "as often" not in ahead_text(trace.with_changes(chunks=chunks), goal)


@dataclass(frozen=True)
class Halved(ColumnStage, slot="halved", output="halved_score", scale="fused"):
    """Half of the score, as a penalty after the fusion gives it."""

    description = "halved score = score / 2"

    def formula(self, of: Numbers) -> Floats:
        return of["score"] / 2


@pytest.mark.parametrize("halved", [False, True])
def test_of_a_file_below_a_floor_the_parts_are_told_if_they_make_its_score(
    toy: MemoryIndex, halved: bool
) -> None:
    question, pipeline = "rooibos", with_settings(system("openclaw-2026.2.13+or"), ["floor.floor=0.99"])
    if halved:
        pipeline = pipeline.with_new_stage(Halved(), before="floor").with_stage(
            MinScore(0.99, of=Halved.output)
        )
    runs = Reruns(question, pipeline, CachedIndex(toy))
    row = next(row for row in runs.base.order.tolist() if runs.base.dropped[row] >= 0)
    assert isinstance(runs.base.stages[runs.base.dropped[row]], MinScore)
    cause = Cause(("fusion",), "fusion: a sum", "", "", verified=True, plain=True)
    told = for_this_question(cause, None, runs, Goal(runs.base.chunks[row].path)).description
    parts = {leg: part[row] for leg, part in parts_of(runs.base).items()}
    shown = [
        f"{'none' if np.isnan(part) else f'{part:.3g}'} from the {leg} leg" for leg, part in parts.items()
    ]
    whole = (
        f"fusion: score {runs.base.scores[row]:.3f} < 0.990; the parts of its score are {' and '.join(shown)}"
    )
    assert told == ("fusion: a sum" if halved else whole)


def test_a_stage_of_a_known_system_is_told_with_what_it_does_to_this_question(toy: MemoryIndex) -> None:
    question, path = BACKUP
    found = diagnose(question, system("qdrant-dbsf"), CachedIndex(toy), path)
    first = found.causes[0]
    assert first.plain
    assert found.headline == f"Cause: fusion: {ahead_text(found.trace, found.goal)}"
    assert "“backup” once (and this file's never)" in found.headline
    assert first.stage == f"fusion: {found.pipeline['fusion'].description}"
    assert first.stage in " ".join(text_of(found.view(), details=True, width=10_000).split())


def test_the_first_cause_is_where_the_repair_that_is_printed_changes_something(toy: MemoryIndex) -> None:
    question, path = "rooibos tea", "MEMORY.md"
    found = diagnose(question, system("bm-head"), CachedIndex(toy), path)
    assert {one.slot for one in found.causes[0].repairs} == {"fusion"}
    assert found.fixes[0].setting.startswith("fusion.")
    assert found.causes[0].where == ("fusion",)
    assert f"--set {found.causes[0].repair}" == found.fixes[0].as_set
    assert found.causes[0].parameters == (found.causes[0].repair,)
    check_sentences(found, CachedIndex(toy))


def test_a_query_of_all_words_is_told_with_the_words_that_the_file_lacks(tmp_path: Path) -> None:
    pipeline, question = system("openclaw-2026.2.13"), "bike disk price"
    with world.build(tmp_path, CLUB) as index:
        runs = Reruns(question, pipeline, CachedIndex(index))
        cause = Cause(("query",), "query: AND", "", "", verified=True, plain=True)
        told = for_this_question(cause, None, runs, Goal("memory/repair.md")).description
    assert told == (
        "query: the keyword leg is empty: its query asks for all 3 words in one chunk; "
        "no chunk of this file has “price”"
    )


def test_words_that_the_file_lacks_are_told_once(tmp_path: Path) -> None:
    pipeline, question = system("openclaw-2026.2.13"), "afternoon cup price"
    says = f"floor: drop what scores below 0.35; and {LACKS}: afternoon, cup, price"
    with world.build(tmp_path, CLUB) as index:
        runs = Reruns(question, pipeline, CachedIndex(index))
        cause = Cause(("floor",), says, "", "", verified=True)
        told = for_this_question(cause, None, runs, Goal("memory/repair.md")).description
    assert told == f"{says}; the keyword leg is empty: its query asks for all 3 words in one chunk"


def test_a_leg_that_brings_nothing_with_another_stage_is_no_repair(toy: MemoryIndex) -> None:
    before = search("rooibos tea", SYSTEMS["langchain-ensemble"], toy)
    swapped = SYSTEMS["langchain-ensemble"].with_stage(
        SYSTEMS["langchain-ensemble-preprocessed"]["keyword_leg"]
    )
    after = search("rooibos tea", swapped, toy)
    assert before.legs["keyword"].hits.rows.size > 0 == after.legs["keyword"].hits.rows.size
    assert silences(before, after)
    assert not silences(before, before)


def test_a_repair_of_another_stage_than_the_cause_says_so(toy: MemoryIndex) -> None:
    question, path = BACKUP
    pipeline = system("qdrant-dbsf")
    found = diagnose(question, pipeline, CachedIndex(toy), path)
    assert "It changes" not in text_of(found.view())
    of_leg = next(one for one in repairs(pipeline) if one.slot == "vector_leg")
    elsewhere = replace(found.causes[0], where=("vector_leg",), repairs=(of_leg,))
    told = text_of(replace(found, causes=(elsewhere,)).view())
    assert "It changes the fusion, and leaves the vector leg unchanged." in told
