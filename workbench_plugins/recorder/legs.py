"""An engine that was recorded, as an index and stages of ours: its legs, their scores, its fusion.

A recorded leg knows what it was asked and what it returned. An engine that is at hand can be asked again, and
deeper; of one whose lists are all that there is, every other rank is unknown.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from typing import Any, ClassVar

import numpy as np

from workbench.contracts import Context, Index
from workbench.errors import InputError
from workbench.records import Chunk, Document, Hits, Leg, Query, Rows, Trace, Vector
from workbench.retrieval.columns import ColumnStage, Numbers, PlainStage, with_column
from workbench.retrieval.index_adapters import innermost
from workbench.retrieval.legs import Depth, LegRank, LegStage, with_leg

Pairs = Iterable[tuple[str, float | None]]
Ask = Callable[[str, int], Pairs]
"""What a leg returns for a question and a depth: ids with scores, best first; None for no score."""

ALL = 1_000_000
"""The depth at which a leg is asked for everything."""


@dataclass(frozen=True)
class TopK(Depth):
    """The number of hits that a leg is asked for, whatever the limit on the results."""

    multiplier: float = field(default=0, repr=False)
    cap: int = 10

    def of(self, limit: float) -> int:
        return self.cap

    def __str__(self) -> str:
        return f"asked for {self.cap}" if self.cap < ALL else "asked for all"


@dataclass(frozen=True)
class Asked:
    """One leg of an engine: how it is asked, how deep, and what its scores are.

    `again` says that `ask` answers any question at any depth; without it, it gives what was recorded.
    `larger_is_better` is the direction of the engine's own scores: False for a distance.
    """

    ask: Ask = field(repr=False)
    depth: Depth = TopK(cap=ALL)
    number: str = "score"
    larger_is_better: bool = True
    again: bool = True


class ForeignIndex(Index):
    """What is known of an engine that was recorded: its legs by name, and texts and fused lists, if any.

    `texts` are all documents by id; without them any id may be in the engine.
    """

    def __init__(
        self, engine: str, legs: Mapping[str, Asked], texts: Mapping[str, str], fused: Mapping[str, Any]
    ) -> None:
        self.engine, self.legs, self.texts, self.fused = engine, legs, texts, fused
        self._ids: list[str] = []
        self._rows: dict[str, int] = {}
        self._answers: dict[tuple[str, str, int], Hits] = {}
        self.rows(sorted(texts))

    def rows(self, ids: Iterable[str]) -> Rows:
        """The rows of these ids; a new id gets the next row."""
        found = []
        for one in ids:
            found.append(self._rows.setdefault(one, len(self._ids)))
            if found[-1] == len(self._ids):
                self._ids.append(one)
        return np.array(found, np.int64)

    @property
    def size(self) -> int:
        return len(self._ids)

    @property
    def name(self) -> str:
        return self.engine

    def listed(self, leg: str, question: str, depth: int) -> Hits:
        """What a leg returns, in its own order; a document that comes twice counts once, at its first place.

        A hit without a score gets 1 / rank. Raises InputError for an answer that is no list of pairs.
        """
        key = leg, question, depth
        if key not in self._answers:
            once: dict[str, float] = {}
            try:
                for id_, score in self.legs[leg].ask(question, depth):
                    once.setdefault(str(id_), math.nan if score is None else float(score))
            except (TypeError, ValueError) as error:
                problem = f"The {leg} leg of {self.engine} does not return (id, score) pairs: {error}."
                raise InputError(problem, "Give pairs, best first, and None for a score.") from error
            ids, raw = list(once)[:depth], np.array(list(once.values())[:depth], float)
            ranked = bool(np.isnan(raw).any())
            raw = 1 / np.arange(1.0, raw.size + 1) if ranked else raw
            number = "no recorded score, 1 / rank" if ranked else f"recorded {self.legs[leg].number}"
            larger = ranked or self.legs[leg].larger_is_better
            self._answers[key] = Hits(self.rows(ids), raw, larger, number)
        return self._answers[key]

    def upside_down(self, leg: str, question: str) -> bool:
        """Whether a leg's list begins with its worst scores."""
        hits = self.listed(leg, question, ALL)
        return hits.rows.size > 1 and bool((np.diff(hits.relevance) >= 0).all() and np.ptp(hits.raw) > 0)

    def chunks(self, rows: Rows) -> Sequence[Chunk]:
        ids = [self._ids[row] for row in rows.tolist()]
        return [Chunk(one, one, self.engine, 1, 1, self.texts.get(one, "")) for one in ids]

    def rows_of(self, path: str) -> Rows:
        return self.rows([path] if path in self._rows or not self.texts else [])

    def paths(self) -> list[str]:
        return sorted(self._ids)

    def documents(self) -> Sequence[Document] | None:
        texts = sorted(self.texts.items())
        return [Document(one, self.engine, text, "", len(text), 0) for one, text in texts] or None

    def embed(self, question: str) -> Vector:
        """A vector of one dimension: the engine embeds, so no stage here compares vectors."""
        return np.ones(1, np.float32)

    def keyword(self, query: Query, limit: int) -> Hits:
        """Always an error: only the engine itself can look up words."""
        raise self._not_ours("looks up words")

    def vector(self, query: Vector, limit: int) -> Hits:
        """Always an error: only the engine itself can compare vectors."""
        raise self._not_ours("compares vectors")

    def _not_ours(self, does: str) -> InputError:
        return InputError(
            f"{self.engine} was recorded, and this system {does} itself.",
            "Use the pipeline of the recording, or one with other settings.",
        )

    def causes(self, runs: Any, goal: Any) -> Iterable[Any]:
        """What is wrong with the legs themselves, as far as it concerns a file that is wanted."""
        from workbench_plugins.recorder.causes import causes

        return causes(self, runs, goal)


