"""Texts are embedded once: what the cache knows is taken from it, what it does not know goes into it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from workbench.memory.embedding.local import Embedder, Role
from workbench.memory.store.sqlite.store import Cached, Settings

TEXTS_IN_FLIGHT = 256
"""How many texts at most are given to an embedder at once; then their vectors are kept."""


class Cache(Protocol):
    """Vectors by model, revision, role, and the hash of their exact text: what a `Store` keeps."""

    def cached(self, settings: Settings, role: str, hashes: Iterable[str]) -> dict[str, Cached]: ...

    def remember(self, settings: Settings, role: str, found: Mapping[str, Cached]) -> None: ...


def embed_through_cache(
    cache: Cache,
    settings: Settings,
    embedder: Embedder,
    role: Role,
    texts: Mapping[str, str],
    embedded: Callable[[int], object] = lambda _: None,
) -> dict[str, Cached]:
    """The vectors of these texts, by the texts' hashes, which are the keys of `texts`.

    The model is asked for what the cache lacks, TEXTS_IN_FLIGHT texts at a time, and each answer is kept
    before the next is asked for: what has been computed outlives a failure. `embedded` is told how many
    texts each answer was for.
    """
    known = cache.cached(settings, role, texts)
    missing = [hash_ for hash_ in texts if hash_ not in known]
    for start in range(0, len(missing), TEXTS_IN_FLIGHT):
        hashes = missing[start : start + TEXTS_IN_FLIGHT]
        answer = embedder.embed([texts[hash_] for hash_ in hashes], role)
        fresh = {
            hash_: Cached(vector, float(share))
            for hash_, vector, share in zip(hashes, answer.vectors, answer.read_share, strict=True)
        }
        cache.remember(settings, role, fresh)
        known |= fresh
        embedded(len(fresh))
    return known
