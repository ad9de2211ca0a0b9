"""The time from a slider's event to changed traits in Python, without a browser or a kernel.

python -m benchmarks.widgets [FOLDER]
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from statistics import median
from time import process_time
from typing import Any

from workbench.measure.evaluation import evaluate
from workbench.measure.questions import load_questions
from workbench.memory.files import memory_root
from workbench.memory.opening import open_index
from workbench.memory.sync import index_folder
from workbench.systems.openclaw import SHIPPED, THREE_FIXES
from workbench.views.widgets.survival import SurvivalChart
from workbench.views.widgets.threshold import ThresholdLab
from workbench_plugins.engines.widget import FusionLab

BUDGET = 5.0
"""Milliseconds."""

EVENTS = 100


def main() -> None:
    root = memory_root(sys.argv[1] if len(sys.argv) > 1 else "sample_memory")
    index_folder(root)
    questions = load_questions(root / "questions.yaml")
    with open_index(root) as index:
        evaluations = evaluate(questions, [SHIPPED, THREE_FIXES], index)
        threshold = ThresholdLab(evaluations)
        fusion = FusionLab(index=index, question=questions.questions[0].question)
        survival = SurvivalChart(evaluations, index)
        steps = [step / EVENTS for step in range(EVENTS)]
        print(f"{len(questions.questions)} questions x {len(evaluations)} systems, {EVENTS} events each:")
        print(f"median CPU milliseconds from the event to the traits, and the ratio to {BUDGET:g} ms")
        for name, widget, setting, values in (
            ("threshold lab, min score", threshold, "min_score", steps),
            ("fusion lab, min score", fusion, "min_score", steps),
            ("fusion lab, k", fusion, "k", range(EVENTS)),
            ("survival chart, kind", survival, "kind", survival.options["kind"] * 20),
        ):
            taken = median(_milliseconds(widget, setting, values))
            print(f"{name:26} {taken:5.2f}  {taken / BUDGET:.2f}")


def _milliseconds(widget: Any, setting: str, values: Sequence[Any]) -> list[float]:
    """The milliseconds for each value, from setting it until every observer has returned."""
    setattr(widget, setting, values[-1])
    taken = []
    for value in values:
        started = process_time()
        setattr(widget, setting, value)
        taken.append(1000 * (process_time() - started))
    return taken


if __name__ == "__main__":
    main()
