"""AutoMem, from the commit with the dead keyword weight to the last one that was read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np

from tests.adapters import Case, adapts_every
from tests.adapters.automem_quality import (
    ScoreCard,
    config_complexity,
    distractor_rate,
    ndcg_at,
    pick_winner,
    recall_at,
)
from workbench.memory.frontmatter import age_in_days
from workbench.retrieval.columns import Columns, ColumnStage
from workbench.systems.automem import pipelines as automem
from workbench.systems.automem.components import ContentKeyword
from workbench.systems.automem.memories import Memory
from workbench.systems.automem.recall import (
    MOST_RESULTS,
    AdaptiveFloor,
    keyword_leg_slots,
    vector_fetch_limit,
)
from workbench.systems.automem.scoring import (
    EVIDENCE,
    GATED,
    SHIPPED_WEIGHTS,
    Weights,
    context_bonus,
    evidence_of,
    exponential_recency,
    final_score,
    gated,
    linear_recency,
    tag_share,
)
from workbench.systems.automem.text import (
    graph_best,
    graph_raw,
    hits_in,
    is_exact,
    metadata_terms,
    query_tokens,
    tag_words,
)

Given = Mapping[str, Any]

PROFILES = {
    "8df3c08": automem.DEAD_KEYWORD,
    "4f0fcf8": automem.DEAD_KEYWORD,
    "e59e9ca": automem.SUBSTRING,
    "591b2c7": automem.LIVE_KEYWORD,
    "4e7956e": automem.LIVE_KEYWORD,
    "dbb933f": automem.LIVE_KEYWORD,
    "c11b594": automem.LIVE_KEYWORD,
    "a6ed945": automem.LIVE_KEYWORD,
    "3653ddf": automem.BOUNDED,
    "cefa516": automem.BOUNDED,
    "0720da2": automem.OVERFETCHED,
    "01e1082": automem.OVERFETCHED,
    "8ff266e": automem.OVERFETCHED,
    "f190ae5": automem.OVERFETCHED,
    "431433e": automem.OVERFETCHED,
}
"""Each commit's profile, oldest first; the quality lab's two come last, and have no place in the order."""

ORDER = list(PROFILES)


def commit_of(case: Case) -> str:
    """The commit of a case, by its first seven digits: of `591b2c7^ (4f0fcf8)` it is the one in brackets.

    Raises LookupError for a commit that the workbench does not have.
    """
    match = re.match(r"([0-9a-f]{7})[0-9a-f]*(\^)?(?:\s*\(([0-9a-f]{7}))?", case.version)
    commit = "" if match is None else match[1]
    if match is not None and match[2]:
        commit = match[3] or {"591b2c7": "4f0fcf8"}.get(commit, "")
    if commit not in PROFILES:
        raise LookupError(f"no profile of AutoMem is of commit {case.version!r}")
    return commit


def since(case: Case, commit: str) -> bool:
    """Whether a case is of `commit` or of a later one."""
    return ORDER.index(commit_of(case)) >= ORDER.index(commit)


@adapts_every("query_tokens")
def tokens(case: Case) -> list[str]:
    commit_of(case)
    return list(query_tokens(case.input["query"]))


@adapts_every("keyword_component")
def keyword_component(case: Case) -> float:
    given = case.input
    return _keyword(case, given["match_type"], given["match_score"], given["content"], given["tokens"])


GRAPH = ("keyword", "trending")


def _keyword(case: Case, kind: str, score: float, content: str, tokens: Any) -> float:
    """The component as the profile's own stage computes it, for one row."""
    stage = PROFILES[commit_of(case)]["keyword_component"]
    assert isinstance(stage, ColumnStage)
    hits = hits_in(tokens, stage.searched(Memory(content)) if isinstance(stage, ContentKeyword) else ())
    graph = kind in GRAPH
    row = {
        "vector_rank": np.nan if graph else 1.0,
        "keyword_score": score if graph else np.nan,
        "token_hits": float(hits),
        "keyword_tokens": float(len(tokens)),
    }
    return float(stage.formula(Columns({name: np.array([value]) for name, value in row.items()}))[0])


WEIGHT = "SEARCH_WEIGHT_"
KNOBS = {
    "SEARCH_TAG_SCORE_TOKEN_CAP": "cap",
    "RECALL_RELEVANCE_GATE": "gate",
    "RECALL_RECENCY_MODE": "recency",
}


@adapts_every("final_score")
def whole_score(case: Case) -> float:
    given, knobs = case.input, _knobs(case)
    tokens = given["tokens"]
    parts = _components(case, knobs)
    weights = asdict(_weights(case, knobs))
    parts = gated(parts, float(knobs.get("gate", 0.0)), len(tokens))
    return float(final_score(parts, weights, context_bonus(given.get("context", []))))


def _knobs(case: Case) -> dict[str, Any]:
    """What a case overrides; a knob that the workbench does not have is refused."""
    found = {}
    for name, value in (case.input.get("overrides") or {}).items():
        known = KNOBS.get(name.upper())
        if name.upper().startswith(WEIGHT):
            known = name.upper().removeprefix(WEIGHT).lower()
        if known is None or known not in (*KNOBS.values(), *asdict(SHIPPED_WEIGHTS)):
            raise NotImplementedError(f"override {name!r}")
        found[known] = value
    return found


