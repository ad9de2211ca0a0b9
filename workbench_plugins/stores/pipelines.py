"""Hybrid searches on servers: the SQL that people copy, LangChain's PGVectorStore, and Milvus's own rankers.

Both of PostgreSQL's make the keyword query with plainto_tsquery, which joins all words with AND. Then a
question in a sentence has a dead keyword leg: the bug of openclaw#16021 in another engine.

The normalisation of Milvus's WeightedRanker was measured in milvus-lite 3.2.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from workbench.contracts import Context, Index
from workbench.errors import InputError
from workbench.memory.index import MemoryIndex
from workbench.memory.store.contract import IndexStore
from workbench.records import Clause, Floats, Hits, Query, Rows, Trace
from workbench.retrieval.columns import ColumnStage, Numbers, PlainStage, Stages
from workbench.retrieval.cutoff import Limit, Order
from workbench.retrieval.fusion import RankSum, reciprocal_rank
from workbench.retrieval.index_adapters import IndexAdapter, innermost, memoized
from workbench.retrieval.legs import FixedDepth, FixedKeywordLeg, Union, VectorLeg
from workbench.retrieval.pipeline import Pipeline
from workbench.retrieval.query import UNICODE_WORDS, UnicodeWords, with_query
from workbench.retrieval.scoring import Cosine
from workbench.systems.history import History
from workbench_plugins.engines.fusions import MinMax, WeightedScores
from workbench_plugins.engines.presets import ENGINES
from workbench_plugins.stores.tsquery import quoted, tsquery

if TYPE_CHECKING:
    from workbench_plugins.stores.postgres import PostgresTexts

LEGS = ("vector", "keyword")
TWENTY = FixedDepth(cap=20)
FOUR = FixedDepth(cap=4)


def store_on(index: Index, engine: str, product: str, address: str, description: str) -> IndexStore:
    """The store of an index in one engine. Raises InputError for an index that is elsewhere."""
    inner = innermost(index)
    if isinstance(inner, MemoryIndex) and inner.store.name.startswith(f"{engine}://"):
        return inner.store
    raise InputError(
        f"The index {index.name} is not in {product}, so it cannot be laid out as: {description}.",
        f"Index the memory there: workbench index FOLDER --store {address}. "
        "Then search with --memory and that address.",
    )


@dataclass(frozen=True)
class TextRank(ColumnStage, slot="keyword_score", scale="ts_rank_cd", present="keyword_rank"):
    """The keyword score is the number of PostgreSQL's ranking function."""

    description: ClassVar[str] = "keyword score = the number of the ranking function"

    def formula(self, of: Numbers) -> Any:
        return of["keyword_relevance"]


@dataclass(frozen=True)
class SharedRanks(PlainStage, slot="shared_ranks"):
    """Ranks as SQL's RANK() counts them: hits with equal numbers share a rank."""

    description: ClassVar[str] = "rank = 1 + how many hits of the leg are better; equal hits share a rank"

    def reads(self) -> tuple[str, ...]:
        return tuple(f"{leg}_relevance" for leg in LEGS)

    def writes(self) -> tuple[str, ...]:
        return tuple(f"{leg}_shared_rank" for leg in LEGS)

    def run(self, trace: Trace, context: Context) -> Trace:
        ranks = {f"{leg}_shared_rank": _shared(trace.columns[f"{leg}_relevance"]) for leg in LEGS}
        return replace(trace, columns={**trace.columns, **ranks})


def _shared(relevance: Floats) -> Floats:
    better = (relevance[None, :] > relevance[:, None]).sum(axis=1)
    return np.where(np.isnan(relevance), np.nan, 1.0 + better)


@dataclass(frozen=True)
class TiedRankSum(RankSum):
    """Reciprocal rank fusion over the ranks of `SharedRanks`."""

    def part(self, of: Numbers, leg: str) -> Any:
        rank = of[f"{leg}_shared_rank"]
        return reciprocal_rank(rank, self.weight(of, leg), of.constant(self.k))


