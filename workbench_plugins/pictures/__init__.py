"""Small pictures of numbers for notebooks: bars, curves, maps and distributions."""

from __future__ import annotations

from workbench.registry import declare

declare("workbench_plugins.pictures.drawing", name="bar_chart line_chart heat_map")
declare("workbench_plugins.pictures.plotted", "lab", name="score_figure")
