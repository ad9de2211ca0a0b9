"""A stage of one's own that leaves candidates out of its list drops them, and is named for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from tests import world
from workbench.contracts import Context
from workbench.memory.index import MemoryIndex
from workbench.records import Fate, Stage, Trace
from workbench.retrieval.columns import PlainStage
from workbench.retrieval.cutoff import Limit, Order
from workbench.retrieval.explain import explain
from workbench.retrieval.pipeline import Pipeline, search
from workbench.systems.catalogue import system
from workbench_plugins.diagnose.diagnosis import diagnose

NOTES = {
    "memory/tea/pot.md": "# Pot\nThe tea pot .\n",
    "memory/tea/cup.md": "# Cup\nA cup of tea .\n",
    "memory/bike/hub.md": "# Hub\nThe bike has a hub, and no tea .\n",
}
BASE = system("engine-rrf-60")
LOST = "memory/tea/cup.md"


@pytest.fixture
def index(tmp_path: Path) -> Iterator[MemoryIndex]:
    with world.build(tmp_path, NOTES) as opened:
        yield opened


def first_of_each_folder(trace: Trace) -> Trace:
    """The trace with an order that has the best chunk of each folder alone."""
    folders: dict[str, int] = {}
    for row in trace.order.tolist():
        folders.setdefault(trace.chunks[row].path.rpartition("/")[0], row)
    return trace.with_changes(order=np.array([*folders.values()], np.int64))


@dataclass(frozen=True)
class Diverse(PlainStage, slot="diversity"):
    description: ClassVar[str] = "one of each folder"

    def run(self, trace: Trace, context: Context) -> Trace:
        return first_of_each_folder(trace)


@dataclass(frozen=True)
class DiverseOrder(Order):
    def run(self, trace: Trace, context: Context) -> Trace:
        return first_of_each_folder(super().run(trace, context))


@dataclass(frozen=True)
class DiverseLimit(Limit):
    def run(self, trace: Trace, context: Context) -> Trace:
        return first_of_each_folder(super().run(trace, context))


def with_own(stage: Stage) -> Pipeline:
    if stage.slot == "diversity":
        return BASE.with_new_stage(stage, before="limit")
    return BASE.with_stage(stage)


@pytest.mark.parametrize("stage", [Diverse(), DiverseOrder(), DiverseLimit()])
def test_what_it_leaves_out_is_dropped_and_the_stage_is_the_cause(index: MemoryIndex, stage: Stage) -> None:
    pipeline = with_own(stage)
    trace = search("the tea pot", pipeline, index)
    assert LOST in search("the tea pot", BASE, index).paths()
    assert LOST not in trace.paths()
    assert sorted(trace.order.tolist()) == list(range(trace.rows.size))
    assert explain(trace, index, LOST).fate is not Fate.RETURNED
    (lost,) = [one for one in trace.candidates if one.chunk.path == LOST]
    assert lost.dropped_by == stage
    assert "place in its list is absent" in lost.reason
    found = diagnose("the tea pot", pipeline, index, LOST)
    assert found.causes[0].where == (stage.slot,)
    assert "test_own_stages.py:" in found.headline
