"""Reports progress: a bar in a terminal, and a line now and then elsewhere (a log, a pipe, CI)."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tqdm import tqdm

LINE_SECONDS = 60.0
"""How long work goes on without a terminal before the next line."""


@contextmanager
def progress(
    total: int, what: str, unit: str, *, clock: Callable[[], float] = time.monotonic
) -> Iterator[Callable[[], object]]:
    """A function to call after each of `total` units of work; it shows on stderr how far the work is.

    `what` names the work and `unit` the thing that is counted, in the plural. `clock` gives seconds.
    """
    if sys.stderr.isatty():
        with _bars()(total=total, desc=what, unit=f" {unit}") as shown:
            yield shown.update
    else:
        yield Lines(total, what, unit, clock).advance


def progress_bar(items: Iterable[Any] | None = None, **options: Any) -> tqdm[Any]:
    """tqdm's bar over `items`, with its `options`; it disappears when the work is done.

    Without a terminal or a notebook there is no bar.
    """
    shown: tqdm[Any] = _bars()(items, **{"disable": None, "leave": False} | options)
    return shown


@cache
def _bars() -> Any:
    """The class of tqdm's bars for this process."""
    from tqdm.auto import tqdm  # which loads asyncio: a search needs neither

    for_notebooks = sys.modules.get("tqdm.notebook")  # tqdm.auto imports it in a notebook only
    return passing(tqdm) if for_notebooks and issubclass(tqdm, for_notebooks.tqdm) else tqdm


def passing(bars: Any) -> Any:
    """tqdm's class of bars for notebooks, as one whose bars take their output back when they are done.

    tqdm closes the bar's widget, and its output stays: an empty line, also in the saved notebook.
    """
    from IPython.display import display as show

    class Passing(bars):  # type: ignore[misc]
        handle: Any = None

        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options, display=False)

        def display(self, *args: Any, check_delay: bool = True, **options: Any) -> None:
            self.displayed = True  # or tqdm would show it too, and keep no handle
            super().display(*args, check_delay=check_delay, **options)
            if check_delay and self.handle is None:
                self.handle = show(self.container, display_id=True)  # type: ignore[no-untyped-call]

        def close(self) -> None:
            super().close()
            handle, self.handle = self.handle, None
            if handle and not (self.total and self.n < self.total):  # an interrupted bar stays
                handle.update({}, raw=True)

    return Passing


class Lines:
    """Prints a line on stderr every LINE_SECONDS, at the first unit that is done after that time."""

    def __init__(self, total: int, what: str, unit: str, clock: Callable[[], float]) -> None:
        self._total, self._what, self._unit, self._clock = total, what, unit, clock
        self._started = self._said = clock()
        self._done = 0

    def advance(self) -> None:
        """Counts one unit as done."""
        self._done += 1
        now = self._clock()
        if now - self._said >= LINE_SECONDS and self._done < self._total:
            self._said = now
            print(self._line(now - self._started), file=sys.stderr, flush=True)

    def _line(self, passed: float) -> str:
        left = passed / self._done * (self._total - self._done)
        return (
            f"{self._what}: {self._done} of {self._total} {self._unit} ({self._done / self._total:.0%}), "
            f"about {max(1, round(left / 60))} min left"
        )
