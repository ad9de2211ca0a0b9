"""How long clients of `workbench serve --http` wait if one searches, and if eight search at once.

python -m benchmarks.serving [CHUNKS] [CLIENTS]
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from time import perf_counter

import anyio
import numpy as np
from mcp import Client

from benchmarks.speed.corpus import questions, random_text
from benchmarks.speed.ours import RandomEmbedder
from workbench.memory.options import Options
from workbench.memory.sync import index_folder

SEARCHES = 12
"""The number of searches of each client, one after the other."""

SERVER = """
from benchmarks.speed.ours import RandomEmbedder
from pathlib import Path
from workbench_plugins.agent.server import serve_http
from workbench_plugins.agent.tools import AgentTools
serve_http(AgentTools(Path({root!r}), embedder=RandomEmbedder(), index_path=Path({index!r})), port=0)
"""


def write(root: Path, chunks: int) -> None:
    """Notes of about ten chunks of 1,500 characters each."""
    random = np.random.default_rng(1)
    for number in range(chunks // 10):
        file = root / "memory" / f"{number // 100:03}" / f"{number:05}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("\n".join(random_text(random, 12) for _ in range(210)), encoding="utf-8")


@contextmanager
def served(root: Path, index: Path) -> Iterator[str]:
    """The address of a server of this memory in a separate process."""
    command = [sys.executable, "-c", SERVER.format(root=str(root), index=str(index))]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            yield process.stderr.readline().strip()
        finally:
            process.terminate()


def waits(address: str, clients: int) -> list[float]:
    """The seconds of every search, if this many clients search at once."""
    taken: list[float] = []

    async def search(number: int) -> None:
        async with Client(address) as client:
            await client.call_tool("memory_search", {"query": "w130 w140"})
            for question in questions(SEARCHES, seed=number):
                started = perf_counter()
                result = await client.call_tool("memory_search", {"query": question})
                assert not result.is_error, result
                taken.append(perf_counter() - started)

    async def run() -> None:
        async with anyio.create_task_group() as group:
            for number in range(clients):
                group.start_soon(search, number)

    anyio.run(run)
    return taken


def main() -> None:
    chunks = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    clients = int(sys.argv[2]) if len(sys.argv) > 2 else 8
    with tempfile.TemporaryDirectory() as home:
        root, index = Path(home) / "wren", Path(home) / "i.sqlite"
        write(root, chunks)
        summary = index_folder(root, RandomEmbedder(), options=Options(index_path=index))
        with served(root, index) as address:
            waits(address, clients)
            one, many = median(waits(address, 1)), median(waits(address, clients))
    cores = min(os.cpu_count() or 1, clients)
    print(f"{summary.chunks:,} chunks, {cores} cores, median wait:")
    print(f"  one client {one:.3f} s, each of {clients} clients {many:.3f} s")
    print(f"  ratio to {clients} searches shared between the cores: {many / (one * clients / cores):.2f}")


if __name__ == "__main__":
    main()
