"""Why is this chunk in the answer, or not? Answered for every chunk of an index, found or not."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from pathlib import PurePath, PurePosixPath
from textwrap import shorten
from typing import Any

import numpy as np

from workbench.contracts import Context, Index
from workbench.errors import InputError, brief
from workbench.records import (
    KEPT,
    Candidate,
    Chunk,
    Compared,
    Fate,
    Leg,
    Shown,
    Stage,
    Trace,
    Vector,
    first_of,
    stage_name,
)
from workbench.retrieval.columns import ColumnStage
from workbench.retrieval.cutoff import Limit
from workbench.retrieval.expressions import Expression
from workbench.retrieval.fusion import WeightedSum
from workbench.retrieval.index_adapters import check_open, innermost, state_of
from workbench.retrieval.legs import LegRank, LegStage, Union, legs_of
from workbench.retrieval.picture import Mark, picture
from workbench.retrieval.pipeline import Running
from workbench.retrieval.scope import Scope
from workbench.safe_text import counted, one_line
from workbench.tables import Block, Fold, Part, Picture, hanging

OF_A_SCOPE = ("outside", "passing")
"""The fields of a rank that only a search with a scope has."""
LONGEST = 200
"""The largest number of a question's characters above an explanation."""


@dataclass(frozen=True)
class Verdict:
    """One chunk's fate, with its candidate if it was one, and its rank in each leg.

    `evidence` says of a candidate's columns what their formulas do not show, such as why one is absent.
    """

    chunk: Chunk
    fate: Fate
    candidate: Candidate | None
    leg_ranks: tuple[LegRank, ...]
    evidence: Mapping[str, str] = field(default_factory=dict)

    def lines(self, trace: Trace) -> list[str]:
        """The chunk with its fate, its rank in each leg, its formulas, and what each cut-off stage did."""
        lines = [one.line(trace.legs[one.leg].asked) for one in self.leg_ranks]
        if self.candidate is not None:
            known = steps(trace, trace.chunks.index(self.chunk))
            for step in known:
                lines += step.lines(trace.names, self.evidence.get(step.column, ""))
            absent = self.evidence.keys() - {step.column for step in known}
            lines += [self._told(column, trace.names) for column in sorted(absent)]
            lines += decision_lines(trace, self.candidate)
        if self.chunk.read_share < 1:
            lines.append(f"the model read {self.chunk.read_share:.0%} of this chunk")
        return [f"{self.chunk.location}: {self.fate}", *(f"  {line}" for line in lines)]

    def way(self, trace: Trace) -> list[str]:
        """The way through the stages in a few lines: its rank in each leg, its score, and what dropped it."""
        lines = [one.line(trace.legs[one.leg].asked) for one in self.leg_ranks]
        if self.candidate is None:
            return lines
        row = trace.chunks.index(self.chunk)
        scores = (step for step in steps(trace, row) if step.column == trace.ranked_by)
        lines += [line for step in scores for line in step.lines(trace.names)]
        lines += [self._told(column, trace.names) for column in self.evidence]
        moved = [str(one) for one in decisions(trace, row) if one.outcome is not StageOutcome.PASSED]
        dropped = moved if any("brought back" in one for one in moved) else moved[-1:]
        position = f"position {self.candidate.position} of {counted(len(trace.chunks), 'candidate')}"
        return [*lines, *dropped, position]

    def _told(self, column: str, names: Mapping[str, str]) -> str:
        """A column of the candidate, its number and the evidence for it."""
        number = self.candidate.numbers.get(column, math.nan) if self.candidate else math.nan
        shown = "absent" if math.isnan(number) else f"{number:.4g}"
        return f"{column_name(column, names)} {shown}: {self.evidence[column]}"

    def as_json(self, trace: Trace) -> dict[str, Any]:
        """The chunk with its fate, formulas and ranks; `trace` is that of the search."""
        chunk, found = self.chunk, self.candidate
        computed = steps(trace, trace.chunks.index(chunk)) if found else ()
        return {
            "path": chunk.path, "start_line": chunk.start_line, "end_line": chunk.end_line,
            "fate": self.fate.value,
            "dropped": found.drop.as_json() if found and found.drop else None,
            "candidate": found.as_json() if found else None,
            "formulas": {step.column: f"{step.formula}" for step in computed},
            "evidence": dict(self.evidence),
            "legs": [_rank_data(one) for one in self.leg_ranks],
            "read_share": chunk.read_share,
        }  # fmt: skip


