"""The parts of a printed view as HTML: lines, tables, and indented blocks.

The views of `workbench.show` are made of a few parts of rich. Each becomes HTML here, so that a notebook has
the same words and numbers as a terminal. Every text is escaped, and control characters are made visible.

A pipeline as a picture: its stages as boxes, parallel ones above each other, changed ones marked.

What `_repr_mimebundle_` gives: a value as HTML for notebooks, and as text for everything else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import singledispatch
from html import escape
from io import StringIO
from itertools import groupby, zip_longest
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from workbench.records import Stage, Trace
from workbench.retrieval.columns import ColumnStage
from workbench.retrieval.cutoff import Limit
from workbench.retrieval.explain import Explanation
from workbench.retrieval.legs import LegStage, Union
from workbench.retrieval.pipeline import Pipeline
from workbench.safe_text import visible, without_own_keys
from workbench.views.text import (
    WIDTH,
    PlainConsole,
    PlainTable,
    Table,
    candidates_table,
    explanation_text,
    rendered,
    rich_table,
)

NAME = "workbench-shown"
STYLE = f"<style>{Path(__file__).with_name('shown.css').read_text(encoding='utf-8')}</style>"
"""The look of all shown values: the page's own colours, so that both themes are readable."""


def safe(text: str) -> str:
    """A text as HTML: escaped, without control characters, and without this process's own keys."""
    return escape(visible(without_own_keys(text)))


def framed(content: str) -> str:
    """HTML with the look of shown values."""
    return f'{STYLE}<div class="{NAME}">{content}</div>'


@singledispatch
def part(shown: RenderableType) -> str:
    """The HTML of one part of a printed view."""
    return _line(str(shown), "")


@part.register
def _group(shown: Group) -> str:
    return "".join(map(part, shown.renderables))


@part.register
def _padding(shown: Padding) -> str:
    return f'<div style="margin-left:{shown.left}ch">{part(shown.renderable)}</div>'


@part.register
def _text(shown: Text) -> str:
    return _line(shown.plain, str(shown.style))


def _line(text: str, style: str) -> str:
    words = safe(text) or "&nbsp;"
    words = f"<b>{words}</b>" if "bold" in style else words
    return f'<div class="line{" dim" if "dim" in style else ""}">{words}</div>'


@part.register
def _table(shown: PlainTable, caption: str = "") -> str:
    classes = [_classes(str(column.justify), column.no_wrap, str(column.style)) for column in shown.columns]
    names = (
        f'<th scope="col"{kind}>{_plain(column.header)}</th>'
        for column, kind in zip(shown.columns, classes, strict=True)
    )
    head = f"<thead><tr>{''.join(names)}</tr></thead>" if shown.show_header else ""
    rows = zip_longest(*(list(column.cells) for column in shown.columns), fillvalue="")
    body = "".join(f"<tr>{_row(row, classes)}</tr>" for row in rows)
    caption = f"<caption>{safe(caption)}</caption>" if caption else ""
    return f"<table>{caption}{head}<tbody>{body}</tbody></table>"


def html_table(table: Table) -> str:
    """The table with its caption."""
    return _table(rich_table(table), table.caption)


def _row(cells: tuple[RenderableType, ...], classes: list[str]) -> str:
    """A row, whose first cell is its header: screen readers use it."""
    first, *others = (f"{kind}>{_plain(cell)}" for cell, kind in zip(cells, classes, strict=True))
    return f'<th scope="row"{first}</th>' + "".join(f"<td{one}</td>" for one in others)


def _classes(justify: str, whole: bool, style: str) -> str:
    said = {"right": justify == "right", "whole": whole, "dim": "dim" in style}
    names = " ".join(name for name, yes in said.items() if yes)
    return f' class="{names}"' if names else ""


def _plain(cell: RenderableType) -> str:
    return safe(cell.plain if isinstance(cell, Text) else str(cell))


def schematic(pipeline: Pipeline) -> str:
    """The stages from left to right with arrows between them; legs and their scores are above each other.

    A changed stage has a thick border and the name of its change. The sentence and the columns of a stage
    are in its tooltip.
    """
    changed = {
        change.stage.slot: ("changed", f"+{change.name}")
        for change in pipeline.changes
        if _is_used(pipeline, change.stage)
    }
    return _flow(pipeline.stages, changed, f"the stages of {pipeline.name}")


