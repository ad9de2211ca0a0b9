"""QMD: BM25 and vectors over whole files, expanded questions, rank fusion with a bonus, and a blend."""
