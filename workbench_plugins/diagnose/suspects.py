"""Where in a search a file is lost, and which stages behave as a fault does. Both order the causes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from workbench.measure.edits import LAYOUT
from workbench.measure.reruns import Reruns
from workbench.records import KEPT, Floats, Hits, Stage, Trace
from workbench.retrieval.columns import Columns
from workbench.retrieval.cutoff import Floor, Limit, MinScore, early_limits
from workbench.retrieval.fusion import Fusion
from workbench.retrieval.legs import KeywordLeg, LegStage, Union, VectorLeg, legs_of
from workbench.retrieval.own_stages import is_own
from workbench.retrieval.query import unicode_words, words_query
from workbench.safe_text import counted
from workbench_plugins.diagnose.parameters import Aim, Goal
from workbench_plugins.diagnose.stage_settings import is_known


def only_lets_in(runs: Reruns, goal: Goal) -> set[str]:
    """The slots of floors and other cuts that drop nothing of a wanted file: a repair there drops others."""
    trace = runs.base
    own = [number for number, chunk in enumerate(trace.chunks) if chunk.path == goal.path]
    cuts = {number for number, stage in enumerate(trace.stages) if number in trace.cutoffs or _cuts(stage)}
    if goal.aim is Aim.OUT or not own:
        return set()
    return {trace.stages[number].slot for number in cuts - {*trace.dropped[own].tolist()}}


def _cuts(stage: Stage) -> bool:
    return isinstance(stage, Floor | Limit)


def lost_in(runs: Reruns, goal: Goal) -> set[str]:
    """The slots in which the file may be lost: those before the candidates, those that rank, or a cut."""
    trace, limit = runs.base, runs.pipeline.limit
    slots = [stage.slot for stage in trace.stages]
    union = slots.index(Union.slot) if Union.slot in slots else 0
    own = [number for number, chunk in enumerate(trace.chunks) if chunk.path == goal.path]
    if not own:
        return {LAYOUT, *slots[:union]}
    fused = trace.columns.get("fused_place")
    files = list(dict.fromkeys(trace.chunks[row].path for row in trace.order.tolist()))
    if goal.path in files[: int(min(limit, len(files)))]:
        return {slots[number] for number in trace.dropped[own].tolist() if number != KEPT}
    if fused is not None and np.nanmin(fused[own]) <= limit:
        return {"rerank", "order"}
    return set(slots[union + 1 :]) - {"floor", "limit", "fold"}


@dataclass(frozen=True)
class Suspects:
    """Slots that may be at fault in a search.

    `ways` says in words what the stage of a slot does as a fault does, in most searches. `odd` are these and
    the other slots that behave as a fault does, `lost` those in which the file may be lost, and `lets_in` the
    cuts that drop nothing of it. `lowered` are the slots whose stages take most of the file's score.
    """

    ways: Mapping[str, str]
    odd: Collection[str]
    lost: Collection[str]
    lets_in: Collection[str]
    lowered: Collection[str] = ()

    def with_lowered(self, lowered: Collection[str]) -> Suspects:
        """The same with the slots whose stages take most of the file's score."""
        return replace(self, odd={*self.odd, *lowered}, lowered=lowered)


def suspects(runs: Reruns, traces: Sequence[Trace], goal: Goal) -> Suspects:
    """The suspects of a search, by it and by the searches for other questions."""
    ways, lost = _wrong_ways(runs.pipeline.stages, traces), lost_in(runs, goal)
    odd = {*ways, *_odd_slots(runs, traces, goal), *(lost & {"rerank"})}
    return Suspects(ways, odd, lost, only_lets_in(runs, goal))


INNER_JOIN = "it keeps only what all legs bring, and loses what one leg alone brings"
TURNED = "upside down, it scores a better hit of a leg below a worse one"
TURNED_RANK = "upside down, it ranks what has the best score below what has the worst"


