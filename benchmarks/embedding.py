"""The local model in each backend and precision: speed, agreement with torch in fp32, effect on searches.

python -m benchmarks.embedding [LOCOMO.json] [--texts 48] [--skip-searches]

The machine may be busy, so speed is processor time of one thread; the variants take turns, and a ratio is
one of medians. LoCoMo is read from a path, if one is given.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from numpy.typing import NDArray

from benchmarks.published.basic_memory import session_index
from benchmarks.variants import VARIANTS
from workbench.measure.evaluation import Evaluation, evaluate
from workbench.measure.paired import paired, paired_values
from workbench.measure.questions import load_questions
from workbench.memory.embedding.engines import ModelEngine, ModelVariant, cpu_has
from workbench.memory.embedding.local import LocalEmbedder, Truncated, Windowed
from workbench.memory.files import list_files, memory_root
from workbench.memory.opening import open_index
from workbench.memory.options import Options
from workbench.memory.sources import LineChunker, MemoryFolder
from workbench.memory.sync import index_folder
from workbench.retrieval.index_adapters import CachedIndex
from workbench.retrieval.pipeline import search
from workbench.systems.catalogue import system
from workbench.systems.openclaw import SHIPPED, THREE_FIXES
from workbench_plugins.recommended.words import word_vectors
from workbench_plugins.runs.collections import Locomo, load

TURNS, NEAREST, LIMIT = 5, 10, 10
VECTORS = system("openclaw-2026.2.13-vector-only")


def windows(root: Path) -> list[str]:
    """The sample memory's chunks as the model reads them: in windows of at most 254 word pieces."""
    texts = [MemoryFolder(root).read(path).text for path in list_files(root)]
    chunks = [passage.text for text in texts for passage in LineChunker().chunk(text)]
    embedder = LocalEmbedder(variant=ModelVariant("openvino"))
    spans = embedder.offsets(chunks)
    cut = [Windowed().pieces(text, some, embedder.window) for text, some in zip(chunks, spans, strict=True)]
    return [piece for pieces in cut for piece in pieces]


def seconds(
    engines: dict[ModelVariant, ModelEngine], texts: list[str], many: bool
) -> dict[ModelVariant, float]:
    """The median processor seconds of each engine for all texts, at once or one by one; they take turns."""
    spent: dict[ModelVariant, list[float]] = {variant: [] for variant in engines}
    for _ in range(TURNS + 1):
        for variant, engine in engines.items():
            started = time.process_time()
            if many:
                engine.vectors(texts, "passage", 32)
            else:
                for text in texts:
                    engine.vectors([text], "query", 1)
            spent[variant].append(time.process_time() - started)
    return {variant: statistics.median(some[1:]) for variant, some in spent.items()}


def overlap(exact: NDArray[np.float32], found: NDArray[np.float32]) -> float:
    """The mean share of the NEAREST best rows that two tables of similarities have in common."""
    best = [
        [set(np.argsort(-row, kind="stable")[:NEAREST].tolist()) for row in one] for one in (exact, found)
    ]
    return float(np.mean([len(a & b) / NEAREST for a, b in zip(*best, strict=True)]))


def words_of(variant: ModelVariant, texts: list[str]) -> NDArray[np.float32]:
    """The unit vectors of the content words of all texts, one row a word piece."""
    found = word_vectors(LocalEmbedder(variant=variant), texts, "passage")
    return np.concatenate([one.words for one in found])


