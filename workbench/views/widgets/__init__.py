"""Widgets: a few named settings, a figure computed from them, and the same numbers as text.

You can set and read every widget without a browser. Features and other packages add theirs, as the rows of
WIDGETS and with `wb.register(AcmeChart)`.
"""

from __future__ import annotations

from typing import Any

from workbench.registry import WIDGETS, load

OWN = {
    "Prediction": "workbench.views.widgets.prediction:Prediction",
    "SurvivalChart": "workbench.views.widgets.survival:SurvivalChart",
    "ThresholdLab": "workbench.views.widgets.threshold:ThresholdLab",
}
"""The library's own widgets: rows as those of the features, imported when they are used."""


def __getattr__(name: str) -> Any:
    if name == "__all__":  # what `import *` asks for
        return __dir__()
    if name in OWN:
        return load(name, OWN[name])
    if name.startswith("_") or name not in WIDGETS:
        raise AttributeError(f"There is no widget {name!r}.")
    return WIDGETS[name]


def __dir__() -> list[str]:
    return [*OWN, *WIDGETS]