def _wrong_ways(stages: Sequence[Stage], traces: Sequence[Trace]) -> dict[str, str]:
    """What stages do as a fault does in most searches, by their slots, each in the words that fit best."""
    unusual = {stage.slot for stage in stages if not is_known(stage.slot, stage)}
    return {
        **dict.fromkeys(_in_most(traces, _turned_rank), TURNED_RANK),
        **dict.fromkeys(_in_most(traces, _turned_score), TURNED),
        **dict.fromkeys(unusual & inner_joins(traces), INNER_JOIN),
    }


def _odd_slots(runs: Reruns, traces: Sequence[Trace], goal: Goal) -> set[str]:
    """The other slots whose stages behave as a fault does.

    They do not follow the order that they name, or cut before it, or make one number of all scores; they
    hide the file from a leg; or they are a query of one's own that finds nothing, where a plain one does.
    """
    own = {stage.slot for stage in runs.pipeline.stages if not is_known(stage.slot, stage)}
    silent = {*_silent_query(runs, goal)}
    flat = _in_most(traces, _flat)
    hides = {*_hidden(runs, goal), *_cut_early(runs.base)}
    return _in_most(traces, _unsorted) | (own & (flat | silent)) | hides


def _turned_rank(trace: Trace) -> Iterator[str]:
    """The stages of one's own that turn the scores, or the order, that stages before them have made."""
    for number, stage in enumerate(trace.stages[: len(trace.moments)]):
        before, after = trace.moments[number - 1], trace.moments[number]
        score = before.columns.get("score")
        if not number or not is_own(stage) or score is None:
            continue
        made = [after.columns[name] for name in stage.writes() if name in ("score", trace.ranked_by)]
        if before.order.size == after.order.size > 2 and stage.slot != "order":
            made.append(-np.argsort(after.order).astype(float))  # the first place is the largest number
        for values in made:
            known = ~np.isnan(score) & ~np.isnan(values)
            if (
                known.sum() > 2
                and values[known][score[known].argmax()] < values[known][score[known].argmin()]
            ):
                yield stage.slot


def _in_most(traces: Sequence[Trace], slots_of: Callable[[Trace], Iterator[str]]) -> set[str]:
    found = Counter(slot for trace in traces for slot in {*slots_of(trace)})
    return {slot for slot, count in found.items() if 2 * count > len(traces)}


def _turned_fusion(trace: Trace) -> Iterator[str]:
    """The fusion, if among the hits that one leg alone brought the first scores less than the last."""
    ranks = {leg: trace.columns[f"{leg}_rank"] for leg in trace.legs if f"{leg}_rank" in trace.columns}
    for stage, moment in zip(trace.stages, trace.moments, strict=False):
        if stage.slot != "fusion" or "score" not in moment.columns:
            continue
        score = moment.columns["score"]
        for leg, rank in ranks.items():
            known = ~np.isnan(rank) & ~np.isnan(score)
            for name, other in ranks.items():
                known &= np.isnan(other) if name != leg else True
            if known.sum() > 1 and score[known][rank[known].argmin()] < score[known][rank[known].argmax()]:
                yield stage.slot


def _scored(trace: Trace) -> Iterator[tuple[str, Floats, Floats]]:
    """Each slot that scores a leg's hits, with the leg's own numbers and the scores: larger is better."""
    for stage in trace.stages:
        for column in stage.writes():
            relevance = trace.columns.get(f"{column.removesuffix('_score')}_relevance")
            score = trace.columns.get(column)
            if relevance is None or score is None or not column.endswith("_score"):
                continue
            known = ~np.isnan(relevance) & ~np.isnan(score)
            if known.sum() > 2:
                yield stage.slot, relevance[known], score[known]


def _turned_score(trace: Trace) -> Iterator[str]:
    """The stages that score what a leg ranks best below what it ranks worst."""
    yield from _turned_fusion(trace)
    for slot, relevance, score in _scored(trace):
        if score[relevance.argmax()] < score[relevance.argmin()]:
            yield slot


