"""BM25 of one word: our arithmetic against FTS5's, and the two word weights."""

from __future__ import annotations

import numpy as np
import pytest

from workbench.memory.store.postings import fts5_idf
from workbench.records import Clause, Query
from workbench_plugins.engines.bm25 import bm25, lucene_idf
from workbench_plugins.engines.museum import small_memory
from workbench_plugins.engines.specimens import YOUNG_MEMORY


@pytest.mark.parametrize("word", ["tea", "rooibos", "morning"])
def test_fts5_computes_the_shipped_bm25(word: str) -> None:
    with small_memory(YOUNG_MEMORY, {"x": ("x",)}) as index:
        hits = index.keyword(Query((Clause(word),)), 5)
        theirs = {chunk.path: -raw for chunk, raw in zip(index.chunks(hits.rows), hits.raw, strict=True)}
    assert bm25(fts5_idf, word, YOUNG_MEMORY) == pytest.approx(theirs)


def test_a_word_in_half_of_the_notes_or_more_weighs_a_millionth_in_fts5_only() -> None:
    assert [fts5_idf(10, having) for having in (5, 7, 10)] == [1e-6] * 3
    assert fts5_idf(10, 4) == pytest.approx(np.log(6.5 / 4.5))
    assert all(lucene_idf(10, having) > 0.04 for having in range(1, 11))
