"""Which change makes two pipelines differ: every change alone, all sets of changes, and fair shares."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations, permutations
from math import factorial, sqrt
from typing import Any

import numpy as np

from workbench.contracts import Index
from workbench.errors import InputError
from workbench.lab.cached_index import CachedIndex
from workbench.lab.diagnose.edits import Edit, edited, edits_between, fits
from workbench.lab.diagnose.runs import Reruns
from workbench.lab.evaluation import Judged, values
from workbench.lab.paired import HITS, Paired, known_measure, paired_values
from workbench.lab.questions import Question, QuestionSet, check_targets
from workbench.progress import progress_bar
from workbench.records import Tabular
from workbench.retrieval.pipeline import Pipeline, check_pipeline
from workbench.retrieval.query import check_question

MOST_EXACT = 12
"""Up to so many changes all sets of them are run; beyond, orders are drawn."""

ORDERS = 64
"""The number of drawn orders; each is also run backwards."""

SEED = 0
OVERLAP = "overlap"
"""The measure for a question without a known target: the share of the second system's files returned."""

Chosen = frozenset[int]


@dataclass(frozen=True)
class BlamePart:
    """A change between two pipelines, and its share of the difference.

    `alone` is what the change does to the first pipeline alone, `last` what it does on top of all others.
    `share` is its Shapley value: the mean over all orders of what it adds. `error` is the standard error of
    a share from drawn orders, 0 for an exact one.
    """

    name: str
    edits: tuple[Edit, ...]
    alone: Fraction
    last: Fraction
    share: Fraction
    error: float


@dataclass(frozen=True)
class Flipped:
    """A question whose value differs between the two pipelines, and the changes that flip it alone."""

    question: str
    target: str
    before: float
    after: float
    alone: tuple[str, ...]


@dataclass(frozen=True, repr=False)
class Blame(Tabular):
    """How much of the difference between two pipelines each change has: the shares sum to it exactly.

    `before` and `after` are the sums of the measure over the questions. `runs` counts the sets of changes
    that were run. `verdict` is the paired comparison of the two pipelines.
    """

    one: Pipeline
    other: Pipeline
    measure: str
    questions: int
    before: Fraction
    after: Fraction
    parts: tuple[BlamePart, ...]
    flips: tuple[Flipped, ...]
    verdict: Paired
    exact: bool
    runs: int
    together: Mapping[tuple[str, ...], Fraction] = field(repr=False)

    def __repr__(self) -> str:
        """One line; `workbench.show` prints all."""
        shares = ", ".join(f"{part.name} {float(part.share):+.3g}" for part in self.parts)
        return f"<Blame: {self.one.name} to {self.other.name}: {float(self.difference):+.3g} = {shares}>"

    @property
    def difference(self) -> Fraction:
        """The whole difference, which the shares sum to."""
        return self.after - self.before

    def as_json(self) -> dict[str, Any]:
        """The figures under the keys of `workbench blame --json`."""
        return {
            "before": {"system": self.one.name, "value": float(self.before)},
            "after": {"system": self.other.name, "value": float(self.after)},
            "measure": self.measure,
            "questions": self.questions,
            "difference": float(self.difference),
            "exact": self.exact,
            "runs": self.runs,
            "changes": [
                {
                    "change": part.name,
                    "says": [one.says for one in part.edits],
                    "alone": float(part.alone),
                    "last": float(part.last),
                    "share": float(part.share),
                    "error": part.error,
                }
                for part in self.parts
            ],
            "flips": [
                {
                    "question": one.question,
                    "target": one.target,
                    "before": one.before,
                    "after": one.after,
                    "alone": list(one.alone),
                }
                for one in self.flips
            ],
            "paired": self.verdict.as_json(),
        }


def blame(
    one: Pipeline,
    other: Pipeline,
    index: Index,
    questions: QuestionSet | str,
    *,
    target: str = "",
    measure: Any = HITS,
    most_exact: int = MOST_EXACT,
) -> Blame:
    """Which changes make `other` differ from `one`, for labelled questions or for a single one.

    A change is a slot in which the two differ; slots that do not fit without each other are one change. For
    a single question without a target the measure is OVERLAP. Up to `most_exact` changes the shares are
    exact; beyond, they come from drawn orders and have an error, but still sum to the difference.

    Raises InputError for two pipelines that do not differ, for a target that is not in the index, and for an
    unknown measure. Source: Shapley, A value for n-person games, 1953.
    """
    check_pipeline(one)
    check_pipeline(other)
    parts = changes_between(one, other)
    with index.snapshot():
        value = _value_of(one, other, index, questions, target, measure)
        return _blamed(one, other, parts, value, most_exact)


