"""Which file stands before the wanted one for this question, and by which part of the score."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from workbench.measure.edits import edits_between
from workbench.measure.reruns import Reruns
from workbench.records import KEPT, DropKind, Stage, Trace, first_of
from workbench.retrieval.columns import ColumnStage
from workbench.retrieval.cutoff import Limit
from workbench.retrieval.explain import column_name
from workbench.retrieval.fusion import Fusion
from workbench.retrieval.legs import VectorLeg
from workbench.retrieval.query import unicode_words
from workbench.stop_words import STOP_WORDS
from workbench_plugins.diagnose.asked import lower_words
from workbench_plugins.diagnose.causes import Cause, evidence, in_slot, is_yours, repaired_slots, stages_text
from workbench_plugins.diagnose.fixes import Fix
from workbench_plugins.diagnose.languages import FUNCTION_WORDS
from workbench_plugins.diagnose.parameters import Aim, Goal
from workbench_plugins.diagnose.question_causes import LACKS
from workbench_plugins.diagnose.repairs import Repair
from workbench_plugins.diagnose.spelling import stems
from workbench_plugins.diagnose.suspects import parts_of

SCORE = Fusion.output
MOST_WORDS = 3
"""So many words are named that the other file has more often."""
SHORT = 150
"""The formula of a score is told in the first line if it has so many letters at most."""
OPERATORS = ("and", "or", "not", "near")


def for_this_question(cause: Cause, best: Fix | None, runs: Reruns, goal: Goal) -> Cause:
    """A cause that says what is wrong for this question, where its own words say only what a stage does.

    What the stage does is then its `stage`. The cause is in the slots that the `best` fix changes,
    if that one leaves the slots of the cause as they are.
    """
    trace = runs.base
    fails = _unmatched(runs, goal, cause)
    told = "" if goal.aim is Aim.OUT else (_below_text(trace, goal) or ahead_text(trace, goal))
    if cause.plain and (fails or told) and not _removed(trace, goal, cause):
        said = cause.description
        stages = stages_text(runs.pipeline, cause.repairs)
        changed = [] if best is None or fails else [one.slot for one in runs.pipeline.diff(best.pipeline)]
        if best is not None and changed and {*changed}.isdisjoint(repaired_slots(cause)):
            cause = _of_fix(cause, best, changed, runs, goal)
            said = stages_text(runs.pipeline, cause.repairs)
        slots = " and ".join(one.replace("_", " ") for one in cause.where)
        says = fails or "; ".join(one for one in (told, _own_number(trace, goal, cause)) if one)
        alike = cause.description.removeprefix(stages) if cause.repairs else ""
        return replace(cause, description=in_slot(slots, f"{says}{alike}"), stage=said)
    if fails and not is_yours(cause) and not cause.plain:
        return replace(cause, description=f"{cause.description}; {fails}")
    if cause.where == (Limit.slot,) and told:
        return replace(cause, description=f"{cause.description}; {told}")
    return cause


def _of_fix(cause: Cause, fix: Fix, changed: Sequence[str], runs: Reruns, goal: Goal) -> Cause:
    """A cause in the slots that a fix has changed, with this fix as its repair."""
    edits = tuple(edits_between(runs.pipeline, fix.pipeline))
    after = runs.trace(fix.pipeline)
    told = [evidence(runs.base, after, runs.index, goal.path, slot) for slot in changed]
    return replace(
        cause,
        where=tuple(changed),
        repair=", ".join(fix.typed) or fix.in_words,
        evidence=" ".join(dict.fromkeys(told)),
        verified=fix.verified,
        repairs=tuple(Repair(one.slot, fix.in_words, (one,), "the best fix") for one in edits),
        after=fix.price.after,
        parameters=fix.typed,
    )


def _unmatched(runs: Reruns, goal: Goal, cause: Cause) -> str:
    """What an empty leg asks for in vain, and which of it the file lacks; empty for a cause without that.

    That is a cause in the query, or in a floor that is too high for what the other leg alone gives.
    """
    if {"query", "relaxation", "floor", "min_similarity"}.isdisjoint(cause.where):
        return ""
    trace, index = runs.base, runs.index
    empty = {name: leg for name, leg in trace.legs.items() if not leg.hits.rows.size}
    for leg in empty.values():
        if not leg.asked or leg.unasked or leg.scope or not trace.words_in_one_chunk(leg):
            continue
        text = " ".join(one.text for one in index.chunks(index.rows_of(goal.path)))
        there = {stem for one in lower_words([text]) for stem in stems(one)}
        sought = dict.fromkeys(lower_words([leg.asked]))
        lacks = [f"“{one}”" for one in sought if one not in OPERATORS and not stems(one) & there]
        lacks.sort(key=lambda one: one.strip("“”") in STOP_WORDS | FUNCTION_WORDS)
        new = text and lacks and LACKS not in cause.description
        mine = f"; no chunk of this file has {', '.join(lacks[:MOST_WORDS])}" if new else ""
        return f"{trace.empty_leg(leg).replace('The', 'the', 1).removesuffix('.')}{mine}"
    none = " and ".join(empty) if cause.plain and {"query", "relaxation"} & {*cause.where} else ""
    return f"the {none} leg brings nothing: {cause.description}" if none else ""


def _scored(trace: Trace, goal: Goal, cause: Cause) -> tuple[Stage, str, int] | None:
    """The stage of a cause that scores what a leg brings, the leg, and the file's first candidate."""
    mine = _best_row(trace, goal.path)
    found = ((one, leg) for one in trace.stages for leg in trace.legs if f"{leg}_{SCORE}" in one.writes())
    stage, leg = next(((one, leg) for one, leg in found if one.slot in cause.where), (None, ""))
    return None if stage is None or mine is None else (stage, leg, mine)


