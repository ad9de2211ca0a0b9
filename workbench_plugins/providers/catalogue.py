"""Embedding models behind an API: OpenAI and compatible servers, Gemini, Voyage and Ollama.

An index stores its model and the model's address, and never switches to another one silently. Keys come from
the environment; they are not printed and not stored. Source: openclaw 2026.2.13, src/memory/embeddings.ts.
"""

from __future__ import annotations

from collections.abc import Mapping

from workbench.errors import InputError
from workbench.memory.embedding.named import EmbedderKind
from workbench.registry import register
from workbench_plugins.providers.clients import GEMINI, OLLAMA, OPENAI, VOYAGE, Access
from workbench_plugins.providers.embedder import Provider, RemoteEmbedder, ollama_host

AUTO = "auto"

PROVIDERS: Mapping[str, Provider] = {
    one.name: one
    for one in (
        Provider(
            "openai", "text-embedding-3-small", OPENAI, "https://api.openai.com/v1",
            "OPENAI_BASE_URL", ("OPENAI_API_KEY",), texts=2048,
        ),
        Provider(
            "gemini", "gemini-embedding-001", GEMINI, "https://generativelanguage.googleapis.com",
            "GOOGLE_GEMINI_BASE_URL", ("GEMINI_API_KEY", "GOOGLE_API_KEY"), texts=100,
        ),
        Provider(
            "voyage", "voyage-4-large", VOYAGE, "https://api.voyageai.com/v1",
            "VOYAGE_BASE_URL", ("VOYAGE_API_KEY",), texts=128,
        ),
        Provider(
            "ollama", "nomic-embed-text", OLLAMA, "http://127.0.0.1:11434",
            "OLLAMA_HOST", ("OLLAMA_API_KEY",), texts=2048, needs_key=False, completed=ollama_host,
        ),
    )
}  # fmt: skip

AUTOMATIC = ("openai", "gemini", "voyage")
"""The order in which `auto` looks for a key."""


def provider_embedder(name: str) -> RemoteEmbedder:
    """The embedder `provider/model`, a provider's usual model, or `auto`.

    `@256` after a model requests that many dimensions. `auto`, also before a model, is the first of OpenAI,
    Gemini and Voyage whose key is in the environment. Raises InputError for `auto` when there is no key; the
    key of a named provider is checked when it is first used.
    """
    provider, _, model = name.partition("/")
    chosen = _first_with_key() if provider == AUTO else PROVIDERS[provider]
    return remote_embedder(chosen, model)


def remote_embedder(provider: Provider, model: str = "") -> RemoteEmbedder:
    """A provider's model; `@256` after its name requests that many dimensions.

    Raises InputError for dimensions that are not a number.
    """
    model, at, output = (model or provider.model).partition("@")
    if at and not (output.isascii() and output.isdigit() and int(output) > 0):
        raise InputError(
            f"The dimensions in {provider.name}/{model}@{output} are not a number above 0.",
            f"For example: {provider.name}/{model}@256",
        )
    access = Access(provider.url, provider.key, model, int(output) if at else None)
    return RemoteEmbedder(provider, access)


def _first_with_key() -> Provider:
    for name in AUTOMATIC:
        if PROVIDERS[name].key:
            return PROVIDERS[name]
    variables = [variable for name in AUTOMATIC for variable in PROVIDERS[name].key_variables]
    raise InputError(
        f"`auto` finds no provider: none of {', '.join(variables)} is set.",
        "Set one, or name a model: --model all-MiniLM-L6-v2 needs no key.",
    )


def remembered(name: str, revision: str, dimensions: int) -> RemoteEmbedder:
    """The embedder that made an index.

    Raises InputError when the provider now has another address: the questions would go to another place than
    the texts did, and perhaps to another model of the same name.
    """
    provider = PROVIDERS[name.partition("/")[0]]
    then = revision.partition(" ")[0]
    if provider.url != then:
        raise InputError(
            f"The index was made with {name} at {then}; {provider.url_variable} now means {provider.url}.",
            f"If you trust the old address: export {provider.url_variable}={then}",
        )
    embedder = remote_embedder(provider, name.partition("/")[2])
    embedder.dimensions = dimensions
    return embedder


register(*(EmbedderKind(name, provider_embedder, remembered) for name in (*PROVIDERS, AUTO)))
