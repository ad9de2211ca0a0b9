"""Texts become vectors: the local model, the toy model, providers, and the cache before them."""
