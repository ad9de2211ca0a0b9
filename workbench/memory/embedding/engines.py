"""Engines run a model: which backend, in which precision, and which of them this processor can use.

torch is the reference. A feature can add a faster backend for the packaged model.
In fp32 all backends compute the same vectors, to the sixth decimal. Any other precision is part of a model's
identity, together with its backend: vectors of one do not belong among those of another.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from workbench.errors import InputError
from workbench.registry import Registry

Precision = Literal["fp32", "bf16", "int8"]
Role = Literal["query", "passage"]

TORCH = "torch"
IN_TORCH: Mapping[Precision, str] = {"fp32": "fp32", "bf16": "bf16"}
"""The precisions of torch, each with its name in a revision."""

PIECES_A_BATCH = 1000
"""Larger batches are no faster, and leave more threads without work at the end."""
INSTRUCTIONS = {
    "bf16": ("avx512_bf16", "amx_bf16", "bf16"),
    "int8": ("avx512_vnni", "avx_vnni", "amx_int8", "i8mm"),
}
"""What /proc/cpuinfo calls the instructions; any one of them is enough."""


@dataclass(frozen=True, slots=True)
class PieceVectors:
    """What a model makes of one text: its vector, its word pieces by number, and a vector for each of them.

    The model's own markers are among the pieces; padding is not. No vector needs to have length 1.
    """

    whole: NDArray[np.float32]
    pieces: NDArray[np.int64]
    vectors: NDArray[np.float32]


class ModelEngine(Protocol):
    """A loaded model: where its word pieces are, and the unit vectors of texts that it reads at once."""

    @property
    def window(self) -> int:
        """The number of word pieces that the model reads at once, without its own two markers."""

    def offsets(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        """For each text, where each of its word pieces begins and ends, in characters."""

    def vectors(self, texts: Sequence[str], role: Role, batch_size: int) -> NDArray[np.float32]:
        """One unit vector per text, which is cut off after `window` word pieces."""

    def piece_vectors(self, texts: Sequence[str], role: Role, batch_size: int) -> list[PieceVectors]:
        """The vectors of each text and of its word pieces; a text is cut off after `window` of them."""

    def piece(self, number: int) -> str:
        """How the vocabulary writes a word piece; empty for the model's own markers."""


@dataclass(frozen=True)
class Backend:
    """A backend that a feature adds: it runs the packaged model, and torch runs all others.

    `precisions` are those that it computes in, each with its name in a revision. `load` is given the folder
    of the model, and raises InputError when a package is missing.
    """

    name: str
    precisions: Mapping[Precision, str]
    is_installed: Callable[[], bool]
    load: Callable[[Path, Precision], ModelEngine]


BACKENDS = Registry[Backend]("backend", lambda thing: isinstance(thing, Backend))
"""The backends besides torch."""


def precisions() -> dict[str, Mapping[Precision, str]]:
    """The precisions of each backend by its name, torch first; each precision has its name in a revision."""
    return {TORCH: IN_TORCH} | {name: one.precisions for name, one in BACKENDS.items()}


def best_backend(precision: Precision) -> str:
    """The backend that computes the packaged model if nobody names one: an added one, if it is installed.

    A precision that torch does not have names the backend that has it, installed or not.
    """
    able = [one for one in BACKENDS.values() if precision in one.precisions]
    return next((one.name for one in able if one.is_installed() or precision not in IN_TORCH), TORCH)


@dataclass(frozen=True)
class ModelVariant:
    """A backend and a precision. Raises InputError for a pair that does not exist.

    A backend of None is the best one that is installed: `best_backend` for the packaged model, and torch for
    any other.
    """

    backend: str | None = None
    precision: Precision = "fp32"

    def __post_init__(self) -> None:
        if self.backend is None and self.precision in IN_TORCH:
            return  # without asking the features for their backends
        known = precisions()
        if self.backend is not None and self.backend not in known:
            raise InputError(f"There is no backend {self.backend!r}.", f"Choose one of: {', '.join(known)}.")
        able = [name for name, some in known.items() if self.precision in some]
        if not able:
            every = ", ".join(dict.fromkeys(one for some in known.values() for one in some))
            raise InputError(f"There is no precision {self.precision!r}.", f"Choose one of: {every}.")
        if self.backend is not None and self.backend not in able:
            raise InputError(
                f"The backend {self.backend} has no precision {self.precision}.",
                f"Add --backend {able[0]}, or choose one of: {', '.join(known[self.backend])}.",
            )

    @property
    def name(self) -> str:
        """The backend and the precision in one word, as a revision has them."""
        known = precisions()
        able = self.backend or next(one for one, some in known.items() if self.precision in some)
        return f"{self.backend}-{known[able][self.precision]}"


def variant_named(name: str) -> ModelVariant | None:
    """The variant of that `name`; None when there is none."""
    every = [ModelVariant(backend, one) for backend, some in precisions().items() for one in some]
    return {one.name: one for one in every}.get(name)


def cores() -> int:
    """The processor cores for bulk work: those of this process, or OMP_NUM_THREADS if it names fewer."""
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    wanted = os.environ.get("OMP_NUM_THREADS", "")
    return min(available, int(wanted)) if wanted.isdecimal() and int(wanted) else available


def batches(lengths: Sequence[int], size: int) -> Iterator[list[int]]:
    """The places of texts, the longest first, in batches: at most `size` texts and PIECES_A_BATCH each.

    `lengths` are in word pieces, and each text of a batch is padded to its longest. A text that is longer
    than PIECES_A_BATCH is a batch of its own.
    """
    batch: list[int] = []
    for number in sorted(range(len(lengths)), key=lambda number: (-lengths[number], number)):
        padded = lengths[batch[0]] * (len(batch) + 1) if batch else 0
        if batch and (len(batch) == size or padded > PIECES_A_BATCH):
            yield batch
            batch = []
        batch.append(number)
    if batch:
        yield batch


def cpu_has(precision: Precision) -> bool:
    """Whether the processor has instructions for this precision. An unknown one is taken to have them."""
    flags = cpu_flags()
    return precision == "fp32" or not flags or any(one in flags for one in INSTRUCTIONS[precision])


def cpu_flags(cpuinfo: Path = Path("/proc/cpuinfo")) -> frozenset[str]:
    """The processor's instruction sets as Linux names them; empty where they cannot be read."""
    try:
        lines = cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return frozenset()
    named = (line.partition(":") for line in lines)
    return frozenset(next((v.split() for k, _, v in named if k.strip() in ("flags", "Features")), ()))
