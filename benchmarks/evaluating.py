"""The CPU time of a system for the labelled questions, with cached legs: the best of several runs.

python -m benchmarks.evaluating [FOLDER]
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from time import process_time
from timeit import repeat

from workbench.contracts import Index
from workbench.measure.questions import load_questions
from workbench.memory.files import memory_root
from workbench.memory.opening import open_index
from workbench.memory.sync import index_folder
from workbench.retrieval.index_adapters import CachedIndex
from workbench.retrieval.pipeline import Pipeline, search
from workbench.systems.catalogue import SYSTEMS

BUDGET = 0.25
TIMES = 10


def main() -> None:
    root = memory_root(sys.argv[1] if len(sys.argv) > 1 else "sample_memory")
    index_folder(root)
    questions = [one.question for one in load_questions(root / "questions.yaml").questions]
    with open_index(root) as opened:
        index = CachedIndex(opened)
        print(f"{len(questions)} questions from cached legs: CPU seconds, and the ratio to {BUDGET} s")
        for name, pipeline in SYSTEMS.items():
            # The first run fills the cache.
            task = partial(ask, questions, pipeline, index)
            _, *seconds = repeat(task, timer=process_time, number=1, repeat=1 + TIMES)
            print(f"{name:40} {min(seconds):.3f}  {min(seconds) / BUDGET:.2f}")


def ask(questions: Sequence[str], pipeline: Pipeline, index: Index) -> None:
    """Searches for each question."""
    for question in questions:
        search(question, pipeline, index)


if __name__ == "__main__":
    main()
