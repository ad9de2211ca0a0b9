"""The figures as a notebook names them: `plots.scores(right, other, unanswerable, threshold=0.35)`.

Each takes plain numbers, so that it draws those of any system, and returns a figure of plotly. A result of
the workbench draws itself with `result.plot()`.
"""

from __future__ import annotations

from workbench.figures import Figure as Figure
from workbench.figures import answered as answered
from workbench.figures import bars as bars
from workbench.figures import evidence as evidence
from workbench.figures import heat_map as heat_map
from workbench.figures import lines as lines
from workbench.figures import prices as prices
from workbench.figures import ranks as ranks
from workbench.figures import reliability as reliability
from workbench.figures import scores as scores
from workbench.figures import stated as stated
from workbench.figures import survival as survival
from workbench.figures import waterfall as waterfall
