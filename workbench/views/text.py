"""Traces, explanations and systems in words and tables, and the tables and the console of all views.

No number is computed here that a result does not have: only how far a value is from its threshold. Only this
module makes rich's consoles and tables. Names, notes and questions reach them as plain text: no text is read
as markup, and no control character gets out.
"""

from __future__ import annotations

import math
import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import asdict, dataclass, replace
from functools import singledispatch
from importlib import import_module
from pathlib import PurePosixPath
from textwrap import shorten, wrap
from typing import Any, NamedTuple, cast

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.padding import Padding
from rich.segment import Segment
from rich.style import StyleType
from rich.table import Table as RichTable
from rich.text import Text

from workbench.records import KEPT, Candidate, Compared, Stage, Trace
from workbench.registry import declare, declared_module
from workbench.retrieval.explain import (
    Decision,
    Explanation,
    Fate,
    StageOutcome,
    Step,
    Verdict,
    decisions,
    fate_of,
    steps,
)
from workbench.retrieval.legs import LegRank
from workbench.retrieval.pipeline import Difference, Differences, Pipeline
from workbench.safe_text import counted, one_line, own_keys, visible, without_own_keys


class PlainConsole(Console):
    """A console that reads no markup, and makes control characters visible in whatever it prints."""

    def __init__(self, **options: Any) -> None:
        super().__init__(markup=False, emoji=False, highlight=False, **options)
        self._own_keys = own_keys()

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """The segments of a renderable, without control characters and without this process's own keys."""
        for segment in super().render(renderable, options):
            if segment.control:
                yield segment
            else:
                yield Segment(visible(without_own_keys(segment.text, self._own_keys)), segment.style)