def recorded_in(context: Context) -> ForeignIndex:
    """The recorded engine. Raises InputError for another index."""
    index = innermost(context.index)
    if not isinstance(index, ForeignIndex):
        raise InputError(
            f"{index.name} is no recorded engine.", "Search the index of the recording: recording.index"
        )
    return index


@dataclass(frozen=True)
class RecordedLeg(LegStage, slot="keyword_leg", name="keyword", number="recorded score"):
    """What a leg of the engine returned. `turned` and `words_apart` try it in other ways."""

    depth: Depth
    turned: bool = field(default=False, repr=False)
    words_apart: bool = field(default=False, repr=False)

    @property
    def says(self) -> str:
        how = ", turned" * self.turned + ", each word alone" * self.words_apart
        return f"{self.name} leg: as recorded, {self.depth}{how}"

    def deepest(self, limit: float) -> int:
        return self.depth.of(limit)

    def _hits(self, trace: Trace, context: Context, depth: int) -> Hits:
        index = recorded_in(context)
        if self.words_apart:
            return any_word(index, self.name, trace.question, depth)
        if not self.turned:
            return index.listed(self.name, trace.question, depth)
        every = index.listed(self.name, trace.question, ALL)
        raw, larger = every.raw[::-1][:depth], not every.larger_is_better
        return replace(every, rows=every.rows[::-1][:depth], raw=raw, larger_is_better=larger)

    def run(self, trace: Trace, context: Context) -> Trace:
        depth = self.deepest(context.limit)
        hits = self._hits(trace, context, depth)
        leg = Leg(self.name, "recorded", depth, hits, number=hits.number)
        return with_leg(trace, leg)

    def every(self, trace: Trace, context: Context) -> Hits:
        brought = trace.legs[self.name].hits
        every = self._hits(trace, context, ALL)
        beyond = ~np.isin(every.rows, brought.rows)
        rows = np.concatenate([brought.rows, every.rows[beyond]])
        return replace(brought, rows=rows, raw=np.concatenate([brought.raw, every.raw[beyond]]))

    def leg_ranks(self, trace: Trace, context: Context, rows: Rows) -> list[LegRank]:
        known = recorded_in(context).legs[self.name].again
        beyond = "" if known else "; its rank is unknown, since the rest was not recorded"
        return [replace(one, beyond=beyond) for one in super().leg_ranks(trace, context, rows)]