def _rank_data(one: LegRank) -> dict[str, Any]:
    """The fields of a rank; those of a scope only where there is one."""
    fields = asdict(one) | {"missing": list(one.missing)}
    return fields if one.passing is not None else {k: v for k, v in fields.items() if k not in OF_A_SCOPE}


@dataclass(frozen=True, repr=False)
class Explanation(Shown):
    """What happened to a file in a search: the verdict on each of its chunks, best first.

    `unread` says why the index does not have the file, if it is in the memory's folder or beside it.
    """

    trace: Trace
    target: str
    fate: Fate
    verdicts: tuple[Verdict, ...]
    unread: str = ""

    def __repr__(self) -> str:
        """One line; `workbench.show` prints all, and a notebook shows all."""
        return f"<Explanation: {self.target} is {self.fate} for {self.trace.question!r}, {self.trace.system}>"

    def text(self, chunks: int = 3) -> str:
        """Why the file is in the answer or not, in words and numbers: the best `chunks` of its chunks."""
        trace, target = self.trace, self.target
        head = [f"“{trace.question}”", f"  system {trace.system}, file {target}: {self.fate.upper()}"]
        if self.fate is Fate.NEVER_INDEXED:
            return "\n".join(map(one_line, [*head, "", *self._absent_lines]))
        legs = [f"  {line}" for line in trace.asked_lines()[1:]]
        body = [line for one in self.verdicts[:chunks] for line in ["", *one.lines(trace)]]
        if others := _fates_text(self.verdicts[chunks:]):
            body += ["", f"its other chunks: {others}"]
        return "\n".join(map(one_line, [*head, *legs, *body]))

    @property
    def headline(self) -> str:
        """Why the file is in the answer or not, in a sentence, and what is missing in its score."""
        best = self.verdicts[0] if self.verdicts else None
        if best is None:
            return f"Not in the index: {self.target}."
        if best.candidate is None:
            return f"Not returned: {_unlisted_text(best, self.trace)}"
        if best.candidate.drop is None:
            paths = self.trace.paths()
            told = f"Returned: file {paths.index(self.target) + 1} of {len(paths)} in the answer"
            return f"{told}{_rescue_text(self.trace, best)}."
        drop = best.candidate.drop
        missed = " and ".join(map(str, drop.misses))
        sentences = [f"Not returned: the {stage_name(drop.stage)} drops it, {missed}."]
        return " ".join([*sentences, *missing_parts(self.trace, best)])

    @property
    def _absent_lines(self) -> list[str]:
        """Why the index does not have the file, and what would read it."""
        return (self.unread or _never_indexed_line(self.target)).split("\n")

    def view(self) -> list[Part]:
        """The headline, the way of the best chunk through the stages, and folded every number of the best."""
        about = f"“{shorten(self.trace.question, LONGEST, placeholder=' …')}” in {self.trace.system}"
        parts: list[Part] = [
            *self.trace.cautions,
            Block(self.headline, style="bold"),
            hanging(one_line(about)),
            *(hanging(one_line(note)) for note in self.trace.notes),
        ]
        if not self.verdicts:
            return [*parts, *(hanging(one_line(line)) for line in self._absent_lines)]
        best = self.verdicts[0]
        parts.append(best.chunk.location)
        parts += [hanging(one_line(f"  {line}")) for line in best.way(self.trace)]
        if others := _fates_text(self.verdicts[1:]):
            parts.append(hanging(f"Other chunks of the file: {others}."))
        return [*parts, Fold("Every number of its best chunks", self.details())]

    def details(self) -> list[Part]:
        """The lines of `text`; a long one continues below its own beginning."""
        return [hanging(line) for line in self.text().split("\n")]

    def page(self) -> list[Part]:
        """The search as a picture, and what is printed."""
        return [self.picture(), *self.view()]

    def picture(self) -> Picture:
        """The stages of the search with what left each of them, and where the file is lost."""
        trace, target = self.trace, self.target
        rows = [row for row, one in enumerate(trace.chunks) if one.path == target]
        drops = trace.dropped.tolist()
        mine = [drops[row] for row in rows]
        lost_at = KEPT if KEPT in mine else max(mine, default=KEPT)
        marks: dict[str, Mark] = {}
        for number, stage in enumerate(trace.stages):
            left = sum(drop == KEPT or drop > number for drop in drops)
            if isinstance(stage, LegStage) and (leg := trace.legs.get(stage.name)):
                rank = np.fmin.reduce(trace.columns[f"{stage.name}_rank"][rows], initial=np.inf)
                at = "without the file" if rank == np.inf else f"the file at {rank:.0f}"
                marks[stage.slot] = Mark("", f"{leg.hits.rows.size} found, {at}")
            elif isinstance(stage, Union | Limit) or number in drops:
                marks[stage.slot] = Mark("", f"{left} left")
            if number == lost_at or (not mine and isinstance(stage, Union)):
                marks[stage.slot] = Mark("lost", f"{left} left; the file is lost here")
        if KEPT in mine:
            paths = [one.chunk.path for one in trace.results]
            rank = paths.index(target) + 1
            words = f"{len(paths)} returned; the file at place {rank}"
            marks[trace.stages[-1].slot] = Mark("found", words)
        return picture(trace.stages, marks, f"“{trace.question}” in {trace.system}: {target} is {self.fate}")

    def as_json(self) -> dict[str, Any]:
        """The file's fate, and each chunk's, with formulas and ranks."""
        return {
            "question": self.trace.question, "system": self.trace.system, "target": self.target,
            "fate": self.fate.value, "indexed_otherwise": self.trace.indexed_otherwise,
            "chunks": [one.as_json(self.trace) for one in self.verdicts],
        }  # fmt: skip


