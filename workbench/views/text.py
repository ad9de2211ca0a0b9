"""Traces, explanations and evaluations in words and tables. No arithmetic on scores happens here."""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Sequence
from functools import singledispatch
from pathlib import PurePosixPath
from textwrap import shorten, wrap
from typing import Any, cast

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from workbench.records import KEPT, Candidate, Compared, Stage, Trace
from workbench.retrieval.explain import (
    Decision,
    Explanation,
    Fate,
    StageOutcome,
    Verdict,
    decisions,
    fate_of,
    steps,
)
from workbench.retrieval.legs import Standing
from workbench.retrieval.pipeline import Difference, Differences
from workbench.safe_text import counted, one_line
from workbench.views import register_every_view
from workbench.views.console import PlainConsole, PlainTable, plain

ABSENT = "–"
ALL_FLIPS = "the attribute flips has all"
"""Where Python has the flipped questions that are not printed; the command line says its own way."""
WIDTH = 106
"""As many columns as a notebook shows on a small laptop, with JupyterLab's list of files open."""


def apart(value: float, limit: float) -> tuple[str, str]:
    """Two numbers with three decimals, or with as many more as it takes to tell them apart.

    >>> apart(0.3071, 0.35), apart(0.34996, 0.35)
    (('0.307', '0.350'), ('0.34996', '0.35000'))
    """
    for digits in range(3, 17):
        left, right = f"{value:.{digits}f}", f"{limit:.{digits}f}"
        if value == limit or left != right:
            break
    return left, right


def _number(value: float, pattern: str = ".3f") -> str:
    return ABSENT if value != value else format(value, pattern)


@singledispatch
def rendered(thing: Any) -> RenderableType:
    """A trace, an explanation, evaluations or a pipeline in a form that the console can print."""
    if isinstance(thing, str):
        return Text(thing)
    if hasattr(thing, "__rich_console__"):
        return cast("RenderableType", thing)
    register_every_view()
    view = rendered.dispatch(type(thing))
    if view is not rendered.dispatch(object):
        return view(thing)
    from workbench.views.measuring.evaluations import rendered_evaluations  # which imports this module

    return rendered_evaluations(thing) if isinstance(thing, list) else Text(str(thing))


def show(thing: Any) -> None:
    """Prints `rendered(thing)`: as wide as the terminal, or WIDTH columns into a notebook or a file."""
    # Into a notebook as text, like print: as HTML rich sets it larger, and too wide for the page.
    styles: dict[str, Any] = {"force_terminal": True, "color_system": "standard"} if _in_notebook() else {}
    console = PlainConsole(force_jupyter=False, **styles)
    if not sys.stdout.isatty():
        console.width = WIDTH
    console.print(rendered(thing), soft_wrap=isinstance(thing, str))


def _in_notebook() -> bool:
    return PlainConsole().is_jupyter


@rendered.register
def rendered_trace(trace: Trace, width: int = 24) -> RenderableType:
    """A search: its queries, a table of its results, and what was dropped."""
    parts: list[RenderableType] = [plain(line, "dim") for line in asked_lines(trace)]
    if trace.results:
        parts.append(candidates_table(trace.results, trace, width))
    parts += map(plain, outcome_lines(trace))
    return Group(*parts)


def asked_lines(trace: Trace) -> list[str]:
    """One line per leg with its query and its number of hits, and the trace's notes."""
    lines = [trace.system]
    for leg in trace.legs.values():
        asked = leg.asked or "no query, since the question has no word that this leg can search"
        lines.append(f"{leg.name} leg: {asked} → {leg.hits.rows.size} of at most {leg.depth}")
    return [*lines, *trace.notes]


def candidates_table(
    candidates: Sequence[Candidate], trace: Trace, width: int = 24, fates: bool = False
) -> PlainTable:
    """One line per candidate: its scores, its rank in each leg, its path and lines, and how it begins.

    With `fates`, also what happened to it, and why.
    """
    table = PlainTable()
    columns = _number_columns(trace)
    for head in ("#", *(_head(trace, name) for name in columns)):
        table.add_column(head, justify="right", no_wrap=True)
    table.add_column("chunk", no_wrap=True)
    table.add_column("text", style="dim")  # the only column that gives way where the page is narrow
    for head in ("fate", "why") if fates else ():
        table.add_column(head)
    for found in candidates:
        table.add_row(
            str(found.position),
            *(_number(found.numbers[name], pattern) for name, pattern in columns.items()),
            found.chunk.place,
            plain(shorten(found.chunk.text, width, placeholder="…"), no_wrap=True, overflow="ellipsis"),
            *((fate_of(found).value, drop_reason(found)) if fates else ()),
        )
    return table