def _removed(trace: Trace, goal: Goal, cause: Cause) -> bool:
    """Whether the stage of a cause takes away the score of a file that the leg brings."""
    found = _scored(trace, goal, cause)
    if found is None:
        return False
    _, leg, mine = found
    score, rank = (trace.columns[f"{leg}_{kind}"][mine] for kind in (SCORE, "rank"))
    return bool(np.isnan(score) and not np.isnan(rank))


def _own_number(trace: Trace, goal: Goal, cause: Cause) -> str:
    """What a stage of a cause that scores a leg gives the wanted file, and how; empty for other stages."""
    found = _scored(trace, goal, cause)
    if found is None:
        return ""
    stage, leg, mine = found
    column = f"{leg}_{SCORE}"
    number, name = float(trace.columns[column][mine]), column_name(column, trace.names)
    how = stage.description.removeprefix(f"{name} = ")
    made = f": {how}" if how != stage.description and len(how) <= SHORT else ""
    this = _this(trace, mine)
    return f"{this} has no {name}" if math.isnan(number) else f"the {name} of {this} is {number:.3g}{made}"


def _best_row(trace: Trace, path: str) -> int | None:
    """The row of a file's first candidate; None for a file without one."""
    return next((row for row in trace.order.tolist() if trace.chunks[row].path == path), None)


def _this(trace: Trace, mine: int) -> str:
    """What the numbers of a row are of: the file, or its best chunk if others of it are candidates."""
    path = trace.chunks[mine].path
    return "this file" if sum(one.path == path for one in trace.chunks) == 1 else "this file's best chunk"


def two_rows(trace: Trace, goal: Goal) -> tuple[int, int] | None:
    """The row of the result that stands where the wanted file should, and of the file's first candidate.

    That is the first result for the first place, and else the last one. None where there is none before it.
    """
    order = trace.order.tolist()
    mine = _best_row(trace, goal.path)
    kept = [row for row in order if trace.dropped[row] == KEPT and trace.chunks[row].path != goal.path]
    if mine is None or not kept:
        return None
    other = kept[0 if goal.aim is Aim.FIRST else -1]
    return (other, mine) if order.index(other) < order.index(mine) else None


