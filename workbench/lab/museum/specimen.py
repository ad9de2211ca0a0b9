"""A specimen: a public bug, the smallest input that shows it, and the one change that fixes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from workbench.extensions import registrar
from workbench.records import Tabular

Answer = Mapping[str, float]
"""The result of one side, best first: names and their scores."""


@dataclass(frozen=True)
class Side:
    """One side of a specimen: a line that says what it does, the code that does it, and its answer."""

    says: str
    made_by: Any
    answer: Callable[[], Answer]


class Sides(NamedTuple):
    """The code with the bug, and the code with the fix."""

    shipped: Side
    fixed: Side


@dataclass(frozen=True)
class Specimen:
    """A public bug: its reports, the symptom, the mechanism, the one change, and an input that shows it.

    `world` describes the input. `healthy` tests an answer, and `expected` states this test in words. `note`
    says what is simplified.
    """

    name: str
    references: tuple[str, ...]
    symptom: str
    mechanism: str
    change: str
    world: str
    expected: str
    healthy: Callable[[Answer], bool]
    sides: Sides
    note: str = ""

    def run(self) -> SpecimenRun:
        """Compute both answers and check each of them."""
        shipped, fixed = dict(self.sides.shipped.answer()), dict(self.sides.fixed.answer())
        return SpecimenRun(self, shipped, fixed, self.healthy(shipped), self.healthy(fixed))


@registrar.register(Specimen)
def _add(thing: Specimen) -> None:
    from workbench.lab.museum.catalogue import SPECIMENS  # which imports every specimen

    SPECIMENS.add(thing)


@dataclass(frozen=True)
class SpecimenRun(Tabular):
    """Both answers of a specimen, and whether each is as expected."""

    specimen: Specimen
    shipped: Answer
    fixed: Answer
    shipped_healthy: bool
    fixed_healthy: bool

    @property
    def shows(self) -> bool:
        """Whether the shipped side has the bug and the fixed side does not."""
        return self.fixed_healthy and not self.shipped_healthy


class SpecimenRuns(list[SpecimenRun], Tabular):
    """The answers of several specimens."""


def first(answer: Answer) -> str | None:
    """The name with the best score; None for an empty answer and for a tie at the top."""
    best = [name for name, score in answer.items() if score == max(answer.values())]
    return best[0] if len(best) == 1 else None


def by_score(scores: Mapping[str, float]) -> Answer:
    """Scores as an answer: best first, equal scores by name."""
    return dict(sorted(scores.items(), key=lambda pair: (-pair[1], pair[0])))
