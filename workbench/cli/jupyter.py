"""Starts JupyterLab on a notebook, without questions and news."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from workbench.cli.output import flush
from workbench.errors import InputError

QUIET = {
    # No question about news on the first start, and no call to anywhere.
    "@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False},
}


def check() -> None:
    """Raises InputError when JupyterLab is not installed."""
    if importlib.util.find_spec("jupyterlab") is None:
        raise InputError(
            "JupyterLab is not installed.",
            "Install it with the workbench: pip install 'hybrid-search-workbench[lab]', "
            "or in a clone pip install -e '.[lab]'",
        )


def check_notebook(folder: Path, notebook: str) -> None:
    """Raises InputError when the notebook is not in the folder."""
    if not (folder / notebook).is_file():
        raise InputError(
            f"There is no notebook {folder / notebook}.",
            "Copy the notebooks: workbench lab --to FOLDER; or name their folder: --notebooks FOLDER",
        )


def launch(folder: Path, notebook: str, port: int, browser: bool) -> int:
    """Runs JupyterLab in `folder` with `notebook` open until it ends; returns its exit code.

    Raises InputError when the notebook is missing.
    """
    check_notebook(folder, notebook)
    with tempfile.TemporaryDirectory() as settings:
        command = [*command_line(folder, notebook, port), *([] if browser else ["--no-browser"])]
        return serve(command, environment(Path(settings)))


def index_apart(memory: Path) -> int:
    """Runs `workbench index` in a process of its own; returns its exit code.

    The model takes 700 MB. They are free again before JupyterLab starts, which may run for days.
    """
    return serve([sys.executable, "-m", "workbench", "index", str(memory)], os.environ)


def serve(command: list[str], variables: Mapping[str, str]) -> int:
    """Runs a command until it ends, or until this process is ended; returns its exit code.

    An interrupt is the command's alone: a terminal sends it to both, and JupyterLab asks whether it is meant.
    """
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    flush()
    with subprocess.Popen(command, env=variables) as running:
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
