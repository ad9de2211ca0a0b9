"""JSON that stands as text within JSON."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any


def loaded(given: Any) -> Any:
    """What a text holds as JSON, and anything else as it is."""
    if isinstance(given, str) and given.startswith(("{", "[")):
        with suppress(ValueError, RecursionError):
            return json.loads(given)
    return given
