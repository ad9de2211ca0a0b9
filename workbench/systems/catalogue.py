"""Real systems as data: every pipeline by its name, and what else features add about systems."""

from __future__ import annotations

from workbench.errors import InputError, brief
from workbench.memory.sources import Indexing
from workbench.registry import Registry, register
from workbench.retrieval.pipeline import Pipeline
from workbench.systems import openclaw, tutorial
from workbench.systems.languages import language_of_file

__all__ = ["register"]

SEE_ALL = "This lists all systems: workbench systems"


def _is_on_a_server(thing: object) -> bool:
    return isinstance(thing, Pipeline) and getattr(thing.layout, "server", False)


SYSTEMS = Registry[Pipeline](
    "system",
    lambda thing: isinstance(thing, Pipeline) and not _is_on_a_server(thing),
    (*openclaw.PIPELINES, *tutorial.PIPELINES),
    SEE_ALL,
)
ON_A_SERVER = Registry[Pipeline]("system on a server", _is_on_a_server, see_all=SEE_ALL)
"""The systems that need an index on a database server; all others run on any index."""


def every_system() -> list[Pipeline]:
    """All systems: those that run anywhere, those that need a server, and those that were registered."""
    added = SYSTEMS.registered
    own = [one for name, one in SYSTEMS.items() if name not in added]
    return [*own, *ON_A_SERVER.values(), *(SYSTEMS[name] for name in added)]


def default_system() -> str:
    """The system of `search`, `explain` and the other commands that are given none.

    It is `recommended`, or the bug report's three fixes where that feature was taken out.
    """
    return next(name for name in ("recommended", openclaw.THREE_FIXES.name) if name in SYSTEMS)


def system(name: str) -> Pipeline:
    """The pipeline of that name: one of SYSTEMS or ON_A_SERVER, or a file of settings, `SYSTEM@FILE` as well.

    Raises InputError, naming the nearest ones, when there is no such system, and for a file that cannot be
    used.
    """
    if not isinstance(name, str):
        raise InputError(f"{brief(name)} is not the name of a system.", SEE_ALL)
    language = language_of_file(name)
    if language is not None:
        return language.system(name)
    if name in SYSTEMS:
        return SYSTEMS[name]
    if name in ON_A_SERVER:
        return ON_A_SERVER[name]
    if of_product := _systems_of(name):
        source, left = of_product[0].source.repository, len(of_product) - SHOWN
        named = ", ".join(one.name for one in of_product[:SHOWN]) + (f" and {left} more" if left > 0 else "")
        raise InputError(f"There is no system {brief(name)}; those of {source} are {named}.", SEE_ALL)
    return SYSTEMS.named(name)


SHOWN = 8
"""The largest number of systems of one product that an error names."""


def _systems_of(product: str) -> list[Pipeline]:
    """The systems whose source is the repository of that name, however it is spelled: `Basic Memory`.

    Without those that have the product's name in front: they are found as the nearest names.
    """
    asked = _letters(product)
    return [
        one
        for one in every_system()
        if asked in (_letters(one.source.repository), _letters(one.source.repository.rpartition("/")[2]))
        and not _letters(one.name).startswith(asked)
    ]


def _letters(name: str) -> str:
    """The letters and digits of a name, in one case.

    >>> _letters("Basic Memory") == _letters("basic-memory")
    True
    """
    return "".join(filter(str.isalnum, name.casefold()))


INDEXINGS = Registry[Indexing](
    "way to index",
    lambda thing: isinstance(thing, Indexing),
    see_all="Choose one of these, or leave it out for the workbench's own way.",
)
"""How releases index a memory, by the name of the release: for answers that are exactly its own."""


def indexing(name: str) -> Indexing:
    """How the system or the release of that name indexes a memory: give it to `index_folder` as `like`.

    Raises InputError, naming the nearest ones, for a release whose indexing is not known.
    """
    if name not in INDEXINGS and (name in SYSTEMS or name in ON_A_SERVER):
        own = system(name).indexing
        if own is not None:
            return own
    return INDEXINGS.named(name)
