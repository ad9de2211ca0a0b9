"""A stranger's package: a system, a fusion, a reranker, a store and a widget, one file each."""
