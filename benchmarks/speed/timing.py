"""Wall and CPU time of a call."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple


class Taken(NamedTuple):
    """Wall seconds of one call, and the processor time of all threads of the process."""

    wall: float
    cpu: float


def taken(call: Callable[[], object]) -> Taken:
    """How long a call takes."""
    cpu, wall = time.process_time(), time.perf_counter()
    call()
    return Taken(time.perf_counter() - wall, time.process_time() - cpu)
