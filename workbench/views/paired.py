"""Paired comparisons of evaluations, in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Group, RenderableType

from workbench.lab.evaluation import Evaluation
from workbench.lab.paired import HITS, paired_with_first
from workbench.views.console import PlainTable, plain


def rendered_paired(evaluations: Sequence[Evaluation], measure: Any = HITS) -> RenderableType:
    """The verdict on each later evaluation against the first, one line each; there must be a first."""
    first = evaluations[0].pipeline.name
    table = PlainTable(pad_edge=False)
    for head in ("system", f"{measure}, question by question"):
        table.add_column(head)
    for one, verdict in zip(evaluations[1:], paired_with_first(evaluations, measure), strict=True):
        table.add_row(one.pipeline.name, str(verdict))
    return Group(plain(""), plain(f"compared with {first}"), table)
