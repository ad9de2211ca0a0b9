"""How real systems index a memory, by the name of the release: for answers that are exactly its own."""

from __future__ import annotations

import difflib
from collections.abc import Mapping

from workbench.errors import InputError
from workbench.memory.sources import Indexing
from workbench.systems.openclaw import indexing as openclaw

INDEXINGS: Mapping[str, Indexing] = {one.name: one for one in openclaw.INDEXINGS}
"""By the name of the system whose release indexes so."""

SAME = {
    "openclaw-2026.2.12": "openclaw-2026.2.13",
    "openclaw-2026.2.15": "openclaw-2026.2.13",
    "openclaw-2026.2.27": "openclaw-2026.2.13",
    "openclaw-2026.3.7": "openclaw-2026.2.13",
    "openclaw-2026.3.31-trigram": "openclaw-2026.2.13",
    "openclaw-2026.9.6-trigram": "openclaw-2026.9.6",
}
"""Releases that index as another one does."""


def indexing(name: str) -> Indexing:
    """How the release of that name indexes a memory: give it to `index_folder` as `like`.

    Raises InputError, naming the nearest ones, for a release whose indexing is not known.
    """
    known = INDEXINGS.get(SAME.get(name, name))
    if known is None:
        near = difflib.get_close_matches(name, INDEXINGS, n=2, cutoff=0.3) or list(INDEXINGS)
        raise InputError(
            f"It is not known how {name!r} indexes a memory; the nearest is {' or '.join(near)}.",
            "Choose one of these, or leave it out for the workbench's own way.",
        )
    return known