def _number_columns(trace: Trace) -> dict[str, str]:
    """The columns that a table of candidates shows, with the pattern of each."""
    shown = {trace.ranked_by: ".3f", "score": ".3f"}
    for leg in sorted(trace.legs, key=lambda name: name != "vector"):
        shown |= {f"{leg}_score": ".3f", f"{leg}_rank": ".0f"}
    return {name: pattern for name, pattern in shown.items() if name in trace.columns}


def _head(trace: Trace, column: str) -> str:
    """The head of a column: its name, and under it the scale that the stage which computed it names."""
    leg, _, what = column.rpartition("_")
    if what == "rank":
        named = f"{leg}_score" in trace.columns  # the score of the leg, beside it, names the leg
        return "\nrank" if named else f"{leg}\nrank"
    name = leg if leg in trace.legs else column.replace("_", " ")
    return f"{name}\n{trace.scales.get(column, what)}"


def outcome_lines(trace: Trace) -> list[str]:
    """How many candidates each stage dropped, in the stages' order, and how near an empty answer came."""
    candidates = trace.candidates
    dropped = Counter(trace.stages[place].says for place in sorted(trace.dropped) if place != KEPT)
    lines = [f"{count} dropped by the {says}" for says, count in dropped.items()]
    if not candidates:
        return ["Nothing found: no leg brought a candidate."]
    if trace.results:
        return lines
    best = candidates[0]
    return ["Nothing returned.", *lines, f"The first in order was {best.chunk.place}: {drop_reason(best)}."]


def drop_reason(candidate: Candidate) -> str:
    """Why a candidate was dropped, in words: the thresholds that it missed, and the stage."""
    drop = candidate.drop
    if drop is None:
        return "returned"
    return f"{' and '.join(map(_missed, drop.misses))}, so the {_name(drop.stage)} drops it"


def _name(stage: Stage) -> str:
    return stage.slot.replace("_", " ")


def _missed(miss: Compared) -> str:
    return f"{miss.measure} {_compared(miss)}"


def _compared(miss: Compared) -> str:
    """A value beside its limit: `0.349 < 0.350`, with as many decimals as it takes to tell them apart."""
    if isinstance(miss.value, str) or isinstance(miss.limit, str):
        return f"{miss.value} is {'one' if miss.reached else 'none'} of {miss.limit}"
    if math.isnan(miss.value):
        return "is absent"
    if miss.at_most:
        return f"{miss.value:g} {'≤' if miss.reached else '>'} {miss.limit:g}"
    value, limit = apart(miss.value, miss.limit)
    return f"{value} {'≥' if miss.reached else '<'} {limit}"


@rendered.register
def rendered_explanation(explanation: Explanation) -> RenderableType:
    """`explanation_text` for the console; a long line continues below its own beginning."""
    return Group(*(_hanging(line) for line in explanation_text(explanation).split("\n")))


def _hanging(line: str) -> RenderableType:
    text = line.lstrip()
    return Padding.indent(Text(text), len(line) - len(text)) if text else Text()


def explanation_text(explanation: Explanation, chunks: int = 3) -> str:
    """Why a file is in the answer or not, in words and numbers: the best `chunks` of its chunks."""
    trace, target = explanation.trace, explanation.target
    head = [f"“{trace.question}”", f"  system {trace.system}, file {target}: {explanation.fate.upper()}"]
    if explanation.fate is Fate.NEVER_INDEXED:
        return "\n".join([*map(one_line, head), "", one_line(_never_indexed_line(target))])
    shown = explanation.verdicts[:chunks]
    body = [line for verdict in shown for line in ["", *_verdict_lines(trace, verdict)]]
    rest = Counter(verdict.fate.value for verdict in explanation.verdicts[chunks:])
    if rest:
        others = ", ".join(f"{count} {fate}" for fate, count in rest.items())
        body += ["", f"its other chunks: {others}"]
    legs = [f"  {line}" for line in asked_lines(trace)[1:]]
    return "\n".join(map(one_line, [*head, *legs, *body]))


