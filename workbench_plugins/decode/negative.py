"""What cannot be: numbers that a system's fusion never gives, and an order that min-max never changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from workbench.errors import InputError
from workbench.records import Shown
from workbench.retrieval.fusion import Fusion
from workbench.retrieval.pipeline import Pipeline
from workbench.systems.catalogue import SYSTEMS
from workbench.tables import Block, Line, Part
from workbench_plugins.decode.decoding import MOST_NUMBERS, Way, cheapest
from workbench_plugins.decode.formulas import DEEPEST, formulas_of
from workbench_plugins.decode.printed import Printed, printed

TRIED = ("vector", "keyword")
"""The lists whose ranks are tried."""


@dataclass(frozen=True)
class Given:
    """A number that a fusion gives, with the way; or one that no way gave, with the nearest ones.

    `every_way` says whether all ways were tried, so that the fusion never gives the number.
    """

    number: str
    way: Way | None
    below: float | None = None
    above: float | None = None
    every_way: bool = True

    def __str__(self) -> str:
        if self.way is not None:
            return f"{self.number} = {self.way.text}"
        nearest = [f"{one:.6g}" for one in (self.below, self.above) if one is not None]
        verdict = "cannot be" if self.every_way else "was not found"
        return f"{self.number} {verdict}: the nearest is {' or '.join(nearest)}"


@dataclass(frozen=True, repr=False)
class Possible(Shown):
    """Whether the fusion of one system gives each of some numbers, from ranks or from printed numbers.

    `untried` names the lists that the fusion sums beside the two that are tried.
    """

    system: str
    inputs: str
    numbers: tuple[Given, ...]
    untried: tuple[str, ...] = ()

    @property
    def all_given(self) -> bool:
        """Whether it gives every number."""
        return all(one.way for one in self.numbers)

    @property
    def answer(self) -> str:
        """The answer in one sentence."""
        if self.all_given:
            return f"The fusion of {self.system} gives these numbers {self.inputs}."
        never = ", ".join(one.number for one in self.numbers if not one.way)
        if self.untried:
            return (
                f"No way was found in which the fusion of {self.system} gives {never} {self.inputs}. It sums "
                f"more lists ({', '.join(self.untried)}), whose ranks were not tried, so it may give "
                f"{'it' if ',' not in never else 'them'}."
            )
        return f"The fusion of {self.system} cannot give {never} {self.inputs}: another formula or setting."

    def __repr__(self) -> str:
        """One line; `workbench.show` prints all, and a notebook shows all."""
        return f"<Possible: {self.answer}>"

    def view(self) -> Sequence[Part]:
        """The answer, and for each number the way or the nearest number that can be."""
        return [Line(self.answer, "bold"), *(Block(str(one), indent=2) for one in self.numbers)]

    def as_json(self) -> dict[str, Any]:
        """The figures as `workbench decode --system NAME --json` prints them."""
        given = [
            {"number": one.number, "way": one.way and one.way.text, "below": one.below, "above": one.above}
            for one in self.numbers
        ]
        known = self.all_given or not self.untried
        return {
            "system": self.system,
            "inputs": self.inputs,
            "possible": self.all_given if known else None,
            "untried": list(self.untried),
            "numbers": given,
        }


def possible(numbers: Sequence[str], system: str, beside: Sequence[str] = ()) -> Possible:
    """Whether the fusion of a system gives these numbers, with the system's own weights and constants.

    A fusion of ranks is tried with all ranks up to DEEPEST in the vector list, in the keyword list, and in
    both. Where it sums more lists, the ways are too many to try, and nothing is called impossible. A fusion
    of scores is tried with the numbers in `beside`. Raises InputError for an unknown system, for a fusion
    that needs its whole list, for one of scores without `beside`, and for a text that is not a number.
    """
    pipeline = SYSTEMS.named(system)
    name = pipeline.name
    found = formulas_of(name)
    if not found:
        raise InputError(
            f"The fusion of {name} needs the scores of its whole list.",
            "Give the lists: a case can hold them (docs/reports.md, `workbench case new`).",
        )
    if not 0 < len(numbers) <= MOST_NUMBERS:
        raise InputError(f"{len(numbers)} numbers cannot be tried at once.", f"Give 1 to {MOST_NUMBERS}.")
    of_ranks = any(formula.of_ranks for formula in found)
    if not (of_ranks or beside):
        raise InputError(f"The fusion of {name} reads scores.", "Give them: --beside 0.82 --beside 0.4")
    known = [printed(one) for one in beside]
    untried = _untried_lists(pipeline) if of_ranks else ()
    given = [_given(printed(one), known, found) for one in numbers]
    if untried:
        given = [replace(one, every_way=False) for one in given]
    ranks = f"from ranks up to {DEEPEST}" + (f" in the {' and '.join(TRIED)} lists" if untried else "")
    return Possible(name, ranks if of_ranks else f"from {', '.join(beside)}", tuple(given), untried)


def _untried_lists(pipeline: Pipeline) -> tuple[str, ...]:
    """The lists that a pipeline's legs make and its fusion sums, beside those that are tried."""
    written = {column for stage in pipeline.stages for column in stage.writes()}
    legs = [leg for stage in pipeline.stages if isinstance(stage, Fusion) for leg in stage.legs]
    return tuple(leg for leg in legs if leg not in TRIED and f"{leg}_rank" in written)


def _given(number: Printed, known: Sequence[Printed], formulas: Sequence[Any]) -> Given:
    made = [one.make([each.as_input_of(number) for each in known]) for one in formulas]
    ways = [cheapest(number, one) for one in made]
    way = min(ways, key=lambda one: one[0])[1]
    if way is not None:
        return Given(number.text, way)
    lows, highs = (np.concatenate([getattr(one, end) for one in made]) for end in ("low", "high"))
    below, above = highs[highs < number.value], lows[lows > number.value]
    return Given(
        number.text,
        None,
        float(below.max()) if below.size else None,
        float(above.min()) if above.size else None,
    )


def smallest_gap(scores: Sequence[float]) -> float:
    """The smallest gap between two scores once min-max has scaled them to 0 and 1; 0 if all are equal.

    >>> smallest_gap([1200, 1000, 300, 100])
    0.18181818181818182

    Raises InputError without a score.
    """
    if not len(scores):
        raise InputError("There is no score, and so no gap.", "Give the scores of one query's candidates.")
    ordered = sorted(scores, reverse=True)
    spread = ordered[0] - ordered[-1]
    return min((one - other) / spread for one, other in pairwise(ordered)) if spread else 0.0


def keeps_order(scores: Sequence[float], weight: float, other_weights: Sequence[float]) -> bool:
    """Whether min-max with these weights cannot change the order of one query's scores.

    The other queries together add at most the sum of their weights, which is less than the smallest gap.

    >>> keeps_order([1200, 1000, 300, 100], 0.9998, [0.0001, 0.0001])
    True
    """
    return smallest_gap(scores) * weight > sum(other_weights)
