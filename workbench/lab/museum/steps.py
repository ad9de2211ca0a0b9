"""Specimens that are two orders of the same steps around a fusion: pools, filters, floors, fills, budgets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice

from workbench.lab.museum.specimen import Answer, Specimen, by_score, computed, first
from workbench.retrieval.fusion import reciprocal_rank
from workbench.systems.engines.presets import ENGINES, fuse, normalised
from workbench.systems.engines.scales import AS_GIVEN, MinMax, Normalisation

Scores = Mapping[str, float]


def top(scores: Scores, count: int) -> dict[str, float]:
    """The best `count` of the scores, equal ones by name."""
    return dict(islice(by_score(scores).items(), count))


def at_least(scores: Scores, floor: float) -> dict[str, float]:
    """The scores that are not below `floor`."""
    return {name: score for name, score in scores.items() if score >= floor}


FOUND = {"first": 1.0, "second": 0.9, "third": 0.55}


def squashed(scores: Scores) -> dict[str, float]:
    """s / (1 + s): the same order, on another scale."""
    return {name: score / (1 + score) for name, score in scores.items()}


def _floor_first(scores: Scores, floor: float) -> Answer:
    return by_score(squashed(at_least(scores, floor)))


def _floor_last(scores: Scores, floor: float) -> Answer:
    return by_score(at_least(squashed(scores), floor))


KHIVE = Specimen(
    name="floor-before-squash",
    references=("ohdearquant/khive#1698", "PR#1701", "CortexReach/memory-lancedb-pro PR#766"),
    symptom="The search returns hits that score less than the min_score that was asked for.",
    mechanism="The floor is applied to the fused score, and a later step makes s / (1 + s) of it.",
    change="the order of two steps",
    world="three fused scores, 1.0, 0.9 and 0.55; min_score 0.45",
    expected="nothing below 0.45 is returned, and something is",
    healthy=lambda answer: bool(answer) and min(answer.values()) >= 0.45,
    shipped=computed("floor, then squash", _floor_first, FOUND, 0.45),
    fixed=computed("squash, then floor", _floor_last, FOUND, 0.45),
    note="A floor above 0.5 is now kept, and out of reach: fused scores are at most 1 there.",
)

RECALLED = {"preference": 0.61, "event": 0.31, "noise": 0.11}


def _filled_up(scores: Scores, floor: float, limit: int) -> Answer:
    passing = at_least(scores, floor)
    others = {name: score for name, score in by_score(scores).items() if name not in passing}
    return by_score(passing | dict(islice(others.items(), max(0, limit - len(passing)))))


def _not_filled_up(scores: Scores, floor: float, limit: int) -> Answer:
    return top(at_least(scores, floor), limit)


OPENVIKING = Specimen(
    name="openviking-fill-below-floor",
    references=("volcengine/OpenViking#1106",),
    symptom="recallScoreThreshold is 0.25, and memories at 0.11 are put into the context.",
    mechanism="A later step fills up to the limit from the list as it was before the threshold.",
    change="what the answer is filled up from: everything, or nothing",
    world="three memories, 0.61, 0.31 and 0.11; floor 0.25, limit 3",
    expected="nothing below 0.25 is returned, and something is",
    healthy=lambda answer: bool(answer) and min(answer.values()) >= 0.25,
    shipped=computed("floor, then fill up to the limit", _filled_up, RECALLED, 0.25, 3),
    fixed=computed("floor, then limit", _not_filled_up, RECALLED, 0.25, 3),
)

NEAREST = {"chats/a": 0.83, "chats/b": 0.82, "chats/c": 0.80, "notes/wanted": 0.74, "notes/other": 0.40}


def _inside(scores: Scores, collection: str) -> dict[str, float]:
    return {name: score for name, score in scores.items() if name.startswith(f"{collection}/")}


def _cut_then_filter(scores: Scores, collection: str, count: int) -> Answer:
    return _inside(top(scores, count), collection)


def _filter_then_cut(scores: Scores, collection: str, count: int) -> Answer:
    return top(_inside(scores, collection), count)


QMD_FILTER = Specimen(
    name="qmd-filter-after-top-k",
    references=("tobi/qmd#775", "#791", "#803"),
    symptom="Searched in a small collection, nothing is found that an unfiltered search finds at once.",
    mechanism="The nearest k of everything are taken first, and then those of the collection are kept.",
    change="the order of two steps",
    world="three chats nearer than the wanted note; k = 3, collection “notes”",
    expected="the wanted note is found",
    healthy=lambda answer: "notes/wanted" in answer,
    shipped=computed("the nearest 3, then the collection", _cut_then_filter, NEAREST, "notes", 3),
    fixed=computed("the collection, then the nearest 3", _filter_then_cut, NEAREST, "notes", 3),
)

VECTOR = {"a": 0.90, "b": 0.84, "c": 0.80, "d": 0.61, "e": 0.30, "f": 0.28}
KEYWORD = {"b": 8.0, "f": 6.5, "a": 5.0, "e": 1.0, "c": 0.5, "d": 0.2}
RELATIVE, RANKS = ENGINES["weaviate-relative"].fusion, ENGINES["qdrant-k2"].fusion


def _score_of_b(pool: Callable[[int], int]) -> Answer:
    told = {}
    for size in (3, 6):
        hits = fuse(RELATIVE, top(VECTOR, pool(size)), top(KEYWORD, pool(size)))
        told[f"b, {size} asked for"] = next(hit.score for hit in hits if hit.id == "b")
    return told


def as_many(size: int) -> int:
    """As many candidates as results are asked for."""
    return size


def at_least_a_hundred(size: int) -> int:
    """A hundred candidates, or as many as results are asked for."""
    return max(100, size)


SIZE = Specimen(
    name="score-depends-on-size",
    references=("weaviate/weaviate#3317", "opensearch-project/neural-search#325"),
    symptom="The same document has another score, and another place, when more results are asked for.",
    mechanism="Min-max ranges over the candidates that were fetched, and as many are fetched as asked for.",
    change="how many candidates are fetched",
    world="two lists of six; the score of b, asked for three results and for six",
    expected="the score does not depend on how many were asked for",
    healthy=lambda answer: len(set(answer.values())) == 1,
    shipped=computed("as many candidates as results", _score_of_b, as_many),
    fixed=computed("a hundred candidates or more, cut afterwards", _score_of_b, at_least_a_hundred),
)

SHARDS = ("ace", "bdf")


def _fused_scores(vector: Scores, keyword: Scores) -> dict[str, float]:
    return {hit.id: hit.score for hit in fuse(RANKS, vector, keyword)}


def _part(scores: Scores, shard: str) -> dict[str, float]:
    return {name: score for name, score in scores.items() if name in shard}


def _per_shard(floor: float) -> Answer:
    shards = [_fused_scores(_part(VECTOR, shard), _part(KEYWORD, shard)) for shard in SHARDS]
    return by_score(at_least({name: s for scores in shards for name, s in scores.items()}, floor))


def _once(floor: float) -> Answer:
    return by_score(at_least(_fused_scores(VECTOR, KEYWORD), floor))


QDRANT_SHARDS = Specimen(
    name="qdrant-fusion-per-shard",
    references=("qdrant/qdrant#10640",),
    symptom="The same points, query and threshold, and more points pass the more shards there are.",
    mechanism="A fusion inside a prefetch runs on each shard: the first of a shard ranks 1 there.",
    change="where the fusion happens: on each shard, or after merging",
    world="six points on two shards, RRF with k = 2, threshold 0.4",
    expected="the points that pass are those of one shard",
    healthy=lambda answer: answer == _once(0.4),
    shipped=computed("fuse on each shard, then merge", _per_shard, 0.4),
    fixed=computed("merge, then fuse", _once, 0.4),
)


def _grouped(limit: int, group_size: int) -> Answer:
    depth = limit * group_size
    return top(_fused_scores(top(VECTOR, depth), top(KEYWORD, depth)), limit)


QDRANT_GROUPS = Specimen(
    name="qdrant-grouping-widens-the-pool",
    references=("qdrant/qdrant#9764", "PR#9771"),
    symptom="The same hybrid query gives other scores and another order once results are grouped.",
    mechanism="Grouping multiplies the limit of every prefetch, and RRF scores the ranks in these.",
    change="the limit of the prefetches: multiplied by the group size, or as asked",
    world="two lists of six, a limit of 3, groups of 2",
    expected="the scores are those of the same query without groups",
    healthy=lambda answer: answer == _grouped(3, 1),
    shipped=computed("prefetch limits × group size", _grouped, 3, 2),
    fixed=computed("prefetch limits as asked", _grouped, 3, 1),
    note="Simplified: each point is a group of its own.",
)

CHUNKS = ("manual", "manual", "manual", "exact"), ("exact", "minutes")


def once_each(names: Sequence[str]) -> Sequence[str]:
    """Each name once, where it came first."""
    return list(dict.fromkeys(names))


def every_time(names: Sequence[str]) -> Sequence[str]:
    """The names as they came, with repetitions."""
    return names


def _ensemble(before: Callable[[Sequence[str]], Sequence[str]]) -> Answer:
    scores: dict[str, float] = {}
    for names in CHUNKS:
        for rank, name in enumerate(before(names), 1):
            scores[name] = scores.get(name, 0.0) + float(reciprocal_rank(rank, 0.5, 60))
    return by_score(scores)


LANGCHAIN = Specimen(
    name="langchain-duplicate-chunks",
    references=("langchain-ai/langchain#37046", "PR#38578"),
    symptom="A long document in many chunks outranks the short one that answers.",
    mechanism="With an id_key a document's chunks are one result, but each of them adds its 1 / (60 + rank).",
    change="whether a retriever's list is made unique before it is scored",
    world="one retriever brings three chunks of a manual and then the exact note, the other the note first",
    expected="the exact note comes first",
    healthy=lambda answer: first(answer) == "exact",
    shipped=computed("Σ over chunks of 0.5 / (60 + rank)", _ensemble, every_time),
    fixed=computed("Σ over documents of 0.5 / (60 + rank)", _ensemble, once_each),
)

RECORDS = {"the decision": (25.3, 2_400), "a build log": (3.1, 300), "a stack trace": (2.0, 250)}
Records = Mapping[str, tuple[float, int]]


def _what_fits(records: Records, budget: int) -> Answer:
    told, left = {}, budget
    for name, (score, tokens) in records.items():
        if tokens <= left:
            told[name], left = score, left - tokens
    return told


def _best_first_cut(records: Records, budget: int) -> Answer:
    told, left = {}, budget
    for name, (score, tokens) in records.items():
        if left > 0:
            told[name], left = score, left - min(tokens, left)
    return told


BUDGET = Specimen(
    name="agentmemory-token-budget",
    references=("rohitg00/agentmemory#1232",),
    symptom="A memory that was saved on purpose looks as if it had never been stored.",
    mechanism="The budget is filled with what fits. What is best is long, so it goes first.",
    change="what becomes of a record that does not fit: left out, or cut to what is left",
    world="records of 2,400, 300 and 250 tokens, best first; a budget of 900",
    expected="the best record is in the answer",
    healthy=lambda answer: first(answer) == "the decision",
    shipped=computed("leave out what does not fit", _what_fits, RECORDS, 900),
    fixed=computed("cut what does not fit", _best_first_cut, RECORDS, 900),
    note="The fix is ours; ai-memory-mcp PR#481 returns at least the best record, whole.",
)

RERANKED = {"an on-topic question": 0.95, "nonsense": 0.02}


def _blended(rerank: Scores) -> Answer:
    return {name: 0.75 * (1 / 1) + 0.25 * score for name, score in rerank.items()}


def _reranked(rerank: Scores) -> Answer:
    return dict(rerank)


QMD_BLEND = Specimen(
    name="qmd-blend-floor",
    references=("tobi/qmd#697", "PR#752"),
    symptom="The first result of a nonsense query scores 0.75 or more.",
    mechanism="0.75 × 1 / rank + 0.25 × rerank score: the first place alone is worth 0.75.",
    change="which number is shown as the score: the blend, or the reranker's",
    world="the first result of an on-topic question (reranked 0.95), and of nonsense (0.02)",
    expected="nonsense scores below 0.5, and the on-topic question does not",
    healthy=lambda answer: answer["nonsense"] < 0.5 <= answer["an on-topic question"],
    shipped=computed("0.75 / rank + 0.25 × rerank score", _blended, RERANKED),
    fixed=computed("rerank score", _reranked, RERANKED),
)

DENSE = {"a matching question": [0.81, 0.40, 0.35], "nonsense": [0.22, 0.21, 0.19]}
GRAPH = 0.3 * 0.5
"""What the graph leg gives to every record: its weight times the default importance."""


def _best_scores(scale: Normalisation) -> Answer:
    return {
        name: max(0.6 * score + GRAPH for score in normalised(scale, scores))
        for name, scores in DENSE.items()
    }


METRONIX = Specimen(
    name="metronix-constant-score",
    references=("mtrnix/metronix-memory#453",),
    symptom="The first hit scores 0.750 whatever is asked, matching or not.",
    mechanism="The dense leg is min-maxed over its own hits, so its best is always 1, and the graph leg does "
    "not look at the question: 0.6 × 1 + 0.3 × 0.5.",
    change="the scale of the dense leg: min-max, or as it is",
    world="the dense scores of a question that matches, and of one that does not",
    expected="nonsense scores less than a matching question",
    healthy=lambda answer: answer["nonsense"] < answer["a matching question"],
    shipped=computed("0.6 × min-max of dense + 0.3 × 0.5", _best_scores, MinMax()),
    fixed=computed("0.6 × dense + 0.3 × 0.5", _best_scores, AS_GIVEN),
    note="The graph leg still adds 0.15 to everything: another bug, and another change. The weight of the "
    "dense leg is inferred from 0.750.",
)

SPECIMENS = (
    KHIVE,
    OPENVIKING,
    QMD_FILTER,
    SIZE,
    QDRANT_SHARDS,
    QDRANT_GROUPS,
    LANGCHAIN,
    BUDGET,
    QMD_BLEND,
    METRONIX,
)
