"""Hybrid searches that people run in PostgreSQL, with its own full-text search."""