def speed_and_agreement(root: Path, count: int, asked: list[str]) -> None:
    texts = windows(root)
    step = max(1, len(texts) // count)
    engines = {one: LocalEmbedder(variant=one).engine for one in VARIANTS if cpu_has(one.precision)}
    bulk = seconds(engines, texts[::step][:count], many=True)
    single = seconds(engines, asked[:12], many=False)
    vectors = {one: engine.vectors(texts[::step], "passage", 32) for one, engine in engines.items()}
    questions = {one: engine.vectors(asked, "query", 32) for one, engine in engines.items()}
    plain = ModelVariant("torch")
    print(f"{count} windows, {len(asked)} questions; processor time in one thread, as ratios to torch-fp32")
    words = {one: words_of(one, [*asked, *texts[::step][:8]]) for one in engines}
    columns = f"{'mean cos':>10}{'least cos':>11}{'top-10':>8}{'words: mean':>13}{'least':>9}"
    print(f"{'':15}{'bulk':>7}{'question':>10}{columns}")
    for one in engines:
        cosines = (vectors[one] * vectors[plain]).sum(axis=1) / np.linalg.norm(vectors[one], axis=1)
        of_words = (words[one] * words[plain]).sum(axis=1)
        shared = overlap(questions[plain] @ vectors[plain].T, questions[one] @ vectors[one].T)
        print(
            f"{one.name:15}{bulk[plain] / bulk[one]:6.2f}x{single[plain] / single[one]:9.2f}x"
            f"{cosines.mean():10.5f}{cosines.min():11.5f}{shared:8.3f}"
            f"{of_words.mean():13.5f}{of_words.min():9.5f}",
            flush=True,
        )


def evaluations(root: Path, embedder: LocalEmbedder) -> tuple[list[Evaluation], float]:
    """The labelled questions over a fresh index, and the processor seconds of indexing."""
    with tempfile.TemporaryDirectory() as folder:
        file, started = Path(folder) / "index.sqlite", time.process_time()
        index_folder(root, embedder, options=Options(index_path=file))
        spent = time.process_time() - started
        with open_index(root, embedder, index_path=file) as index:
            questions = load_questions(root / "questions.yaml")
            return list(evaluate(questions, [VECTORS, SHIPPED, THREE_FIXES], CachedIndex(index))), spent


def recall(data: Locomo, embedder: LocalEmbedder) -> NDArray[np.float64]:
    """For each question of LoCoMo, the share of its sessions among the first LIMIT of the vector leg."""
    asked = VECTORS.asking(limit=LIMIT, min_score=0)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["WORKBENCH_HOME"] = folder
        with session_index(data, embedder, chunker=LineChunker()) as index:
            cached, found = CachedIndex(index), []
            for question in data.questions:
                if question.documents:
                    paths = {
                        path.removesuffix(".md") for path in search(question.text, asked, cached).paths()
                    }
                    found.append(len(paths & set(question.documents)) / len(set(question.documents)))
    return np.array(found)


def effects(root: Path, data: Locomo | None) -> None:
    """Each variant, and truncated reading, against torch in fp32 with windowed reading."""
    plain = LocalEmbedder()
    chosen = [(one.name, LocalEmbedder(variant=one)) for one in VARIANTS if cpu_has(one.precision)]
    chosen.append(("truncated", LocalEmbedder(reading=Truncated())))
    before, _ = evaluations(root, plain)
    sessions = None if data is None else recall(data, plain)
    for name, embedder in chosen:
        after, spent = evaluations(root, embedder)
        print(f"\n{name}: indexed in {spent:.0f} s of processor time")
        for old, new in zip(before, after, strict=True):
            print(f"  {new.pipeline.name}: hits {old.overall} -> {new.overall}; {paired(old, new)}")
        if data is not None and sessions is not None:
            now = recall(data, embedder)
            rooms = [str(one.conversation) for one in data.questions if one.documents]
            verdict = paired_values(sessions, now, f"recall@{LIMIT}", rooms, "conversation")
            print(f"  LoCoMo, sessions: recall@{LIMIT} {sessions.mean():.4f} -> {now.mean():.4f}; {verdict}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("locomo", nargs="?", help="a JSON file of LoCoMo")
    parser.add_argument("--texts", type=int, default=48, help="how many windows the timing embeds")
    parser.add_argument("--skip-searches", action="store_true", help="speed and agreement only")
    given = parser.parse_args()
    root = memory_root("sample_memory")
    asked = [one.question for one in load_questions(root / "questions.yaml").questions]
    speed_and_agreement(root, given.texts, asked)
    if not given.skip_searches:
        effects(root, load(given.locomo) if given.locomo else None)


if __name__ == "__main__":
    main()
