"""Real systems as data: every pipeline by its name."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from workbench.errors import InputError
from workbench.extensions import Registry, all_or_nothing, registrar
from workbench.memory.store.opening import Opener
from workbench.records import Stage
from workbench.retrieval.pipeline import Change, Pipeline
from workbench.systems import milvus, tutorial
from workbench.systems.automem import pipelines as automem
from workbench.systems.basic_memory import pipelines as basic_memory
from workbench.systems.basic_memory import postgres as basic_memory_on_postgres
from workbench.systems.engines import presets as engines
from workbench.systems.openclaw import pipelines as openclaw
from workbench.systems.openclaw import releases as openclaw_releases
from workbench.systems.opening import OPENERS
from workbench.systems.postgres import pipelines as postgres
from workbench.systems.qmd import pipelines as qmd
from workbench.systems.recommended import evidence
from workbench.systems.recommended import pipelines as recommended

_MODULES = (
    openclaw,
    openclaw_releases,
    evidence,
    tutorial,
    engines,
    automem,
    basic_memory,
    recommended,
    qmd,
)
SYSTEMS = Registry[Pipeline](
    "system",
    (one for module in _MODULES for one in module.PIPELINES),
    "Choose one of them, or see all: workbench systems",
)

ON_A_SERVER = {
    one.name: one for module in (postgres, basic_memory_on_postgres, milvus) for one in module.PIPELINES
}
"""The systems that need an index on a database server; all others run on any index."""


def every_system() -> list[Pipeline]:
    """All systems: those that run anywhere, those that need a server, and those that were registered."""
    added = SYSTEMS.registered
    own = [one for name, one in SYSTEMS.items() if name not in added]
    return [*own, *ON_A_SERVER.values(), *(SYSTEMS[name] for name in added)]


_RELEASE = re.compile(r"openclaw-\d+\.\d+\.\d+[\w.-]*")


def is_configuration(name: str) -> bool:
    """Whether a system's name ends in that of an OpenClaw configuration, with or without `#AGENT`."""
    return Path(name.partition("#")[0]).suffix in (".json", ".json5")


def system(name: str) -> Pipeline:
    """The pipeline of that name: one of SYSTEMS or ON_A_SERVER, an openclaw.json, `SYSTEM@openclaw.json`.

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
    return ON_A_SERVER[name] if name in ON_A_SERVER else SYSTEMS.named(name)


def changes() -> list[Change]:
    """Every named change: those that the systems are made of, and the optional ones beside them."""
    beside = [one for module in _MODULES for one in vars(module).values() if isinstance(one, Change)]
    made = [change for pipeline in SYSTEMS.values() for change in pipeline.changes]
    return list(dict.fromkeys([*beside, *made]))


def where_is(stage: Stage) -> tuple[str, str]:
    """The module and the name of the change whose stage this is, so that code can import it.

    Raises InputError for a stage that no module names.
    """
    for module in _MODULES:
        for name, one in vars(module).items():
            if isinstance(one, Change) and one.stage == stage:
                return module.__name__, name
    raise InputError(f"No module names a change with the stage: {stage.says}.", "Name the change there.")


def register(*things: Any) -> None:
    """Adds systems (Pipeline), fusions (Engine), specimens (Specimen) and kinds of memory (Opener).

    What is registered is listed and run like the workbench's own. Either all of it is added, or none.
    Registering the same thing again changes nothing. Raises InputError for a name that another thing of that
    kind has, and for a thing of another kind.
    """
    with all_or_nothing():
        for thing in things:
            registrar(thing)


@registrar.register(Pipeline)
def _add(pipeline: Pipeline) -> None:
    if is_configuration(pipeline.name):
        raise InputError(
            f"The name {pipeline.name!r} would be read as the name of a file.", "Choose another name."
        )
    SYSTEMS.add(pipeline)


registrar.register(Opener, OPENERS.add)
