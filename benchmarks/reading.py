"""The effect of reading whole chunks: windowed against truncated, on the labelled questions.

python -m benchmarks.reading [FOLDER]
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from workbench.measure.evaluation import evaluate
from workbench.measure.questions import load_questions
from workbench.memory.embedding.local import READINGS, LocalEmbedder
from workbench.memory.files import memory_root
from workbench.memory.opening import open_index
from workbench.memory.options import Options
from workbench.memory.sync import index_folder
from workbench.systems.openclaw import SHIPPED, THREE_FIXES, WORKAROUND
from workbench.views.show import show


def main() -> None:
    root = memory_root(sys.argv[1] if len(sys.argv) > 1 else "sample_memory")
    questions = load_questions(root / "questions.yaml")
    for reading in READINGS.values():
        embedder = LocalEmbedder(reading=reading)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "index.sqlite"
            index_folder(root, embedder, options=Options(index_path=file))
            with open_index(root, embedder, index_path=file) as index:
                share = index.store.db.execute("SELECT avg(read_share) FROM chunks").get
                print(f"\n{reading.name}: {share:.0%} of the average chunk is read")
                found = evaluate(questions, [SHIPPED, WORKAROUND, THREE_FIXES], index)
                show(found.figures_table())


if __name__ == "__main__":
    main()
