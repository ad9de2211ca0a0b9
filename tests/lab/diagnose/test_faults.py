"""Planted faults: the diagnosis names the true one first."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.home import Home
from tests.lab.diagnose.faults import FAULTS, Fault
from workbench.errors import InputError
from workbench.lab.cached_index import CachedIndex
from workbench.lab.diagnose.diagnosis import diagnose
from workbench.lab.questions import QuestionSet
from workbench.systems.openclaw.pipelines import SHIPPED, THREE_FIXES

LEAST, LEAST_NAMELESS = 30, 24
"""At least so many of the 31 faults are named first: with the system's name, and without any name."""


def named_first(fault: Fault, index: CachedIndex, questions: QuestionSet, nameless: bool) -> bool:
    """Whether the first cause is where the fault is; a nameless pipeline is like no registered system."""
    asked = fault.lost(index, questions)
    broken = replace(fault.broken, name="mine", changes=()) if nameless else fault.broken
    found = diagnose(asked.question, broken, fault.index(index), asked.target, questions=questions)
    return bool(found.causes) and fault.where in found.causes[0].where


@pytest.mark.parametrize(("nameless", "least"), [(False, LEAST), (True, LEAST_NAMELESS)])
def test_a_planted_fault_is_named_first(
    nameless: bool, least: int, kept: CachedIndex, questions: QuestionSet
) -> None:
    assert len(FAULTS) >= 30
    missed = [one.name for one in FAULTS if not named_first(one, kept, questions, nameless)]
    assert len(FAULTS) - len(missed) >= least, missed


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
