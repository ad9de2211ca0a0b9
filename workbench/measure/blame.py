"""Which change makes two pipelines differ: every change alone, all sets of changes, and fair shares."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from itertools import combinations, permutations
from math import factorial, sqrt
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from workbench.contracts import Index
from workbench.errors import InputError
from workbench.measure.edits import INDEX, Edit, edited, edits_between, fits, order_between
from workbench.measure.measures import HITS, Judged, known_measure, values
from workbench.measure.paired import Paired, paired_values
from workbench.measure.questions import Question, QuestionSet, check_questions, check_targets
from workbench.measure.reruns import Reruns
from workbench.progress import progress_bar
from workbench.records import MadeOtherwise, Tabular
from workbench.retrieval.index_adapters import CachedIndex, check_open
from workbench.retrieval.pipeline import Pipeline, caution, check_pipeline
from workbench.retrieval.query import check_question
from workbench.safe_text import counted
from workbench.tables import Block, Fold, Part, Table, Types, hanging, numbers, tidy

if TYPE_CHECKING:
    from workbench.figures import Figure

MOST_NAMED = 3
"""A change of more slots than these is named by its first one, and by the number of the others."""

MOST_EXACT = 12
"""The largest number of changes of which all sets are run; of more, orders are drawn."""

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

    @property
    def becomes(self) -> str:
        """What the change makes of the pipeline, in words."""
        return "; ".join(edit.description for edit in self.edits)

    @property
    def share_text(self) -> str:
        """The share, with its error if it has one."""
        return signed_text(self.share) + (f" ± {self.error:.2g}" if self.error else "")


@dataclass(frozen=True)
class Flipped:
    """A question whose value differs between the two pipelines, and the changes that flip it alone."""

    question: str
    target: str
    before: float
    after: float
    alone: tuple[str, ...]


BLAMED: Types = {
    "before": "str", "after": "str", "measure": "str", "questions": "int64", "change": "str",
    "becomes": "str", "alone": "float64", "last": "float64", "share": "float64", "error": "float64",
}  # fmt: skip
"""The columns of the table of pandas."""

SHOWN_SHARES = 5
"""The number of shares that are printed with the answer, the largest first."""

SHOWN_FLIPS = 12
"""The number of flipped questions that are printed; `flips` and JSON have all."""

ALL_FLIPS = "the attribute flips has all"
"""Where Python has the flipped questions that are not printed; the command line says its own way."""


@dataclass(frozen=True, repr=False)
class Blame(Tabular):
    """How much of the difference between two pipelines each change has: the shares sum to it exactly.

    `before` and `after` are the sums of the measure over the questions. `runs` counts the sets of changes
    that were run. `verdict` is the paired comparison of the two pipelines. `otherwise` has a sentence for
    each pipeline whose index is not made as its release makes one.
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
    otherwise: tuple[MadeOtherwise, ...] = ()

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
                    "says": [one.description for one in part.edits],
                    "alone": float(part.alone),
                    "last": float(part.last),
                    "share": float(part.share),
                    "error": part.error,
                }
                for part in self.parts
            ],
            "flips": [asdict(one) for one in self.flips],
            "paired": self.verdict.as_json(),
            "indexed_otherwise": list(map(str, self.otherwise)) or None,
        }

    def view(self, all_flips: str = ALL_FLIPS) -> list[Part]:
        """The whole difference, its verdict and the largest shares; folded all of them, and what flips.

        `all_flips` says where the reader finds all of the questions that flip.
        """
        changes = [hanging(self._method), self.shares_table()]
        return [
            *(one.note for one in self.otherwise),
            Block(f"{self._heading}; {self._largest}", style="bold"),
            hanging(f"Question by question: {self.verdict}."),
            self._largest_shares(),
            Fold(f"What changes: {counted(len(self.parts), 'stage')}", changes),
            Fold(f"What flips: {counted(len(self.flips), 'question')}", self._flips_view(all_flips)),
        ]

    @property
    def _largest(self) -> str:
        """Which change has the largest share, or which changes have equally large ones."""
        largest = abs(self.by_share[0].share)
        if not largest:
            return "every share is 0"
        first = [part.name for part in self.by_share if abs(part.share) == largest]
        if len(first) == 1:
            return f"{first[0]} has the largest share"
        return f"{' and '.join(first)} have the largest shares, which are equal"

    def _largest_shares(self) -> Table:
        """The largest shares of the difference, what is left to the other changes, and the sum."""
        first, rest = self.by_share[:SHOWN_SHARES], self.by_share[SHOWN_SHARES:]
        rows = [(one.name, signed_text(one.alone), signed_text(one.last), one.share_text) for one in first]
        if rest:
            others = signed_text(sum((one.share for one in rest), Fraction()))
            rows.append((counted(len(rest), "other change"), "", "", others))
        rows.append(("all changes", "", "", signed_text(self.difference)))
        return Table("", ["change", *numbers("alone", "last", "share")], rows)

    @property
    def by_share(self) -> list[BlamePart]:
        """The changes, the one with the largest share first."""
        return sorted(self.parts, key=lambda one: (-abs(one.share), one.name))

    def shares_table(self) -> Table:
        """A row for each change: its values alone, as the last change and shared, and what it changes."""
        rows = [
            (one.name, signed_text(one.alone), signed_text(one.last), one.share_text, one.becomes)
            for one in self.by_share
        ]
        heads = numbers("alone", "last", "share")
        return Table(f"Shares of the difference in {self.measure}", ["change", *heads, "becomes"], rows)

    @property
    def _heading(self) -> str:
        """The two systems with their values: `A 6 → B 51 hits of 57 questions`."""
        unit = "overlap with the second answer" if self.measure == OVERLAP else self.measure
        asked = counted(self.questions, "question")
        values = f"{value_text(self.before)} → {value_text(self.after)} {unit}, {asked}"
        return f"{self.one.name} → {self.other.name}: {values}"

    @property
    def _method(self) -> str:
        """How the shares were computed."""
        if self.exact:
            return f"Shapley shares, exact: all {self.runs} sets of the {len(self.parts)} changes were run."
        return (
            f"Shapley shares from drawn orders of the {len(self.parts)} changes ({self.runs} sets were run); "
            "± is the standard error. They sum to the whole difference."
        )

    def _flips_view(self, all_flips: str) -> list[Part]:
        if not self.flips:
            return ["No question has another value."]
        rows = [
            (
                one.question,
                f"{one.before:.3g}",
                f"{one.after:.3g}",
                ", ".join(one.alone) or "no single change",
            )
            for one in self.flips[:SHOWN_FLIPS]
        ]
        table = Table("", ("question", "before", "after", "changed by one change alone"), rows)
        rest = len(self.flips) - SHOWN_FLIPS
        more = [f"{counted(rest, 'more question')}; {all_flips}."] if rest > 0 else []
        return ["", table, *more]

    def plot(self) -> Figure:
        """How the shares of the changes lead from one system to the other: a figure of plotly."""
        from workbench import figures  # which loads plotly

        before, after = (self.one.name, float(self.before)), (self.other.name, float(self.after))
        shares = {one.name: float(one.share) for one in self.by_share}
        return figures.waterfall(before, shares, after, f"{self.measure} of {self.questions} questions")

    def observations(self) -> Table:
        """One row for each change."""
        about = [self.one.name, self.other.name, self.measure, self.questions]
        rows = (
            [*about, one.name, one.becomes, float(one.alone), float(one.last), float(one.share), one.error]
            for one in self.parts
        )
        return tidy(BLAMED, rows)


