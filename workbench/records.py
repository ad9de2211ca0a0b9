"""Shared data types: frozen values that can be read and shown, and do nothing else."""

from __future__ import annotations

import math
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import pairwise
from textwrap import shorten
from typing import Any, Literal, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from workbench.excerpts import excerpt
from workbench.safe_text import beginning, counted
from workbench.tables import (
    ABSENT,
    Block,
    Column,
    Excerpt,
    Fold,
    Line,
    Note,
    Part,
    Table,
    Types,
    apart,
    frame,
    framed,
    html_of,
    numbers,
    tidy,
)

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
Vector = NDArray[np.float32]

KEPT = -1
"""The value in `Trace.dropped` for a candidate that no stage has dropped."""


@dataclass(frozen=True)
class MadeOtherwise:
    """How an index differs from one that `release` makes, and a command that matches it.

    `memory` and `options` are words of the command: where the memory is, and what else was chosen.
    """

    release: str
    differs: tuple[str, ...]
    memory: tuple[str, ...]
    options: tuple[str, ...] = ()

    def command(self, release: str = "") -> str:
        """The command that makes the index of this release, or of another one of the same folder."""
        words = (*self.memory, "--as", release or self.release, *self.options)
        return shlex.join(["workbench", "index", *words])

    @property
    def note(self) -> Note:
        """The sentence, of which a page folds the reason and the command."""
        remark = f"This index differs from the one that {self.release} makes"
        return Note(remark, f"({', '.join(self.differs)}). To match it: {self.command()}")

    def __str__(self) -> str:
        return " ".join(self.note)


class Shown:
    """A value that shows itself: as HTML in a notebook, and as the text of `workbench.show` elsewhere."""

    __slots__ = ()

    def view(self) -> Sequence[Part]:
        """The parts that are shown, by default the text of the value. Details belong into a `Fold`.

        The first line says the answer, and a few lines show it.
        """
        return [Block(str(self))]

    def page(self) -> Sequence[Part]:
        """The parts that a notebook shows: by default those that are printed."""
        return self.view()

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        from workbench.terminal import text_of  # which loads rich

        return {"text/plain": text_of(self.view()), "text/html": framed(html_of(self.page()))}


class Tabular(Shown):
    """A value that is also a table of pandas; `docs/commands.md` describes the columns of each."""

    __slots__ = ()

    def observations(self) -> Table:
        """The value as a table with one row for each observation, for pandas."""
        raise NotImplementedError

    def to_frame(self) -> Any:
        """The value as a `pandas.DataFrame`. Raises InputError if pandas is not installed."""
        return frame(self.observations())


