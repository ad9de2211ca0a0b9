"""A real Milvus Lite for tests: one file for a test process, and names that no other test uses."""

from __future__ import annotations

import itertools
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_numbers = itertools.count()


@contextmanager
def lite() -> Iterator[str]:
    """The address of a file of Milvus Lite, which is open until the end of the block."""
    from pymilvus import MilvusClient

    folder = Path(tempfile.mkdtemp(prefix="workbench-milvus-"))
    client = MilvusClient(str(folder / "index.db"))
    try:
        yield f"milvus://{folder}/index.db"
    finally:
        client.close()
        shutil.rmtree(folder, ignore_errors=True)


def fresh_name(address: str, **options: str) -> str:
    """The address of an index that no other test uses."""
    given = "".join(f"&{key}={value}" for key, value in options.items())
    return f"{address}?name=test_{next(_numbers)}{given}"
