-- The tables of an index. Names in braces stand for the schema, the text search configuration and the length of vectors.
-- PostgreSQL's text cannot hold the character NUL. Such a text is stored without it, for searching, and exactly as it is in
-- the column exact.
CREATE TABLE {schema}.meta (key text PRIMARY KEY, value text NOT NULL);
CREATE TABLE {schema}.documents (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, path text NOT NULL UNIQUE, source text NOT NULL,
    hash text NOT NULL, size bigint NOT NULL, mtime_ns bigint NOT NULL, text text NOT NULL, exact bytea
);
CREATE TABLE {schema}.chunks (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, key text NOT NULL UNIQUE,
    document_id bigint NOT NULL REFERENCES {schema}.documents (id) ON DELETE CASCADE,
    start_line bigint NOT NULL, end_line bigint NOT NULL,
    hash text NOT NULL, text text NOT NULL, exact bytea, read_share double precision NOT NULL,
    words tsvector GENERATED ALWAYS AS (to_tsvector({config}::regconfig, text)) STORED,
    embedding vector({dimensions}) NOT NULL
);
CREATE INDEX ON {schema}.chunks (document_id);
CREATE INDEX ON {schema}.chunks USING gin (words);
CREATE TABLE {schema}.embedding_cache (
    model text NOT NULL, revision text NOT NULL, role text NOT NULL, hash text NOT NULL,
    vector bytea NOT NULL, read_share double precision NOT NULL,
    PRIMARY KEY (model, revision, role, hash)
);
