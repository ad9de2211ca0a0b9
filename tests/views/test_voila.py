"""The widgets under Voila: the drawing follows, and not only the numbers."""

from __future__ import annotations

from pathlib import Path

from tests.browser import PANELS, SHOWN_SYSTEMS, Shown, browsing, needs_chromium, twin, voila
from workbench.measure.evaluation import evaluate
from workbench.measure.questions import QuestionSet
from workbench.memory.index import MemoryIndex
from workbench.systems.registry import SYSTEMS

# Voila's own: it asks for icons that are elsewhere, and shows its widgets once before it has them.
ITS_OWN = ("net::ERR_", "widget model not found")


@needs_chromium
def test_what_is_drawn_follows_every_widget(
    sample: MemoryIndex, questions: QuestionSet, tmp_path: Path
) -> None:
    evaluations = evaluate(questions, [SYSTEMS[name] for name in SHOWN_SYSTEMS], sample)
    with voila(tmp_path) as address, browsing() as tab:
        tab.page.goto(address)
        shown = {name: Shown(tab.page, twin(name, sample, evaluations)) for name in PANELS}
        for widget in shown.values():
            widget.agrees()
        shown["threshold-lab"].press("min score", "ArrowLeft", times=10)
        shown["threshold-lab"].agrees(min_score=0.25)
        shown["threshold-lab"].picture("threshold-lab_voila")
        shown["fusion-lab"].drag("min score", 0.02)
        shown["fusion-lab"].agrees(min_score=shown["fusion-lab"].number("min score"))
        shown["survival-chart"].control("systems").select_option(SHOWN_SYSTEMS[2])
        shown["survival-chart"].agrees(systems=SHOWN_SYSTEMS[2:])
        shown["microscope"].type("question", "falsification rules")
        shown["microscope"].agrees(question="falsification rules")
        shown["question-explorer"].type("explain file", "MEMORY.md")
        shown["question-explorer"].agrees(target="MEMORY.md")
        assert [one for one in tab.errors if not any(own in one for own in ITS_OWN)] == []