class PlainTable(RichTable):
    """A table whose cells are plain text, each in one line of its own until it has to be folded."""

    def __init__(self, *headers: str, padding: tuple[int, ...] = (0, 1), **options: Any) -> None:
        super().__init__(box=None, padding=padding, header_style="bold", **options)  # type: ignore[arg-type]
        for header in headers:
            self.add_column(header)

    def add_column(self, header: RenderableType = "", *more: Any, **options: Any) -> None:
        """Adds a column; a header that is a string is plain text. Long words are folded, never cut."""
        shown = Text(visible(header)) if isinstance(header, str) else header
        super().add_column(shown, *more, **{"overflow": "fold", **options})

    def add_row(
        self, *cells: RenderableType | None, style: StyleType | None = None, end_section: bool = False
    ) -> None:
        """Adds a row; a cell that is a string is plain text in one line."""
        texts = [plain(cell) if isinstance(cell, str) else cell for cell in cells]
        super().add_row(*texts, style=style, end_section=end_section)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The table; where it is wider than the page, every column may be folded, so that no name is cut."""
        table = self
        if Measurement.get(console, options, self).minimum >= options.max_width:
            table = copy(self)
            table.columns = [replace(one, no_wrap=False) for one in self.columns]
        return super(PlainTable, table).__rich_console__(console, options)


def plain(text: str, style: str = "", **options: Any) -> Text:
    """One line of plain text: line ends inside of it are made visible, so that no text can add a line."""
    return Text(one_line(text), style=style, **options)


class Column(NamedTuple):
    """A column of a table: `type` is a type of pandas, or how text is printed (see LOOKS)."""

    name: str
    type: str = "text"


LOOKS: Mapping[str, Mapping[str, Any]] = {
    "number": {"justify": "right", "no_wrap": True},
    "whole": {"no_wrap": True},
    "narrow": {"max_width": 20},
    "dim": {"style": "dim"},
}
"""How a column is printed by its type; every other type is printed as it comes."""


@dataclass(frozen=True)
class Table:
    """A result as a table: a caption, columns with their types, and rows. A string is a column of text.

    `rich_table`, `html_table` (in `workbench.views.html`) and `json_rows` turn it into what a terminal, a
    page and JSON take.
    """

    caption: str
    columns: Sequence[Column | str]
    rows: Sequence[Sequence[Any]]

    @property
    def typed(self) -> list[Column]:
        """The columns, each with its type."""
        return [Column(one) if isinstance(one, str) else one for one in self.columns]

    @property
    def header(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(one.name for one in self.typed)


def numbers(*names: str) -> list[Column]:
    """Columns of numbers that are written as text: printed to the right."""
    return [Column(name, "number") for name in names]


def rich_table(table: Table) -> PlainTable:
    """The table for a terminal, without its caption."""
    made = PlainTable(pad_edge=False)
    for column in table.typed:
        made.add_column(column.name, **LOOKS.get(column.type, {}))
    for row in table.rows:
        made.add_row(*row)
    return made


def json_rows(table: Table) -> list[dict[str, Any]]:
    """The rows for JSON, each with the names of its columns."""
    return [dict(zip(table.header, row, strict=True)) for row in table.rows]


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


declare("workbench.views.blame", view="Blame")
declare(
    "workbench.views.results",
    view="Evaluation Evaluations Paired MeasuringWarnings MissedQuestions Survival Survivals Scores",
)


@singledispatch
def rendered(thing: Any) -> RenderableType:
    """A trace, an explanation, evaluations or a pipeline in a form that the console can print."""
    if isinstance(thing, str):
        return Text(thing)
    if hasattr(thing, "__rich_console__"):
        return cast("RenderableType", thing)
    if declared_view(thing):
        return rendered.dispatch(type(thing))(thing)
    if isinstance(thing, list):
        made: RenderableType = import_module("workbench.views.results").rendered_evaluations(thing)
        return made
    return Text(str(thing))


def declared_view(thing: Any) -> bool:
    """Imports the module that shows values of this type, if a guest has declared one."""
    return any(declared_module("view", one.__name__) for one in type(thing).__mro__)


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

    The first column numbers the lines. With `fates`, also what happened to a candidate, and why.
    """
    shown = _number_columns(trace)
    names = ("#", *(_head(trace, name) for name in shown))
    rows = (
        (
            str(rank),
            *(_number(found.numbers[name], pattern) for name, pattern in shown.items()),
            found.chunk.place,
            plain(_beginning(found.chunk.text, width), no_wrap=True, overflow="ellipsis"),
            *((fate_of(found).value, drop_reason(found)) if fates else ()),
        )
        for rank, found in enumerate(candidates, 1)
    )
    # The text is the only column that gives way where the page is narrow.
    columns = [*numbers(*names), Column("chunk", "whole"), Column("text", "dim")]
    return rich_table(Table("", [*columns, *(("fate", "why") if fates else ())], list(rows)))


FRONT_MATTER = re.compile(r"\A---\n.*?\n(?:---|\.\.\.)(?:\n|\Z)", re.DOTALL)


def _beginning(text: str, width: int) -> str:
    """How a text begins after its front matter; a text of front matter alone begins with that."""
    return shorten(FRONT_MATTER.sub("", text).strip() or text, width, placeholder="…")


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
    return Group(*(hanging(line) for line in explanation_text(explanation).split("\n")))


def hanging(line: str) -> RenderableType:
    """A line that continues below its own beginning where the page is narrow."""
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
        f"  {leg_rank_line(leg_rank, trace.legs[leg_rank.leg].asked)}" for leg_rank in verdict.leg_ranks
    ]
    if verdict.candidate is not None:
        lines += [f"  {line}" for line in formula_lines(trace, verdict.candidate)]
        lines += [f"  {line}" for line in decision_lines(trace, verdict.candidate)]
    if verdict.chunk.read_share < 1:
        lines.append(f"  the model read {verdict.chunk.read_share:.0%} of this chunk")
    return lines


def _matches(chunks: int) -> str:
    return f"{counted(chunks, 'chunk')} {'matches' if chunks == 1 else 'match'}"