def any_word(index: ForeignIndex, leg: str, question: str, depth: int) -> Hits:
    """What a leg returns for each word of a question alone, together: by the sum of 1 / rank."""
    sums: dict[int, float] = {}
    for word in dict.fromkeys(question.split()):
        for rank, row in enumerate(index.listed(leg, word, ALL).rows.tolist(), 1):
            sums[row] = sums.get(row, 0.0) + 1 / rank
    ids = {row: index.chunks(np.array([row]))[0].id for row in sums}
    best = sorted(sums, key=lambda row: (-sums[row], ids[row]))[:depth]
    return Hits(np.array(best, np.int64), np.array([sums[row] for row in best]), True, "sum of 1 / rank")


@dataclass(frozen=True)
class RecordedScore(ColumnStage, scale="recorded"):
    """The score that a leg gave; a distance counts as `most` minus the distance."""

    leg: ClassVar[str]
    most: float = field(repr=False)

    @property
    def says(self) -> str:
        return f"{self.leg} score = as recorded" + (f", {self.most:g} - distance" if self.most else "")

    def formula(self, of: Numbers) -> Any:
        given = of[f"{self.leg}_raw"]
        return of.constant(self.most) - given if self.most else given


@cache
def leg_kinds(name: str) -> tuple[type[RecordedLeg], type[RecordedScore]]:
    """The stages of a leg of that name."""
    leg = type(f"{name.title()}Leg", (RecordedLeg,), {}, slot=f"{name}_leg", name=name)
    card = {"slot": f"{name}_given", "output": f"{name}_score", "present": f"{name}_rank", "leg": name}
    return leg, type(f"{name.title()}Score", (RecordedScore,), {}, **card)


@cache
def _inferred(kind: Any) -> Any:
    said = property(lambda stage: f"inferred {kind.says.fget(stage)}")
    return type(f"Inferred{kind.__name__}", (kind,), {"says": said}, output="inferred_score")


def inferred(fusion: ColumnStage) -> ColumnStage:
    """The fusion with the column `inferred_score`: each sentence about it says that it is inferred."""
    kind: Any = type(fusion)
    made: ColumnStage = _inferred(kind)(**{one.name: getattr(fusion, one.name) for one in fields(fusion)})
    return made


@dataclass(frozen=True)
class RecordedFusion(PlainStage, slot="fusion"):
    """The fused list as it was recorded, where no known fusion gives it; other scores are unknown."""

    legs: tuple[str, ...]
    says: ClassVar[str] = "recorded score = the score in the fused list, unknown for what is not in it"

    def reads(self) -> tuple[str, ...]:
        return tuple(f"{leg}_rank" for leg in self.legs)

    def writes(self) -> tuple[str, ...]:
        return ("recorded_score",)

    def run(self, trace: Trace, context: Context) -> Trace:
        fused = recorded_in(context).fused.get(trace.question, ())
        return _with_known(trace, "recorded_score", dict(fused))


@dataclass(frozen=True)
class RecordedPlace(PlainStage, slot="recorded_place"):
    """The place of a candidate in the fused list: it orders candidates with equal scores."""

    says: ClassVar[str] = "recorded place = the place in the fused list, if there is one"

    def writes(self) -> tuple[str, ...]:
        return ("recorded_place",)

    def run(self, trace: Trace, context: Context) -> Trace:
        fused = recorded_in(context).fused.get(trace.question, ())
        return _with_known(trace, "recorded_place", {id_: place for place, (id_, _) in enumerate(fused, 1)})


def _with_known(trace: Trace, name: str, known: Mapping[str, float]) -> Trace:
    return with_column(trace, name, np.array([known.get(one.id, math.nan) for one in trace.chunks], float))


def scores_or_ranks(pairs: Pairs) -> list[tuple[str, float]]:
    """The pairs, with 1 / rank where any of them has no score."""
    given = [(str(one), math.nan if score is None else float(score)) for one, score in pairs]
    if any(math.isnan(score) for _, score in given):
        return [(one, 1 / rank) for rank, (one, _) in enumerate(given, 1)]
    return given
