"""Run any system on LoCoMo: recall@5, recall@10 and MRR, overall and by category.

AutoMem and Basic Memory run as in their own benchmarks: AutoMem searches the turns of one conversation, Basic
Memory searches sessions as notes. Any other system searches sessions as files, cut by OpenClaw's chunker.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.published import automem as bench_automem
from benchmarks.published import basic_memory as bench_basic_memory
from benchmarks.published.basic_memory import answers_to_sessions, session_index
from benchmarks.published.figures import Figures, figures
from workbench.contracts import Index
from workbench.measure.measures import Judged
from workbench.memory.embedding.local import Embedder, LocalEmbedder, Truncated
from workbench.memory.sources import LineChunker
from workbench.retrieval.index_adapters import CachedIndex
from workbench.retrieval.pipeline import Pipeline
from workbench_plugins.runs.collections import Locomo, LocomoQuestion
from workbench_plugins.stores.cluster import Cluster, ClusterEmbedder

LIMIT = 10


@dataclass(frozen=True)
class Ranked:
    """One question with the returned ids, best first, and the correct ones."""

    question: LocomoQuestion
    judged: Judged


@dataclass(frozen=True)
class Result:
    """The figures of one system, and other counts of its benchmark by name."""

    system: str
    unit: str
    overall: Figures
    by_category: Mapping[int, Figures]
    counted: Mapping[str, float] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """The figures as a dictionary; category numbers are keys."""
        categories = {str(number): asdict(one) for number, one in self.by_category.items()}
        overall = asdict(self.overall)
        return {"system": self.system, "unit": self.unit} | overall | {
            "by_category": categories, **self.counted
        }  # fmt: skip


def result(
    system: str, unit: str, ranked: Sequence[Ranked], counted: Mapping[str, float] | None = None
) -> Result:
    """The figures of one system's answers, overall and by LoCoMo's category number."""
    numbers = sorted({one.question.category for one in ranked})
    by_category = {
        number: figures([one.judged for one in ranked if one.question.category == number])
        for number in numbers
    }
    return Result(system, unit, figures([one.judged for one in ranked]), by_category, counted or {})


@contextmanager
def sessions_as_files(data: Locomo, cluster: Cluster | None = None) -> Iterator[Index]:
    """LoCoMo's sessions as files, cut by OpenClaw's chunker, the texts truncated after the model's window."""
    with session_index(data, truncating(cluster), chunker=LineChunker()) as index:
        yield index


def truncating(cluster: Cluster | None) -> Embedder:
    """The model of these benchmarks, which reads the first window of a text; on a cluster if there is one."""
    embedder = LocalEmbedder(reading=Truncated())
    return embedder if cluster is None else ClusterEmbedder(embedder, cluster)


class Bench:
    """LoCoMo with its indexes, built when the first system needs them; vectors are cached on disk.

    With `cluster` its workers embed the passages and answer the questions; the results are the same.
    """

    def __init__(self, data: Locomo, path: Path, cluster: Cluster | None = None) -> None:
        self.data = data
        self.path = path
        self.cluster = cluster
        self.embedder = truncating(cluster)

    def run(self, pipelines: Sequence[Pipeline]) -> Iterator[Result]:
        """One result per pipeline, in the given order."""
        with self._notes() as notes, self._files() as files:
            for pipeline in pipelines:
                match pipeline.source.repository:
                    case "verygoodplugins/automem":
                        yield self._turns(pipeline)
                    case "basicmachines-co/basic-memory":
                        yield self._sessions_as_notes(pipeline, notes())
                    case _:
                        yield self._sessions_as_files(pipeline, files())

    def _turns(self, pipeline: Pipeline) -> Result:
        with bench_automem.stored(self.embedder, self.path) as embedder:
            answered = list(bench_automem.answers(self.data, pipeline, embedder, LIMIT, self.cluster))
        judged = [one for one in answered if one.question.turns]
        ranked = [Ranked(one.question, Judged(one.turns, one.question.turns)) for one in judged]
        kept = sum(len(one.turns) for one in judged) / max(1, len(judged))
        counted = {"kept": kept, "floors_fired": sum(one.cut for one in judged)}
        return result(pipeline.name, "turn", ranked, counted)

    def _sessions_as_notes(self, pipeline: Pipeline, index: CachedIndex) -> Result:
        least = pipeline["min_similarity"].least  # type: ignore[attr-defined]
        report = bench_basic_memory.bench(self.data, pipeline, least, index, self.cluster)
        ranked = [Ranked(one.question, one.judged) for one in report.answered]
        counted = {"min_similarity": least, "empty_keyword_legs": report.empty_keyword_legs}
        return result(pipeline.name, "session", ranked, counted)

    def _sessions_as_files(self, pipeline: Pipeline, index: CachedIndex) -> Result:
        asked = pipeline.asking(limit=LIMIT)
        answered = answers_to_sessions(self.data.questions, asked, index, self.cluster)
        ranked = [Ranked(one.question, one.judged) for one in answered]
        empty = sum(one.keyword_empty for one in answered)
        return result(pipeline.name, "session", ranked, {"empty_keyword_legs": empty})

    @contextmanager
    def _notes(self) -> Iterator[Callable[[], CachedIndex]]:
        with _when_needed(lambda: session_index(self.data, self.embedder)) as opened:
            yield opened

    @contextmanager
    def _files(self) -> Iterator[Callable[[], CachedIndex]]:
        with _when_needed(lambda: session_index(self.data, self.embedder, chunker=LineChunker())) as opened:
            yield opened


@contextmanager
def _when_needed(open_: Callable[[], Any]) -> Iterator[Callable[[], CachedIndex]]:
    """A function that opens an index at its first call; the index is closed at the end."""
    with ExitStack() as stack:
        kept: list[CachedIndex] = []

        def opened() -> CachedIndex:
            if not kept:
                kept.append(CachedIndex(stack.enter_context(open_())))
            return kept[0]

        yield opened