def _weights(case: Case, knobs: Given) -> Weights:
    shipped = Weights(metadata=0.35) if since(case, "4e7956e") else SHIPPED_WEIGHTS
    return replace(shipped, **{name: float(knobs[name]) for name in asdict(shipped) if name in knobs})


def _components(case: Case, knobs: Given) -> dict[str, Any]:
    given, result = case.input, case.input["result"]
    memory, tokens = result["memory"], given["tokens"]
    kind, match = result["match_type"], float(result.get("match_score") or 0.0)
    skipped = ("entities",) if since(case, "8ff266e") else ()
    terms = metadata_terms(memory.get("metadata"), skipped)
    hits = hits_in(tokens, terms | tag_words(memory.get("tags") or []))
    return {
        "vector": match if kind == "vector" else 0.0,
        "keyword": _keyword(case, kind, match, memory.get("content") or "", tokens),
        "metadata": match if kind == "metadata" else 0.0,
        "relation": float(result.get("relation_score") or 0.0),
        "tag": tag_share(hits, len(tokens), int(knobs.get("cap", 0))),
        "exact": float(is_exact(given["query"], terms)),
        "importance": float(memory.get("importance") or 0.0),
        "recency": _recency(memory.get("timestamp"), given.get("now"), knobs.get("recency", "linear")),
        "confidence": float(memory.get("confidence") or 0.0),
        "relevance": float(memory.get("relevance_score") or 0.0),
    }


def _recency(timestamp: str | None, now: str | None, mode: str) -> float:
    modes = {"linear": linear_recency, "exponential": exponential_recency, "exp": exponential_recency}
    return float(modes[mode](age_in_days(_moment(timestamp), _moment(now) or datetime.now(UTC)), 180.0))


def _moment(text: str | None) -> datetime | None:
    if text is None:
        return None
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


@adapts_every("tag_component")
def tag_component(case: Case) -> float:
    commit_of(case)
    given = case.input
    terms = metadata_terms(given.get("metadata"))
    hits = hits_in(given["tokens"], terms | tag_words(given["tags"]))
    return float(tag_share(float(hits), float(len(given["tokens"])), given.get("cap", 0)))


@adapts_every("relevance_gate")
def relevance_gate(case: Case) -> dict[str, Any]:
    """What is left of the components that the case gives, and whether the gate had a say."""
    commit_of(case)
    given = case.input
    known = {"vector": 0.0} | {name: given[name] for name in (*EVIDENCE, *GATED) if name in given}
    tokens = len(given["tokens"]) if "tokens" in given else 1
    left = gated(known, given["gate"], tokens)
    evidence = float(evidence_of(known))
    return {name: float(left[name]) for name in GATED if name in given} | {
        "evidence": evidence,
        "gated": tokens > 0 and evidence < given["gate"],
    }


@adapts_every("graph_keyword_raw")
def keyword_raw(case: Case) -> int:
    commit_of(case)
    given = case.input
    return graph_raw(given["content"], given["tags"], given["keywords"], given["phrase"] or "")


@adapts_every("graph_keyword_normalised")
def keyword_normalised(case: Case) -> float:
    if not since(case, "3653ddf"):
        return float(case.input["raw_score"])
    return min(1.0, float(case.input["raw_score"]) / graph_best(case.input["keywords"]))


@adapts_every("adaptive_floor")
def floor(case: Case) -> dict[str, Any]:
    stage = PROFILES[commit_of(case)]["adaptive_floor"]
    assert isinstance(stage, AdaptiveFloor)
    scores = np.array(case.input["scores"], float)
    least = float(stage.floors(scores))
    if np.isnan(least):
        return {"floor": None, "kept": scores.size}
    return {"floor": least, "kept": int(np.sum(scores >= least))}


@adapts_every("vector_fetch_limit")
def fetch_limit(case: Case) -> int:
    given = case.input
    tagged = bool(given.get("tags") or given.get("has_tags"))
    if since(case, "0720da2"):
        return vector_fetch_limit(given["limit"], given.get("overfetch", 4), given.get("cap", 200), tagged)
    return MOST_RESULTS if tagged else int(given["limit"])


@adapts_every("keyword_leg_slots")
def leg_slots(case: Case) -> int:
    commit_of(case)
    return keyword_leg_slots(case.input["limit"], case.input["vector_hits"])


@adapts_every("lab_recall_at_k")
def lab_recall(case: Case) -> float:
    commit_of(case)
    return recall_at(case.input["retrieved"], case.input["expected_ids"], case.input["k"])


@adapts_every("lab_ndcg_at_10")
def lab_ndcg(case: Case) -> float:
    commit_of(case)
    return ndcg_at(case.input["retrieved"], case.input["expected_ids"], case.input.get("k", 10))


@adapts_every("lab_distractor_rate")
def lab_distractors(case: Case) -> float:
    commit_of(case)
    return distractor_rate(case.input["retrieved"], case.input["distractors"], case.input.get("k", 10))


@adapts_every("lab_pick_winner")
def lab_winner(case: Case) -> str:
    commit_of(case)
    cards = [
        ScoreCard(
            card["name"],
            card["ndcg_10"],
            card["distractor_rate_10"],
            card.get("latency_ms", 0.0),
            card.get("complexity", 0),
        )
        for card in case.input["cards"]
    ]
    return pick_winner(cards, case.input["baseline"]).name


@adapts_every("lab_config_complexity")
def lab_complexity(case: Case) -> int:
    commit_of(case)
    return config_complexity(case.input["config"])
