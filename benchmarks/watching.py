"""What a process opens while it reads a hostile store. Little is imported, since readers start with it."""

from __future__ import annotations

import os
import sys
from typing import Any

REACHED = "REACHED FROM A STORE:"


def watched(log: str | os.PathLike[str]) -> None:
    """Writes to the log each connection, and what this process opens elsewhere than here.

    Here are the folders of the log and of the indexes, the workbench and Python.
    """
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    home = os.environ.get("WORKBENCH_HOME") or here
    ours = (os.path.dirname(log), home, here, os.path.realpath(here), sys.prefix, sys.base_prefix)
    known = (*ours, "/proc", "/usr", "/lib", "/sys", "/dev")
    out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def look(event: str, given: tuple[Any, ...]) -> None:
        if event == "socket.connect":
            os.write(out, f"{REACHED} {given[1]}\n".encode())
        if event == "open" and isinstance(given[0], str | bytes):
            path = os.path.abspath(os.fsdecode(given[0]))
            if not path.startswith(known) and "/" in os.fsdecode(given[0]):
                os.write(out, f"{REACHED} {path!r}\n".encode())

    sys.addaudithook(look)
