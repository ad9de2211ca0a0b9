"""The workbench installed from a wheel, no clone near: the lab is copied, opens, and its notebooks run."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import urllib.request
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import nbformat
import psutil
import pytest
import typer
from nbclient import NotebookClient

from tests.browser import becomes, free_port, wait_for
from tests.commands import Outcome, Run
from tests.conftest import PATIENT, PROJECT, SAMPLE
from workbench.cli import lab as lab_command
from workbench.cli.bundled import FOLDERS, copy_to, unused
from workbench.cli.lab import environment
from workbench.errors import InputError
from workbench.memory.index import MemoryIndex
from workbench.memory.index_files import default_index_path
from workbench.memory.store.sqlite.database import copy

FIRST = "notebooks/00_start.ipynb"


# what is copied, and what never is


def contents(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def test_all_that_the_notebooks_read_is_copied(tmp_path: Path) -> None:
    copied = copy_to(tmp_path / "lab")
    there = contents(tmp_path / "lab")
    assert sorted(copied.added) == sorted(there)
    assert {"notebooks/solutions/02_the_0.7_penalty.ipynb", "sample_memory/questions.yaml"} <= set(there)
    assert [name for name, data in there.items() if data != (PROJECT / name).read_bytes()] == []
    read = [
        notebook.parent / memory
        for notebook in (tmp_path / "lab").rglob("*.ipynb")
        for memory in re.findall(r'"([./]*\w+_memory)\\"', notebook.read_text(encoding="utf-8"))
    ]
    assert len(read) > 20
    assert [memory for memory in read if not memory.is_dir()] == []


def test_what_exists_stays_byte_for_byte_and_is_named(tmp_path: Path) -> None:
    first = copy_to(tmp_path)
    (tmp_path / FIRST).write_bytes(b"my own work\r\n")
    (tmp_path / "notebooks" / "mine.ipynb").write_bytes(b"{}")
    (tmp_path / "sample_memory" / "MEMORY.md").unlink()
    second = copy_to(tmp_path)
    assert (second.added, second.differing) == (("sample_memory/MEMORY.md",), (FIRST,))
    assert (tmp_path / FIRST).read_bytes() == b"my own work\r\n"
    assert set(contents(tmp_path)) == {*first.added, "notebooks/mine.ipynb"}
    assert f"Kept your versions of: {FIRST}." in str(second)


def test_a_link_that_leads_nowhere_and_a_file_in_the_folders_place_stay(tmp_path: Path) -> None:
    (tmp_path / "notebooks").mkdir()
    (tmp_path / FIRST).symlink_to(tmp_path / "elsewhere")
    assert copy_to(tmp_path).differing == (FIRST,)
    assert not (tmp_path / "elsewhere").exists()
    assert unused(tmp_path / "new") == tmp_path / "new"
    (tmp_path / "lab-2").mkdir()
    (tmp_path / "lab").write_text("a note")
    assert unused(tmp_path / "lab") == tmp_path / "lab-3"
    (tmp_path / "lab-2").rmdir()
    with pytest.raises(InputError, match=r"lab.* cannot be used: .*\n.*--to FOLDER"):
        copy_to(tmp_path / "lab")
    assert (tmp_path / "lab").read_text() == "a note"


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--to", "{0}/lab", "--notebooks", "{0}"], "Give one of them"),
        (["--fresh", "--notebooks", "{0}"], "--fresh and --notebooks"),
        (["--to", "{0}/lab", "-m", "{0}/nofolder"], "nofolder does not exist"),
        (["--memory", "{0}", "--notebooks", "{0}"], "There is no notebook {0}/00_start.ipynb"),
    ],
)
def test_a_bad_request_is_refused_before_anything_is_copied_or_indexed(
    run: Run, tmp_path: Path, options: list[str], problem: str
) -> None:
    outcome = run("lab", *(one.format(tmp_path) for one in options))
    assert (outcome.code, outcome.out) == (2, "")
    assert problem.format(tmp_path) in outcome.err
    assert list(tmp_path.iterdir()) == []


def test_in_a_clone_the_lab_opens_copies_and_leaves_tracked_files_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "notebooks" / "00_start.ipynb").write_text("tracked")
    opened: list[Path] = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(lab_command, "serve", lambda *_: 0)
    monkeypatch.setattr(lab_command, "launch", lambda folder, *_: opened.append(folder) or 0)
    with pytest.raises(typer.Exit):
        lab_command.lab(None, None, None, False, 0, False)
    assert opened == [Path("workbench-lab") / "notebooks"]
    assert (tmp_path / FIRST).read_text() == "tracked"
    assert (tmp_path / "workbench-lab" / FIRST).is_file()


# the wheel


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(build, cwd=PROJECT, check=True, capture_output=True, timeout=600)
    (built,) = folder.glob("*.whl")
    return built


def test_the_wheel_has_the_package_the_notebooks_and_the_memories_alone(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    packed = {name for name in names if not name.startswith("workbench/_bundled/")}
    package = {
        f"{root}/{name}"
        for root in ("workbench", "workbench_plugins")
        for name in contents(PROJECT / root)
        if "__pycache__" not in name
    }
    assert {name for name in packed if ".dist-info/" not in name} == package
    assert {name.split("/")[2] for name in {*names} - packed} == {*FOLDERS}
    unwanted = re.compile(r"(^|/)(tests|test-output|site|__pycache__|\.[^/]+)/|\.(pyc|sqlite)$")
    assert [name for name in names if unwanted.search(name)] == []
    assert 200_000 < wheel.stat().st_size < 4_200_000


# installed


@dataclass
class Installed:
    """The wheel unpacked into `target`, and a desk with no clone around it, where commands are run."""

    target: Path
    desk: Path

    @property
    def environment(self) -> dict[str, str]:
        return os.environ | {"PYTHONPATH": str(self.target), "WORKBENCH_HOME": str(self.desk / "home")}

    def python(self, *arguments: str, cwd: Path | None = None) -> Outcome:
        command = [sys.executable, *arguments]
        ended = subprocess.run(
            command, cwd=cwd or self.desk, env=self.environment, capture_output=True, text=True, timeout=600
        )
        return Outcome(ended.returncode, ended.stdout, ended.stderr)

    def workbench(self, *arguments: str, cwd: Path | None = None) -> Outcome:
        return self.python("-m", "workbench", *arguments, cwd=cwd)


@pytest.fixture(scope="module")
def installed(wheel: Path, sample: MemoryIndex, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The wheel, installed beside its dependencies, and the vectors known, so that none is computed again."""
    made = Installed(tmp_path_factory.mktemp("installed"), tmp_path_factory.mktemp("desk"))
    install = ["-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-compile"]
    subprocess.run(
        [sys.executable, *install, "--target", made.target, wheel],
        check=True,
        capture_output=True,
        timeout=600,
    )
    (made.desk / "home").mkdir()
    index = default_index_path(made.desk / "workbench-lab" / "sample_memory").name
    copy(default_index_path(SAMPLE), made.desk / "home" / index)
    return made


