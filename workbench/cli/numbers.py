"""Numbers on the command line: what is none is refused with how it is written here."""

from __future__ import annotations

import math
import re

from workbench.errors import InputError, as_number, brief

WHOLE = re.compile(r"([+-]?\d{1,1000})(?:\.0*)?")


def count(option: str, text: object) -> int:
    """The value of an option that takes a whole number of 1 or more.

    >>> count("--limit", "6")
    6
    """
    typed = str(text).strip()
    found = WHOLE.fullmatch(typed)
    if found is None:
        raise InputError(f"{option}: {brief(typed)} is not a whole number.", "Give one, such as 6.")
    if int(found[1]) < 1:
        raise InputError(f"{option}: {brief(typed)} is less than 1.", "Give a whole number, such as 6.")
    return int(found[1])


LAST_PORT = 65_535


def port_number(text: object) -> int:
    """The value of --port: a whole number up to LAST_PORT; 0 is any free one.

    >>> port_number("8866")
    8866
    """
    found = WHOLE.fullmatch(str(text).strip())
    if found is None:
        raise InputError(f"--port: {brief(str(text))} is not a whole number.", "Give one, such as 8866.")
    if not 0 <= int(found[1]) <= LAST_PORT:
        raise InputError(
            f"There is no port {brief(found[1])}.", f"Give --port a number from 0 to {LAST_PORT:,}."
        )
    return int(found[1])


def number(option: str, text: object) -> float:
    """The value of an option that takes a finite number.

    >>> number("--min-score", "0.35")
    0.35
    """
    typed = str(text).strip()
    try:
        read = float(typed)
    except ValueError:
        raise InputError(
            f"{option}: {brief(typed)} is not a number.", as_number(typed) or "Give one, such as 0.35."
        ) from None
    if not math.isfinite(read):
        raise InputError(f"{option}: {brief(typed)} is not a finite number.", "Give one, such as 0.35.")
    return read
