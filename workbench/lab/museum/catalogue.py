"""The bug museum: public bugs of hybrid search, each in the smallest world that shows it."""

from __future__ import annotations

import difflib
from collections.abc import Mapping

from workbench.errors import InputError
from workbench.lab.museum import fusions, profiles, searches, steps
from workbench.lab.museum.specimen import Specimen

SPECIMENS: Mapping[str, Specimen] = {
    specimen.name: specimen for room in (searches, profiles, fusions, steps) for specimen in room.SPECIMENS
}


def specimen(name: str) -> Specimen:
    """The specimen of that name. Raises InputError, naming the nearest ones, when there is none."""
    if name not in SPECIMENS:
        near = difflib.get_close_matches(name, SPECIMENS, n=3, cutoff=0.3) or list(SPECIMENS)[:3]
        raise InputError(
            f"There is no specimen {name!r}; the nearest are {', '.join(near)}.",
            "List them: workbench museum",
        )
    return SPECIMENS[name]
