"""AutoMem's Recall Quality Lab: its measures, how it counts knobs, and how it picks a winner.

Source: automem f190ae5 and 431433e, docs/RECALL_QUALITY_LAB.md and scripts/lab. Recall and nDCG are computed
by ir_measures.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.errors import InputError
from workbench.measure.measures import Judged, means

GUARD = 0.01
"""How much the rate of distractors may rise above the baseline's."""

NDCG_TIE = 0.005
"""Configurations whose nDCG@10 is within this of the best count as equally good."""

OFF = frozenset({"", "0", "false", "off", "no", "none", "disabled"})


def recall_at(retrieved: Sequence[str], expected: Collection[str], k: int) -> float:
    """The share of the expected ids among the first k; 0 when none is expected.

    >>> recall_at(["a", "b", "c"], ["c", "d"], k=5)
    0.5
    """
    from ir_measures import R

    return _measured(R @ k, retrieved, expected)


def ndcg_at(retrieved: Sequence[str], expected: Collection[str], k: int = 10) -> float:
    """nDCG with a gain of 1 for each expected id; 0 when none is expected.

    >>> ndcg_at(["a", "b", "x"], ["x"])
    0.5
    """
    from ir_measures import nDCG

    return _measured(nDCG @ k, retrieved, expected)


def _measured(measure: Any, retrieved: Sequence[str], expected: Collection[str]) -> float:
    (mean,) = means([Judged(list(dict.fromkeys(retrieved)), expected)], measure)
    return mean


def distractor_rate(retrieved: Sequence[str], distractors: Iterable[str], k: int = 10) -> float:
    """The share of distractors among the first k that were retrieved; 0 when nothing was.

    >>> distractor_rate(["good", "bad"], ["bad", "worse"])
    0.5
    """
    top, planted = retrieved[:k], set(distractors)
    return sum(id_ in planted for id_ in top) / len(top) if top else 0.0


def config_complexity(config: Mapping[str, object]) -> int:
    """How many knobs of a configuration are turned on: not off, false, zero or empty.

    >>> config_complexity({"RECALL_RELEVANCE_GATE": "0.2", "RECALL_RECENCY_BIAS": "off", "CAP": "0"})
    1
    """
    return sum(_is_on(value) for value in config.values())


def _is_on(value: object) -> bool:
    text = "" if value is None else str(value).strip().lower()
    try:
        return float(text) != 0
    except ValueError:
        return text not in OFF


@dataclass(frozen=True)
class ScoreCard:
    """What one configuration achieved: nDCG@10, distractors among ten, milliseconds, knobs turned on."""

    name: str
    ndcg: float
    distractors: float
    latency_ms: float = 0.0
    complexity: int = 0


def pick_winner(cards: Sequence[ScoreCard], baseline: str) -> ScoreCard:
    """The best card whose distractors are at most 0.01 above the baseline's.

    Best is the highest nDCG@10; of those within 0.005 of it, the one with the fewest knobs, then the
    fastest, then the highest nDCG, then the first. Raises InputError when no card is the baseline's.
    """
    base = next((card for card in cards if card.name == baseline), None)
    if base is None:
        names = ", ".join(card.name for card in cards) or "none"
        raise InputError(f"No card is named {baseline!r}.", f"The cards are: {names}.")
    allowed = [card for card in cards if card.distractors <= base.distractors + GUARD]
    best = max(card.ndcg for card in allowed)
    level = [card for card in allowed if card.ndcg >= best - NDCG_TIE]
    return min(level, key=lambda card: (card.complexity, card.latency_ms, -card.ndcg))
