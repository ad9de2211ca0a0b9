"""The threshold lab as a widget of a notebook."""

from __future__ import annotations

from typing import Any

from workbench.figures import Figure
from workbench.measure.distributions import distribution
from workbench.views.living.notebook import Widget
from workbench.views.widgets.threshold_state import ThresholdState


class ThresholdLab(ThresholdState, Widget):
    """Settings that you move over the answers of evaluated pipelines: a floor, weights, constants.

    The settings are `system`, `question`, `min_score`, `moved` (other parameters, such as
    `{"fusion.vector": 0.5}`), `distribution` (histogram, share that passes, or strip) and `chunk`, the id of
    the selected one. Choosing a system also sets its own floor. `evaluation` is that of the moved pipeline,
    `scores` are its numbers, and `outcome` is what passes the floor: hits, precision, and the unanswerable
    questions for which nothing is returned.

    Raises InputError if there is no evaluation.
    """

    @property
    def figure(self) -> Figure:
        """The distribution around the threshold as a figure of plotly: to change, to save, and to reuse."""
        shape: Any = self.distribution.lower()
        return distribution(self.evaluation, shape, self.min_score)