def test_the_installed_package_is_the_one_that_runs_and_without_a_memory_says_so(
    installed: Installed,
) -> None:
    ran = installed.python("-c", "import workbench; print(workbench.__file__)")
    assert ran.out.strip() == str(installed.target / "workbench" / "__init__.py")
    outcome = installed.workbench("search", "tea")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith(
        "No memory was named, and the default, sample_memory, is not in this folder.\n"
    )


def test_cases_run_by_pytest_in_an_empty_folder(installed: Installed, tmp_path: Path) -> None:
    for file in (PROJECT / "tests" / "cases").glob("*.case.yaml"):
        shutil.copy(file, tmp_path)
    reports = len(list(tmp_path.iterdir()))
    outcome = installed.python("-m", "pytest", "-p", "no:cacheprovider", cwd=tmp_path)
    assert outcome.code == 0
    assert "hybrid-search-workbench" in outcome.out.split("collected")[0]
    assert re.search(rf"\b{reports} xfailed", outcome.out)
    assert re.search(r"\b\d\d passed", outcome.out)


@dataclass
class Served:
    """A JupyterLab that `workbench lab` opened, what it said, and its address."""

    url: str
    log: Path
    command: psutil.Process

    def get(self, path: str) -> bytes:
        with urllib.request.urlopen(self.url + path, timeout=300) as answer:
            return bytes(answer.read())


