"""Real systems as data: every pipeline by its name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from workbench.errors import unknown_name
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


_RELEASE = re.compile(r"openclaw-\d+\.\d+\.\d+[\w.-]*")


def is_configuration(name: str) -> bool:
    """Whether a system's name ends in that of an OpenClaw configuration, with or without `#AGENT`."""
    return Path(name.partition("#")[0]).suffix in (".json", ".json5")


def system(name: str) -> Pipeline:
    """The pipeline of that name: one of SYSTEMS, an openclaw.json, or `SYSTEM@openclaw.json`.

    A file is read for the release that wrote it, or changes the system before the `@`, which may be any
    release (`openclaw-2026.3.2@openclaw.json`). Raises InputError, naming the nearest ones, when there is no
    such system, and for a file that cannot be used.
    """
    if is_configuration(name):
        from workbench.systems.openclaw.config.system import read

        base, _, file = name.partition("@")
        if base in SYSTEMS:
            return read(file, SYSTEMS[base]).pipeline
        return read(file, release=base).pipeline if _RELEASE.fullmatch(base) else read(name).pipeline
    if name not in SYSTEMS:
        raise unknown_name("system", name, SYSTEMS, "Choose one of them, or see all: workbench systems")
    return SYSTEMS[name]
