"""Bugs in the pool of candidates: how many are fetched, from where, and before or after which step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import ClassVar

import numpy as np

from workbench.contracts import Context
from workbench.lab.museum.floors import RRF, Scores, at_least
from workbench.lab.museum.sides import computed, searched
from workbench.lab.museum.specimen import Answer, Sides, Specimen, by_score
from workbench.records import Trace
from workbench.retrieval.columns import PlainStage
from workbench.retrieval.legs import Depth, KeywordLeg, Union, VectorLeg
from workbench.retrieval.pipeline import Pipeline
from workbench.systems.engines.presets import ENGINES, fuse


def top(scores: Scores, count: int) -> dict[str, float]:
    """The best `count` of the scores, equal scores by name."""
    return dict(islice(by_score(scores).items(), count))


@dataclass(frozen=True)
class VectorPool(PlainStage):
    """The candidates: the vector leg's chunks alone; the keyword leg only adds to their scores."""

    slot: ClassVar[str] = "candidates"
    says: ClassVar[str] = "candidates = the vector leg's hits"

    def run(self, trace: Trace, context: Context) -> Trace:
        vector, keyword = trace.legs["vector"].hits, trace.legs["keyword"]
        inside = np.isin(keyword.hits.rows, vector.rows)
        hits = replace(keyword.hits, rows=keyword.hits.rows[inside], raw=keyword.hits.raw[inside])
        seen = replace(keyword, hits=hits)
        pooled = Union().run(replace(trace, legs={**trace.legs, "keyword": seen}), context)
        return replace(pooled, legs=trace.legs)


def _two_of_each(candidates: VectorPool | Union) -> Pipeline:
    two = RRF.asking(limit=2).with_stage(KeywordLeg(Depth(1, 200))).with_stage(VectorLeg(Depth(1, 200)))
    return two.with_stage(candidates)


NEAREST = {"chats/a": 0.83, "chats/b": 0.82, "chats/c": 0.80, "notes/wanted": 0.74, "notes/other": 0.40}


def _in_notes(scores: Scores) -> dict[str, float]:
    return {name: score for name, score in scores.items() if name.startswith("notes/")}


def _cut_then_filter(count: int) -> Answer:
    return _in_notes(top(NEAREST, count))


def _filter_then_cut(count: int) -> Answer:
    return top(_in_notes(NEAREST), count)


VECTOR = {"a": 0.90, "b": 0.84, "c": 0.80, "d": 0.61, "e": 0.30, "f": 0.28}
KEYWORD = {"b": 8.0, "f": 6.5, "a": 5.0, "e": 1.0, "c": 0.5, "d": 0.2}


def as_many(size: int) -> int:
    """As many candidates as requested results."""
    return size


def at_least_a_hundred(size: int) -> int:
    """A hundred candidates, or as many as requested results if these are more."""
    return max(100, size)


def _score_of_b(pool: Callable[[int], int]) -> Answer:
    told = {}
    for size in (3, 6):
        hits = fuse(ENGINES["weaviate-relative"].fusion, top(VECTOR, pool(size)), top(KEYWORD, pool(size)))
        told[f"b, {size} asked for"] = next(hit.score for hit in hits if hit.id == "b")
    return told


def _ranks_fused(vector: Scores, keyword: Scores) -> dict[str, float]:
    return {hit.id: hit.score for hit in fuse(ENGINES["qdrant-k2"].fusion, vector, keyword)}


def _on_shard(scores: Scores, shard: str) -> Mapping[str, float]:
    return {name: score for name, score in scores.items() if name in shard}


def _per_shard(floor: float) -> Answer:
    shards = [_ranks_fused(_on_shard(VECTOR, shard), _on_shard(KEYWORD, shard)) for shard in ("ace", "bdf")]
    return by_score(at_least({name: s for scores in shards for name, s in scores.items()}, floor))


def _once(floor: float) -> Answer:
    return by_score(at_least(_ranks_fused(VECTOR, KEYWORD), floor))


def _grouped(limit: int, group_size: int) -> Answer:
    depth = limit * group_size
    return top(_ranks_fused(top(VECTOR, depth), top(KEYWORD, depth)), limit)


SPECIMENS = (
    Specimen(
        name="mem0-semantic-gate",
        references=("mem0ai/mem0#5742", "PR#6378"),
        symptom="A search for an error code does not find the one memory that contains it word for word.",
        mechanism="Only the semantic top-k are candidates: a keyword hit outside it is scored and discarded.",
        change="the candidates: those of the vector leg, or those of both legs",
        world="four notes, two candidates a leg; “ENOENT on the server disk”",
        expected="the note with the code is returned",
        healthy=lambda answer: "memory/codes.md" in answer,
        sides=searched(_two_of_each(VectorPool()), _two_of_each(Union()), "ENOENT on the server disk"),
        note="Simplified: RRF replaces mem0's sum of semantic, keyword and entity scores.",
    ),
    Specimen(
        name="qmd-filter-after-top-k",
        references=("tobi/qmd#775", "#791", "#803"),
        symptom="A search in a small collection finds nothing, but an unfiltered search finds the note.",
        mechanism="The search takes the nearest k of all collections, and filters by collection afterwards.",
        change="the order of two steps",
        world="three chats nearer than the wanted note; k = 3, collection “notes”",
        expected="the wanted note is found",
        healthy=lambda answer: "notes/wanted" in answer,
        sides=Sides(
            computed("the nearest 3, then the collection", _cut_then_filter, 3),
            computed("the collection, then the nearest 3", _filter_then_cut, 3),
        ),
    ),
    Specimen(
        name="score-depends-on-size",
        references=("weaviate/weaviate#3317", "opensearch-project/neural-search#325"),
        symptom="If you request more results, the same document gets another score and another place.",
        mechanism="Min-max uses the fetched candidates, and their number is the number of requested results.",
        change="how many candidates are fetched",
        world="two lists of six; the score of b, with three results requested and with six",
        expected="the score does not depend on the number of requested results",
        healthy=lambda answer: len(set(answer.values())) == 1,
        sides=Sides(
            computed("as many candidates as results", _score_of_b, as_many),
            computed("a hundred candidates or more, cut afterwards", _score_of_b, at_least_a_hundred),
        ),
    ),
    Specimen(
        name="qdrant-fusion-per-shard",
        references=("qdrant/qdrant#10640",),
        symptom="With the same points, query and threshold, more points pass if there are more shards.",
        mechanism="A fusion inside a prefetch runs on each shard: the first point of a shard has rank 1.",
        change="where the fusion runs: on each shard, or after merging",
        world="six points on two shards, RRF with k = 2, threshold 0.4",
        expected="the same points pass as on a single shard",
        healthy=lambda answer: answer == _once(0.4),
        sides=Sides(
            computed("fuse on each shard, then merge", _per_shard, 0.4),
            computed("merge, then fuse", _once, 0.4),
        ),
    ),
    Specimen(
        name="qdrant-grouping-widens-the-pool",
        references=("qdrant/qdrant#9764", "PR#9771"),
        symptom="The same hybrid query has other scores and another order if its results are grouped.",
        mechanism="Grouping multiplies the limit of every prefetch, and RRF scores the ranks in these.",
        change="the limit of the prefetches: multiplied by the group size, or as requested",
        world="two lists of six, a limit of 3, groups of 2",
        expected="the scores are those of the same query without groups",
        healthy=lambda answer: answer == _grouped(3, 1),
        sides=Sides(
            computed("prefetch limits × group size", _grouped, 3, 2),
            computed("prefetch limits as asked", _grouped, 3, 1),
        ),
        note="Simplified: each point is a group of its own.",
    ),
)
