"""An index in memory: notes in a list, words counted, vectors multiplied."""

import numpy as np

from workbench.contracts import Index
from workbench.memory.embedding.local import ToyEmbedder
from workbench.records import Chunk, Hits


class InMemoryIndex(Index):
    def __init__(self, notes, axes):
        self._chunks = [Chunk(path, path, "memory", 1, 1, text) for path, text in sorted(notes.items())]
        self._embedder = ToyEmbedder(axes)
        self._vectors = self._embedder.embed([one.text for one in self._chunks], "passage").vectors

    size = property(lambda self: len(self._chunks))

    def keyword(self, query, limit):
        counts = np.array([self._count(one.text.lower(), query) for one in self._chunks], float)
        rows = np.lexsort((np.arange(self.size), -counts))[: np.count_nonzero(counts)][:limit]
        return Hits(rows, counts[rows], larger_is_better=True)

    def _count(self, text, query):
        found = [text.count(clause.text.lower()) for clause in query.clauses]
        return sum(found) if query.operator == "OR" or all(found) else 0

    def vector(self, query, limit):
        distance = 1 - self._vectors.astype(float) @ query.astype(float)
        rows = np.lexsort((np.arange(self.size), distance))[:limit]
        return Hits(rows, distance[rows])

    def embed(self, question):
        return self._embedder.embed([question], "query").vectors[0]

    def chunks(self, rows):
        return [self._chunks[row] for row in rows.tolist()]

    def rows_of(self, path):
        return np.array([row for row, one in enumerate(self._chunks) if one.path == path], np.int64)
