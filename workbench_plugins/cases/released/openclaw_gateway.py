"""A released OpenClaw on this machine: a gateway in a home of its own, which is asked over HTTP.

Provider openai is pointed at the server in `embeddings.py`.
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
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from workbench.errors import InputError
from workbench_plugins.cases.released.installing import Installed, settings
from workbench_plugins.cases.released.release_answers import Ask

TOKEN = "recording"
NEWER_FORM = ("2026.9.", "2026.10.", "2026.11.", "2026.12.", "2027.")
STARTS_IN = 300.0
ANSWERS_IN = 120.0
TRIES = 3
"""How often an index is tried: a request can time out on a busy machine, and the server keeps the vectors."""


def command(installed: Installed, *arguments: str) -> list[str]:
    """What runs an installed release with these arguments."""
    return ["node", str(installed.folder / "node_modules/openclaw/openclaw.mjs"), *arguments]


def environment(installed: Installed, state: Path) -> dict[str, str]:
    """The variables of a process whose state is in a folder of its own."""
    first = [str(installed.node_folder)] if installed.node_folder else []
    return {
        "PATH": os.pathsep.join([*first, os.environ["PATH"]]),
        "HOME": str(state),
        "OPENCLAW_STATE_DIR": str(state),
        "OPENCLAW_CONFIG_PATH": str(state / "openclaw.json"),
        "OPENCLAW_SKIP_CHANNELS": "1",
    }


def configuration(workspace: Path, url: str, port: int, tokenizer: str, version: str) -> dict[str, Any]:
    """A gateway on this machine, and a memory search that changes nothing while it is asked.

    The settings of the search are an agent's before 2026.9, and `memory.search` since then.
    """
    told = settings("openclaw")
    search = {**told["search"], "remote": {"baseUrl": url, "apiKey": "none"}}
    if tokenizer:
        search["store"] = {"fts": {"tokenizer": tokenizer}}
    agent: dict[str, Any] = {"workspace": str(workspace), "skipBootstrap": True}
    newer = version.startswith(NEWER_FORM)
    if not newer:
        agent["memorySearch"] = {**search, "sync": told["sync"]}
    return {
        "gateway": {**told["gateway"], "port": port, "auth": {"mode": "token", "token": TOKEN}},
        "agents": {"defaults": agent},
        **({"memory": {"search": search}} if newer else {}),
    }


@contextmanager
def running(installed: Installed, folder: Path, url: str, tokenizer: str = "") -> Iterator[Ask]:
    """A gateway that has indexed a copy of the folder; its tool memory_search returns rows or an error.

    `url` is the server of vectors, and `tokenizer` that of the keyword index, where the release has the
    setting.
    """
    with tempfile.TemporaryDirectory() as scratch:
        state, workspace, port = Path(scratch) / "state", Path(scratch) / "workspace", _free_port()
        shutil.copytree(folder, workspace)
        state.mkdir()
        settings = configuration(workspace, url, port, tokenizer, installed.version)
        (state / "openclaw.json").write_text(json.dumps(settings), encoding="utf-8")
        with (Path(scratch) / "log").open("wb") as log:
            # In a folder of its own: the release reads settings of the current one.
            given: dict[str, Any] = {"env": environment(installed, state), "cwd": scratch}
            given |= {"stdout": log, "stderr": log}
            _index(command(installed, "memory", "index", "--force"), given)
            gateway = subprocess.Popen(command(installed, "gateway", "run"), start_new_session=True, **given)
            try:
                _wait_for(port, gateway)
                yield partial(_results, f"http://127.0.0.1:{port}")
            finally:
                os.killpg(gateway.pid, signal.SIGTERM)
                gateway.wait(timeout=60)


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


def _wait_for(port: int, gateway: subprocess.Popen[bytes]) -> None:
    for _ in range(int(STARTS_IN / 0.2)):
        if gateway.poll() is not None:
            raise InputError(f"The gateway ended with {gateway.returncode}.", "Run it with another --node.")
        with socket.socket() as one:
            if one.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    raise InputError(f"The gateway did not listen within {STARTS_IN:g} s.", "Try again.")


def _results(address: str, question: str, **arguments: Any) -> Any:
    """The results of memory_search, or the tool's error as a mapping with the key `error`."""
    body = {"tool": "memory_search", "args": {"query": question, **arguments}}
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    asked = urllib.request.Request(f"{address}/tools/invoke", json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(asked, timeout=ANSWERS_IN) as response:
            answer = json.load(response)
    except urllib.error.HTTPError as error:  # an error of the tool is an answer, too
        answer = json.load(error)
    if not answer["ok"]:
        return {"error": answer["error"]["message"]}
    details = answer["result"]["details"]
    if details.get("disabled") or details.get("error"):
        raise InputError(f"OpenClaw cannot search for {question!r}: {details}.", "Look at the release's log.")
    return details["results"]
