"""The same questions on the same memory in several stores: what each finds, and why a rank differs.

A reason is not looked up but tried out: the store is asked again with the leg of the first store in place of
its own. A rank is explained if that gives the first store's ranks.

python -m benchmarks.stores FOLDER --store postgresql://USER@HOST/DATABASE
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from workbench.cli import main
from workbench.cli.app import SAMPLE, AsJson, Settings, SystemOptions
from workbench.cli.output import print_output
from workbench.contracts import Index
from workbench.errors import InputError
from workbench.measure.measures import Share
from workbench.measure.paired import HITS, Paired, corrected, paired_values
from workbench.measure.questions import Question, QuestionSet, check_targets, load_questions
from workbench.memory.addresses import server_location
from workbench.memory.index import MemoryIndex
from workbench.memory.opening import open_index
from workbench.memory.options import Options
from workbench.memory.sync import index_folder
from workbench.progress import progress
from workbench.records import Clause, Floats, Hits, Query, Rows, Trace, Vector
from workbench.retrieval.index_adapters import CachedIndex, IndexAdapter
from workbench.retrieval.pipeline import Pipeline, search
from workbench.tables import Part, Table, numbers

script = typer.Typer(
    add_completion=False, rich_markup_mode=None, context_settings={"help_option_names": ["-h", "--help"]}
)

STORED = ("openclaw-2026.2.13", "openclaw-2026.2.13+or+rrf+minmax", "openclaw-2026.2.13-vector-only")
"""The systems that are compared by default: their legs are the store's own."""

WORDS, FUNCTION, VECTORS, UNEXPLAINED = "words", "ranking function", "vectors", "unexplained"


@dataclass(frozen=True)
class Reason:
    """Why a rank differs: its kind, and what was found in this case."""

    kind: str
    text: str


@dataclass(frozen=True)
class OtherRanks:
    """A question that a store answers with other chunks, or with the same in another order."""

    question: str
    system: str
    store: str
    reasons: tuple[Reason, ...]


@dataclass(frozen=True)
class StoreScore:
    """What a system finds in one store; `paired` compares it with the first store."""

    system: str
    store: str
    hits: Share
    same: int
    paired: Paired | None


@dataclass(frozen=True)
class StoreComparison:
    """The figures of each system in each store, and every question with other ranks than in the first."""

    scores: tuple[StoreScore, ...]
    differing: tuple[OtherRanks, ...]

    @property
    def unexplained(self) -> list[OtherRanks]:
        """The questions with other ranks for which no reason was found."""
        return [one for one in self.differing if any(why.kind == UNEXPLAINED for why in one.reasons)]

    def as_json(self) -> dict[str, Any]:
        """The comparison as plain data."""
        return {
            "stores": [
                {
                    "system": one.system, "store": one.store, "hits": one.hits.hits, "n": one.hits.n,
                    "same_ranks": one.same, "paired": one.paired.as_json() if one.paired else None,
                }
                for one in self.scores
            ],
            "differing": [
                {
                    "question": one.question, "system": one.system, "store": one.store,
                    "reasons": [vars(why) for why in one.reasons],
                }
                for one in self.differing
            ],
        }  # fmt: skip


def compare_stores(
    stores: Sequence[tuple[str, Index]], pipelines: Sequence[Pipeline], questions: QuestionSet
) -> StoreComparison:
    """Asks each question in every store, each given with its name, and compares with the first one.

    The stores hold the same memory with the same vectors.
    """
    asked = questions.questions
    files = [one.target for one in asked]
    sides = [_Side(name, CachedIndex(index)) for name, index in stores]
    scores: list[StoreScore] = []
    differing: list[OtherRanks] = []
    with progress(len(pipelines) * len(sides) * len(asked), "asking the stores", "questions") as done:
        for pipeline in pipelines:
            first, found = sides[0], [_answers(side, pipeline, asked, done) for side in sides]
            verdicts = corrected(
                [
                    paired_values(_hits(found[0], asked), _hits(traces, asked), HITS, files)
                    for traces in found[1:]
                ]
            )
            for side, traces, paired in zip(sides, found, [None, *verdicts], strict=True):
                other = [
                    OtherRanks(one.question, pipeline.name, side.name, _reasons(pipeline, one, first, side))
                    for one, here, there in zip(asked, found[0], traces, strict=True)
                    if _ranks(here) != _ranks(there)
                ]
                differing += other
                hits = Share(int(_hits(traces, asked).sum()), len(asked))
                scores.append(StoreScore(pipeline.name, side.name, hits, len(asked) - len(other), paired))
    return StoreComparison(tuple(scores), tuple(differing))


