"""Runs work on the workers of a Dask cluster: texts to embed, or the settings of a sweep.

The workers need this package in the same version. Each task is a pure function of its arguments, so a task
whose worker died runs again on another, and gives the same result. Extra `cluster`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

import numpy as np

from workbench.errors import InputError, ProviderError
from workbench.memory.embedding.cache import TEXTS_IN_FLIGHT
from workbench.memory.embedding.local import Embedded, Embedder, LocalEmbedder, Role

RETRIES = 3
"""How often a task may lose its worker before the work fails."""
CONNECT_SECONDS = 10
TASKS_AT_ONCE = 16
"""The tasks of TEXTS_IN_FLIGHT texts that an embedder hands out before their vectors are kept."""

Given = TypeVar("Given")
Made = TypeVar("Made")


class Cluster:
    """The workers behind a scheduler's address, such as tcp://HOST:8786. Close it after use.

    Raises ProviderError when no scheduler answers there, and InputError without the extra `cluster`.
    """

    def __init__(self, address: str, wait: float = CONNECT_SECONDS) -> None:
        self.address = address
        try:
            from distributed import Client
        except ImportError:
            raise InputError(
                "A cluster needs the package distributed, which is not installed.",
                "Install it: pip install 'hybrid-search-workbench[cluster]'",
            ) from None
        try:
            self.client: Any = Client(address, timeout=wait, set_as_default=False)  # type: ignore[no-untyped-call]
        except (OSError, ValueError) as error:
            raise ProviderError(
                f"No Dask scheduler answers at {address}: {type(error).__name__}.",
                "Start one with `dask scheduler`, workers with `dask worker ADDRESS`, and give its address.",
            ) from None

    def map(self, function: Callable[[Given], Made], every: Sequence[Given]) -> list[Made]:
        """The function's result for each thing, in order. A task whose worker dies runs on another one.

        Raises ProviderError when a task has lost RETRIES + 1 workers, or when there are no workers.
        """
        from distributed import KilledWorker

        if not self.client.scheduler_info()["workers"]:
            raise ProviderError(
                f"The Dask scheduler at {self.address} has no workers.",
                f"Start one or more: dask worker {self.address}",
            )
        tasks = self.client.map(function, every, retries=RETRIES, pure=False)
        try:
            made: list[Made] = self.client.gather(tasks)
        except KilledWorker:
            raise ProviderError(
                f"A task at {self.address} has lost its worker {RETRIES + 1} times.",
                "Look at the workers' logs: memory is the usual reason. What was finished before is kept.",
            ) from None
        return made

    def close(self) -> None:
        """Ends the connection; the cluster goes on."""
        self.client.close()


@contextmanager
def cluster_at(address: str | None) -> Iterator[Cluster | None]:
    """The cluster at an address, closed at the end; None without an address."""
    if address is None:
        yield None
        return
    made = Cluster(address)
    try:
        yield made
    finally:
        made.close()


@dataclass
class ClusterEmbedder:
    """A local model on every worker. Its vectors are those of `inner`, which names the model.

    Passages are embedded on the cluster, in the same groups as here; a question is embedded here.
    """

    inner: LocalEmbedder
    cluster: Cluster = field(repr=False, compare=False)

    texts_in_flight: ClassVar[int] = TASKS_AT_ONCE * TEXTS_IN_FLIGHT

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def revision(self) -> str:
        return self.inner.revision

    @property
    def dimensions(self) -> int:
        return self.inner.dimensions

    def embed(self, texts: Sequence[str], role: Role) -> Embedded:
        """One unit vector per text. Raises ProviderError when the cluster fails."""
        if role == "query" or not texts:
            return self.inner.embed(texts, role)
        settings = (self.inner.name, self.inner.reading, self.inner.batch_size, self.inner.variant)
        groups = [texts[at : at + TEXTS_IN_FLIGHT] for at in range(0, len(texts), TEXTS_IN_FLIGHT)]
        made = self.cluster.map(_embedded, [(settings, list(group)) for group in groups])
        return Embedded(
            np.concatenate([one.vectors for one in made]), np.concatenate([one.read_share for one in made])
        )


def on_cluster(embedder: Embedder, cluster: Cluster) -> ClusterEmbedder:
    """The embedder with its passages embedded on the cluster. Raises InputError for a provider's model."""
    if not isinstance(embedder, LocalEmbedder):
        raise InputError(
            f"{embedder.name} computes its vectors elsewhere, so a cluster has nothing to do.",
            "Leave --cluster out, or choose a local model.",
        )
    return ClusterEmbedder(embedder, cluster)


_LOADED: dict[Any, LocalEmbedder] = {}


def _embedded(given: tuple[Any, list[str]]) -> Embedded:
    """The vectors of some texts, on a worker, which keeps its model."""
    (name, reading, batch_size, variant), texts = given
    if (name, reading, variant) not in _LOADED:
        _LOADED[name, reading, variant] = LocalEmbedder(name, reading, batch_size, variant=variant)
    return _LOADED[name, reading, variant].embed(texts, "passage")
