"""A command that mends something does what it says, whatever names the folder and its files have."""

from __future__ import annotations

import errno
import shlex
import subprocess
from pathlib import Path

import pytest

from tests import world
from workbench.errors import InputError
from workbench.memory.files import FileLocation, open_plain
from workbench.memory.opening import open_index
from workbench.memory.options import Options
from workbench.memory.sync import index_folder
from workbench.systems.catalogue import SYSTEMS
from workbench_plugins.diagnose.diagnosis import diagnose

FOLDER = "Sam's notes"
NAME = "FOLDER$(touch RUN)FOLDER that end --index x"
"""It has the word that stands for a folder where none is known: in its place, an apostrophe ends a quote."""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return world.write(tmp_path / FOLDER, {"MEMORY.md": "# Main\n"})


def repair_of(target: str, question: str, root: Path) -> str:
    """The repair of the first cause for a file of a memory that is indexed now."""
    place = root.parent / "i.sqlite"
    index_folder(root, options=Options(index_path=place, skip=True))
    pipeline = SYSTEMS["openclaw-2026.2.13+or"].asking(limit=10)
    with open_index(root, index_path=place) as index:
        return diagnose(question, pipeline, index, target).causes[0].repair


def pasted(repair: str, root: Path) -> set[str]:
    """The files below the memory and beside it after a repair was pasted into a shell."""
    again = shlex.split(repair)[-5:]
    assert again == ["workbench", "index", str(root), "--index", str(root.parent / "i.sqlite")]
    shell = f"workbench() {{ :; }}; {repair}"
    assert subprocess.run(["bash", "-c", shell], cwd=root.parent, check=False).returncode == 0
    assert not (root.parent / "RUN").exists()
    files = [*root.parent.glob("*/memory/*"), *root.parent.glob("*-set-aside/*")]
    return {str(one.relative_to(root.parent)) for one in files}


@pytest.mark.parametrize(
    ("ending", "content", "then"),
    [(".txt", b"A cup of tea.\n", {".md"}), (".md", b"A cup in the caf\xe9.\n", {".md", ".md.old"})],
)
def test_the_name_of_a_file_that_is_not_read_runs_nothing_in_its_repair(
    root: Path, ending: str, content: bytes, then: set[str]
) -> None:
    (root / "memory").mkdir()
    (root / f"memory/{NAME}{ending}").write_bytes(content)
    repair = repair_of(f"memory/{NAME}{ending}", "a cup of tea", root)
    assert pasted(repair, root) == {f"{FOLDER}/memory/{NAME}{one}" for one in then}


def test_the_names_of_copies_run_nothing_in_their_repair(root: Path) -> None:
    line = "Weekly check of the van by Catrin: tyres, oil, lights, brakes, horn and belts are fine on day"
    copies = [f"{NAME} {day}.md" for day in range(8)]
    notes = {f"memory/{name}": f"{line} {day}.\n" for day, name in enumerate(copies)}
    wanted = "memory/week-9.md"
    notes[wanted] = f"{line} 9, with one defect, which was noted and is to be mended soon.\n"
    repair = repair_of(wanted, "weekly check of the van by Catrin", world.write(root, notes))
    assert pasted(repair, root) == {f"{FOLDER}/{wanted}", *(f"{FOLDER}-set-aside/{one}" for one in copies)}


def test_a_path_is_quoted_in_the_command_that_gives_access(monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(location: FileLocation) -> None:
        raise PermissionError(errno.EACCES, "denied")

    monkeypatch.setattr("workbench.memory.files.open_below", denied)
    with pytest.raises(InputError) as refused, open_plain(FileLocation(Path("/"), ()), NAME):
        pass
    assert refused.value.remedy == f"Give yourself access: chmod u+r {shlex.quote(NAME)}"
