"""A workbench for hybrid search: a folder of memories becomes an index, a question becomes a trace.

Each name below is imported at its first use, so `import workbench` is fast, and torch is loaded only if texts
are embedded.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from workbench.errors import InputError
    from workbench.lab.diagnose.blame import blame
    from workbench.lab.diagnose.diagnosis import diagnose
    from workbench.lab.evaluation import evaluate
    from workbench.lab.questions import load_questions
    from workbench.lab.sweep.running import sweep
    from workbench.lab.thresholds import scores
    from workbench.memory.embedding.local import LocalEmbedder, ToyEmbedder
    from workbench.memory.sync import index_folder, open_index
    from workbench.records import Trace
    from workbench.retrieval.explain import explain
    from workbench.retrieval.pipeline import Pipeline, search
    from workbench.systems.indexing import indexing
    from workbench.systems.opening import open_memory as open  # noqa: A004
    from workbench.systems.registry import SYSTEMS, register, system
    from workbench.views.frames.tables import table
    from workbench.views.text import show
    from workbench.views.widgets.selection import selection

_HOMES = {
    "InputError": "workbench.errors",
    "Trace": "workbench.records",
    "LocalEmbedder": "workbench.memory.embedding.local",
    "ToyEmbedder": "workbench.memory.embedding.local",
    "index_folder": "workbench.memory.sync",
    "open_index": "workbench.memory.sync",
    "Pipeline": "workbench.retrieval.pipeline",
    "search": "workbench.retrieval.pipeline",
    "explain": "workbench.retrieval.explain",
    "indexing": "workbench.systems.indexing",
    "open": "workbench.systems.opening",
    "SYSTEMS": "workbench.systems.registry",
    "register": "workbench.systems.registry",
    "system": "workbench.systems.registry",
    "load_questions": "workbench.lab.questions",
    "blame": "workbench.lab.diagnose.blame",
    "diagnose": "workbench.lab.diagnose.diagnosis",
    "evaluate": "workbench.lab.evaluation",
    "scores": "workbench.lab.thresholds",
    "sweep": "workbench.lab.sweep.running",
    "selection": "workbench.views.widgets.selection",
    "show": "workbench.views.text",
    "table": "workbench.views.frames.tables",
}

# Inside the package no function hides Python's own `open`.
_THERE = {"open": "open_memory"}

__all__ = [
    "SYSTEMS",
    "InputError",
    "LocalEmbedder",
    "Pipeline",
    "ToyEmbedder",
    "Trace",
    "blame",
    "diagnose",
    "evaluate",
    "explain",
    "index_folder",
    "indexing",
    "load_questions",
    "open",
    "open_index",
    "register",
    "scores",
    "search",
    "selection",
    "show",
    "sweep",
    "system",
    "table",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'workbench' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), _THERE.get(name, name))


def __dir__() -> list[str]:
    return __all__
