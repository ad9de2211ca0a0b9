"""Does a calibrated threshold keep its promise, and what does it cost? Random splits, five systems.

    python -m benchmarks.silence [--splits 200] [--locomo LOCOMO.json CORRECTIONS.json]

For each split some of a collection's questions without an answer choose the threshold. The promise is kept if
the rate of answers among all of them is at most the accepted one. The labels that are left over are printed
beside it: they are few, so their own rate exceeds the accepted one by chance as well. Each system's own
threshold, which for AutoMem, Basic Memory and OpenClaw is the published one, is measured on the same
questions. The collections are the sample memory, benchmarks/notes, and with `--locomo` LoCoMo: its
adversarial questions, which are near misses, and the questions of the notes, which are about something else.

The last rows let a reader of question and text decide: the packaged model's words (`--rerank late`), and a
stub in place of a language model, which knows the labels and errs in one question of ten, or of five.
"""

from __future__ import annotations

import argparse
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from tqdm.auto import tqdm

import workbench as wb
from benchmarks.fit import ADVERSARIAL
from benchmarks.published.basic_memory import session_index
from workbench.contracts import Index
from workbench.errors import InputError
from workbench.measure.measures import Share
from workbench.measure.questions import load_questions
from workbench.memory.embedding.local import LocalEmbedder, Truncated
from workbench.memory.sources import LineChunker
from workbench.memory.sync import index_folder
from workbench.records import Trace
from workbench.retrieval.index_adapters import CachedIndex
from workbench.retrieval.pipeline import Pipeline, search
from workbench.systems.catalogue import system
from workbench_plugins.calibrate.calibrated import Labelled, walked
from workbench_plugins.calibrate.floors import Floored, Values, with_floor
from workbench_plugins.rerank import Reranker, RerankerOfIndex, reranker_named, with_reranker
from workbench_plugins.runs.collections import load

HERE = Path(__file__).parent
NOTES = HERE / "notes"
FOLDERS = {"sample memory": HERE.parent / "sample_memory", "notes": NOTES}
SYSTEMS = (
    "openclaw-2026.2.13", "openclaw-2026.2.13+or+rrf+minmax+evidence", "am-205", "bm-head", "recommended",
)  # fmt: skip
ACCEPT, CONFIDENCE = 0.2, 0.9
SMALLEST, LARGEST = 12, 40
"""Labels of a split; fewer than 11 promise nothing, and few people write more than 40."""
EVERY = 4
"""Of LoCoMo's questions with one answer, every fourth is asked."""


READ = "openclaw-2026.2.13+or+rrf+minmax+evidence"
"""The system that readers are measured on."""
ERRING = (0.1, 0.2)


class Asked(NamedTuple):
    """What is asked of an index: questions with the file that answers each, and some without an answer."""

    title: str
    searched: Index
    answered: Sequence[tuple[str, str]]
    silent: Sequence[str]


@contextmanager
def of_folder(title: str, folder: Path) -> Iterator[list[Asked]]:
    """A folder with its own questions."""
    index_folder(folder)
    file = load_questions(folder / "questions.yaml")
    with wb.open_index(folder) as index:
        answered = [(one.question, one.target) for one in file.questions]
        yield [Asked(title, index, answered, [one.question for one in file.controls])]


@contextmanager
def of_locomo(path: Path, corrections: Path) -> Iterator[list[Asked]]:
    """LoCoMo's sessions, with two kinds of questions that they do not answer."""
    data = load(path, corrections)
    known = [one for one in data.questions if one.category != ADVERSARIAL and len(one.documents) == 1]
    answered = [(one.text, f"{next(iter(one.documents))}.md") for one in known[::EVERY]]
    near = [one.text for one in data.questions if one.category == ADVERSARIAL]
    far = [one.question for one in load_questions(NOTES / "questions.yaml").questions]
    with session_index(data, LocalEmbedder(reading=Truncated()), chunker=LineChunker()) as index:
        yield [
            Asked(f"LoCoMo, {kind}", index, answered, some)
            for kind, some in (("near misses", near), ("something else", far))
        ]


@dataclass(frozen=True)
class Stub:
    """A reader that knows which texts answer a question, and errs in a share of the questions.

    It then gives the answering text a low number, or another text a high one.
    """

    answering: Mapping[str, Collection[str]]
    errs: float

    @property
    def name(self) -> str:
        return f"a stub that errs in {self.errs:.0%}"

    def scores(self, question: str, texts: Sequence[str]) -> list[float]:
        """From 0 to 10, the same each time."""
        chance = np.random.default_rng([*question.encode()])
        misses, invents = chance.random(2) < self.errs
        said = chance.uniform(0, 4, len(texts))
        knows = np.array([one in self.answering.get(question, ()) for one in texts], bool)
        said[knows] = chance.uniform(2, 5) if misses else chance.uniform(7, 10)
        if invents:
            said[chance.integers(len(texts))] = chance.uniform(6, 9)
        return [float(one) for one in said]