def _fates_text(verdicts: Sequence[Verdict]) -> str:
    """How many chunks have each fate; empty for no chunk."""
    fates = Counter(one.fate.value for one in verdicts)
    return ", ".join(f"{count} {fate}" for fate, count in fates.items())


def _rescue_text(trace: Trace, verdict: Verdict) -> str:
    """For a candidate that a stage dropped and a later one brought back: both, and what was compared."""
    way = decisions(trace, trace.chunks.index(verdict.chunk))
    back = next((one for one in reversed(way) if one.outcome is StageOutcome.BROUGHT_BACK), None)
    if back is None:
        return ""
    dropping = [one for one in way[: way.index(back)] if one.outcome is StageOutcome.DROPPED][-1:]
    missed = [" and ".join(str(two) for two in one.compared if not two.reached) for one in dropping]
    by = [f"the {stage_name(one.stage)} dropped it, {why}" for one, why in zip(dropping, missed, strict=True)]
    return f"; {' and '.join([*by, f'the {stage_name(back.stage)} brought it back'])}"


def _unlisted_text(verdict: Verdict, trace: Trace) -> str:
    """Why a chunk is no candidate: its rank is beyond the depth of each leg that has it, or no leg has it."""
    outside = next((one.outside for one in verdict.leg_ranks if one.outside), "")
    if outside:
        return f"it is outside {outside}, and the scope drops it."
    beyond = [_beyond_text(one, trace.legs[one.leg]) for one in verdict.leg_ranks if one.rank is not None]
    return f"{', and '.join(beyond)}." if beyond else f"no leg lists it. {trace.empty_legs}".rstrip()


