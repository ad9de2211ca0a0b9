"""What labels promise about the mistakes of a threshold, for a confidence that holds with few labels too.

Each label has a strictest threshold at which the system still makes a mistake. With k of these above the
chosen threshold among n labels, the rate of mistakes is at most p with a probability of 1 - P(Binomial(n, p)
<= k): the bound of Clopper and Pearson (1934). It holds for any distribution of scores. Thresholds are tried
from the strictest on, so no correction for their number is needed: Learn then Test with a fixed sequence
(Angelopoulos and others, 2021). MAPIE's bounds for this are those of Hoeffding and Bentkus, which need more
labels: with 20 labels they promise 20 in 100 for no mistake, this one for one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

from scipy.special import bdtr, bdtri

from workbench.errors import InputError
from workbench.safe_text import counted

Mistake = Literal["answers", "first"]


@dataclass(frozen=True)
class Promise:
    """With this confidence, mistakes stay below the rate `accept` among questions drawn as the labels were.

    A mistake is an answer to a question that the memory does not answer (`answers`), or a wrong first file
    (`first`). Raises InputError for another mistake, and for rates outside 0 to 1, whose ends cannot be
    promised.
    """

    accept: float
    confidence: float = 0.9
    mistake: Mistake = "answers"

    def __post_init__(self) -> None:
        for name, value in (("accepted rate", self.accept), ("confidence", self.confidence)):
            if not 0 < value < 1:
                raise InputError(f"The {name} is {value:g}.", "Give a number between 0 and 1, such as 0.2.")
        if self.mistake not in get_args(Mistake):
            raise InputError(
                f"There is no mistake {self.mistake!r}.", f"Choose {' or '.join(get_args(Mistake))}."
            )


def upper(mistakes: int, labels: int, confidence: float) -> float:
    """The rate that mistakes do not exceed, with this confidence, after so many among the labels.

    >>> round(upper(0, 20, 0.9), 3), round(upper(1, 20, 0.9), 3), upper(20, 20, 0.9)
    (0.109, 0.181, 1.0)
    """
    return 1.0 if mistakes >= labels else float(bdtri(mistakes, labels, 1 - confidence))


def bound_text(rate: float) -> str:
    """An upper bound in percent, rounded up: rounded down it would promise more than the labels do.

    >>> bound_text(0.1805), bound_text(0.2501), bound_text(0.181), bound_text(1.0)
    ('18.1%', '25.1%', '18.1%', '100.0%')
    """
    return f"{math.ceil(1000 * rate - 1e-9) / 10:.1f}%"


def allowed(labels: int, accept: float, confidence: float) -> int:
    """The most mistakes among the labels with which the rate can be promised; -1 if even none is too many.

    >>> allowed(20, 0.2, 0.9), allowed(10, 0.2, 0.9), allowed(11, 0.2, 0.9)
    (1, -1, 0)
    """
    most = -1
    while most + 1 < labels and bdtr(most + 1, labels, accept) <= 1 - confidence:
        most += 1
    return most


def fewest(accept: float, confidence: float) -> int:
    """The fewest labels with which the rate can be promised, if no label is a mistake.

    >>> fewest(0.2, 0.9), fewest(0.05, 0.95)
    (11, 59)
    """
    return math.ceil(math.log(1 - confidence) / math.log(1 - accept))


def check_enough(labels: int, accept: float, confidence: float, what: str = "label") -> None:
    """Raises InputError when so few labels cannot promise the rate, and says what they can promise.

    `what` is the kind of label that counts for this promise.
    """
    if allowed(labels, accept, confidence) < 0:
        raise InputError(
            f"{counted(labels, what)} cannot promise {accept:.0%} with {confidence:.0%} confidence.",
            f"Give at least {counted(fewest(accept, confidence), what)}, or accept more: these can promise "
            f"{math.ceil(100 * upper(0, labels, confidence))} % if none of them is a mistake.",
        )