MANY_NUMBERS = 5
"""A leg that gives so many numbers tells its hits apart."""


def _flat(trace: Trace) -> Iterator[str]:
    """The stages that make one or two numbers of the many of a leg."""
    for slot, relevance, score in _scored(trace):
        if np.unique(relevance).size >= MANY_NUMBERS and np.unique(score).size <= 2:
            yield slot


def _silent_query(runs: Reruns, goal: Goal) -> Iterator[str]:
    """The query's slot, if the keyword leg brings nothing and the question's words, each alone, the file."""
    trace, index = runs.base, runs.context.index
    legs = [one for one in legs_of(runs.pipeline.stages) if isinstance(one, KeywordLeg)]
    query = words_query(unicode_words(trace.question), "OR")
    brought = any(trace.legs[one.name].hits.rows.size for one in legs if one.name in trace.legs)
    if query is None or not legs or brought:
        return
    if has(index.keyword(query, index.size), index.rows_of(goal.path)):
        yield "query"


def inner_joins(traces: Sequence[Trace]) -> set[str]:
    """The slots that keep only what every leg brought, in each search whose legs bring different chunks.

    A stage of candidates leaves the others out, a fusion gives them no score, and another stage drops them.
    """
    found = [_joined(trace) for trace in traces]
    telling = [slots for slots in found if slots is not None]
    return set.intersection(*telling) if telling else set()


def _joined(trace: Trace) -> set[str] | None:
    """The slots that lose just what one leg alone brought; None where the legs tell nothing."""
    brought = [set(leg.hits.rows.tolist()) for leg in trace.legs.values()]
    common = set.intersection(*brought) if len(brought) > 1 else set()
    alone = set.union(*brought) - common if common else set()
    if not alone:
        return None
    lost = {Union.slot: {*alone, *common} - {*trace.rows.tolist()}}
    for number, (stage, moment) in enumerate(zip(trace.stages, trace.moments, strict=False)):
        scores = moment.columns.get("score") if stage.slot == "fusion" else None
        away = trace.dropped == number if scores is None else np.isnan(scores)
        lost[stage.slot] = lost.get(stage.slot) or {*trace.rows[away].tolist()} if away.size else set()
    return {slot for slot, rows in lost.items() if rows == alone and slot != Limit.slot}


def drops_all(traces: Sequence[Trace]) -> float | None:
    """The best number that a floor compares in all searches, if it drops every candidate of each.

    None if it leaves one.
    """
    best = [each for one in traces if (each := _best_of_dropped(one)) is not None]
    searched = [trace for trace in traces if trace.rows.size]
    return max(best) if best and len(best) == len(searched) else None


def _best_of_dropped(trace: Trace) -> float | None:
    """The best number that the floor compares, if it drops every candidate of a search."""
    for number, stage in enumerate(trace.stages):
        if isinstance(stage, MinScore):
            numbers = trace.columns.get(stage.of, np.empty(0))
            known = numbers.size > 0 and not np.isnan(numbers).all()
            return float(np.nanmax(numbers)) if known and (trace.dropped == number).all() else None
    return None


def parts_of(trace: Trace) -> dict[str, Floats]:
    """Each leg's part of the score, by candidate; empty where a fusion has no parts of legs."""
    for stage, moment in zip(trace.stages, trace.moments, strict=False):
        if not isinstance(stage, Fusion):
            continue
        if not all(f"{leg}_rank" in moment.columns for leg in stage.legs):
            return {}  # a part without a rank is no leg's
        try:
            return dict(zip(stage.legs, stage.contributions(Columns(moment.columns)), strict=True))
        except NotImplementedError:  # a fusion of one's own may have a formula without parts
            return {}
    return {}


def ends_of_parts(trace: Trace) -> dict[str, tuple[float, float]]:
    """The least and the greatest part of the score by leg; empty where a fusion has no parts of legs."""
    known = {leg: part[~np.isnan(part)] for leg, part in parts_of(trace).items()}
    return {leg: (float(part.min()), float(part.max())) for leg, part in known.items() if part.size}


