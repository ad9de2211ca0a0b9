"""Vectors of texts: the local model, a toy one, and the cache."""
