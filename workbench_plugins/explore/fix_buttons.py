"""A fix of a diagnosis as a button of the page: what it says, and the settings that it moves."""

from __future__ import annotations

import shlex
from typing import Any

from workbench_plugins.diagnose.fixes import Fix
from workbench_plugins.diagnose.prices import Prices


def fix_button(fix: Fix, prices: Prices, side: str) -> dict[str, Any] | None:
    """The button of a fix for the system on that side; None for one that no setting of the page can make.

    `moved` are the parameters that it sets, and `system` the system that takes the side's place.
    """
    if fix.chunks is not None or fix.is_key or fix.as_set is None:
        return None
    moved: dict[str, Any] = {}
    told, system = [], ""
    words = shlex.split(fix.as_set)
    for option, value in zip(words[::2], words[1::2], strict=True):
        if option == "--set":
            name, _, text = value.partition("=")
            if "." not in name:
                return None  # another stage in a slot, which is no setting of the page
            moved[name] = _value(text)
            told.append(f"{name} = {text}")
        elif option == "--system":
            system = value
            told.append(f"the system {system}")
    asked = prices.asked_text
    price = f"{fix.price.hits_text} of {len(prices.questions)} {asked}"
    if prices.controls:
        price += f", {fix.price.silence_text} of {len(prices.controls)} unanswerable ones return nothing"
    return {"name": ", ".join(told), "price": price, "side": side, "moved": moved, "system": system}


def _value(text: str) -> float | str:
    """The value that a setting has as text: true or false, a number, or a word."""
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        return float(text)
    except ValueError:
        return text
