"""Fixes: single settings and known changes with which the answer is as wanted, and what else they change.

A fix is written in the three ways in which it can be made: as `--set`, as Python, and as what belongs into
the file of settings that the pipeline comes from.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, is_dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.errors import InputError
from workbench.measure.edits import LAYOUT, Edit, edited, edits_between
from workbench.measure.paired import Paired
from workbench.measure.reruns import Reruns
from workbench.records import KEPT, Stage, Trace
from workbench.retrieval.columns import parameters
from workbench.retrieval.cutoff import Floor, Limit
from workbench.retrieval.legs import LegStage, legs_of
from workbench.retrieval.pipeline import Pipeline, search
from workbench.systems.catalogue import ON_A_SERVER, SYSTEMS, system
from workbench.systems.history import where_is
from workbench_plugins.diagnose.keys import is_of_file, keys_of, pasted_works, to_paste
from workbench_plugins.diagnose.parameters import (
    Aim,
    Goal,
    NearestValue,
    Value,
    nearest_values,
    parameters_of,
    setting_text,
    settings_between,
)
from workbench_plugins.diagnose.prices import Price, Prices
from workbench_plugins.diagnose.repairs import DEEPEST, Repair, combined, fitted_slots, moved_to
from workbench_plugins.diagnose.stage_settings import (
    content_of,
    lasting_systems,
    short_settings,
    typed_settings,
)
from workbench_plugins.diagnose.stages_as_code import code_of_stages

if TYPE_CHECKING:
    from workbench_plugins.diagnose.chunk_sizes import OtherChunks

FUNCTION = re.compile(r"<function (\w+) at 0x[0-9a-f]+>")
"""How Python writes a function that is a parameter of a stage; its address says nothing."""
MOST_FIXES = 5
"""The number of fixes that are shown: more would be no advice."""

FIRST, OTHER, LARGER = range(3)
"""The groups of fixes: the best repair of the first cause, others, and longer answers, which let in much."""


@dataclass(frozen=True)
class Fix:
    """One change with which the answer is as wanted, and what it costs.

    `setting` is the name of a parameter, of a slot or of a key, and `value` what it becomes; `now` is what it
    is. `fails` is the nearest value with which the answer is still not as wanted, None for a choice. `gained`
    and `lost` are the other files that come into the answer to this question, or leave it. `change` is the
    known change that the fix makes, if it is no single parameter; `settings` are the parameters that make the
    same change, if there are such. `chunks` are those of a memory that is indexed again; `pipeline` is then
    the present one. `failing` is the pipeline with the value that fails. `verified`: both have been run.
    `paste` belongs into the file of settings: the whole file with it has been run. It is None without a file,
    if the release has no setting for the fix, and if something else in the file is stronger. `group` says
    where the fix is listed. `begins` are the lines of Python that make the pipeline which is diagnosed;
    `whole` is Python that makes the fixed one of its stages, if the diagnosed one has no name. `undoes` marks
    the fix that undoes the first cause: a setting of the user, or the place of a stage. With one that
    `lets_all` no stage tells the candidates apart any more: all pass every floor, or all have one score.
    `empties` says that nothing at all is returned with the fix. One that `tightens` is a stricter floor,
    limit or depth: the wanted file comes in only because others go.
    """

    setting: str
    value: Value
    now: Value
    fails: float | None
    pipeline: Pipeline = field(repr=False)
    verified: bool
    gained: tuple[str, ...]
    lost: tuple[str, ...]
    price: Price = field(repr=False)
    change: Repair | None = field(default=None, repr=False)
    is_key: bool = False
    settings: tuple[str, ...] = ()
    chunks: OtherChunks | None = field(default=None, repr=False)
    failing: Pipeline | None = field(default=None, repr=False)
    paste: dict[str, Any] | None = None
    group: int = OTHER
    begins: tuple[str, ...] = field(default=(), repr=False)
    whole: str = field(default="", repr=False)
    undoes: bool = False
    lets_all: bool = False
    empties: bool = field(default=False, repr=False)
    tightens: bool = False

    @property
    def side(self) -> str:
        """`at least` or `at most` for a number that goes up or down; empty for a choice."""
        if self.fails is None or isinstance(self.value, str | bool) or isinstance(self.now, str | bool):
            return ""
        return "at least" if self.value > self.now else "at most"

    @property
    def collateral(self) -> tuple[float, ...]:
        """What the fix is ranked by.

        Whether it tightens a cut, its group, whether it undoes the first cause, whether it lets all
        candidates pass, whether nobody sets its parameter, answers lost, −answers won, files changed,
        distance.
        """
        return *self._fitness, *self._cost

    @property
    def within_setting(self) -> tuple[float, ...]:
        """What the fixes of one setting are ranked by: the value that most systems have precedes a price."""
        return *self._fitness, not self.is_usual, *self._cost

    @property
    def _fitness(self) -> tuple[float, ...]:
        return self.tightens, self.group, not self.undoes, self.lets_all, self.is_unusual

    @property
    def _cost(self) -> tuple[float, ...]:
        moves = len(self.gained) + len(self.lost)
        return self.price.losses, -self.price.wins, moves, self._distance

    @property
    def is_usual(self) -> bool:
        """Whether the fix is the choice that most known systems have made of a parameter."""
        if self.change is not None or self.chunks is not None or not isinstance(self.value, str | bool):
            return False
        chosen = [value for _, value in _values(self.setting)]
        return 2 * chosen.count(self.value) > len(chosen)

    @property
    def is_unusual(self) -> bool:
        """Whether the fix is a value of a parameter for which all known engines have the same one."""
        return self.change is None and self.chunks is None and agreed(self.setting)

    @property
    def _distance(self) -> float:
        if self.change is not None or self.chunks is not None:
            return math.inf
        if isinstance(self.value, str | bool) or isinstance(self.now, str | bool):
            return 1.0
        return abs(self.value - self.now) / (abs(self.now) or 1.0)

    @property
    def verdict(self) -> str:
        """The verdict of the paired test, in words: on the hits, and on the unanswerable questions."""
        some = (("hits", self.price.hits), ("unanswerable", self.price.silence))
        return "; ".join(f"{name}: {told(one)}" for name, one in some if one)

    @property
    def typed(self) -> tuple[str, ...]:
        """The settings that make the fix, as `--set` takes them; none where no setting does."""
        return self.settings if self.change else (f"{self.setting}={setting_text(self.value)}",)

    @property
    def as_set(self) -> str | None:
        """The options of the command line that make the fix; None if only Python can.

        Other chunks are made by the options of `workbench index`.
        """
        if self.chunks is not None:
            return self.chunks.options or None
        if self.typed:
            return " ".join(f"--set {one}" for one in self.typed)
        known = (one.name for one in lasting_systems() if one.searches_as(self.pipeline))
        return next((f"--system {name}" for name in known), None)

    @property
    def in_words(self) -> str:
        """What the fix puts in which place: `query = JoinedWords(join='OR')`."""
        if self.change is None:
            return f"{self.setting} = {setting_text(self.value)}"
        if self.change.moves:
            return self.change.name
        edits = ((one.slot, one.content) for one in self.change.edits)
        told = ", ".join(f"no {slot}" if one is None else f"{slot} = {one!r}" for slot, one in edits)
        return FUNCTION.sub(r"\1", told)

    @property
    def runs_alone(self) -> bool:
        """Whether the Python of the fix runs in an empty notebook: it needs no variable `pipeline`."""
        return bool(self.chunks or self.whole or self.begins)

    @property
    def as_python(self) -> str:
        """Python that makes the fixed `pipeline`, or the index anew for other chunks.

        It makes the present pipeline first, if that can be named. One of your own is made of its stages; if
        one of these cannot be imported, as in the recording of another engine, the variable `pipeline` must
        hold the present pipeline.
        """
        if self.chunks is not None or self.whole:
            return self.whole if self.chunks is None else self.chunks.python
        if self.change is not None:
            return _joined(self.begins, _lines(self.change.edits))
        settings = [f"{self.setting}={setting_text(self.value)}"]
        module, function = "workbench.retrieval.settings", "with_settings"
        if self.is_key:
            module, function = "workbench_plugins.openclaw.config_keys", "with_keys"
        imported = f"from {module} import {function}"
        return _joined(self.begins, [imported, "", f"pipeline = {function}(pipeline, {settings})"])

    def as_json(self, typed: bool = True) -> dict[str, Any]:
        """The fix in the form that docs/commands.md describes; `typed` if a command makes its pipeline."""
        return {
            "setting": self.setting,
            "value": self.value,
            "now": self.now,
            "fails": self.fails,
            "settings": list(self.settings),
            "verified": self.verified,
            "gained": list(self.gained),
            "lost": list(self.lost),
            "hits_before": self.price.before.hits,
            "hits_after": self.price.after.hits,
            "silent_before": self.price.before.silences,
            "silent_after": self.price.after.silences,
            "verdict": self.verdict,
            "set": self.as_set if typed or self.chunks is not None else None,
            "python": self.as_python if self.runs_alone else None,
            "paste": self.paste,
        }


def best_fixes(
    every: Sequence[Repair], first: Collection[str], runs: Reruns, goal: Goal, prices: Prices
) -> tuple[list[Fix], int]:
    """The best fixes, the one with the least collateral first, one for each setting; and how many there are.

    `every` is what can be repaired in the pipeline, and `first` are the slots that the first cause's repair
    changes. The best MOST_FIXES of each group are among them, and the best key of the file of settings. Of
    the others most are not priced to the end. None of them is `verified` yet.
    """
    fitted = fitted_slots(runs.pipeline)
    drafts = [
        _of_value(found, runs, goal, prices, is_key)
        for of, is_key in ((parameters_of, False), (keys_of, True))
        for parameter in of(runs.pipeline)
        if not parameter.name.endswith(".of")  # a threshold says something on its own scale only
        if parameter.name.partition(".")[0] not in fitted
        for found in nearest_values(parameter, runs, goal)
    ]
    moved_slots = {one.setting.partition(".")[0] for one in drafts}
    changes = _of_changes(every, first, runs, goal, prices)
    # Where another value of a stage is enough, taking the stage away is no smaller repair.
    drafts += [one for one in changes if one.setting not in moved_slots or not _takes_away(one)]
    drafts = [
        replace(one, group=_group(runs.pipeline, one, () if one.is_unusual else first)) for one in drafts
    ]
    # No draft costs anything yet, so of those that make one pipeline the nearest change comes first.
    distinct: dict[Hashable, Fix] = {}
    for one in sorted(drafts, key=lambda one: (one.collateral, not one.is_key)):
        distinct.setdefault((one.pipeline.stages, one.pipeline.layout), one)
    best: list[Fix] = []
    settings: set[str] = set()
    for one in distinct.values():
        try:
            alike = [each for each in best if _kind(each) == _kind(one)]
            if not prices.loses_more(one.pipeline, _most_losses(alike, one.is_key)):
                best = _ranked([*best, replace(one, price=prices.price(one.pipeline))])
        except InputError:  # an index may not serve the other questions with every value
            continue
        settings.add(one.setting)
    others = (replace(one, group=_group(runs.pipeline, one, ())) for one in best[1:])
    return _ranked([*best[:1], *others]), len(settings)


def _kind(fix: Fix) -> tuple[bool, int, bool]:
    """What of a fix decides its place before its losses do."""
    return fix.tightens, fix.group, fix.is_unusual


def agreed(setting: str) -> bool:
    """Whether the systems of several repositories have a parameter, and all with one value.

    Such as the score of a leg that does not bring a chunk, and k1 of BM25: nobody sets these.
    """
    found = _values(setting)
    return len({repository for repository, _ in found}) > 1 and len({value for _, value in found}) == 1


@cache
def _values(setting: str) -> list[tuple[str, Value]]:
    """The value of a parameter in each system that has it, with the system's repository before it."""
    slot, _, name = setting.partition(".")
    return [
        (one.source.repository, parameters(stage)[name])
        for one in SYSTEMS.values()
        for stage in one.stages
        if stage.slot == slot and name in parameters(stage)
    ]


