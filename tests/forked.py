"""Processes that start fast: forks of one process that has imported the libraries that are slow to import.

A new Python takes seconds for that. A fork has them, and nothing else: it has imported no module of the
workbench, and its environment, folder and output are its own.
"""

from __future__ import annotations

import atexit
import os
import runpy
import sys
from collections.abc import Mapping, Sequence
from multiprocessing import get_context
from pathlib import Path
from subprocess import CompletedProcess
from tempfile import TemporaryDirectory
from typing import Any

from jupyter_client.manager import AsyncKernelManager
from jupyter_client.provisioning import LocalProvisioner

HEAVY = [
    "ipykernel.kernelapp", "ipywidgets", "pandas", "scipy.stats", "typer", "pydantic.types", "rich.markup",
    "rich.table", "rich.syntax", "rich.markdown", "yaml", "ir_measures", "openvino", "tokenizers",
    "sentence_transformers",
]  # fmt: skip

CONTEXT = get_context("forkserver")
CONTEXT.set_forkserver_preload(HEAVY)


def module(name: str, words: Sequence[str], folder: Path, variables: Mapping[str, str]) -> None:
    """Becomes `python -m NAME WORDS` in that folder, with these environment variables, and ends like it."""
    os.setsid()
    os.environ.clear()
    os.environ.update(variables)
    os.chdir(folder)
    sys.path[:0] = variables.get("PYTHONPATH", "").split(os.pathsep)
    sys.argv = [name, *words]
    try:
        runpy.run_module(name, run_name="__main__", alter_sys=True)
    finally:
        atexit._run_exitfuncs()  # a fork ends without them
        sys.stdout.flush()


def printing(out: Path, errors: Path, *arguments: Any) -> None:
    """`module`, whose output goes to these files."""
    for file, stream in ((out, sys.stdout), (errors, sys.stderr)):
        with file.open("w") as opened:
            os.dup2(opened.fileno(), stream.fileno())
    module(*arguments)


def run(*arguments: Any, timeout: float) -> CompletedProcess[str]:
    """Runs `module` in a fork until it ends; with its exit code and its output."""
    with TemporaryDirectory() as kept:
        files = [Path(kept) / name for name in ("out", "errors")]
        process = CONTEXT.Process(target=printing, args=(*files, *arguments))
        process.start()
        process.join(timeout)
        if process.exitcode is None:
            process.kill()
        process.join()
        out, errors = (file.read_text(encoding="utf-8") for file in files)
    return CompletedProcess(arguments, process.exitcode or 0, out, errors)


def kernel(words: Sequence[str], folder: str, variables: Mapping[str, str]) -> None:
    """Becomes a kernel of IPython, which ends when the process that it is forked from ends."""
    ends_with = f"--IPKernelApp.parent_handle={os.getppid()}"
    module("ipykernel_launcher", [*words, ends_with], Path(folder), variables)


class Kernel:
    """A fork that is a kernel, as jupyter_client expects a process to be."""

    stdin = stdout = stderr = None

    def __init__(self, *arguments: Any) -> None:
        self.process = CONTEXT.Process(target=kernel, args=arguments)
        self.process.start()

    @property
    def pid(self) -> int | None:
        return self.process.pid

    def poll(self) -> int | None:
        return self.process.exitcode

    def wait(self) -> int | None:
        self.process.join()
        return self.process.exitcode

    def send_signal(self, number: int) -> None:
        if self.pid and self.poll() is None:
            os.kill(self.pid, number)


class Provisioner(LocalProvisioner):
    """Starts a kernel as a fork. Signals go to it alone: at first its process group is that of the tests."""

    async def launch_kernel(self, cmd: list[str], **settings: Any) -> Any:
        python, _, launcher, *words = cmd
        assert (python, launcher) == (sys.executable, "ipykernel_launcher")
        self.process = Kernel(words, settings["cwd"], settings["env"])
        self.pid, self.cwd = self.process.pid, settings["cwd"]
        return self.connection_info


class ForkedKernels(AsyncKernelManager):
    """Starts its kernel as a fork."""

    async def _async_pre_start_kernel(self, **settings: Any) -> Any:
        self.provisioner = Provisioner(parent=self, kernel_id=self.kernel_id, kernel_spec=self.kernel_spec)
        return await super()._async_pre_start_kernel(**settings)

    pre_start_kernel = _async_pre_start_kernel
