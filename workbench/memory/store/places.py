"""The place of an index by its address: a file, or a database server."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from workbench.errors import InputError
from workbench.memory.store.contract import IndexPlace

SCHEME = "://"


def _postgres(address: str) -> IndexPlace:
    place = _module("postgres.place", "postgres")
    parse = _module("postgres.address", "postgres").parse
    made: IndexPlace = place.PostgresPlace(parse(address))
    return made


def _milvus(address: str) -> IndexPlace:
    place = _module("milvus.place", "milvus")
    parse = _module("milvus.address", "milvus").parse
    made: IndexPlace = place.MilvusPlace(parse(address))
    return made


SERVERS: dict[str, Callable[[str], IndexPlace]] = {
    "postgresql": _postgres,
    "postgres": _postgres,
    "milvus": _milvus,
    "milvus+tls": _milvus,
}
"""How the place of an address is made, by the scheme of the address."""


def _module(name: str, extra: str):  # type: ignore[no-untyped-def]
    """A module of a store that needs an extra. Raises InputError when the extra is not installed."""
    try:
        return import_module(f"workbench.memory.store.{name}")
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("workbench"):
            raise
        raise InputError(
            f"An index in {extra} needs the package {error.name}, which is not installed.",
            f"Install it: pip install 'hybrid-search-workbench[{extra}]'",
        ) from None


def on_a_server(address: str) -> bool:
    """Whether an address names an index on a database server."""
    return address.partition(SCHEME)[0] in SERVERS and SCHEME in address


def server_place(address: str) -> IndexPlace:
    """The place of an index on a database server.

    Raises InputError for a scheme that no store has, and for an address that cannot be read.
    """
    if not on_a_server(address):
        raise InputError(
            f"No store has addresses that begin with {address.partition(SCHEME)[0][:40]!r}.",
            f"Use one of {', '.join(sorted(SERVERS))}: postgresql://USER@HOST/DATABASE",
        )
    return SERVERS[address.partition(SCHEME)[0]](address)
