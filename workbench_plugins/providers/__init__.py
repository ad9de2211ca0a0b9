"""Embedding models behind an API: OpenAI-compatible servers, Gemini, Voyage and Ollama."""
