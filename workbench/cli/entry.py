"""How the command line runs: every failure ends it with a message and an exit code."""

from __future__ import annotations

import errno
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import typer
from typer.exceptions import TyperException

from workbench.cli.app import app
from workbench.cli.output import give_up_output, prepare_streams, print_error
from workbench.cli.typed import usage_error
from workbench.errors import InputError, StorageError, WorkbenchError
from workbench.registry import ExtensionWarning, not_there

OWN_MISTAKE = 70


def run(command: typer.Typer | None = None) -> NoReturn:
    """Runs the command line, or a script's. An expected failure ends with its message and its exit code."""
    prepare_streams()
    try:
        with _extension_warnings():
            code = (command or app)(standalone_mode=False)
    except WorkbenchError as error:
        print_error(str(error))
        code = error.exit_code
    except ModuleNotFoundError as error:
        known = not_there("This command", error)
        if not isinstance(known, InputError):
            raise
        print_error(str(known))
        code = known.exit_code
    except typer.Abort:
        print_error("Aborted.")
        code = 1
    except TyperException as error:
        message = usage_error(error)
        print_error(str(message))
        code = message.exit_code
    except Exception as error:
        failure = _of_system(error)
        mistake = "This is a mistake in the workbench. Please report the lines above."
        print_error(str(failure or f"{traceback.format_exc()}{mistake}"))
        code = failure.exit_code if failure else OWN_MISTAKE
    raise SystemExit(code if isinstance(code, int) else 0)


NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def _of_system(error: Exception) -> StorageError | None:
    """What is said of a path that this system cannot use, or of a full disk; None for our own mistake."""
    if not isinstance(error, OSError):
        return None
    if error.filename:
        return StorageError(f"{error.filename!s:.200} cannot be used: {error.strerror}.", "Check it.")
    if error.errno not in NO_ROOM:
        return None
    give_up_output()
    return StorageError(
        f"The output or a temporary file cannot be written: {error.strerror}.",
        "Free some space, or send the output to another place.",
    )


@contextmanager
def _extension_warnings() -> Iterator[None]:
    """Tells a warning about an extension as a remark, without the place in the code that issued it."""
    with warnings.catch_warnings():
        others = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
            if issubclass(category, ExtensionWarning):
                print_error(str(message))
            else:
                others(message, category, *where, **more)

        warnings.simplefilter("always", ExtensionWarning)
        warnings.showwarning = show
        yield
