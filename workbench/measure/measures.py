"""What is counted of answers: shares of questions, and the measures of ir_measures."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from workbench.errors import InputError
from workbench.measure.resampling import wilson_interval

HITS = "hits"
"""The measure of the report: 1 if the target is among the results, else 0 (SetR of ir_measures)."""

USABLE = f"Use {HITS}, or a measure of ir_measures with its cutoff: RR, nDCG@10, R@5, P@5, Success@5, …"
"""Which measures can be used, for the remedy of an error."""

LARGEST_CUTOFF = 1_000_000


@dataclass(frozen=True)
class Share:
    """A count out of a number of questions."""

    hits: int
    n: int

    @property
    def rate(self) -> float:
        """hits / n, and 0 for no questions."""
        return self.hits / self.n if self.n else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % confidence interval of the rate, after Wilson (1927)."""
        return wilson_interval(self.hits, self.n)


class Judged(NamedTuple):
    """The returned ids of one question, best first and without duplicates, and the correct ids."""

    returned: Sequence[str]
    truth: Collection[str]


def means(judged: Sequence[Judged], *measures: Any) -> list[float]:
    """The mean of each of ir_measures' measures over all questions; one without any truth counts as 0.

    0 for no questions. ir_measures leaves out questions without truth, which would flatter the mean. It sums
    some measures, such as NumRet; their mean is over all questions, too.
    """
    from ir_measures import calc_aggregate
    from ir_measures.measures import SumAgg

    known = sum(bool(one.truth) for one in judged)
    if not known:
        return [0.0] * len(measures)
    found = calc_aggregate(measures, *_qrels_and_run(judged))
    counted = [1 if isinstance(one.aggregator(), SumAgg) else known for one in measures]
    return [float(found[one]) * of / len(judged) for one, of in zip(measures, counted, strict=True)]


def values(judged: Sequence[Judged], measure: Any) -> list[float]:
    """The value of one of ir_measures' measures for each question, in their order; 0 without any truth."""
    from ir_measures import iter_calc

    found = {one.query_id: one.value for one in iter_calc([measure], *_qrels_and_run(judged))}
    return [float(found.get(str(i), 0.0)) for i in range(len(judged))]


def _qrels_and_run(judged: Sequence[Judged]) -> tuple[list[Any], list[Any]]:
    """The truth and the returned ids in the form of TREC; a question's id is its place."""
    from ir_measures import Qrel, ScoredDoc

    qrels = [Qrel(str(i), measured_id(id_), 1) for i, one in enumerate(judged) for id_ in one.truth]
    run = [
        ScoredDoc(str(i), measured_id(id_), -float(rank))
        for i, one in enumerate(judged)
        for rank, id_ in enumerate(one.returned)
    ]
    return qrels, run


def measured_id(name: str) -> str:
    """An id with halves of characters written as escapes: pytrec_eval-terrier 0.5.11 crashes on them."""
    return name.encode("utf-8", "backslashreplace").decode()


def known_measure(measure: Any) -> Any:
    """The measure of ir_measures for a name, HITS or a measure.

    Raises InputError if there is none, and for one that cannot be computed, such as one without a provider.
    """
    import ir_measures

    if measure == HITS:
        return ir_measures.SetR
    try:
        known = ir_measures.parse_measure(measure) if isinstance(measure, str) else measure
        known.validate_params()
        if not 1 <= known.params.get("cutoff", 1) <= LARGEST_CUTOFF:  # 0 ends the process in C
            raise ValueError("the cutoff is out of range")
    except (AttributeError, AssertionError, NameError, SyntaxError, TypeError, ValueError) as error:
        raise InputError(f"{str(measure)!r} is not a measure.", USABLE) from error
    if reason := _why_not(known):
        raise InputError(f"The measure {known} cannot be computed: {reason}.", USABLE)
    return known


@cache
def _why_not(measure: Any) -> str:
    """Why a measure cannot be computed even of one right document; empty if it can."""
    try:
        values([Judged(["a"], ["a"])], measure)
    except (ArithmeticError, LookupError, OSError, TypeError, ValueError) as error:
        return " ".join(str(error).split()).rstrip(".") or type(error).__name__
    return ""
