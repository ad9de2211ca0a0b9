"""Recordings from spans: a retriever whose children are retrievers is a fusion of legs."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator

from workbench_plugins.recorder.recording import Recording, record
from workbench_plugins.runs.traces import Retrieval, read_traces

KEYWORD = re.compile(r"bm25|keyword|full.?text|fts|sparse|lexical", re.IGNORECASE)


def recordings(path: str | os.PathLike[str]) -> Iterator[Recording]:
    """A recording of each fused retrieval in a file or folder of spans, in their order.

    The first leg whose name speaks of words is `keyword`, the first other one `vector`; more legs keep their
    names. Raises InputError as `read_traces` does.
    """
    found = read_traces(path).retrievals
    for one in found:
        inner = [leg for leg in found if leg.parent == one.id and leg.kind == "retriever"]
        if len(inner) > 1:
            legs: dict[str, Retrieval] = {}
            for leg in inner:
                usual = "keyword" if KEYWORD.search(leg.name) else "vector"
                legs[usual if usual not in legs else leg.name] = leg
            yield record(
                one.question,
                {name: _pairs(leg) for name, leg in legs.items()},
                _pairs(one),
                engine=one.name,
            )


def _pairs(one: Retrieval) -> list[tuple[str, float | None]]:
    return [(id_, None if math.isnan(score) else score) for id_, score in one.results]