@dataclass(frozen=True, slots=True)
class Document:
    """A file of the memory as it was read: `path` is relative to the memory, with forward slashes."""

    path: str
    source: str
    text: str
    hash: str
    size: int
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage of a document, cut but not yet stored; lines count from 1 and both ends belong to it."""

    text: str
    start_line: int
    end_line: int
    hash: str


FRONT_MATTER = re.compile(r"\A(?:---\n.*?\n(?:---|\.\.\.)|\+\+\+\n.*?\n\+\+\+)(?:\n|\Z)", re.DOTALL)
"""YAML between lines of three hyphens, or TOML between lines of three plus signs, as Hugo has it."""
SNIPPET = 700


@dataclass(frozen=True, slots=True)
class Chunk:
    """A stored passage. `read_share` is the part of its word pieces that the model has read, 0 to 1."""

    id: str
    path: str
    source: str
    start_line: int
    end_line: int
    text: str = field(repr=False)
    read_share: float = 1.0

    @property
    def location(self) -> str:
        """Where to look: `memory/a.md:3-17`."""
        return f"{self.path}:{self.start_line}-{self.end_line}"

    @property
    def body(self) -> str:
        """The text after its front matter; all of it if there is nothing else."""
        return FRONT_MATTER.sub("", self.text).strip() or self.text

    @property
    def snippet(self) -> str:
        """The first 700 UTF-16 code units of the text, as OpenClaw answers; no surrogate pair is split."""
        return beginning(self.text, SNIPPET)


@dataclass(frozen=True, slots=True)
class Clause:
    """One thing that a query looks for: a word, or a phrase whose words must stand together.

    With `prefix` the last word may be longer. A `bare` clause is sent without quotes, so that the engine
    reads operators in it.
    """

    text: str
    phrase: bool = False
    prefix: bool = False
    bare: bool = False


@dataclass(frozen=True, slots=True)
class Query:
    """What a keyword leg asks for: clauses joined with AND or OR. The index that is asked compiles it.

    A question that is written in an engine's own syntax has no clauses: it is the `expression`.
    """

    clauses: tuple[Clause, ...] = ()
    operator: Literal["AND", "OR"] = "AND"
    expression: str | None = None


@dataclass(frozen=True, slots=True)
class Hits:
    """The answer of an engine, best first: store rows, and the engine's own number for each row.

    `larger_is_better` gives the direction of the raw numbers: False for FTS5's bm25() and for distances.
    `number` names the raw numbers of a full-text search.
    """

    rows: Rows
    raw: Floats
    larger_is_better: bool = False
    number: str = "bm25"

    @property
    def relevance(self) -> Floats:
        """The raw numbers, negated where smaller is better: larger is always better."""
        return self.raw if self.larger_is_better else -self.raw

    def at(self, places: slice | NDArray[Any]) -> Hits:
        """The hits at some places of this answer, in the order of the places: a slice, numbers or a mask."""
        return replace(self, rows=self.rows[places], raw=self.raw[places])


@dataclass(frozen=True, slots=True)
class Leg:
    """What one leg of a search did: what it asked, how many hits it could bring, and the hits it brought.

    `number` names the raw numbers of the hits. `scope` is the filter that was applied to the first `depth`
    chunks, if there is one; the hits are those that it let pass. `unasked` says why the leg asked for
    nothing, if that is not for want of words, and `unrelaxed` why it did not ask again when it found nothing.
    """

    name: str
    asked: str | None
    depth: int
    hits: Hits
    number: str = field(default="bm25", kw_only=True)
    scope: str = field(default="", kw_only=True)
    unasked: str = field(default="", kw_only=True)
    unrelaxed: str = field(default="", kw_only=True)


class Stage(Protocol):
    """A step of a pipeline: a frozen value that fills one slot and describes itself in a sentence."""

    @property
    def slot(self) -> str: ...

    @property
    def description(self) -> str: ...

    @property
    def ranges(self) -> Mapping[str, tuple[float, float]]:
        """The allowed values of parameters by their names, from the least to the greatest."""

    def reads(self) -> tuple[str, ...]:
        """The columns that must exist before this stage runs."""

    def may_read(self) -> tuple[str, ...]:
        """The columns that this stage uses if an earlier stage has written them."""

    def writes(self) -> tuple[str, ...]:
        """The columns that this stage adds. No other stage of the pipeline may write them."""

    def run(self, trace: Trace, context: Any) -> Trace: ...


Kind = TypeVar("Kind")


def first_of(stages: Iterable[Stage], kind: type[Kind]) -> Kind | None:
    """The first stage of a kind; None if there is none."""
    return next((stage for stage in stages if isinstance(stage, kind)), None)


def stage_name(stage: Stage) -> str:
    """The slot of a stage in words."""
    return stage.slot.replace("_", " ")


class DropKind(StrEnum):
    """Why a stage drops a candidate."""

    FLOOR = "floor"
    LEG_FLOOR = "leg floor"
    FILTER = "filter"
    FOLD = "fold"
    LEFT_OUT = "left out"
    LIMIT = "limit"


class Fate(StrEnum):
    """What happened to a chunk, from best to worst."""

    RETURNED = "returned"
    BEYOND_LIMIT = "beyond the limit"
    BELOW_FLOOR = "below the floor"
    BELOW_LEG_FLOOR = "below the floor of its leg"
    FILTERED = "removed by a filter"
    FOLDED = "folded under a better chunk of its file"
    LEFT_OUT = "left out of the list"
    BEYOND_POOL = "beyond the pool"
    NO_MATCH = "listed by no leg"
    NEVER_INDEXED = "not in the index"


FATES = {
    DropKind.LIMIT: Fate.BEYOND_LIMIT,
    DropKind.FLOOR: Fate.BELOW_FLOOR,
    DropKind.LEG_FLOOR: Fate.BELOW_LEG_FLOOR,
    DropKind.FILTER: Fate.FILTERED,
    DropKind.FOLD: Fate.FOLDED,
    DropKind.LEFT_OUT: Fate.LEFT_OUT,
}
"""The fate of a candidate, by the kind of cut that dropped it."""


Value = float | str
"""What a cut-off stage compares: a number, or for a filter the name of a source."""


def reaches(value: Any, limit: Value, at_most: bool = False) -> Any:
    """Whether a value, or each value of an array, is within a limit; an absent value never is.

    A number must be at least `limit`, with `at_most` at most. A name must be one of those in `limit`.
    """
    if isinstance(limit, str):
        return np.isin(value, limit.split(", "))
    return value <= limit if at_most else value >= limit


@dataclass(frozen=True, slots=True)
class Compared:
    """One candidate's value beside the limit of a threshold."""

    measure: str
    value: Value
    limit: Value
    at_most: bool = False

    @property
    def reached(self) -> bool:
        """Whether the value is within the limit; an absent value never is."""
        return bool(reaches(self.value, self.limit, self.at_most))

    @property
    def shown(self) -> str:
        """The value, with as many decimals as tell it from its limit; `none` for an absent one."""
        value, limit = self.value, self.limit
        if isinstance(value, str) or isinstance(limit, str):
            return str(value)
        if math.isnan(value):
            return "none"
        return f"{value:g}" if self.at_most else apart(value, limit)[0]

    def __str__(self) -> str:
        """The value beside its limit: `score 0.349 < 0.350`, with as many decimals as tell them apart."""
        value, limit = self.value, self.limit
        if isinstance(value, str) or isinstance(limit, str):
            return f"{self.measure} {self.shown} is {'one' if self.reached else 'none'} of {limit}"
        if math.isnan(value):
            return f"it has no {self.measure}"
        if self.at_most:
            return f"{self.measure} {self.shown} {'≤' if self.reached else '>'} {limit:g}"
        return f"{self.measure} {self.shown} {'≥' if self.reached else '<'} {apart(value, limit)[1]}"