class _Side:
    """A store by its name, with the row of each chunk by its id."""

    def __init__(self, name: str, index: CachedIndex) -> None:
        self.name, self.index = name, index
        rows = [row for path in index.paths() for row in index.rows_of(path).tolist()]
        self.ids = {row: one.id for row, one in zip(rows, index.chunks(_array(rows)), strict=True)}
        self.rows = {id_: row for row, id_ in self.ids.items()}

    def matched(self, query: Query) -> set[str]:
        """The ids of all chunks that match a query."""
        return {self.ids[row] for row in self.index.keyword(query, len(self.ids)).rows.tolist()}


class _Lent(IndexAdapter):
    """A store with legs that another store has answered."""

    def __init__(self, own: _Side, vector_source: _Side, legs: Sequence[str]) -> None:
        super().__init__(own.index)
        self._own, self._vector_source, self._legs = own, vector_source, legs

    def _mine(self, hits: Hits) -> Hits:
        rows = _array([self._own.rows[self._vector_source.ids[row]] for row in hits.rows.tolist()])
        return Hits(rows, hits.raw, hits.larger_is_better, hits.number)

    def keyword(self, query: Query, limit: int) -> Hits:
        if "keyword" not in self._legs:
            return super().keyword(query, limit)
        return self._mine(self._vector_source.index.keyword(query, limit))

    def vector(self, query: Vector, limit: int) -> Hits:
        if "vector" not in self._legs:
            return super().vector(query, limit)
        return self._mine(self._vector_source.index.vector(query, limit))


def _reasons(pipeline: Pipeline, asked: Question, first: _Side, other: _Side) -> tuple[Reason, ...]:
    """The legs that give other ranks, and what differs in them."""
    wanted = _ranks(search(asked.question, pipeline, first.index))
    for legs in (["keyword"], ["vector"], ["keyword", "vector"]):
        lent = search(asked.question, pipeline, _Lent(other, first, legs))
        if _ranks(lent) == wanted:
            here, there = (search(asked.question, pipeline, side.index) for side in (first, other))
            found = [why for leg in legs for why in _LEGS[leg](here, there, first, other)]
            return tuple(found) or (Reason(UNEXPLAINED, f"the {' and '.join(legs)} leg"),)
    return (Reason(UNEXPLAINED, "the same hits give other ranks"),)


def _keyword_reasons(here: Trace, there: Trace, first: _Side, other: _Side) -> list[Reason]:
    found: list[Reason] = []
    query = there.query
    if query is None:
        return found
    if first.matched(query) != other.matched(query):
        clauses = query.clauses or (Clause(query.expression or ""),)
        words = [
            clause.text
            for clause in clauses
            if first.matched(Query((clause,))) != other.matched(Query((clause,)))
        ]
        if words:
            found.append(Reason(WORDS, f"found in other chunks: {', '.join(words)}"))
    functions = here.legs["keyword"].number, there.legs["keyword"].number
    if functions[0] != functions[1]:
        found.append(Reason(FUNCTION, f"{functions[0]} and {functions[1]}"))
    return found


def _vector_reasons(here: Trace, there: Trace, first: _Side, other: _Side) -> list[Reason]:
    ours, theirs = here.legs["vector"].hits, there.legs["vector"].hits
    missing = {first.ids[row] for row in ours.rows.tolist()} - {
        other.ids[row] for row in theirs.rows.tolist()
    }
    if missing:
        return [Reason(VECTORS, f"{len(missing)} of the {ours.rows.size} nearest chunks are not found")]
    if (ours.raw != theirs.raw).any():
        return [Reason(VECTORS, f"distances differ by up to {abs(ours.raw - theirs.raw).max():.1g}")]
    return []


