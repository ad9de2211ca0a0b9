"""Numbers as they were printed: the value, and how exactly the digits state it."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np

from workbench.errors import InputError

SINGLE = (7, 8, 9)
"""The digits that a number in single precision is printed with."""
DOUBLE = 15
"""The fewest digits that a number in double precision is printed with."""
NUMBER = re.compile(r"[-+−]?(?:\d+(?:[.,]\d+)?|[.,]\d+)(?:[eE][-+]?\d+)?")


@dataclass(frozen=True)
class Printed:
    """A printed number: its text, its value, and how far it may be from what was computed.

    That is half a unit of the last digit, and what the precision loses in a number that has such digits.
    """

    text: str
    value: float
    half: float

    def as_input_of(self, other: Printed) -> Printed:
        """This number as an input: exact if it has fewer decimals than the number that it is to make.

        A weight of 0.7 is exact. A score of 0.438 that makes a score of 0.307 has been rounded like it.
        """
        return replace(self, half=0.0) if self.half > other.half else self

    @property
    def decimals(self) -> int:
        """How many digits are printed after the point."""
        return max(0, round(-float(np.log10(2 * self.half))))

    @property
    def steps(self) -> int:
        """The value in units of its last digit."""
        return round(self.value / (2 * self.half))


def printed(text: str) -> Printed:
    """The number that a text states, with as many digits as it has.

    Raises InputError for a text that is not one finite number.

    >>> printed("0.0164")
    Printed(text='0.0164', value=0.0164, half=5e-05)
    >>> printed("0.032786883").half > 1e-9  # 2 / 61 as Lucene prints it
    True
    """
    bare = text.strip()
    if len(bare) > 40 or not NUMBER.fullmatch(bare):
        raise InputError(f"{text[:60]!r} is not a number.", "Give numbers as they were printed: 0.016393 0.5")
    number = Decimal(bare.replace("−", "-").replace(",", "."))
    exponent = number.as_tuple().exponent
    if not isinstance(exponent, int) or abs(exponent) > 30:
        raise InputError(f"{text!r} is too large or too small.", "Give a number between 1e-30 and 1e30.")
    return Printed(bare, float(number), 10.0**exponent / 2 + _precision(number))


def _precision(number: Decimal) -> float:
    """What a sum in single or double precision may lose; 0 for a number that was printed with other digits.

    One in single precision has seven to nine digits, or all those that a wider print of the same number has.
    One in double precision has at least DOUBLE.
    """
    value, digits = np.float32(number), len(number.normalize().as_tuple().digits)
    wider = digits > SINGLE[-1] and float(value) == float(number)
    if digits in SINGLE or wider:
        return float(np.spacing(abs(value)))
    return float(np.spacing(abs(float(number)))) if digits >= DOUBLE else 0.0
