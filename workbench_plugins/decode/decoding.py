"""Which published formula makes these numbers?

A formula fits a list of numbers if it makes each of them, to the digits that were printed. With enough
formulas something always fits. So the answer also says how many formulas would fit random numbers with the
same digits as simply, and nothing is claimed where that is more than CHANCE. Numbers are settled where one
formula fits, in one way: 0.0323 is 1 / 61 + 1 / 63 and 1 / 62 + 1 / 62, and no digit says which. A sum of
ranks may have been made by hand, of terms that were rounded first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from workbench.errors import InputError
from workbench.records import Floats, Shown
from workbench.safe_text import counted
from workbench.tables import Block, Line, Part
from workbench_plugins.decode.formulas import Formula, Reachable, all_formulas
from workbench_plugins.decode.printed import Printed, printed

CHANCE = 0.05
"""The most formulas that may fit random numbers by chance where one is claimed."""
MOST_NUMBERS = 50
SHOWN = 3
"""How many formulas are shown; all are in the data."""
MANY = 1000
"""The most ways that the answer counts."""
MOST_WAYS = 20
"""How many ways of a formula to one number are put into words; the others are counted."""
PART = re.compile(r"\d+(?:\.\d+)?")
"""A number in the words of a way."""
ROUNDING = 1e-9
"""What floating-point arithmetic may add to a half digit."""


@dataclass(frozen=True)
class Way:
    """How a formula makes one number: the number as printed, the way in words, and the residual.

    `residual` is the computed value minus the printed one; where rounded inputs leave a range, that of the
    nearest value of the range. `more` are other ways in which the formula makes another value that is printed
    with the same digits, the simplest first, at most MOST_WAYS. `count` is the number of all ways.
    """

    number: str
    text: str
    residual: float
    more: tuple[str, ...] = ()
    count: int = 1


@dataclass(frozen=True)
class Fit:
    """A formula that makes all of the numbers, with a way for each, the simplest one.

    `cost` is that of the most far-fetched way. `chance` is the expected number of formulas, of all that were
    tried, that make random numbers with these digits at this cost or less.
    """

    name: str
    used_by: tuple[str, ...]
    ways: tuple[Way, ...]
    cost: float
    chance: float

    @property
    def count(self) -> int:
        """In how many ways the formula makes the numbers."""
        return prod(one.count for one in self.ways)


@dataclass(frozen=True, repr=False)
class Decoded(Shown):
    """The formulas that make these numbers together, the simplest first, and how many were tried.

    `claimed` are those that chance does not explain.
    """

    numbers: tuple[str, ...]
    tried: int
    fits: tuple[Fit, ...]

    @property
    def claimed(self) -> tuple[Fit, ...]:
        """The fits that chance does not explain."""
        return tuple(one for one in self.fits if one.chance <= CHANCE)

    @property
    def settled(self) -> bool:
        """Whether one formula fits, in one way, and chance does not explain it."""
        return len(self.fits) == 1 and self.fits[0].count == 1 and bool(self.claimed)

    def __repr__(self) -> str:
        """One line; `workbench.show` prints all, and a notebook shows all."""
        return f"<Decoded: {self.answer}>"

    @property
    def answer(self) -> str:
        """The answer in one sentence."""
        numbers, it = ", ".join(self.numbers), "it" if len(self.numbers) == 1 else "them"
        if self.settled:
            return ", ".join(f"{one.number} = {one.text}" for one in self.fits[0].ways)
        if self.claimed:
            formulas, ways = counted(len(self.fits), "formula"), sum(one.count for one in self.fits)
            told = ", or ".join(self._alternatives())
            many = counted(ways, "way") if ways <= MANY else f"more than {MANY:,} ways"
            return f"{numbers}: {told}. None is settled: {formulas} can make {it}, in {many}"
        if self.fits:
            return f"{numbers}: {counted(len(self.fits), 'formula')} could make {it}, but chance could, too"
        return f"{numbers}: {'nothing fits' if len(self.numbers) == 1 else 'no formula fits all of them'}"

    def _alternatives(self) -> list[str]:
        """The two simplest ways of one number, or the formulas that make several numbers."""
        if len(self.numbers) > 1:
            return [one.name for one in self.fits[:2]]
        first = self.fits[0].ways[0]
        return [first.text, *first.more, *(one.ways[0].text for one in self.fits[1:])][:2]

    def view(self) -> Sequence[Part]:
        """The answer, how each number is made, what else fits as simply, and how much chance explains."""
        parts: list[Part] = [Line(self.answer, "bold")]
        for fit in self.fits[:SHOWN]:
            used = f" (used by {', '.join(fit.used_by[:SHOWN])})" if fit.used_by else ""
            parts.append(Block(f"{fit.name}{used}", indent=2))
            for way in fit.ways:
                parts.append(Block(f"{way.number} = {way.text}", indent=4))
                parts += [Block(f"or {other}", indent=6) for other in way.more[:SHOWN]]
                if way.count > 1 + SHOWN:
                    parts.append(Block(f"or in {counted(way.count - 1 - SHOWN, 'more way')}", indent=6))
            parts.append(Block(_by_chance(fit.chance, len(self.numbers)), indent=4))
        for fit in self.fits[SHOWN:]:
            ways = "; ".join(f"{one.number} = {one.text}" for one in fit.ways)
            parts.append(Block(f"also {fit.name}: {ways}", indent=2))
        return [*parts, Line(f"{counted(self.tried, 'formula')} tried.")]

    def as_json(self) -> dict[str, Any]:
        """The figures as `workbench decode --json` prints them."""
        fits = [
            {
                "formula": one.name,
                "used_by": list(one.used_by),
                "ways": [vars(way) for way in one.ways],
                "count": one.count,
                "chance": one.chance,
                "claimed": one.chance <= CHANCE,
            }
            for one in self.fits
        ]
        return {
            "numbers": list(self.numbers),
            "tried": self.tried,
            "settled": self.settled,
            "fits": fits,
        }


def _by_chance(expected: float, count: int) -> str:
    """How often random numbers with these digits fit as simply, from the expected number of formulas."""
    if expected > 0.5:  # too many for a chance of one in so many
        return f"by chance, about {expected:.2g} formulas would fit such numbers as simply"
    one_in = f"{float(f'{1 / expected:.2g}'):,.0f}" if expected > 1e-12 else "a million million"
    such = "such numbers" if count == 1 else f"such lists of {count} numbers"
    return f"about 1 in {one_in} {such} would fit as simply by chance"


def decode(numbers: Sequence[str], beside: Sequence[str] = ()) -> Decoded:
    """Find the formulas that make all of `numbers`, given as they were printed.

    Each number may be made of ranks, or of the other numbers and of those in `beside`, such as the scores
    and weights that a report prints. Raises InputError for no numbers, for more than MOST_NUMBERS, and for a
    text that is not a number.
    """
    if not 0 < len(numbers) <= MOST_NUMBERS:
        raise InputError(
            f"{len(numbers)} numbers cannot be decoded at once.", f"Give 1 to {MOST_NUMBERS}: 0.016393 0.5"
        )
    asked, known = [printed(one) for one in numbers], [printed(one) for one in beside]
    inputs = [
        [one.as_input_of(number) for one in (*known, *asked) if one.value != number.value] for number in asked
    ]
    tried = _distinct(all_formulas(), inputs, [one.decimals for one in asked])
    fits = []
    for made, formulas in tried:
        ways = [cheapest(number, one) for number, one in zip(asked, made, strict=True)]
        if all(way for _, way in ways):
            cost = max(cost for cost, _ in ways)
            used = tuple(dict.fromkeys(name for one in formulas for name in one.used_by))
            fits.append(Fit(_named(formulas), used, tuple(way for _, way in ways if way), cost, 0.0))
    every = [made for made, _ in tried]
    chances = {cost: _chance(asked, every, cost) for cost in {one.cost for one in fits}}
    fits = [replace(one, chance=chances[one.cost]) for one in fits]
    fits.sort(key=lambda one: (_left_over(one, known), one.cost, -len(one.used_by), one.name))
    return Decoded(tuple(one.text for one in asked), len(tried), tuple(fits))


def _named(formulas: Sequence[Formula]) -> str:
    """The first name of formulas that make the same numbers, and the shortest, which assumes the least."""
    return ", or ".join(dict.fromkeys([formulas[0].name, min((one.name for one in formulas), key=len)]))


def _left_over(fit: Fit, known: Sequence[Printed]) -> int:
    """How many of the numbers that were printed beside have no part in any way of a formula."""
    parts = {float(one) for way in fit.ways for one in PART.findall(way.text)}
    # A formula of a system prints four digits of a number.
    return sum(parts.isdisjoint({abs(one.value), float(f"{abs(one.value):.4g}")}) for one in known)


def _distinct(
    formulas: Sequence[Formula], inputs: Sequence[Sequence[Printed]], decimals: Sequence[int]
) -> list[tuple[list[Reachable], list[Formula]]]:
    """What the formulas make of the inputs of each number; those that make the same numbers are one."""
    found: dict[tuple[bytes, ...], tuple[list[Reachable], list[Formula]]] = {}
    for formula in formulas:
        made = [
            formula.make(some).with_sums_by_hand(digits)
            for some, digits in zip(inputs, decimals, strict=True)
        ]
        alike = tuple(np.round([one.low, one.high], 12).tobytes() for one in made)
        found.setdefault(alike, (made, []))[1].append(formula)
    return list(found.values())


def decode_each(numbers: Sequence[str], beside: Sequence[str] = ()) -> Iterator[Decoded]:
    """Decode each number by itself; the others are what it may be made of."""
    for number in numbers:
        yield decode([number], [*beside, *(one for one in numbers if one != number)])


def cheapest(number: Printed, made: Reachable) -> tuple[float, Way | None]:
    """The simplest way to this number, with its cost; infinity and None if there is none.

    Ways that make the same value, such as those with the ranks of two lists exchanged, are one.
    """
    room = number.half * (1 + ROUNDING)
    (fitting,) = np.nonzero((made.low <= number.value + room) & (made.high >= number.value - room))
    if not len(fitting):
        return np.inf, None
    simplest = fitting[np.argsort(made.cost[fitting], kind="stable")]
    values = np.round([made.low[simplest], made.high[simplest]], 12)
    best, *more = simplest[np.sort(np.unique(values, axis=1, return_index=True)[1])].tolist()
    nearest = float(np.clip(number.value, made.low[best], made.high[best]))
    others = tuple(made.texts(one) for one in more[:MOST_WAYS])
    way = Way(number.text, made.texts(best), nearest - number.value, others, 1 + len(more))
    return float(made.cost[best]), way


def _chance(asked: Sequence[Printed], made: Sequence[Sequence[Reachable]], cost: float) -> float:
    """How many formulas are expected to make random numbers with these digits, at this cost or less.

    A random number has as many decimals as the printed one, and the same power of ten.
    """
    shares = np.array(
        [[_share(number, one, cost) for number, one in zip(asked, each, strict=True)] for each in made]
    )
    return float(shares.prod(axis=1).sum())


def _share(number: Printed, made: Reachable, cost: float) -> float:
    """The share of the numbers with these digits that a formula makes, at this cost or less."""
    least, most = _decade(number)
    sign = -1.0 if number.value < 0 else 1.0
    low, high = np.sort(sign * np.array([made.low, made.high]), axis=0)
    near = (made.cost <= cost) & (high * 2 >= least * 2 * number.half) & np.isfinite(low) & np.isfinite(high)
    unit = 2 * number.half
    first = np.ceil(low[near] / unit - 0.5).clip(least, most + 1)
    last = np.floor(high[near] / unit + 0.5).clip(least - 1, most)
    return _covered(first, last) / (most - least + 1)


def _decade(number: Printed) -> tuple[int, int]:
    """The numbers with the same power of ten and as many decimals, in units of the last digit."""
    size = max(1, abs(number.steps))
    power = 10 ** (len(str(size)) - 1)
    return (power if power > 1 else 0), 10 * power - 1


def _covered(first: Floats, last: Floats) -> float:
    """How many whole numbers lie in at least one of these ranges."""
    order = np.argsort(first)
    total, reached = 0.0, -np.inf
    for one, other in zip(first[order].tolist(), last[order].tolist(), strict=True):
        if other > reached:
            total += other - max(one, reached + 1) + 1
            reached = other
    return total
