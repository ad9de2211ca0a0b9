"""How long an answer for an agent may be, in tokens, and how one is cut to that length."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

MOST_TOKENS = 900
"""Tokens of an answer; what it leaves out is asked for with `more`."""

TOKEN = re.compile(r" ?[A-Za-z]{1,6}|[0-9]{1,3}|[^\sA-Za-z0-9]|\n")


def tokens(answer: object) -> int:
    """About how many tokens a model reads in an answer, as JSON.

    Up to six letters with the blank before them, up to three digits, and each other character are one
    token. For notes in English that is a few per cent more than the tokenizers of large models count.

    >>> tokens("where is it?"), tokens({"score": 0.25})
    (6, 9)
    """
    return len(TOKEN.findall(json.dumps(answer, ensure_ascii=False)))


def beginning(text: str, most: int) -> str:
    """The text, or its first `most` tokens and an ellipsis.

    >>> beginning("the tea is in the cupboard", 3)
    'the tea is…'
    """
    ends = [found.end() for found in TOKEN.finditer(text)]
    return text if len(ends) <= most else f"{text[: ends[most - 1]]}…"


def rows_that_fit(rows: Sequence[Mapping[str, Any]], room: int) -> int:
    """How many rows from the beginning have `room` tokens together; at least one."""
    used = 0
    for count, row in enumerate(rows):
        used += tokens(row)
        if used > room and count:
            return count
    return len(rows)
