"""What is wrong with a recorded engine's legs, each tried by running the pipeline without it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from workbench.measure.blame import Reruns
from workbench.retrieval.legs import legs_of
from workbench_plugins.diagnose.causes import Cause
from workbench_plugins.diagnose.parameters import Goal
from workbench_plugins.recorder.legs import ALL, ForeignIndex, RecordedLeg, TopK, any_word


def causes(index: ForeignIndex, runs: Reruns, goal: Goal) -> Iterator[Cause]:
    """Faults of each leg, then a cut before the fusion. Weights and floors are stages, as of any pipeline."""
    legs = [one for one in legs_of(runs.pipeline.stages) if isinstance(one, RecordedLeg)]
    for leg in legs:
        yield from _upside_down(index, leg, runs, goal)
        yield from _empty(index, leg, runs, goal)
    yield from _cut_before_fusion(index, legs, runs, goal)


def _upside_down(index: ForeignIndex, leg: RecordedLeg, runs: Reruns, goal: Goal) -> Iterator[Cause]:
    hits = index.listed(leg.name, runs.question, ALL)
    if index.upside_down(leg.name, runs.question):
        better = "larger" if hits.larger_is_better else "smaller"
        yield _tried(
            replace(leg, turned=True), runs, goal, "the list is upside down: it begins with its worst scores",
            "turn the order of its list",
            f"the list goes from {hits.raw[0]:.4g} to {hits.raw[-1]:.4g}; a {better} {hits.number} is better",
        )  # fmt: skip


def _empty(index: ForeignIndex, leg: RecordedLeg, runs: Reruns, goal: Goal) -> Iterator[Cause]:
    """A leg that wants all words at once, or that returns nothing for any of them."""
    hits, rows = index.listed(leg.name, runs.question, ALL), set(index.rows_of(goal.path).tolist())
    if index.legs[leg.name].again and leg.name != "vector" and not rows & set(hits.rows.tolist()):
        alone = any_word(index, leg.name, runs.question, ALL)
        if rows & set(alone.rows.tolist()):
            told = (
                f"the whole question brings {hits.rows.size} documents, without {goal.path}; its words, each "
                f"alone, bring {alone.rows.size}, with it"
            )
            says = "the query wants all words of the question at once (AND)"
            yield _tried(replace(leg, words_apart=True), runs, goal, says, "join the words with OR", told)
            return
    if not hits.rows.size:
        says = f"{leg.name} leg: it returns nothing"
        repair = "look at its index and at its filter: the recording cannot say which of them it is"
        yield Cause(
            (leg.slot,), says, repair, f"Recorded: no document for {runs.question!r}.", verified=False
        )


def _cut_before_fusion(
    index: ForeignIndex, legs: list[RecordedLeg], runs: Reruns, goal: Goal
) -> Iterator[Cause]:
    """The leg that needs the fewest more hits to bring a document that no leg brings."""
    wanted = index.rows_of(goal.path)
    if np.isin(wanted, runs.base.rows).any():
        return
    beyond = []
    for leg in legs:
        place = np.flatnonzero(np.isin(index.listed(leg.name, runs.question, ALL).rows, wanted))
        if place.size:
            beyond.append((int(place[0]) + 1 - leg.deepest(runs.pipeline.limit), leg.name, leg))
    for more, _, leg in sorted(beyond, key=lambda one: one[:2])[:1]:
        depth = leg.deepest(runs.pipeline.limit)
        told = f"the document is at rank {depth + more} of this leg, which is asked for {depth}"
        mended = replace(leg, depth=TopK(cap=depth + more))
        yield _tried(mended, runs, goal, "the list is cut before the fusion", f"ask for {depth + more}", told)


def _tried(mended: Any, runs: Reruns, goal: Goal, says: str, repair: str, evidence: str) -> Cause:
    reached = goal.reached(runs.trace(runs.pipeline.with_stage(mended)))
    outcome = "and the file is then" if reached else "but the file is then still not"
    where = mended.slot.replace("_", " ")
    told = f"Recorded: {evidence}. Tried: {outcome} {goal.aim}."
    return Cause(
        (mended.slot,), says if says.startswith(where) else f"{where}: {says}", repair, told, reached
    )
