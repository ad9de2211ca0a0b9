"""Figures, as plain plotly figures: each is drawn from numbers that were computed elsewhere."""

from workbench.views.figures.threshold import threshold_figure

__all__ = ["threshold_figure"]
