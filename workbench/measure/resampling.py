"""Resampling by unit: how much a mean over questions may be luck, where several questions share a file.

Questions about one file resemble each other, so fifty questions about ten files are no fifty observations.
The unit, whatever the labels have (a file, a topic, a conversation), is what is flipped and drawn.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import count
from statistics import NormalDist

import numpy as np

from workbench.errors import InputError
from workbench.records import Floats

LEVEL = 0.05
"""A difference is told if its p value is smaller than this; the intervals have 1 - LEVEL confidence."""

EXACT_UNITS = 13
"""The largest number of units for which all signs are counted, which is exact; for more they are drawn."""

RESAMPLES = 9999
SEED = 0
ROUNDING = 1e-12
"""Sums that differ by no more than this share of all that they add up are equal but for rounding."""
_NUMBERS_AT_ONCE = 10**6


def by_unit(changes: Floats, units: Sequence[Hashable] | None) -> tuple[Floats, Floats]:
    """The sum of the changes of each unit, and its number of questions, in the order of the units."""
    if units is None:
        return changes, np.ones(changes.size)
    numbers: dict[Hashable, int] = {}
    of = np.array([numbers.setdefault(unit, len(numbers)) for unit in units])
    if of.size != changes.size:
        raise InputError(
            f"There are {of.size} units for {changes.size} questions.", "Name the unit of each question."
        )
    sums: Floats = np.bincount(of, changes).astype(float)
    return sums, np.bincount(of).astype(float)


def sign_flip_p(sums: Floats) -> float:
    """The two-sided p-value of the sign-flip test of the summed changes of each unit.

    Under its hypothesis the pipelines are equally good: each change has either sign equally often.
    """
    changed = sums[np.abs(sums) > ROUNDING]
    sizes = np.abs(changed)
    rounding = ROUNDING * float(sizes.sum())
    if not changed.size or sizes.max() - sizes.min() <= rounding:  # only the number of signs matters
        return _sign_p(int((changed > 0).sum()), int((changed < 0).sum()))
    return float((np.abs(_signs(changed.size) @ changed) >= abs(changed.sum()) - rounding).mean())


def _sign_p(wins: int, losses: int) -> float:
    """The two-sided p-value of the sign test: under its hypothesis wins are as frequent as losses."""
    n, k = wins + losses, np.arange(1, min(wins, losses) + 1)  # by numpy: SciPy takes 0.2 s to import
    return min(1.0, 2 * float(np.exp(np.cumsum(np.r_[-n * np.log(2), np.log((n + 1 - k) / k)])).sum()))


def fewest_wins() -> int:
    """The least number of units that are better, and none worse, that can be told from luck: 6 at 5 %."""
    return next(wins for wins in count(1) if _sign_p(wins, 0) < LEVEL)


def _signs(units: int) -> Floats:
    """All signs of so many units, one set a row; for more than EXACT_UNITS the units' own and random ones."""
    if units <= EXACT_UNITS:
        bits = np.arange(2**units)[:, None] >> np.arange(units) & 1
        return (1 - 2 * bits).astype(float)
    drawn = np.random.default_rng(SEED).choice((-1.0, 1.0), (RESAMPLES, units))
    return np.vstack([np.ones(units), drawn])


def interval_of(
    sums: Floats, sizes: Floats, wins: int, losses: int, counted: bool
) -> tuple[float, float] | None:
    """The 95 % confidence interval of the mean change, as `paired_values` says; None without any spread."""
    single, even = bool((sizes == 1).all()), bool(np.ptp(sums / sizes) == 0)
    if single and counted:
        return _adjusted_interval(wins, losses, sums.size)
    if counted and not sums.any():  # nothing changed in so many units, which does not prove that nothing can
        return _adjusted_interval(0, 0, sums.size)
    if sums.size <= EXACT_UNITS and sums.any() and not (single and even):
        return _inverted_interval(sums, sizes)
    if even:
        return None
    return _bootstrap_interval(sums, sizes)


