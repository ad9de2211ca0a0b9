"""AutoMem's score: its components, and their weighted sum, which is not normalised.

The functions work on columns, on single numbers and on terms (see `retrieval.formula`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from functools import reduce
from operator import add
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Weights:
    """AutoMem's SEARCH_WEIGHT_*. Their sum is 1.60; since 4e7956e (#177, 0.35 for metadata) it is 1.95."""

    vector: float = 0.35
    keyword: float = 0.35
    metadata: float = 0.0
    relation: float = 0.25
    tag: float = 0.20
    exact: float = 0.20
    importance: float = 0.10
    recency: float = 0.10
    confidence: float = 0.05
    relevance: float = 0.0

    @property
    def total(self) -> float:
        return math.fsum(getattr(self, one.name) for one in fields(self))


SHIPPED_WEIGHTS = Weights()

CONTEXT_BONUS = {"tag": 0.45, "type": 0.25, "keyword": 0.20, "anchor": 0.90}
"""The unweighted bonus of a caller's context for each kind of match."""


def context_bonus(matched: Iterable[str]) -> float:
    """The sum of the bonuses for these kinds of match, each counted once."""
    return math.fsum(CONTEXT_BONUS[kind] for kind in set(matched))


def token_share(hits: Any, tokens: Any) -> Any:
    """hits / tokens, and 0 for a question without tokens."""
    return np.where(tokens == 0, 0.0, hits / np.where(tokens == 0, 1.0, tokens))


def tag_share(hits: Any, tokens: Any, cap: Any) -> Any:
    """hits / tokens; with a cap above 0, min(1, hits / min(tokens, cap)).

    Source: automem, the cap since cefa516 (#193); the shipped cap of 0 means no cap.
    """
    capped = np.minimum(1.0, token_share(hits, np.minimum(tokens, cap)))
    return np.where(cap > 0, capped, token_share(hits, tokens))


def linear_recency(age: Any, horizon: Any) -> Any:
    """max(0, 1 - age / horizon), and 0 for a memory without a date."""
    return np.where(np.isnan(age), 0.0, np.maximum(0.0, 1 - age / horizon))


def exponential_recency(age: Any, half_life: Any) -> Any:
    """exp(-0.693 × age / half-life), which is one half after a half-life; 0 without a date."""
    return np.where(np.isnan(age), 0.0, np.exp(-(math.log(2) * age / half_life)))


EVIDENCE = ("vector", "keyword", "metadata", "exact")
GATED = ("tag", "importance", "recency", "confidence", "relevance")


def evidence_of(components: Mapping[str, Any]) -> Any:
    """The largest of the components that show that a memory is about the question."""
    return reduce(np.maximum, [components[name] for name in EVIDENCE if name in components])


def gated(components: Mapping[str, Any], gate: Any, tokens: Any) -> dict[str, Any]:
    """The components; if the evidence is below the gate, those in GATED are multiplied by evidence / gate.

    Source: automem c11b594 (#186), RECALL_RELEVANCE_GATE; the shipped value of 0 switches the gate off.
    """
    evidence = evidence_of(components)
    below = (tokens > 0) & (evidence < gate)
    share = evidence / np.where(gate > 0, gate, 1.0)
    return {
        name: np.where(below, one * share, one) if name in GATED else one for name, one in components.items()
    }


def final_score(components: Mapping[str, Any], weights: Mapping[str, Any], bonus: Any = None) -> Any:
    """The sum of weight × component, plus the bonus if there is one; it is not normalised.

    Source: automem, automem/utils/scoring.py.
    """
    parts = [weights[name] * one for name, one in components.items()]
    return reduce(add, parts if bonus is None else [*parts, bonus])
