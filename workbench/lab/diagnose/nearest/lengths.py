"""The lengths of text with which MMR brings a file to its goal, all of them, without running each."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.contracts import Context
from workbench.lab.diagnose.nearest.beginnings import Beginnings
from workbench.lab.diagnose.runs import Aim, Goal
from workbench.records import KEPT, Floats, Rows, Trace
from workbench.retrieval.cutoff import Limit
from workbench.retrieval.pipeline import before, run
from workbench.systems.openclaw.diversity import MMR, UnspacedMMR, mmr_score, relevances

MOST_NUMBERS = 20_000_000
"""Texts and lengths whose product is larger are not compared at once."""
SLACK = 1e-9
"""More than what rounding can do to a value of MMR."""


class _Room(NamedTuple):
    """Which candidates a limit keeps, told from the places that MMR gives them.

    A later stage may put some blocks of candidates ahead of others. `block` is the block of each, `left` the
    number of places that the limit leaves to each block, and `kept` says who reaches the limit at all.
    """

    block: Rows
    left: Rows
    kept: NDArray[np.bool_]


def lengths_that_reach(place: int, trace: Trace, goal: Goal, context: Context) -> list[int] | None:
    """Each length of text, from 0 to the longest, at which the goal is reached; longer ones change nothing.

    `place` is that of MMR in the stages. None if this cannot be told: for another similarity than that of
    MMR, for candidates that a later stage drops by their places, and for very many long texts.
    """
    stage = trace.stages[place]
    if not (isinstance(stage, MMR) and type(stage).similarities is MMR.similarities):
        return None
    if type(stage).tokens not in (MMR.tokens, UnspacedMMR.tokens):
        return None
    if len(trace.chunks) * max((2 * len(one.text) for one in trace.chunks), default=0) > MOST_NUMBERS:
        return None
    now = before(trace, place)
    groups = stage.groups(now)
    room = _room(trace, place, groups, goal, context)
    if room is None:
        return None
    mine = np.array([chunk.path == goal.path for chunk in trace.chunks]) & room.kept
    longest = max(len(one.text.encode("utf-16-le", "surrogatepass")) // 2 for one in trace.chunks)
    inside = np.zeros(longest + 1, bool)
    scores = stage.scores(now)
    for group in groups:
        if mine[group].any():
            ordered = group[np.argsort(-scores[group], kind="stable")]
            inside |= _enters(stage, trace, ordered, scores[ordered], room, mine, longest)
    return np.flatnonzero(inside if goal.aim is not Aim.OUT else ~inside).tolist()


def _room(trace: Trace, place: int, groups: list[Rows], goal: Goal, context: Context) -> _Room | None:
    """What the stages after MMR make of the candidates; None if they drop some by their places.

    The stages run on two orders, one the reverse of the other. Candidates that stand in both behind the same
    others are in a later block than these.
    """
    limit = next((at for at, one in enumerate(trace.stages) if isinstance(one, Limit) and at > place), None)
    if limit is None or not all(isinstance(one, Limit) for one in trace.stages[limit:]):
        return None
    ordered = np.concatenate(groups)
    ends = [_ended(trace, place, limit, order, context) for order in (ordered, ordered[::-1])]
    if not np.array_equal(ends[0].dropped, ends[1].dropped):
        return None
    kept = ends[0].dropped == KEPT
    one, other = (end.order[kept[end.order]] for end in ends)
    block = np.zeros(len(trace.chunks), np.int64)
    block[one] = _blocks(one, other)
    group = np.empty_like(block)
    for number, some in enumerate(groups):
        group[some] = number
    block = block * len(groups) + group
    stage = trace.stages[limit]
    count = 1 if goal.aim is Aim.FIRST else int(stage.count) if isinstance(stage, Limit) else 0
    sizes = np.bincount(block[kept], minlength=int(block.max(initial=0)) + 1)
    return _Room(block, np.maximum(0, count - (sizes.cumsum() - sizes)), kept)


def _ended(trace: Trace, place: int, limit: int, order: Rows, context: Context) -> Trace:
    """The trace before the limit, if MMR puts the candidates in this order."""
    return run(before(trace, place + 1).but(order=order), context, place + 1, limit)


def _blocks(one: Rows, other: Rows) -> Rows:
    """The block of each place of `one`: a new one begins where both orders have had the same candidates."""
    seen = np.argsort(other)[np.searchsorted(np.sort(other), one)] if one.size else one
    begins = np.maximum.accumulate(seen) == np.arange(one.size)
    return np.concatenate([[0], np.cumsum(begins[:-1])]) if one.size else one


def _enters(
    stage: MMR, trace: Trace, group: Rows, scores: Floats, room: _Room, mine: NDArray[np.bool_], longest: int
) -> NDArray[np.bool_]:
    """Whether a candidate of `mine` in this group gets a place, for each length up to the longest."""
    weight, relevance = min(1.0, max(0.0, stage.relevance_weight)), relevances(scores)
    block, kept, target = room.block[group], room.kept[group], mine[group]
    wanted = np.isin(np.arange(room.left.size), block[target])
    left = np.where(wanted, room.left, 0)
    if (wanted & (left >= np.bincount(block[kept], minlength=left.size))).any():
        return np.ones(longest + 1, bool)  # There is a place for each.
    if not left.any():
        return np.zeros(longest + 1, bool)
    # Until a block is full, one of its first is left. Who cannot have a larger value is not picked before.
    last = min(relevance[kept & (block == one)][left[one] - 1] for one in np.flatnonzero(left))
    near = np.flatnonzero(weight * relevance >= weight * last - (1 - weight) - SLACK)
    texts = Beginnings([trace.chunks[row].text for row in group[near]], isinstance(stage, UnspacedMMR))
    places = np.where(kept, block, left.size)[near]
    return _picked(relevance[near], weight, texts, places, np.append(left, 0), target[near], longest)


def _picked(
    relevance: Floats,
    weight: float,
    texts: Beginnings,
    block: Rows,
    left: Rows,
    mine: NDArray[np.bool_],
    longest: int,
) -> NDArray[np.bool_]:
    """Whether one of `mine` is among the first `left` of its block that `pick` picks, for each length."""
    values = np.tile(np.asarray(mmr_score(relevance, 0.0, weight)), (longest + 1, 1))
    taken = np.zeros((longest + 1, left.size), np.int64)
    found, undecided = np.zeros(longest + 1, bool), np.arange(longest + 1)
    while undecided.size:
        best = values.argmax(axis=1)
        for one in np.unique(best).tolist():
            where = np.flatnonzero(best == one)
            after = mmr_score(relevance, texts.similarities(one, undecided[where]), weight)
            after[:, one] = -np.inf
            values[where] = np.minimum(values[where], after)
        every, of = np.arange(undecided.size), block[best]
        inside = taken[every, of] < left[of]
        taken[every, of] += inside
        found[undecided] = inside & mine[best]
        more = ~found[undecided] & (taken < left).any(axis=1)
        undecided, values, taken = undecided[more], values[more], taken[more]
    return found