def leg_rank_line(leg_rank: LegRank, asked: str | None) -> str:
    """Where a leg has a chunk: its rank and the engine's number, or why it has none."""
    leg, lacks = f"{leg_rank.leg} leg", _words(leg_rank.missing)
    if leg_rank.rank is None and asked is not None and not lacks:
        return f"{leg}: not among the {counted(leg_rank.matched, 'chunk')} that it lists{leg_rank.beyond}"
    if leg_rank.rank is None:
        reason = f": it does not find {lacks}" if lacks else ", the question has no word to match"
        return f"{leg}: no match{reason} ({_matches(leg_rank.matched)})"
    raw = f"{leg_rank.number} {leg_rank.raw:.4g}"
    pool = "" if leg_rank.brought else f", beyond this leg's depth of {leg_rank.depth}"
    place = f"{leg}: rank {leg_rank.rank} of {leg_rank.matched}, {raw}{pool}"
    return place + (f", without a match for {lacks}" if lacks else "")


def _words(words: Sequence[str]) -> str:
    return ", ".join(f"“{word}”" for word in words)


def formula_lines(trace: Trace, candidate: Candidate) -> list[str]:
    """How each number of a candidate was computed: `score = 0.7 × 0.438 + 0.3 × 0 = 0.307 < 0.35`."""
    return [formula_line(step) for step in steps(trace, trace.chunks.index(candidate.chunk))]


def formula_line(step: Step) -> str:
    """How one number of a candidate was computed."""
    value = f"{step.formula.value:.4g}"
    equals = "" if step.formula.text == value else f" = {value}"
    return f"{step.column.replace('_', ' ')} = {step.formula}{equals}"


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


SHOWN = 10
"""The number of results that a comparison shows of each answer."""


def systems_table(pipelines: Sequence[Pipeline]) -> PlainTable:
    """One line per system: its name, its source, and its changes."""
    rows = [
        (
            one.name,
            " ".join(filter(None, (one.source.repository, one.source.release, one.source.issue))),
            ", ".join(change.name for change in one.changes) or ABSENT,
        )
        for one in pipelines
    ]
    return rich_table(Table("", (Column("system", "whole"), "source", "changes"), rows))


def system_data(pipeline: Pipeline) -> dict[str, Any]:
    """A system: its stages by slot, its changes, and its source."""
    return {
        "name": pipeline.name,
        "layout": pipeline.layout.says if pipeline.layout else None,
        "stages": [{"slot": stage.slot, "says": stage.says} for stage in pipeline.stages],
        "changes": [{"name": one.name, "slot": one.stage.slot, "why": one.why} for one in pipeline.changes],
        "source": asdict(pipeline.source),
    }


def diff_data(differences: Sequence[Difference]) -> list[dict[str, Any]]:
    """The differences by slot; null if a system has no such stage."""
    rows = [(one.slot, one.before and one.before.says, one.after and one.after.says) for one in differences]
    return json_rows(Table("", ("slot", "before", "after"), rows))


def comparison_table(traces: Sequence[Trace]) -> RenderableType:
    """The answers to the same question, with one column per system."""
    results = [trace.results for trace in traces]
    places = range(min(SHOWN, max(map(len, results), default=0)))
    rows = [(str(place + 1), *(_cell(some, place) for some in results)) for place in places]
    table = Table("", [*numbers("#"), *(one_line(trace.system) for trace in traces)], rows)
    asked = plain(f"“{traces[0].question}”" if traces else "")
    empty = (
        plain(f"{trace.system}: nothing returned, of {len(trace.chunks)} candidates")
        for trace in traces
        if not trace.results
    )
    return Group(asked, rich_table(table), *empty)


def _cell(results: Sequence[Candidate], place: int) -> str:
    if place >= len(results):
        return ABSENT
    found = results[place]
    return f"{found.score:.3f} {found.chunk.place}"
