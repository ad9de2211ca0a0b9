"""Cases: a failure of memory search as one file, which can be run, redacted, shrunk and reported."""