def changes_between(one: Pipeline, other: Pipeline) -> list[tuple[Edit, ...]]:
    """The changes from one pipeline to another: any set of them gives stages that fit together.

    Raises InputError if the two do not differ.
    """
    parts: list[tuple[Edit, ...]] = [(edit,) for edit in edits_between(one, other)]
    if not parts:
        raise InputError(
            f"{one.name} and {other.name} do not differ, so there is nothing to blame.",
            "Name two systems that differ: workbench diff A B.",
        )
    while (pair := _dependent(one, parts)) is not None:
        first, second = pair
        merged = tuple(edit for place in sorted(pair) for edit in parts[place])
        parts = [part for place, part in enumerate(parts) if place not in pair]
        parts.insert(min(first, second), merged)
    return parts


def _dependent(one: Pipeline, parts: Sequence[tuple[Edit, ...]]) -> tuple[int, int] | None:
    """Two changes that fit only together; None if any set of the changes fits (checked up to MOST_EXACT)."""
    places = range(len(parts))
    sizes = range(1, len(parts)) if len(parts) <= MOST_EXACT else (1, len(parts) - 1)
    for size in sizes:
        for some in combinations(places, size):
            if not _fits(one, parts, some):
                return _partners(one, parts, some)
    return None


def _partners(one: Pipeline, parts: Sequence[tuple[Edit, ...]], some: tuple[int, ...]) -> tuple[int, int]:
    """A change of the set that does not fit, and one outside it that makes it fit or comes nearest."""
    outside = [place for place in range(len(parts)) if place not in some]
    helps = next((other for other in outside if _fits(one, parts, (*some, other))), outside[0])
    inside = next((place for place in some if _fits(one, parts, tuple(set(some) - {place}))), some[-1])
    return inside, helps


def _fits(one: Pipeline, parts: Sequence[tuple[Edit, ...]], some: Sequence[int]) -> bool:
    return fits(one, [edit for place in sorted(some) for edit in parts[place]])


# The value of a set of changes, for each question

Values = Callable[[Pipeline], list[Fraction]]


@dataclass(frozen=True)
class _Value:
    """What is measured: the questions with their targets, and the value of each under a pipeline."""

    asked: Sequence[tuple[str, str]]
    measure: str
    of: Values


def _value_of(
    one: Pipeline, other: Pipeline, index: Index, questions: QuestionSet | str, target: str, measure: Any
) -> _Value:
    many = CachedIndex(index)
    if isinstance(questions, str):
        asked = [(check_question(questions), target)]
    else:
        asked = [(each.question, each.target) for each in questions.questions]
    if not isinstance(questions, str) or target:
        labelled = [Question(question=text, target=path) for text, path in asked]
        check_targets(QuestionSet(questions=tuple(labelled)), index.paths())
    runs = [Reruns(text, one, many) for text, _ in asked]
    if isinstance(questions, str) and not target:
        wanted = set(runs[0].trace(other).paths())
        return _Value(asked, OVERLAP, lambda changed: [_overlap(wanted, runs[0].trace(changed).paths())])
    known = known_measure(measure)

    def of(changed: Pipeline) -> list[Fraction]:
        answers = [each.trace(changed).paths() for each in runs]
        if measure == HITS:
            return [Fraction(path in found) for found, (_, path) in zip(answers, asked, strict=True)]
        judged = [Judged(found, [path]) for found, (_, path) in zip(answers, asked, strict=True)]
        return [Fraction(number) for number in values(judged, known)]

    return _Value(asked, str(measure), of)


def _overlap(wanted: set[str], found: Sequence[str]) -> Fraction:
    both = wanted | set(found)
    return Fraction(len(wanted & set(found)), len(both)) if both else Fraction(1)


# Shares