def readers(asked: Asked, index: Index) -> Iterator[Reranker | RerankerOfIndex]:
    """The readers that are measured."""
    yield reranker_named("late")
    plain = system(READ)
    found = {one: search(one, plain, index).chunks for one, _ in asked.answered}
    texts = {one: [chunk.text for chunk in found[one] if chunk.path == path] for one, path in asked.answered}
    yield from (Stub(texts, one) for one in ERRING)


class Remembering(Floored):
    """A pipeline with a floor that computes once what it returns for a question at some thresholds."""

    def paths(self, trace: Trace, values: Values) -> list[str]:
        known: dict[tuple[str, Values], list[str]] = vars(self).setdefault("known", {})
        place = trace.question, values
        if place not in known:
            known[place] = super().paths(trace, values)
        return known[place]


class Measured:
    """A system on a collection: what it returns for each label at some thresholds."""

    def __init__(self, floored: Floored, answered: Sequence[Labelled], silent: Sequence[Labelled]) -> None:
        self.floored, self.answered, self.silent = floored, answered, silent

    def at(self, values: Values) -> tuple[np.ndarray, Share]:
        """Which questions without an answer get one, and the hits of the others."""
        paths = [self.floored.paths(one.trace, values) for one in self.silent]
        hits = sum(one.target in self.floored.paths(one.trace, values) for one in self.answered)
        return np.array([bool(one) for one in paths]), Share(hits, len(self.answered))

    def split(self, chosen: np.ndarray) -> Values:
        """The thresholds that some of the labels choose."""
        labels = [self.silent[place] for place in chosen]
        return walked(self.floored, labels, self.answered, (ACCEPT,), CONFIDENCE)[ACCEPT][0]


def measured(asking: Pipeline, asked: Asked, index: Index) -> Measured:
    """A system on a collection's questions."""
    pipeline = with_floor(asking)
    questions = [*asked.answered, *((one, None) for one in asked.silent)]
    progress = tqdm(questions, desc=asking.name, mininterval=30)
    labels = [Labelled(search(question, pipeline, index), target) for question, target in progress]
    known = len(asked.answered)
    return Measured(Remembering(pipeline, index), labels[:known], labels[known:])


def told(name: str, one: Measured, splits: int) -> None:
    """Prints how often the promise is kept on random splits, and its cost in hits."""
    n, chance = len(one.silent), np.random.default_rng(0)
    size = min(LARGEST, max(SMALLEST, n // 2))
    kept, kept_beside, answers, hits = 0, 0, [], []
    for _ in tqdm(range(splits), desc=name, mininterval=30):
        chosen = chance.choice(n, size, replace=False)
        answered, found = one.at(one.split(chosen))
        kept += bool(answered.mean() <= ACCEPT)
        kept_beside += bool(np.delete(answered, chosen).mean() <= ACCEPT)
        answers.append(answered.mean())
        hits.append(found.hits)
    own, before = one.at(one.floored.own())
    low, middle, high = np.quantile(hits, [0.05, 0.5, 0.95])
    print(
        f"  {name:<42} {size} labels: kept in {kept / splits:.1%} of {splits} splits "
        f"(on the labels left over {kept_beside / splits:.1%}); answers {np.median(answers):.0%}, "
        f"hits {middle:.0f} ({low:.0f} to {high:.0f}) of {before.n}; "
        f"own threshold: answers {own.mean():.0%}, hits {before.hits}"
    )


def main() -> None:
    """Measures every system on every collection."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--splits", type=int, default=200)
    parser.add_argument("--locomo", type=Path, nargs=2, metavar=("JSON", "CORRECTIONS"))
    given = parser.parse_args()
    opened = [of_folder(title, folder) for title, folder in FOLDERS.items()]
    for each in [*opened, *([of_locomo(*given.locomo)] if given.locomo else [])]:
        with each as collections:
            index = CachedIndex(collections[0].searched)
            for asked in collections:
                print(f"{asked.title}: accepted {ACCEPT:.0%}, confidence {CONFIDENCE:.0%}", flush=True)
                read = {
                    f"{READ.rpartition('+')[0]} read by {one.name}": with_reranker(system(READ), one)
                    for one in readers(asked, index)
                }
                for name, asking in {**{one: system(one) for one in SYSTEMS}, **read}.items():
                    try:
                        told(name, measured(asking, asked, index), given.splits)
                    except InputError as error:
                        print(f"  {name:<42} refused: {error.problem}")


if __name__ == "__main__":
    main()