@dataclass(frozen=True, slots=True)
class Threshold:
    """One threshold of a cut-off stage: a measure, the value of each candidate, and the limit.

    A candidate passes with a value of at least `limit`; with `at_most`, with a value of at most `limit`. A
    filter passes the values that `limit` names.
    """

    measure: str
    values: NDArray[Any]
    limit: Value
    at_most: bool = False

    @property
    def passing(self) -> NDArray[np.bool_]:
        """The candidates that pass, in the shape of the values; an absent value never does."""
        return np.asarray(reaches(self.values, self.limit, self.at_most), bool)

    def compared(self, row: int) -> Compared:
        """The value of the candidate in this row beside the limit."""
        return Compared(self.measure, self.values[row].item(), self.limit, self.at_most)


@dataclass(frozen=True, slots=True)
class Cutoff:
    """What a cut-off stage decided: the kind of cut, and what it compared.

    A candidate passes when one of the thresholds lets it pass. `applied` marks the candidates that were
    still in when the stage ran.
    """

    kind: DropKind
    thresholds: tuple[Threshold, ...]
    applied: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Drop:
    """Why a candidate is not in the answer: the stage that dropped it, the kind of cut, what it missed."""

    stage: Stage
    kind: DropKind
    misses: tuple[Compared, ...]

    def as_json(self) -> dict[str, Any]:
        """The stage, the kind, and what was missed; `value` and `limit` are those of the first threshold."""
        misses = [
            {"measure": one.measure, "value": _finite(one.value), "limit": _finite(one.limit)}
            for one in self.misses
        ]
        first = {"value": misses[0]["value"], "limit": misses[0]["limit"]}
        return {"stage": self.stage.slot, "kind": self.kind.value, **first, "missed": misses}


