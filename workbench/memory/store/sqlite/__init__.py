"""The SQLite store: FTS5, sqlite-vec, atomic rebuilds and the lock."""
