"""The words and forms of reports, from `words.toml`, as regular expressions."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from workbench.memory.data_files import load_data

WORDS: dict[str, Any] = load_data(__file__, "words.toml")
"""The words that reports use."""


@cache
def pattern(text: str) -> re.Pattern[str]:
    """One of these expressions, which ignore case."""
    return re.compile(text, re.IGNORECASE)


@cache
def form(name: str) -> re.Pattern[str]:
    """How something is written: an expression that does not ignore case, with its alternatives."""
    return re.compile("|".join(WORDS["form"][name]))
