"""LangChain's BM25Retriever: words split at blanks, with the numbers and the order of rank_bm25 0.2.2."""

from __future__ import annotations

import pytest

from workbench.memory.index import MemoryIndex
from workbench.retrieval.pipeline import search
from workbench.systems.catalogue import SYSTEMS
from workbench_plugins.engines.museum import small_memory
from workbench_plugins.engines.split_words import SplitTexts

TEXTS = [
    "Green tea at ten.", "The bike hub, the bike hub", "tea", "Tea for two, and tea for one",
    "A server with no notes", "the tea the hub",
]  # fmt: skip
RANK_BM25 = {
    "tea": (
        [0.2960708367172617, 0.0, 0.4327189152021518, 0.22501383590511892, 0.0, 0.2960708367172617],
        "2503",
    ),
    "Tea?": ([0.0] * 6, "5432"),
    "tea tea hub": (
        [
            0.5921416734345234,
            0.511118839045321,
            0.8654378304043036,
            0.45002767181023784,
            0.0,
            1.2108644785946487,
        ],
        "5201",
    ),
    "the hub": ([0.0, 1.022237678090642, 0.0, 0.0, 0.0, 1.4895178642743758], "5143"),
}
"""What BM25Okapi of rank_bm25 0.2.2 scores, and the first four of its get_top_n."""


@pytest.mark.parametrize("question", RANK_BM25)
def test_scores_and_order_are_those_of_rank_bm25(question: str) -> None:
    scores, order = RANK_BM25[question]
    with small_memory({f"{n}.md": text for n, text in enumerate(TEXTS)}, {"any": ("any",)}) as index:
        texts = SplitTexts.of(index.vectors()[0], [chunk.text for chunk in index.chunks(index.vectors()[0])])
        trace = search(question, SYSTEMS["langchain-ensemble"], index)
        hits = trace.legs["keyword"].hits
        brought = [chunk.path for chunk in index.chunks(hits.rows)]
    assert texts.scores(question.split()).tolist() == scores
    assert hits.raw.tolist() == [scores[int(one)] for one in order]
    alone = [one for one in order if scores.count(scores[int(one)]) == 1]
    assert [one for one in brought if one[0] in alone] == [f"{one}.md" for one in alone]


def test_capitals_and_punctuation_count_in_the_default_and_not_beside_it(sample: MemoryIndex) -> None:
    question = "Where to send urgent notifications?"
    default, preprocessed = (
        search(question, SYSTEMS[name], sample).legs["keyword"].hits
        for name in ("langchain-ensemble", "langchain-ensemble-preprocessed")
    )
    assert default.rows.size == preprocessed.rows.size == 4
    assert default.rows.tolist() != preprocessed.rows.tolist()
    lacks = search("notifications?", SYSTEMS["langchain-ensemble"], sample).legs["keyword"].hits
    assert not lacks.raw.any()
