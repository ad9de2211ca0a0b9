"""One fusion of two lists, candidate by candidate: its ranks, what each gives, its score and its place."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from workbench.lab.whose_fusion import Lists, tied_groups
from workbench.retrieval.columns import Columns
from workbench.systems.engines.fusion import Fusion
from workbench.systems.engines.presets import fuse, two_legs


@dataclass(frozen=True)
class Given:
    """What one leg says of a candidate, and what that gives to the fused score."""

    rank: int
    score: float
    part: float


@dataclass(frozen=True)
class Placed:
    """A candidate after fusion; a leg that did not bring it gives None.

    `first` and `last` are the places that it can claim, from 1: they differ in a tie.
    """

    id: str
    score: float
    first: int
    last: int
    keyword: Given | None
    vector: Given | None

    @property
    def tied(self) -> bool:
        return self.last > self.first


def placed(fusion: Fusion, lists: Lists) -> list[Placed]:
    """Every candidate of two lists of scores by id, larger is better, in the order of this fusion.

    Raises InputError for a score that is no finite number.
    """
    vector, keyword = lists
    hits = {hit.id: hit for hit in fuse(fusion, vector, keyword)}
    ids, columns = two_legs(vector, keyword)
    rows = {name: row for row, name in enumerate(ids)}
    found: list[Placed] = []
    for group in tied_groups(list(hits.values())):
        first, last = len(found) + 1, len(found) + len(group)
        for name in group:
            hit, row = hits[name], rows[name]
            by_keyword = _given(columns, "keyword", row, hit.keyword)
            by_vector = _given(columns, "vector", row, hit.vector)
            found.append(Placed(name, hit.score, first, last, by_keyword, by_vector))
    return found


def _given(columns: Columns, leg: str, row: int, part: float) -> Given | None:
    rank = columns[f"{leg}_rank"][row]
    if np.isnan(rank):
        return None
    return Given(int(rank), float(columns[f"{leg}_score"][row]), part)
