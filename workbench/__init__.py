"""A workbench for hybrid search: a folder of memories becomes an index, a question becomes a trace.

Each name below is imported at its first use, so `import workbench` is fast, and torch is loaded only if texts
are embedded.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workbench.errors import InputError as InputError
    from workbench.measure.blame import blame as blame
    from workbench.measure.evaluation import evaluate as evaluate
    from workbench.measure.questions import load_questions as load_questions
    from workbench.measure.thresholds import scores as scores
    from workbench.memory.embedding.local import LocalEmbedder as LocalEmbedder
    from workbench.memory.embedding.local import ToyEmbedder as ToyEmbedder
    from workbench.memory.opening import open_memory as open  # noqa: A004, F401
    from workbench.memory.sync import index_folder as index_folder
    from workbench.memory.sync import open_index as open_index
    from workbench.records import Trace as Trace
    from workbench.retrieval.explain import explain as explain
    from workbench.retrieval.pipeline import Pipeline as Pipeline
    from workbench.retrieval.pipeline import search as search
    from workbench.systems.catalogue import SYSTEMS as SYSTEMS
    from workbench.systems.catalogue import indexing as indexing
    from workbench.systems.catalogue import register as register
    from workbench.systems.catalogue import system as system
    from workbench.views.living.selection import selection as selection
    from workbench.views.show import show as show
    from workbench.views.show import table as table

__version__ = "0.1.0"


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
    "indexing": "workbench.systems.catalogue",
    "open": "workbench.memory.opening",
    "SYSTEMS": "workbench.systems.catalogue",
    "register": "workbench.systems.catalogue",
    "system": "workbench.systems.catalogue",
    "load_questions": "workbench.measure.questions",
    "blame": "workbench.measure.blame",
    "evaluate": "workbench.measure.evaluation",
    "scores": "workbench.measure.thresholds",
    "selection": "workbench.views.living.selection",
    "show": "workbench.views.show",
    "table": "workbench.views.show",
}

# Inside the package no function hides Python's own `open`.
_THERE = {"open": "open_memory"}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), _THERE.get(name, name))
    if not name.startswith("_"):
        from workbench.registry import declared_module

        module = declared_module("name", name)
        if module is not None:
            return getattr(module, name)
    raise AttributeError(f"module 'workbench' has no attribute {name!r}")


def __dir__() -> list[str]:
    from workbench.registry import declared

    return [*__all__, *declared("name")]
