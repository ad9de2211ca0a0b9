"""What the errors of a server mean to a person, as `errors.yaml` says it row by row."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from workbench.errors import InputError, WorkbenchError
from workbench.memory.data_files import load_data
from workbench.memory.store.contract import DamagedError, LockedError, UnwritableError

Row = Mapping[str, Any]
MEANINGS: Mapping[str, list[Row]] = load_data(__file__, "errors.yaml")
RAISED: Mapping[str, type[WorkbenchError]] = {
    "damaged": DamagedError,
    "input": InputError,
    "locked": LockedError,
    "unwritable": UnwritableError,
}


def meaning(server: str, name: str, said: str, fits: Callable[[Row], bool]) -> WorkbenchError:
    """The error of the first row that fits; `name` is the index, and `said` the server's own words."""
    row = next(one for one in MEANINGS[server] if fits(one))
    return RAISED[row["raises"]](row["problem"].format(name=name, said=said), row["remedy"].format(name=name))


def has_words(row: Row, text: str) -> bool:
    """Whether a text has the words of a row."""
    return re.search(row["words"], text, re.DOTALL) is not None
