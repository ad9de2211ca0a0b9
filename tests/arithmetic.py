"""A printed formula, read as the arithmetic that it claims to be."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

NAMES = ("atan", "exp", "expm1", "log", "log1p", "log2", "log10", "sqrt", "tanh", "floor", "ceil")
FUNCTIONS = {name: getattr(math, name) for name in NAMES} | {"max": max, "min": min, "abs": abs}
FUNCTIONS["sign"] = lambda value: (value > 0) - (value < 0)
NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d*)?(?:e[+-]?\d+)?")


def evaluated(formula: str, number: Callable[[str], Any] = float) -> Any:
    """What a printed formula comes to, by Python's own precedence; ValueError for more than arithmetic."""
    if others := set(re.findall(r"(?<![\w.])[A-Za-z_]\w*|(?<=\.)[A-Za-z_]\w*", formula)) - FUNCTIONS.keys():
        raise ValueError(f"not arithmetic: {others}")
    source = formula.replace("×", "*").replace(" ^ ", "**")
    source = NUMBER.sub(lambda found: f'number("{found[0]}")', source)
    return eval(source, {"__builtins__": {}, "number": number, **FUNCTIONS})
