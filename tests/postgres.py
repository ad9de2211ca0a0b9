"""A real PostgreSQL server for tests, with pgvector: one for each test process, on a Unix socket."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager

from workbench_plugins.stores.postgres import local_server

LOCKED_OUT = "with_password"
"""The role that needs a password, and has no right to make an extension."""
SECRET = "hunter2"

_numbers = itertools.count()


@contextmanager
def running() -> Iterator[str]:
    """A server's address without a schema; the server stops at the end of the block."""
    statements = f"CREATE ROLE {LOCKED_OUT} LOGIN PASSWORD '{SECRET}'\nCREATE DATABASE bare"
    with local_server(statements, f"local all {LOCKED_OUT} scram-sha-256\n") as address:
        yield address


def fresh_schema(address: str, **options: str) -> str:
    """The address of an index that no other test uses."""
    given = "".join(f"&{key}={value}" for key, value in options.items())
    return f"{address}&schema=test_{next(_numbers)}{given}"
