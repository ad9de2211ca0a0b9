"""A workbench for hybrid search: a folder of memories becomes an index, a question becomes a trace.

Its names stand once, in `__init__.pyi`, where editors and mypy read them, and so does this module. Each is
imported at its first use, so `import workbench` is fast, and torch is loaded only if texts are embedded.
"""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import Any

__version__ = "0.1.0"

_NAMES = {
    name: (module, inner)
    for module, inner, name in re.findall(
        r"^from (\S+) import (\w+) as (\w+)\b", Path(__file__).with_suffix(".pyi").read_text("utf-8"), re.M
    )
}
"""For each name its module, and what it is called there: no function of the package hides Python's `open`."""

__all__ = sorted(_NAMES)


def __getattr__(name: str) -> Any:
    if name not in _NAMES:
        raise AttributeError(f"module 'workbench' has no attribute {name!r}")
    module, inner = _NAMES[name]
    return getattr(import_module(module), inner)


def __dir__() -> list[str]:
    return __all__
