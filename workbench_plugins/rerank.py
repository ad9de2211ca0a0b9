"""Rerankers: the stage that asks one about the best candidates, and the registry behind `--rerank`.

Whatever goes wrong with a reranker, the fused order is kept.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

import numpy as np

from workbench.contracts import Context, Index
from workbench.errors import InputError, ProviderError
from workbench.records import KEPT, Floats, Rows, Trace
from workbench.registry import Registry
from workbench.retrieval.columns import ColumnStage, Numbers
from workbench.retrieval.cutoff import Order
from workbench.retrieval.pipeline import Pipeline

BY_SCORE = Order()


class Reranker(Protocol):
    """Says how well each text answers a question: one number a text, larger is better.

    The numbers need no scale of their own; only their order counts. It may raise a ProviderError: the fused
    order is then kept.
    """

    @property
    def name(self) -> str: ...

    def scores(self, question: str, texts: Sequence[str]) -> Sequence[float]: ...


class RerankerOfIndex(ABC):
    """A reranker that depends on the index that is searched, for example on its model."""

    name: str

    @abstractmethod
    def of(self, index: Index) -> Reranker:
        """The reranker for this index. Raises ProviderError if there is none."""


def checked(reranker: str, scores: Any, count: int) -> Floats:
    """The scores as an array. Raises ProviderError for too few, for NaN, and for what is no number."""
    remedy = "The fused order is kept. Try another reranker, or leave it out."
    try:
        numbers = np.array([float(one) for one in scores])
    except (TypeError, ValueError) as error:
        raise ProviderError(f"The reranker {reranker} gave no numbers: {error}.", remedy) from None
    if numbers.size != count:
        raise ProviderError(f"The reranker {reranker} gave {numbers.size} scores for {count} texts.", remedy)
    bad = [one for one in numbers.tolist() if not math.isfinite(one)]
    if bad:
        raise ProviderError(f"The reranker {reranker} gave {bad[0]} as a score.", remedy)
    return numbers


@dataclass(frozen=True)
class Rerank(
    ColumnStage,
    slot="rerank",
    output="rerank_score",
    scale="the reranker's own",
    observed=("rerank_raw", "fused_place"),
):
    """Asks a reranker about the first `count` candidates; the others come after them in their fused order.

    `fused` is the order of the system without the reranker. Put `reranked_order()` after this stage. If the
    reranker fails, the fused order is kept, and the trace says why.
    """

    ranges: ClassVar[Mapping[str, tuple[float, float]]] = {"count": (1, 1000)}
    reranker: Reranker | RerankerOfIndex
    count: int = 20
    fused: Order = BY_SCORE

    @property
    def description(self) -> str:
        return f"rerank score: {self.reranker.name} reads the question with each of the first {self.count}"

    def reads(self) -> tuple[str, ...]:
        return (self.fused.by,)

    def may_read(self) -> tuple[str, ...]:
        return self.fused.ties

    def observe(self, trace: Trace, context: Context) -> Mapping[str, Floats]:
        ranks = fused_ranks(trace, self.fused)
        first = np.argsort(np.where(trace.dropped == KEPT, ranks, np.inf), kind="stable")
        asked = first[: min(self.count, int((trace.dropped == KEPT).sum()))]
        raw = np.full(trace.rows.size, np.nan)
        raw[asked] = self._scores(trace, context, asked)
        return {"rerank_raw": raw, "fused_place": ranks}

    def texts(self, trace: Trace, context: Context, asked: Rows) -> list[str]:
        """What the reranker reads of each of these candidates."""
        return [trace.chunks[row].text for row in asked.tolist()]

    def _scores(self, trace: Trace, context: Context, asked: Rows) -> Floats:
        if not asked.size:
            return np.empty(0)
        texts = self.texts(trace, context, asked)
        found = self.reranker
        reranker = found.of(context.index) if isinstance(found, RerankerOfIndex) else found
        return checked(reranker.name, reranker.scores(trace.question, texts), len(texts))

    def run(self, trace: Trace, context: Context) -> Trace:
        try:
            return super().run(trace, context)
        except ProviderError as error:
            return self._without(trace, error)

    def _without(self, trace: Trace, error: ProviderError) -> Trace:
        absent = np.full(trace.rows.size, np.nan)
        columns = {
            "rerank_raw": absent,
            "fused_place": fused_ranks(trace, self.fused),
            "rerank_score": absent,
        }
        note = f"Not reranked, the fused order is kept: {error.problem}"
        return replace(trace, columns={**trace.columns, **columns}, notes=(*trace.notes, note))

    def formula(self, of: Numbers) -> Any:
        return of["rerank_raw"] + 0.0


def fused_ranks(trace: Trace, order: Order = BY_SCORE) -> Floats:
    """Each candidate's place in the fused order, from 1."""
    ranks = np.empty(trace.rows.size)
    ranks[order.rows(trace)] = np.arange(1.0, trace.rows.size + 1)
    return ranks


def reranked_order() -> Order:
    """The order by the reranker's score; candidates that it has not read follow in their fused order."""
    return Order(ties=("fused_place",), by="rerank_score")


@dataclass(frozen=True)
class RerankerKind:
    """A kind of reranker: `form` is how a person types it, and `make` takes what comes after `NAME:`."""

    name: str
    form: str
    make: Callable[[str], Reranker | RerankerOfIndex]


RERANKERS = Registry[RerankerKind]("reranker", lambda thing: isinstance(thing, RerankerKind))


def reranker_named(text: str) -> Reranker | RerankerOfIndex:
    """The reranker that this text describes, such as `late` or `cross-encoder:FOLDER`.

    Raises InputError for a text of another form.
    """
    kind, colon, rest = text.strip().partition(":")
    known = RERANKERS.get(kind)
    if known is None or not (bool(colon) == bool(rest) == (":" in known.form)):
        forms = " or ".join(one.form for one in RERANKERS.values())
        raise InputError(
            f"{kind!r} names no reranker, or lacks what comes after it.", f"Give {forms or 'none'}."
        )
    return known.make(rest)


def has_reranker(pipeline: Pipeline, reranker: Reranker | RerankerOfIndex) -> bool:
    """Whether the pipeline asks this reranker already."""
    return any(isinstance(one, Rerank) and one.reranker == reranker for one in pipeline.stages)


RERANKED = "+rerank"
"""The end of the name of a system with a reranker."""


def with_reranker(pipeline: Pipeline, reranker: Reranker | RerankerOfIndex) -> Pipeline:
    """The pipeline, with the best 20 candidates in the order of a reranker; its floor stays on its own score.

    `rerank.count` is how many are read. Raises InputError for a pipeline that reranks already.
    """
    order = pipeline["order"]
    if not isinstance(order, Order) or any(isinstance(stage, Rerank) for stage in pipeline.stages):
        raise InputError(
            f"{pipeline.name} has a reranker or an order of its own.",
            "Choose a system without a reranker, or leave out --rerank.",
        )
    stage = Rerank(reranker, fused=order)
    reranked = pipeline.with_new_stage(stage, before=order.slot).with_stage(reranked_order())
    return replace(reranked, name=f"{pipeline.name}{RERANKED}")
