"""What is wrong with a recorded engine's legs, each tried by running the pipeline without it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from workbench.measure.blame import Reruns
from workbench.records import Hits
from workbench.retrieval.legs import legs_of
from workbench_plugins.diagnose.causes import Cause
from workbench_plugins.diagnose.parameters import Goal
from workbench_plugins.engines.lists import ALL, ListIndex, ListLeg
from workbench_plugins.recorder.recording import RecordedIndex, TopK


def causes(index: RecordedIndex, runs: Reruns, goal: Goal) -> Iterator[Cause]:
    """Faults of each leg, then a cut before the fusion. Weights and floors are stages, as of any pipeline."""
    legs = [one for one in legs_of(runs.pipeline.stages) if isinstance(one, ListLeg)]
    for leg in legs:
        yield from _upside_down(index, leg, runs, goal)
        yield from _empty(index, leg, runs, goal)
    yield from _cut_before_fusion(index, legs, runs, goal)


def turned(index: ListIndex, leg: str, question: str, depth: int) -> Hits:
    """The list of a leg from its end, with the opposite direction of its scores."""
    hits = index.listed(leg, question, ALL)
    rows, raw = hits.rows[::-1][:depth], hits.raw[::-1][:depth]
    return replace(hits, rows=rows, raw=raw, larger_is_better=not hits.larger_is_better)


def each_word_alone(index: ListIndex, leg: str, question: str, depth: int) -> Hits:
    """What a leg returns for each word of a question alone, together: by the sum of 1 / rank."""
    sums: dict[int, float] = {}
    for word in dict.fromkeys(question.split()):
        for rank, row in enumerate(index.listed(leg, word, ALL).rows.tolist(), 1):
            sums[row] = sums.get(row, 0.0) + 1 / rank
    chunks = index.chunks(np.array(list(sums), np.int64))
    ids = {row: chunk.id for row, chunk in zip(sums, chunks, strict=True)}
    best = sorted(sums, key=lambda row: (-sums[row], ids[row]))[:depth]
    return Hits(np.array(best, np.int64), np.array([sums[row] for row in best]), True, "sum of 1 / rank")


def _upside_down(index: RecordedIndex, leg: ListLeg, runs: Reruns, goal: Goal) -> Iterator[Cause]:
    if not index.upside_down(leg.name, runs.question):
        return
    hits = index.listed(leg.name, runs.question, ALL)
    better = "larger" if hits.larger_is_better else "smaller"
    fault = f"{leg.name} leg: the list is upside down: it begins with its worst scores"
    evidence = (
        f"the list goes from {hits.raw[0]:.4g} to {hits.raw[-1]:.4g}; a {better} {hits.number} is better"
    )
    cause = Cause((leg.slot,), fault, "turn the order of its list", evidence, verified=False)
    yield _tried(cause, replace(leg, read=turned), runs, goal)


def _empty(index: RecordedIndex, leg: ListLeg, runs: Reruns, goal: Goal) -> Iterator[Cause]:
    """A leg that wants all words at once, or that returns nothing for any of them."""
    wanted, hits = index.rows_of(goal.path), index.listed(leg.name, runs.question, ALL)
    if index.legs[leg.name].again and leg.name != "vector" and not np.isin(wanted, hits.rows).any():
        alone = each_word_alone(index, leg.name, runs.question, ALL)
        if np.isin(wanted, alone.rows).any():
            fault = f"{leg.name} leg: the query wants all words of the question at once (AND)"
            evidence = (
                f"the whole question brings {hits.rows.size} documents, without {goal.path}; its words, each "
                f"alone, bring {alone.rows.size}, with it"
            )
            cause = Cause((leg.slot,), fault, "join the words with OR", evidence, verified=False)
            yield _tried(cause, replace(leg, read=each_word_alone), runs, goal)
            return
    if not hits.rows.size:
        yield Cause(
            (leg.slot,),
            f"{leg.name} leg: it returns nothing",
            "look at its index and at its filter: the recording cannot say which of them it is",
            f"Recorded: no document for {runs.question!r}.",
            verified=False,
        )


def _cut_before_fusion(
    index: RecordedIndex, legs: list[ListLeg], runs: Reruns, goal: Goal
) -> Iterator[Cause]:
    """The leg that needs the fewest more hits to bring a document that no leg brings."""
    wanted = index.rows_of(goal.path)
    if np.isin(wanted, runs.base.rows).any():
        return
    beyond = []
    for leg in legs:
        every = index.listed(leg.name, runs.question, ALL).rows
        for rank in np.flatnonzero(np.isin(every, wanted))[:1] + 1:
            beyond.append((int(rank) - leg.deepest(runs.pipeline.limit), leg.name, int(rank), leg))
    for more, _, rank, leg in sorted(beyond, key=lambda one: one[:2])[:1]:
        fault = f"{leg.name} leg: the list is cut before the fusion"
        evidence = f"the document is at rank {rank} of this leg, which is asked for {rank - more}"
        cause = Cause((leg.slot,), fault, f"ask for {rank}", evidence, verified=False)
        yield _tried(cause, replace(leg, depth=TopK(cap=rank)), runs, goal)


def _tried(cause: Cause, mended: ListLeg, runs: Reruns, goal: Goal) -> Cause:
    """The cause with what comes of it when the mended leg takes the place of the leg."""
    reached = goal.reached(runs.trace(runs.pipeline.with_stage(mended)))
    outcome = "and the file is then" if reached else "but the file is then still not"
    evidence = f"Recorded: {cause.evidence}. Tried: {outcome} {goal.aim}."
    return replace(cause, evidence=evidence, verified=reached)
