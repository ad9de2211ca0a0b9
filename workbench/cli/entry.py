"""How the command line runs: every failure ends it with a message and an exit code."""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import typer
from typer.exceptions import TyperException

from workbench.cli.app import app
from workbench.cli.output import prepare_streams, print_error
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
        if isinstance(error, OSError) and error.filename:  # a path that this system cannot hold or use
            error = StorageError(f"{error.filename!s:.200} cannot be used: {error.strerror}.", "Check it.")
            print_error(str(error))
            raise SystemExit(error.exit_code) from None
        print_error(
            f"{traceback.format_exc()}This is a mistake in the workbench. Please report the lines above."
        )
        code = OWN_MISTAKE
    raise SystemExit(code if isinstance(code, int) else 0)


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
