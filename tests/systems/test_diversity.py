"""MMR in columns picks what a plain loop picks, and what is remembered of chunks changes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.adapters.openclaw_february import FixedIndex
from tests.adapters.openclaw_releases import hybrid_merge
from workbench.records import Chunk
from workbench.retrieval.pipeline import search
from workbench.terminal import text_of
from workbench_plugins.openclaw.ranking import (
    MMR,
    UnspacedMMR,
    jaccard,
    mmr_score,
    pick,
    relevances,
    words_and_characters_of,
    words_of,
)
from workbench_plugins.openclaw.releases import DIVERSE, FEBRUARY_15

few = settings(max_examples=100, deadline=None)


def searched(*distances: float, **texts: str) -> FixedIndex:
    """An index whose vector leg finds these texts at these distances."""
    chunks = [Chunk(name, f"memory/{name}.md", "memory", 1, 1, text) for name, text in texts.items()]
    return FixedIndex([], list(zip(chunks, distances, strict=True)))


def greedy(scores: Sequence[float], similarity: Sequence[Sequence[float]], weight: float) -> list[int]:
    """MMR as a person would write it: each time the best of those that are left."""
    relevance = relevances(np.array(scores))
    left, picked = list(range(len(scores))), []
    while left:
        values = {
            place: mmr_score(relevance[place], max([0, *(similarity[place][one] for one in picked)]), weight)
            for place in left
        }
        best = max(left, key=lambda place: (values[place], scores[place], -place))
        picked.append(best)
        left.remove(best)
    return picked


SCORES = st.sampled_from([0.1, 0.2, 0.5, 0.9])
WEIGHTS = st.sampled_from([0.0, 0.3, 0.7, 1.0])


@given(st.lists(st.tuples(SCORES, st.text("ab c茶碗", max_size=8)), max_size=9), WEIGHTS)
@few
def test_mmr_picks_what_a_plain_loop_picks(items: list[tuple[float, str]], weight: float) -> None:
    items.sort(key=lambda item: -item[0])
    scores, texts = [score for score, _ in items], [text for _, text in items]
    similarity = [[jaccard(words_of(one), words_of(other)) for other in texts] for one in texts]
    picked = pick(np.array(scores, float), MMR().similarities(texts), weight)
    assert picked.order.tolist() == greedy(scores, similarity, weight)


@given(st.lists(st.text("ab c茶碗", max_size=12), max_size=9))
@few
def test_the_similarities_are_those_of_every_two_texts(texts: list[str]) -> None:
    tokens = [words_and_characters_of(text) for text in texts]
    expected = [
        [
            jaccard(left, right) if left or right else float(one == other)
            for other, right in zip(texts, tokens, strict=True)
        ]
        for one, left in zip(texts, tokens, strict=True)
    ]
    assert UnspacedMMR().similarities(texts).tolist() == expected


def test_a_copy_gives_way_and_keeps_its_score() -> None:
    index = searched(0.1, 0.19, 0.2, a="tea in the cup", b="tea in the cup", c="bike at the shop")
    plain, diverse = (
        search("X", one.asking(min_score=-1), index)
        for one in (FEBRUARY_15, FEBRUARY_15.with_changes(DIVERSE))
    )
    assert [one.chunk.id for one in plain.results] == ["a", "b", "c"]
    assert [one.chunk.id for one in diverse.results] == ["a", "c", "b"]
    assert np.array_equal(plain.columns["score"], diverse.columns["score"])
    assert plain.reordered_line == ""
    assert diverse.reordered_line.startswith(
        "These results are not in the order of their scores. The last stage that moved them: reorder by MMR:"
    )
    assert diverse.reordered_line in " ".join(text_of(diverse.view()).split())


def test_the_words_beyond_700_units_do_not_count() -> None:
    filler = "x" * 700
    index = searched(0.1, 0.2, 0.3, a=filler + " tea", b=filler + " bike", c="bike")
    trace = search("X", FEBRUARY_15.with_changes(DIVERSE), index)
    assert {one.chunk.id: one.numbers["mmr_similarity"] for one in trace.candidates} == {
        "a": 0,
        "b": 1,
        "c": 0,
    }


def test_a_merge_with_mmr_moves_a_copy_below_another_text_and_leaves_the_scores() -> None:
    hits = [
        {"id": name, "path": f"memory/{name}.md", "startLine": 1, "endLine": 1, "source": "memory",
         "snippet": text, "vectorScore": score}
        for name, text, score in (
            ("a", "tea in the cup", 0.9), ("b", "tea in the cup", 0.81), ("c", "bike at the shop", 0.8)
        )
    ]  # fmt: skip
    merge: Any = {"vector": hits, "keyword": [], "vectorWeight": 1, "textWeight": 0}
    plain, diverse = (hybrid_merge({**merge, "mmr": {"enabled": on}}) for on in (False, True))
    assert [one["path"] for one in plain] == ["memory/a.md", "memory/b.md", "memory/c.md"]
    assert [one["path"] for one in diverse] == ["memory/a.md", "memory/c.md", "memory/b.md"]
    assert {one["path"]: one["score"] for one in plain} == {one["path"]: one["score"] for one in diverse}
    assert hybrid_merge({**merge, "vector": [], "mmr": {"enabled": True}}) == []


def test_an_index_without_chunks_has_no_candidate_for_mmr_to_move() -> None:
    diverse = FEBRUARY_15.with_changes(DIVERSE)
    trace = search("tea", diverse, FixedIndex([], []))
    assert (trace.results, trace.order.tolist()) == ([], [])
