"""What this project recommends: the system `recommended`, the reranker `late`, and a reliability test."""
