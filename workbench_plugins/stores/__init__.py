"""Indexes on a server: PostgreSQL and Milvus, and work on a Dask cluster."""

from __future__ import annotations

from workbench.registry import declare, has_guest

declare("workbench_plugins.stores.postgres", "postgres", store="postgresql postgres")
declare("workbench_plugins.stores.milvus", "milvus", store="milvus milvus+tls")
if has_guest("engines"):
    declare(
        "workbench_plugins.stores.pipelines",
        server_system=(
            "pgvector-rrf pgvector-rrf+or langchain-pgvector langchain-pgvector-rrf milvus-rrf "
            "milvus-weighted"
        ),
    )
declare("workbench_plugins.stores.cluster", "cluster", work="cluster")
