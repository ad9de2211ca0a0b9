"""Planted faults: the diagnosis names the true one first."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from tests.home import Home
from tests.lab.diagnose.faults import FAULTS, HELD_OUT, Fault
from workbench.errors import InputError
from workbench.measure.questions import QuestionSet
from workbench.retrieval.cutoff import EvidenceFloor
from workbench.retrieval.index_adapters import CachedIndex
from workbench.systems.openclaw import SHIPPED, THREE_FIXES, WITH_EVIDENCE
from workbench_plugins.diagnose.diagnosis import diagnose

pytestmark = pytest.mark.usefixtures("embedded_once")

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
    [(FAULTS, False), (HELD_OUT, True)],
    ids=["with the system's name", "held out, without a name"],
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
    assert f"differs from {WITH_EVIDENCE.name} in floor" in first.description


def test_what_the_nearest_system_has_is_no_cause_when_it_does_not_help(kept: CachedIndex) -> None:
    lost = "memory/protocols/tenacity.md"
    broken = replace(SHIPPED.with_stage(EvidenceFloor(0.0, 0.0)), name="mine", changes=())
    found = diagnose("don't quit too early", broken, kept, lost)
    assert all(one.verified for one in found.causes)
    assert ("floor",) not in [one.where for one in found.causes]


@pytest.mark.parametrize(
    ("path", "fate", "repair"),
    [
        ("memory/plain.md", "", "workbench index"),
        ("memory/kite.md", "not in the index", "workbench index"),
        ("memory/kite.pdf", "not in the index", "Markdown"),
    ],
)
def test_a_file_that_the_index_does_not_have_as_it_is_now_is_named_first(
    home: Home, path: str, fate: str, repair: str
) -> None:
    (home.root / path).write_text("# Kite\nThe kite needs a new string.\n", encoding="utf-8")
    with home.opened() as index:
        found = diagnose("kite string", THREE_FIXES.asking(min_score=0), index, path)
    assert found.causes[0].where == ("index",)
    assert repair in found.causes[0].repair
    assert path.endswith(".pdf") or "1 file changed since the index was made" in found.causes[0].evidence
    assert fate in found.explanation.fate
    assert found.causes[0].verified or path.endswith(".pdf")
    assert found.fixes == () or path == "memory/plain.md"
    with home.opened() as index:
        assert "memory/kite.md" not in index.paths()  # the diagnosis does not bring the index up to date
        with pytest.raises(InputError, match="no file memory/kit"):
            diagnose("kite string", THREE_FIXES, index, "memory/kit.md")


def test_a_new_file_that_is_lost_in_an_index_up_to_date_too_gets_no_repair(home: Home) -> None:
    (home.root / "memory/kite.md").write_text("# Kite\nIt needs a new string.\n", encoding="utf-8")
    with home.opened() as index:
        found = diagnose("kite string", THREE_FIXES.asking(min_score=50), index, "memory/kite.md")
    assert found.headline == "Cause: index: the file is new and not yet indexed"
    assert "Repair: " not in found.text
    assert (
        "Tried, and not enough alone; do it first, and diagnose again then:\n  workbench index" in found.text
    )


@pytest.mark.parametrize("renamed", [True, False])
def test_a_renamed_file_is_told_with_the_name_that_the_index_has(home: Home, renamed: bool) -> None:
    """A copy is a new file, since its text keeps the other name, too."""
    with home.opened() as index:
        old = next(one for one in index.documents() if one.path != "MEMORY.md")
    file, new = home.root / old.path, home.root / "memory/another-name.md"
    new.write_bytes(file.read_bytes())
    if renamed:
        file.unlink()
    with home.opened() as index:
        found = diagnose("kite string", THREE_FIXES.asking(min_score=0), index, "memory/another-name.md")
    told = "the file was renamed since: the index has the same text as " + old.path
    assert found.headline.startswith(f"Cause: index: {told if renamed else 'the file is new'}")
    assert "workbench index" in found.causes[0].repair


@pytest.mark.parametrize("found_then", [True, False])
def test_a_change_that_size_and_time_do_not_show_is_tried(home: Home, found_then: bool) -> None:
    """As a program that syncs files leaves one."""
    with home.opened() as index:
        path = next(one.path for one in index.documents() if one.path != "MEMORY.md")
    file = home.root / path
    before = file.stat()
    new = "Kite string.".ljust(before.st_size - 1, ".")[: before.st_size - 1] + "\n"
    assert new.encode() != file.read_bytes()
    file.write_text(new, encoding="utf-8")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    with home.opened() as index:
        assert index.changed() == []
        pipeline = THREE_FIXES.asking(min_score=0 if found_then else 50)
        cause = diagnose("kite string", pipeline, index, path).causes[0]
    assert cause.where == ("index",)
    assert "changed since it was indexed, but not its size and time" in cause.description
    assert "--verify" in cause.repair
    assert (cause.verified, cause.refuted) == (found_then, not found_then)