def _takes_away(fix: Fix) -> bool:
    return fix.change is not None and fix.change.removes


def _group(now: Pipeline, fix: Fix, first: Collection[str]) -> int:
    changed = [one.slot for one in (fix.change.edits if fix.change else now.diff(fix.pipeline))]
    if not {*changed}.isdisjoint(first):
        return FIRST
    return LARGER if fix.pipeline.limit > now.limit else OTHER


def _ranked(fixes: Iterable[Fix]) -> list[Fix]:
    """The best fix of each setting, the one with the least collateral first."""
    best: dict[str, Fix] = {}
    for one in sorted(fixes, key=lambda one: one.within_setting):
        best.setdefault(one.setting, one)
    return sorted(best.values(), key=lambda one: one.collateral)


def _most_losses(best: Sequence[Fix], is_key: bool) -> float:
    """How many right answers another fix, or another key, may lose to be shown."""
    needed = [best[MOST_FIXES - 1 : MOST_FIXES]]
    if is_key:
        needed.append([one for one in best if one.is_key][:1])
    return max(some[0].price.losses if some else math.inf for some in needed)


def _of_value(found: NearestValue, runs: Reruns, goal: Goal, prices: Prices, is_key: bool) -> Fix:
    """The fix that a value makes, not yet priced."""
    pipeline = found.parameter.put(found.value)
    after = runs.trace(pipeline)
    gained, lost = moved(runs.base, after, goal)
    return Fix(
        setting=found.parameter.name,
        value=found.value,
        now=found.parameter.now,
        fails=found.fails,
        pipeline=pipeline,
        verified=False,
        gained=gained,
        lost=lost,
        price=prices.unchanged,
        is_key=is_key,
        lets_all=lets_all(runs.base, after, goal),
        failing=None if found.fails is None else found.parameter.with_value(found.fails),
        tightens=goal.aim is not Aim.OUT and _is_stricter(found, runs.pipeline),
    )


