"""How a widget writes its numbers and its pipeline as code."""

from __future__ import annotations

from workbench.retrieval.pipeline import Pipeline
from workbench.systems.catalogue import SYSTEMS

GIVEN = "# `index` is the index that the widget was given.\n"
"""The first line of a widget's code."""


def number_text(value: float, step: float) -> str:
    """A number with the decimals of its slider's step, or with all of its decimals if it has more.

    >>> number_text(0.3, 0.01), number_text(0.123, 0.01), number_text(60, 1)
    ('0.30', '0.123', '60')
    """
    decimals = max(0, -int(f"{step:e}".partition("e")[2]))
    text = f"{value:.{decimals}f}"
    return text if abs(float(text) - value) < 1e-9 else f"{value:g}"


def pipeline_code(pipeline: Pipeline) -> list[str]:
    """Lines of code that set `pipeline`: by its name if it is registered, else from the evaluations."""
    if SYSTEMS.get(pipeline.name) == pipeline:
        return [f"pipeline = wb.system({pipeline.name!r})"]
    return [
        "# `evaluations` are those that the widget was given.",
        f"pipeline = next(one.pipeline for one in evaluations if one.pipeline.name == {pipeline.name!r})",
    ]
