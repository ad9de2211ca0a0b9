"""The weights of the pipeline `recommended`: numbers in a file, with how and on what they were fitted."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.errors import InputError
from workbench.memory.files import read_input

FILE = Path(__file__).parent / "weights.json"
LARGEST_FILE = 100_000
"""Bytes."""
FORM = "Use a file like workbench/systems/recommended/weights.json; benchmarks/fit.py writes one."


@dataclass(frozen=True)
class FittedWeights:
    """How much each kind of evidence counts, and what says that anything here answers.

    `score` holds a weight for each of vector, keyword, title and late; they sum to 1. `answerable` holds the
    weights of a logistic regression, `intercept` included. `wrong_per_hundred` is how many wrong answers in a
    hundred the floor accepts. `model` names the model of the vectors.
    """

    score: Mapping[str, float]
    answerable: Mapping[str, float]
    wrong_per_hundred: float
    model: str
    fitted: str


def read_weights(path: Path = FILE) -> FittedWeights:
    """The weights in a file. Raises InputError for a file that is missing or has another form."""
    text = read_input(path, "The file of weights", LARGEST_FILE)
    try:
        data = json.loads(text)
        return FittedWeights(
            _numbers(data["score"]),
            _numbers(data["answerable"]),
            _number(data["wrong_per_hundred"]),
            str(data["model"]),
            str(data["fitted"]),
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(f"{path} is not a file of weights: {error!r}.", FORM) from None


def _numbers(given: Any) -> dict[str, float]:
    return {str(name): _number(value) for name, value in given.items()}


def _number(given: Any) -> float:
    number = float(given)
    if not math.isfinite(number):
        raise ValueError("a weight is not a finite number")
    return number
