"""The subjects by name, ours first."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.speed.ours import BareNumPy, ThisWorkbench
from benchmarks.speed.peers.bm25s_peer import BM25S
from benchmarks.speed.peers.chroma_peer import Chroma
from benchmarks.speed.peers.faiss_peer import Faiss
from benchmarks.speed.peers.lancedb_peer import LanceDB
from benchmarks.speed.peers.langchain_peer import LangChain
from benchmarks.speed.peers.milvus_peer import Milvus
from benchmarks.speed.peers.postgres_peer import Postgres
from benchmarks.speed.peers.qdrant_peer import Qdrant
from benchmarks.speed.peers.txtai_peer import Txtai
from benchmarks.speed.subject import Subject
from workbench.errors import unknown_name

FLOORS: tuple[type[Subject], ...] = (ThisWorkbench, BareNumPy)
PEERS: tuple[type[Subject], ...] = (
    Txtai,
    LanceDB,
    Milvus,
    Postgres,
    LangChain,
    Qdrant,
    Chroma,
    Faiss,
    BM25S,
)
SUBJECTS = {one.name: one for one in (*FLOORS, *PEERS)}


def chosen(peers: Sequence[str] | None) -> list[type[Subject]]:
    """ThisWorkbench, bare NumPy, and the peers of these names; all peers for None.

    Raises InputError for a name that no peer has.
    """
    known = {one.name: one for one in PEERS}
    for name in peers or ():
        if name not in known:
            raise unknown_name("peer", name, known, f"The peers: {', '.join(known)}.")
    return [*FLOORS, *(PEERS if peers is None else (known[name] for name in dict.fromkeys(peers)))]
