"""Ways to open a memory by its address: here a folder; systems and other packages add theirs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from workbench.errors import InputError
from workbench.memory.embedding.local import Embedder
from workbench.memory.index import MemoryIndex, OpenIndex
from workbench.memory.store.places import SCHEME, on_a_server, server_place
from workbench.memory.sync import open_index


@dataclass(frozen=True)
class How:
    """The choices of who opens a memory; None means the memory's own, or the default."""

    embedder: Embedder | None = None
    index_path: Path | None = None
    re_embed: bool = False


@dataclass(frozen=True)
class Opener:
    """A kind of memory, and how one is opened.

    `accepts` says whether an address, such as a path or `postgresql://host/database`, names a memory of this
    kind. `open` opens it, and raises InputError or StorageError if it cannot.
    """

    name: str
    says: str
    accepts: Callable[[str], bool]
    open: Callable[[str, How], OpenIndex]


def _open_folder(address: str, how: How) -> OpenIndex:
    if how.re_embed:
        raise InputError(
            f"--re-embed works on an OpenClaw SQLite file, and {address} is a folder.", "Leave it out."
        )
    return open_index(address, how.embedder, index_path=how.index_path)


FOLDER = Opener(
    "folder", "a folder that has been indexed", lambda address: SCHEME not in address, _open_folder
)


def _open_server(address: str, how: How) -> OpenIndex:
    place = server_place(address)
    if how.re_embed or how.index_path:
        raise InputError(f"--index and --re-embed have no effect on {place.name}.", "Leave them out.")
    return MemoryIndex.open(place, how.embedder)


SERVER = Opener(
    "server", "the address of an index on a server (postgresql://HOST/DATABASE)", on_a_server, _open_server
)
OPENERS = (FOLDER, SERVER)
