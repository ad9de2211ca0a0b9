"""The formulas that `decode` tries: rank fusions, weighted sums and conversions, with the numbers they make.

A formula of a system is the system's own stage, run on ranks or on printed numbers, so no formula is written
a second time here. A few conversions that no system has are added as plain arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, permutations
from typing import Any

import numpy as np

from workbench.records import Floats
from workbench.retrieval.columns import Columns, ColumnStage
from workbench.retrieval.fusion import RankSum, reciprocal_rank
from workbench.systems.catalogue import every_system
from workbench_plugins.decode.printed import Printed
from workbench_plugins.engines.presets import ENGINES

DEEPEST = 50
"""The last rank that is tried in one list, and in each of two."""
LISTS, DEEPEST_OF_MORE = (3, 4, 5), 10
"""How many lists of more than two are summed, as for several wordings of a question, all with one rank."""
MOST_INPUTS = 12
"""Formulas of printed numbers read at most so many of them: the first ones."""
CONSTANTS = (0, 1, 2, 10, 20, 40, 50, 60, 61, 100)
"""The constants k of reciprocal rank fusion that are tried beside those of the systems."""
USUAL_WEIGHTS = (0.7, 0.3)
"""The weights of two ranks that are tried beside those of the systems and the printed ones."""
BY_HAND = 5.0
"""How much more far-fetched a sum is whose terms were rounded before they were added."""
UNUSED = 4.0
"""How much more far-fetched a formula is that no system of the workbench has."""


@dataclass(frozen=True)
class Reachable:
    """The numbers that one formula can give: one array element for each way to fill it in.

    `low` and `high` enclose the number, since the printed inputs are rounded. `cost` says how far-fetched a
    way is: the product of its ranks, doubled for each further list or input. `texts` gives a way in words.
    `terms` are those of each way of a sum of ranks, of shape (ways, lists); None for other formulas.
    """

    low: Floats
    high: Floats
    cost: Floats
    texts: Callable[[int], str]
    terms: Floats | None = None

    def with_sums_by_hand(self, decimals: int) -> Reachable:
        """These ways, and those that give other digits where somebody rounds each term and then adds."""
        if self.terms is None:
            return self
        sums = np.round(self.terms, decimals).sum(axis=1)
        (other,) = np.nonzero(np.abs(sums - np.round(self.low, decimals)) > 0.5 * 10.0**-decimals)
        count = len(self.cost)

        def text(way: int) -> str:
            by_hand = f"{self.texts(int(other[way - count]))}, each term rounded" if way >= count else ""
            return by_hand or self.texts(way)

        low, high = (np.append(ends, sums[other]) for ends in (self.low, self.high))
        return Reachable(low, high, np.append(self.cost, BY_HAND * self.cost[other]), text)


@dataclass(frozen=True)
class Formula:
    """A published way to make a number: its name, the systems that use it, and what it makes of inputs.

    `make` takes the printed inputs; a formula of ranks ignores them. `fuses` says that it makes the score of
    a candidate from its legs.
    """

    name: str
    used_by: tuple[str, ...]
    make: Callable[[Sequence[Printed]], Reachable]
    of_ranks: bool = False
    fuses: bool = False


NOTHING = Reachable(np.empty(0), np.empty(0), np.empty(0), str)


OTHER = {"vector_rank": "keyword_rank", "keyword_rank": "vector_rank"}

Users = tuple[tuple[ColumnStage, tuple[str, ...]], ...]
"""Stages, each with the names of the systems that have it."""


def all_formulas(more_lists: bool = True) -> Sequence[Formula]:
    """Every formula that is tried: those of ranks, those of the systems, and plain arithmetic.

    Without `more_lists`, a fusion of ranks has the two lists that a system here has.
    """
    return _formulas_with(_stages(), more_lists)


@lru_cache(maxsize=4)
def _formulas_with(stages: Users, more_lists: bool) -> tuple[Formula, ...]:
    """The formulas of these stages. They are kept: to make them takes longer than to decode a number."""
    return (
        *_rank_formulas(stages, more_lists),
        *_score_formulas(stages),
        _with_printed_weights(60, first=1),
        _with_printed_weights(60, first=0),
        _with_printed_weights(0, first=1, used_by=("Typesense",)),
        *ARITHMETIC,
    )


def formulas_of(system: str) -> list[Formula]:
    """The formulas that make the score of a candidate in one system; none if they need its whole list."""
    return [one for one in all_formulas(more_lists=False) if one.fuses and system in one.used_by]


# Formulas of the systems

Row = Mapping[str, float]
"""One row of columns."""


class _RowWise(Columns):
    """Columns without statistics: a formula that needs the whole list cannot be tried on one number."""

    def over(self, statistic: Callable[[Floats], Any], name: str) -> Any:
        raise _NeedsListError(name)


class _NeedsListError(Exception):
    """A formula reads a statistic of its whole list."""


def description(stage: Any) -> str:
    """The sentence of a stage, which each stage has."""
    sentence: str = stage.description
    return sentence


def _stages() -> Users:
    """The stages that compute a column from ranks or scores alone, each with the systems that have it."""
    found: dict[ColumnStage, list[str]] = {}
    fusions = ((engine.fusion, f"the fusion {engine.name}") for engine in ENGINES.values())
    of_systems = ((stage, one.name) for one in every_system() for stage in one.stages)
    constants = ((RankSum(k=k), "") for k in CONSTANTS)
    for stage, name in (*of_systems, *fusions, *constants):
        if isinstance(stage, ColumnStage) and not stage.observed:
            found.setdefault(stage, []).append(name)
    return tuple((stage, tuple(names)) for stage, names in found.items())


def _computed(stage: ColumnStage, rows: Sequence[Row]) -> Floats | None:
    """What a stage makes of some rows; None if it reads anything else, or the whole list."""
    names = {name for row in rows for name in row}
    columns = {name: np.array([row.get(name, np.nan) for row in rows], float) for name in names}
    more = [name for name in stage.reads() if name not in columns and name.endswith("_rank")]
    columns |= {name: np.full(len(rows), np.nan) for name in more}
    if not set(stage.reads()) <= columns.keys():
        return None
    try:
        with np.errstate(all="ignore"):
            return np.asarray(stage.computed(columns, _RowWise), float)
    except _NeedsListError:
        return None


def _rank_formulas(stages: Users, more_lists: bool) -> Iterator[Formula]:
    """The fusions that read ranks alone; those that make the same numbers are one formula."""
    rows, cost = _rows_of_ranks()
    groups: dict[bytes, tuple[ColumnStage, list[str], Floats]] = {}
    for stage, names in stages:
        if stage.output != "score" or not all(one.endswith("_rank") for one in stage.reads()):
            continue
        values = _computed(stage, rows)
        if values is not None:
            groups.setdefault(np.round(values, 12).tobytes(), (stage, [], values))[1].extend(names)
    for stage, every, values in groups.values():
        used = tuple(dict.fromkeys(name for name in every if name))
        far = 1.0 if used else UNUSED
        ways = _of_ranks(stage, rows, values, far * cost)
        if more_lists and isinstance(stage, RankSum) and set(stage.weights.values()) == {1}:
            ways = _with_more_lists(stage, far, ways)
        yield Formula(description(stage), used, _always(ways), of_ranks=True, fuses=True)


@lru_cache(maxsize=1)
def _rows_of_ranks() -> tuple[list[Row], Floats]:
    """The ranks of a candidate in one list or in two, and how far-fetched each row is."""
    ranks = range(1, DEEPEST + 1)
    rows: list[Row] = [{"vector_rank": one} for one in ranks]
    rows += [{"keyword_rank": one} for one in ranks]
    rows += [{"vector_rank": one, "keyword_rank": other} for one in ranks for other in ranks]
    return rows, np.array([np.prod(list(row.values())) * len(row) for row in rows], float)


def _always(ways: Reachable) -> Callable[[Sequence[Printed]], Reachable]:
    return lambda _: ways


def _of_ranks(stage: ColumnStage, rows: Sequence[Row], values: Floats, cost: Floats) -> Reachable:
    exchanged = _computed(stage, [{OTHER[name]: rank for name, rank in row.items()} for row in rows])
    assert exchanged is not None
    said = _in_either_list if np.allclose(exchanged, values, rtol=1e-12, atol=0.0) else _in_each_list
    return Reachable(
        values, values, cost, lambda way: f"{_term(stage, rows[way])}: {said(rows[way])}", _terms(stage, rows)
    )


def _in_each_list(row: Row) -> str:
    return " and ".join(f"{name.removesuffix('_rank')} rank {rank}" for name, rank in row.items())


def _in_either_list(row: Row) -> str:
    """The ranks, of lists that a formula treats alike: no number says which list had which rank."""
    one, *other = row.values()
    if not other:
        return f"rank {one} in one list"
    return (
        f"rank {one} in both lists" if [one] == other else f"rank {one} in one list, {other[0]} in the other"
    )


def _terms(stage: ColumnStage, rows: Sequence[Row]) -> Floats | None:
    """What each list adds to a sum of ranks; None for another formula."""
    if not isinstance(stage, RankSum):
        return None
    names = sorted({name for row in rows for name in row})
    alone = [_computed(stage, [{name: row.get(name, np.nan)} for row in rows]) for name in names]
    return np.array(alone).T


def _with_printed_weights(k: float, first: int, used_by: tuple[str, ...] = ()) -> Formula:
    """Reciprocal rank fusion of two lists with printed weights, w and 1 - w, or USUAL_WEIGHTS."""
    rows, cost = _rows_of_ranks()
    grid = np.array([[row.get(name, np.nan) for name in OTHER] for row in rows])

    def make(inputs: Sequence[Printed]) -> Reachable:
        printed = [one.value for one in inputs[:MOST_INPUTS] if _may_be_weight(one.value)]
        with_rest = [(one, 1 - one) for one in printed if one < 1]
        pairs = [USUAL_WEIGHTS, *with_rest, *combinations(printed, 2)]
        terms = reciprocal_rank(grid - (1 - first), np.array(pairs)[:, None, :], k).reshape(-1, 2)

        def text(way: int) -> str:
            pair, row = divmod(way, len(rows))
            return (
                f"{_term(RankSum(*pairs[pair], k=k, first=first), rows[row])}: {_in_either_list(rows[row])}"
            )

        values = terms.sum(axis=1)
        return Reachable(values, values, np.tile(2 * UNUSED * cost, len(pairs)), text, terms)

    usual = " and ".join(f"{one:g}" for one in USUAL_WEIGHTS)
    name = f"score = Σ weight / ({k:g} + rank), ranks from {first}, with printed weights or {usual}"
    return Formula(name, used_by, make)


def _may_be_weight(value: float) -> bool:
    """Whether somebody may have set a number as a weight: it has at most two decimals, and is at most 10."""
    return 0 < value <= 10 and round(value, 2) == value


def _with_more_lists(stage: ColumnStage, far: float, ways: Reachable) -> Reachable:
    """These ways of a sum, and those of LISTS lists that all bring a candidate at one rank."""
    more = [(count, rank) for count in LISTS for rank in range(1, DEEPEST_OF_MORE + 1)]
    one = _computed(stage, [{"vector_rank": float(rank)} for _, rank in more])
    assert one is not None
    values = one * [count for count, _ in more]

    def text(way: int) -> str:
        if way < len(ways.cost):
            return ways.texts(way)
        count, rank = more[way - len(ways.cost)]
        term = _term(stage, {"vector_rank": float(rank)}).removesuffix(" + 0")
        return f"{count} × ({term}): rank {rank} in each of {count} lists"

    cost = np.concatenate([ways.cost, [far * count * rank for count, rank in more]])
    terms = None
    if ways.terms is not None:
        width = max(LISTS)
        two = np.pad(ways.terms, [(0, 0), (0, width - ways.terms.shape[1])])
        several = [
            [value] * count + [0.0] * (width - count) for value, (count, _) in zip(one, more, strict=True)
        ]
        terms = np.vstack([two, several])
    return Reachable(np.append(ways.low, values), np.append(ways.high, values), cost, text, terms)


def _term(stage: ColumnStage, row: Row) -> str:
    columns = {name: np.array([row.get(name, np.nan)]) for name in {*stage.reads(), *row}}
    return str(stage.in_row(columns, 0))


def _score_formulas(stages: Users) -> Iterator[Formula]:
    """The fusions and conversions that read the scores or raw numbers of one candidate."""
    for stage, names in stages:
        raw = {name for name in stage.reads() if name.endswith(("_raw", "_relevance", "_score"))}
        if raw and _computed(stage, [_row(raw, (0.5,) * len(raw))]) is not None and len(raw) <= 2:
            used, fuses = tuple(dict.fromkeys(names)), stage.output == "score"
            yield Formula(description(stage), used, _of_scores(stage, sorted(raw)), fuses=fuses)


def _row(names: set[str] | Sequence[str], values: Sequence[float]) -> Row:
    """A row with these numbers; the leg of each brought the candidate first."""
    ranks = {f"{name.rsplit('_', 1)[0]}_rank": 1.0 for name, value in zip(names, values, strict=True)
             if value == value}  # fmt: skip
    return {**dict(zip(names, values, strict=True)), **ranks}


def _of_scores(stage: ColumnStage, names: Sequence[str]) -> Callable[[Sequence[Printed]], Reachable]:
    limits = COSINES if "cosine" in description(stage) else {}

    def make(inputs: Sequence[Printed]) -> Reachable:
        some = [*inputs[:MOST_INPUTS], None] if len(names) > 1 else inputs[:MOST_INPUTS]
        ways = [way for way in permutations(some, len(names)) if any(way)]
        # A printed bm25 may have lost its sign.
        signs = (1, -1) if names == ["keyword_raw"] else (1,)
        filled = [(way, sign) for way in ways for sign in signs]
        if not filled:
            return NOTHING
        ends = []
        for shift in (-1, 0, 1):
            rows = [_row(names, [_shifted(one, shift) * sign for one in way]) for way, sign in filled]
            values = _computed(stage, rows)
            assert values is not None
            ends.append(np.where([_may_be_read(row, limits) for row in rows], values, np.nan))

        def text(number: int) -> str:
            way, sign = filled[number]
            return _term(stage, _row(names, [_shifted(one, 0) * sign for one in way]))

        cost = np.array([2.0 ** (sum(one is not None for one in way) - 1) for way, _ in filled])
        return Reachable(np.min(ends, axis=0), np.max(ends, axis=0), cost, text)

    return make


COSINES = {"vector_raw": (0.0, 2.0), "vector_score": (-1.0, 1.0)}
"""What a cosine distance and a cosine can be."""


def _may_be_read(row: Row, limits: Mapping[str, tuple[float, float]]) -> bool:
    """Whether what a row gives is within these limits, up to rounding."""
    given = [(row[name], limits[name]) for name in limits.keys() & row.keys()]
    return not any(value < low - 0.01 or value > high + 0.01 for value, (low, high) in given)


def _shifted(one: Printed | None, shift: int) -> float:
    return np.nan if one is None else one.value + shift * one.half


# Arithmetic that no system has


def _unary(pattern: str, function: Callable[[Any], Any], used_by: tuple[str, ...] = ()) -> Formula:
    """A conversion of one number, which stands at `{x}` in the pattern."""

    def make(inputs: Sequence[Printed]) -> Reachable:
        some = inputs[:MOST_INPUTS]
        if not some:
            return NOTHING
        values, halves = (np.array([getattr(one, part) for one in some]) for part in ("value", "half"))
        with np.errstate(all="ignore"):
            ends = np.array([function(values + shift * halves) for shift in (-1, 0, 1)])
        # A number by which nothing can be divided makes no number.
        ends[:, ~np.isfinite(ends).all(axis=0)] = np.nan
        return Reachable(
            ends.min(axis=0),
            ends.max(axis=0),
            np.full(len(some), UNUSED),
            lambda way: pattern.format(x=some[way].text),
        )

    return Formula(pattern.format(x="x"), used_by, make)


def _several(
    name: str, count: int, function: Callable[..., Any], pattern: str, ordered: bool = False
) -> Formula:
    """A formula of `count` printed numbers; `pattern` has a place for each."""

    def make(inputs: Sequence[Printed]) -> Reachable:
        chosen = permutations if ordered else combinations
        ways = list(chosen(inputs[:MOST_INPUTS], count))
        if not ways:
            return NOTHING
        ends = np.array(
            [[function(*(one.value + shift * one.half for one in way)) for way in ways] for shift in (-1, 1)]
        )
        return Reachable(
            ends.min(axis=0),
            ends.max(axis=0),
            np.full(len(ways), UNUSED * 2.0 ** (count - 1)),
            lambda way: pattern.format(*(one.text for one in ways[way])),
        )

    return Formula(name, (), make)


ARITHMETIC = (
    _unary("1 - {x}", lambda x: 1 - x),
    _unary("1 - {x} / 2", lambda x: 1 - x / 2),
    _unary("(1 + {x}) / 2", lambda x: (1 + x) / 2),
    _unary("1 / (1 + {x})", lambda x: 1 / (1 + x)),
    _unary("{x} / (1 + {x})", lambda x: x / (1 + x)),
    _unary("1 / {x}", lambda x: 1 / x),
    _unary("1 / (1 + exp(-{x}))", lambda x: 1 / (1 + np.exp(-x))),
    _unary("1 / (1 + exp(-{x} / 8))", lambda x: 1 / (1 + np.exp(-x / 8)), ("Haystack for BM25",)),
    _unary("1 / (1 + exp(-{x} / 100))", lambda x: 1 / (1 + np.exp(-x / 100)), ("Haystack for dot products",)),
    _unary("1 - {x} ^ 2 / 2", lambda x: 1 - x * x / 2),
    _unary("sqrt(2 - 2 {x})", lambda x: np.sqrt(2 - 2 * x)),
    _unary("exp(-{x})", lambda x: np.exp(-x)),
    _unary("{x} ^ 2", lambda x: x * x),
    _unary("100 {x}", lambda x: 100 * x),
    _several("the sum of two printed numbers", 2, lambda a, b: a + b, "{} + {}"),
    _several("the sum of three printed numbers", 3, lambda a, b, c: a + b + c, "{} + {} + {}"),
    _several("the product of two printed numbers", 2, lambda a, b: a * b, "{} × {}"),
    _several("the product of three printed numbers", 3, lambda a, b, c: a * b * c, "{} × {} × {}"),
    _several(
        "w × a + (1 - w) × b, with a printed weight w",
        3,
        lambda w, a, b: w * a + (1 - w) * b,
        "{0} × {1} + (1 - {0}) × {2}",
        ordered=True,
    ),
)
