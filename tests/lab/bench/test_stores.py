"""The 57 questions in every store: ranks differ only where a reason was found by trying it out.

The sample memory is in a real PostgreSQL and in Milvus Lite, with the vectors of its SQLite index.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import cast

import pytest

import workbench as wb
from benchmarks.stores import FUNCTION, UNEXPLAINED, VECTORS, WORDS, compare_stores, script
from tests import milvus as in_milvus
from tests import postgres as in_postgres
from tests.commands import runner
from tests.conftest import SAMPLE
from tests.home import Home
from tests.stored_embedder import StoredEmbedder
from workbench.contracts import Index
from workbench.measure.questions import Question, QuestionSet
from workbench.memory.index import MemoryIndex
from workbench.memory.options import Options
from workbench.memory.sync import index_folder
from workbench.records import Hits, Query, Vector
from workbench.retrieval.index_adapters import IndexAdapter
from workbench.retrieval.pipeline import Pipeline
from workbench.retrieval.settings import with_settings

SYSTEMS = [wb.system(name) for name in ("openclaw-2026.2.13", "openclaw-2026.2.13+or+rrf+minmax")]


@pytest.fixture(scope="module")
def opened(
    sample: MemoryIndex, postgres: str, milvus: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[list[tuple[str, Index]]]:
    """The sample memory in each store; the second PostgreSQL finds the vectors itself, in 32 bits."""
    fresh = in_postgres.fresh_schema(postgres), in_milvus.fresh_name(milvus)
    with ExitStack() as stack:
        found: list[tuple[str, Index]] = [("sqlite", sample)]
        for name, address in zip(("postgresql", "milvus"), fresh, strict=True):
            with in_milvus.locks_in(tmp_path_factory.mktemp("cache")):
                index_folder(SAMPLE, StoredEmbedder(sample), options=Options(store=address))
            found.append((name, stack.enter_context(wb.open(address, StoredEmbedder(sample)))))
        in_milvus.written_out(cast(MemoryIndex, found[-1][1]))
        yield found


def test_ranks_of_the_57_questions_differ_only_where_a_reason_was_found(
    opened: list[tuple[str, Index]], questions: QuestionSet
) -> None:
    assert len(questions.questions) == 57
    found = compare_stores(opened, SYSTEMS, questions)
    assert found.unexplained == []
    assert {one.store for one in found.scores} == {"sqlite", "postgresql", "milvus"}
    for one in found.scores:
        other = [two for two in found.differing if (two.store, two.system) == (one.store, one.system)]
        assert one.same == 57 - len(other)
        assert all(two.reasons for two in other)
    kinds = {(one.store, why.kind) for one in found.differing for why in one.reasons}
    assert ("postgresql", FUNCTION) in kinds, "ts_rank_cd is not BM25"
    assert ("postgresql", WORDS) in kinds, "its parser keeps words with hyphens together"
    assert ("milvus", FUNCTION) in kinds
    assert VECTORS not in {kind for _, kind in kinds}, "every store scans the same vectors"


class ReversedWords(IndexAdapter):
    """A store whose keyword leg gives its hits in the reverse order, under the same name."""

    def keyword(self, query: Query, limit: int) -> Hits:
        found = super().keyword(query, limit)
        return Hits(found.rows[::-1], found.raw, found.larger_is_better, found.number)


class ReversedVectors(IndexAdapter):
    """A store that finds other distances."""

    def vector(self, query: Vector, limit: int) -> Hits:
        found = super().vector(query, limit)
        return Hits(found.rows[::-1], found.raw[::-1])


ASKED = QuestionSet(questions=(Question(question="the hub of the bike", target="memory/bike.md"),))
BY_KEYWORD = with_settings(SYSTEMS[1], ["fusion.vector=0", "fusion.keyword=1"])


@pytest.mark.parametrize(
    ("store", "system", "reason"),
    [(ReversedWords, BY_KEYWORD, UNEXPLAINED), (ReversedVectors, SYSTEMS[1], VECTORS)],
    ids=["the same words and function", "other distances"],
)
def test_a_rank_that_differs_has_a_reason_or_is_unexplained(
    store: type[IndexAdapter], system: Pipeline, reason: str, toy: MemoryIndex
) -> None:
    found = compare_stores([("one", toy), ("two", store(toy))], [system], ASKED)
    assert [why.kind for one in found.differing for why in one.reasons] == [reason]
    assert (found.unexplained != []) is (reason == UNEXPLAINED)


def test_the_command_needs_a_store(
    home: Home, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    refused = runner(monkeypatch, capsys, script)(home.root)
    assert refused.code == 2
    assert "--store postgresql://" in refused.err
