"""Paired comparisons of evaluations, in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Group, RenderableType

from workbench.lab.evaluation import Evaluation
from workbench.lab.paired import HITS, Paired, paired_with_first
from workbench.views.console import PlainTable, plain
from workbench.views.text import ABSENT, rendered


def rendered_paired(evaluations: Sequence[Evaluation], measure: Any = HITS) -> RenderableType:
    """The verdict on each later evaluation against the first, one line each; there must be a first."""
    first = evaluations[0].pipeline.name
    table = PlainTable(pad_edge=False)
    for head in ("system", f"{measure}, question by question"):
        table.add_column(head)
    for one, verdict in zip(evaluations[1:], paired_with_first(evaluations, measure), strict=True):
        table.add_row(one.pipeline.name, str(verdict))
    return Group(plain(""), plain(f"compared with {first}"), table)


@rendered.register
def rendered_one(verdict: Paired) -> RenderableType:
    """The verdict in words, and the figures behind it."""
    table = PlainTable(pad_edge=False)
    heads = ("measure", "questions", "better on", "worse on", "mean change", "95 % interval", "p")
    for head in heads:
        table.add_column(head, justify="left" if head == "measure" else "right")
    interval = verdict.interval
    table.add_row(
        verdict.measure,
        *map(str, (verdict.n, verdict.wins, verdict.losses)),
        _signed(verdict.difference),
        " to ".join(map(_signed, interval)) if interval else ABSENT,
        f"{verdict.p_holm:.3g}",
    )
    return Group(plain(str(verdict)), table)


def _signed(value: float) -> str:
    return f"{value:+.3f}".replace("-", "−")
