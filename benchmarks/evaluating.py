"""How long a system takes for the labelled questions, from cached legs.

python -m benchmarks.evaluating [FOLDER]
"""

from __future__ import annotations

import sys
from time import perf_counter

from workbench.lab.cached import CachedIndex
from workbench.lab.judgments import load_questions
from workbench.memory.files import memory_root
from workbench.memory.sync import index_folder, open_index
from workbench.retrieval.pipeline import search
from workbench.systems import SYSTEMS

BUDGET = 0.25


def main() -> None:
    root = memory_root(sys.argv[1] if len(sys.argv) > 1 else "sample_memory")
    index_folder(root)
    questions = [one.question for one in load_questions(root / "questions.yaml").questions]
    with open_index(root) as opened:
        index = CachedIndex(opened)
        print(f"{len(questions)} questions from cached legs: seconds, and the ratio to {BUDGET} s")
        for name, pipeline in SYSTEMS.items():
            for question in questions:
                search(question, pipeline, index)
            started = perf_counter()
            for question in questions:
                search(question, pipeline, index)
            seconds = perf_counter() - started
            print(f"{name:40} {seconds:.3f}  {seconds / BUDGET:.2f}")


if __name__ == "__main__":
    main()
