"""The specimens of all topics by name: each topic module lists its own in SPECIMENS."""

from __future__ import annotations

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
from workbench.lab.museum.specimen import Specimen

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
