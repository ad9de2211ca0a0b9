"""What the choice of the local model and of its reading brings: hits and MRR on a memory with questions.

python -m benchmarks.models [--model NAME ...]

Each model reads the sample memory twice: whole chunks in windows, and only the first window of each.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from workbench.lab.evaluation import Evaluation, evaluate
from workbench.lab.paired import paired
from workbench.lab.questions import load_questions
from workbench.memory.embedding.local import PACKAGED_MODEL, LocalEmbedder, Reading, Truncated, Windowed
from workbench.memory.sync import index_folder, open_index
from workbench.systems.registry import system

SAMPLE = Path(__file__).parents[1] / "sample_memory"
ASKED = system("openclaw-2026.2.13-vector-only")
READINGS: Sequence[Reading] = (Windowed(), Truncated())


def measured(embedder: LocalEmbedder, file: Path) -> Evaluation:
    """The vector leg alone on the sample memory's own questions, ten results each."""
    index_folder(SAMPLE, embedder, index_path=file)
    with open_index(SAMPLE, embedder, index_path=file) as index:
        return evaluate(load_questions(SAMPLE / "questions.yaml"), [ASKED], index)[0]


def main() -> None:
    """Print a line for each model and reading, and the paired difference from the first."""
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--model", action="append", default=[])
    names = [PACKAGED_MODEL, *arguments.parse_args().model]
    console, first = Console(), None
    for name in names:
        for reading in READINGS:
            embedder = LocalEmbedder(name, reading)
            with tempfile.TemporaryDirectory() as folder:
                found = measured(embedder, Path(folder) / "index.sqlite")
            first = first or found
            hits = f"{found.overall.hits} of {found.overall.n} hits"
            console.print(
                f"{name}, {reading.name}: {embedder.dimensions} numbers, {embedder.window} word pieces, "
                f"{hits}, MRR {found.mrr:.3f}; {paired(first, found)}"
            )


if __name__ == "__main__":
    main()
