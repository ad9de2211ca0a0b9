"""What is shipped of the sample memory is what the model gives, for each chunk and again for some of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from workbench.memory.embedding.local import LocalEmbedder
from workbench.memory.files import content_hash
from workbench.memory.index import MemoryIndex
from workbench.memory.store.contract import Settings
from workbench_plugins.recommended.passage_index import WordsRead, files_of, newly_read
from workbench_plugins.recommended.shipped_vectors import FILE, LENDER, words_of
from workbench_plugins.recommended.words import Codes

EMBEDDER = LocalEmbedder()
SETTINGS = Settings(EMBEDDER.name, EMBEDDER.revision, EMBEDDER.dimensions, "")
AGAIN = 3
"""Files that are computed again."""


def test_every_chunk_and_file_of_the_sample_memory_is_shipped(sample: MemoryIndex) -> None:
    rows, vectors = sample.vectors()
    keys = [content_hash(chunk.text) for chunk in sample.chunks(rows)]
    lent = LENDER.cached(SETTINGS, "passage", keys)
    assert np.allclose([lent[key].vector for key in keys], vectors, atol=1e-5)
    files = {one.key(EMBEDDER) for one in files_of(sample)}
    assert words_of(files).keys() == files
    assert FILE.stat().st_size <= 4_000_000


def agreement(ours: Codes, theirs: Codes, counts: NDArray[np.int32]) -> float:
    """How far the signs of each code agree with the nearest of the other codes of its chunk, -1 to 1.

    The mean, of the side on which it is lower.
    """
    signs = [2.0 * np.unpackbits(one.packed, axis=1) - 1 for one in (ours, theirs)]
    chunks = zip(*(np.split(one, np.cumsum(counts)[:-1]) for one in signs), strict=True)
    cosines = [one @ other.T / one.shape[1] for one, other in chunks]
    return float(min(np.mean([one.max(axis=side).mean() for one in cosines]) for side in (0, 1)))


def test_what_is_shipped_is_what_the_model_reads(sample: MemoryIndex) -> None:
    """The last bits depend on the processor. In fp32 and in bf16, other words share a code now and then."""
    some = {one.key(EMBEDDER): one for one in files_of(sample)[:AGAIN]}
    shipped = words_of(some)
    for key, read in newly_read(some, EMBEDDER):
        kept = WordsRead.unpacked(shipped[key])
        assert kept is not None
        assert np.array_equal(kept.counts, read.counts)
        assert np.array_equal(kept.passage_counts, read.passage_counts)
        assert agreement(read.codes, kept.codes, kept.counts) > 0.97
        signs = [np.unpackbits(one.passages.packed) for one in (read, kept)]
        assert np.mean(np.equal(*signs)) > 0.99


def test_another_model_or_a_question_gets_nothing_shipped(sample: MemoryIndex) -> None:
    (chunk,) = sample.chunks(sample.vectors()[0][:1])
    key = content_hash(chunk.text)
    assert LENDER.cached(Settings("other", EMBEDDER.revision, 384, ""), "passage", [key]) == {}
    assert LENDER.cached(SETTINGS, "query", [key]) == {}
    assert words_of(["none"]) == {}
