"""A floor on evidence: what one leg vouches for stays, however the fusion ranks it."""

from __future__ import annotations

import numpy as np
import pytest

from workbench.memory.index import MemoryIndex
from workbench.retrieval.cutoff import EvidenceFloor
from workbench.retrieval.pipeline import search
from workbench.systems.catalogue import system
from workbench.systems.openclaw import EVIDENCE_FLOOR, THREE_FIXES

QUESTIONS = ["rooibos tea", "bike hub", "a note about none of these", "disk", "zxcv"]


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize(("cosine", "least"), [(0.25, 0.9), (0.8, 0.3), (1.0, 1.0), (-1.0, 0.0)])
def test_one_leg_that_vouches_is_enough(toy: MemoryIndex, question: str, cosine: float, least: float) -> None:
    trace = search(question, THREE_FIXES.with_stage(EvidenceFloor(cosine, least)), toy)
    for found in trace.candidates:
        distance, bm25 = found.numbers["vector_raw"], found.numbers["keyword_raw"]
        near = not np.isnan(distance) and 1 - distance >= cosine
        said = not np.isnan(bm25) and -bm25 / (1 - bm25) >= least
        dropped_by_floor = found.dropped_by is not None and found.dropped_by.slot == "floor"
        assert dropped_by_floor is not (near or said)


def test_the_hit_that_no_fused_floor_can_keep_is_kept(sample: MemoryIndex) -> None:
    question, target = "tenacity and persistence protocol", "memory/protocols/tenacity.md"
    assert target not in search(question, THREE_FIXES, sample).paths()
    assert target in search(question, system(f"{THREE_FIXES.name}+evidence"), sample).paths()


def test_nonsense_meets_silence(sample: MemoryIndex) -> None:
    assert len(search("asdf qwerty zxcv uiop", THREE_FIXES, sample).results) == 6
    assert search("asdf qwerty zxcv uiop", THREE_FIXES.with_changes(EVIDENCE_FLOOR), sample).results == []
