"""A question becomes a trace: query, legs, scores, fusion, cut-offs, in the order of the files."""
