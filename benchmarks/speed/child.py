"""A new process that opens a system's index, answers one question from stdin, and prints its peak memory.

python -m benchmarks.speed.child FOLDER
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import numpy as np

from benchmarks.speed.corpus import Asked


def main() -> None:
    """Prints a line of JSON; `after_seconds` is the time since the answer."""
    given = json.load(sys.stdin)
    from benchmarks.speed.catalogue import SUBJECTS

    subject = SUBJECTS[given["system"]]()
    subject.open(Path(sys.argv[1]))
    first = next(iter(subject.asks.values()))
    first(Asked(given["text"], np.array(given["vector"], np.float32)))
    answered = time.perf_counter()
    print(json.dumps({"peak_mb": peak_mb(), "after_seconds": time.perf_counter() - answered}), flush=True)


def peak_mb() -> float:
    """The most memory that this process has held so far, in MB; not a number on systems that do not say."""
    status = Path("/proc/self/status")  # on Linux, getrusage also counts the parent before this program began
    if status.exists():
        peak = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(peak.split()[1]) * 1024 / 1e6
    try:
        import resource
    except ModuleNotFoundError:
        return float("nan")
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


if __name__ == "__main__":
    main()