def _blamed(
    one: Pipeline, other: Pipeline, parts: Sequence[tuple[Edit, ...]], value: _Value, most_exact: int
) -> Blame:
    known: dict[Chosen, list[Fraction]] = {}
    exact = len(parts) <= most_exact
    total = 2 ** len(parts) if exact else None
    with progress_bar(total=total, desc="running", unit="set", delay=1) as bar:

        def per_question(chosen: Chosen) -> list[Fraction]:
            if chosen not in known:
                edits = [edit for place in sorted(chosen) for edit in parts[place]]
                known[chosen] = value.of(edited(one, edits))
                bar.update()
            return known[chosen]

        def worth(chosen: Chosen) -> Fraction:
            return sum(per_question(chosen), Fraction())

        shares = exact_shares(len(parts), worth) if exact else drawn_shares(len(parts), worth)
        return _made(one, other, parts, value, per_question, shares, exact, known)


def _made(
    one: Pipeline,
    other: Pipeline,
    parts: Sequence[tuple[Edit, ...]],
    value: _Value,
    per_question: Callable[[Chosen], list[Fraction]],
    shares: Sequence[tuple[Fraction, float]],
    exact: bool,
    known: Mapping[Chosen, list[Fraction]],
) -> Blame:
    every, none = frozenset(range(len(parts))), frozenset[int]()
    names = [" and ".join(edit.slot for edit in part) for part in parts]
    first, last = per_question(none), per_question(every)
    singles = [per_question(frozenset({place})) for place in range(len(parts))]
    made = [
        BlamePart(
            names[place],
            tuple(part),
            sum(singles[place]) - sum(first, Fraction()),
            sum(last, Fraction()) - sum(per_question(every - {place})),
            *shares[place],
        )
        for place, part in enumerate(parts)
    ]
    flips = [
        Flipped(
            *value.asked[row],
            float(before),
            float(after),
            tuple(name for name, single in zip(names, singles, strict=True) if single[row] != before),
        )
        for row, (before, after) in enumerate(zip(first, last, strict=True))
        if before != after
    ]
    return Blame(
        one,
        other,
        value.measure,
        len(value.asked),
        sum(first, Fraction()),
        sum(last, Fraction()),
        tuple(made),
        tuple(flips),
        paired_values(np.array(first, float), np.array(last, float), value.measure),
        exact,
        len(known),
        {
            tuple(names[place] for place in sorted(chosen)): sum(each, Fraction())
            for chosen, each in known.items()
        },
    )


def exact_shares(count: int, worth: Callable[[Chosen], Fraction]) -> list[tuple[Fraction, float]]:
    """The Shapley value of each of `count` changes, from all sets of them; errors are 0."""
    shares = []
    for place in range(count):
        others = [other for other in range(count) if other != place]
        share = Fraction()
        for size in range(count):
            weight = Fraction(factorial(size) * factorial(count - size - 1), factorial(count))
            for some in combinations(others, size):
                chosen = frozenset(some)
                share += weight * (worth(chosen | {place}) - worth(chosen))
        shares.append((share, 0.0))
    return shares


def drawn_shares(
    count: int, worth: Callable[[Chosen], Fraction], orders: int = ORDERS
) -> list[tuple[Fraction, float]]:
    """The Shapley values from drawn orders, each run forwards and backwards, with their standard errors.

    What the changes of one order add sums to the whole difference, so the means do too, exactly.
    """
    added: list[list[Fraction]] = [[] for _ in range(count)]
    for order in _orders(count, orders):
        pairs = [_added(order, worth), _added(order[::-1], worth)]
        for place in range(count):
            added[place].append((pairs[0][place] + pairs[1][place]) / 2)
    return [(sum(some, Fraction()) / len(some), _standard_error(some)) for some in added]


def _orders(count: int, orders: int) -> Iterator[tuple[int, ...]]:
    if factorial(count) <= orders:
        yield from permutations(range(count))
        return
    drawing = random.Random(SEED)
    for _ in range(orders):
        yield tuple(drawing.sample(range(count), count))


def _added(order: Sequence[int], worth: Callable[[Chosen], Fraction]) -> dict[int, Fraction]:
    added, chosen, before = {}, frozenset[int](), worth(frozenset())
    for place in order:
        chosen |= {place}
        after = worth(chosen)
        added[place], before = after - before, after
    return added


def _standard_error(some: Sequence[Fraction]) -> float:
    if len(some) < 2:
        return 0.0
    mean = sum(some, Fraction()) / len(some)
    spread = float(sum(((one - mean) ** 2 for one in some), Fraction())) / (len(some) - 1)
    return sqrt(spread / len(some))
