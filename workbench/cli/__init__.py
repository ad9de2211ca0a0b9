"""The command line.

Exit codes: 0 yes; 1 no (nothing returned, target not in the answer, something is missing on this machine);
2 the input cannot be used; 3 the storage fails; 4 an embedding provider fails.
"""

from __future__ import annotations

import sys

from workbench.cli import agent, configuring, lab, memory, searching, systems, watching
from workbench.cli.app import app
from workbench.errors import WorkbenchError

__all__ = ["agent", "app", "configuring", "lab", "main", "memory", "searching", "systems", "watching"]


def main() -> None:
    """Runs the command line; an expected failure ends with its message and its exit code."""
    try:
        app()
    except WorkbenchError as error:
        print(error, file=sys.stderr)
        raise SystemExit(error.exit_code) from None
