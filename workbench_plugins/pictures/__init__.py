"""Small pictures of numbers for notebooks: bars, curves and maps."""

from __future__ import annotations

from workbench.registry import declare

declare("workbench_plugins.pictures.drawing", name="bar_chart line_chart heat_map")