def _beyond_text(one: LegRank, leg: Leg) -> str:
    """Why a leg that lists a chunk does not bring it; with a scope, what this left of the first ones."""
    if leg.unasked:
        return f"the {one.leg} leg, in which it has rank {one.rank}, was not asked, since {leg.unasked}"
    if not leg.scope:
        return f"rank {one.rank} in the {one.leg} leg, which brings {one.depth}"
    looked_at = f"the {one.leg} leg looks at its first {counted(one.depth, 'chunk')}"
    return f"{looked_at}, {one.passing} of them in {leg.scope}, and this one has rank {one.rank}"


def missing_parts(trace: Trace, verdict: Verdict) -> list[str]:
    """A sentence for each leg that did not bring a candidate, with the share of the score that is missing."""
    row = trace.chunks.index(verdict.chunk)
    fusion = first_of(trace.stages, WeightedSum)
    sentences = []
    for one in verdict.leg_ranks:
        if one.brought:
            continue
        leg, column = trace.legs[one.leg], trace.columns.get(f"{one.leg}_score")
        why = f"The {one.leg} leg does not bring it." if leg.hits.rows.size else trace.empty_leg(leg)
        absent = column is not None and math.isnan(column[row])
        share = fusion.share(one.leg) if fusion is not None and absent else 0
        sentences.append(f"{why[:-1]}, so {100 * share:.0f} % of the score is missing." if share else why)
    return sentences


def _never_indexed_line(target: str) -> str:
    ending = PurePosixPath(target).suffix
    if ending not in ("", ".md", ".jsonl"):
        return (
            f"The index has no such file. The workbench reads Markdown (.md) and chat transcripts (.jsonl), "
            f"not {ending} files: convert it to Markdown."
        )
    return "The index has no such file. If it is in the memory's folder, `workbench index FOLDER` adds it."


def explain(trace: Trace, index: Index, target: str | PurePath, vector: Vector | None = None) -> Explanation:
    """The fate of the file `target` in `trace`, and of each of its chunks; NEVER_INDEXED for an unknown file.

    `index` must be the one that was searched, in the same state: what was beyond the pool is looked up
    there. If it may change meanwhile, put search and explain into one `index.snapshot()`. `vector` is the
    question's vector, if `search` was given one. Raises InputError for what is not a trace or not an index,
    and for a trace that was searched in another index, or in another generation of this one.
    """
    if not isinstance(trace, Trace):
        raise InputError(f"{trace!r} is not a trace.", "workbench.search(question, system, index) gives one.")
    check_open(index)
    path = target.as_posix() if isinstance(target, PurePath) else target
    if not isinstance(path, str) or not path.strip():
        raise InputError(f"{brief(path)} is not the path of a file.", "Give it as the index has it.")
    with index.snapshot():
        limit = next((stage.count for stage in trace.stages if isinstance(stage, Limit)), math.inf)
        context = Running(index.laid_out(trace.layout), trace.question, limit, vector)
        _check_searched(trace, index)
        return _explained(trace, context, path)


def _check_searched(trace: Trace, index: Index) -> None:
    """Raises InputError for a trace that was searched elsewhere: its ranks would not be true here."""
    if trace.searched is None or trace.searched == (now := state_of(index)):
        return
    (searched, _), (given, _) = trace.searched, now
    raise InputError(
        f"The trace was searched in {searched}, and not in {given}."
        if searched != given
        else f"The index {given} is no longer in the state in which the trace was searched.",
        "Search again in the index that you give: workbench.search(question, system, index)",
    )


