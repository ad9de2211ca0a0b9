"""OpenClaw's memory settings, resolved as OpenClaw does it: defaults, ranges, and overrides of an agent.

The fields, their defaults and their ranges are those of openclaw 2026.2.13, src/agents/memory-search.ts;
fields that later releases added say so. Null means absent.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

from workbench.memory.embedding.providers.catalogue import PROVIDERS


def _whole(value: Any) -> Any:
    """JavaScript has one type of number: 1e5 is the integer 100000."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _floored(value: Any) -> Any:
    return math.floor(value) if isinstance(value, float) and math.isfinite(value) else value


def _share(value: float) -> float:
    return min(1.0, max(0.0, value))


def _multiplier(value: float) -> int:
    return min(20, max(1, math.floor(value)))


Share = Annotated[float, AfterValidator(_share)]
Count = Annotated[int, BeforeValidator(_whole), Field(ge=0)]
Positive = Annotated[int, BeforeValidator(_whole), Field(ge=1)]
Floored = Annotated[int, BeforeValidator(_floored)]


class Part(BaseModel):
    """A part of the settings: keys are in camel case, types are strict, and unknown keys are errors."""

    model_config = ConfigDict(
        alias_generator=to_camel, allow_inf_nan=False, extra="forbid", frozen=True, strict=True
    )

    @model_validator(mode="before")
    @classmethod
    def _present(cls, given: Any) -> Any:
        """Removes null values."""
        if not isinstance(given, Mapping):
            return given
        return {key: value for key, value in given.items() if value is not None}


class Batch(Part):
    """The provider's batch API."""

    enabled: bool = False
    wait: bool = True
    concurrency: Positive = 2
    poll_interval_ms: Count = 2000
    timeout_minutes: Positive = 60


class Remote(Part):
    """The address of the provider, its key, and options of the requests."""

    base_url: str | None = None
    api_key: Any = Field(default=None, repr=False)
    headers: dict[str, str] | None = Field(default=None, repr=False)
    batch: Batch = Batch()


class Local(Part):
    """A GGUF model on this machine."""

    model_path: str | None = None
    model_cache_dir: str | None = None


class Vector(Part):
    """The table of vectors."""

    enabled: bool = True
    extension_path: str | None = None


class FullText(Part):
    """The full-text table, since about 2026.3.29."""

    tokenizer: Literal["unicode61", "trigram"] = "unicode61"


class StoreSettings(Part):
    """OpenClaw's own index file; `{agentId}` in its path stands for the agent."""

    driver: Literal["sqlite"] = "sqlite"
    path: str | None = None
    vector: Vector = Vector()
    fts: FullText = FullText()


class Chunking(Part):
    """How documents are cut; an overlap is less than a chunk."""

    tokens: Positive = 400
    overlap: Annotated[int, BeforeValidator(_whole)] = 80

    @model_validator(mode="after")
    def _advances(self) -> Chunking:
        within = min(self.tokens - 1, max(0, self.overlap))
        return self if within == self.overlap else self.model_copy(update={"overlap": within})


class SessionSettings(Part):
    """How much a transcript grows before it is indexed again; `postCompactionForce` came later."""

    delta_bytes: Count = 100_000
    delta_messages: Count = 50
    post_compaction_force: bool = True


class Sync(Part):
    """When the index is brought up to date."""

    on_session_start: bool = True
    on_search: bool = True
    watch: bool = True
    watch_debounce_ms: Count = 1500
    interval_minutes: Count = 0
    sessions: SessionSettings = SessionSettings()


class Diversity(Part):
    """MMR, since 2026.2.15."""

    enabled: bool = False
    lambda_: Share = Field(default=0.7, alias="lambda")


class Decay(Part):
    """Temporal decay, since 2026.2.15."""

    enabled: bool = False
    half_life_days: Annotated[float, Field(gt=0)] = 30


class Hybrid(Part):
    """How two legs become one score. Weights are scaled to sum to 1; two zeros mean the defaults."""

    enabled: bool = True
    vector_weight: Share = 0.7
    text_weight: Share = 0.3
    candidate_multiplier: Annotated[float, AfterValidator(_multiplier)] = 4
    mmr: Diversity = Diversity()
    temporal_decay: Decay = Decay()

    @model_validator(mode="after")
    def _scaled(self) -> Hybrid:
        total = self.vector_weight + self.text_weight
        vector, text = (self.vector_weight / total, self.text_weight / total) if total else (0.7, 0.3)
        if (vector, text) == (self.vector_weight, self.text_weight):
            return self
        return self.model_copy(update={"vector_weight": vector, "text_weight": text})


class QuerySettings(Part):
    """The limit, the floor and the fusion of a search."""

    max_results: Positive = 6
    min_score: Share = 0.35
    hybrid: Hybrid = Hybrid()


class CacheSettings(Part):
    """The embedding cache."""

    enabled: bool = True
    max_entries: Floored | None = None


class Experimental(Part):
    """Features that are off by default."""

    session_memory: bool = False


class ExtraPath(Part):
    """A file or folder outside the memory to index too; since 2026.9.6 with a pattern for its files."""

    path: Annotated[str, AfterValidator(str.strip)]
    pattern: str | None = None


Extra = Annotated[
    ExtraPath, BeforeValidator(lambda value: {"path": value} if isinstance(value, str) else value)
]


class MemorySearch(Part):
    """The settings of one agent's memory search."""

    enabled: bool = True
    sources: list[Literal["memory", "sessions"]] = ["memory"]
    extra_paths: list[Extra] = []
    provider: str = "auto"
    remote: Remote | None = None
    experimental: Experimental = Experimental()
    fallback: str = "none"
    model: str = ""
    local: Local = Local()
    store: StoreSettings = StoreSettings()
    chunking: Chunking = Chunking()
    sync: Sync = Sync()
    query: QuerySettings = QuerySettings()
    cache: CacheSettings = CacheSettings()

    @model_validator(mode="after")
    def _completed(self) -> MemorySearch:
        """Sessions need two settings, each provider has a default model, and paths are unique."""
        asked = self.sources if self.experimental.session_memory else ["memory"]
        paths = {one.path: one for one in self.extra_paths if one.path}
        provider = PROVIDERS.get(self.provider)
        bare = self.model.strip().removeprefix("models/").removeprefix(f"{self.provider}/")
        return self.model_copy(
            update={
                "sources": [one for one in ("memory", "sessions") if one in asked] or ["memory"],
                "extra_paths": list(paths.values()),
                "model": bare or (provider.model if provider else ""),
                "remote": self.remote or (None if self.provider in ("local", "none") else Remote()),
            }
        )


def merged(defaults: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """The defaults with an agent's overrides, key by key; lists of extra paths are concatenated.

    >>> merged({"extraPaths": ["a"], "model": "m"}, {"extraPaths": ["b"], "query": {"minScore": 0}})
    {'extraPaths': ['a', 'b'], 'model': 'm', 'query': {'minScore': 0}}
    """
    both = dict(defaults)
    for key, value in overrides.items():
        there = both.get(key)
        if isinstance(there, Mapping) and isinstance(value, Mapping) and key != "headers":
            both[key] = merged(there, value)
        elif key == "extraPaths" and isinstance(there, list) and isinstance(value, list):
            both[key] = [*there, *value]
        elif value is not None:
            both[key] = value
    return both
