"""A live widget of one's own: the scores of a search, and a floor that a slider moves."""

import ipywidgets
from IPython.display import display

import workbench as wb
from workbench.views import plots


class Bars(ipywidgets.VBox):
    def __init__(self, trace):
        scores = [one.score for one in trace.candidates]
        self.floor = ipywidgets.FloatSlider(0.35, min=0.0, max=1.0, step=0.01, description="floor")

        def draw(floor):
            display(plots.scores(scores, [], threshold=floor))

        super().__init__([self.floor, ipywidgets.interactive_output(draw, {"floor": self.floor})])


wb.register(Bars)