def value_text(value: Fraction) -> str:
    """A number with up to four digits, or a whole one."""
    return f"{float(value):.4g}" if abs(value) < 1000 else f"{float(value):.0f}"


def signed_text(value: Fraction) -> str:
    """A difference with its sign: `+15.67`, `−2`, `0`."""
    text = value_text(value)
    return f"+{text}" if value > 0 else text.replace("-", "−")


def blame(
    one: Pipeline,
    other: Pipeline,
    index: Index,
    questions: QuestionSet | str,
    *,
    target: str = "",
    measure: Any = HITS,
    other_index: Index | None = None,
) -> Blame:
    """Which changes make `other` differ from `one`, for labelled questions or for a single one.

    A change is a slot in which the two differ, or the order of their stages; changes that do not fit without
    each other are one. For a single question without a target the measure is OVERLAP. Up to MOST_EXACT
    changes the shares are exact; beyond, they come from drawn orders and have an error, but still sum to the
    difference. With `other_index`, `other` is searched in that index, and the index is one of the changes.

    Raises InputError for two pipelines that do not differ, for a target that is not in the index, and for an
    unknown measure. Source: Shapley, A value for n-person games, 1953.
    """
    check_pipeline(one)
    check_pipeline(other)
    second = index if other_index is None else other_index
    check_open(index)
    check_open(second)
    parts = changes_between(one, other, in_other_index=second is not index)
    with index.snapshot(), second.snapshot():
        value = _value_of(one, other, (index, second), questions, target, measure)
        told = dict.fromkeys([caution(one, index), caution(other, second)])
        return replace(_blamed(one, other, parts, value), otherwise=tuple(filter(None, told)))


