"""Our own pipelines as runs, so that they stand in one table with the runs of other engines."""

from __future__ import annotations

from collections.abc import Mapping

from workbench.contracts import Index
from workbench.lab.cached_index import CachedIndex
from workbench.lab.exchange.runs import Collector, Run
from workbench.progress import progress_bar
from workbench.records import Trace
from workbench.retrieval.pipeline import Pipeline, search


def run_of(pipeline: Pipeline, questions: Mapping[str, str], index: Index) -> Run:
    """What a pipeline returns for questions by id: each file once, with the score of its best chunk.

    The sub-scores are the columns `<leg>_score` of that chunk.
    """
    index = index if isinstance(index, CachedIndex) else CachedIndex(index)
    collected = Collector(pipeline.name)
    for id_, text in progress_bar(questions.items(), desc="asking", unit="question"):
        collected.question(id_, text)
        _add(collected, id_, search(text, pipeline, index))
    return collected.run()


def _add(collected: Collector, question: str, trace: Trace) -> None:
    seen: set[str] = set()
    for found in trace.results:
        if found.chunk.path in seen:
            continue
        seen.add(found.chunk.path)
        parts = {
            name.removesuffix("_score"): value
            for name, value in found.numbers.items()
            if name.endswith("_score") and name.removesuffix("_score") in trace.legs and value == value
        }
        collected.add(question, found.chunk.path, found.score, rank=len(seen), parts=parts)