def _is_stricter(found: NearestValue, pipeline: Pipeline) -> bool:
    """Whether a value makes a floor higher, or a limit or the depth of a leg smaller."""
    slot, _, name = found.parameter.name.partition(".")
    stage: Any = content_of(pipeline, slot)
    now = found.parameter.now
    if isinstance(found.value, str | bool) or isinstance(now, str | bool):
        return False
    if isinstance(stage, Floor):
        return found.value > now
    counts = isinstance(stage, Limit) or (isinstance(stage, LegStage) and name.startswith("depth."))
    return counts and found.value < now


def _of_changes(
    every: Sequence[Repair], first: Collection[str], runs: Reruns, goal: Goal, prices: Prices
) -> Iterator[Fix]:
    """The known changes that are no setting, not yet priced: another stage in a slot, or another layout.

    In a slot of the first cause, no stage at all is a fix, too.
    """
    for repair in every:
        known = repair.change is not None or repair.slot == LAYOUT or repair.plain
        gone = repair.slot in first and repair.edits[0].content is None
        undoes = (repair.own or repair.moves) and {edit.slot for edit in repair.edits} == {*first}
        if not (gone if repair.removes else known or undoes):
            continue
        changed = edited(runs.pipeline, repair.edits)
        if goal.reached(runs.trace(changed)) and not silences(runs.base, runs.trace(changed)):
            # The system's own value is had by leaving a setting out, so that it is not rounded.
            exact = typed_settings(runs.pipeline, changed), changed
            settings, short = exact if undoes else short_settings(runs, goal, changed)
            after = runs.trace(short)
            gained, lost = moved(runs.base, after, goal)
            edits = repair.edits if short is changed else tuple(edits_between(runs.pipeline, short))
            yield Fix(
                setting=repair.slot,
                value=repair.name,
                now="",
                fails=None,
                pipeline=short,
                verified=False,
                gained=gained,
                lost=lost,
                price=prices.unchanged,
                change=replace(repair, edits=edits),
                settings=settings,
                undoes=undoes,
                lets_all=lets_all(runs.base, after, goal),
            )


