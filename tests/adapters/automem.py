"""AutoMem, from the commit with the dead keyword weight to the last one that was read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np

from tests.adapters import Case, adapts_every, adapts_known
from tests.adapters import automem_quality as lab
from workbench.retrieval.columns import Columns, ColumnStage
from workbench_plugins.automem import components, memories
from workbench_plugins.automem import pipelines as automem
from workbench_plugins.automem.frontmatter import age_in_days

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


@adapts_known("query_tokens", commit_of)
def tokens(given: Given) -> list[str]:
    return list(memories.query_tokens(given["query"]))


@adapts_every("keyword_component")
def keyword_component(case: Case) -> float:
    given = case.input
    return _keyword(case, given["match_type"], given["match_score"], given["content"], given["tokens"])


GRAPH = ("keyword", "trending")


def _keyword(case: Case, kind: str, score: float, content: str, tokens: Any) -> float:
    """The component as the profile's own stage computes it, for one row."""
    stage = PROFILES[commit_of(case)]["keyword_component"]
    assert isinstance(stage, ColumnStage)
    searches = isinstance(stage, components.ContentKeyword)
    hits = memories.hits_in(tokens, stage.searched(memories.Memory(content)) if searches else ())
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


CONTEXT_BONUS = {"tag": 0.45, "type": 0.25, "keyword": 0.20, "anchor": 0.90}
"""The unweighted bonus of a caller's context for each kind of match."""


@adapts_every("final_score")
def whole_score(case: Case) -> float:
    given, knobs = case.input, _knobs(case)
    tokens = given["tokens"]
    parts = _components(case, knobs)
    weights = asdict(_weights(case, knobs))
    parts = components.gated(parts, float(knobs.get("gate", 0.0)), len(tokens))
    bonus = sum(CONTEXT_BONUS[kind] for kind in sorted(set(given.get("context", []))))
    return float(components.final_score(parts, weights, bonus))


def _knobs(case: Case) -> dict[str, Any]:
    """What a case overrides; a knob that the workbench does not have is refused."""
    found = {}
    for name, value in (case.input.get("overrides") or {}).items():
        known = KNOBS.get(name.upper())
        if name.upper().startswith(WEIGHT):
            known = name.upper().removeprefix(WEIGHT).lower()
        if known is None or known not in (*KNOBS.values(), *asdict(components.SHIPPED_WEIGHTS)):
            raise NotImplementedError(f"override {name!r}")
        found[known] = value
    return found


def _weights(case: Case, knobs: Given) -> components.Weights:
    shipped = components.Weights(metadata=0.35) if since(case, "4e7956e") else components.SHIPPED_WEIGHTS
    return replace(shipped, **{name: float(knobs[name]) for name in asdict(shipped) if name in knobs})


def _components(case: Case, knobs: Given) -> dict[str, Any]:
    given, result = case.input, case.input["result"]
    memory, tokens = result["memory"], given["tokens"]
    kind, match = result["match_type"], float(result.get("match_score") or 0.0)
    skipped = ("entities",) if since(case, "8ff266e") else ()
    terms = memories.metadata_terms(memory.get("metadata"), skipped)
    hits = memories.hits_in(tokens, terms | memories.tag_words(memory.get("tags") or []))
    return {
        "vector": match if kind == "vector" else 0.0,
        "keyword": _keyword(case, kind, match, memory.get("content") or "", tokens),
        "metadata": match if kind == "metadata" else 0.0,
        "relation": float(result.get("relation_score") or 0.0),
        "tag": components.tag_share(hits, len(tokens), int(knobs.get("cap", 0))),
        "exact": float(memories.is_exact(given["query"], terms)),
        "importance": float(memory.get("importance") or 0.0),
        "recency": _recency(memory.get("timestamp"), given.get("now"), knobs.get("recency", "linear")),
        "confidence": float(memory.get("confidence") or 0.0),
        "relevance": float(memory.get("relevance_score") or 0.0),
    }


def _recency(timestamp: str | None, now: str | None, mode: str) -> float:
    recency = components.linear_recency if mode == "linear" else components.exponential_recency
    assert mode in ("linear", "exponential", "exp")
    return float(recency(age_in_days(_moment(timestamp), _moment(now) or datetime.now(UTC)), 180.0))


def _moment(text: str | None) -> datetime | None:
    if text is None:
        return None
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


@adapts_known("tag_component", commit_of)
def tag_component(given: Given) -> float:
    terms = memories.metadata_terms(given.get("metadata"))
    hits = memories.hits_in(given["tokens"], terms | memories.tag_words(given["tags"]))
    return float(components.tag_share(float(hits), float(len(given["tokens"])), given.get("cap", 0)))


@adapts_known("relevance_gate", commit_of)
def relevance_gate(given: Given) -> dict[str, Any]:
    """What is left of the components that the case gives, and whether the gate had a say."""
    known = {"vector": 0.0} | {
        name: given[name] for name in (*components.EVIDENCE, *components.GATED) if name in given
    }
    tokens = len(given["tokens"]) if "tokens" in given else 1
    left = components.gated(known, given["gate"], tokens)
    evidence = float(components.evidence_of(known))
    return {name: float(left[name]) for name in components.GATED if name in given} | {
        "evidence": evidence,
        "gated": tokens > 0 and evidence < given["gate"],
    }


@adapts_known("graph_keyword_raw", commit_of)
def keyword_raw(given: Given) -> int:
    return memories.graph_raw(given["content"], given["tags"], given["keywords"], given["phrase"] or "")


@adapts_every("graph_keyword_normalised")
def keyword_normalised(case: Case) -> float:
    if not since(case, "3653ddf"):
        return float(case.input["raw_score"])
    return min(1.0, float(case.input["raw_score"]) / memories.graph_best(case.input["keywords"]))


@adapts_every("adaptive_floor")
def floor(case: Case) -> dict[str, Any]:
    stage = PROFILES[commit_of(case)]["adaptive_floor"]
    assert isinstance(stage, components.AdaptiveFloor)
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
        return components.vector_fetch_limit(
            given["limit"], given.get("overfetch", 4), given.get("cap", 200), tagged
        )
    return components.MOST_RESULTS if tagged else int(given["limit"])


@adapts_known("keyword_leg_slots", commit_of)
def leg_slots(given: Given) -> int:
    return components.keyword_leg_slots(given["limit"], given["vector_hits"])


@adapts_known("lab_recall_at_k", commit_of)
def lab_recall(given: Given) -> float:
    return lab.recall_at(given["retrieved"], given["expected_ids"], given["k"])


@adapts_known("lab_ndcg_at_10", commit_of)
def lab_ndcg(given: Given) -> float:
    return lab.ndcg_at(given["retrieved"], given["expected_ids"], given.get("k", 10))


@adapts_known("lab_distractor_rate", commit_of)
def lab_distractors(given: Given) -> float:
    return lab.distractor_rate(given["retrieved"], given["distractors"], given.get("k", 10))


@adapts_known("lab_pick_winner", commit_of)
def lab_winner(given: Given) -> str:
    names = {"ndcg_10": "ndcg", "distractor_rate_10": "distractors"}
    cards = [lab.ScoreCard(**{names.get(key, key): card[key] for key in card}) for card in given["cards"]]
    return lab.pick_winner(cards, given["baseline"]).name


@adapts_known("lab_config_complexity", commit_of)
def lab_complexity(given: Given) -> int:
    return lab.config_complexity(given["config"])