def scores_text(trace: Trace, goal: Goal) -> str:
    """The file before the wanted one, and both scores, also where another stage than the score orders them.

    Empty where there is no such file, or no score.
    """
    rows = two_rows(trace, goal)
    if rows is None:
        return ""
    one, two = (float(trace.scores[row]) for row in rows)
    if math.isnan(one) or math.isnan(two):
        return ""
    name = "scores" if trace.ranked_by == SCORE else f"has a {column_name(trace.ranked_by, trace.names)} of"
    path = trace.chunks[rows[0]].path
    which = path if goal.aim is Aim.FIRST else f"{path}, the last result,"
    if one == two:
        return f"{which} {name} {one:.4g}, as this file does, and is put before it"
    if one < two:
        return f"{which} {name} {one:.4g}, and is put before this file, which has {two:.4g}"
    shown = next((digits for digits in range(4, 17) if f"{one:.{digits}g}" != f"{two:.{digits}g}"), 17)
    return f"{which} {name} {one + 0.0:.{shown}g}, and this file {two + 0.0:.{shown}g}"  # never -0


def ahead_text(trace: Trace, goal: Goal) -> str:
    """What `scores_text` says, the largest lead of that file, and the words that it has more often."""
    rows, scores = two_rows(trace, goal), scores_text(trace, goal)
    if rows is None or not scores or trace.scores[rows[0]] < trace.scores[rows[1]]:
        return scores
    return "; ".join([scores, *_lead(trace, *rows, trace.ranked_by)])


def _lead(trace: Trace, other: int, mine: int, column: str) -> list[str]:
    """In which part of a number one candidate leads most over another, and by which words of the question."""
    fusion, parts = first_of(trace.stages, Fusion), parts_of(trace)
    if column == SCORE and fusion is not None and parts:
        leads = {leg: _number(part[other]) - _number(part[mine]) for leg, part in parts.items()}
        leg = max(leads, key=leads.__getitem__)
        if leads[leg] > 0:
            by_rank = f"{leg}_score" not in fusion.reads()
            tell, numbers = (_ranks, trace.columns[f"{leg}_rank"]) if by_rank else (_scores, parts[leg])
            lead = tell(leg, float(numbers[other]), float(numbers[mine]), _this(trace, mine))
            return [lead, *_words(trace, leg, other, mine)]
    return _factor(trace, other, mine, column)


def _factor(trace: Trace, other: int, mine: int, column: str) -> list[str]:
    """The number of another candidate with which the stage that writes a column would raise this one most."""
    steps = zip(trace.stages, trace.moments, strict=False)
    ran = [(one, moment) for one, moment in steps if column in one.writes()]
    if not ran or not isinstance(stage := ran[-1][0], ColumnStage):
        return []
    columns = dict(ran[-1][1].columns)
    now, gains = float(columns[column][mine]), dict[str, float]()
    for name in (one for one in (*stage.reads(), *stage.may_read()) if one in columns.keys() - {column}):
        swapped = columns[name].copy()
        swapped[mine] = swapped[other]
        with np.errstate(all="ignore"):  # a number of another candidate may divide by 0 here
            gains[name] = float(stage.computed(columns | {name: swapped})[mine]) - now
    most = max(gains, key=lambda one: -math.inf if math.isnan(gains[one]) else gains[one], default="")
    if not most or not gains[most] > 0:
        return []
    one, two = (f"{columns[most][row]:.3g}" for row in (other, mine))
    mine_is = "none" if math.isnan(columns[most][mine]) else two
    lead = f"its {column_name(most, trace.names)} is {one}, and that of {_this(trace, mine)} is {mine_is}"
    leg = most.removesuffix("_score").removesuffix("_rank")
    return [lead, *_words(trace, leg, other, mine)]


def _number(part: float) -> float:
    return 0.0 if math.isnan(part) else float(part)


