"""One way to open a memory, whatever holds it: a folder, an index on a server, or what a feature adds."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from workbench.contracts import Index
from workbench.errors import InputError, brief
from workbench.memory.addresses import SCHEME, Opener, on_a_server, openers, server_location
from workbench.memory.choices import is_default_path
from workbench.memory.embedding.local import Embedder
from workbench.memory.files import check_named_memory, memory_root
from workbench.memory.index import MemoryIndex, OpenIndex
from workbench.memory.index_files import default_index_path, file_to_open
from workbench.memory.sources import Indexing
from workbench.memory.store.sqlite.location import SQLiteLocation


def _open_folder(
    address: str, embedder: Embedder | None, index_path: Path | None, re_embed: bool
) -> OpenIndex:
    if re_embed:
        raise InputError(
            f"--re-embed works on an OpenClaw SQLite file, and {address} is a folder.", "Leave it out."
        )
    root = memory_root(address)
    location = SQLiteLocation(index_path or file_to_open(root))
    if not location.exists():
        above = root.parent
        if index_path is None and root.name == "memory" and SQLiteLocation(file_to_open(above)).exists():
            remedy = f"Name the memory: -m {shlex.quote(str(above))}"
            raise InputError(f"{address} is a folder of an indexed memory.", remedy)
        raise location.missing(shlex.quote(address))
    return MemoryIndex.open(location, embedder, Path(address))


FOLDER = Opener(
    "folder", "a folder that has been indexed", lambda address: SCHEME not in address, _open_folder
)


def _open_server(
    address: str, embedder: Embedder | None, index_path: Path | None, re_embed: bool
) -> OpenIndex:
    location = server_location(address)
    if re_embed or index_path:
        raise InputError(f"--index and --re-embed have no effect on {location.name}.", "Leave them out.")
    return MemoryIndex.open(location, embedder)


SERVER = Opener(
    "server", "the address of an index on a server (postgresql://HOST/DATABASE)", on_a_server, _open_server
)


def open_index(
    address: str | os.PathLike[str],
    embedder: Embedder | None = None,
    *,
    index_path: Path | None = None,
    re_embed: bool = False,
    like: Indexing | None = None,
) -> OpenIndex:
    """Opens a memory for searching: an indexed folder, or OpenClaw's SQLite file of one.

    Questions are embedded by `embedder`, or else by the model that made the index. `index_path` is the index
    of a folder if it is not in the default place. With `re_embed` the chunks of an OpenClaw file are embedded
    here, into `index_path`. A folder can have several indexes; `like` says which way of indexing is wanted,
    and without such an index the workbench's own is opened. Close the index after use, or use it in a `with`
    statement.

    Raises InputError for an address that no installed store opens, for a memory without an index, and for an
    embedder that did not make the index; StorageError for one that is damaged or cannot be read.
    """
    if not isinstance(address, str | os.PathLike):
        raise InputError(f"{brief(address)} is not the name of a folder.", "Give it as text or as a Path.")
    asked = os.fspath(address)
    opener = _opener(asked)
    if opener is FOLDER and index_path is None and like is not None:
        index_path = file_to_open(memory_root(asked), like)
    return opener.open(asked, embedder, index_path, re_embed)


def _opener(address: str) -> Opener:
    check_named_memory(address)
    if SCHEME not in address and not os.path.isfile(os.path.expanduser(address)):
        return FOLDER  # without loading packages
    every = (SERVER, *openers(), FOLDER)
    known = next((one for one in every if one.accepts(address)), None)
    if known is None:
        scheme = address.partition(SCHEME)[0]
        kinds = ", or ".join(one.description for one in (FOLDER, SERVER, *openers()))
        raise InputError(
            f"An address that begins with {scheme}{SCHEME} is not supported yet by any installed store.",
            f"Give {kinds}.",
        )
    return known


def usual_system(address: str | os.PathLike[str]) -> str:
    """The name of the system that searches such a memory by default; empty for no system of its own."""
    return _opener(os.fspath(address)).system


def folder_of(address: str | os.PathLike[str]) -> Path | None:
    """The folder that an address names; None for an address of another kind."""
    return Path(address) if _opener(os.fspath(address)) is FOLDER else None


def made_as(index: Index) -> str:
    """The release whose way of indexing an index has, of several that a folder can have; empty for none."""
    if not isinstance(index, MemoryIndex) or index.root is None or not is_default_path(Path(index.name)):
        return ""
    return index.store.provenance.indexed_as


def command_for_own(index: Index) -> str:
    """The command that makes the workbench's own index, where a folder has a release's alone; else empty."""
    root = index.root if isinstance(index, MemoryIndex) else None
    if root is None or not made_as(index) or default_index_path(root).exists():
        return ""
    return f"workbench index {shlex.quote(str(root))}"


def opening_code(index: Index) -> list[str]:
    """The lines of Python that open the index of a folder; none for another index."""
    if not isinstance(index, MemoryIndex) or index.root is None:
        return []
    at_its_place = len(shlex.split(index.command_options)) == 1
    file = "" if at_its_place else f", index_path=Path({index.name!r})"
    return [
        *([] if at_its_place else ["from pathlib import Path"]),
        "import workbench as wb",
        f"index = wb.open_index({str(index.root)!r}{file})",
    ]
