"""Documents that a run should have returned: where they are lost, and where they stand in our legs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from workbench.contracts import Index
from workbench.errors import InputError
from workbench.lab.cached_index import CachedIndex
from workbench.lab.exchange.runs import Run
from workbench.lab.exchange.truth import Truth, match
from workbench.retrieval.explain import Explanation, Fate, explain
from workbench.retrieval.legs import Standing
from workbench.retrieval.pipeline import Pipeline, search


@dataclass(frozen=True)
class Ours:
    """What happens to the same document in one of our pipelines, on the same memory."""

    fate: str
    position: int | None
    legs: tuple[Standing, ...]


@dataclass(frozen=True)
class MissingDocument:
    """A document that answers a question and is not among its results.

    `position` is its place in the run if the limit cuts it off. `instead` is the first of the answer.
    """

    question: str
    text: str
    document: str
    position: int | None
    instead: str | None
    ours: Ours | None = None


class MissingDocuments(list[MissingDocument]):
    """The missing documents of one run, in the order of the questions."""

    def __init__(self, run: str, missing: Any = (), system: str = "") -> None:
        super().__init__(missing)
        self.run = run
        self.system = system

    def as_json(self) -> list[dict[str, Any]]:
        """One object a document; `ours` is null without a memory."""
        return [{**vars(one), "ours": _ours_data(one.ours)} for one in self]


def _ours_data(ours: Ours | None) -> dict[str, Any] | None:
    if ours is None:
        return None
    legs = {one.leg: {"rank": one.rank, "of": one.matched, "depth": one.depth} for one in ours.legs}
    return {"fate": ours.fate, "position": ours.position, "legs": legs}


def missing_documents(
    run: Run,
    truth: Truth,
    limit: int | None = None,
    index: Index | None = None,
    pipeline: Pipeline | None = None,
) -> MissingDocuments:
    """The right documents that a run does not return among its first `limit` results.

    With an index and a pipeline, each one is looked up there, too: its rank in every leg, and its fate. This
    needs the text of the questions. Raises InputError if it is not known.
    """
    cached = CachedIndex(index) if index is not None else None
    found = _missing(run, truth, limit, cached, pipeline)
    return MissingDocuments(run.name, found, pipeline.name if pipeline and index else "")


def _missing(
    run: Run, truth: Truth, limit: int | None, index: CachedIndex | None, pipeline: Pipeline | None
) -> Iterator[MissingDocument]:
    matched = match(run, truth)
    for question in truth.questions:
        own = matched.of(question)
        every = run.returned(own)
        text = truth.texts.get(question) or run.texts.get(own, "")
        for document in truth.right(question):
            if document in every[:limit]:
                continue
            position = every.index(document) + 1 if document in every else None
            ours = _ours(text, document, index, pipeline, question) if index and pipeline else None
            yield MissingDocument(
                question, text or question, document, position, every[0] if every else None, ours
            )


def _ours(text: str, document: str, index: CachedIndex, pipeline: Pipeline, question: str) -> Ours:
    if not text:
        raise InputError(
            f"The text of the question {question} is not known, so it cannot be asked here.",
            "Give --questions FILE or --topics FILE, or a run of JSON lines with the questions.",
        )
    told: Explanation = explain(search(text, pipeline, index), index, document)
    if told.fate is Fate.NEVER_INDEXED:
        return Ours(told.fate.value, None, ())
    best = told.verdicts[0]
    return Ours(told.fate.value, best.candidate.position if best.candidate else None, best.standings)
