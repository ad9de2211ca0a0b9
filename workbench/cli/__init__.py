"""The command line.

Exit codes: 0 yes; 1 no (nothing returned, the target is not in the answer, something is missing on this
machine); 2 the input cannot be used; 3 the storage fails; 4 an embedding provider fails; 70 a mistake
in the workbench itself; 130 interrupted with Ctrl-C.
"""

from __future__ import annotations

import atexit
import gc
import io
import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from typing import TextIO

import typer

from workbench.cli.app import app, name_of
from workbench.cli.commands import (
    agent,
    benchmarks,
    cases,
    configuring,
    diagnosing,
    exchange,
    exploring,
    lab,
    measuring,
    memory,
    searching,
    systems,
    watching,
)
from workbench.cli.output import prepare_streams, tell
from workbench.errors import WorkbenchError
from workbench.extensions import ExtensionWarning

__all__ = [
    "agent",
    "app",
    "benchmarks",
    "cases",
    "configuring",
    "diagnosing",
    "exchange",
    "exploring",
    "lab",
    "main",
    "measuring",
    "memory",
    "searching",
    "systems",
    "watching",
]

USAGE: type[Exception] = typer.BadParameter.__mro__[1]
"""What typer raises for options and arguments that it cannot use; its own name has moved between releases."""

OWN_MISTAKE = 70


def main() -> None:
    """Runs the command line. An expected failure ends with its message and its exit code."""
    prepare_streams()
    # OpenVINO imports its model converter, which imports an HTTP client. Both take a tenth of a search.
    # None makes OpenVINO go on without the converter. This process converts no models.
    sys.modules.setdefault("openvino.tools.ovc", None)  # type: ignore[arg-type]
    # At its end Python looks for garbage among all objects, which takes a tenth of a search, too.
    atexit.register(gc.freeze)
    try:
        with _extension_warnings():
            code = _with_command(sys.argv[1:])(standalone_mode=False)
    except WorkbenchError as error:
        tell(str(error))
        code = error.exit_code
    except USAGE as error:
        code = _usage_message(error)
    except typer.Abort:
        tell("Aborted.")
        code = 1
    except Exception:
        tell(f"{traceback.format_exc()}This is a mistake in the workbench. Please report the lines above.")
        code = OWN_MISTAKE
    raise SystemExit(code if isinstance(code, int) else 0)


def _with_command(arguments: Sequence[str]) -> typer.Typer:
    """The application with only the command that comes first, or with all if none does.

    Typer prepares the options of every command that it has.
    """
    asked = [one for one in app.registered_commands if name_of(one) == next(iter(arguments), None)]
    if not asked:
        return app
    only = copy(app)
    only.registered_commands, only.registered_groups = asked, []
    return only


@contextmanager
def _extension_warnings() -> Iterator[None]:
    """Tells a warning about an extension as a remark, without the place in the code that issued it."""
    with warnings.catch_warnings():
        others = warnings.showwarning

        def show(
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: TextIO | None = None,
            line: str | None = None,
        ) -> None:
            if issubclass(category, ExtensionWarning):
                tell(str(message))
            else:
                others(message, category, filename, lineno, file, line)

        warnings.simplefilter("always", ExtensionWarning)
        warnings.showwarning = show
        yield


def _usage_message(error: Exception) -> int:
    message = io.StringIO()
    error.show(message)  # type: ignore[attr-defined]
    tell(message.getvalue().rstrip())
    return int(getattr(error, "exit_code", 2))