def _finite(value: Value) -> Value | None:
    return value if isinstance(value, str) or math.isfinite(value) else None


@dataclass(frozen=True, slots=True)
class Candidate:
    """One row of a trace: a chunk, its numbers by column name, its position in the order, and its fate.

    `position` counts from 1 over all candidates. `drop` is None for a result. `ranked_by` names the column
    that the candidates are ranked by.
    """

    chunk: Chunk
    numbers: Mapping[str, float]
    position: int
    drop: Drop | None
    ranked_by: str = "score"

    @property
    def score(self) -> float:
        """The number that the candidate is ranked by."""
        return self.numbers[self.ranked_by]

    @property
    def dropped_by(self) -> Stage | None:
        """The stage that dropped the candidate; None for a result."""
        return self.drop.stage if self.drop else None

    @property
    def fate(self) -> Fate:
        """What happened to the candidate: it was returned, or dropped by a cut of some kind."""
        return Fate.RETURNED if self.drop is None else FATES[self.drop.kind]

    @property
    def reason(self) -> str:
        """Why the candidate was dropped, in words: the thresholds that it missed, and the stage."""
        if self.drop is None:
            return "returned"
        missed = " and ".join(map(str, self.drop.misses))
        return f"{missed}, so the {stage_name(self.drop.stage)} drops it"

    def as_json(self) -> dict[str, Any]:
        """The path and lines, the numbers (null if absent), and the stage that dropped the candidate."""
        chunk = self.chunk
        return {
            "id": chunk.id, "path": chunk.path, "start_line": chunk.start_line, "end_line": chunk.end_line,
            "position": self.position,
            **{name: _finite(value) for name, value in self.numbers.items()},
            "dropped_by": self.dropped_by.description if self.dropped_by else None,
            "dropped": self.drop.as_json() if self.drop else None,
            "snippet": chunk.snippet,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Moment:
    """The state of a trace after one of its stages."""

    columns: Mapping[str, Floats]
    dropped: NDArray[np.int64]
    order: NDArray[np.int64]
    ranked_by: str
    scales: Mapping[str, str]
    names: Mapping[str, str]
    notes: tuple[str, ...]

    @classmethod
    def of(cls, trace: Trace) -> Moment:
        """The present state of a trace."""
        fields = (trace.columns, trace.dropped, trace.order, trace.ranked_by)
        return cls(*fields, trace.scales, trace.names, trace.notes)


CANDIDATES: Types = {
    "question": "str", "system": "str", "position": "int64", "path": "str", "start_line": "int64",
    "end_line": "int64", "source": "str", "chunk_id": "str", "fate": "str", "returned": "bool",
    "dropped_by": "str", "reason": "str", "read_share": "float64", "text": "str",
}  # fmt: skip
"""The columns of a trace's table of pandas, before those of its numbers."""

BEGINNING = 24
"""The number of characters of a chunk that a table of candidates shows."""

MOST_ON_PAGE = 48
"""The number of candidates that the details of a trace list; `to_frame()` has all."""

KEYWORD = "keyword"
"""The name of the leg that asks the query of a trace."""


@dataclass(frozen=True, repr=False)
class Trace(Tabular):
    """What one search did, in columns: row i of every column belongs to `chunks[i]`.

    `columns` hold float64 with NaN for absent: for each leg `<leg>_raw` as the engine gave it, `<leg>_rank`
    from 1 and `<leg>_relevance` with larger better, then what the stages computed. `scales` says what the
    numbers of a column mean, and `names` what a person reads in place of a column's own name. `dropped` holds
    the index of the stage that dropped the row, or KEPT, and `cutoffs` what each cut-off stage compared, by
    the index of the stage. `order` lists rows best first, ranked by the column `ranked_by`. `moments` holds
    the state after each stage that ran. `read_as` is the question with misspelt words corrected, and empty
    where the stages read the question itself. `layout` is the layout of the index that was searched, and
    `caution` says if it is not made as the system's release makes one, and `unknown_ids` if another engine
    answered and none of its ids names a file of the index. `searched` is the name of the index below all
    adapters and the generation in which it was searched; None for a trace that `search` did not make.
    """

    question: str
    system: str
    stages: tuple[Stage, ...]
    query: Query | None = None
    match: str | None = None
    legs: Mapping[str, Leg] = field(default_factory=dict)
    chunks: tuple[Chunk, ...] = ()
    rows: Rows = field(default_factory=lambda: np.empty(0, np.int64))
    columns: Mapping[str, Floats] = field(default_factory=dict)
    scales: Mapping[str, str] = field(default_factory=dict)
    dropped: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    cutoffs: Mapping[int, Cutoff] = field(default_factory=dict)
    order: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    ranked_by: str = "score"
    notes: tuple[str, ...] = ()
    layout: Any = None
    moments: tuple[Moment, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    caution: MadeOtherwise | None = None
    unknown_ids: str = ""
    read_as: str = ""
    searched: tuple[str, int] | None = field(default=None, compare=False)

    def __repr__(self) -> str:
        """One line; `workbench.show` prints all, and a notebook shows all."""
        returned = int(np.sum(self.dropped == KEPT))
        of = f"{returned} of {counted(len(self.chunks), 'candidate')} returned"
        return f"<Trace: {self.question!r}, {self.system}, {of}>"

    def with_changes(self, **changed: Any) -> Trace:
        """This trace with some fields changed, as by `dataclasses.replace`, in a fifth of the time."""
        if not changed.keys() <= self.__dict__.keys():
            raise TypeError(f"A trace has no {', '.join(sorted(changed.keys() - self.__dict__.keys()))}.")
        # All of `__dict__` is copied. A cached property would be copied too, so a trace has none.
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__, **changed)
        return other

    @property
    def text(self) -> str:
        """The question as the stages read it."""
        return self.read_as or self.question

    @property
    def scores(self) -> Floats:
        """The column that the candidates are ranked by."""
        return self.columns[self.ranked_by]

    @property
    def ids(self) -> NDArray[Any]:
        """The ids of the candidates."""
        return np.array([chunk.id for chunk in self.chunks], np.str_)

    def stage_number(self, stage: Stage) -> int:
        """The index of a stage."""
        # Most often it is this very stage, and comparing stages takes longer than looking for it.
        same = (number for number, one in enumerate(self.stages) if one is stage)
        number = next(same, None)
        return self.stages.index(stage) if number is None else number

    def candidate(self, row: int) -> Candidate:
        """The candidate in row `row` of the columns."""
        position = int(np.flatnonzero(self.order == row)[0]) + 1
        return self._candidate(row, position)

    def _candidate(self, row: int, position: int) -> Candidate:
        numbers = {name: float(column[row]) for name, column in self.columns.items()}
        return Candidate(self.chunks[row], numbers, position, self.drop(row), self.ranked_by)

    def drop(self, row: int) -> Drop | None:
        """Why the candidate in this row was dropped; None for a result."""
        number = int(self.dropped[row])
        if number == KEPT:
            return None
        cut = self.cutoffs[number]
        return Drop(self.stages[number], cut.kind, tuple(one.compared(row) for one in cut.thresholds))

    @property
    def candidates(self) -> list[Candidate]:
        """Every candidate in order, dropped ones included."""
        return [self._candidate(int(row), position) for position, row in enumerate(self.order, 1)]

    @property
    def results(self) -> list[Candidate]:
        """The candidates that no stage dropped, best first: the answer."""
        positions = enumerate(self.order.tolist(), 1)
        return [self._candidate(row, position) for position, row in positions if self.dropped[row] == KEPT]

    def paths(self) -> list[str]:
        """The files of the results, each once, in the order of their best chunk."""
        rows = self.order[self.dropped[self.order] == KEPT]
        return list(dict.fromkeys(self.chunks[row].path for row in rows))

    @property
    def indexed_otherwise(self) -> str | None:
        """The sentence of `caution`; None without one."""
        return None if self.caution is None else str(self.caution)

    @property
    def cautions(self) -> list[Part]:
        """What limits the whole answer, if anything: a line each, above everything else."""
        unknown = [Line(self.unknown_ids)] if self.unknown_ids else []
        return [*unknown, *([self.caution.note] if self.caution else [])]

    @property
    def headline(self) -> str:
        """The answer in one line: how many results, or why there is none."""
        if not self.chunks:
            return "Nothing found: no leg brought a candidate."
        if results := len(self.results):
            of = counted(len(self.chunks), "candidate")
            return f"{counted(results, 'result')} of {of}, by {self.system}"
        best = self.candidates[0]
        return f"Nothing returned. The first in order was {best.chunk.location}: {best.reason}."

    def view(self) -> list[Part]:
        """The answer as a search engine gives it, what was dropped, and folded the numbers of everything."""
        parts: list[Part] = [*self.cautions, Line(self.headline, "bold"), *self.notes]
        for rank, found in enumerate(self.results, 1):
            parts += self._result_parts(rank, found)
        parts += [line for line in (self.reordered_line, self.empty_legs, self.dropped_line) if line]
        folds: list[Part] = [Fold("The numbers of the results", self._numbers())]
        every = self.candidates
        if len(self.results) < len(every):
            some = f"The first {MOST_ON_PAGE} of" if len(every) > MOST_ON_PAGE else "All"
            table = self.candidates_table(every[:MOST_ON_PAGE], fates=True)
            folds.append(Fold(f"{some} {len(every)} candidates and their fates", [table]))
        return [*parts, *folds]

    def _result_parts(self, rank: int, found: Candidate) -> list[Part]:
        """A result: its rank, its score, where it is, below which heading, and two lines of its text."""
        above, text = excerpt(found.chunk.body, self.text, indent=4)
        head = f"{rank:>2}  {found.score:.3f}  {found.chunk.location}"
        marks = [(head.index(found.chunk.location), len(head))]
        return [Excerpt(f"{head}  {above}".rstrip(), marks, lines=1, whole=len(head)), text]

    @property
    def reordered_line(self) -> str:
        """Which stage moved the results last, if they are not in the order of their scores; else empty."""
        scores = [one.score for one in self.results]
        if not any(one < other for one, other in pairwise(scores)):
            return ""
        kept = np.flatnonzero(self.dropped == KEPT)
        orders = [one.order[np.isin(one.order, kept)] for one in self.moments]
        moved = [
            stage.description
            for stage, (before, after) in zip(self.stages[1:], pairwise(orders), strict=False)
            if not np.array_equal(before, after)
        ]
        stages = f" The last stage that moved them: {moved[-1]}." if moved else ""
        return f"These results are not in the order of their scores.{stages}"

    @property
    def empty_legs(self) -> str:
        """Which legs brought nothing, and what their queries ask for. Empty if each brought something."""
        return " ".join(self.empty_leg(leg) for leg in self.legs.values() if not leg.hits.rows.size)

    def words_in_one_chunk(self, leg: Leg) -> int:
        """How many words the query of a leg wants in one chunk; 0 unless it joins two or more with AND."""
        if leg.name != KEYWORD or self.query is None or self.query.operator != "AND":
            return 0
        words = len(dict.fromkeys(self.query.clauses))
        return words if words > 1 else 0

    def empty_leg(self, leg: Leg) -> str:
        """A sentence for a leg that brought nothing, with what its query asks for."""
        if leg.unasked:
            return f"The {leg.name} leg was not asked: {leg.unasked}."
        if leg.asked is None:
            return f"The {leg.name} leg is empty: the question has no word that it can search."
        if leg.scope:
            return f"The {leg.name} leg is empty: none of the first {leg.depth} chunks is in {leg.scope}."
        if words := self.words_in_one_chunk(leg):
            again = f", and {leg.unrelaxed}" if leg.unrelaxed else ""
            return f"The {leg.name} leg is empty: its query asks for all {words} words in one chunk{again}."
        return f"The {leg.name} leg is empty."

    @property
    def dropped_line(self) -> str:
        """How many candidates each stage dropped, and by what rule; empty if none was dropped."""
        counts = Counter(self.stages[number].description for number in sorted(self.dropped) if number != KEPT)
        parts = []
        for description, count in counts.items():
            name, _, rule = description.partition(": ")
            parts.append(f"{count} by the {name} ({rule})" if rule else f"{count} by the {name}")
        dropped = f"Dropped: {', '.join(parts)}." if parts else ""
        return " ".join(one for one in (dropped, self._brought_back) if one)

    @property
    def _brought_back(self) -> str:
        """How many results a stage had dropped before a later one brought them back; empty for none."""
        was = [one.dropped for one in self.moments if one.dropped.size]
        kept = self.dropped == KEPT
        back = sum((one != KEPT) & kept for one in was) if was else np.zeros(0)
        count = int(np.count_nonzero(back))
        return f"Brought back after they were dropped: {count}." if count else ""

    def numbers(self) -> list[Part]:
        """The queries, a table of the results with the number of each leg, and what was dropped.

        Where the score has parts that are not the legs' own numbers, another table has those.
        """
        return [*self.cautions, *self._numbers()]

    def _numbers(self) -> list[Part]:
        parts: list[Part] = [*map(Line, self.asked_lines())]
        if self.results:
            parts.append(self.candidates_table(self.results))
        if self.results and self._named_parts:
            parts += ["", "The parts of the score", self._parts_table(self.results), ""]
        return [*parts, *self.outcome_lines()]

    def asked_lines(self) -> list[str]:
        """The system, one line per leg with its query and its number of hits, and the notes."""
        lines = [self.system]
        for leg in self.legs.values():
            why = leg.unasked or "the question has no word that this leg can search"
            asked = leg.asked or f"no query, since {why}"
            of = f"in {leg.scope} of the first {leg.depth}" if leg.scope else f"of at most {leg.depth}"
            lines.append(f"{leg.name} leg: {asked} → {leg.hits.rows.size} {of}")
        return [*lines, *self.notes]

    def candidates_table(self, candidates: Sequence[Candidate], fates: bool = False) -> Table:
        """One line per candidate: its scores, its rank in each leg, its path and lines, and how it begins.

        The first column numbers the lines. With `fates`, also what dropped a candidate.
        """
        patterns = self._number_patterns()
        rows = [
            (
                str(rank),
                *(_number(found.numbers[name], pattern) for name, pattern in patterns.items()),
                found.chunk.location,
                shorten(found.chunk.body, BEGINNING, placeholder="…"),
                *((found.reason,) if fates else ()),
            )
            for rank, found in enumerate(candidates, 1)
        ]
        # The beginning is the only column that gives way where the page is narrow.
        texts = [Column("chunk", "whole"), Column("text", "beginning")]
        texts += [Column("fate")] if fates else []
        return Table("", [*numbers("#", *map(self._head, patterns)), *texts], rows)

    def _parts_table(self, candidates: Sequence[Candidate]) -> Table:
        """One line per candidate: its score, and the parts that have names of their own."""
        shown = [self.ranked_by, *self._named_parts]
        rows = [
            (str(rank), *(_number(found.numbers[name], ".3f") for name in shown), found.chunk.location)
            for rank, found in enumerate(candidates, 1)
        ]
        return Table("", [*numbers("#", *map(self._head, shown)), Column("chunk", "whole")], rows)

    @property
    def _named_parts(self) -> list[str]:
        """The columns of scores that have names of their own: they are not the numbers of the legs."""
        return [name for name in self.columns if name.endswith("_score") and name in self.names]

    def _number_patterns(self) -> dict[str, str]:
        """The columns that a table of candidates shows, with the pattern of each."""
        shown = {self.ranked_by: ".3f", "score": ".3f"}
        for leg in sorted(self.legs, key=lambda name: name != "vector"):
            shown |= {self._ranked_number(leg): ".3f", f"{leg}_rank": ".0f"}
        return {name: pattern for name, pattern in shown.items() if name in self.columns}

    def _ranked_number(self, leg: str) -> str:
        """The column that the ranks of a leg are the ranks of: its score, unless that has another name."""
        if f"{leg}_score" not in self.names:
            return f"{leg}_score"
        return f"{leg}_cosine" if f"{leg}_cosine" in self.columns else f"{leg}_relevance"

    def _head(self, column: str) -> str:
        """The head of a column: its name, and under it the scale that the stage which computed it names."""
        leg, _, what = column.rpartition("_")
        if what == "rank":
            named = self._ranked_number(leg) in self.columns  # the number beside it names the leg
            return "\nrank" if named else f"{leg}\nrank"
        if column in self.names:
            first, _, rest = self.names[column].partition(" ")
            return f"{first}\n{rest}"
        name = leg if leg in self.legs else column.replace("_", " ")
        return f"{name}\n{self.scales.get(column, what)}"

    def outcome_lines(self) -> list[str]:
        """How many candidates each stage dropped, in the stages' order, and how near an empty answer came."""
        candidates = self.candidates
        dropped = Counter(
            self.stages[number].description for number in sorted(self.dropped) if number != KEPT
        )
        lines = [f"{count} dropped by the {description}" for description, count in dropped.items()]
        if not candidates:
            return ["Nothing found: no leg brought a candidate."]
        if self.results:
            return lines
        best = candidates[0]
        return ["Nothing returned.", *lines, f"The first in order was {best.chunk.location}: {best.reason}."]

    def observations(self) -> Table:
        """One row for each candidate, in order; `CANDIDATES` are the first columns."""
        rows = []
        for one in self.candidates:
            chunk, drop = one.chunk, one.drop
            head = [self.question, self.system, one.position, chunk.path, chunk.start_line, chunk.end_line]
            fate = [chunk.source, chunk.id, one.fate.value, drop is None]
            why = [drop.stage.slot, one.reason] if drop else [None, None]
            rows.append([*head, *fate, *why, chunk.read_share, chunk.text, *one.numbers.values()])
        return tidy({**CANDIDATES, **dict.fromkeys(self.columns, "float64")}, rows)

    def as_json(self) -> dict[str, Any]:
        """The question, the hits of each leg, the results, and why others were dropped."""
        return {
            "question": self.question, "read_as": self.text, "system": self.system, "match": self.match,
            "indexed_otherwise": self.indexed_otherwise,
            "legs": {
                leg.name: {"asked": leg.asked, "depth": leg.depth, "brought": int(leg.hits.rows.size)}
                for leg in self.legs.values()
            },
            "notes": list(self.notes),
            "results": [{"rank": rank, **one.as_json()} for rank, one in enumerate(self.results, 1)],
            "dropped": [one.as_json() for one in self.candidates if one.dropped_by],
        }  # fmt: skip


def _number(value: float, pattern: str) -> str:
    return ABSENT if value != value else format(value, pattern)
