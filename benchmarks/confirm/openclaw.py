"""A released OpenClaw on this machine: a gateway in a home of its own, which is asked over HTTP.

Provider openai is pointed at `benchmarks.confirm.embeddings`. A release needs the Node that its
package names; a folder with another one can be put first in PATH.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.errors import InputError

TOKEN = "recording"
NEWER_FORM = ("2026.9.", "2026.10.", "2026.11.", "2026.12.", "2027.")
STARTS_IN = 300.0
TRIES = 3
"""How often an index is tried: a request can time out on a busy machine, and the server keeps the vectors."""
NPM_FOLDER = {"private": True, "overrides": {"libsignal": "6.0.0"}}
"""A dependency of a messenger names libsignal by its repository; the package of that name takes its place."""


@dataclass(frozen=True)
class Release:
    """An installed release: where it is, and the variables under which it runs."""

    version: str
    folder: Path
    node: Path | None = None

    def install(self) -> None:
        """Install it from npm, unless it is there. No script of a package runs.

        Raises CalledProcessError, with npm's messages, if npm fails.
        """
        if (self.folder / "node_modules/openclaw").exists():
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "package.json").write_text(json.dumps(NPM_FOLDER), encoding="utf-8")
        wanted = ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", f"openclaw@{self.version}"]
        subprocess.run(wanted, cwd=self.folder, env=self._path(), check=True, capture_output=True, text=True)

    def command(self, *arguments: str) -> list[str]:
        return ["node", str(self.folder / "node_modules/openclaw/openclaw.mjs"), *arguments]

    def environment(self, state: Path) -> dict[str, str]:
        """The variables of a process whose state is in a folder of its own."""
        return {
            **self._path(),
            "HOME": str(state),
            "OPENCLAW_STATE_DIR": str(state),
            "OPENCLAW_CONFIG_PATH": str(state / "openclaw.json"),
            "OPENCLAW_SKIP_CHANNELS": "1",
        }

    def _path(self) -> dict[str, str]:
        first = [str(self.node)] if self.node else []
        return {"PATH": os.pathsep.join([*first, os.environ["PATH"]]), "HOME": os.environ["HOME"]}


def configuration(workspace: Path, url: str, port: int, tokenizer: str, version: str) -> dict[str, Any]:
    """A gateway on this machine, and a memory search that changes nothing while it is asked.

    The settings of the search are an agent's before 2026.9, and `memory.search` since then.
    """
    search: dict[str, Any] = {
        "provider": "openai",
        "model": "all-MiniLM-L6-v2",
        "remote": {"baseUrl": url, "apiKey": "none"},
        "fallback": "none",
    }
    if tokenizer:
        search["store"] = {"fts": {"tokenizer": tokenizer}}
    newer = version.startswith(NEWER_FORM)
    if not newer:
        search["sync"] = {"onSessionStart": False, "onSearch": False, "watch": False}
    agent = {"workspace": str(workspace), "skipBootstrap": True}
    return {
        "gateway": {
            "mode": "local",
            "port": port,
            "bind": "loopback",
            "auth": {"mode": "token", "token": TOKEN},
        },
        "agents": {"defaults": {**agent, **({} if newer else {"memorySearch": search})}},
        **({"memory": {"search": search}} if newer else {}),
    }


@contextmanager
def gateway(release: Release, folder: Path, url: str, tokenizer: str) -> Iterator[str]:
    """The address of a running gateway that has indexed a copy of the folder."""
    with tempfile.TemporaryDirectory() as scratch:
        state, workspace, port = Path(scratch) / "state", Path(scratch) / "workspace", _free_port()
        shutil.copytree(folder, workspace)
        state.mkdir()
        settings = configuration(workspace, url, port, tokenizer, release.version)
        (state / "openclaw.json").write_text(json.dumps(settings), encoding="utf-8")
        with (Path(scratch) / "log").open("wb") as log:
            given: dict[str, Any] = {"env": release.environment(state), "stdout": log, "stderr": log}
            _index(release.command("memory", "index", "--force"), given)
            running = subprocess.Popen(release.command("gateway", "run"), start_new_session=True, **given)
            try:
                _wait_for(port, running)
                yield f"http://127.0.0.1:{port}"
            finally:
                os.killpg(running.pid, signal.SIGTERM)
                running.wait(timeout=60)


def _index(command: Sequence[str], given: Mapping[str, Any]) -> None:
    for _ in range(TRIES):
        if subprocess.run(command, check=False, **given).returncode == 0:
            return
    raise InputError(f"OpenClaw failed {TRIES} times to index the notes.", "Run it with another --node.")


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def _wait_for(port: int, running: subprocess.Popen[bytes]) -> None:
    for _ in range(int(STARTS_IN / 0.2)):
        if running.poll() is not None:
            raise InputError(f"The gateway ended with {running.returncode}.", "Run it with another --node.")
        with socket.socket() as one:
            if one.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    raise InputError(f"The gateway did not listen within {STARTS_IN:g} s.", "Try again.")


@contextmanager
def asking(address: str) -> Iterator[Any]:
    """A client of a running gateway."""
    import httpx2

    headers = {"Authorization": f"Bearer {TOKEN}"}
    with httpx2.Client(base_url=address, headers=headers, timeout=120) as client:
        yield client


def results(client: Any, question: str, arguments: Mapping[str, Any]) -> Any:
    """The results of memory_search, or the tool's error as a mapping with the key `error`."""
    body = {"tool": "memory_search", "args": {"query": question, **arguments}}
    answer = client.post("/tools/invoke", json=body).json()
    if not answer["ok"]:
        return {"error": answer["error"]["message"]}
    details = answer["result"]["details"]
    if details.get("disabled") or details.get("error"):
        raise InputError(f"OpenClaw cannot search for {question!r}: {details}.", "Look at the release's log.")
    return details["results"]
