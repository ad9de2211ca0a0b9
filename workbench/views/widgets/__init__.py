"""Widgets: a few named settings, a figure computed from them, and the same numbers as text.

You can set and read every widget without a browser. Guests and other packages declare theirs:
`declare("acme.widgets", widget="AcmeChart")`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from workbench.registry import declared, declared_module, load_extensions

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
    load_extensions()
    module = None if name.startswith("_") else declared_module("widget", name)
    if module is None:
        raise AttributeError(f"There is no widget {name!r}.")
    return getattr(module, name)


def __dir__() -> list[str]:
    load_extensions()
    return [*OWN, *declared("widget")]
