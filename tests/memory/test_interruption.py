"""Ctrl-C during indexing: what is kept, what a search says meanwhile, and what the next run embeds."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest

from tests import world
from tests.home import Home, Watched
from tests.processes import process
from workbench.errors import InputError
from workbench.memory.store.sqlite import location as builds
from workbench_plugins.doctor.commands import known_indexes, remove_index

NOTES = {f"memory/n{number}.md": f"note {number} about tea" for number in range(5)}


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A memory of five notes that has no index."""
    return Home(world.write(tmp_path / "memory", NOTES), tmp_path / "cache" / "i.sqlite")


def interrupted(home: Home, after: int) -> str:
    """Runs `workbench index` in a process, interrupts it after that many texts; returns its last words."""
    with process("stall", home.root, home.file, after, errors=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "stalled\n"
        if not home.file.exists():
            with pytest.raises(InputError, match=f"no index yet: Process {running.pid} is making the first"):
                home.opened()
        running.send_signal(signal.SIGINT)
        _, errors = running.communicate(timeout=300)
    assert running.returncode == 130
    return errors


def test_an_interrupted_first_run_says_what_is_kept_and_the_next_one_goes_on(home: Home) -> None:
    said = interrupted(home, after=3)
    assert said == (
        "Interrupted. 3 vectors are computed and kept. There is no index to search yet.\n"
        "  Run the same command again to go on: it embeds only what is missing.\n"
    )
    with pytest.raises(InputError, match=r"was interrupted.*\n.*embeds only what is missing"):
        home.opened()
    summary = home.sync(embedder := Watched())
    assert (summary.embedded, summary.from_cache) == (2, 3)
    assert sum(map(len, embedder.asked)) == 2
    assert builds.databases(builds.leftovers(home.file)) == []


def test_an_interrupted_update_keeps_the_index_and_its_new_vectors(home: Home) -> None:
    home.sync()
    world.write(home.root, {f"memory/new{number}.md": f"a new note {number}" for number in range(4)})
    assert "1 vector is computed and kept. The index can be searched." in interrupted(home, after=1)
    assert home.opened().size >= len(NOTES)
    assert home.sync().embedded == 3


def test_an_unfinished_index_is_listed_and_can_be_removed(home: Home) -> None:
    interrupted(home, after=1)
    [unfinished] = known_indexes(home.file.parent)
    assert unfinished.name == home.file.name
    assert unfinished.size > 0
    assert "interrupted" in unfinished.problem
    remove_index(home.file.name, home.file.parent)
    assert builds.databases(builds.leftovers(home.file)) == []
