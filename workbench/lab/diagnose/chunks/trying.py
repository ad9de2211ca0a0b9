"""Which sizes of chunks would have saved the answer: each one is tried, with what it costs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from workbench.contracts import Index
from workbench.errors import InputError
from workbench.lab.cached_index import CachedIndex
from workbench.lab.diagnose.chunks.other import OtherChunks, cut_index, estimate, other_chunks
from workbench.lab.diagnose.chunks.rebuilt import rebuilt
from workbench.lab.diagnose.fixes import Fix, moved
from workbench.lab.diagnose.runs import Goal, Reruns
from workbench.lab.diagnose.yardstick import Yardstick
from workbench.memory.index import MemoryIndex
from workbench.retrieval.pipeline import Pipeline, search
from workbench.safe_text import counted
from workbench.systems.openclaw.config.file import below
from workbench.systems.openclaw.config.system import RETIRED_KEYS
from workbench.systems.openclaw.releases import HISTORY
from workbench.systems.registry import is_configuration

SETTING = "chunking"
UNTRIED = "Other chunks are not tried"


class Tried(NamedTuple):
    """The sizes of chunks that work as fixes, and a sentence about what was tried."""

    fixes: Sequence[Fix]
    says: str


def untried(index: Index) -> Tried:
    """No fixes, and what trying other chunks of this index would take, or why it cannot be tried."""
    try:
        memory = cut_index(index)
    except InputError as error:
        return Tried((), f"{UNTRIED}. {error.problem}")
    sizes = _listed([str(one.sizes) for one in other_chunks(memory)])
    chunks = counted(estimate(memory), "chunk")
    return Tried((), f"{UNTRIED}. --rechunk tries {sizes} tokens, about {chunks} in all.")


def tried(runs: Reruns, goal: Goal, yardstick: Yardstick, index: Index) -> Tried:
    """The same search on the memory in other chunks. Raises InputError as `cut_index` does."""
    memory = cut_index(index)
    every = other_chunks(memory)
    fixes = [fix for one in every if (fix := _fix(memory, one, runs, goal, yardstick)) is not None]
    sizes = _listed([str(one.sizes) for one in every])
    outcome = _listed([str(one.value) for one in fixes])
    works = "none of them works" if not fixes else f"{outcome} {'works' if len(fixes) == 1 else 'work'}"
    return Tried(fixes, f"Chunks of {sizes} tokens were tried, and no others: {works}.")


def _listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _fix(
    memory: MemoryIndex, chunks: OtherChunks, runs: Reruns, goal: Goal, yardstick: Yardstick
) -> Fix | None:
    """The fix that these chunks are; None if the answer is not as wanted with them."""
    pipeline = runs.pipeline
    with rebuilt(memory, chunks.chunker, f"chunks of {chunks.sizes}") as other:
        trace = search(runs.question, pipeline, other, runs.vector)
        if not goal.reached(trace):
            return None
        price = yardstick.price_in(CachedIndex(other))
    return Fix(
        SETTING,
        str(chunks.sizes),
        str(chunks.now),
        None,
        pipeline,
        True,
        *moved(runs.base, trace, goal),
        price,
        is_key=_is_key(pipeline, chunks),
        chunks=chunks,
    )


def _is_key(pipeline: Pipeline, chunks: OtherChunks) -> bool:
    """Whether the openclaw.json that the pipeline comes from sets these sizes."""
    newest = pipeline.name.startswith(HISTORY[-1].name)
    retired = newest and below("chunking.tokens", RETIRED_KEYS)
    return is_configuration(pipeline.name) and chunks.of_february and not retired
