"""A printed formula, read as the arithmetic that it claims to be."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import cache
from types import CodeType
from typing import Any

NAMES = ("atan", "exp", "expm1", "log", "log1p", "log2", "log10", "sqrt", "tanh", "floor", "ceil")
FUNCTIONS = {name: getattr(math, name) for name in NAMES} | {"max": max, "min": min, "abs": abs}
FUNCTIONS["sign"] = lambda value: (value > 0) - (value < 0)
NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d*)?(?:e[+-]?\d+)?")


@cache
def compiled(shape: str) -> CodeType:
    """A formula with a # for each of its numbers, as code that takes them from `numbers` one by one."""
    if others := set(re.findall(r"[A-Za-z_]\w*", shape)) - FUNCTIONS.keys():
        raise ValueError(f"not arithmetic: {others}")
    source = shape.replace("×", "*").replace(" ^ ", "**").replace("#", "next(numbers)")
    return compile(source, shape, "eval")


def evaluated(formula: str, number: Callable[[str], Any] = float) -> Any:
    """What a printed formula comes to, by Python's own precedence; ValueError for more than arithmetic."""
    numbers = map(number, NUMBER.findall(formula))
    return eval(
        compiled(NUMBER.sub("#", formula)),
        {"__builtins__": {}, "numbers": numbers, "next": next, **FUNCTIONS},
    )
