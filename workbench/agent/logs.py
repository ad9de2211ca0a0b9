"""Messages of a server on stderr: few, short, without control characters and without secrets."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable

from workbench.safe_text import masked, visible

MOST_MESSAGES = 20
PERIOD_SECONDS = 60.0
"""So many messages in so many seconds are printed; the others are counted."""

MOST_CHARACTERS = 2_000


class FewMessages(logging.Filter):
    """Lets MOST_MESSAGES pass in each period. The first of a new period says how many were left out."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._since = clock()
        self._seen = 0

    def filter(self, record: logging.LogRecord) -> bool:
        left_out = 0
        if self._clock() - self._since >= PERIOD_SECONDS:
            left_out = max(0, self._seen - MOST_MESSAGES)
            self._since, self._seen = self._clock(), 0
        self._seen += 1
        if left_out:
            record.msg = f"({left_out:,} messages were left out) {record.getMessage()}"
            record.args = None
        return self._seen <= MOST_MESSAGES


class ShortMessages(logging.Formatter):
    """Cuts a message after MOST_CHARACTERS, makes control characters visible and masks secrets."""

    def format(self, record: logging.LogRecord) -> str:
        text = super().format(record)[: 2 * MOST_CHARACTERS]
        return visible(masked(text))[:MOST_CHARACTERS]


def log_to_stderr() -> logging.Handler:
    """Sends the warnings and errors of all libraries to stderr through these limits; gives the handler."""
    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(FewMessages())
    handler.setFormatter(ShortMessages("%(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    return handler