def _never_indexed_line(target: str) -> str:
    ending = PurePosixPath(target).suffix
    if ending not in ("", ".md", ".jsonl"):
        return (
            f"The index has no such file. The workbench reads Markdown (.md) and chat transcripts (.jsonl), "
            f"not {ending} files: convert it to Markdown."
        )
    return "The index has no such file. If it is in the memory's folder, `workbench index FOLDER` adds it."


def _verdict_lines(trace: Trace, verdict: Verdict) -> list[str]:
    lines = [f"{verdict.chunk.place}: {verdict.fate}"]
    lines += [
        f"  {_standing_line(standing, trace.legs[standing.leg].asked)}" for standing in verdict.standings
    ]
    if verdict.candidate is not None:
        lines += [f"  {line}" for line in formula_lines(trace, verdict.candidate)]
        lines += [f"  {line}" for line in decision_lines(trace, verdict.candidate)]
    if verdict.chunk.read_share < 1:
        lines.append(f"  the model read {verdict.chunk.read_share:.0%} of this chunk")
    return lines


def _matches(chunks: int) -> str:
    return f"{counted(chunks, 'chunk')} {'matches' if chunks == 1 else 'match'}"


def _standing_line(standing: Standing, asked: str | None) -> str:
    lacks = _words(standing.missing)
    if standing.rank is None:
        nothing = ", the question has no word to match" if asked is None else ""
        reason = f", it lacks {lacks}" if lacks else nothing
        return f"{standing.leg} leg: no match{reason} ({_matches(standing.matched)})"
    place = f"{standing.leg} leg: rank {standing.rank} of {standing.matched}"
    raw = f"{standing.number} {standing.raw:.4g}"
    pool = "" if standing.brought else f", beyond this leg's depth of {standing.depth}"
    return f"{place}, {raw}{pool}" + (f", without {lacks}" if lacks else "")


def _words(words: Sequence[str]) -> str:
    return ", ".join(f"“{word}”" for word in words)


def formula_lines(trace: Trace, candidate: Candidate) -> list[str]:
    """How each number of a candidate was computed: `score = 0.7 × 0.438 + 0.3 × 0 = 0.307 < 0.35`."""
    row = trace.chunks.index(candidate.chunk)
    lines = []
    for step in steps(trace, row):
        value = float(step.formula)
        shown = f"{value:.4g}"
        equals = "" if step.formula.text == shown else f" = {shown}"
        lines.append(f"{step.column.replace('_', ' ')} = {step.formula}{equals}")
    return lines


def decision_lines(trace: Trace, candidate: Candidate) -> list[str]:
    """What each stage that drops or restores candidates did with this one, and its final position."""
    row = trace.chunks.index(candidate.chunk)
    lines = [_decision_line(one) for one in decisions(trace, row)]
    ending = "returned" if candidate.drop is None else "not returned"
    return [*lines, f"{ending}; position {candidate.position} of {len(trace.chunks)}"]


def _decision_line(decision: Decision) -> str:
    name = _name(decision.stage)
    if decision.outcome is StageOutcome.BROUGHT_BACK:
        return f"brought back by the {name}: {decision.stage.says.partition(': ')[2]}"
    if decision.outcome is StageOutcome.PASSED:
        reached = [one for one in decision.compared if one.reached]
        return f"{' and '.join(map(_missed, reached))}: passes the {name}"
    compared = " and ".join(map(_missed, decision.compared))
    return f"{compared}: the {name} drops it{_by(decision.compared)}"


def _by(compared: Sequence[Compared]) -> str:
    """How far a number is from a threshold, if there is one threshold on a number."""
    if len(compared) != 1 or compared[0].at_most:
        return ""
    value, limit = compared[0].value, compared[0].limit
    if isinstance(value, str) or isinstance(limit, str) or math.isnan(value):
        return ""
    return f", by {limit - value:.3g}"


@rendered.register
def rendered_diff(differences: Differences) -> RenderableType:
    """`diff_text` for the console."""
    return Text(diff_text(differences))


def diff_text(differences: Sequence[Difference]) -> str:
    """The differences between two pipelines as lines of − and +, at most WIDTH wide."""
    lines = []
    for one in differences:
        lines.append(one.slot)
        lines += _signed("−", one.before.says) if one.before else []
        lines += _signed("+", one.after.says) if one.after else []
    return "\n".join(lines) or "no difference"


def _signed(sign: str, says: str) -> list[str]:
    return wrap(says, WIDTH, initial_indent=f"  {sign} ", subsequent_indent="    ", break_on_hyphens=False)