def told(verdict: Paired) -> str:
    """The verdict in words: that nothing changes, that the questions are too few to tell, or the figures."""
    if not verdict.wins and not verdict.losses:
        return "none is lost or won"
    return str(verdict) if verdict.can_tell else "too few questions to tell"


def lets_all(before: Trace, after: Trace, goal: Goal) -> bool:
    """Whether a change ends what told the candidates apart: all pass each floor, or all have one score.

    A floor under which the wanted file is the last one still tells it apart from what is worse.
    """
    if _has_one_score(after) and not _has_one_score(before):
        return True
    return (
        _passes_all(after)
        and not _passes_all(before)
        and after.chunks[int(after.order[-1])].path != goal.path
    )


def silences(before: Trace, after: Trace) -> bool:
    """Whether another stage in place of a leg brings nothing at all, where the leg brought something.

    Such a leg needs another query, too, and the change would only leave the leg out.
    """
    legs = {one.name: (one, two) for one in legs_of(before.stages) for two in legs_of(after.stages)
            if one.name == two.name}  # fmt: skip
    changed = [name for name, (one, two) in legs.items() if type(one) is not type(two)]
    both = [(before.legs.get(name), after.legs.get(name)) for name in changed]
    return any(one and two and one.hits.rows.size > 0 == two.hits.rows.size for one, two in both)


