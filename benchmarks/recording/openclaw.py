"""Record what a release of OpenClaw answers about a folder, through the tools of its running gateway.

    python -m benchmarks.recording.openclaw 2026.3.7 OUT.json --folder RELEASES \\
        --workspace sample=sample_memory --questions RECORD.json --node NODE/bin

The release is installed from npm into a folder of its own below RELEASES, and it runs unmodified, with a
state of its own. It needs Node 22 or newer; NODE/bin is put first in PATH. Provider openai is pointed at
`benchmarks.recording.embeddings`. The questions and the arguments are those of another record. The result is
results[workspace][arguments as JSON][question] = rows.
"""

from __future__ import annotations

import argparse
import hashlib
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

import httpx2
from tqdm.auto import tqdm

from benchmarks.recording import questions_of, write
from benchmarks.recording.embeddings import served

TOKEN = "recording"
ARGUMENTS = ({}, {"maxResults": 10, "minScore": 0})
DIGITS = 12
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
        """Install it from npm, unless it is there. No script of a package runs."""
        if (self.folder / "node_modules/openclaw").exists():
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "package.json").write_text(json.dumps(NPM_FOLDER), encoding="utf-8")
        wanted = ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", f"openclaw@{self.version}"]
        subprocess.run(wanted, cwd=self.folder, env=self._path(), check=True)

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


def configuration(workspace: Path, url: str, port: int, tokenizer: str) -> dict[str, Any]:
    """A gateway on this machine, and a memory search that changes nothing while it is asked."""
    search: dict[str, Any] = {
        "provider": "openai",
        "model": "all-MiniLM-L6-v2",
        "remote": {"baseUrl": url, "apiKey": "none"},
        "fallback": "none",
        "sync": {"onSessionStart": False, "onSearch": False, "watch": False},
    }
    if tokenizer:
        search["store"] = {"fts": {"tokenizer": tokenizer}}
    return {
        "gateway": {
            "mode": "local",
            "port": port,
            "bind": "loopback",
            "auth": {"mode": "token", "token": TOKEN},
        },
        "agents": {
            "defaults": {"workspace": str(workspace), "skipBootstrap": True, "memorySearch": search},
        },
    }


@contextmanager
def gateway(release: Release, folder: Path, url: str, tokenizer: str) -> Iterator[str]:
    """The address of a running gateway that has indexed a copy of the folder."""
    with tempfile.TemporaryDirectory() as scratch:
        state, workspace, port = Path(scratch) / "state", Path(scratch) / "workspace", _free_port()
        shutil.copytree(folder, workspace)
        state.mkdir()
        settings = configuration(workspace, url, port, tokenizer)
        (state / "openclaw.json").write_text(json.dumps(settings), encoding="utf-8")
        variables = release.environment(state)
        with (Path(scratch) / "log").open("wb") as log:
            given = {"env": variables, "stdout": log, "stderr": log}
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
    raise RuntimeError(f"{command} failed {TRIES} times")


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def _wait_for(port: int, running: subprocess.Popen[bytes]) -> None:
    for _ in range(int(STARTS_IN / 0.2)):
        if running.poll() is not None:
            raise RuntimeError(f"the gateway ended with {running.returncode}")
        with socket.socket() as one:
            if one.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    raise RuntimeError(f"the gateway did not listen within {STARTS_IN:g} s")


def asked(client: httpx2.Client, question: str, arguments: Mapping[str, Any]) -> Any:
    """The rows of one question, or the tool's error."""
    body = {"tool": "memory_search", "args": {"query": question, **arguments}}
    answer = client.post("/tools/invoke", json=body).json()
    if not answer["ok"]:
        return {"error": answer["error"]["message"]}
    details = answer["result"]["details"]
    if details.get("disabled") or details.get("error"):
        raise RuntimeError(f"{question!r}: {details}")
    return [_row(one) for one in details["results"]]


def _row(result: Mapping[str, Any]) -> list[Any]:
    text = result["snippet"]
    if "citation" in result:
        text = text.removesuffix(f"Source: {result['citation']}")
    digest = hashlib.sha256(text.strip().encode("utf-8", "replace")).hexdigest()[:DIGITS]
    place = [result["path"], result["startLine"], result["endLine"], result["score"], digest]
    return [*place, *(result[leg] for leg in ("vectorScore", "textScore") if leg in result)]


def recorded(
    release: Release, folder: Path, questions: Sequence[str], url: str, tokenizer: str
) -> dict[str, Any]:
    """A folder indexed by the release, and every question asked with each of the ARGUMENTS."""
    headers = {"Authorization": f"Bearer {TOKEN}"}
    with (
        gateway(release, folder, url, tokenizer) as address,
        httpx2.Client(base_url=address, headers=headers, timeout=120) as client,
    ):
        return {
            json.dumps(arguments): {
                one: asked(client, one, arguments) for one in tqdm(questions, disable=None, unit="question")
            }
            for arguments in ARGUMENTS
        }


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.recording.openclaw")
    parser.add_argument("release")
    parser.add_argument("out", type=Path, help="the record to write, .json or .json.gz")
    parser.add_argument("--folder", required=True, type=Path, help="where releases are installed")
    parser.add_argument("--workspace", required=True, action="append", metavar="NAME=FOLDER")
    parser.add_argument(
        "--questions", required=True, type=Path, help="a record that asks the same workspaces"
    )
    parser.add_argument("--node", type=Path, help="a folder to put first in PATH")
    parser.add_argument("--tokenizer", default="", help="store.fts.tokenizer, where the release has it")
    given = parser.parse_args(arguments)
    release = Release(given.release, given.folder / given.release, given.node)
    release.install()
    results = {}
    with served() as server:
        for name, folder in (one.split("=", 1) for one in given.workspace):
            every = list(questions_of(given.questions, name))
            results[name] = recorded(release, Path(folder), every, server.url, given.tokenizer)
    about = {
        "what": "what the memory_search tool of a running OpenClaw gateway returned (POST /tools/invoke)",
        "release": f"openclaw@{given.release} from npm, unmodified",
        "embeddings": "provider openai at a loopback server: all-MiniLM-L6-v2, truncated, a text at a time",
        "row": "path, start line, end line, score, sha256 of the trimmed snippet (12 digits), leg scores",
        "clock": "has no influence",
    }
    write(given.out, {"about": about, "results": results})


if __name__ == "__main__":
    main()
