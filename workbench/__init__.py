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


_MEANT = {
    "index_folder(folder)": ("index", "build", "create_index", "build_index", "add"),
    "open_index(folder)": (
        "Index",
        "MemoryIndex",
        "load",
        "load_index",
        "connect",
        "read",
        "Workbench",
        "client",
    ),
    "search(question, system, index)": ("query", "ask", "find", "run", "retrieve"),
    "explain(trace, index, file)": ("why", "explanation"),
    "SYSTEMS": ("systems", "pipelines", "list_systems"),
    "load_questions(path)": ("questions", "read_questions"),
    "evaluate(questions, systems, index)": ("eval", "benchmark"),
    "from workbench.measure.paired import paired": ("compare", "paired"),
    "from workbench.retrieval.settings import with_settings": ("with_settings", "settings"),
    "from workbench.views import plots": ("plot", "plots"),
}
"""What to write for a name that the package does not have: a name of it, or the line that imports it."""


def _offered(name: str) -> str:
    """What to write in place of an unknown name of the package, or the nearest names."""
    for written, guesses in _MEANT.items():
        if name in guesses:
            return f"Perhaps you mean: {written if written.startswith('from ') else f'workbench.{written}'}"
    from difflib import get_close_matches

    from workbench.registry import FEATURES, has_feature

    if has_feature(name):
        return f"It is a feature: {FEATURES}.{name}"
    near = get_close_matches(name, __all__, n=3)
    return f"The nearest: {', '.join(near)}" if near else f"It has {', '.join(__all__)}"


def __getattr__(name: str) -> Any:
    if name not in _NAMES:
        offered = "" if name.startswith("_") else f". {_offered(name)}"
        raise AttributeError(f"module 'workbench' has no attribute {name!r}{offered}")
    module, inner = _NAMES[name]
    return getattr(import_module(module), inner)


def __dir__() -> list[str]:
    return __all__
