"""What this project recommends: the pipeline `recommended`, and the bug report's fixes with a threshold."""
