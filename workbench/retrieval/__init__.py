"""From a question to a trace: query, legs, scores, fusion, cut-offs, and the explanation."""
