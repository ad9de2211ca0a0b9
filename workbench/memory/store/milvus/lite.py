"""Milvus Lite's file: this process serves it while an index in it is open, and then other processes can."""

from __future__ import annotations

import threading
from collections import Counter
from pathlib import Path

QUIET: dict[str, int] = {"grpc.keepalive_time_ms": 2**31 - 1, "grpc.keepalive_permit_without_calls": 0}
"""Options of a client. By default, an idle client sends a ping every ten seconds, and after a few of these,
the server of Milvus Lite ends the connection. A client that connects at that moment fails."""

_lock = threading.Lock()
_open: Counter[str] = Counter()
"""How many sessions of this process use a file whose server the first of them has started."""


def begin(file: str) -> bool:
    """Counts a session of this file. False if somebody else in this process already serves the file."""
    from milvus_lite.server_manager import server_manager_instance as servers

    path = str(Path(file).absolute())
    with _lock:
        if not _open[path] and path in servers._servers:
            return False
        _open[path] += 1
        return True


def end(file: str) -> None:
    """Ends a counted session. The last one of a file ends its server, which otherwise keeps the file."""
    from milvus_lite.server_manager import server_manager_instance as servers

    path = str(Path(file).absolute())
    with _lock:
        _open[path] -= 1
        if not _open[path]:
            servers.release_server(path)
