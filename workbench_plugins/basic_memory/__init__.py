"""Basic Memory's hybrid search, release by release."""

from __future__ import annotations

from workbench.registry import declare, has_guest

declare(
    "workbench_plugins.basic_memory.pipelines",
    system=(
        "bm-rrf bm-dead-fts bm-dead-fts+punctuation bm-994-ungated bm-994-gated bm-cjk-regress "
        "bm-cjk-regress-one-match bm-head bm-head+min-0 bm-0.24.1"
    ),
    line="Basic-Memory",
    handful="bm-head",
)
if has_guest("stores") and has_guest("engines"):
    declare(
        "workbench_plugins.basic_memory.postgres",
        "postgres",
        server_system=(
            "bm-pg-before-994 bm-pg-994-ungated bm-pg-994-gated bm-pg-1022 bm-pg-head bm-pg-0.23.2 "
            "bm-pg-0.24.1"
        ),
    )
declare("workbench_plugins.basic_memory.query", kept_words="basic_memory")
if has_guest("engines"):
    declare(
        "workbench_plugins.basic_memory.specimens",
        specimen=(
            "basic-memory-dead-full-text basic-memory-ungated-relaxation basic-memory-title-buries-body "
            "basic-memory-possessive-s basic-memory-non-latin-never-relaxed basic-memory-diluted-score"
        ),
    )
