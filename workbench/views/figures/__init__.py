"""Plain plotly figures, drawn from numbers that other modules compute."""

from workbench.views.figures.explorer import explorer_figure
from workbench.views.figures.fusion import fusion_figure
from workbench.views.figures.microscope import microscope_figure
from workbench.views.figures.reliability import reliability_figure
from workbench.views.figures.survival import survival_figure
from workbench.views.figures.sweep import pareto_figure, sweep_figure
from workbench.views.figures.threshold import threshold_figure

__all__ = [
    "explorer_figure",
    "fusion_figure",
    "microscope_figure",
    "pareto_figure",
    "reliability_figure",
    "survival_figure",
    "sweep_figure",
    "threshold_figure",
]
