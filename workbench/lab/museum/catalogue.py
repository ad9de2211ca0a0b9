"""The specimens of all topics by name: each topic module lists its own in SPECIMENS."""

from __future__ import annotations

from collections.abc import Iterable

from workbench.extensions import Registry
from workbench.lab.museum import (
    automem,
    basic_memory,
    bm25_scores,
    floors,
    keyword_queries,
    pools,
    rank_fusion,
    score_fusion,
)
from workbench.lab.museum.specimen import Specimen, SpecimenRuns

TOPICS = (
    keyword_queries, bm25_scores, score_fusion, rank_fusion, floors, pools, automem, basic_memory,
)  # fmt: skip
SPECIMENS = Registry[Specimen](
    "specimen",
    (one for topic in TOPICS for one in topic.SPECIMENS),
    "List them: workbench museum",
)


def specimen(name: str) -> Specimen:
    """The specimen of that name. Raises InputError for an unknown name, and suggests the nearest ones."""
    return SPECIMENS.named(name)


def run_specimens(names: Iterable[str] | None = None) -> SpecimenRuns:
    """The answers of the specimens of these names, by default of all. Raises InputError for unknown ones."""
    chosen = SPECIMENS.values() if names is None else map(specimen, names)
    return SpecimenRuns(one.run() for one in chosen)
