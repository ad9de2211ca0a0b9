"""Bugs in what a search cuts from its answer: floors, fills and budgets."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice

from workbench.lab.museum.sides import computed, searched
from workbench.lab.museum.specimen import Answer, Sides, Specimen, by_score, first
from workbench.retrieval.cutoff import MinScore
from workbench.systems.engines.presets import PIPELINES
from workbench.systems.openclaw.pipelines import OR_JOIN, SHIPPED

ENGINE = {pipeline.name: pipeline for pipeline in PIPELINES}
RRF, QDRANT, ANY_WORD = ENGINE["engine-rrf-60"], ENGINE["engine-qdrant-k2"], SHIPPED.but(OR_JOIN)

Scores = Mapping[str, float]


def at_least(scores: Scores, floor: float) -> dict[str, float]:
    """The scores that are not below `floor`."""
    return {name: score for name, score in scores.items() if score >= floor}


def squashed(scores: Scores) -> dict[str, float]:
    """s / (1 + s): the same order, on another scale."""
    return {name: score / (1 + score) for name, score in scores.items()}


FUSED = {"first": 1.0, "second": 0.9, "third": 0.55}


def _floor_first(floor: float) -> Answer:
    return by_score(squashed(at_least(FUSED, floor)))


def _floor_last(floor: float) -> Answer:
    return by_score(at_least(squashed(FUSED), floor))


RECALLED = {"preference": 0.61, "event": 0.31, "noise": 0.11}


def _filled_up(floor: float, limit: int) -> Answer:
    passing = at_least(RECALLED, floor)
    others = {name: score for name, score in by_score(RECALLED).items() if name not in passing}
    return by_score(passing | dict(islice(others.items(), max(0, limit - len(passing)))))


def _not_filled_up(floor: float, limit: int) -> Answer:
    return dict(islice(by_score(at_least(RECALLED, floor)).items(), limit))


RECORDS = {"the decision": (25.3, 2_400), "a build log": (3.1, 300), "a stack trace": (2.0, 250)}


def _what_fits(budget: int) -> Answer:
    told, left = {}, budget
    for name, (score, tokens) in RECORDS.items():
        if tokens <= left:
            told[name], left = score, left - tokens
    return told


def _best_first_cut(budget: int) -> Answer:
    told, left = {}, budget
    for name, (score, tokens) in RECORDS.items():
        if left > 0:
            told[name], left = score, left - min(tokens, left)
    return told


SPECIMENS = (
    Specimen(
        name="openclaw-unreachable-floor",
        references=("openclaw/openclaw#25183", "#29112"),
        symptom="A search for an exact word that only one note contains returns nothing at all.",
        mechanism="The keyword leg alone gives at most 0.3 × 1.0, and the floor is 0.35.",
        change="the floor: 0.35, or no more than the keyword weight",
        world="four notes, one about Rocky Point; “Rocky Point bagging operations”, words joined with OR",
        expected="the note about Rocky Point is returned",
        healthy=lambda answer: "memory/depot.md" in answer,
        sides=searched(ANY_WORD, ANY_WORD.with_stage(MinScore(0.3)), "Rocky Point bagging operations"),
        note="Simplified: 2026.2.27 lowers the floor only if no candidate passes it.",
    ),
    Specimen(
        name="threshold-on-rrf-scale",
        references=(
            "TencentCloud/TencentDB-Agent-Memory#1296", "ohdearquant/khive#1111", "ai-memory#317",
            "vellum PR#15936", "uteke PR#831", "marm PR#112",
        ),
        symptom="A threshold of 0.3, sensible for a cosine, empties every hybrid search.",
        mechanism="With k = 60 two lists give at most 2/61 = 0.033.",
        change="the floor: 0.3, or none",
        world="four notes; “disk error”, which both legs answer",
        expected="something is returned",
        healthy=bool,
        sides=searched(RRF.asking(min_score=0.3), RRF, "disk error"),
    ),
    Specimen(
        name="qdrant-local-threshold",
        references=("qdrant/qdrant-client#1136", "PR#1138"),
        symptom="In local mode a hybrid query returns points below the requested score_threshold.",
        mechanism="The function that fuses receives the threshold and never uses it.",
        change="the floor after the fusion: none, or the requested 0.4",
        world="four notes; “disk error” with a threshold of 0.4",
        expected="nothing below 0.4 is returned, and something is",
        healthy=lambda answer: bool(answer) and min(answer.values()) >= 0.4,
        sides=searched(QDRANT, QDRANT.asking(min_score=0.4), "disk error"),
    ),
    Specimen(
        name="floor-before-squash",
        references=("ohdearquant/khive#1698", "PR#1701", "CortexReach/memory-lancedb-pro PR#766"),
        symptom="The search returns hits below the requested min_score.",
        mechanism="The floor is applied to the fused score s, and a later step replaces s with s / (1 + s).",
        change="the order of two steps",
        world="three fused scores, 1.0, 0.9 and 0.55; min_score 0.45",
        expected="nothing below 0.45 is returned, and something is",
        healthy=lambda answer: bool(answer) and min(answer.values()) >= 0.45,
        sides=Sides(
            computed("floor, then squash", _floor_first, 0.45),
            computed("squash, then floor", _floor_last, 0.45),
        ),
        note="After the fix a floor above 0.5 is out of reach: fused scores are at most 1 there.",
    ),
    Specimen(
        name="openviking-fill-below-floor",
        references=("volcengine/OpenViking#1106",),
        symptom="recallScoreThreshold is 0.25, but memories at 0.11 are put into the context.",
        mechanism="A later step fills up to the limit from the list as it was before the threshold.",
        change="whether the answer is filled up to the limit",
        world="three memories, 0.61, 0.31 and 0.11; floor 0.25, limit 3",
        expected="nothing below 0.25 is returned, and something is",
        healthy=lambda answer: bool(answer) and min(answer.values()) >= 0.25,
        sides=Sides(
            computed("floor, then fill up to the limit", _filled_up, 0.25, 3),
            computed("floor, then limit", _not_filled_up, 0.25, 3),
        ),
    ),
    Specimen(
        name="agentmemory-token-budget",
        references=("rohitg00/agentmemory#1232",),
        symptom="A memory that was saved on purpose never comes back, as if it had not been stored.",
        mechanism="Only records that fit into the budget are returned, and the best record is the longest.",
        change="a record that does not fit: left out, or cut to the tokens that are left",
        world="records of 2,400, 300 and 250 tokens, best first; a budget of 900",
        expected="the best record is in the answer",
        healthy=lambda answer: first(answer) == "the decision",
        sides=Sides(
            computed("leave out what does not fit", _what_fits, 900),
            computed("cut what does not fit", _best_first_cut, 900),
        ),
        note="The fix is ours; ai-memory-mcp PR#481 returns at least the best record, whole.",
    ),
)  # fmt: skip