def _passes_all(trace: Trace) -> bool:
    """Whether no stage but the limit drops a candidate."""
    floors = [number for number, stage in enumerate(trace.stages) if stage.slot != Limit.slot]
    return trace.order.size > 0 and not np.isin(trace.dropped, floors).any()


def _has_one_score(trace: Trace) -> bool:
    """Whether several results have all the same score."""
    scores = trace.scores[trace.dropped == KEPT]
    return scores.size > 1 and bool((scores == scores[0]).all())


def verified(fix: Fix, runs: Reruns, goal: Goal, file: str = "") -> Fix:
    """The fix with what whole searches, without shortcuts, say of it and of the value that fails.

    `file` is the name of a system from a file of settings: content to paste is tried in the whole file.
    """
    sharp = fix.failing is None or not _reached(fix.failing, runs, goal)
    paste = to_paste(fix.pipeline, {fix.setting: fix.value}) if fix.is_key else None
    works = paste is not None and pasted_works(file, paste, lambda made: _reached(made.pipeline, runs, goal))
    settings = fix.settings or (typed_settings(runs.pipeline, fix.pipeline) if fix.change else ())
    begins = lines_of(runs.pipeline, file)
    after = search(runs.question, fix.pipeline, runs.index, runs.vector)
    return replace(
        fix,
        verified=sharp and goal.reached(after),
        empties=not after.results,
        paste=paste if works else None,
        settings=settings,
        begins=tuple(begins),
        whole="" if begins else "\n".join(lines_of(fix.pipeline)) or code_of_stages(fix.pipeline),
    )


def fixes_of_many(some: Iterable[Sequence[Repair]], runs: Reruns, goal: Goal, prices: Prices) -> list[Fix]:
    """Fixes that make several known changes at once, the one with the least collateral first.

    `some` are sets of repairs that are enough only together. Without removals, if there are such sets.
    """
    many = [one for one in some if len(one) > 1]
    kept = [one for one in many if not any(repair.removes for repair in one)] or many
    found = (_of_many(_nearest_bounds(one, runs, goal), runs, goal, prices) for one in kept)
    return sorted((one for one in found if one.verified), key=lambda one: one.collateral)


def _nearest_bounds(some: Sequence[Repair], runs: Reruns, goal: Goal) -> list[Repair]:
    """The repairs, each limit and depth that they take away moved only as far as the goal needs."""
    found = list(some)
    for number, repair in enumerate(some):
        low, high = 1, DEEPEST
        if moved_to(runs.pipeline, repair, low) == repair:
            continue
        while low < high:
            middle = (low + high) // 2
            found[number] = moved_to(runs.pipeline, repair, middle)
            reached = goal.reached(runs.trace(combined(runs.pipeline, found)))
            low, high = (low, middle) if reached else (middle + 1, high)
        found[number] = moved_to(runs.pipeline, repair, low)
    return found