def passage(explanation: Explanation) -> str:
    """The stages of a search with what left each of them, and where the file that is explained is lost."""
    trace, target = explanation.trace, explanation.target
    rows = [row for row, one in enumerate(trace.chunks) if one.path == target]
    drops = [-1 if one.drop is None else trace.place_of(one.drop.stage) for one in trace.candidates]
    mine = [drop for drop, one in zip(drops, trace.candidates, strict=True) if one.chunk.path == target]
    marks: dict[str, tuple[str, str]] = {}
    for place, stage in enumerate(trace.stages):
        left = sum(drop < 0 or drop > place for drop in drops)
        if isinstance(stage, LegStage) and (leg := trace.legs.get(stage.name)):
            rank = np.fmin.reduce(trace.columns[f"{stage.name}_rank"][rows], initial=np.inf)
            at = "without the file" if rank == np.inf else f"the file at {rank:.0f}"
            marks[stage.slot] = ("", f"{leg.hits.rows.size} found, {at}")
        elif isinstance(stage, Union | Limit) or place in drops:
            marks[stage.slot] = ("", f"{left} left")
        if (place == max(mine) and -1 not in mine) if mine else isinstance(stage, Union):
            marks[stage.slot] = ("lost", f"{left} left; the file is lost here")
    if -1 in mine:
        paths = [one.chunk.path for one in trace.results]
        marks[trace.stages[-1].slot] = (
            "found",
            f"{len(paths)} returned; the file at place {paths.index(target) + 1}",
        )
    return _flow(trace.stages, marks, f"“{trace.question}” in {trace.system}: {target} is {explanation.fate}")


def _flow(stages: Sequence[Stage], marks: Mapping[str, tuple[str, str]], label: str) -> str:
    """The stages as boxes; `marks` has a class and words for some of them."""
    steps = (
        f'<div class="step">{"".join(_box(stage, *marks.get(stage.slot, ("", ""))) for stage in group)}</div>'
        for group in parallel(stages)
    )
    arrow = '<span class="arrow" aria-hidden="true">→</span>'
    return f'<div class="flow" role="img" aria-label="{safe(label)}">{arrow.join(steps)}</div>'


def _is_used(pipeline: Pipeline, stage: Stage) -> bool:
    """Whether a change's stage is still in the pipeline, and not replaced by a later change."""
    return stage in pipeline.stages


def parallel(stages: Sequence[Stage]) -> list[list[Stage]]:
    """The stages in groups: neighbouring legs, and neighbouring scores that do not need each other."""
    groups: list[list[Stage]] = []
    for kind, several in groupby(stages, key=_kind):
        for stage in several:
            if kind and groups and _kind(groups[-1][0]) == kind and not _needs(stage, groups[-1]):
                groups[-1].append(stage)
            else:
                groups.append([stage])
    return groups


def _kind(stage: Stage) -> str:
    if isinstance(stage, LegStage):
        return "leg"
    return "score" if isinstance(stage, ColumnStage) and stage.output != "score" else ""


def _needs(stage: Stage, others: Sequence[Stage]) -> bool:
    read = {*stage.reads(), *stage.may_read()}
    return any(read & set(other.writes()) for other in others)


def _box(stage: Stage, kind: str, words: str) -> str:
    names = " ".join(filter(None, ("stage", "leg" if isinstance(stage, LegStage) else "", kind)))
    name = safe(stage.slot.replace("_", " "))
    mark = f"<small>{safe(words)}</small>" if words else ""
    return f'<span class="{names}" title="{safe(_tooltip(stage))}">{name}{mark}</span>'


def _tooltip(stage: Stage) -> str:
    columns = (("reads", (*stage.reads(), *stage.may_read())), ("writes", stage.writes()))
    return "\n".join([stage.says, *(f"{verb} {', '.join(names)}" for verb, names in columns if names)])


MOST = 48
"""The number of candidates that a trace lists; `to_frame()` has all."""


def bundle(thing: Any) -> dict[str, str]:
    """The value by media type: `text/html` for a notebook, `text/plain` as `workbench.show` prints it."""
    return {"text/plain": text_of(thing), "text/html": framed(html_of(thing))}


def text_of(thing: Any) -> str:
    """What `workbench.show` prints, as a string without colours, WIDTH columns wide."""
    out = StringIO()
    PlainConsole(file=out, width=WIDTH, color_system=None, force_jupyter=False).print(rendered(thing))
    return "\n".join(line.rstrip() for line in out.getvalue().rstrip("\n").split("\n"))


@singledispatch
def html_of(thing: Any) -> str:
    """The value as HTML, without the page's style: by default the parts of its printed view."""
    return part(rendered(thing))


@html_of.register
def _trace(trace: Trace) -> str:
    """The printed view, and all candidates with their fates below it, folded."""
    if len(trace.results) == len(trace.candidates):
        return part(rendered(trace))
    every = trace.candidates
    shown = every[:MOST]
    table = part(candidates_table(shown, trace, fates=True))
    some = (
        f"all {len(every)} candidates"
        if len(every) <= MOST
        else f"the first {MOST} of {len(every)} candidates"
    )
    return f"{part(rendered(trace))}<details><summary>{some} and their fates</summary>{table}</details>"


@html_of.register
def _explanation(explanation: Explanation) -> str:
    """The search as a picture, and the printed lines; those that name question and chunks are bold."""
    lines = explanation_text(explanation).split("\n")
    indents = [len(line) - len(line.lstrip()) for line in lines]
    texts = (Text(line.lstrip(), "" if n else "bold") for line, n in zip(lines, indents, strict=True))
    words = Group(*(Padding.indent(text, n) for text, n in zip(texts, indents, strict=True)))
    return f"{passage(explanation)}{part(words)}"


@html_of.register
def _pipeline(pipeline: Pipeline) -> str:
    """The stages as a picture, and below it what is printed."""
    return f"{schematic(pipeline)}{part(rendered(pipeline))}"
