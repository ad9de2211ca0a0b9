"""Widgets: a few named settings, a figure computed from them, and the same numbers as text.

You can set and read every widget without a browser.
"""

from workbench.views.widgets.diagnosis import BlameChart, FixFinder, SweepMap
from workbench.views.widgets.explorer import QuestionExplorer
from workbench.views.widgets.fusion import FusionLab
from workbench.views.widgets.microscope import Microscope
from workbench.views.widgets.prediction import Prediction
from workbench.views.widgets.survival import SurvivalChart
from workbench.views.widgets.threshold import ThresholdLab

__all__ = [
    "BlameChart",
    "FixFinder",
    "FusionLab",
    "Microscope",
    "Prediction",
    "QuestionExplorer",
    "SurvivalChart",
    "SweepMap",
    "ThresholdLab",
]
