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

    `score` holds a weight for each of vector, keyword, file, title and late; they sum to 1. `answerable`
    holds the weights of a logistic regression, `intercept` included. `model` names the model of the vectors.
    """

    score: Mapping[str, float]
    answerable: Mapping[str, float]
    model: str
    fitted: str


def read_weights(path: Path = FILE) -> FittedWeights:
    """The weights in a file. Raises InputError for a file that is missing or has another form."""
    text = read_input(path, "The file of weights", LARGEST_FILE)
    try:
        data = json.loads(text)
        return FittedWeights(
            _numbers(data["score"]), _numbers(data["answerable"]), str(data["model"]), str(data["fitted"])
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(f"{path} is not a file of weights: {error!r}.", FORM) from None


def _numbers(given: Any) -> dict[str, float]:
    numbers = {str(name): float(value) for name, value in given.items()}
    if not all(math.isfinite(one) for one in numbers.values()):
        raise ValueError("a weight is not a finite number")
    return numbers
