"""A real Milvus Lite for tests: one file for a test process, and names that no other test uses.

And a server that speaks Milvus's protocol only to refuse every request in one way.
"""

from __future__ import annotations

import itertools
import shutil
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from workbench.memory.index import MemoryIndex
from workbench_plugins.stores.milvus import QUIET, MilvusStore

_numbers = itertools.count()


@contextmanager
def lite() -> Iterator[str]:
    """The address of a file of Milvus Lite, which is open until the end of the block."""
    from milvus_lite.server_manager import server_manager_instance
    from pymilvus import MilvusClient

    folder = Path(tempfile.mkdtemp(prefix="workbench-milvus-"))
    client = MilvusClient(str(folder / "index.db"), grpc_options=QUIET)
    try:
        yield f"milvus://{folder}/index.db"
    finally:
        client.close()
        server_manager_instance.release_server(str(folder / "index.db"))  # else it writes when Python ends
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def locks_in(folder: Path) -> Iterator[None]:
    """Indexing into Milvus holds a lock file in this folder, in place of the user's cache folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORKBENCH_HOME", str(folder))
        yield


def fresh_name(address: str, **options: str) -> str:
    """The address of an index that no other test uses."""
    given = "".join(f"&{key}={value}" for key, value in options.items())
    return f"{address}?name=test_{next(_numbers)}{given}"


def written_out(index: MemoryIndex) -> None:
    """Has Milvus write the chunks to disk. Until then, Milvus Lite counts all words again in each search."""
    store = index.store
    assert isinstance(store, MilvusStore)
    store.client.flush(store.collection("chunks"))


@dataclass
class Refusing:
    """A server's port, and what came with the requests to it: their metadata, such as token and database."""

    port: int
    metadata: list[dict[str, str]] = field(default_factory=list)


@contextmanager
def refusing(code: int, reason: str) -> Iterator[Refusing]:
    """A server that accepts connections, and answers everything else with this error of Milvus."""
    import grpc
    from pymilvus.grpc_gen import common_pb2, milvus_pb2, milvus_pb2_grpc

    class Service(milvus_pb2_grpc.MilvusServiceServicer):  # type: ignore[misc]
        def Connect(self, request: Any, context: Any) -> Any:  # noqa: N802
            return milvus_pb2.ConnectResponse(status=common_pb2.Status())

        def GetVersion(self, request: Any, context: Any) -> Any:  # noqa: N802
            return milvus_pb2.GetVersionResponse(status=common_pb2.Status(), version="v2.6.0")

        def DescribeCollection(self, request: Any, context: Any) -> Any:  # noqa: N802
            made.metadata.append({one.key: str(one.value) for one in context.invocation_metadata()})
            status = common_pb2.Status(code=code, error_code=common_pb2.UnexpectedError, reason=reason)
            return milvus_pb2.DescribeCollectionResponse(status=status)

        HasCollection: Callable[..., Any] = DescribeCollection

    server = grpc.server(ThreadPoolExecutor(2))
    milvus_pb2_grpc.add_MilvusServiceServicer_to_server(Service(), server)
    made = Refusing(server.add_insecure_port("127.0.0.1:0"))
    server.start()
    try:
        yield made
    finally:
        server.stop(None)
