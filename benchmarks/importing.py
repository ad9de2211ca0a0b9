"""How long the import of a TREC run takes, and how much memory: `python -m benchmarks.importing`.

The run has 1,000 questions with 1,000 results each, unless other numbers are given.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path

from workbench_plugins.runs.run_files import read_trec

MOST_SECONDS = 10
MOST_MB = 1_000


def write(path: Path, questions: int, results: int) -> None:
    """A run whose documents are drawn from ten times as many as a question has results."""
    with path.open("w", encoding="utf-8") as file:
        for question in range(questions):
            for rank in range(1, results + 1):
                document = (question * 7919 + rank * 104729) % (10 * results)
                file.write(f"q{question} Q0 document-{document:07} {rank} {1 / (60 + rank):.6f} engine\n")


def main() -> int:
    """Prints seconds and memory beside their limits; exit code 1 if one is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, default=1_000)
    parser.add_argument("--results", type=int, default=1_000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.trec"
        write(path, given.questions, given.results)
        started, worked = time.perf_counter(), time.process_time()
        run = read_trec(path)
        seconds, processor = time.perf_counter() - started, time.process_time() - worked
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{run}")
    print(f"{seconds:.2f} s ({processor:.2f} s of the processor), at most {MOST_SECONDS} s")
    print(f"{megabytes:.0f} MB at most in memory, limit {MOST_MB} MB")
    return int(seconds > MOST_SECONDS or megabytes > MOST_MB)


if __name__ == "__main__":
    raise SystemExit(main())
