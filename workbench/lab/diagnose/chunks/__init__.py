"""Other sizes of chunks: the memory is indexed again for a moment, and the same search is run."""