@dataclass(frozen=True)
class FarthestFirstRankSum(RankSum):
    """Reciprocal rank fusion that sorts the vector leg's distances in descending order.

    The farthest of the leg's hits gets rank 0 and the largest part.
    """

    first: int = 0

    @property
    def description(self) -> str:
        return f"{super().description}; the vector leg's ranks begin with the farthest hit"

    def part(self, of: Numbers, leg: str) -> Any:
        rank = of[f"{leg}_rank"]
        turned = of.greatest("vector_rank") + 1 - rank if leg == "vector" else rank
        return reciprocal_rank(turned - 1, self.weight(of, leg), of.constant(self.k))


def text_table(
    index: Index, description: str, keys: Sequence[str], texts: Sequence[str], config: str
) -> PostgresTexts:
    """A full-text table on the server of an index. Raises InputError for an index without a server."""
    found = store_on(index, "postgresql", "PostgreSQL", "postgresql://HOST/DATABASE", description)
    from workbench_plugins.stores import postgres  # the systems can be listed without psycopg

    assert isinstance(found, postgres.PostgresStore)
    return postgres.PostgresTexts(found.address, keys, texts, config)


class TextIndex(IndexAdapter):
    """An index with the keyword leg of a full-text table; `rows` are the index's rows, by text.

    A query with an expression goes to `function`. A single clause is asked by an explanation, to see whether
    a chunk has it. A word that the engine never searches for, such as a stop word, keeps no chunk out.
    """

    def __init__(self, inner: Index, table: PostgresTexts, rows: Rows, function: str, rank: str) -> None:
        super().__init__(inner)
        self.table, self.rows, self.function, self.rank = table, rows, function, rank

    def keyword(self, query: Query, limit: int) -> Hits:
        if query.expression is not None:
            return self._at_rows(self.table.search(self.function, query.expression, self.rank, limit))
        written = tsquery(replace(query, operator="OR"))
        if not self.table.read_as("to_tsquery", written):
            every = self.rows[:limit]
            return Hits(every, np.zeros(every.size), larger_is_better=True, number=self.rank)
        return self._at_rows(self.table.search("to_tsquery", written, self.rank, limit))

    def _at_rows(self, hits: Hits) -> Hits:
        return Hits(self.rows[hits.rows], hits.raw, hits.larger_is_better, hits.number)

    def compiled(self, query: Query) -> str:
        """The call with its text, and the query that the server makes of it."""
        if query.expression is None:
            return tsquery(replace(query, operator="OR"))
        read = self.table.read_as(self.function, query.expression)
        return (
            f"{self.function}({quoted(query.expression)}) = {read or 'an empty query, which matches nothing'}"
        )


@dataclass(frozen=True)
class TextLayout:
    """Chunks in a tsvector of a text search configuration, asked through one of PostgreSQL's functions."""

    function: str = "plainto_tsquery"
    rank: str = "ts_rank_cd"
    server: ClassVar[bool] = True
    config: str = "english"

    @property
    def description(self) -> str:
        return f"chunks as to_tsvector('{self.config}'), asked with {self.function}, ranked by {self.rank}"

    def of(self, index: Index) -> Index:
        """The index with its chunks in that table, made once for each generation."""
        key = TextLayout, self.config

        def build() -> tuple[PostgresTexts, Rows]:
            rows = np.concatenate([*map(index.rows_of, index.paths()), np.empty(0, np.int64)])
            chunks = index.chunks(rows)
            keys, texts = [one.id for one in chunks], [one.text for one in chunks]
            return text_table(index, self.description, keys, texts, self.config), rows

        table, rows = memoized(index, key, build)
        return TextIndex(index, table, rows, self.function, self.rank)


@dataclass(frozen=True)
class WholeQuestion(PlainStage, slot="query"):
    """The question as it was typed; PostgreSQL's function makes the query. Its clauses are the words."""

    description: ClassVar[str] = "tsquery = what the function makes of the whole question"

    def run(self, trace: Trace, context: Context) -> Trace:
        words = UNICODE_WORDS.findall(trace.question)
        return with_query(trace, context, Query(tuple(map(Clause, words)), "AND", trace.question))


