"""The packaged model's vectors, read from an index that has them: other stores need no second embedding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from workbench.memory.embedding.cache import embed_through_cache
from workbench.memory.embedding.engines import Role
from workbench.memory.embedding.local import Embedded
from workbench.memory.files import content_hash
from workbench.memory.index import MemoryIndex


@dataclass(frozen=True)
class StoredEmbedder:
    """Answers as the embedder of `index` does, from its cache where the text is known."""

    index: MemoryIndex

    @property
    def name(self) -> str:
        return self.index.embedder.name

    @property
    def revision(self) -> str:
        return self.index.embedder.revision

    @property
    def dimensions(self) -> int:
        return self.index.embedder.dimensions

    def embed(self, texts: Sequence[str], role: Role) -> Embedded:
        by_hash = {content_hash(text): text for text in texts}
        store = self.index.store
        known = embed_through_cache(store, store.settings, self.index.embedder, role, by_hash)
        found = [known[content_hash(text)] for text in texts]
        vectors = np.array([one.vector for one in found], np.float32)
        return Embedded(vectors, np.array([one.read_share for one in found]))
