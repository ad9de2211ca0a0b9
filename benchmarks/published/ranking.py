"""Runs systems on a test collection: how many of the right documents they return, and how far up.

Evidence recall is the share of a question's right documents within the first k, any-hit whether one of them
is there. A wrong document with the same score as a right one is counted as if it came first.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.published.spread import answers_of_each
from workbench.contracts import Index
from workbench.errors import InputError
from workbench.measure.paired import Paired, paired_values
from workbench.measure.questions import load_questions
from workbench.memory.choices import index_home
from workbench.memory.embedding.local import LocalEmbedder
from workbench.memory.files import read_input
from workbench.memory.opening import open_index
from workbench.memory.store.contract import UnwritableError
from workbench.memory.sync import index_folder
from workbench.progress import progress
from workbench.records import KEPT, Floats, Trace
from workbench.retrieval.index_adapters import CachedIndex
from workbench.retrieval.pipeline import Pipeline, search
from workbench_plugins.runs.collections import BenchQuestion, TestCollection
from workbench_plugins.stores.cluster import Cluster, ClusterEmbedder

DEEPEST = 10
LARGEST_RUN = 1_000_000_000

UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


def file_name(id_: str) -> str:
    """A file name for a document's id, which may hold anything."""
    return f"{UNSAFE.sub('_', id_)[:80]}.md"


def folder(path: Path, questions: Path | None = None) -> TestCollection:
    """A memory's folder with labelled questions, by default its own questions.yaml."""
    asked = load_questions(questions or path / "questions.yaml").questions
    missing = next((one.target for one in asked if not (path / one.target).is_file()), None)
    if missing is not None:
        raise InputError(f"The target {missing} is not a file in {path}.", "Correct it, or name its folder.")
    found = tuple(
        BenchQuestion(f"q{place}", one.question, frozenset([one.target]), one.kind)
        for place, one in enumerate(asked)
    )
    return TestCollection(path.name, (), found, path)


@dataclass(frozen=True)
class Ranking:
    """The answer to one question: the returned documents, best first, and the rank of each right one.

    `ranks` are the ranks of the right documents that were returned, ties counted against them; `inside` are
    their ranks among the documents of the question's own group.
    """

    question: BenchQuestion
    returned: tuple[str, ...]
    ranks: tuple[int, ...]
    inside: tuple[int, ...]

    def recall(self, k: int, inside: bool = False) -> float:
        """The share of the right documents within the first k; 0 for a question without any."""
        ranks = self.inside if inside else self.ranks
        return sum(rank <= k for rank in ranks) / max(1, len(self.question.truth))

    def hit(self, k: int) -> float:
        """Whether a right document is within the first k."""
        return float(any(rank <= k for rank in self.ranks))

    @property
    def reciprocal(self) -> float:
        """1 / the rank of the first right document; 0 without one."""
        return 1 / min(self.ranks) if self.ranks else 0.0

    def as_json(self, system: str) -> dict[str, Any]:
        """This answer as a line of the file of questions."""
        return {
            "system": system,
            "id": self.question.id,
            "question": self.question.text,
            "kind": self.question.kind,
            "truth": sorted(self.question.truth),
            "returned": list(self.returned),
            "ranks": list(self.ranks),
        }


@dataclass(frozen=True)
class RankedRun:
    """All answers of one system to a collection's questions."""

    system: str
    answers: tuple[Ranking, ...]

    def mean(self, values: Sequence[float]) -> float:
        """The mean over all questions; every question counts."""
        return float(np.mean(values)) if values else 0.0

    def figures(self, k: int = 5) -> dict[str, float]:
        """The figures by the names of a table's columns."""
        grouped = any(one.question.group for one in self.answers)
        own = {f"own group@{k}": self.mean([one.recall(k, inside=True) for one in self.answers])}
        return {
            f"evidence@{k}": self.mean([one.recall(k) for one in self.answers]),
            f"any@{k}": self.mean([one.hit(k) for one in self.answers]),
            "any@6": self.mean([one.hit(6) for one in self.answers]),
            f"evidence@{DEEPEST}": self.mean([one.recall(DEEPEST) for one in self.answers]),
            "MRR": self.mean([one.reciprocal for one in self.answers]),
            **(own if grouped else {}),
            "silent": self.mean([float(not one.returned) for one in self.answers]),
        }

    def split(self, of: Callable[[BenchQuestion], str]) -> dict[str, RankedRun]:
        """This run in parts, by what `of` says of a question; no parts where it says nothing."""
        found: dict[str, list[Ranking]] = {}
        for one in self.answers:
            if name := of(one.question):
                found.setdefault(name, []).append(one)
        return {name: RankedRun(self.system, tuple(some)) for name, some in found.items()}

    def values(self, k: int = 5) -> Floats:
        """Evidence recall of each question."""
        return np.array([one.recall(k) for one in self.answers])

    def compared_with(self, before: Floats, k: int = 5) -> Paired:
        """How evidence recall differs from `before`, by group, such as a conversation, or by file."""
        units, unit = units_of([one.question for one in self.answers])
        return paired_values(before, self.values(k), f"evidence@{k}", units, unit)


def units_of(questions: Sequence[BenchQuestion]) -> tuple[list[str], str]:
    """What each question is about, and the word for it: its group, such as a conversation, or its file."""
    groups = [one.group for one in questions]
    if all(groups):
        return groups, "group"
    return [" ".join(sorted(one.truth)) for one in questions], "file"


@contextmanager
def collection_index(collection: TestCollection, cluster: Cluster | None = None) -> Iterator[Index]:
    """The index of a collection; vectors are kept between runs, and a stopped run goes on where it was."""
    folder, model = collection.folder or _written(collection), LocalEmbedder()
    index_folder(folder, model if cluster is None else ClusterEmbedder(model, cluster))
    with open_index(folder) as opened:
        yield opened


