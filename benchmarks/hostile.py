"""Hostile stores: how each of many ends, and what it takes.

`python -m benchmarks.hostile [COUNT] [FIRST]` makes COUNT stores (300) from the number FIRST (0) on, gives
each to the commands that read such a store, and prints what ended otherwise than with one sentence: with exit
code 70, over 10 s of CPU, over 30 s by the clock, or over 1 GB; what opened a file outside the store and the
workbench, or a connection; and what printed a warning or a raw escape. Each command is a process of its own,
forked from this one. It needs Linux.
"""

from __future__ import annotations

import io
import os
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.watching import REACHED, watched
from tests.security.forged_stores import DECOY, DECOY_NAME
from tests.security.hostile_stores import ATTACKS, numbered
from workbench.memory import guard

COUNT = 300
MOST_SECONDS, MOST_MEGABYTES = 10.0, 1_000.0
CODES = (0, 1, 2, 3, 4, 10, 11, 12)


NEVER = ("Traceback", "Warning", "\x1b", "\u202e", "root:x:0", DECOY, REACHED)
"""What no command prints: our own errors, escapes, and what is in a file outside of the store."""


class Ended(NamedTuple):
    """How a command ended: seconds by the clock, which other work of the machine lengthens, and of CPU.

    `megabytes` is its peak memory beyond that of this process, or the peak of its reader beyond that.
    """

    code: int
    seconds: float
    cpu: float
    megabytes: float
    told: str

    @property
    def problem(self) -> str:
        """What is wrong with this end; empty if nothing is."""
        if self.code not in CODES or any(one in self.told for one in NEVER):
            return f"exit code {self.code}: {self.told.strip()[-400:]!r}"
        if self.cpu > MOST_SECONDS:
            return f"{self.cpu:.1f} s of CPU"
        return f"{self.megabytes:.0f} MB" if self.megabytes > MOST_MEGABYTES else ""


def ended(command: Sequence[str], log: Path, most: float = 3 * MOST_SECONDS) -> Ended:
    """Runs a command of the workbench in a fork of this process, which is killed after `most` seconds."""
    from workbench import cli

    began, before = time.monotonic(), resident()
    child = os.fork()
    if child == 0:
        log.unlink(missing_ok=True)
        with log.open("ab") as out:
            os.dup2(out.fileno(), 1)
            os.dup2(out.fileno(), 2)
        files = (io.FileIO(number, "w", closefd=False) for number in (1, 2))
        sys.stdout, sys.stderr = (
            io.TextIOWrapper(one, encoding="utf-8", write_through=True) for one in files
        )
        sys.argv = ["workbench", *command]
        watched(log)
        guard.START = watching_reader(log)
        code = 70
        try:
            cli.main()
            code = 0
        except SystemExit as error:
            code = error.code if isinstance(error.code, int) else int(error.code is not None)
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    while True:
        pid, status, used = os.wait4(child, os.WNOHANG)
        seconds = time.monotonic() - began
        if pid:
            break
        if seconds > most:
            os.kill(child, signal.SIGKILL)
        time.sleep(0.005)
    told = log.read_text(encoding="utf-8", errors="replace")
    cpu = used.ru_utime + used.ru_stime
    return Ended(os.waitstatus_to_exitcode(status), seconds, cpu, used.ru_maxrss / 1024 - before, told)


def watching_reader(log: Path) -> str:
    """What the process of a reader runs, so that it writes to the log what it opens."""
    watching = f"from benchmarks.watching import watched; watched({str(log)!r})"
    return f"import sys; sys.path[:] = sys.argv[4:]; {watching}; {guard.START}"


def resident() -> float:
    """The megabytes that this process holds, and that a fork of it begins with."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def commands(kind: str, store: Path) -> list[list[str]]:
    """The commands that read a store of this kind."""
    notes = str(store.parent / "notes")
    found = [["doctor", str(store)], ["doctor", str(store), "--notes", notes]]
    if kind == "ours":
        found.append(["search", "tea", "-m", notes, "--index", str(store)])
        found.append(["index", notes, "--index", str(store)])
    if kind == "openclaw":
        found.append(["search", "tea", "-m", str(store)])
        found.append(["explain", "tea", "-t", "tea.md", "-m", str(store)])
    return found


def prepared() -> None:
    """Imports what the commands need, so that a fork has it."""
    import workbench_plugins.diagnose
    import workbench_plugins.doctor.commands
    import workbench_plugins.openclaw.live_index  # noqa: F401


def main(count: int = COUNT, first: int = 0) -> int:
    """Prints each command that ended wrongly, and the sums."""
    prepared()
    codes: Counter[int] = Counter()
    worst_seconds = worst_cpu = worst_megabytes = 0.0
    failed = tried = 0
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        os.environ["WORKBENCH_HOME"] = str(home / "home")
        for number in range(first, first + count):
            place = home / str(number)
            kind, attack, store = numbered(number, home / "sound", place)
            wrong = []
            for command in commands(kind, store):
                got = ended(command, home / "log")
                tried += 1
                codes[got.code] += 1
                worst_seconds = max(worst_seconds, got.seconds)
                worst_cpu = max(worst_cpu, got.cpu)
                worst_megabytes = max(worst_megabytes, got.megabytes)
                if (store.parent / DECOY_NAME).read_text(encoding="utf-8") != DECOY:
                    wrong.append(f"    {command[0]}: wrote to a file outside of the store")
                if got.problem:
                    wrong.append(f"    {command[0]}: {got.problem}")
            if wrong:
                failed += 1
                print(f"{number} {kind} {attack}", *wrong, sep="\n", flush=True)
            _remove(place)
    print(f"{count} stores, {len(ATTACKS)} kinds of attack, {tried} commands: {failed} stores ended wrongly")
    times = f"{worst_cpu:.1f} s of CPU ({worst_seconds:.1f} s by the clock)"
    print(f"exit codes {dict(sorted(codes.items()))}, at most {times}, {worst_megabytes:.0f} MB")
    return int(failed > 0)


def _remove(place: Path) -> None:
    import shutil

    shutil.rmtree(place, ignore_errors=True)


if __name__ == "__main__":
    raise SystemExit(main(*map(int, sys.argv[1:])))
