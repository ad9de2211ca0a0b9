"""Numbers on the command line: what is none is refused with how it is written here."""

from __future__ import annotations

import math
import re

from workbench.errors import InputError, brief

WHOLE = re.compile(r"([+-]?\d{1,1000})(?:\.0*)?")
DECIMAL = re.compile(r"([+-]?\d{1,40})(?:[.,](\d{1,40}))?\s*(%?)")
"""A number as it is written elsewhere: with a decimal comma, or as a percentage."""


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


def number(option: str, text: object) -> float:
    """The value of an option that takes a finite number.

    >>> number("--min-score", "0.35")
    0.35
    """
    typed = str(text).strip()
    try:
        read = float(typed)
    except ValueError:
        raise InputError(f"{option}: {brief(typed)} is not a number.", _as_number(typed)) from None
    if not math.isfinite(read):
        raise InputError(f"{option}: {brief(typed)} is not a finite number.", "Give one, such as 0.35.")
    return read


def _as_number(typed: str) -> str:
    """What to type in place of a number that is written as elsewhere; an example for anything else."""
    found = DECIMAL.fullmatch(typed)
    if found is None:
        return "Give one, such as 0.35."
    read = float(f"{found[1]}.{found[2] or 0}")
    return f"Write {read / 100 if found[3] else read:.10g}."
