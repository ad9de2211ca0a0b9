"""Long runs of characters without a blank, such as an image in base64: data, and no words for a model."""

from __future__ import annotations

import re

RUN = re.compile(r"[!-~]{257,}|^(?:[A-Za-z0-9+/=]{60,}\r?\n){3,}[A-Za-z0-9+/=]*$", re.MULTILINE)
"""More than 256 characters of ASCII without a blank are data, such as an image in base64, and no words.
So are three lines or more of at least 60 characters of base64, with the line after them."""


def has_runs(text: str) -> bool:
    """Whether a text has such a run."""
    return RUN.search(text) is not None


def without_runs(text: str) -> str:
    """The text without its runs; the line breaks of a run stay, so that what follows keeps its line."""
    return RUN.sub(_its_lines, text)


def _its_lines(run: re.Match[str]) -> str:
    return "\n" * run[0].count("\n")
