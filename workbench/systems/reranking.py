"""Any system with a reranker, as a person types one: `cross-encoder:NAME`, `cohere:MODEL@URL`, `late`."""

from __future__ import annotations

import os
from dataclasses import replace

from workbench.errors import InputError
from workbench.memory.embedding.cross_encoder import LocalCrossEncoder
from workbench.memory.embedding.providers.reranking import KEY, JudgeReranker, RemoteReranker, Service
from workbench.retrieval.cutoff import Order
from workbench.retrieval.pipeline import Pipeline
from workbench.retrieval.rerank.late import LateOfIndex
from workbench.retrieval.rerank.stage import Rerank, Reranker, RerankerOfIndex, reranked_order

FORMS = (
    "Give cross-encoder:FOLDER_OR_NAME, cohere:MODEL@URL, judge:MODEL@URL or late. "
    f"The key of a URL is read from {KEY}."
)
AFTER_ANOTHER = "Choose a system without a reranker, or leave out --rerank."


def reranker_named(text: str) -> Reranker | RerankerOfIndex:
    """The reranker that this text describes. Raises InputError for a text of another form.

    >>> reranker_named("late").name
    'late interaction'
    """
    kind, _, rest = text.strip().partition(":")
    if kind == "late" and not rest:
        return LateOfIndex()
    if kind == "cross-encoder" and rest:
        return LocalCrossEncoder(rest)
    if kind in ("cohere", "judge") and rest:
        service = _service(rest)
        return RemoteReranker(service) if kind == "cohere" else JudgeReranker(service)
    raise InputError(f"{kind!r} names no reranker, or lacks what comes after it.", FORMS)


def _service(text: str) -> Service:
    model, at, address = text.partition("@http")
    if not at or not model:
        raise InputError("The reranker lacks its model or its address.", FORMS)
    return Service(f"http{address}", model, os.environ.get(KEY, ""))


def with_reranker(pipeline: Pipeline, reranker: Reranker | RerankerOfIndex) -> Pipeline:
    """The pipeline, with the best 20 candidates in the order of a reranker; its floor stays on its own score.

    `rerank.count` is how many are read. Raises InputError for a pipeline that reranks already.
    """
    order = pipeline["order"]
    if not isinstance(order, Order) or any(isinstance(stage, Rerank) for stage in pipeline.stages):
        raise InputError(f"{pipeline.name} has a reranker or an order of its own.", AFTER_ANOTHER)
    stage = Rerank(reranker, fused=order)
    reranked = pipeline.with_new_stage(stage, before=order.slot).with_stage(reranked_order())
    return replace(reranked, name=f"{pipeline.name}+rerank")
