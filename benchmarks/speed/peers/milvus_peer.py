"""Milvus Lite: its BM25 function and an exact vector search, fused by its RRFRanker."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.speed.corpus import DIMENSIONS, Asked, Corpus
from benchmarks.speed.ours import HYBRID
from benchmarks.speed.subject import DEPTH, Ask, Subject, library
from workbench_plugins.stores.milvus import QUIET

AT_ONCE = 1_000
LONGEST_TEXT = 65_535


class Milvus(Subject):
    """A file of Milvus Lite, which is served by threads of this process."""

    name = "Milvus Lite"
    needs = ("pymilvus", "milvus_lite")
    extra = "milvus"

    def build(self, corpus: Corpus, folder: Path) -> None:
        self._connect(folder)
        client, types = self.client, self.milvus.DataType
        schema = client.create_schema(auto_id=False)
        schema.add_field("id", types.INT64, is_primary=True)
        schema.add_field("text", types.VARCHAR, max_length=LONGEST_TEXT, enable_analyzer=True)
        schema.add_field("dense", types.FLOAT_VECTOR, dim=DIMENSIONS)
        schema.add_field("sparse", types.SPARSE_FLOAT_VECTOR)
        bm25 = self.milvus.FunctionType.BM25
        schema.add_function(self.milvus.Function("bm25", bm25, ["text"], ["sparse"]))
        indexes = client.prepare_index_params()
        indexes.add_index("dense", index_type="FLAT", metric_type="COSINE")
        indexes.add_index("sparse", index_type="SPARSE_INVERTED_INDEX", metric_type="BM25")
        client.create_collection("chunks", schema=schema)
        client.create_index("chunks", indexes, sync=False)
        for start in range(0, corpus.chunks, AT_ONCE):
            places = range(start, min(corpus.chunks, start + AT_ONCE))
            rows = [{"id": one, "text": corpus.texts[one], "dense": corpus.vectors[one]} for one in places]
            client.insert("chunks", rows)
        client.flush("chunks")
        client.load_collection("chunks")

    def open(self, folder: Path) -> None:
        self._connect(folder)
        self.client.load_collection("chunks")

    def _connect(self, folder: Path) -> None:
        self.milvus = library("pymilvus")
        self.servers = library("milvus_lite.server_manager").server_manager_instance
        self.file = str(folder / "milvus.db")
        self.client: Any = self.milvus.MilvusClient(self.file, grpc_options=QUIET)

    @property
    def asks(self) -> Mapping[str, Ask]:
        return {HYBRID: self._hybrid}

    def _hybrid(self, asked: Asked) -> Any:
        request = self.milvus.AnnSearchRequest
        near = request([asked.vector], "dense", {"metric_type": "COSINE"}, limit=DEPTH)
        words = request([asked.text], "sparse", {"metric_type": "BM25"}, limit=DEPTH)
        fused = self.milvus.RRFRanker()
        return self.client.hybrid_search("chunks", [near, words], fused, DEPTH, output_fields=["text"])

    def close(self) -> None:
        self.client.close()
        self.servers.release_server(self.file)
