"""What a file names is used only if the user names it too: an address, a model, or a path.

A file may come from somebody else. An address in it would get the user's texts and key; a model's name could
download or run what it names, or send questions to its provider; and a path could make the workbench read,
print or send other files of the user. Every reader of a file asks here before it uses such a value. The
command line says what the user has typed, and code says it with `named_by_user`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from workbench.errors import InputError

_named: frozenset[str] = frozenset()
"""They hold for the whole process, since a server opens indexes in threads of its own."""


@contextmanager
def named_by_user(*values: str) -> Iterator[None]:
    """The user has named these addresses, models and paths, for what happens within."""
    global _named
    before = _named
    _named = before | {_plain(one) for one in values if one}
    try:
        yield
    finally:
        _named = before


def is_named(value: str) -> bool:
    """Whether the user has named an address, a model or a path: in the command, or in `named_by_user`."""
    return _plain(value) in _named


def check_named(file: str | os.PathLike[str], named: Iterable[tuple[str, str, str]]) -> None:
    """Raises InputError for values of a file that the user has not named.

    `named` has for each value what it is, the value, and how the user names it: ("model", "openai/m",
    "--model openai/m"). One error names all of them, so that the user types the command once more.
    """
    unknown = [one for one in named if not is_named(one[1])]
    if unknown:
        values = " and ".join(f"the {what} {value}" for what, value, _ in unknown)
        again = " ".join(dict.fromkeys(how for *_, how in unknown))
        raise InputError(
            f"{os.fspath(file)} names {values}, which you have not named. Nothing was read there or sent.",
            f"If you trust it, give it again: {again}",
        )


def _plain(value: str) -> str:
    """A value in the one form in which two of them are compared."""
    if "://" in value:
        return value.rstrip("/")
    return os.path.normpath(os.path.expanduser(value))