def scales_apart(trace: Trace, slot: str) -> str:
    """A sentence for a fusion of two scales: all parts of one leg are above 1, and those of another are not.

    It is empty where they are not, and for a slot that neither fuses nor makes one of these scores.
    """
    ends = ends_of_parts(trace)
    large = max(ends, key=lambda leg: ends[leg][0], default="")
    small = min(ends, key=lambda leg: ends[leg][1], default="")
    slots = (Fusion.slot, f"{large}_score", f"{small}_score")
    if not ends or slot not in slots or not ends[large][0] > 1 >= ends[small][1]:
        return ""
    every, other = (f"the {leg} leg ({_range(*ends[leg])})" for leg in (large, small))
    return f"; here each part of {every} is above all of {other}"


def _range(low: float, high: float) -> str:
    return f"{low:.3g}" if low == high else f"{low:.3g} to {high:.3g}"


def _unsorted(trace: Trace) -> Iterator[str]:
    """The stage in the slot `order`, if the column that it names does not fall along its order."""
    for number, stage in enumerate(trace.stages[: len(trace.moments)]):
        moment, by = trace.moments[number], getattr(stage, "by", "score")
        if stage.slot == "order" and by in moment.columns:
            values = moment.columns[by][moment.order]
            if (np.diff(values[~np.isnan(values)]) > 0).any():
                yield stage.slot


def _cut_early(trace: Trace) -> Iterator[str]:
    """The limits before the order that drop what the order would put before something that they keep."""
    return (limit.slot for limit in early_limits(trace.stages) if _better_dropped(trace, limit))


def _better_dropped(trace: Trace, limit: Limit) -> int:
    """How many chunks a limit drops that rank above one that it keeps."""
    ranked, number = trace.columns[trace.ranked_by], trace.stage_number(limit)
    left = (trace.dropped == KEPT) | (trace.dropped > number)
    return int((ranked[trace.dropped == number] > np.fmin.reduce(ranked[left], initial=np.inf)).sum())


def early_text(trace: Trace, slot: str) -> str:
    """A remark for a limit that stands before the order in this slot, with what it costs; empty for none."""
    for limit in early_limits(trace.stages):
        better = _better_dropped(trace, limit)
        if limit.slot == slot and better:
            told = f"{counted(better, 'chunk')} with a higher {trace.ranked_by.replace('_', ' ')}"
            return f", before the order sorts them: it drops {told} than one that it keeps"
    return ""


def plain_leg(stage: LegStage) -> KeywordLeg | VectorLeg | None:
    """The workbench's leg for what a leg of its kind, or one of one's own under its name, brings."""
    plain = {one.slot: one for one in (KeywordLeg(), VectorLeg())}.get(stage.slot)
    ours = isinstance(stage, type(plain)) if plain else False
    return plain if ours or is_own(stage) else None


def _hidden(runs: Reruns, goal: Goal) -> Iterator[str]:
    """The legs that cannot bring the file at any depth, although the index finds it for the same query.

    And those that bring fewer hits than the answer may have, if the file is beyond them.
    """
    trace, index, limit = runs.base, runs.context.index, runs.pipeline.limit
    wanted = index.rows_of(goal.path)
    for leg in (one for one in legs_of(runs.pipeline.stages) if plain_leg(one) is not None):
        every = leg.every(trace, runs.context) if leg.name in trace.legs else None
        plain = plain_leg(leg)
        if every is None or plain is None:
            continue
        reached, brought = has(every, wanted), has(trace.legs[leg.name].hits, wanted)
        hidden = has(plain.every(trace, runs.context), wanted) and not reached
        if hidden or (leg.deepest(limit) < limit and reached and not brought):
            yield leg.slot


def has(hits: Hits | None, rows: np.ndarray) -> bool:
    """Whether any of these rows is among the hits."""
    return hits is not None and bool(np.isin(rows, hits.rows).any())
