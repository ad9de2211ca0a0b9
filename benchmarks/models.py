"""What the choice of the local model, its precision and its reading brings, on up to three collections.

    python -m benchmarks.models [--model NAME ...] [--locomo JSON CORRECTIONS] [--docs FOLDER QUESTIONS]
                                [--every 4] [--kept FOLDER] [--only TEXT]

The sample memory is always measured. The first choice is the packaged model in fp32, which reads whole chunks
in windows. Each difference from it has its paired interval by conversation or file, with Holm's correction
for their number. LoCoMo and the documentation have many more chunks, so OpenVINO computes the packaged
model's vectors there (in fp32 the same as torch to the sixth decimal), and a model of your own is measured
with windows only. Of the documentation every n-th file is taken, with its questions. `--kept` keeps indexes
and results, so that a run goes on where the last one stopped.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks.published.ranking import file_name, folder, ranked, units_of
from workbench.measure.evaluation import evaluate
from workbench.measure.measures import HITS
from workbench.measure.paired import corrected, paired_values
from workbench.measure.questions import load_questions
from workbench.memory.embedding.engines import ModelVariant, cpu_has
from workbench.memory.embedding.local import PACKAGED_MODEL, LocalEmbedder, Truncated, Windowed
from workbench.memory.files import content_hash, list_files, memory_root
from workbench.memory.index import MemoryIndex
from workbench.memory.opening import open_index
from workbench.memory.options import Options
from workbench.memory.sync import index_folder
from workbench.systems.catalogue import system
from workbench_plugins.runs.collections import TestCollection, load, of_locomo

SAMPLE = Path(__file__).parents[1] / "sample_memory"
SYSTEMS = (
    "openclaw-2026.2.13-vector-only",
    "openclaw-2026.2.13+or+rrf+minmax",
    "openclaw-2026.9.6",
    "recommended",
)
TORCH, BF16 = ModelVariant("torch"), ModelVariant("torch", "bf16")
FAST, FAST_BF16, INT8 = (ModelVariant("openvino", one) for one in ("fp32", "bf16", "int8"))


@dataclass(frozen=True)
class Choice:
    """A model, how it is computed, and how it reads chunks."""

    model: str
    variant: ModelVariant
    truncated: bool = False

    def __str__(self) -> str:
        parts = (self.model, self.variant.name, "truncated" if self.truncated else "windowed")
        return ", ".join(parts)

    @property
    def embedder(self) -> LocalEmbedder:
        """The model, not yet loaded."""
        reading = Truncated() if self.truncated else Windowed()
        return LocalEmbedder(self.model, reading, variant=self.variant)

    @property
    def systems(self) -> Sequence[str]:
        """The systems to ask; `recommended` reads all words again, which 16 bits would hardly change."""
        return SYSTEMS[:-1] if self.variant.precision == "bf16" else SYSTEMS

    @property
    def sibling(self) -> Choice:
        """The same in the other reading: `recommended` has the same windows in both."""
        return replace(self, truncated=not self.truncated)


PACKAGED = [
    Choice(PACKAGED_MODEL, TORCH),
    Choice(PACKAGED_MODEL, TORCH, truncated=True),
    Choice(PACKAGED_MODEL, BF16),
    Choice(PACKAGED_MODEL, INT8),
]
PACKAGED_AND_FAST = [
    Choice(PACKAGED_MODEL, FAST),
    Choice(PACKAGED_MODEL, FAST, truncated=True),
    Choice(PACKAGED_MODEL, FAST_BF16),
    Choice(PACKAGED_MODEL, INT8),
]


@dataclass(frozen=True)
class Answers:
    """What a system gave to each question: the found share of what is right, and the reciprocal rank."""

    found: list[float]
    reciprocal: list[float]
    silent: int


@dataclass(frozen=True)
class Measured:
    """A choice on one collection: the processor seconds to index its chunks, and each system's answers."""

    seconds: float
    chunks: int
    read_share: float
    of: dict[str, Answers]

    @classmethod
    def read(cls, file: Path) -> Measured:
        """What a run kept."""
        kept = json.loads(file.read_text(encoding="utf-8"))
        return cls(**kept | {"of": {name: Answers(**one) for name, one in kept["of"].items()}})


@dataclass(frozen=True)
class Task:
    """A memory, how its questions are asked, what is counted, and the choices that are measured on it.

    `units` are what the questions are about, such as files, and the word for one.
    """

    name: str
    root: Path
    measure: str
    ask: Callable[[Sequence[str], MemoryIndex], dict[str, Answers]]
    choices: list[Choice]
    units: tuple[list[str], str]


def sample(models: Sequence[str]) -> Task:
    """The sample memory's own questions; each system returns as many results as by default."""
    labelled = load_questions(SAMPLE / "questions.yaml")

    def ask(names: Sequence[str], index: MemoryIndex) -> dict[str, Answers]:
        asked = evaluate(labelled, [system(one) for one in names], index)
        return {
            one.pipeline.name: Answers(one.values(HITS).tolist(), one.values("RR").tolist(), one.silent.hits)
            for one in asked
        }

    own = [Choice(name, TORCH, truncated) for name in models for truncated in (False, True)]
    units = [one.target for one in labelled.questions]
    return Task("sample memory", SAMPLE, HITS, ask, [*PACKAGED, *own], (units, "file"))


