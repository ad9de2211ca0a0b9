"""A Dask cluster gives the same bits, tries again when a worker dies, and is one clear error when absent."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from distributed import LocalCluster

from tests.commands import Run, runner
from tests.home import Home
from workbench.errors import ProviderError
from workbench.lab.cluster import Cluster, ClusterEmbedder
from workbench.lab.questions import Question, QuestionSet
from workbench.lab.sweep import running
from workbench.lab.sweep.running import sweep
from workbench.memory.embedding.cache import texts_in_flight
from workbench.memory.embedding.engines import ModelVariant
from workbench.memory.embedding.local import LocalEmbedder
from workbench.memory.index import MemoryIndex
from workbench.systems.registry import system


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """The scheduler of two workers, each a process."""
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as made:
        yield made.scheduler_address


@pytest.fixture(scope="module")
def cluster(address: str) -> Iterator[Cluster]:
    made = Cluster(address)
    yield made
    made.close()


def doubled(number: int) -> int:
    return 2 * number


def dying_once(given: tuple[str, int]) -> int:
    """Kills its worker at the first try, and says so in a file."""
    folder, number = given
    mark = Path(folder) / str(number)
    if number == 3 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return 2 * number


def test_results_come_in_the_order_of_what_was_given(cluster: Cluster) -> None:
    assert cluster.map(doubled, range(20)) == [2 * number for number in range(20)]


def test_a_killed_worker_costs_another_try_and_nothing_else(cluster: Cluster, tmp_path: Path) -> None:
    found = cluster.map(dying_once, [(str(tmp_path), number) for number in range(8)])
    assert (tmp_path / "3").exists(), "a worker was killed"
    assert found == [2 * number for number in range(8)]


def test_vectors_from_the_cluster_are_those_from_here(cluster: Cluster) -> None:
    here = LocalEmbedder(variant=ModelVariant("openvino"))
    there = ClusterEmbedder(here, cluster)
    texts = [f"note {number} says where the key of the shed is" for number in range(130)]
    groups = [here.embed(texts[at : at + 64], "passage").vectors for at in (0, 64, 128)]
    found = there.embed(texts, "passage")
    assert np.array_equal(found.vectors, np.concatenate(groups))
    assert (there.name, there.revision, there.dimensions) == (here.name, here.revision, here.dimensions)
    assert texts_in_flight(there) == 16 * texts_in_flight(here)


def test_a_sweep_on_the_cluster_has_the_same_bits(
    cluster: Cluster, toy: MemoryIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "SETTINGS_A_TASK", 7)
    first, second, *_ = toy.paths()
    asked = Question(question="tea cup", target=first), Question(question="bike hub", target=second)
    questions = QuestionSet(questions=asked)
    pipeline, axes = system("openclaw-2026.2.13"), ["fusion.vector=0:1:5", "floor.floor=0:0.6:5"]
    here = sweep(pipeline, axes, questions, toy)
    there = sweep(pipeline, axes, questions, toy, cluster=cluster)
    assert there.by_stages is None, "the settings run in columns, so the workers had something to do"
    assert there.values.tobytes() == here.values.tobytes()
    assert there.settings == here.settings


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(monkeypatch, capsys)


def test_no_scheduler_at_the_address_is_one_clear_error(run: Run, home: Home) -> None:
    with pytest.raises(ProviderError, match=r"No Dask scheduler answers at tcp://127\.0\.0\.1:9"):
        Cluster("tcp://127.0.0.1:9", wait=0.3)
    refused = run("index", str(home.root), "--cluster", "nonsense://x")
    assert refused.code == 4
    assert "No Dask scheduler answers at nonsense://x" in refused.err
