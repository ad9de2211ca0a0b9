"""Reports progress: a bar in a terminal, and a line now and then elsewhere (a log, a pipe, CI)."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tqdm import tqdm

LINE_SECONDS = 60.0
"""How long work goes on without a terminal before the next line."""


@contextmanager
def progress(
    total: int, what: str, unit: str, *, clock: Callable[[], float] = time.monotonic
) -> Iterator[Callable[..., object]]:
    """A function to call after one or some of `total` units of work; it shows on stderr how far the work is.

    `what` names the work and `unit` the thing that is counted, in the plural. `clock` gives seconds. A bar
    disappears when the work is done, and there is none for no work.
    """
    if total and sys.stderr.isatty():
        with _bars()(total=total, desc=what, unit=f" {unit}", leave=False) as shown:
            yield shown.update
    else:
        yield Lines(total, what, unit, clock).advance


def progress_bar(items: Iterable[Any] | None = None, **options: Any) -> tqdm[Any]:
    """tqdm's bar over `items`, with its `options`; it disappears when the work is done.

    Without a terminal or a notebook there is no bar.
    """
    shown: tqdm[Any] = _bars()(items, **{"disable": None, "leave": False} | options)
    return shown


def _bars() -> Any:
    from tqdm.auto import tqdm  # which loads asyncio: a search needs neither

    return tqdm


class Lines:
    """Prints a line on stderr every LINE_SECONDS, at the first unit that is done after that time.

    The first line has no estimate, since what it took includes the start, such as the load of a model. Later
    lines estimate from what was done since the first.
    """

    def __init__(self, total: int, what: str, unit: str, clock: Callable[[], float]) -> None:
        self._total, self._what, self._unit, self._clock = total, what, unit, clock
        self._printed_at = clock()
        self._done = 0
        self._first: tuple[float, int] | None = None

    def advance(self, count: int = 1) -> None:
        """Counts units as done."""
        self._done += count
        now = self._clock()
        if now - self._printed_at >= LINE_SECONDS and self._done < self._total:
            self._printed_at = now
            print(
                f"{self._what}: {self._done} of {self._total} {self._unit} ({self._done / self._total:.0%})"
                f"{self._estimate(now)}",
                file=sys.stderr,
                flush=True,
            )
            self._first = self._first or (now, self._done)

    def _estimate(self, now: float) -> str:
        if self._first is None:
            return ""
        at, done = self._first
        left = (now - at) / (self._done - done) * (self._total - self._done)
        return f", about {max(1, round(left / 60))} min left"
