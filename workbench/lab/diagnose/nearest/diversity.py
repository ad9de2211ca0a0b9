"""With which parameters MMR brings a file to its goal: many values at once, without a search for each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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

MOST_NUMBERS = 4_000_000
"""Texts and lengths whose product is larger are not compared at once."""
SLACK = 1e-9
"""More than what rounding can do to a value of MMR."""

Similar = Callable[[int, Rows], Floats]
"""How similar one candidate is to all of them in each of some cases: shape (cases, candidates)."""


class _Contest(NamedTuple):
    """What decides about the goal: the trace before the stage, and `mine`, the candidates of the file.

    MMR reorders each of `groups`. A later stage may put some blocks of candidates ahead of others: `block` is
    the block of each, and `left` the number of places that the limit leaves to each block. `kept` says who
    reaches the limit at all.
    """

    stage: MMR
    trace: Trace
    groups: Sequence[Rows]
    block: Rows
    left: Rows
    kept: NDArray[np.bool_]
    mine: NDArray[np.bool_]
    goal: Goal


def lengths_that_reach(place: int, trace: Trace, goal: Goal, context: Context) -> list[int] | None:
    """Each length of text, from 0 to the longest, at which the goal is reached; longer ones change nothing.

    `place` is that of MMR in the stages. None if this cannot be told: for another similarity than that of
    MMR, for candidates that a later stage drops by their places, and for very many long texts.
    """
    contest = _contest(place, trace, goal, context)
    if contest is None or type(contest.stage).tokens not in (MMR.tokens, UnspacedMMR.tokens):
        return None
    if len(trace.chunks) * max(2 * len(one.text) for one in trace.chunks) > MOST_NUMBERS:
        return None
    longest = max(len(one.text.encode("utf-16-le", "surrogatepass")) // 2 for one in trace.chunks)

    def similar(rows: Rows) -> Similar:
        texts = [trace.chunks[row].text for row in rows]
        return Beginnings(texts, isinstance(contest.stage, UnspacedMMR)).similarities

    weights = np.full(longest + 1, contest.stage.relevance_weight)
    return np.flatnonzero(_reached(contest, weights, similar)).tolist()


def weights_that_reach(
    weights: Sequence[float], place: int, trace: Trace, goal: Goal, context: Context
) -> list[bool] | None:
    """Whether the goal is reached with each of these relevance weights; None if this cannot be told."""
    contest = _contest(place, trace, goal, context)
    if contest is None:
        return None

    def similar(rows: Rows) -> Similar:
        alike = contest.stage.similarity(contest.trace, rows, context.index)
        return lambda one, _: alike[one, None]

    return [bool(one) for one in _reached(contest, np.array(weights, float), similar)]


def _contest(place: int, trace: Trace, goal: Goal, context: Context) -> _Contest | None:
    """What the stages after MMR make of the candidates; None if they drop some by their places.

    These stages run on two orders, one the reverse of the other. Candidates that stand in both behind the
    same others are in a later block than these.
    """
    stage, (*earlier, limit) = trace.stages[place], trace.stages
    if not (isinstance(stage, MMR) and isinstance(limit, Limit) and trace.chunks):
        return None
    if any(isinstance(one, Limit) for one in earlier) or type(stage).similarities is not MMR.similarities:
        return None
    now = before(trace, place)
    groups = stage.groups(now)
    ordered = np.concatenate(groups)
    ends = [_ended(trace, place, order, context) for order in (ordered, ordered[::-1])]
    if not np.array_equal(ends[0].dropped, ends[1].dropped):
        return None
    kept = ends[0].dropped == KEPT
    one, other = (end.order[kept[end.order]] for end in ends)
    block = np.zeros(kept.size, np.int64)
    block[one] = len(groups) * _blocks(one, other)
    for number, group in enumerate(groups):
        block[group] += number
    sizes = np.bincount(block[kept], minlength=int(block.max()) + 1)
    count = 1 if goal.aim is Aim.FIRST else int(limit.count)
    left = np.maximum(0, count - (sizes.cumsum() - sizes))
    mine = np.array([chunk.path == goal.path for chunk in trace.chunks]) & kept
    return _Contest(stage, now, groups, block, left, kept, mine, goal)


def _ended(trace: Trace, place: int, order: Rows, context: Context) -> Trace:
    """The trace before the limit, if MMR puts the candidates in this order."""
    return run(before(trace, place + 1).but(order=order), context, place + 1, len(trace.stages) - 1)


def _blocks(one: Rows, other: Rows) -> Rows:
    """The block of each place of `one`: a new one begins where both orders have had the same candidates."""
    if not one.size:
        return one
    seen = np.argsort(other)[np.searchsorted(np.sort(other), one)]
    whole = np.maximum.accumulate(seen) == np.arange(one.size)
    return np.concatenate([[0], np.cumsum(whole[:-1])])


def _reached(contest: _Contest, weights: Floats, similar: Callable[[Rows], Similar]) -> NDArray[np.bool_]:
    """Whether the goal is reached in each case: with each weight, and what `similar` says of the case."""
    inside = np.zeros(weights.size, bool)
    scores = contest.stage.scores(contest.trace)
    for group in contest.groups:
        if contest.mine[group].any():
            ordered = group[np.argsort(-scores[group], kind="stable")]
            inside |= _enters(contest, ordered, relevances(scores[ordered]), weights, similar)
    return ~inside if contest.goal.aim is Aim.OUT else inside


def _enters(
    contest: _Contest, group: Rows, relevance: Floats, weights: Floats, similar: Callable[[Rows], Similar]
) -> NDArray[np.bool_]:
    """Whether a candidate of the file in this group gets a place, in each case."""
    weights = np.clip(weights, 0.0, 1.0)
    block, kept, mine = contest.block[group], contest.kept[group], contest.mine[group]
    wanted = np.isin(np.arange(contest.left.size), block[mine])
    left = np.where(wanted, contest.left, 0)
    if (wanted & (left >= np.bincount(block[kept], minlength=left.size))).any():
        return np.ones(weights.size, bool)  # There is a place for each.
    if not left.any():
        return np.zeros(weights.size, bool)
    # Until a block is full, one of its first is left. Who cannot have a larger value is not picked before.
    last = min(relevance[kept & (block == one)][left[one] - 1] for one in np.flatnonzero(left))
    least = weights.min()
    near = np.flatnonzero(least * relevance >= least * last - (1 - least) - SLACK)
    block = np.where(kept, block, left.size)[near]
    return _picked(relevance[near], weights, similar(group[near]), block, np.append(left, 0), mine[near])


def _picked(
    relevance: Floats, weights: Floats, similar: Similar, block: Rows, left: Rows, mine: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Whether one of `mine` is among the first `left` of its block that `pick` picks, in each case."""
    values = np.asarray(mmr_score(relevance, 0.0, weights[:, None]))
    taken = np.zeros((weights.size, left.size), np.int64)
    found, undecided = np.zeros(weights.size, bool), np.arange(weights.size)
    while undecided.size:
        best = values.argmax(axis=1)
        for one in np.unique(best).tolist():
            where = np.flatnonzero(best == one)
            cases = undecided[where]
            after = mmr_score(relevance, similar(one, cases), weights[cases, None])
            after[:, one] = -np.inf
            values[where] = np.minimum(values[where], after)
        every, of = np.arange(undecided.size), block[best]
        inside = taken[every, of] < left[of]
        taken[every, of] += inside
        found[undecided] = inside & mine[best]
        more = ~found[undecided] & (taken < left).any(axis=1)
        undecided, values, taken = undecided[more], values[more], taken[more]
    return found
