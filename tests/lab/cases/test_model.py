"""A note of passages has the text that was cut into them."""

from __future__ import annotations

from tests.conftest import SAMPLE
from workbench.lab.cases.freezing import in_passages
from workbench.lab.cases.model import Case, CaseMemory, CaseNote, CaseQuestion, CaseSystem, Expected


def test_passages_are_joined_without_the_lines_in_which_they_overlap() -> None:
    files = sorted(SAMPLE.glob("memory/protocols/*.md"))
    notes = [CaseNote(path=file.name, text=file.read_text(encoding="utf-8")) for file in files]
    case = Case(
        system=CaseSystem(name="openclaw-2026.2.13"),
        questions=[CaseQuestion(question="tea", expect=Expected(nothing=True))],
        memory=CaseMemory(notes=notes),
    )
    cut = in_passages(case).memory.notes or []
    assert all(len(one.passages or ()) > 3 for one in cut)
    assert [one.whole.strip() for one in cut] == [(one.text or "").strip() for one in notes]