def _explained(trace: Trace, context: Context, target: str) -> Explanation:
    rows = context.index.rows_of(target)
    if rows.size == 0:
        unread_near = getattr(innermost(context.index), "unread_near", None)  # an index of files has it
        there = None if unread_near is None else unread_near(target)
        return Explanation(trace, target, Fate.NEVER_INDEXED, (), one_line(str(there or "")))
    asked = [leg for leg in legs_of(trace.stages) if leg.name in trace.legs]
    scope = first_of(trace.stages, Scope)
    leg_ranks = [_scoped(leg.leg_ranks(trace, context, rows), scope, trace, target) for leg in asked]
    ran = [one for one, _ in zip(trace.stages, trace.moments, strict=False) if isinstance(one, ColumnStage)]
    read = {one.output: one.evidence(trace, context, rows) for one in ran}
    verdicts = [
        _verdict(
            trace,
            int(row),
            chunk,
            tuple(per_leg[i] for per_leg in leg_ranks),
            {column: told[i] for column, told in read.items() if told[i]},
        )
        for i, (row, chunk) in enumerate(zip(rows, context.index.chunks(rows), strict=True))
    ]
    verdicts.sort(key=_best_first)
    return Explanation(trace, target, verdicts[0].fate, tuple(verdicts))


def _scoped(ranks: list[LegRank], scope: Scope | None, trace: Trace, target: str) -> list[LegRank]:
    """The ranks of a file's chunks in a leg, with what a scope did to them."""
    if scope is None:
        return ranks
    outside = "" if scope.lets_pass(target) else scope.folders
    passing = [int(trace.legs[one.leg].hits.rows.size) for one in ranks]
    return [replace(one, outside=outside, passing=count) for one, count in zip(ranks, passing, strict=True)]


def _verdict(
    trace: Trace, row: int, chunk: Chunk, leg_ranks: tuple[LegRank, ...], evidence: Mapping[str, str]
) -> Verdict:
    found = np.flatnonzero(trace.rows == row)
    if found.size == 0:
        if any(leg_rank.outside for leg_rank in leg_ranks):
            return Verdict(chunk, Fate.FILTERED, None, leg_ranks)
        matched = any(leg_rank.rank is not None for leg_rank in leg_ranks)
        return Verdict(chunk, Fate.BEYOND_POOL if matched else Fate.NO_MATCH, None, leg_ranks)
    candidate = trace.candidate(int(found[0]))  # its chunk is the trace's: a recorded one is a whole file
    return Verdict(candidate.chunk, candidate.fate, candidate, leg_ranks, evidence)


def _best_first(verdict: Verdict) -> tuple[int, float, int, str]:
    position = verdict.candidate.position if verdict.candidate else math.inf
    nearest = min((s.rank for s in verdict.leg_ranks if s.rank is not None), default=1 << 31)
    return list(Fate).index(verdict.fate), position, nearest, verdict.chunk.id


def column_name(column: str, names: Mapping[str, str]) -> str:
    """What a person reads in place of the name of a column."""
    return names.get(column, column.replace("_", " "))


@dataclass(frozen=True)
class Step:
    """One computed number of a candidate: its column, and the formula that computed it."""

    column: str
    formula: Expression

    def __str__(self) -> str:
        """The column, its formula and its value: `score = 0.7 × 0.438 + 0.3 × 0 = 0.307`."""
        return f"{self.column.replace('_', ' ')} = {self._numbers}"

    @property
    def _numbers(self) -> str:
        value = f"{self.formula.value:.4g}"
        equals = "" if self.formula.text == value else f" = {value}"
        return f"{self.formula}{equals}"

    def lines(self, names: Mapping[str, str], evidence: str = "") -> list[str]:
        """The formula with the names of its numbers, if they have some, and below it with the numbers.

        What was read for it elsewhere than in the chunk comes last.
        """
        words, name = self.formula.in_words(names), column_name(self.column, names)
        below = [f"{' ' * len(name)}   {evidence}"] if evidence else []
        if words == self.formula.text:
            return [f"{name} = {self._numbers}", *below]
        if self._numbers == self.formula.text:
            return [f"{name} = {words} = {self._numbers}", *below]
        return [f"{name} = {words}", f"{' ' * len(name)} = {self._numbers}", *below]


