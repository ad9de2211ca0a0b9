"""The time of indexing a folder of documentation, by backend, precision and reading, from some of its files.

python -m benchmarks.documentation FOLDER [--files 60]

Every n-th file is indexed, so that the sample has files of all sizes. What all files would take is calculated
from the sample's processor time and its share of the bytes, as if all cores did nothing else.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from pathlib import Path

from benchmarks.variants import VARIANTS
from workbench.memory.embedding.engines import ModelVariant, cores, cpu_has
from workbench.memory.embedding.local import READINGS, LocalEmbedder, Reading
from workbench.memory.files import list_files, memory_root
from workbench.memory.options import Options
from workbench.memory.sync import index_folder, usual_reading

TARGETS = {ModelVariant("openvino"): 200, ModelVariant("openvino", "int8"): 100}
"""Seconds of wall time for all files on two cores, in the usual reading: by default, and with `fast`."""


def sample(root: Path, place: Path, most: int) -> tuple[int, float]:
    """Copies every n-th file, at most so many; returns their number and their share of all bytes."""
    files = sorted(list_files(root))
    chosen = files[:: max(1, -(-len(files) // most))]
    for name in chosen:
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(root / name, place / name)
    sizes = {name: (root / name).stat().st_size for name in files}
    return len(chosen), sum(sizes[name] for name in chosen) / sum(sizes.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("folder")
    parser.add_argument("--files", type=int, default=60)
    given = parser.parse_args()
    root = memory_root(given.folder)
    usual = usual_reading(root, rebuild=True).reading
    with tempfile.TemporaryDirectory() as home:
        place = Path(home) / "notes"
        count, share = sample(root, place, given.files)
        print(f"{count} of {len(list_files(root))} files, {share:.1%} of the bytes; {cores()} cores")
        print(
            f"{'':26}{'chunks':>7}{'CPU s':>8}{'wall s':>8}{'chunks/CPU s':>14}{'all files, calculated':>30}"
        )
        for variant in VARIANTS:
            for reading in READINGS.values():
                if cpu_has(variant.precision):
                    target = TARGETS.get(variant) if reading == usual else None
                    _run(place, Path(home), variant, reading, share, target)


def _run(
    place: Path, home: Path, variant: ModelVariant, reading: Reading, share: float, target: int | None
) -> None:
    embedder = LocalEmbedder(reading=reading, variant=variant)
    embedder.embed(["loaded before the clock runs", "and warm"], "passage")
    name = variant.name
    cpu, wall = time.process_time(), time.perf_counter()
    file = home / f"{name}-{reading.name}.sqlite"
    chunks = index_folder(place, embedder, options=Options(index_path=file)).chunks
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    goal = "" if target is None else f" (at most {target} s)"
    every = f"{cpu / share / cores():,.0f} s{goal}"
    print(
        f"{name + ' ' + reading.name:26}{chunks:7,}{cpu:8.1f}{wall:8.1f}{chunks / cpu:14.1f}{every:>30}",
        flush=True,
    )


if __name__ == "__main__":
    main()
