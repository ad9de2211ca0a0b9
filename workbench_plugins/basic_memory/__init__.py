"""Basic Memory's hybrid search, release by release."""
