"""The CPU time of `diagnose`, with the model loaded and the questions embedded, over missed questions.

python -m benchmarks.diagnosing [FOLDER]
"""

from __future__ import annotations

import sys
from statistics import median
from time import process_time

from workbench.contracts import Index
from workbench.measure.questions import Question, QuestionSet, load_questions
from workbench.memory.files import memory_root
from workbench.memory.opening import open_index
from workbench.memory.sync import index_folder
from workbench.retrieval.pipeline import Pipeline, search
from workbench.systems.catalogue import SYSTEMS
from workbench_plugins.diagnose.diagnosis import diagnose

BUDGET = 2.5
TIMES = 5
NAMES = (
    "openclaw-2026.2.13",
    "openclaw-2026.2.13+or+rrf+minmax+evidence",
    "openclaw-2026.9.6",
    "openclaw-2026.9.6-trigram",
    "recommended",
    "bm-head",
    "am-205",
)


def main() -> None:
    root = memory_root(sys.argv[1] if len(sys.argv) > 1 else "sample_memory")
    index_folder(root)
    questions = load_questions(root / "questions.yaml")
    with open_index(root) as index:
        warm(index, questions)
        print(f"diagnose: CPU seconds (median, most), and the ratio of the median to {BUDGET:g} s")
        for name in NAMES:
            seconds = [
                timed(one, SYSTEMS[name], index, questions) for one in missed(SYSTEMS[name], index, questions)
            ]
            print(f"{name:42} {median(seconds):.2f}  {max(seconds):.2f}  {median(seconds) / BUDGET:.2f}")


def warm(index: Index, questions: QuestionSet) -> None:
    """Loads the model and SciPy, and embeds the questions once."""
    first = missed(SYSTEMS[NAMES[0]], index, questions)[0]
    timed(first, SYSTEMS[NAMES[0]], index, questions)


def missed(pipeline: Pipeline, index: Index, questions: QuestionSet) -> list[Question]:
    """Some questions whose file the pipeline does not return, spread evenly."""
    asked = questions.questions
    lost = [one for one in asked if one.target not in search(one.question, pipeline, index).paths()]
    return lost[:: max(1, len(lost) // TIMES)][:TIMES]


def timed(one: Question, pipeline: Pipeline, index: Index, questions: QuestionSet) -> float:
    """The CPU seconds of one diagnosis."""
    begun = process_time()
    diagnose(one.question, pipeline, index, one.target, questions=questions)
    return process_time() - begun


if __name__ == "__main__":
    main()
