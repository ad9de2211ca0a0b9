"""Runs work on the workers of a Dask cluster: texts to embed, settings of a sweep, questions of a benchmark.

The workers need this package and Python in the same versions. Each task is a pure function of its arguments,
so a task whose worker died runs again on another, and gives the same result. Extra `cluster`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar, TypeVar

import numpy as np

from workbench.errors import InputError, ProviderError, install_extra
from workbench.memory.embedding.cache import TEXTS_IN_FLIGHT
from workbench.memory.embedding.engines import Role
from workbench.memory.embedding.local import Embedded, Embedder, LocalEmbedder
from workbench.progress import progress

RETRIES = 3
"""How often a task may lose its worker before the work fails."""
CONNECT_SECONDS = 10
TASKS_AT_ONCE = 16
"""The tasks of TEXTS_IN_FLIGHT texts that an embedder hands out before their vectors are kept."""

Given = TypeVar("Given")
Result = TypeVar("Result")


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
                install_extra("cluster"),
            ) from None
        try:
            self.client: Any = Client(address, timeout=wait, set_as_default=False)  # type: ignore[no-untyped-call]
        except (OSError, ValueError) as error:
            raise ProviderError(
                f"No Dask scheduler answers at {address}: {type(error).__name__}.",
                "Start one with `dask scheduler`, workers with `dask worker ADDRESS`, and give its address.",
            ) from None

    def map(
        self,
        function: Callable[..., Result],
        every: Sequence[Given],
        shared: Any = None,
        what: str | None = None,
    ) -> list[Result]:
        """The function's result for each thing, in order. A task whose worker dies runs on another one.

        With `shared`, the function gets that as its second argument. The scheduler keeps it, and sends it to
        each worker once. With `what`, a progress bar of this name counts the tasks.

        Raises ProviderError when a task has lost RETRIES + 1 workers, when there are no workers or they have
        other versions, and when the connection is lost; a WorkbenchError of the function comes as it is.
        """
        from distributed import KilledWorker, as_completed
        from distributed.client import FutureCancelledError

        self._check_workers()
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sending large graph")  # it goes to the scheduler once
            given = [] if shared is None else [self.client.submit(_same, shared, pure=False)]
            tasks = [self.client.submit(function, one, *given, retries=RETRIES, pure=False) for one in every]
        try:
            if what is not None:
                with progress(len(tasks), what, "tasks") as done:
                    for task in as_completed(tasks, loop=self.client.loop):  # type: ignore[no-untyped-call]
                        if task.status == "error":
                            break
                        done()
            results: list[Result] = self.client.gather(tasks)
        except KilledWorker:
            raise ProviderError(
                f"A task at {self.address} has lost its worker {RETRIES + 1} times.",
                "Look at the workers' logs: memory is the usual reason. What was finished before is kept.",
            ) from None
        except (FutureCancelledError, OSError, TimeoutError) as error:
            raise ProviderError(
                f"The connection to the Dask scheduler at {self.address} was lost: {type(error).__name__}.",
                "Start the scheduler and its workers again. What was finished before is kept.",
            ) from None
        except ImportError as error:
            raise ProviderError(
                f"A worker at {self.address} lacks a package: {error}.",
                "Install the same packages and extras on every worker as here.",
            ) from None
        return results

    def _check_workers(self) -> None:
        """Raises ProviderError unless there are workers and each has this workbench and this Python."""

        def versions() -> tuple[str, str]:  # inside, so that it travels as code: a worker may not have it
            import platform

            import workbench

            return workbench.__version__, platform.python_version().rpartition(".")[0]

        found: dict[str, Any] = self.client.run(versions, on_error="return")
        if not found:
            raise ProviderError(
                f"The Dask scheduler at {self.address} has no workers.",
                f"Start one or more: dask worker {self.address}",
            )
        here = versions()
        for worker, there in found.items():
            if there != here:
                said = there if isinstance(there, Exception) else "workbench {} and Python {}".format(*there)
                raise ProviderError(
                    f"The worker {worker} cannot be used: {said}. Here are "
                    f"workbench {here[0]} and Python {here[1]}.",
                    "Install the same versions here and on every worker, and start the workers again.",
                )

    def close(self) -> None:
        """Ends the connection; the cluster goes on."""
        self.client.close()


def cluster_at(address: str | None) -> AbstractContextManager[Cluster | None]:
    """The cluster at an address, closed at the end; None without an address."""
    return nullcontext() if address is None else closing(Cluster(address))


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
        settings = ModelSettings.of(self.inner)
        groups = [texts[at : at + TEXTS_IN_FLIGHT] for at in range(0, len(texts), TEXTS_IN_FLIGHT)]
        results = self.cluster.map(_embedded, [(settings, list(group)) for group in groups])
        return Embedded(
            np.concatenate([one.vectors for one in results]),
            np.concatenate([one.read_share for one in results]),
        )


def on_cluster(embedder: Embedder, cluster: Cluster) -> ClusterEmbedder:
    """The embedder with its passages embedded on the cluster. Raises InputError for a provider's model."""
    if not isinstance(embedder, LocalEmbedder):
        raise InputError(
            f"{embedder.name} computes its vectors elsewhere, so a cluster has nothing to do.",
            "Leave --cluster out, or choose a local model.",
        )
    return ClusterEmbedder(embedder, cluster)


@dataclass(frozen=True)
class ModelSettings:
    """What a worker needs to load a local model."""

    name: str
    reading: Any
    batch_size: int
    variant: Any

    @classmethod
    def of(cls, embedder: LocalEmbedder) -> ModelSettings:
        """The settings of this embedder."""
        return cls(embedder.name, embedder.reading, embedder.batch_size, embedder.variant)


@cache
def loaded(model: ModelSettings) -> LocalEmbedder:
    """The model on this machine, which keeps it."""
    return LocalEmbedder(model.name, model.reading, model.batch_size, variant=model.variant)


def _embedded(given: tuple[ModelSettings, list[str]]) -> Embedded:
    """The vectors of some texts, on a worker."""
    settings, texts = given
    return loaded(settings).embed(texts, "passage")


def _same(given: Given) -> Given:
    """What was given: a task that any worker can repeat gives a value that every task uses."""
    return given
