"""The registry of addresses: stores on a server, and other kinds of memory that can be opened."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.errors import InputError
from workbench.memory.embedding.local import Embedder
from workbench.memory.store.contract import IndexLocation
from workbench.registry import Registry

if TYPE_CHECKING:
    from workbench.memory.index import OpenIndex

SCHEME = "://"


@dataclass(frozen=True)
class StoreKind:
    """A kind of store: `scheme` begins its addresses, and `location` makes the location of an address."""

    scheme: str
    location: Callable[[str], IndexLocation]

    @property
    def name(self) -> str:
        """What its addresses begin with, such as `postgresql://`."""
        return f"{self.scheme}{SCHEME}"


@dataclass(frozen=True)
class Opener:
    """A kind of memory, and how one is opened.

    `accepts` says whether an address, such as a path or `postgresql://host/database`, names a memory of this
    kind. `open` takes what `open_index` takes, and raises InputError or StorageError if it cannot open it.
    `system` names the system that searches it by default.
    """

    name: str
    description: str
    accepts: Callable[[str], bool]
    open: Callable[[str, Embedder | None, Path | None, bool], OpenIndex]
    system: str = ""


ADDRESSES = Registry[StoreKind | Opener](
    "kind of memory",
    lambda thing: isinstance(thing, StoreKind | Opener),
    see_all="See list(workbench.memory.addresses.ADDRESSES).",
)


def openers() -> list[Opener]:
    """The kinds of memory that are opened in a way of their own; no store is loaded."""
    others = (ADDRESSES[name] for name in ADDRESSES if not name.endswith(SCHEME))
    return [one for one in others if isinstance(one, Opener)]


def on_a_server(address: str) -> bool:
    """Whether an address names an index in a store that is known here."""
    return SCHEME in address and _beginning(address) in ADDRESSES


def _beginning(address: str) -> str:
    return address.partition(SCHEME)[0] + SCHEME


def server_location(address: str) -> IndexLocation:
    """The location of an index in a store other than a file.

    Raises InputError for a scheme that no store has, and for an address that cannot be read.
    """
    store = ADDRESSES[_beginning(address)] if on_a_server(address) else None
    if not isinstance(store, StoreKind):
        schemes = sorted(name.removesuffix(SCHEME) for name in ADDRESSES if name.endswith(SCHEME))
        raise InputError(
            f"No store has addresses that begin with {address.partition(SCHEME)[0][:40]!r}.",
            f"Use one of {', '.join(schemes) or 'none: no store is installed'}.",
        )
    return store.location(address)
