"""Results of other engines."""
