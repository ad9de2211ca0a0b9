"""Whether a run is upside down: whether its order is the reverse of the order by our own vectors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from workbench.contracts import Index
from workbench.measure.paired import Paired, paired_values
from workbench.retrieval.index_adapters import innermost
from workbench_plugins.runs.runs import Run, Truth, match

FEWEST_RESULTS = 3
"""The order of fewer results says little."""


@dataclass(frozen=True)
class OrderAgainstOurs:
    """How the order of a run agrees with ours by cosine: `correlation` against no agreement, by question.

    A question's value is the rank correlation, −1 to 1. Source: Spearman 1904, Am. J. Psychol. 15.
    """

    run: str
    model: str
    correlation: Paired

    @property
    def is_reversed(self) -> bool:
        """Whether the order is the reverse of ours, as far as the questions can tell."""
        return self.correlation.differs and self.correlation.difference < 0

    def __str__(self) -> str:
        """The verdict in a sentence; empty for an order that is not the reverse."""
        one = self.correlation
        if one.difference >= 0:
            return ""
        mean = (
            f"the mean rank correlation with our order by the vectors of {self.model} is {one.difference:.2f}"
        )
        over = f"over {one.n} questions"
        if not self.is_reversed:
            return f"{self.run} may be upside down: {mean} {over}, too few questions to tell."
        interval = f", 95 % interval {one.interval_text}" if one.interval else ", the same in each"
        return (
            f"{self.run} is upside down, its worst results come first: {mean} {over}{interval}. "
            "Is a distance sorted as a similarity?"
        )


def order_against_ours(run: Run, truth: Truth, index: Index) -> OrderAgainstOurs | None:
    """The order of a run against ours by cosine; None if no question has enough files of the index.

    Questions whose text is not known are left out.
    """
    found = []
    for question, own in match(run, truth).items():
        text = truth.texts.get(question) or run.texts.get(own, "")
        if text:
            found += _agreement(run.returned(own), text, index)
    if not found:
        return None
    correlation = paired_values(np.zeros(len(found)), np.array(found), "rank correlation")
    return OrderAgainstOurs(run.name, getattr(innermost(index), "model", "") or "the index", correlation)


def _agreement(returned: list[str], text: str, index: Index) -> list[float]:
    """The rank correlation of an answer with our order of all files; none for too few known files.

    Files that are not returned share the mean of the ranks behind the answer.
    """
    hits = index.vector(index.embed(text), index.size)
    ours = list(dict.fromkeys(one.path for one in index.chunks(hits.rows)))
    ranks = {path: float(rank) for rank, path in enumerate(one for one in returned if one in ours)}
    if len(ranks) < FEWEST_RESULTS or len(ours) < FEWEST_RESULTS:
        return []
    behind = (len(ranks) + len(ours) - 1) / 2
    theirs = [ranks.get(path, behind) for path in ours]
    return [float(np.corrcoef(np.arange(len(ours)), theirs)[0, 1])]


def without_right_documents(run: Run, truth: Truth) -> int:
    """How many right documents there are, if the run returns none of them; else 0."""
    own = match(run, truth)
    right = [(question, one) for question in truth.questions for one in truth.right(question)]
    there = any(one in run.returned(own.get(question, "")) for question, one in right)
    return 0 if there else len(right)
