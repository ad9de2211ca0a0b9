"""The one place where the command line prints: results to stdout, remarks and errors to stderr.

Control characters in names, notes and messages are made visible. Remarks and errors show no secrets.
"""

from __future__ import annotations

import codecs
import io
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

import typer

from workbench.errors import Interrupted, StorageError
from workbench.masking import masked, own_keys, without_own_keys
from workbench.safe_text import json_text, visible

ASCII = {
    "“": '"', "”": '"', "‘": "'", "’": "'", "–": "-", "—": "-", "−": "-", "…": "...", "→": "->", "×": "x",
    "≥": ">=", "≤": "<=", "·": "*", "✓": "+", "✗": "x", "█": "#", "\N{REPLACEMENT CHARACTER}": "?",
}  # fmt: skip
"""What an output that is not Unicode prints instead of these characters; others become `\\u` escapes."""


def print_output(what: Any, as_json: bool = False, details: bool = False) -> None:
    """Prints a result to stdout: as JSON, by its own `as_json` if it has one, or as `show` does."""
    if sys.stdout is None:
        raise StorageError("The output cannot be written: it is closed.", "Send it to a file or a terminal.")
    if as_json:
        what = what.as_json() if hasattr(what, "as_json") else what
        encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
        only_ascii = not encoding.lower().startswith("utf")
        print(json_text(_without_keys(what, own_keys()), only_ascii), flush=True)
    else:
        from workbench.views.show import show

        show(what, details)


def _without_keys(what: Any, keys: Sequence[str]) -> Any:
    """Data for JSON without these keys in its texts: JSON may escape characters of a key."""
    match what:
        case str():
            return without_own_keys(what, keys)
        case dict():
            return {_without_keys(name, keys): _without_keys(value, keys) for name, value in what.items()}
        case list() | tuple():
            return [_without_keys(one, keys) for one in what]
        case _:
            return what


def answer(what: Any, as_json: bool, *, yes: object, details: bool = False) -> NoReturn:
    """Prints a result, and ends the command with exit code 0 if `yes` is true, or else 1."""
    print_output(what, as_json, details)
    raise typer.Exit(0 if yes else 1)


def say(text: str) -> None:
    """Prints a line of progress to stdout at once, for commands that run until they are ended."""
    print(visible(without_own_keys(text)), flush=True)


def print_error(text: str) -> None:
    """Prints a remark, a warning or an error to stderr."""
    print(visible(masked(text)), file=sys.stderr, flush=True)


def print_address(address: str) -> None:
    """Prints the address to open to stderr, with its token, which `print_error` would hide."""
    print(f"Open {visible(address)}", file=sys.stderr, flush=True)


@contextmanager
def telling_of_interruption() -> Iterator[None]:
    """Prints a sentence when Ctrl-C interrupts the block: what is kept, or that it has not finished."""
    try:
        yield
    except KeyboardInterrupt as interruption:
        progress = str(interruption) if isinstance(interruption, Interrupted) else ""
        print_error(progress or "Interrupted: the command has not finished.")
        raise


def give_up_output() -> None:
    """Sends what stdout still holds to nowhere: the end of the process would try to write it again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def prepare_streams() -> None:
    """Lets stdout and stderr print every text, whatever their encoding: no UnicodeEncodeError."""
    codecs.register_error("workbench", _instead)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="workbench")


def _instead(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end]
    escaped = (ASCII.get(one) or one.encode("ascii", "backslashreplace").decode() for one in text)
    return "".join(escaped), error.end
