"""The command that starts JupyterLab on a notebook, without questions and news."""

from __future__ import annotations

import importlib.util
import json
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Thread
from typing import Annotated

import typer

from workbench.cli.app import named_folder
from workbench.cli.numbers import port_number
from workbench.cli.output import print_address, print_error, say
from workbench.errors import InputError, install_extra

QUIET = {
    # No question about news on the first start, and no call to anywhere.
    "@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False},
}


def check_installed(module: str, what: str) -> None:
    """Raises InputError when a package of the extra `lab` is not installed."""
    if importlib.util.find_spec(module) is None:
        raise InputError(
            f"{what} is not installed.",
            install_extra("lab"),
        )


def check_notebook(folder: Path, notebook: str) -> None:
    """Raises InputError when the notebook is not in the folder."""
    if not (folder / notebook).is_file():
        raise InputError(
            f"There is no notebook {folder / notebook}.",
            "Copy the notebooks: workbench lab --to FOLDER; or name their folder: --notebooks FOLDER",
        )


def launch(folder: Path, notebook: str, port: int, browser: bool) -> int:
    """Runs JupyterLab on `folder` with `notebook` open until it ends; returns its exit code.

    It starts in an empty folder, since it runs a `voila.py` and a `jupyter_config.py` of the current one.
    """
    with tempfile.TemporaryDirectory() as settings:
        quiet = [
            "--ServerApp.log_level=ERROR",
            "--LabApp.log_level=ERROR",
            *([] if browser else ["--no-browser"]),
        ]
        # JupyterLab prints five lines about a token of its own making, and none about one that it is given.
        token = os.environ.get("JUPYTER_TOKEN") or secrets.token_hex(24)
        return serve(
            [*command_line(folder, notebook, port), *quiet],
            {**environment(Path(settings)), "JUPYTER_TOKEN": token},
            Path(settings),
            lambda running: _say_the_address(running, notebook),
        )


def _say_the_address(running: subprocess.Popen[bytes], notebook: str) -> None:
    """Prints the address of `notebook` as soon as the server has written down where it listens."""
    from jupyter_core.paths import jupyter_runtime_dir

    written = Path(jupyter_runtime_dir()) / f"jpserver-{running.pid}.json"
    while running.poll() is None:
        try:
            server = json.loads(written.read_text(encoding="utf-8"))
        except (OSError, ValueError):  # not there yet, or half written
            time.sleep(0.1)
            continue
        address = f"{server['url']}lab/tree/{notebook}?token={server['token']}"
        print_address(address)
        return


def serve(
    command: list[str],
    variables: Mapping[str, str],
    folder: Path | None = None,
    started: Callable[[subprocess.Popen[bytes]], None] | None = None,
) -> int:
    """Runs a command until it ends, or until this process is ended; returns its exit code.

    It starts in `folder`, or in the current one. `started` is called beside it, in a thread.

    An interrupt is the command's alone: a terminal sends it to both, and JupyterLab asks whether it is meant.
    Neither the command nor what it starts, such as a kernel, imports from the current folder: a memory may
    hold a `yaml.py`.
    """
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    with subprocess.Popen(command, env={**variables, "PYTHONSAFEPATH": "1"}, cwd=folder) as running:
        if started is not None:
            Thread(target=started, args=(running,), daemon=True).start()
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            return running.wait()
        finally:
            running.terminate()
            signal.signal(signal.SIGINT, before)


def command_line(folder: Path, notebook: str, port: int) -> list[str]:
    """The command that starts JupyterLab with this Python, on the loopback address only."""
    return [
        sys.executable, "-m", "jupyterlab", f"--ServerApp.root_dir={folder.resolve()}",
        "--ServerApp.ip=127.0.0.1", f"--ServerApp.port={port}", f"--LabApp.default_url=/lab/tree/{notebook}",
        *(["--allow-root"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []),
    ]  # fmt: skip


def environment(settings: Path) -> dict[str, str]:
    """This process's environment, with quiet defaults for JupyterLab written to `settings`.

    They are a layer below the user's own settings, which stay in force. A kernel of this Python goes before
    one that the user has registered under the same name, which need not have the workbench.
    """
    labconfig = settings / "labconfig"
    labconfig.mkdir(parents=True)
    (labconfig / "default_setting_overrides.json").write_text(json.dumps(QUIET))
    paths = [str(settings), os.environ.get("JUPYTER_CONFIG_PATH", "")]
    return os.environ | {
        "JUPYTER_CONFIG_PATH": os.pathsep.join(path for path in paths if path),
        "JUPYTER_PREFER_ENV_PATH": "1",
    }


FIRST = "00_start.ipynb"
"""The notebook that opens first."""

COPIES = Path("workbench-lab")
"""The folder of a user's copies, if nobody names one."""


def lab(
    memory: Annotated[
        Path | None,
        typer.Option(
            "--memory", "-m", parser=named_folder, help="The memory to index. Default: sample_memory."
        ),
    ] = None,
    notebooks: Annotated[
        Path | None, typer.Option(help="The folder of the notebooks. Default: notebooks.")
    ] = None,
    to: Annotated[
        Path | None,
        typer.Option(
            help="First copy the notebooks and the sample memory to this folder; nothing is overwritten. "
            "Default in a clone, and if there is no notebooks folder here: workbench-lab."
        ),
    ] = None,
    fresh: Annotated[
        bool,
        typer.Option(
            "--fresh",
            help="Begin the lessons anew: copy them to a folder that does not exist yet (workbench-lab, or "
            "--to, with -2, -3, … after it). Your older copies stay.",
        ),
    ] = False,
    port: Annotated[int, typer.Option(parser=port_number, help="The port of JupyterLab.")] = 8888,
    browser: Annotated[bool, typer.Option(help="Whether to open a browser.")] = True,
) -> None:
    """Index the memory and open JupyterLab on the first notebook."""
    from workbench.cli.bundled import MEMORY, NOTEBOOKS, copy_to, unused
    from workbench.memory.files import memory_root

    check_installed("jupyterlab", "JupyterLab")
    if memory is not None:
        memory_root(memory)  # before anything is copied
    if (to is not None or fresh) and notebooks is not None:
        other = "--to" if to is not None else "--fresh"
        raise InputError(f"{other} and --notebooks name two folders of notebooks.", "Give one of them.")
    if to is None and notebooks is None and (Path(".git").exists() or not Path(NOTEBOOKS).is_dir()):
        to = COPIES  # in a clone, a lesson that is run must not change what git tracks
    if fresh:
        to = unused(to or COPIES)
    if to is not None:
        say(str(copy_to(to)))
    here = to or Path()
    folder = notebooks or here / NOTEBOOKS
    check_notebook(folder, FIRST)  # before a minute goes into an index
    print_error(f"Step 1 of 2: indexing {memory or here / MEMORY}. The first time takes a minute or two.")
    # A process of its own gives back the 700 MB of the model before JupyterLab starts.
    if code := serve([sys.executable, "-m", "workbench", "index", str(memory or here / MEMORY)], os.environ):
        raise typer.Exit(code)
    print_error(
        f"Step 2 of 2: starting JupyterLab with {FIRST}, which takes some seconds. Ctrl-C twice ends it."
    )
    raise typer.Exit(launch(folder, FIRST, port, browser))
