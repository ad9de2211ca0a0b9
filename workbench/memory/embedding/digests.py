"""The checksums of models' files: each file is hashed once, and again when it has changed.

They are kept in the cache folder by path, size and times, so a search does not read 90 MB to know its model.
The time of the last change of status counts too: a file's modification time can be set, this one cannot.
"""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from functools import cache
from pathlib import Path

from workbench.errors import StorageError
from workbench.memory.choices import index_home, keep_json
from workbench.memory.files import settled


def file_digest(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal. Raises OSError for a file that cannot be read."""
    with path.open("rb") as file:
        info = settled(file)
    return digest_at(str(path.resolve()), info.st_size, info.st_mtime_ns, info.st_ctime_ns)


@cache
def digest_at(path: str, *look: int) -> str:
    """The SHA-256 of the file at an absolute path with this size and these times: the kept one, or a new one.

    A cache folder that cannot be written keeps none.
    """
    checksums = _stored_checksums()
    if path not in checksums or checksums[path][0] != list(look):
        with open(path, "rb") as file:
            checksums[path] = [list(look), hashlib.file_digest(file, "sha256").hexdigest()]
        with suppress(StorageError):
            keep_json(_file(), {one: known for one, known in checksums.items() if os.path.exists(one)})
    return str(checksums[path][1])


def _stored_checksums() -> dict[str, list[object]]:
    """The kept checksums; none from a file that does not hold them."""
    try:
        found = json.loads(_file().read_text(encoding="utf-8"))
        return {path: [list(look), str(digest)] for path, (look, digest) in found.items()}
    except (OSError, ValueError, TypeError, AttributeError, RecursionError):
        return {}


def _file() -> Path:
    return index_home() / "model-digests.json"