@dataclass(frozen=True)
class AnyWord(PlainStage, slot="query"):
    """Every word of the question, joined with `|`, for to_tsquery; no query without a word."""

    description: ClassVar[str] = "tsquery = every word of the question, quoted, joined with |"

    def run(self, trace: Trace, context: Context) -> Trace:
        words = UNICODE_WORDS.findall(trace.question)
        text = " | ".join(map(quoted, words))
        query = Query(tuple(map(Clause, words)), "OR", text) if words else None
        return with_query(trace, context, query)


@dataclass(frozen=True)
class TextLeg(FixedKeywordLeg):
    """The chunks that match the tsquery, best rank first; a PostgreSQL rank is not BM25."""

    best_raw: ClassVar[tuple[float, ...]] = (1e12, 1e-12)
    worst_raw: ClassVar[float] = 1e-12
    rank: str = "ts_rank_cd"

    @property
    def description(self) -> str:
        return f"keyword leg: tsvector @@ tsquery, ordered by {self.rank}, {self.depth}"


@dataclass(frozen=True)
class MilvusLayout:
    """The chunks as Milvus's BM25 searches them."""

    server: ClassVar[bool] = True
    description: ClassVar[str] = "chunks in Milvus, analysed and ranked by its BM25 function"

    def of(self, index: Index) -> Index:
        """The index itself. Raises InputError for an index that is not in Milvus."""
        store_on(index, "milvus", "Milvus", "milvus://HOST/NAME", self.description)
        return index


@dataclass(frozen=True)
class MilvusLeg(FixedKeywordLeg):
    """The chunks that Milvus's BM25 finds for the words of the question."""

    @property
    def description(self) -> str:
        return f"keyword leg: Milvus's BM25, {self.depth}"


@dataclass(frozen=True)
class MilvusScore(TextRank, scale="milvus bm25"):
    """The keyword score is Milvus's BM25 number, larger for a better match."""

    description: ClassVar[str] = "keyword score = Milvus's BM25, without a sign"


TOLD = History(__file__)


def _in_postgres(depth: FixedDepth) -> Stages:
    """Both legs at one depth for the whole question."""
    return WholeQuestion() >> TextLeg(depth) >> VectorLeg(depth) >> Union()


PGVECTOR_RRF = Pipeline(
    "pgvector-rrf",
    _in_postgres(TWENTY) >> SharedRanks() >> TiedRankSum(1.0, 1.0) >> Order() >> Limit(5),
    TOLD.release("7e7a851d"),
    layout=TextLayout(),
)
ANY_WORD = TOLD.change("", "or", AnyWord())
LANGCHAIN_SUM = Pipeline(
    "langchain-pgvector",
    _in_postgres(FOUR)
    >> TextRank()
    >> Cosine()
    >> WeightedScores(0.5, 0.5, MinMax(), MinMax())
    >> Order()
    >> Limit(4),
    TOLD.release("01db41af"),
    layout=TextLayout(),
)
LANGCHAIN_RRF = Pipeline(
    "langchain-pgvector-rrf",
    _in_postgres(FOUR) >> FarthestFirstRankSum(1.0, 1.0) >> Order() >> Limit(4),
    TOLD.release("01db41af", "farthest-first"),
    layout=TextLayout(),
)
MILVUS_RRF = Pipeline(
    "milvus-rrf",
    UnicodeWords("OR")
    >> MilvusLeg(TWENTY)
    >> VectorLeg(TWENTY)
    >> Union()
    >> MilvusScore()
    >> Cosine()
    >> RankSum(1.0, 1.0)
    >> Order()
    >> Limit(10),
    TOLD.release("3.0.2"),
    layout=MilvusLayout(),
)

PIPELINES = (
    PGVECTOR_RRF,
    replace(PGVECTOR_RRF.with_changes(ANY_WORD), layout=TextLayout("to_tsquery")),
    LANGCHAIN_SUM,
    LANGCHAIN_RRF,
    MILVUS_RRF,
    replace(MILVUS_RRF.with_stage(ENGINES["milvus-weighted"].fusion), name="milvus-weighted"),
)
