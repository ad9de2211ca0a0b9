"""The store in an SQLite file, with FTS5."""
