"""What tests share: the world that fits in the head, and the sample memory under the real model."""

from __future__ import annotations

import gc
import gzip
import json
import os
import sys
from collections.abc import Hashable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from tests import world
from tests.commands import PROJECT, Run, runner
from tests.home import Home
from tests.installed import install, nothing_registered  # noqa: F401
from tests.milvus import lite
from tests.postgres import running
from tests.remembered import FOLDER
from workbench.measure.questions import QuestionSet, load_questions
from workbench.memory.embedding.engines import Role
from workbench.memory.embedding.local import Embedded, LocalEmbedder
from workbench.memory.index import MemoryIndex
from workbench.memory.opening import open_index
from workbench.memory.store.sqlite.location import words_file
from workbench.memory.sync import index_folder

# ranx would be compiled for a minute, for what it then does in a millisecond.
os.environ["NUMBA_DISABLE_JIT"] = "1"
# jsonschema, which nbformat brings, would build parsers of addresses for a second. Nothing here uses them.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]

# A busy machine may take its time for an example, and for making one.
settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
# `make test` draws the same examples on every machine. `pytest` alone draws others each time.
settings.register_profile("same", settings.get_profile("busy"), derandomize=True)
settings.load_profile("busy")

collect_ignore_glob = ["strangers/*"]
"""The package of a stranger: importing its modules registers what they have."""

SAMPLE = PROJECT / "sample_memory"

PATIENT: dict[str, Any] = {"timeout": 600, "startup_timeout": 180, "iopub_timeout": 60}
"""How long nbclient waits for a cell, for a kernel and for the last outputs of a cell, in seconds."""

LONGEST = (
    "tests/docs/test_notebooks.py", "tests/views/test_browser.py", "tests/docs/test_solutions.py",
    "tests/views/test_same_moves.py", "tests/lab/test_recomputed_lessons.py",
    "tests/security/test_masking.py", "tests/cli/test_explore.py", "tests/cli/test_diagnosing.py",
    "tests/lab/diagnose/test_faults.py", "tests/lab/diagnose/test_diagnosis.py",
    "tests/retrieval/test_properties.py", "tests/memory/test_crash.py", "tests/test_features.py",
    "tests/memory/test_damage.py", "tests/views/test_figures.py", "tests/docs/test_pages.py",
    "tests/security/test_any_file.py", "tests/security/test_http.py", "tests/lab/doctor/test_doctor.py",
    "tests/systems/test_basic_memory_records.py", "tests/systems/test_openclaw_records.py",
    "tests/lab/bench/test_stores.py", "tests/agent/test_hostile_questions.py",
    "tests/cli/test_installed.py", "tests/lab/cases/test_shrinking.py", "tests/docs/test_commands.py",
    "tests/docs/test_extending.py", "tests/retrieval/test_written.py", "tests/cli/test_bad_input.py",
    "tests/lab/cases/test_pytest_plugin.py",
)  # fmt: skip
"""The files that take longest. They come first, or one process would wait for the other at the end."""


def pytest_configure(config: pytest.Config) -> None:
    # pytest-xdist would put files with few tests last, and the longest file has one test.
    config.option.loadscopereorder = False
    if not hasattr(config, "workerinput"):  # the process that starts the others, which inherit the variable
        folder = TemporaryDirectory(prefix="remembered-")
        config.add_cleanup(folder.cleanup)
        os.environ[FOLDER] = folder.name


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Looks for no garbage meanwhile, nor later among what was collected: all of it stays."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    places = {PROJECT / name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.path, len(places)))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Goes on after a process has died, where pytest-xdist would stand still."""
    from tests.scheduling import FileScheduling

    return FileScheduling(config, log) if config.option.dist == "loadfile" else None


@pytest.hookimpl(trylast=True, optionalhook=True)
def pytest_handlecrashitem(report: pytest.TestReport) -> None:
    """Lets the second try decide, where a test's process has ended without a result.

    pytest-xdist replaces the process and, with `--dist loadfile`, runs the test again in the new one.
    pytest-rerunfailures 16.7 counts such ends in `report.rerun`, and leaves the first one a failure.
    """
    if report.rerun == 0:  # type: ignore[attr-defined]
        report.outcome = "rerun"  # type: ignore[assignment]


@pytest.fixture(scope="session")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemoryIndex]:
    """The six notes of `world`, indexed."""
    with world.build(tmp_path_factory.mktemp("world")) as index:
        yield index


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that holds the notes of `world` under `memory_of_wren`, and their index."""
    with world.build(tmp_path):
        return tmp_path


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """The notes of `world` in a folder of their own, indexed; with a cache folder of their own."""
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path / "cache"))
    made = Home(world.write(tmp_path / "memory_of_wren"), tmp_path / "index" / "i.sqlite")
    made.sync()
    return made


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sample: MemoryIndex) -> None:
    """A cache folder of this test alone. The sample memory's index is there, too: that of all tests."""
    cache, shared = tmp_path / "cache", Path(sample.name)
    cache.mkdir()
    for file in (shared, words_file(shared)):
        (cache / file.name).symlink_to(file)
    monkeypatch.setenv("WORKBENCH_HOME", str(cache))


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """The command line, in this process."""
    return runner(monkeypatch, capsys)


@pytest.fixture
def in_project(monkeypatch: pytest.MonkeyPatch, sample: MemoryIndex) -> None:
    """The project's folder as the present one: commands find the sample memory and its index there."""
    monkeypatch.chdir(PROJECT)


EMBEDDED: dict[Hashable, tuple[Any, Any]] = {}
"""The vector of each text that `embedded_once` has seen, and the share of it that was read."""


@pytest.fixture
def embedded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The local models embed each text once in a test process, for tests that ask much of the same memory."""
    embed = LocalEmbedder.embed

    def remembered(self: LocalEmbedder, texts: Sequence[str], role: Role) -> Embedded:
        keys = {text: (self.name, self.revision, self.variant, role, text) for text in texts}
        if new := [text for text, key in keys.items() if key not in EMBEDDED]:
            made = embed(self, new, role)
            for text, *known in zip(new, made.vectors, made.read_share, strict=True):
                EMBEDDED[keys[text]] = known[0], known[1]
        vectors, shares = zip(*(EMBEDDED[keys[text]] for text in texts), strict=True)
        return Embedded(np.array(vectors), np.array(shares))

    monkeypatch.setattr(LocalEmbedder, "embed", remembered)


@pytest.fixture(scope="session")
def sample() -> Iterator[MemoryIndex]:
    """The sample memory, indexed with the packaged model where `workbench index` puts it."""
    index_folder(SAMPLE)
    with open_index(SAMPLE) as index:
        yield index


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The address of a real PostgreSQL server."""
    with running() as address:
        yield address


@pytest.fixture(scope="session")
def milvus() -> Iterator[str]:
    """The address of a file of Milvus Lite."""
    with lite() as address:
        yield address


@pytest.fixture(scope="session")
def questions() -> QuestionSet:
    """The labelled questions of the sample memory."""
    return load_questions(SAMPLE / "questions.yaml")


def recorded_folder(name: str, root: Path) -> Path:
    """A recorded folder, written below `root`."""
    with gzip.open(PROJECT / "tests" / "records" / f"{name}.json.gz", "rt", encoding="utf-8") as file:
        for path, text in json.load(file).items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(text.encode())
    return root


@pytest.fixture(scope="session")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The recorded folder of oddities."""
    return recorded_folder("odd", tmp_path_factory.mktemp("odd"))
