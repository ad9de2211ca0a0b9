"""The stems of a text, cut as FTS5's own porter tokenizer cuts it."""

from __future__ import annotations

import re
import threading
from itertools import pairwise

import apsw

_CONNECTIONS = threading.local()
UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")


def porter_stems(text: str) -> list[str]:
    """The stems of a text's words, in order: lower case, without accents, by the Porter algorithm.

    A run of Chinese, Japanese or Korean characters, which has no blanks, becomes its pairs of characters.

    >>> porter_stems("The backups were running, café 日本語")
    ['the', 'backup', 'were', 'run', 'cafe', '日本', '本語']
    """
    spaced = UNSPACED.sub(lambda run: f" {' '.join(_pairs(run[0]))} ", text)
    found = _tokenizer()(
        spaced.encode("utf-8", "replace"), apsw.FTS5_TOKENIZE_DOCUMENT, None, include_offsets=False,
        include_colocated=False,
    )  # fmt: skip
    return [str(one) for one in found]


def _pairs(run: str) -> list[str]:
    return [a + b for a, b in pairwise(run)] or [run]


def _tokenizer() -> apsw.FTS5Tokenizer:
    """The tokenizer of this thread; a connection belongs to one thread."""
    if not hasattr(_CONNECTIONS, "porter"):
        _CONNECTIONS.database = apsw.Connection(":memory:")
        _CONNECTIONS.porter = _CONNECTIONS.database.fts5_tokenizer(
            "porter", ["unicode61", "remove_diacritics", "2"]
        )
    tokenizer: apsw.FTS5Tokenizer = _CONNECTIONS.porter
    return tokenizer
