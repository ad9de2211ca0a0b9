"""What a run has measured: its numbers as JSON, its ratios to ours, its growth, and another run beside it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.speed.ours import FIRST, HYBRID, LEG, ThisWorkbench
from workbench.errors import InputError

FORMAT = "workbench-speed-1"


@dataclass(frozen=True)
class Search:
    """One way to ask one system at one size: milliseconds a question, in the order of the questions.

    `cpu_ms` is the processor time of all threads of the process.
    """

    system: str
    kind: str
    chunks: int
    wall_ms: list[float]
    cpu_ms: list[float]


@dataclass(frozen=True)
class Built:
    """One system's index at one size; `bytes_beyond_text` and the last two are None where nothing is kept.

    `cold_seconds` runs from the start of a process to its first answer, of the kind that stands first;
    `peak_mb` is this process's peak memory.
    """

    system: str
    chunks: int
    wall_seconds: float
    cpu_seconds: float
    bytes_beyond_text: float | None = None
    cold_seconds: float | None = None
    peak_mb: float | None = None


@dataclass(frozen=True)
class Synced:
    """Seconds of indexing a folder of notes: at first, from the cache, unchanged, and with one new note.

    Each is wall time and CPU time. `walk_seconds` is a bare walk through the folder.
    """

    files: int
    chunks: int
    first: tuple[float, float]
    cached: tuple[float, float]
    unchanged: tuple[float, float]
    one_file: tuple[float, float]
    walk_seconds: float


@dataclass(frozen=True)
class Spread:
    """The median of paired ratios, and the quartiles between which half of them lie."""

    low: float
    median: float
    high: float

    def apart(self, other: Spread) -> bool:
        """Whether the quartiles of both have no number in common."""
        return self.high < other.low or other.high < self.low


@dataclass(frozen=True)
class SpeedReport:
    """A whole run. `machine` says where and under which load, `skipped` who was left out, and why."""

    machine: Mapping[str, Any]
    searches: list[Search] = field(default_factory=list)
    built: list[Built] = field(default_factory=list)
    synced: list[Synced] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """Everything measured, and the format's name."""
        return {"format": FORMAT, **asdict(self)}


def load(path: Path) -> SpeedReport:
    """A run that was saved as JSON. Raises InputError for a file that holds no such run."""
    remedy = "Save a run first: python -m benchmarks.speed --save FILE"
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if data.pop("format") != FORMAT:
            raise ValueError
        return SpeedReport(
            data["machine"],
            [Search(**one) for one in data["searches"]],
            [Built(**one) for one in data["built"]],
            [Synced(**one) for one in data["synced"]],
            data["skipped"],
        )
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.", remedy) from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise InputError(f"{path} is not a saved run of this benchmark.", remedy) from None


def ratios(report: SpeedReport, cpu: bool = False) -> Iterator[tuple[Search, Spread]]:
    """How many times as long as ours each search takes, where ours has the same kind and size."""
    own = {(one.kind, one.chunks): one for one in report.searches if one.system == ThisWorkbench.name}
    for one in report.searches:
        ours = own.get((one.kind, one.chunks))
        if ours is not None and one.system != ThisWorkbench.name:
            yield one, paired(one, ours, cpu)


def paired(one: Search, other: Search, cpu: bool = False) -> Spread:
    """How many times as long one search takes as another, question by question."""
    above, below = (one.cpu_ms, other.cpu_ms) if cpu else (one.wall_ms, other.wall_ms)
    # A processor clock may not have moved; a microsecond keeps the ratio finite.
    parts = np.maximum(above, 1e-3) / np.maximum(below, 1e-3)
    low, median, high = np.percentile(parts, [25, 50, 75]).tolist()
    return Spread(low, median, high)


def growth(report: SpeedReport) -> Iterator[tuple[str, str, float]]:
    """System, kind and exponent of each search that was measured at two sizes or more, by its CPU time.

    The exponent is the slope of a line through log(median) over log(chunks): 1 is linear.
    """
    groups: dict[tuple[str, str], list[Search]] = {}
    for one in report.searches:
        groups.setdefault((one.system, one.kind), []).append(one)
    for (system, kind), several in groups.items():
        sizes = [one.chunks for one in several]
        if len(set(sizes)) > 1:
            yield system, kind, slope(sizes, [max(1e-3, float(np.median(one.cpu_ms))) for one in several])


def slope(sizes: Sequence[float], values: Sequence[float]) -> float:
    """The exponent of a power law through these points, by least squares on logarithms.

    >>> round(slope([10, 100, 1000], [2, 20, 200]), 6)
    1.0
    """
    return float(np.polyfit([math.log(one) for one in sizes], [math.log(one) for one in values], 1)[0])


@dataclass(frozen=True)
class Target:
    """A promise about a ratio: what it is about, its limit, and what was measured."""

    what: str
    limit: float
    measured: float

    @property
    def kept(self) -> bool:
        """Whether the measured number is within the limit."""
        return self.measured <= self.limit


def targets(report: SpeedReport) -> list[Target]:
    """The promises that this run can check, by CPU time."""
    found = []
    for chunks in sorted({one.chunks for one in report.searches}):
        here = [(one, spread) for one, spread in ratios(report, cpu=True) if one.chunks == chunks]
        legs = [1 / spread.median for one, spread in here if one.kind == LEG and one.system == "bare NumPy"]
        for kind, what in ((HYBRID, "hybrid OR"), (FIRST, "hybrid OR, asked first")):
            shares = [1 / spread.median for one, spread in here if one.kind == kind]
            if shares and chunks >= 10_000:
                found.append(Target(f"{what} / fastest peer, {chunks:,} chunks", 0.5, max(shares)))
        if legs and chunks >= 10_000:
            found.append(Target(f"vector leg / bare NumPy, {chunks:,} chunks", 1.5, max(legs)))
    for one in report.built:
        if one.system == ThisWorkbench.name and one.bytes_beyond_text is not None and one.chunks >= 10_000:
            what = f"KB a chunk beyond text, {one.chunks:,} chunks"
            found.append(Target(what, 4.0, one.bytes_beyond_text / 1000))
    for synced in report.synced:
        what = f"seconds of CPU time for 100,000 chunks from cached vectors, by {synced.chunks:,}"
        found.append(Target(what, 30.0, synced.cached[1] * 100_000 / synced.chunks))
    large = SpeedReport({}, [one for one in report.searches if one.chunks >= 10_000])
    for system, kind, exponent in growth(large):
        if (system, kind) == (ThisWorkbench.name, HYBRID):
            found.append(Target("growth exponent of hybrid OR from 10,000 chunks on", 1.0, exponent))
    return found


@dataclass(frozen=True)
class Changed:
    """One ratio to ours in a saved run and in a new one."""

    system: str
    kind: str
    chunks: int
    before: Spread
    after: Spread

    @property
    def beyond_spread(self) -> bool:
        """Whether the two runs' quartiles have no number in common."""
        return self.before.apart(self.after)


def compare(before: SpeedReport, after: SpeedReport) -> list[Changed]:
    """The ratios, by CPU time, that both runs have. Ratios, because absolute times do not travel."""
    old = {(one.system, one.kind, one.chunks): spread for one, spread in ratios(before, cpu=True)}
    return [
        Changed(*key, old[key], spread)
        for one, spread in ratios(after, cpu=True)
        if (key := (one.system, one.kind, one.chunks)) in old
    ]
