"""Delta debugging: the smallest part of a list that still shows a failure.

Source: Zeller and Hildebrandt, Simplifying and Isolating Failure-Inducing Input, IEEE TSE 28(2), 2002.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

Item = TypeVar("Item")


def smallest(items: Sequence[Item], fails: Callable[[Sequence[Item]], bool]) -> list[Item]:
    """A part of `items`, in their order, for which `fails` is true, and false without any one of its items.

    `fails(items)` must be true. The same input gives the same result. An empty part is tried too.
    """
    kept = list(items)
    if kept and fails([]):
        return []
    parts = 2
    while len(kept) >= 2:
        size = max(1, len(kept) // parts)
        cuts = list(range(0, len(kept), size))
        without = next((cut for cut in cuts if fails([*kept[:cut], *kept[cut + size :]])), None)
        if without is not None:
            kept = [*kept[:without], *kept[without + size :]]
            parts = max(2, min(parts - 1, len(kept)))
        elif size == 1:
            break
        else:
            parts = min(len(kept), parts * 2)
    return kept
