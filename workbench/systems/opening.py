"""One way to open a memory, whatever holds it: a folder, an OpenClaw file, or what a package adds."""

from __future__ import annotations

import os
from pathlib import Path

from workbench.errors import InputError
from workbench.extensions import Registry
from workbench.memory.embedding.local import Embedder
from workbench.memory.index import OpenIndex
from workbench.memory.store import opening as stores
from workbench.memory.store.opening import FOLDER, How, Opener
from workbench.memory.store.places import SCHEME
from workbench.systems.openclaw.live.index import OPENCLAW_FILE

OWN = (OPENCLAW_FILE, *stores.OPENERS)
OPENERS = Registry[Opener]("kind of memory", OWN, "See list(workbench.systems.opening.OPENERS).")


def open_memory(
    address: str | os.PathLike[str],
    embedder: Embedder | None = None,
    *,
    index_path: Path | None = None,
    re_embed: bool = False,
) -> OpenIndex:
    """Opens a memory for searching: an indexed folder, or OpenClaw's SQLite file of one.

    Questions are embedded by `embedder`, or else by the model that made the index. `index_path` is the index
    of a folder if it is not in the default place. With `re_embed` the chunks of an OpenClaw file are embedded
    here, into `index_path`. Close the index after use, or use it in a `with` statement.

    Raises InputError for an address that no installed store opens, for a memory without an index, and for an
    embedder that did not make the index; StorageError for one that is damaged or cannot be read.
    """
    asked = os.fspath(address)
    return _opener(asked).open(asked, How(embedder, index_path, re_embed))


def _opener(address: str) -> Opener:
    known = next((one for one in OWN if one.accepts(address)), None)
    known = known or next((one for one in OPENERS.values() if one.accepts(address)), None)
    if known is None:
        scheme = address.partition(SCHEME)[0]
        kinds = ", or ".join(one.says for one in OPENERS.values())
        raise InputError(
            f"An address that begins with {scheme}{SCHEME} is not supported yet by any installed store.",
            f"Give {kinds}.",
        )
    return known


def is_openclaw_file(address: str | os.PathLike[str]) -> bool:
    """Whether an address names OpenClaw's own SQLite file."""
    return _opener(os.fspath(address)) is OPENCLAW_FILE


def folder_of(address: str | os.PathLike[str]) -> Path | None:
    """The folder that an address names; None for an address of another kind."""
    return Path(address) if _opener(os.fspath(address)) is FOLDER else None