def of_collection(
    name: str, root: Path, collection: TestCollection, evidence: bool, models: Sequence[str]
) -> Task:
    """A test collection; each system returns up to ten results."""

    def ask(names: Sequence[str], index: MemoryIndex) -> dict[str, Answers]:
        runs = ranked(collection, [system(one) for one in names], index)
        return {
            run.system: Answers(
                [one.recall(5) if evidence else one.hit(6) for one in run.answers],
                [one.reciprocal for one in run.answers],
                sum(not one.returned for one in run.answers),
            )
            for run in runs
        }

    own = [Choice(one, TORCH) for one in models]
    measure, units = "evidence@5" if evidence else "any@6", units_of(collection.questions)
    return Task(name, root, measure, ask, [*PACKAGED_AND_FAST, *own], units)


def locomo(kept: Path, data: Path, corrections: Path, models: Sequence[str]) -> Task:
    """LoCoMo with one file a session, all conversations in one memory."""
    collection = of_locomo(load(data, corrections), data.stem)
    place = kept / "locomo" / "memory"
    place.mkdir(parents=True, exist_ok=True)
    for one in collection.documents:
        (place / file_name(one.id)).write_text(one.text, encoding="utf-8")
    return of_collection("LoCoMo", place.parent, collection, True, models)


def documentation(kept: Path, given: Path, questions: Path, every: int, models: Sequence[str]) -> Task:
    """Every n-th file of a folder, with the questions that one of these files answers."""
    place = kept / f"docs-{every}"
    chosen = sorted(list_files(memory_root(given)))[::every]
    for name in chosen:
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(given / name, place / name)
    all_of_it = folder(given, questions)
    asked = tuple(one for one in all_of_it.questions if one.truth <= set(chosen))
    collection = TestCollection(given.name, (), asked, place)
    return of_collection(f"documentation, every {every}th file", place, collection, False, models)


def measure(task: Task, choice: Choice, kept: Path) -> Measured:
    """A choice on a task; what an earlier run kept is read."""
    place = kept / content_hash(f"{task.root.name} {choice}")[:12]
    if place.with_suffix(".json").is_file():
        return Measured.read(place.with_suffix(".json"))
    words = kept / f"{content_hash(f'{task.root.name} {choice.sibling}')[:12]}.sqlite.words"
    if words.is_file():
        shutil.copy(words, place.with_suffix(".sqlite.words"))
    embedder = choice.embedder
    embedder.embed(["loaded before the clock runs"], "passage")
    started = time.process_time()
    index_folder(task.root, embedder, options=Options(index_path=place.with_suffix(".sqlite")))
    spent = time.process_time() - started
    with open_index(task.root, embedder, index_path=place.with_suffix(".sqlite")) as index:
        answers = task.ask(choice.systems, index)
        share = index.store.db.execute("SELECT avg(read_share) FROM chunks").get
        found = Measured(spent, index.size, share, answers)
    place.with_suffix(".json").write_text(json.dumps(asdict(found)), encoding="utf-8")
    return found


def lines(task: Task, choice: Choice, found: Measured, first: Measured) -> Iterator[str]:
    """The figures of a choice, and each system's paired differences from the first choice."""
    yield (
        f"{choice}: {choice.embedder.window} word pieces, {found.chunks} chunks, {found.read_share:.0%} of a "
        f"chunk read on average, {found.seconds:.0f} s of processor time to index"
    )
    for name, one in found.of.items():
        figures = f"{task.measure} {np.mean(one.found):.3f}, MRR {np.mean(one.reciprocal):.3f}"
        yield f"  {name}: {figures}, silent on {one.silent}; {len(one.found)} questions"
    if found is not first:
        both = [(name, kind) for name in found.of for kind in ("found", "reciprocal")]
        compared = [
            paired_values(
                np.array(getattr(first.of[name], kind)),
                np.array(getattr(found.of[name], kind)),
                task.measure if kind == "found" else "MRR",
                *task.units,
            )
            for name, kind in both
        ]
        for (name, _), one in zip(both, corrected(compared), strict=True):
            yield f"    {name}, {one.measure} {one.difference:+.3f}: {one}"


@contextmanager
def kept_in(given: Path | None) -> Iterator[Path]:
    """The folder for indexes and results: the given one, or one that is deleted at the end."""
    if given is not None:
        given.mkdir(parents=True, exist_ok=True)
        yield given.resolve()
        return
    with tempfile.TemporaryDirectory() as place:
        yield Path(place)


def tasks(given: argparse.Namespace, kept: Path) -> Iterator[Task]:
    """The tasks that the command line names."""
    yield sample(given.model)
    if given.locomo:
        yield locomo(kept, *given.locomo, given.model)
    if given.docs:
        yield documentation(kept, *given.docs, given.every, given.model)


def main() -> None:
    """Print each task's choices, each after it was measured."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--model", action="append", default=[])
    parser.add_argument("--locomo", nargs=2, type=Path, metavar=("JSON", "CORRECTIONS"))
    parser.add_argument("--docs", nargs=2, type=Path, metavar=("FOLDER", "QUESTIONS"))
    parser.add_argument("--every", type=int, default=4)
    parser.add_argument("--kept", type=Path)
    parser.add_argument("--only", default="", help="only choices or collections whose name has this")
    given = parser.parse_args()
    with kept_in(given.kept) as kept:
        for task in tasks(given, kept):
            print(f"\n{task.name}, {task.measure}")
            first = None
            for choice in task.choices:
                if first is not None and given.only not in f"{task.name}: {choice}":
                    continue
                if not cpu_has(choice.variant.precision):
                    print(f"{choice}: not measured, as this processor has no instructions for it")
                    continue
                found = measure(task, choice, kept)
                first = first or found
                print("\n".join(lines(task, choice, found, first)), flush=True)


if __name__ == "__main__":
    main()
