"""The command line. Exit codes: 0 yes, 1 no (nothing returned, target not in the answer, something is
missing on this machine), 2 the input cannot be used."""

from __future__ import annotations

import sys

from workbench.cli import agent, configuring, lab, memory, searching, systems, watching
from workbench.cli.app import app
from workbench.errors import InputError

__all__ = ["agent", "app", "configuring", "lab", "main", "memory", "searching", "systems", "watching"]


def main() -> None:
    """Runs the command line; an input that cannot be used ends with its message and exit code 2."""
    try:
        app()
    except InputError as error:
        print(error, file=sys.stderr)
        raise SystemExit(2) from None
