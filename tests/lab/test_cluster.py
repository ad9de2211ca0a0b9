"""A Dask cluster gives the same bits, tries again when a worker dies, and is one clear error when absent."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from distributed import LocalCluster

import workbench
from benchmarks.published import __main__ as published
from benchmarks.published import runs, spread
from tests import world
from tests.commands import Run, runner
from tests.contracts.store_contract import SETTINGS
from tests.home import Home
from tests.lab.bench.test_locomo import written
from workbench.errors import InputError, ProviderError
from workbench.measure.questions import Question, QuestionSet
from workbench.memory.embedding.cache import texts_in_flight
from workbench.memory.embedding.engines import ModelVariant
from workbench.memory.embedding.local import LocalEmbedder
from workbench.memory.index import MemoryIndex
from workbench.memory.options import Options
from workbench.memory.store.sqlite.store import Store
from workbench.memory.sync import index_folder
from workbench.systems.catalogue import system
from workbench_plugins.diagnose import sweep as running
from workbench_plugins.diagnose.sweep import sweep
from workbench_plugins.stores import cluster as cluster_module
from workbench_plugins.stores.cluster import Cluster, ClusterEmbedder


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """The scheduler of two workers, each a process."""
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as made:
        yield made.scheduler_address


@pytest.fixture(scope="module")
def cluster(address: str) -> Iterator[Cluster]:
    made = Cluster(address)
    yield made
    made.close()


def doubled(number: int) -> int:
    return 2 * number


def dies_once(folder: str, given: Any, *rest: Any, then: Callable[..., Any]) -> Any:
    """Kills its worker at the very first try of all tasks, and afterwards does what `then` does."""
    mark = Path(folder) / "killed"
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return then(given, *rest)


def refuses(number: int) -> int:
    raise InputError(f"{number} is refused.", "Give another number.")


def lacks(number: int) -> int:
    raise ModuleNotFoundError("No module named 'openvino'")


def test_a_killed_worker_costs_another_try_and_nothing_else(cluster: Cluster, tmp_path: Path) -> None:
    found = cluster.map(partial(dies_once, str(tmp_path), then=doubled), range(8))
    assert (tmp_path / "killed").exists(), "a worker was killed"
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
def bench(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(monkeypatch, capsys, published.bench)


def test_no_scheduler_at_the_address_is_one_clear_error(run: Run, home: Home) -> None:
    with pytest.raises(ProviderError, match=r"No Dask scheduler answers at tcp://127\.0\.0\.1:9"):
        Cluster("tcp://127.0.0.1:9", wait=0.3)
    asked = home.root / "questions.yaml"
    asked.write_text(QUESTIONS)
    for command in (
        ["index", home.root],
        ["sweep", "openclaw-2026.2.13", "fusion.vector=0:1:3", "-m", home.root, "-q", asked],
    ):
        refused = run(*command, "--cluster", "nonsense://x")
        assert refused.code == 4
        assert "No Dask scheduler answers at nonsense://x" in refused.err
        assert "Traceback" not in refused.err


def test_a_scheduler_without_workers_is_one_clear_error() -> None:
    with LocalCluster(n_workers=0, processes=False, dashboard_address=":0") as alone:
        made = Cluster(alone.scheduler_address)
        with pytest.raises(ProviderError, match="has no workers") as caught:
            made.map(doubled, [1])
        assert f"dask worker {alone.scheduler_address}" in caught.value.remedy
        made.close()


def test_workers_of_another_version_or_without_the_workbench_are_refused(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workbench, "__version__", "9.9.9")
    other = r"workbench \d\S+ and Python .* Here are workbench 9\.9\.9"
    with pytest.raises(ProviderError, match=other) as caught:
        cluster.map(doubled, [1])
    assert "same versions" in caught.value.remedy
    absent = ModuleNotFoundError("No module named 'workbench'")
    monkeypatch.setattr(cluster.client, "run", lambda *_, **__: {"tcp://worker:1": absent})
    with pytest.raises(ProviderError, match=r"worker:1 cannot be used: No module named 'workbench'"):
        cluster.map(doubled, [1])


def test_an_error_on_a_worker_arrives_as_it_was_raised(cluster: Cluster) -> None:
    with pytest.raises(InputError, match="3 is refused") as caught:
        cluster.map(refuses, [3])
    assert caught.value.remedy == "Give another number."
    with pytest.raises(ProviderError, match=r"A worker at .* lacks a package: .*openvino"):
        cluster.map(lacks, [3])


# Commands

QUESTIONS = """
questions:
- {question: "Which tea do I drink?", target: memory/tea.md, kind: natural}
- {question: "Where is the hub of the bike?", target: memory/bike.md, kind: natural}
controls: []
"""


def vectors(file: Path) -> bytes:
    with Store.open(file) as store:
        rows, found = store.matrix()
        return rows.tobytes() + found.tobytes()


def test_index_on_the_cluster_writes_the_same_vectors_although_a_worker_dies(
    run: Run, address: str, home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dying = partial(dies_once, str(tmp_path), then=cluster_module._embedded)
    monkeypatch.setattr(cluster_module, "_embedded", dying)
    here, there = tmp_path / "here.sqlite", tmp_path / "there.sqlite"
    index_folder(home.root, LocalEmbedder(variant=ModelVariant("openvino")), options=Options(index_path=here))
    given = ["--backend", "openvino", "--index", there, "--cluster", address, "--json"]
    done = run("index", home.root, *given)
    assert done.code == 0, done.err
    assert done.json()["later"] == 0
    assert (tmp_path / "killed").exists(), "a worker was killed"
    assert vectors(there) == vectors(here)


def test_an_index_that_is_no_file_cannot_be_copied_to_workers() -> None:
    with (
        Store.create(Path(":memory:"), SETTINGS) as store,
        pytest.raises(InputError, match="is not an index file") as caught,
    ):
        spread.copy_of(MemoryIndex(store, world.EMBEDDER), [], [])
    assert "--cluster" in caught.value.remedy


@pytest.mark.parametrize(
    "benchmark",
    [
        ["published", "-s", "am-150", "-s", "bm-994-gated", "-s", "openclaw-2026.2.13"],
        ["locomo", "-s", "openclaw-2026.2.13"],
    ],
)
def test_bench_locomo_on_the_cluster_prints_the_same_numbers(
    bench: Run, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, benchmark: list[str]
) -> None:
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(runs, "truncating", lambda _: world.EMBEDDER)
    data, _ = written(tmp_path)
    command = [benchmark[0], data, *benchmark[1:], "--json"]
    here, there = bench(*command), bench(*command, "--cluster", address)
    assert here.code == 0, here.err
    assert there.code == 0, there.err
    assert there.json() == here.json()


def test_a_reranker_does_not_go_to_a_cluster(bench: Run, home: Home) -> None:
    (home.root / "questions.yaml").write_text(QUESTIONS)
    refused = bench("folder", home.root, "--rerank", "local", "--cluster", "tcp://127.0.0.1:9")
    assert refused.code == 2
    assert "A reranker cannot run on a cluster" in refused.err
