"""A folder becomes an index: files, chunks, vectors, and the one store that keeps them."""