SERVING = """\
import os, sys
from workbench.cli.lab import serve
WAITING = "import time; print('ready', flush=True); time.sleep(900)"
sys.exit(serve([sys.executable, "-c", WAITING], os.environ))
"""


def test_what_ends_the_command_ends_its_server() -> None:
    command = subprocess.Popen([sys.executable, "-c", SERVING], stdout=subprocess.PIPE)
    assert command.stdout
    assert command.stdout.readline() == b"ready\n"
    command.terminate()
    command.communicate(timeout=300)  # which has no end before the server's
    assert command.returncode == 128 + signal.SIGTERM


@pytest.fixture(scope="module")
def served(installed: Installed) -> Iterator[Served]:
    port = free_port()
    log = installed.desk / "log"
    with log.open("w") as out:
        lab = subprocess.Popen(
            [sys.executable, "-m", "workbench", "lab", "--no-browser", "--port", str(port)],
            cwd=installed.desk, env=installed.environment, stdin=subprocess.DEVNULL, stdout=out,
            stderr=subprocess.STDOUT,
        )  # fmt: skip
    try:
        wait_for(f"http://127.0.0.1:{port}/api", lab, log)
        yield Served(f"http://127.0.0.1:{port}", log, psutil.Process(lab.pid))
    finally:
        lab.terminate()
        lab.wait(300)


def test_the_lab_is_copied_beside_nothing_and_opens(installed: Installed, served: Served) -> None:
    said = served.log.read_text()
    folder = installed.desk / "workbench-lab"
    assert said.startswith(f"workbench-lab: added {len(contents(folder))} files, and overwrote none.\n")
    assert "Indexed " not in said
    assert json.loads(served.get("/api"))["version"]
    assert contents(folder)[FIRST] == (PROJECT / FIRST).read_bytes()


def test_the_lab_ends_with_one_line_that_names_the_address_to_open(served: Served) -> None:
    becomes(lambda: served.log.read_text().rpartition("\nOpen ")[1], bool)
    last = served.log.read_text().splitlines()[-1]
    address = f"{served.url}/lab/tree/{Path(FIRST).name}?token="
    assert re.fullmatch(rf"Open {re.escape(address)}\w{{48}}", last)
    with urllib.request.urlopen(last.removeprefix("Open "), timeout=300) as answer:
        assert b"JupyterLab" in answer.read()


def test_the_command_keeps_no_model_while_jupyterlab_runs(served: Served) -> None:
    assert served.command.memory_info().rss < 150_000_000
    assert "Step 1 of 2: indexing" in served.log.read_text()
    assert "Step 2 of 2: starting JupyterLab" in served.log.read_text()


def test_the_first_notebook_runs_from_the_copy_with_the_installed_package(
    installed: Installed, served: Served
) -> None:
    folder = installed.desk / "workbench-lab" / "notebooks"
    notebook = nbformat.read(folder / "00_start.ipynb", as_version=4)
    notebook.cells.append(nbformat.v4.new_code_cell("wb.__file__"))
    NotebookClient(notebook, **PATIENT, resources={"metadata": {"path": str(folder)}}).execute(
        env=installed.environment
    )
    assert str(installed.target) in notebook.cells[-1].outputs[0].data["text/plain"]


def test_commands_find_the_sample_memory_in_the_copied_folder(installed: Installed, served: Served) -> None:
    outcome = installed.workbench("doctor", "--json", cwd=installed.desk / "workbench-lab")
    index = next(one for one in outcome.json() if one["what"] == "index")
    assert index["fine"]
    assert "294 chunks" in index["says"]


def test_a_kernel_registered_by_the_user_does_not_take_the_place_of_this_ones(
    installed: Installed, tmp_path: Path
) -> None:
    foreign = tmp_path / "data" / "kernels" / "python3"
    foreign.mkdir(parents=True)
    (foreign / "kernel.json").write_text(
        '{"argv": ["false"], "display_name": "Foreign", "language": "python"}'
    )
    asked = "from jupyter_client.kernelspec import get_kernel_spec as g; print(g('python3').argv)"
    own = environment(tmp_path / "settings") | {"JUPYTER_DATA_DIR": str(tmp_path / "data")}
    found = subprocess.run(
        [sys.executable, "-c", asked], env=own, capture_output=True, text=True, timeout=600
    )
    assert "ipykernel_launcher" in found.stdout
