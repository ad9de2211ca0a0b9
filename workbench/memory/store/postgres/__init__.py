"""An index in PostgreSQL, with full-text search by tsvector and vectors by pgvector."""
