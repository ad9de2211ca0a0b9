"""Scripts that record what the released systems answer, each run by hand; the tests replay the records.

A release is installed into a folder that you name, runs unmodified in a home of its own, and embeds through
a server on this machine.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any


def read(file: Path) -> dict[str, Any]:
    """A record, compressed or not."""
    text = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    record: dict[str, Any] = json.loads(text)
    return record


def write(file: Path, record: Mapping[str, Any]) -> None:
    """The record as a file, the same bytes for the same record."""
    text = json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode()
    file.write_bytes(gzip.compress(text, mtime=0) if file.suffix == ".gz" else text)


def questions_of(file: Path, workspace: str) -> Iterable[str]:
    """The questions that a record asks of a workspace."""
    first, *_ = read(file)["results"][workspace].values()
    return list(first)
