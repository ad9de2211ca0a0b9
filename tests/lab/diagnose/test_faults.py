"""Planted faults: the diagnosis names the true one first."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.home import Home
from tests.lab.diagnose.faults import FAULTS, Fault
from tests.lab.diagnose.more_faults import FIRST_HELD_OUT, SECOND_HELD_OUT
from workbench.errors import InputError
from workbench.lab.cached_index import CachedIndex
from workbench.lab.diagnose.diagnosis import diagnose
from workbench.lab.questions import QuestionSet
from workbench.retrieval.cutoff import EvidenceFloor
from workbench.systems.openclaw.pipelines import SHIPPED, THREE_FIXES
from workbench.systems.recommended.evidence import WITH_EVIDENCE

SHARE = 0.9
"""The share of the faults that is named first at least: 27 of 30."""


def named_first(fault: Fault, index: CachedIndex, questions: QuestionSet, nameless: bool) -> bool:
    """Whether the first cause is where the fault is; a nameless pipeline is like no registered system."""
    asked = fault.lost(index, questions)
    broken = replace(fault.broken, name="mine", changes=()) if nameless else fault.broken
    found = diagnose(asked.question, broken, fault.index(index), asked.target, questions=questions)
    return bool(found.causes) and fault.where in found.causes[0].where


@pytest.mark.parametrize(
    ("faults", "nameless"),
    [(FAULTS, False), (FAULTS, True), ([*FIRST_HELD_OUT, *SECOND_HELD_OUT], True)],
    ids=["with the system's name", "without a name", "held out, without a name"],
)
def test_a_planted_fault_is_named_first(
    faults: list[Fault], nameless: bool, kept: CachedIndex, questions: QuestionSet
) -> None:
    assert len(faults) >= 30
    missed = [one.name for one in faults if not named_first(one, kept, questions, nameless)]
    assert len(faults) - len(missed) >= SHARE * len(faults), missed


def test_a_nameless_pipeline_is_compared_with_the_nearest_system(
    kept: CachedIndex, questions: QuestionSet
) -> None:
    broken = replace(WITH_EVIDENCE.with_stage(EvidenceFloor(0.9, 0.99)), name="mine", changes=())
    fault = Fault("a floor", WITH_EVIDENCE, broken, "floor")
    asked = fault.lost(kept, questions)
    first = diagnose(asked.question, broken, kept, asked.target, questions=questions).causes[0]
    assert first.where == ("floor",)
    assert first.verified
    assert f"differs from {WITH_EVIDENCE.name} in floor" in first.says


def test_what_the_nearest_system_has_is_no_cause_when_it_does_not_help(kept: CachedIndex) -> None:
    lost = "memory/protocols/tenacity.md"
    broken = replace(SHIPPED.with_stage(EvidenceFloor(0.0, 0.0)), name="mine", changes=())
    found = diagnose("don't quit too early", broken, kept, lost)
    assert all(one.verified for one in found.causes)
    assert ("floor",) not in [one.where for one in found.causes]


def test_a_file_that_has_changed_since_the_sync_is_named_first(home: Home) -> None:
    (home.root / "memory" / "plain.md").write_text("# Kite\nThe kite needs a new string.\n", encoding="utf-8")
    with home.opened() as index:
        found = diagnose("kite string", THREE_FIXES.asking(min_score=0), index, "memory/plain.md")
    assert found.causes[0].where == ("index",)
    assert found.causes[0].verified
    assert "workbench index" in found.causes[0].repair


def test_a_file_that_is_new_since_the_sync_is_named_first(home: Home) -> None:
    (home.root / "memory" / "kite.md").write_text("# Kite\nThe kite needs a new string.\n", encoding="utf-8")
    with home.opened() as index:
        found = diagnose("kite string", THREE_FIXES.asking(min_score=0), index, "memory/kite.md")
    assert found.explanation.fate == "never indexed"
    assert found.causes[0].where == ("index",)
    assert found.causes[0].verified
    assert found.fixes == ()


def test_a_file_that_no_index_would_read_is_said_to_be_so(home: Home) -> None:
    (home.root / "memory" / "kite.pdf").write_bytes(b"%PDF")
    with home.opened() as index:
        found = diagnose("kite string", SHIPPED, index, "memory/kite.pdf")
    assert found.causes[0].where == ("index",)
    assert "Markdown" in found.causes[0].repair


def test_the_index_itself_is_not_brought_up_to_date(home: Home) -> None:
    (home.root / "memory" / "kite.md").write_text("# Kite\n", encoding="utf-8")
    with home.opened() as index:
        diagnose("kite string", THREE_FIXES.asking(min_score=0), index, "memory/kite.md")
        assert "memory/kite.md" not in index.paths()
    with home.opened() as index, pytest.raises(InputError, match="no file memory/kit"):
        diagnose("kite string", THREE_FIXES, index, "memory/kit.md")
