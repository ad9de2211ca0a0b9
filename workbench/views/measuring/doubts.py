"""The doubts about evaluations as a table, and the means of the measures that were asked."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType

from workbench.lab.checks.doubts import Doubts
from workbench.lab.evaluation import Evaluation
from workbench.views.console import PlainTable, plain
from workbench.views.text import rendered

NARROW = 20
"""The columns of a terminal that the kinds of doubts take, so that the sentences have room."""


@rendered.register
def rendered_doubts(found: Doubts) -> RenderableType:
    """One row for each doubt: its kind, and the system with the sentence."""
    if not found:
        return plain("No check of the evaluation has found a doubt about these numbers.")
    table = PlainTable(pad_edge=False)
    table.add_column("doubt", max_width=NARROW)
    table.add_column("what was found")
    for one in found:
        table.add_row(one.kind, str(one))
    return Group(plain("what these numbers do not say", "bold"), table)


def measures_table(evaluations: Sequence[Evaluation]) -> RenderableType:
    """The means of the measures that were asked, one row for each system."""
    table = PlainTable(pad_edge=False)
    table.add_column("system")
    for measure in evaluations[0].measures:
        table.add_column(str(measure), justify="right")
    for one in evaluations:
        table.add_row(one.pipeline.name, *(f"{mean:.3f}" for mean in one.by_measure.values()))
    return Group(plain(""), plain("means over all questions"), table)
