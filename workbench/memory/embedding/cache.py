"""Embeds each text once: known vectors come from the cache, new ones are added to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from workbench.memory.embedding.engines import Role
from workbench.memory.embedding.local import Embedded, Embedder, PartlyEmbeddedError
from workbench.memory.store.contract import Cached, IndexStore, Settings

TEXTS_IN_FLIGHT = 64
"""The most texts that an embedder gets at once. Their vectors are kept before the next texts are embedded.

An interruption loses at most these: about 15 seconds of work of the local model on two processor cores.
"""


def texts_in_flight(embedder: Embedder) -> int:
    """The most texts that this embedder gets at once. An embedder on many machines sets its own number."""
    return int(getattr(embedder, "texts_in_flight", TEXTS_IN_FLIGHT))


def embed_through_cache(
    store: IndexStore,
    settings: Settings,
    embedder: Embedder,
    role: Role,
    texts: Mapping[str, str],
    embedded: Callable[[int], object] = lambda _: None,
) -> dict[str, Cached]:
    """The vectors of `texts`, a mapping from hash to text, by hash.

    Texts that are not in the cache are embedded, at most TEXTS_IN_FLIGHT at a time. Their vectors are kept
    at once, so a later failure does not lose them; nor does a failure that comes after a part of them
    (PartlyEmbeddedError). `embedded` is called with the number of texts after each step.
    """

    def keep(hashes: Sequence[str], answer: Embedded) -> None:
        fresh = {
            hash_: Cached(vector, float(share))
            for hash_, vector, share in zip(hashes, answer.vectors, answer.read_share, strict=True)
        }
        store.known_vectors.keep(settings, role, fresh)
        known.update(fresh)
        embedded(len(fresh))

    known = store.known_vectors.find(settings, role, texts)
    missing = [hash_ for hash_ in texts if hash_ not in known]
    step = texts_in_flight(embedder)
    for start in range(0, len(missing), step):
        hashes = missing[start : start + step]
        try:
            answer = embedder.embed([texts[hash_] for hash_ in hashes], role)
        except PartlyEmbeddedError as error:
            keep([hashes[number] for number in error.numbers], error.embedded)
            raise
        keep(hashes, answer)
    return known
