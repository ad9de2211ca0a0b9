"""The specimens of all topics by name: each topic module lists its own in SPECIMENS."""

from __future__ import annotations

import difflib
from collections.abc import Mapping

from workbench.errors import InputError
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
SPECIMENS: Mapping[str, Specimen] = {one.name: one for topic in TOPICS for one in topic.SPECIMENS}


def specimen(name: str) -> Specimen:
    """The specimen of that name. Raises InputError for an unknown name, and suggests the nearest ones."""
    if name not in SPECIMENS:
        near = difflib.get_close_matches(name, SPECIMENS, n=3, cutoff=0.3) or list(SPECIMENS)[:3]
        raise InputError(
            f"There is no specimen {name!r}; the nearest are {', '.join(near)}.",
            "List them: workbench museum",
        )
    return SPECIMENS[name]
