"""The doubts about an evaluation, as sentences below its tables."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType

from workbench.lab.checks.doubts import Doubt
from workbench.lab.evaluation import Evaluation
from workbench.views.console import PlainTable, plain


def rendered_doubts(found: Sequence[Doubt]) -> RenderableType:
    """One line for each doubt."""
    return Group(plain(""), plain("what these numbers do not say"), *(plain(f"- {one}") for one in found))


def measures_table(evaluations: Sequence[Evaluation]) -> RenderableType:
    """The means of the measures that were asked, one row for each system."""
    table = PlainTable(pad_edge=False)
    table.add_column("system")
    for measure in evaluations[0].measures:
        table.add_column(str(measure), justify="right")
    for one in evaluations:
        table.add_row(one.pipeline.name, *(f"{mean:.3f}" for mean in one.by_measure.values()))
    return Group(plain(""), plain("means over all questions"), table)
