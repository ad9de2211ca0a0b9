"""The releases of each system in the order of time, in which a bug appears and is mended."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.errors import InputError
from workbench.retrieval.pipeline import Pipeline
from workbench.systems.automem import pipelines as automem
from workbench.systems.basic_memory import pipelines as basic_memory
from workbench.systems.openclaw import releases as openclaw


@dataclass(frozen=True)
class ReleaseLine:
    """The releases of one system, oldest first, and what the names of its other pipelines begin with."""

    name: str
    prefix: str
    releases: tuple[Pipeline, ...]


LINES = (
    ReleaseLine("OpenClaw with trigrams", "", (openclaw.TRIGRAM, openclaw.SEPTEMBER_TRIGRAM)),
    ReleaseLine("OpenClaw", "openclaw-", openclaw.HISTORY),
    ReleaseLine(
        "Basic Memory",
        "bm-",
        (
            basic_memory.SCORED_RRF,
            basic_memory.DEAD_FTS,
            basic_memory.UNGATED,
            basic_memory.GATED,
            basic_memory.CJK_REGRESS,
            basic_memory.HEAD,
        ),
    ),
    ReleaseLine("AutoMem", "am-", automem.PIPELINES),
)


def line_of(name: str) -> ReleaseLine:
    """The line of releases that a system belongs to.

    Raises InputError for a system without releases, such as a fusion of another engine.
    """
    for line in LINES:
        if name in {one.name for one in line.releases} or (line.prefix and name.startswith(line.prefix)):
            return line
    raise InputError(
        f"{name} has no releases that are known here.",
        f"These have: {', '.join(line.name for line in LINES)}. Name the systems with --system.",
    )
