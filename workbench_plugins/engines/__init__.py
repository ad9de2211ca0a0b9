"""How other search engines fuse two lists, products as people run them, and the museum of public bugs."""

from __future__ import annotations

from workbench.registry import declare

declare(
    "workbench_plugins.engines.presets",
    system=(
        "engine-rrf-60 engine-qdrant-k2 engine-weaviate-relative engine-qdrant-dbsf "
        "engine-haystack-dbsf engine-tm2c2 engine-combmnz engine-opensearch-harmonic"
    ),
)
declare("workbench_plugins.engines.lists", index="lists")
declare(
    "workbench_plugins.engines.shipped",
    system=(
        "langchain-ensemble open-webui-hybrid llamaindex-simple llamaindex-rrf llamaindex-relative "
        "llamaindex-dist-based mem0-search graphiti-rrf graphiti-rrf+k60 txtai-rrf weaviate-relative "
        "weaviate-ranked weaviate-max-distance elasticsearch-rrf elasticsearch-linear opensearch-minmax "
        "opensearch-rrf qdrant-rrf qdrant-rrf+k60 qdrant-dbsf azure-hybrid anythingllm "
        "dify-hybrid dify-hybrid-recall50"
    ),
)
declare("workbench_plugins.engines.museum", museum="specimens")
declare("workbench_plugins.engines.widget", "lab", widget="FusionLab")
declare(
    "workbench_plugins.engines.specimens",
    specimen=(
        "openclaw-and-join mulder-silent-syntax-error mem0-semantic-gate "
        "score-depends-on-size qdrant-fusion-per-shard qdrant-grouping-widens-the-pool "
        "openclaw-unreachable-floor threshold-on-rrf-scale qdrant-local-threshold floor-before-squash "
        "openviking-fill-below-floor agentmemory-token-budget openclaw-clamped-bm25 qmd-upside-down "
        "fts5-idf-floor weaviate-single-hit haystack-dbsf-zero lancedb-inverted lancedb-absence-rewarded "
        "txtai-half-penalty memory-lancedb-pro-unweighted-branch qmd-blend-floor metronix-constant-score "
        "llamaindex-weights-ignored qdrant-k2 tarsy-credit-for-absence typesense-tied-ranks "
        "langchain-duplicate-chunks"
    ),
)
declare(
    "workbench_plugins.engines.stored",
    specimen=(
        "openclaw-prefix-left-out open-webui-query-prefix vllm-silent-pooling "
        "statewave-mixed-models llm-swift-unnormalised second-brain-stale-vector "
        "second-brain-vector-deleted uteke-parallel-writes kb-mcp-filter-on-one-leg "
        "qdrant-quantised-without-rescoring hindsight-simple-for-chinese codemode-nfd "
        "pgedge-ids-never-merge mem0-distance-as-similarity mem0-distance-clamped "
        "mem0-euclidean-below-zero agentmemory-softmax-of-one qmd-two-sigmoids mem0-rerank-min-max "
        "mem0-cut-before-rerank graphiti-threshold-before-rerank minisearch-rerank-characters "
        "openviking-threshold-of-logits qmd-expansion-loses-the-word graphiti-k-of-one "
        "weaviate-page-two qmd-filter-after-top-k arcana-rank-without-match textstack-ties-in-sql "
        "dify-title-in-the-first-chunk"
    ),
)