def changes_between(one: Pipeline, other: Pipeline, in_other_index: bool = False) -> list[tuple[Edit, ...]]:
    """The changes from one pipeline to another: any set of them gives stages that fit together.

    With `in_other_index`, the first change is that of the index. Raises InputError if the two do not differ.
    """
    edits = [*edits_between(one, other), *order_between(one, other)]
    parts: list[tuple[Edit, ...]] = [(edit,) for edit in edits]
    if not parts and not in_other_index:
        raise InputError(
            f"{one.name} and {other.name} do not differ, so there is nothing to blame.",
            "Name two systems that differ: workbench diff A B.",
        )
    while (pair := _dependent(one, parts)) is not None:
        first, second = pair
        merged = tuple(edit for number in sorted(pair) for edit in parts[number])
        parts = [part for number, part in enumerate(parts) if number not in pair]
        parts.insert(min(first, second), merged)
    return [(Edit(INDEX, None),), *parts] if in_other_index else parts


def _dependent(one: Pipeline, parts: Sequence[tuple[Edit, ...]]) -> tuple[int, int] | None:
    """Two changes that fit only together; None if any set of the changes fits (checked up to MOST_EXACT)."""
    numbers = range(len(parts))
    sizes = range(1, len(parts)) if len(parts) <= MOST_EXACT else (1, len(parts) - 1)
    for size in sizes:
        for some in combinations(numbers, size):
            if not _fits(one, parts, some):
                return _partners(one, parts, some)
    return None


def _partners(one: Pipeline, parts: Sequence[tuple[Edit, ...]], some: tuple[int, ...]) -> tuple[int, int]:
    """A change of the set that does not fit, and one outside it that makes it fit or comes nearest."""
    outside = [number for number in range(len(parts)) if number not in some]
    helps = next((other for other in outside if _fits(one, parts, (*some, other))), outside[0])
    inside = next((number for number in some if _fits(one, parts, tuple(set(some) - {number}))), some[-1])
    return inside, helps


def _fits(one: Pipeline, parts: Sequence[tuple[Edit, ...]], some: Sequence[int]) -> bool:
    return fits(one, _edits(parts, some))


def _edits(parts: Sequence[tuple[Edit, ...]], some: Iterable[int]) -> list[Edit]:
    """The edits of some changes, in the order of their places: merged changes have lost it."""
    edits = [edit for number in sorted(some) for edit in parts[number]]
    return sorted(edits, key=lambda edit: edit.place)


# The value of a set of changes, for each question


class _Value(NamedTuple):
    """What is measured: the questions with their targets, and the value of each after some edits."""

    asked: Sequence[tuple[str, str]]
    measure: str
    of: Callable[[Sequence[Edit]], list[Fraction]]


def _value_of(
    one: Pipeline,
    other: Pipeline,
    indexes: tuple[Index, Index],
    questions: QuestionSet | str,
    target: str,
    measure: Any,
) -> _Value:
    if isinstance(questions, str):
        asked = [(check_question(questions), target)]
    else:
        check_questions(questions)
        asked = [(each.question, each.target) for each in questions.questions]
    if not isinstance(questions, str) or target:
        labelled = [Question(question=text, target=path) for text, path in asked]
        check_targets(
            QuestionSet(questions=tuple(labelled)), [path for one in indexes for path in one.paths()]
        )
    here, there = indexes
    first = _reruns(asked, one, here)
    second = first if there is here else _reruns(asked, one, there)

    def paths(edits: Sequence[Edit]) -> list[list[str]]:
        changed = edited(one, edits)
        runs = second if any(edit.slot == INDEX for edit in edits) else first
        return [each.trace(changed).paths() for each in runs]

    if isinstance(questions, str) and not target:
        wanted = set(second[0].trace(other).paths())
        return _Value(asked, OVERLAP, lambda edits: [_overlap(wanted, found) for found in paths(edits)])
    known = known_measure(measure)

    def of(edits: Sequence[Edit]) -> list[Fraction]:
        answers = paths(edits)
        if measure == HITS:
            return [Fraction(path in found) for found, (_, path) in zip(answers, asked, strict=True)]
        judged = [Judged(found, [path]) for found, (_, path) in zip(answers, asked, strict=True)]
        return [Fraction(number) for number in values(judged, known)]

    return _Value(asked, str(measure), of)


def _reruns(asked: Sequence[tuple[str, str]], one: Pipeline, index: Index) -> list[Reruns]:
    many = CachedIndex(index)
    return [Reruns(text, one, many) for text, _ in asked]