def _ranks(leg: str, one: float, two: float, this: str) -> str:
    mine = f"does not bring {this}" if math.isnan(two) else f"{this} at rank {two:.0f}"
    return f"the {leg} leg has it at rank {one:.0f}, and {mine}"


def _scores(leg: str, one: float, two: float, this: str) -> str:
    mine = "nothing" if math.isnan(two) else f"{two + 0.0:.3g}"  # never -0
    return f"the {leg} leg gives it {one + 0.0:.3g}, and {this} {mine}"


def _words(trace: Trace, leg: str, other: int, mine: int) -> list[str]:
    """The words that a leg of words asked for and one candidate has more often than another, in any form.

    Words of content come first. Where both have each word equally often, the lengths of both, if the first
    is shorter. Nothing of a score that is not made of what the leg brought.
    """
    asked = trace.legs[leg].asked if leg in trace.legs else None
    if leg == VectorLeg.name or not asked:
        return []
    scored = next((one for one in trace.stages if f"{leg}_score" in one.writes()), None)
    if scored is not None and not any(one.startswith(f"{leg}_") for one in scored.reads()):
        return []
    theirs, ours = (Counter(lower_words([trace.chunks[row].text])) for row in (other, mine))
    sought = {*lower_words([asked])}
    words = dict.fromkeys(one.lower() for one in unicode_words(trace.text))
    counts: dict[str, tuple[int, int]] = {}
    for word in (one for one in words if one in sought):
        forms = {one for one in {*theirs, *ours} if one == word or stems(one) & stems(word)}
        if forms:
            here, there = (sum(some[one] for one in forms) for some in (theirs, ours))
            counts[max(sorted(forms), key=theirs.__getitem__)] = here, there
    functions, this = STOP_WORDS | FUNCTION_WORDS, _this(trace, mine)
    ours_is = this if this.endswith("chunk") else f"{this}'s"  # chunk
    more = [word for word, (here, there) in counts.items() if here > there]
    if more:
        telling = [one for one in more if one not in functions] or more
        telling.sort(key=lambda one: (counts[one][1] > 0, counts[one][1] - counts[one][0]))
        whose = [f"{ours_is} ", *[""] * (MOST_WORDS - 1)]
        named = [
            f"“{one}” {_times(counts[one][0])} (and {of}{_times(counts[one][1])})"
            for one, of in zip(telling, whose, strict=False)
        ]
        return [f"its chunk has {', '.join(named)}"]
    one, two = theirs.total(), ours.total()
    if not counts or any(here != there for here, there in counts.values()) or one >= two:
        return []
    same = " and ".join(f"“{word}”" for word in sorted(counts, key=functions.__contains__)[:MOST_WORDS])
    return [f"its chunk has {same} as often, but in {one} words, and {ours_is} in {two}"]


def _times(count: int) -> str:
    return {0: "never", 1: "once", 2: "twice"}.get(count, f"{count} times")


def _below_text(trace: Trace, goal: Goal) -> str:
    """Of which parts the score of a file is that a floor drops; empty for another file.

    The parts are told only if they add up to what the floor compares: a stage after the fusion may change it.
    """
    mine = _best_row(trace, goal.path)
    drop = None if mine is None else trace.drop(mine)
    parts = parts_of(trace)
    if mine is None or drop is None or drop.kind is not DropKind.FLOOR:
        return ""
    whole = sum(_number(part[mine]) for part in parts.values())
    compared = [one.value for one in drop.misses if not isinstance(one.value, str)]
    if not parts or not any(math.isclose(whole, value, rel_tol=1e-9) for value in compared):
        return ""
    told = [
        f"none from the {leg} leg" if math.isnan(part[mine]) else f"{part[mine]:.3g} from the {leg} leg"
        for leg, part in parts.items()
    ]
    shown = " and ".join(str(one) for one in drop.misses)
    return f"{shown}; the parts of its score are {' and '.join(told)}"
