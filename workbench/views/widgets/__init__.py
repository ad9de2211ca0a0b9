"""Widgets: a few named settings, a figure computed from them, and the same numbers as text.

You can set and read every widget without a browser. Features and other packages add theirs, as the rows of
WIDGETS and with `wb.register(AcmeChart)`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from workbench.registry import WIDGETS

OWN = {
    "Prediction": "prediction",
    "SurvivalChart": "survival",
    "ThresholdLab": "threshold",
}


def __getattr__(name: str) -> Any:
    if name == "__all__":  # what `import *` asks for
        return __dir__()
    if name in OWN:
        return getattr(import_module(f"{__name__}.{OWN[name]}"), name)
    if name.startswith("_") or name not in WIDGETS:
        raise AttributeError(f"There is no widget {name!r}.")
    return WIDGETS[name]


def __dir__() -> list[str]:
    return [*OWN, *WIDGETS]