def _written(collection: TestCollection) -> Path:
    """The documents as files below the user's cache folder; a file that is there already stays."""
    digest = hashlib.sha256(repr([(one.id, len(one.text)) for one in collection.documents]).encode())
    folder = (
        index_home() / "bench" / f"{file_name(collection.name)[:-3]}-{digest.hexdigest()[:10]}" / "memory"
    )
    folder.mkdir(parents=True, exist_ok=True)
    for one in collection.documents:
        path = folder / file_name(one.id)
        if not path.exists() or path.read_text(encoding="utf-8") != one.text:
            path.write_text(one.text, encoding="utf-8")
    return folder.parent


def ranked(
    collection: TestCollection,
    pipelines: Sequence[Pipeline],
    index: Index,
    limit: int = DEEPEST,
    cluster: Cluster | None = None,
) -> Iterator[RankedRun]:
    """The answers of each system, with up to `limit` documents for each question.

    With `cluster` the questions are asked on its workers; the answers are the same.
    """
    groups = {one.id: one.group for one in collection.documents}
    answer = partial(_answer, _names(collection), groups)
    asking = [pipeline.asking(limit=limit) for pipeline in pipelines]
    if cluster is not None:
        found = answers_of_each(cluster, index, asking, collection.questions, _text_of, answer)
        yield from (RankedRun(one.name, tuple(some)) for one, some in zip(asking, found, strict=True))
        return
    shared = CachedIndex(index)
    for pipeline in asking:
        shared.laid_out(pipeline.layout)  # which may take minutes, and would spoil the time left
    with progress(len(asking) * len(collection.questions), "asking", "questions") as done:
        for pipeline in asking:
            answers = []
            for question in collection.questions:
                answers.append(answer(pipeline, question, shared))
                done()
            yield RankedRun(pipeline.name, tuple(answers))


def _text_of(question: BenchQuestion) -> str:
    return question.text


def _answer(
    names: Mapping[str, str],
    groups: Mapping[str, str],
    pipeline: Pipeline,
    question: BenchQuestion,
    index: Index,
) -> Ranking:
    """The answer of a system to one question; also a task of a cluster."""
    return _ranking(question, search(question.text, pipeline, index), names, groups)


def _names(collection: TestCollection) -> Mapping[str, str]:
    """The document's id by the path of its file; empty for a folder, whose paths are the ids."""
    written = {f"memory/{file_name(one.id)}": one.id for one in collection.documents}
    return written | {f"{one.id}.md": one.id for one in collection.documents}


def _ranking(
    question: BenchQuestion, trace: Trace, names: Mapping[str, str], groups: Mapping[str, str]
) -> Ranking:
    scores: dict[str, float] = {}
    for row in trace.order[trace.dropped[trace.order] == KEPT].tolist():
        id_ = names.get(trace.chunks[row].path, trace.chunks[row].path)
        scores.setdefault(id_, float(trace.scores[row]))
    own = {id_: score for id_, score in scores.items() if groups.get(id_) == question.group}
    return Ranking(question, tuple(scores), _ranks(scores, question.truth), _ranks(own, question.truth))


def _ranks(scores: Mapping[str, float], truth: frozenset[str]) -> tuple[int, ...]:
    """The ranks of the right documents, each behind every wrong one that scores as much."""
    right = sorted((score for id_, score in scores.items() if id_ in truth), reverse=True)
    wrong = [score for id_, score in scores.items() if id_ not in truth]
    return tuple(place + sum(other >= score for other in wrong) for place, score in enumerate(right, 1))


# Saved runs


def save(path: Path, runs: Sequence[RankedRun]) -> None:
    """Writes a line of JSON for each question and system. Raises UnwritableError."""
    lines = [json.dumps(one.as_json(run.system)) for run in runs for one in run.answers]
    try:
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    except OSError as error:
        raise UnwritableError(
            f"{path} cannot be written: {error.strerror}.", "Choose another place."
        ) from None


SavedRecall = Mapping[str, Mapping[str, float]]
"""Evidence recall of each question by its id, for each system by its name."""


def saved(path: Path, k: int = 5) -> SavedRecall:
    """The evidence recall@k of a saved run. Raises InputError for a file of another form."""
    found: dict[str, dict[str, float]] = {}
    for number, line in enumerate(read_input(path, "The saved run", LARGEST_RUN).splitlines(), 1):
        try:
            row = json.loads(line)
            recall = sum(rank <= k for rank in row["ranks"]) / max(1, len(row["truth"]))
            found.setdefault(str(row["system"]), {})[str(row["id"])] = recall
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise InputError(
                f"{path}, line {number} is not a line of a saved run: {error!r}.", "Save one with --save."
            ) from None
    return found


def compared(path: Path, before: SavedRecall, runs: Sequence[RankedRun], k: int = 5) -> dict[str, Paired]:
    """Each system against its saved run in `path`, question by question, by evidence recall@k.

    Raises InputError for a run over other questions, and if no system is in it.
    """
    both = [run for run in runs if run.system in before]
    if not both:
        raise InputError(
            f"{path} has no run of {' or '.join(run.system for run in runs)}.",
            f"It has {', '.join(before) or 'none'}: run one of them with --system.",
        )
    return {run.system: _against(path, run, before[run.system], k) for run in both}


def _against(path: Path, run: RankedRun, before: Mapping[str, float], k: int) -> Paired:
    ids = [one.question.id for one in run.answers]
    if set(ids) != set(before):
        raise InputError(
            f"{path} has other questions for {run.system} than this run.", "Compare runs of one collection."
        )
    return run.compared_with(np.array([before[id_] for id_ in ids]), k)
