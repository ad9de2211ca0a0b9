"""Indexes on a server: PostgreSQL and Milvus, and work on a Dask cluster."""