def steps(trace: Trace, row: int, digits: int = 4) -> list[Step]:
    """How each computed number of the candidate in `row` was computed, in the order of the stages.

    Each formula uses the columns as they were when its stage ran. Raises InputError if a formula does not
    give the number that its stage computed, rather than print a false explanation.
    """
    computed = []
    for stage, moment in zip(trace.stages, trace.moments, strict=False):
        if isinstance(stage, ColumnStage) and not np.isnan(moment.columns[stage.output][row]):
            formula = stage.in_row(moment.columns, row, digits)
            _check_value(stage, formula.value, float(moment.columns[stage.output][row]))
            computed.append(Step(stage.output, formula))
    return computed


def _check_value(stage: ColumnStage, value: float, computed: float) -> None:
    if not (value == computed or math.isclose(value, computed, rel_tol=1e-9, abs_tol=1e-9)):
        raise InputError(
            f"The formula of the stage {stage.slot!r} gives {value:g} for a row that holds {computed:g}.",
            "Write the formula with NumPy functions alone, so that rows and columns take the same way.",
        )


def formula_lines(trace: Trace, candidate: Candidate) -> list[str]:
    """How each number of a candidate was computed, one line each."""
    return [str(step) for step in steps(trace, trace.chunks.index(candidate.chunk))]


class StageOutcome(StrEnum):
    """What a cut-off stage did with a candidate."""

    PASSED = "passed"
    DROPPED = "dropped"
    BROUGHT_BACK = "brought back"


@dataclass(frozen=True)
class Decision:
    """What one stage did with a candidate, and the thresholds that it compared at that moment."""

    stage: Stage
    outcome: StageOutcome
    compared: tuple[Compared, ...] = ()

    def __str__(self) -> str:
        """What was compared, and what the stage did: `score 0.349 < 0.350: the floor drops it, by 0.0006`."""
        name = stage_name(self.stage)
        if self.outcome is StageOutcome.BROUGHT_BACK:
            return f"brought back by the {name}: {self.stage.description.partition(': ')[2]}"
        if self.outcome is StageOutcome.PASSED:
            reached = " and ".join(str(one) for one in self.compared if one.reached)
            return f"{reached}: passes the {name}"
        return f"{' and '.join(map(str, self.compared))}: the {name} drops it{self._distance}"

    @property
    def _distance(self) -> str:
        """How far a number is from a threshold, if there is one threshold on a number."""
        if len(self.compared) != 1 or self.compared[0].at_most:
            return ""
        value, limit = self.compared[0].value, self.compared[0].limit
        if isinstance(value, str) or isinstance(limit, str) or math.isnan(value):
            return ""
        return f", by {limit - value:.3g}"


def decisions(trace: Trace, row: int) -> list[Decision]:
    """What each stage that drops or brings back candidates did with the candidate in `row`, in order."""
    found, was = [], KEPT
    for number, (stage, moment) in enumerate(zip(trace.stages, trace.moments, strict=False)):
        if not moment.dropped.size:
            continue
        now, cutoff = int(moment.dropped[row]), trace.cutoffs.get(number)
        if was != KEPT and now == KEPT:
            found.append(Decision(stage, StageOutcome.BROUGHT_BACK))
        elif cutoff is not None and cutoff.applied[row]:
            compared = tuple(one.compared(row) for one in cutoff.thresholds)
            outcome = StageOutcome.PASSED if now == KEPT else StageOutcome.DROPPED
            found.append(Decision(stage, outcome, compared))
        was = now
    return found


def decision_lines(trace: Trace, candidate: Candidate) -> list[str]:
    """What each stage that drops or restores candidates did with this one, and its final position."""
    lines = [str(one) for one in decisions(trace, trace.chunks.index(candidate.chunk))]
    ending = "returned" if candidate.drop is None else "not returned"
    return [*lines, f"{ending}; position {candidate.position} of {len(trace.chunks)}"]