def _adjusted_interval(wins: int, losses: int, n: int) -> tuple[float, float]:
    """Bonett and Price (2012): Wald's interval, with one win, one loss and two questions added.

    Unlike a bootstrap it does not shrink to a point when few questions or only one side changed.
    """
    win, loss = (wins + 1) / (n + 2), (losses + 1) / (n + 2)
    half = NormalDist().inv_cdf(1 - LEVEL / 2) * np.sqrt((win + loss - (win - loss) ** 2) / (n + 2))
    return max(-1.0, float(win - loss - half)), min(1.0, float(win - loss + half))


def _inverted_interval(sums: Floats, sizes: Floats) -> tuple[float, float]:
    """The mean changes that the sign flip test does not rule out.

    Fewer than 6 units rule out nothing. The interval then goes from -1 to 1, or as far as a unit has changed.
    """
    signs = _signs(sums.size)
    of_sums, of_sizes = signs @ sums, signs @ sizes
    mean = float(sums.sum() / sizes.sum())

    def ruled_out(change: float) -> bool:
        rest = abs(sums.sum() - change * sizes.sum())
        rounding = ROUNDING * float(np.abs(sums).sum() + abs(change) * sizes.sum())
        return float((np.abs(of_sums - change * of_sizes) >= rest - rounding).mean()) < LEVEL

    def end(least: float) -> float:
        inside, outside = mean, least
        if not ruled_out(outside):
            return outside
        for _ in range(30):
            middle = (inside + outside) / 2
            inside, outside = (inside, middle) if ruled_out(middle) else (middle, outside)
        return outside

    widest = max(1.0, float(np.abs(sums / sizes).max()))
    return end(-widest), end(widest)


def _bootstrap_interval(sums: Floats, sizes: Floats) -> tuple[float, float]:
    """A percentile bootstrap over the units, each with all of its questions."""
    rng, means = np.random.default_rng(SEED), []
    batch = max(1, _NUMBERS_AT_ONCE // sums.size)
    for start in range(0, RESAMPLES, batch):
        drawn = rng.integers(0, sums.size, (min(batch, RESAMPLES - start), sums.size))
        means.append(sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1))
    low, high = np.quantile(np.concatenate(means), (LEVEL / 2, 1 - LEVEL / 2))
    return float(low), float(high)


def wilson_interval(hits: float, n: float) -> tuple[float, float]:
    """The 95 % confidence interval of a share of `n` observations, after Wilson (1927); 0 to 1 for none."""
    if n <= 0:
        return 0.0, 1.0
    z, rate = NormalDist().inv_cdf(1 - LEVEL / 2), hits / n
    middle, spread = rate + z * z / (2 * n), z * (rate * (1 - rate) / n + z * z / (4 * n * n)) ** 0.5
    low, high = (middle - spread) / (1 + z * z / n), (middle + spread) / (1 + z * z / n)
    # By rounding, the end for a share of 0 or 1 could be on the wrong side of it.
    return max(0.0, min(rate, low)), min(1.0, max(rate, high))


def rate_interval(values: Floats, units: Sequence[Hashable]) -> tuple[float, float]:
    """The 95 % confidence interval of the mean of values of 0 and 1, shape (n,), by unit.

    Wilson's interval for the number of independent questions that would vary as much as these units do; where
    all questions agree, for the number of units. Source: Dean and Pagano (2015).
    """
    sums, sizes = by_unit(np.asarray(values, float), units)
    n, count = float(sizes.sum()), sums.size
    if not n:
        return 0.0, 1.0
    rate = float(sums.sum() / n)
    alone = rate * (1 - rate) / n
    if count == n:
        return wilson_interval(rate * n, n)
    if alone == 0 or count < 2:
        return wilson_interval(rate * count, count)
    varied = count / (count - 1) * float(((sums - rate * sizes) ** 2).sum()) / n**2
    effective = n / max(1.0, varied / alone)
    return wilson_interval(rate * effective, effective)
