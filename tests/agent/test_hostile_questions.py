"""Five thousand questions that nobody should ask, through every query builder: not one is an error."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import cache
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import pytest

from workbench.contracts import Index, Layout
from workbench.errors import InputError
from workbench.memory.index import MemoryIndex
from workbench.records import Hits, Query, Rows, Stage, Trace
from workbench.retrieval.index_adapters import IndexAdapter
from workbench.retrieval.legs import Depth, no_hits
from workbench.retrieval.pipeline import Pipeline, Running, search
from workbench.retrieval.query import BLANKS, LONGEST_QUESTION, check_question, unicode_words
from workbench.systems.catalogue import SYSTEMS
from workbench_plugins.basic_memory.query_preparation import Relaxation
from workbench_plugins.openclaw.keyword import ManyQueries, PathIndex

QUESTIONS = 5_000
SHORT = 10_000
DEPTH = 24
SEED = 20260906

JOINS = [" ", " ", " ", "", "\t", "\n", "\u3000", "-", '"', "*", "("]
FILE = Path(__file__).with_name("hostile_pieces.json")
PIECES = [*chain(*json.loads(FILE.read_text(encoding="utf-8")).values())]
"""Words of query languages, words of many languages, marks and controls and halves of pairs, and blanks."""


@cache
def questions() -> tuple[str, ...]:
    """The same on every run: pieces joined in every way, characters from anywhere, three of over 100 KB."""
    chance = random.Random(SEED)

    def anything(count: int) -> str:
        return "".join(chr(chance.randrange(sys.maxunicode + 1)) for _ in range(count))

    def joined() -> str:
        some = [*chance.choices(PIECES, k=chance.randint(1, 5)), anything(chance.choice((0, 0, 9)))]
        return "".join(one + chance.choice(JOINS) for one in some)

    long = ("金银" * 50_000, " ".join(chance.choices(PIECES, k=35_000)), anything(100_000))
    return (*PIECES, *long, *(joined() for _ in range(QUESTIONS - len(PIECES) - len(long))))


# every query builder


class Builder(NamedTuple):
    """What makes a pipeline's MATCH expressions, and the layout that they are put to."""

    layout: Layout | None
    query: Stage
    leg: ManyQueries | None
    relaxation: Relaxation | None

    def queries(self, question: str, index: Index) -> Iterator[Query | None]:
        """Every query that a question becomes, second tries included."""
        trace = self.query.run(Trace(question, "", (self.query,)), Running(index, question, 6))
        yield trace.query
        if self.leg:
            yield from (one.query for one in self.leg.asked(trace, index, DEPTH))
        if self.relaxation:
            yield self.relaxation.query(question)


def builder_of(pipeline: Pipeline) -> Builder:
    stages = {stage.slot: stage for stage in pipeline.stages}
    leg, relaxation = stages.get("keyword_leg"), stages.get("relaxation")
    return Builder(
        pipeline.layout,
        stages["query"],
        replace(leg, depth=Depth()) if isinstance(leg, ManyQueries) else None,
        relaxation if isinstance(relaxation, Relaxation) else None,
    )


ASKING = [one for one in SYSTEMS.values() if any(stage.slot == "query" for stage in one.stages)]
BUILDERS = {builder_of(one): one.name for one in ASKING}
"""Each different one of the registry, and a system that has it."""


def is_short(text: str) -> bool:
    """Whether FTS5 can be asked for all of these words: for 50,000 it takes a minute.

    A question of more words than `check_question` lets pass is therefore built, and not put.
    """
    return len(text) < SHORT or len(unicode_words(text)) <= 2 * LONGEST_QUESTION


class Fruitless(IndexAdapter):
    """An index that sends each query to its table once and finds nothing, so that each second try is made."""

    def __init__(self, inner: Index) -> None:
        super().__init__(inner)
        self.sent: set[Query] = set()

    def keyword(self, query: Query, limit: int) -> Hits:
        if query not in self.sent and is_short(self.inner.compiled(query)):
            self.inner.keyword(query, 1)
        self.sent.add(query)
        return no_hits()


class FruitlessWithPaths(Fruitless, PathIndex):
    """The same for an index that searches paths too."""

    def __init__(self, inner: PathIndex) -> None:
        PathIndex.__init__(self, inner, inner.path_table, inner.tokenizer)
        self.sent, self.sent_to_paths = set(), set()

    def path_hits(self, question: str, limit: int) -> Hits:
        if question not in self.sent_to_paths and is_short(question):
            super().path_hits(question, 1)
        self.sent_to_paths.add(question)
        return no_hits()

    def exact_paths(self, question: str) -> Rows:
        return no_hits().rows


def fruitless(index: Index) -> Fruitless:
    return FruitlessWithPaths(index) if isinstance(index, PathIndex) else Fruitless(index)


@pytest.mark.parametrize("builder", BUILDERS, ids=BUILDERS.values())
def test_no_question_is_an_error(builder: Builder, toy: MemoryIndex) -> None:
    index = fruitless(toy.laid_out(builder.layout))
    assert len(questions()) == QUESTIONS
    for question in questions():
        for query in filter(None, builder.queries(question, index)):
            index.keyword(query, 1)
    assert len(index.sent) > QUESTIONS / 5


# what a person or an agent may send


def test_what_passes_the_check_is_searched_for_by_every_system(toy: MemoryIndex) -> None:
    passing = [question for question in questions()[::151] if passes(question)]
    assert len(passing) > 20
    for pipeline in SYSTEMS.values():
        for question in passing:
            assert search(question, pipeline, toy).question == question.strip(BLANKS)


def passes(question: str) -> bool:
    with suppress(InputError):
        return bool(check_question(question))
    return False
