"""Real systems as data: every pipeline by its name, and what else guests add about systems."""

from __future__ import annotations

from workbench.errors import InputError
from workbench.memory.sources import Indexing
from workbench.registry import Registry, declared, register, registrar
from workbench.retrieval.pipeline import Pipeline
from workbench.systems import openclaw, tutorial
from workbench.systems.languages import is_configuration, language_of_file

__all__ = ["register"]

SYSTEMS = Registry[Pipeline](
    "system", (*openclaw.PIPELINES, *tutorial.PIPELINES), "Choose one of them, or see all: workbench systems"
)
ON_A_SERVER = Registry[Pipeline](
    "system on a server", (), "Choose one of them, or see all: workbench systems", kind="server_system"
)
"""The systems that need an index on a database server; all others run on any index."""


def every_system() -> list[Pipeline]:
    """All systems: those that run anywhere, those that need a server, and those that were registered."""
    added = SYSTEMS.registered
    own = [one for name, one in SYSTEMS.items() if name not in added]
    return [*own, *ON_A_SERVER.values(), *(SYSTEMS[name] for name in added)]


def default_system() -> str:
    """The system of `search`, `explain` and the other commands that are given none.

    A guest may declare it; without one it is the bug report's three fixes.
    """
    return next(iter(declared("default")), openclaw.THREE_FIXES.name)


def system(name: str) -> Pipeline:
    """The pipeline of that name: one of SYSTEMS or ON_A_SERVER, or a file of settings, `SYSTEM@FILE` as well.

    Raises InputError, naming the nearest ones, when there is no such system, and for a file that cannot be
    used.
    """
    language = language_of_file(name)
    if language is not None:
        return language.system(name)
    return ON_A_SERVER[name] if name not in SYSTEMS and name in ON_A_SERVER else SYSTEMS.named(name)


@registrar.register(Pipeline)
def _add(pipeline: Pipeline) -> None:
    if is_configuration(pipeline.name):
        raise InputError(
            f"The name {pipeline.name!r} would be read as the name of a file.", "Choose another name."
        )
    (ON_A_SERVER if getattr(pipeline.layout, "server", False) else SYSTEMS).add(pipeline)


INDEXINGS = Registry[Indexing](
    "way to index", (), "Choose one of these, or leave it out for the workbench's own way.", kind="indexing"
)
"""How releases index a memory, by the name of the system: for answers that are exactly its own."""
registrar.register(Indexing, INDEXINGS.add)


def indexing(name: str) -> Indexing:
    """How the release of that name indexes a memory: give it to `index_folder` as `like`.

    Raises InputError, naming the nearest ones, for a release whose indexing is not known.
    """
    return INDEXINGS.named(name)
