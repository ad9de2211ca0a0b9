"""Indexes on a server: PostgreSQL and Milvus, and work on a Dask cluster."""

from __future__ import annotations

from workbench.registry import declare

declare("workbench_plugins.stores.cluster", "cluster", work="cluster")
