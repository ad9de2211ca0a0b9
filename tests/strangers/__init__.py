"""A stranger's package: a system, a fusion, a reranker, a store, a widget and a command, one file each."""
