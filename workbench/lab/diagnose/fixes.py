"""What would have saved the answer: single settings and known changes, with what else they change."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from workbench.contracts import Index
from workbench.errors import InputError
from workbench.lab.diagnose.chunks.other import OtherChunks
from workbench.lab.diagnose.counterfactual import Counterfactual, counterfactuals
from workbench.lab.diagnose.edits import edited
from workbench.lab.diagnose.knobs import Knob, Value, knobs, settings_between
from workbench.lab.diagnose.repairs import Repair, combined
from workbench.lab.diagnose.runs import Goal, Reruns
from workbench.lab.diagnose.yardstick import Price, Yardstick
from workbench.records import Trace
from workbench.retrieval.pipeline import Pipeline, search

MOST_FIXES = 5
"""So many fixes are shown: more would be no advice."""


@dataclass(frozen=True)
class Fix:
    """One change with which the answer is as wanted, and what it costs.

    `setting` is the name of a parameter, of a slot or of an OpenClaw key, and `value` what it becomes; `now`
    is what it is. `hair` is the value next to it with which the answer is still not as wanted, None for a
    choice. `gained` and `lost` are the other files that come into the answer to this question, or fall out.
    `change` is the known change that the fix makes, if it is no single parameter; `settings` are the
    parameters that make the same change, if there are such. `chunks` are those of a memory that is indexed
    again; `pipeline` is then the present one. `less` is the pipeline with the hair. `verified`: both
    have been run.
    """

    setting: str
    value: Value
    now: Value
    hair: float | None
    pipeline: Pipeline = field(repr=False)
    verified: bool
    gained: tuple[str, ...]
    lost: tuple[str, ...]
    price: Price = field(repr=False)
    change: Repair | None = field(default=None, repr=False)
    is_key: bool = False
    settings: tuple[str, ...] = ()
    chunks: OtherChunks | None = field(default=None, repr=False)
    less: Pipeline | None = field(default=None, repr=False)

    @property
    def side(self) -> str:
        """`at least` or `at most` for a number that goes up or down; empty for a choice."""
        if self.hair is None or isinstance(self.value, str | bool) or isinstance(self.now, str | bool):
            return ""
        return "at least" if self.value > self.now else "at most"

    @property
    def collateral(self) -> tuple[float, ...]:
        """What the fix is ranked by, smallest first: answers lost, −answers won, files changed, distance."""
        wins, losses = self.price.wins, self.price.losses
        return losses, -wins, len(self.gained) + len(self.lost), self._distance

    @property
    def _distance(self) -> float:
        if self.change is not None or self.chunks is not None:
            return math.inf
        if isinstance(self.value, str | bool) or isinstance(self.now, str | bool):
            return 1.0
        return abs(self.value - self.now) / (abs(self.now) or 1.0)


def best_fixes(
    every: Sequence[Repair],
    runs: Reruns,
    goal: Goal,
    yardstick: Yardstick,
    keys: Sequence[Knob] = (),
) -> tuple[list[Fix], int]:
    """The best fixes, the one with the least collateral first, one for each setting; and how many there are.

    `every` is what can be repaired in the pipeline, and `keys` are OpenClaw's own settings of it. The best
    MOST_FIXES are among them, and the best key. Of the others most are not priced to the end. None of them is
    `verified` yet.
    """
    drafts = [
        *(_of_knob(one, runs, goal, yardstick, is_key) for one, is_key in _values(runs, goal, keys)),
        *_of_changes(every, runs, goal, yardstick),
    ]
    # No draft costs anything yet, so of those that make one pipeline the nearest change comes first.
    distinct: dict[Hashable, Fix] = {}
    for one in sorted(drafts, key=lambda one: one.collateral):
        distinct.setdefault((one.pipeline.stages, one.pipeline.layout, one.is_key), one)
    best: list[Fix] = []
    settings: set[str] = set()
    for one in distinct.values():
        try:
            if not yardstick.loses_more(one.pipeline, _most_losses(best, one.is_key)):
                best = _ranked([*best, replace(one, price=yardstick.price(one.pipeline))])
        except InputError:  # an index may not serve the other questions with every value
            continue
        settings.add(one.setting)
    return best, len(settings)


def _ranked(fixes: Iterable[Fix]) -> list[Fix]:
    """The best fix of each setting, the one with the least collateral first."""
    best: dict[str, Fix] = {}
    for one in sorted(fixes, key=lambda one: one.collateral):
        best.setdefault(one.setting, one)
    return list(best.values())


def _most_losses(best: Sequence[Fix], is_key: bool) -> float:
    """How many right answers another fix, or another key, may lose to be shown."""
    needed = [best[MOST_FIXES - 1 : MOST_FIXES]]
    if is_key:
        needed.append([one for one in best if one.is_key][:1])
    return max(some[0].price.losses if some else math.inf for some in needed)


def _values(runs: Reruns, goal: Goal, keys: Sequence[Knob]) -> Iterator[tuple[Counterfactual, bool]]:
    for knob in knobs(runs.pipeline):
        yield from ((one, False) for one in counterfactuals(knob, runs, goal))
    for knob in keys:
        yield from ((one, True) for one in counterfactuals(knob, runs, goal))


def _of_knob(found: Counterfactual, runs: Reruns, goal: Goal, yardstick: Yardstick, is_key: bool) -> Fix:
    """The fix that a value makes, not yet priced."""
    pipeline = found.knob.put(found.value)
    return Fix(
        found.knob.name,
        found.value,
        found.knob.now,
        found.hair,
        pipeline,
        False,
        *moved(runs.base, runs.trace(pipeline), goal),
        yardstick.unchanged,
        is_key=is_key,
        less=None if found.hair is None else found.knob.with_value(found.hair),
    )


def _of_changes(every: Sequence[Repair], runs: Reruns, goal: Goal, yardstick: Yardstick) -> Iterator[Fix]:
    """The known changes that are no setting, not yet priced: another stage in a slot, or another layout."""
    for repair in every:
        known = repair.change is not None or repair.slot == "layout" or repair.offered
        if repair.removes or not known:
            continue
        changed = edited(runs.pipeline, repair.edits)
        after = runs.trace(changed)
        if goal.reached(after):
            files, price = moved(runs.base, after, goal), yardstick.unchanged
            yield Fix(repair.slot, repair.name, "", None, changed, False, *files, price, repair)


def verified(fix: Fix, runs: Reruns, goal: Goal, index: Index) -> Fix:
    """The fix with what searches from the beginning, without shortcuts, say of its value and of its hair."""
    sharp = fix.less is None or not _reached(fix.less, runs, goal, index)
    return replace(fix, verified=sharp and _reached(fix.pipeline, runs, goal, index))


def fixes_of_many(
    some: Iterable[Sequence[Repair]], runs: Reruns, goal: Goal, yardstick: Yardstick, index: Index
) -> list[Fix]:
    """Fixes that make several known changes at once, the one with the least collateral first.

    `some` are sets of repairs that are enough only together. Without removals, if there are such sets.
    """
    many = [one for one in some if len(one) > 1]
    kept = [one for one in many if not any(repair.removes for repair in one)] or many
    found = (_of_many(one, runs, goal, yardstick, index) for one in kept)
    return sorted((one for one in found if one.verified), key=lambda one: one.collateral)


def _of_many(some: Sequence[Repair], runs: Reruns, goal: Goal, yardstick: Yardstick, index: Index) -> Fix:
    changed = combined(runs.pipeline, some)
    slot, name = (" and ".join(texts) for texts in zip(*((one.slot, one.name) for one in some), strict=True))
    why = "; ".join(one.why for one in some)
    together = Repair(slot, name, tuple(edit for one in some for edit in one.edits), why)
    settings = settings_between(runs.pipeline, changed)
    return Fix(
        " and ".join(one.partition("=")[0] for one in settings) or slot,
        " and ".join(one.partition("=")[2] for one in settings) or name,
        "",
        None,
        changed,
        _reached(changed, runs, goal, index),
        *moved(runs.base, runs.trace(changed), goal),
        yardstick.price(changed),
        together,
        settings=settings,
    )


def _reached(pipeline: Pipeline, runs: Reruns, goal: Goal, index: Index) -> bool:
    """Whether a search from the beginning, without shortcuts, gives the wanted answer."""
    return goal.reached(search(runs.question, pipeline, index, runs.vector))


def moved(one: Trace, other: Trace, goal: Goal) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The other files that come into the answer from one search to another, and those that fall out."""
    before, after = one.paths(), other.paths()
    came = (one for one in after if one not in before and one != goal.path)
    went = (one for one in before if one not in after and one != goal.path)
    return tuple(came), tuple(went)
