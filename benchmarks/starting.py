"""How long a command takes from its start to its end, each in a new process; medians of CPU and wall time.

    python -m benchmarks.starting [--times 9] [--against CHECKOUT]

The commands run on the sample memory, which is indexed first. Python keeps compiled files in a folder of this
benchmark's own, as it does for a user: where PYTHONDONTWRITEBYTECODE is set, every start compiles all sources
again, which takes longer than the command. With `--against` each command runs in turns with another checkout
that has a .venv of its own.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import NamedTuple

HERE = Path(__file__).parent.parent
QUESTION, FILE = "where to send urgent notifications", "memory/reference/notification-routing.md"
LOST, RELEASE = "how should I evaluate if a claim is actually true", ["-s", "openclaw-2026.2.13"]
COMMANDS = {
    "--help": (["--help"], 0.2),
    "demo": (["demo"], 0.2),
    "search": (["search", QUESTION], 1.5),
    "search, a question not asked before": (["search", "NEW"], 1.5),
    "search -s openclaw-2026.2.13": (["search", QUESTION, *RELEASE], 1.2),
    "explain": (["explain", QUESTION, "--target", FILE], 1.7),
    "diagnose": (["diagnose", LOST, "--target", "memory/protocols/falsification-first.md", *RELEASE], 2.5),
}
"""What is typed, and the seconds that it may take on an idle machine."""


def as_typed(**more: str) -> dict[str, str]:
    """The variables of a command as a user types it: Python keeps compiled files. `more` are added."""
    return {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"} | more


class Took(NamedTuple):
    """Seconds of a command."""

    cpu: float
    wall: float


def took(checkout: Path, arguments: list[str], variables: dict[str, str]) -> Took:
    """Runs a command once. Ends the benchmark where it does not answer."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        [checkout / ".venv/bin/workbench", *arguments], cwd=checkout, env=variables, capture_output=True
    )
    if done.returncode not in (0, 1) or not done.stdout:  # 1: nothing returned, or not in the answer
        raise SystemExit(f"{arguments} in {checkout} failed: {done.stderr.decode()}")
    wall, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    return Took(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall)


def main() -> None:
    """Prints a line for each command."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--times", type=int, default=9)
    parser.add_argument("--against", type=Path)
    given = parser.parse_args()
    checkouts = [HERE, *([given.against.resolve()] if given.against else [])]
    with tempfile.TemporaryDirectory() as folder:
        places = {
            one: as_typed(WORKBENCH_HOME=f"{own}/home", PYTHONPYCACHEPREFIX=f"{own}/pyc")
            for one, own in ((one, f"{folder}/{place}") for place, one in enumerate(checkouts))
        }
        for one, variables in places.items():
            took(one, ["index", "sample_memory"], variables)
        for name, (arguments, most) in COMMANDS.items():
            found: dict[Path, list[Took]] = {one: [] for one in checkouts}
            for turn in range(given.times + 1):  # the first turn compiles, and is left out
                asked = [
                    f"is there a note number {turn} on gardening" if one == "NEW" else one
                    for one in arguments
                ]
                for one, variables in places.items():
                    found[one].append(took(one, asked, variables))
            middle = [Took(*map(median, zip(*some[1:], strict=True))) for some in found.values()]
            told = "; against ".join(f"{one.cpu:.2f} s of CPU, {one.wall:.2f} s" for one in middle)
            print(f"{name:<36} {told} (at most {most} s)", flush=True)


if __name__ == "__main__":
    main()