def _of_many(some: Sequence[Repair], runs: Reruns, goal: Goal, prices: Prices) -> Fix:
    changed = combined(runs.pipeline, some)
    slot, name = (" and ".join(texts) for texts in zip(*((one.slot, one.name) for one in some), strict=True))
    why = "; ".join(one.why for one in some)
    together = Repair(slot, name, tuple(edit for one in some for edit in one.edits), why)
    parameters = settings_between(runs.pipeline, changed)
    gained, lost = moved(runs.base, runs.trace(changed), goal)
    return Fix(
        setting=" and ".join(one.partition("=")[0] for one in parameters) or slot,
        value=" and ".join(one.partition("=")[2] for one in parameters) or name,
        now="",
        fails=None,
        pipeline=changed,
        verified=_reached(changed, runs, goal),
        gained=gained,
        lost=lost,
        price=prices.price(changed),
        change=together,
        settings=parameters,
    )


def _reached(pipeline: Pipeline, runs: Reruns, goal: Goal) -> bool:
    """Whether a search from the beginning, without shortcuts, gives the wanted answer."""
    return goal.reached(search(runs.question, pipeline, runs.index, runs.vector))


def moved(one: Trace, other: Trace, goal: Goal) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The other files that come into the answer from one search to another, and those that leave it."""
    before, after = one.paths(), other.paths()
    came = (one for one in after if one not in before and one != goal.path)
    went = (one for one in before if one not in after and one != goal.path)
    return tuple(came), tuple(went)


# A known change as Python


def named(name: str) -> Pipeline | None:
    """The system of a name, also from a file of settings; None for one that a new process does not know."""
    if name.partition("@")[0] in (*SYSTEMS.of_this_process, *ON_A_SERVER.of_this_process):
        return None
    try:
        return system(name)
    except InputError:
        return None


def lines_of(pipeline: Pipeline, file: str = "") -> list[str]:
    """Lines of Python that make a pipeline by its name and settings; none for one that has no name.

    `file` is the name of a system from a file of settings.
    """
    name = file if is_of_file(file) else pipeline.name
    known = named(name)
    typed = () if known is None else settings_between(known, pipeline)
    same = known is not None and known.searches_as(pipeline)
    if not (same or typed):
        return []
    lines = ["import workbench as wb", "", f"pipeline = wb.system({name!r})"]
    if typed:
        lines.insert(1, "from workbench.retrieval.settings import with_settings")
        lines.append(f"pipeline = with_settings(pipeline, {[*typed]})")
    return lines


def _joined(*parts: Sequence[str]) -> str:
    """Several pieces of code as one, with all imports at its beginning."""
    lines = [line for part in parts for line in part]
    imports = dict.fromkeys(line for line in lines if line.startswith(("import ", "from ")))
    rest = "\n".join(line for line in lines if line not in imports).strip()
    return "\n".join([*imports, *([""] if imports else []), rest])


def _lines(edits: Sequence[Edit]) -> list[str]:
    imports = ["import workbench as wb", "from workbench.measure.edits import Edit, edited"]
    steps = []
    for edit in edits:
        content, imported = _expression(edit)
        imports += imported
        steps.append(f"    Edit({edit.slot!r}, {content}, before={edit.before!r}),")
    return [*dict.fromkeys(imports), "", "pipeline = edited(pipeline, [", *steps, "])"]


def _expression(edit: Edit) -> tuple[str, list[str]]:
    """Code for the content of an edit, and what it imports."""
    if edit.content is None:
        return "None", []
    for name, pipeline in SYSTEMS.items():
        if edit.slot == LAYOUT and pipeline.layout == edit.content:
            return f"wb.system({name!r}).layout", []
        if edit.content in pipeline.stages:
            return f"wb.system({name!r})[{edit.slot!r}]", []
    stage: Stage = edit.content  # type: ignore[assignment]
    try:
        module, name = where_is(stage)
    except InputError:  # no change has this stage
        if type(stage).__module__.startswith("workbench."):
            return repr(stage), list(_imports(stage))
        # It is the pipeline's own with other parameters.
        values = [f"{edit.slot}.{name}={setting_text(one)}" for name, one in parameters(stage).items()]
        imported = "from workbench.retrieval.settings import with_settings"
        return f"with_settings(pipeline, {values})[{edit.slot!r}]", [imported]
    return f"{name}.stage", [f"from {module} import {name}"]


def _imports(one: Any) -> Iterator[str]:
    """What the representation of a stage needs."""
    yield f"from {type(one).__module__} import {type(one).__name__}"
    for inner in vars(one).values():
        if is_dataclass(inner):
            yield from _imports(inner)