_LEGS: dict[str, Callable[[Trace, Trace, _Side, _Side], list[Reason]]] = {
    "keyword": _keyword_reasons,
    "vector": _vector_reasons,
}


def _answers(
    side: _Side, pipeline: Pipeline, asked: Sequence[Question], done: Callable[[], object]
) -> list[Trace]:
    traces = []
    for one in asked:
        traces.append(search(one.question, pipeline, side.index))
        done()
    return traces


def _ranks(trace: Trace) -> list[str]:
    return [one.chunk.id for one in trace.results]


def _hits(traces: Sequence[Trace], asked: Sequence[Question]) -> Floats:
    return np.array([one.target in trace.paths() for one, trace in zip(asked, traces, strict=True)], float)


def _array(rows: Sequence[int]) -> Rows:
    return np.array(rows, np.int64)


def stores_view(found: StoreComparison) -> list[Part]:
    """One line per system and store, then how often each reason changes ranks, then every such question."""
    rows = [
        (one.system, one.store, f"{one.hits.hits}/{one.hits.n}", f"{one.same}/{one.hits.n}")
        for one in found.scores
    ]
    lines = [f"{one.system}, {one.store}: {one.paired}" for one in found.scores if one.paired]
    kinds = Counter((one.system, one.store, why.kind) for one in found.differing for why in one.reasons)
    counted = [f"{system}, {store}: {kind}: {n}" for (system, store, kind), n in sorted(kinds.items())]
    each = [
        f"{one.store}, {one.question!r}: " + "; ".join(f"{why.kind} ({why.text})" for why in one.reasons)
        for one in found.differing
    ]
    return [
        Table("", ["system", *numbers("store", "hits", "same ranks")], rows),
        "",
        "Compared with the first store:",
        *lines,
        "",
        "Questions with other ranks than in the first store, by reason:",
        *(counted or ["none"]),
        "",
        *each,
    ]


@script.command()
def stores(
    path: Annotated[Path, typer.Argument(readable=False, help="The memory's folder.")] = Path(SAMPLE),
    servers: Annotated[
        list[str] | None,
        typer.Option("--store", help="A store, postgresql://… or milvus://…; can be repeated."),
    ] = None,
    questions: Annotated[
        Path | None,
        typer.Option("--questions", "-q", readable=False, help="A YAML file of labelled questions."),
    ] = None,
    systems: Annotated[
        list[str] | None, typer.Option("--system", "-s", help="A system to run; can be repeated.")
    ] = None,
    settings: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Ask the same questions in SQLite and in other stores: what each finds, and why a rank differs.

    The folder is indexed into each store first. Exit code 1 if a rank differs for no reason that was found.
    """
    if not servers:
        raise InputError("There is no store to compare with.", "Name one or more: --store postgresql://…")
    asked = load_questions(questions or path / "questions.yaml")
    chosen = SystemOptions(settings=settings).pipelines(systems or STORED)
    index_folder(path)
    with ExitStack() as stack:
        opened = [("sqlite", stack.enter_context(open_index(path)))]
        check_targets(asked, opened[0][1].paths())
        for one in servers:
            index_folder(
                path, opened[0][1].embedder, options=Options(store=one)
            )  # every store has the same vectors
            index = stack.enter_context(MemoryIndex.open(server_location(one)))
            name = index.store.name.partition("://")[0]
            taken = sum(known.startswith(name) for known, _ in opened)
            opened.append((f"{name} {taken + 1}" if taken else name, index))
        found = compare_stores(opened, chosen, asked)
    print_output(found.as_json() if as_json else stores_view(found), as_json)
    raise typer.Exit(1 if found.unexplained else 0)


if __name__ == "__main__":
    main(script)
