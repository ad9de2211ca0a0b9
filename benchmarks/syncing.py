"""The time of a sync without changes and with one changed file, and the memory of a large first sync.

python -m benchmarks.syncing [FILES] [CHUNKS]
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter

from workbench.memory.embedding.local import ToyEmbedder
from workbench.memory.options import Options
from workbench.memory.sync import Summary, index_folder

TOY = ToyEmbedder({"tea": ("tea", "cup"), "bike": ("bike", "hub")})
WALKS, BEYOND_WALKS = 2.0, 0.3
ONE_FILE = 1.0
MEGABYTES = 600
LINE = "A line about tea, the hub of the bike, and {} other things that are written down here.\n"
LINES_A_CHUNK = 14
"""With an overlap of four lines; 19 lines fill a chunk of 1,600 characters."""


def write(root: Path, files: int, lines: int) -> None:
    """Writes this many notes with this many lines, in folders of 100."""
    for number in range(files):
        folder = root / "memory" / f"{number // 100:03}"
        folder.mkdir(parents=True, exist_ok=True)
        text = "".join(LINE.format(number * lines + line) for line in range(lines))
        (folder / f"{number:05}.md").write_text(text, encoding="utf-8")


def walk(folder: str) -> Iterator[os.stat_result]:
    """The stat of every file below a folder, and nothing else."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from walk(entry.path)
            else:
                yield entry.stat(follow_symlinks=False)


def seconds(run: Callable[[], object], times: int = 5) -> float:
    """The shortest of several runs."""
    taken = []
    for _ in range(times):
        started = perf_counter()
        run()
        taken.append(perf_counter() - started)
    return min(taken)


def print_speed(files: int) -> None:
    """Prints the time of a sync without changes, of a bare walk, and of a sync with one changed file."""
    with tempfile.TemporaryDirectory() as home:
        root, index = Path(home) / "wren", Path(home) / "i.sqlite"
        write(root, files, 120)

        def sync() -> Summary:
            return index_folder(root, TOY, options=Options(index_path=index))

        sync()
        bare, unchanged = seconds(lambda: list(walk(str(root)))), seconds(sync)
        print(f"{files:,} files of 10 kB, unchanged: sync / bare walk = {unchanged:.3f} s / {bare:.3f} s")
        print(
            f"  = {unchanged / bare:.1f}; ratio to the limit of {WALKS:g} walks + {BEYOND_WALKS} s: "
            f"{unchanged / (WALKS * bare + BEYOND_WALKS):.2f}"
        )
        changed = root / "memory" / "000" / "00000.md"
        changed.write_text("A cup of tea.\n", encoding="utf-8")
        started = perf_counter()
        summary = sync()
        one = perf_counter() - started
        assert summary.changed == ["memory/000/00000.md"]
        print(f"one of them changed: {one:.3f} s; ratio to the limit of {ONE_FILE:g} s: {one / ONE_FILE:.2f}")


def index_much(chunks: int) -> None:
    """Indexes this many chunks in this process, and prints its peak memory."""
    with tempfile.TemporaryDirectory() as home:
        root, files = Path(home) / "wren", chunks // 100
        write(root, files, 100 * LINES_A_CHUNK + 5)
        summary = index_folder(root, TOY, options=Options(index_path=Path(home) / "i.sqlite"))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"{summary.chunks:,} chunks in {files:,} files: peak {peak:.0f} MB of memory")
        print(f"  ratio to the limit of {MEGABYTES} MB: {peak / MEGABYTES:.2f}")


def main() -> None:
    files = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    chunks = int(sys.argv[2]) if len(sys.argv) > 2 else 100_000
    print_speed(files)
    # A separate process: its peak memory is that of indexing alone.
    code = f"from benchmarks.syncing import index_much; index_much({chunks})"
    sys.stdout.flush()
    subprocess.run([sys.executable, "-c", code], check=True)


if __name__ == "__main__":
    main()