def _overlap(wanted: set[str], found: Sequence[str]) -> Fraction:
    both = wanted | set(found)
    return Fraction(len(wanted & set(found)), len(both)) if both else Fraction(1)


# Shares


def _name(part: Sequence[Edit]) -> str:
    """The slots of a change, joined; the first one and the number of the others if they are many."""
    slots = [edit.slot for edit in part]
    if len(slots) <= MOST_NAMED:
        return " and ".join(slots)
    return f"{slots[0]} and {counted(len(slots) - 1, 'other')} together"


class _Sets:
    """The value of every set of changes that is asked for; each is run once. `ran` is called after a run."""

    def __init__(self, parts: Sequence[tuple[Edit, ...]], value: _Value, ran: Callable[[], object]) -> None:
        self.parts, self.value, self.ran = parts, value, ran
        self.none, self.every = frozenset[int](), frozenset(range(len(parts)))
        self.names = list(map(_name, parts))
        self.known: dict[Chosen, list[Fraction]] = {}

    def per_question(self, chosen: Chosen) -> list[Fraction]:
        """The value of each question when these changes are made."""
        if chosen not in self.known:
            self.known[chosen] = self.value.of(_edits(self.parts, chosen))
            self.ran()
        return self.known[chosen]

    def worth(self, chosen: Chosen) -> Fraction:
        """The sum over the questions."""
        return sum(self.per_question(chosen), Fraction())

    def part(self, number: int, share: Fraction, error: float) -> BlamePart:
        """One change with its share."""
        alone = frozenset({number})
        return BlamePart(
            name=self.names[number],
            edits=tuple(self.parts[number]),
            alone=self.worth(alone) - self.worth(self.none),
            last=self.worth(self.every) - self.worth(self.every - alone),
            share=share,
            error=error,
        )

    def flips(self) -> Iterator[Flipped]:
        """The questions whose value all changes together have changed."""
        singles = [self.per_question(frozenset({number})) for number in range(len(self.parts))]
        pairs = zip(self.per_question(self.none), self.per_question(self.every), strict=True)
        for row, (first, last) in enumerate(pairs):
            if first != last:
                alone = (name for name, one in zip(self.names, singles, strict=True) if one[row] != first)
                question, target = self.value.asked[row]
                yield Flipped(question, target, float(first), float(last), tuple(alone))

    def together(self) -> dict[tuple[str, ...], Fraction]:
        """The value of each set that was run, by the names of its changes."""
        return {
            tuple(self.names[number] for number in sorted(chosen)): self.worth(chosen)
            for chosen in self.known
        }


def _blamed(one: Pipeline, other: Pipeline, parts: Sequence[tuple[Edit, ...]], value: _Value) -> Blame:
    count, exact = len(parts), len(parts) <= MOST_EXACT
    with progress_bar(total=2**count if exact else None, desc="running", unit="set", delay=1) as bar:
        sets = _Sets(parts, value, bar.update)
        shares = exact_shares(count, sets.worth) if exact else drawn_shares(count, sets.worth)
        flips = tuple(sets.flips())
        blamed = tuple(sets.part(number, share, error) for number, (share, error) in enumerate(shares))
    first, last = sets.per_question(sets.none), sets.per_question(sets.every)
    return Blame(
        one=one,
        other=other,
        measure=value.measure,
        questions=len(value.asked),
        before=sets.worth(sets.none),
        after=sets.worth(sets.every),
        parts=blamed,
        flips=flips,
        verdict=paired_values(
            np.array(first, float), np.array(last, float), value.measure, [path for _, path in value.asked]
        ),
        exact=exact,
        runs=len(sets.known),
        together=sets.together(),
    )


def exact_shares(count: int, worth: Callable[[Chosen], Fraction]) -> list[tuple[Fraction, float]]:
    """The Shapley value of each of `count` changes, from all sets of them; errors are 0."""
    shares = []
    for number in range(count):
        others = [other for other in range(count) if other != number]
        share = Fraction()
        for size in range(count):
            weight = Fraction(factorial(size) * factorial(count - size - 1), factorial(count))
            for some in combinations(others, size):
                chosen = frozenset(some)
                share += weight * (worth(chosen | {number}) - worth(chosen))
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
        for number in range(count):
            added[number].append((pairs[0][number] + pairs[1][number]) / 2)
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
    for number in order:
        chosen |= {number}
        after = worth(chosen)
        added[number], before = after - before, after
    return added


def _standard_error(some: Sequence[Fraction]) -> float:
    if len(some) < 2:
        return 0.0
    mean = sum(some, Fraction()) / len(some)
    spread = float(sum(((one - mean) ** 2 for one in some), Fraction())) / (len(some) - 1)
    return sqrt(spread / len(some))
