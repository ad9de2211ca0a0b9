"""Real systems as data: every pipeline by its name."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from pathlib import Path

from workbench.errors import InputError
from workbench.retrieval.pipeline import Pipeline
from workbench.systems import recommended, tutorial
from workbench.systems.automem import pipelines as automem
from workbench.systems.basic_memory import pipelines as basic_memory
from workbench.systems.engines import presets as engines
from workbench.systems.openclaw import pipelines as openclaw
from workbench.systems.openclaw import releases as openclaw_releases

_MODULES = (
    openclaw,
    openclaw_releases,
    recommended,
    tutorial,
    engines,
    automem,
    basic_memory,
)
SYSTEMS: Mapping[str, Pipeline] = {one.name: one for module in _MODULES for one in module.PIPELINES}


def system(name: str) -> Pipeline:
    """The pipeline of that name; of a name that ends in .json, the one that this openclaw.json configures.

    Raises InputError, naming the nearest ones, when there is none, and for a file that cannot be used.
    """
    if Path(name.partition("#")[0]).suffix in (".json", ".json5"):
        from workbench.systems.openclaw.config.system import read

        return read(name).pipeline
    if name not in SYSTEMS:
        near = difflib.get_close_matches(name, SYSTEMS, n=3, cutoff=0.3) or list(SYSTEMS)[:3]
        raise InputError(
            f"There is no system {name!r}; the nearest are {', '.join(near)}.",
            "Choose one of them, or see all: workbench systems",
        )
    return SYSTEMS[name]
