-- The tables of an index file. {dimensions} stands for the length of its vectors.
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE documents (
    id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, source TEXT NOT NULL,
    hash TEXT NOT NULL, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, text TEXT NOT NULL
);
CREATE TABLE chunks (
    id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE,
    document_id INTEGER NOT NULL REFERENCES documents (id),
    start_line INTEGER NOT NULL, end_line INTEGER NOT NULL,
    hash TEXT NOT NULL, text TEXT NOT NULL, read_share REAL NOT NULL
);
CREATE INDEX chunks_by_document ON chunks (document_id);
CREATE INDEX chunks_by_hash ON chunks (hash);
CREATE VIRTUAL TABLE chunks_fts USING fts5 (text, content = 'chunks', content_rowid = 'id');
CREATE VIRTUAL TABLE chunks_vec USING vec0 (
    chunk_id INTEGER PRIMARY KEY, embedding FLOAT[{dimensions}] distance_metric = cosine
);
CREATE TABLE IF NOT EXISTS embedding_cache (
    model TEXT NOT NULL, revision TEXT NOT NULL, role TEXT NOT NULL, hash TEXT NOT NULL,
    vector BLOB NOT NULL, read_share REAL NOT NULL,
    PRIMARY KEY (model, revision, role, hash)
) WITHOUT ROWID;
