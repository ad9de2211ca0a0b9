"""OpenClaw's memory settings, resolved as OpenClaw does it: defaults, ranges, and overrides of an agent.

The fields, their defaults and their ranges are those of openclaw 2026.2.13, src/agents/memory-search.ts;
fields that later releases added say so. Null means absent.

Reads an openclaw.json: which of the two forms it has, and which keys it sets for an agent.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)
from pydantic.alias_generators import to_camel

from workbench.errors import InputError
from workbench.memory.files import read_input
from workbench.safe_text import is_secret_name, masked, one_line

if TYPE_CHECKING:
    from workbench_plugins.providers.embedder import Provider

AUTO = "auto"
"""The provider that is the first one whose key is in the environment."""


def providers() -> Mapping[str, Provider]:
    """The services that compute embeddings, by name; none without the guest `providers`."""
    try:
        from workbench_plugins.providers.catalogue import PROVIDERS
    except ImportError:
        return {}
    return PROVIDERS


def _whole(value: Any) -> Any:
    """JavaScript has one type of number: 1e5 is the integer 100000."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _floored(value: Any) -> Any:
    return math.floor(value) if isinstance(value, float) and math.isfinite(value) else value


Share = Annotated[float, AfterValidator(lambda value: min(1.0, max(0.0, value)))]
Multiplier = Annotated[float, AfterValidator(lambda value: min(20, max(1, math.floor(value))))]
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
    candidate_multiplier: Multiplier = 4
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
    provider: str = AUTO
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
        provider = providers().get(self.provider)
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


FEBRUARY_FORM, SEPTEMBER_FORM = "agents.defaults.memorySearch", "memory.search"
NOT_SHOWN, A_SECRET = "(not shown)", "(a secret)"
LARGEST_FILE = 250_000
"""Bytes. The JSON5 parser takes about 25 µs for each."""


class Given(NamedTuple):
    """A key with its value: its path in the file, and its path below the settings of memory search."""

    place: str
    key: str
    value: Any


class Tree(NamedTuple):
    """Settings of memory search with their path in the file."""

    place: str
    settings: Mapping[str, Any]

    def given(self) -> list[Given]:
        """Every key that has a value, in the order of the file."""
        return list(leaves(self.settings, self.place))


class Trees(NamedTuple):
    """The form of a file, the agent, the settings of all agents, and the settings of this agent."""

    form: str
    agent: str
    defaults: Tree
    overrides: Tree


def load(file: Path) -> dict[str, Any]:
    """The object in a JSON5 file. Raises InputError for any other file, and for one of more than 250 kB."""
    return parsed(read_input(file, "The configuration", LARGEST_FILE), f"The configuration {file}")


def parsed(text: str, name: str) -> dict[str, Any]:
    """The object in a JSON5 text; messages call it `name`. Raises InputError as `load` does."""
    import json5

    if len(text.encode()) > LARGEST_FILE:
        raise InputError(f"{name} has more than {LARGEST_FILE:,} bytes.", "Keep its memory settings only.")
    try:
        data = json5.loads(text, allow_duplicate_keys=False)
    except (ValueError, OverflowError, RecursionError) as error:
        raise InputError(
            f"{name} cannot be read: {error}.", "Give an openclaw.json: JSON5, in UTF-8."
        ) from None
    if not isinstance(data, dict):
        raise InputError(f"{name} is not a JSON object.", "Give an openclaw.json.")
    return data


def trees(data: Mapping[str, Any], file: Path, agent: str = "") -> Trees:
    """The settings in `data`: in the newer form when that is there, for the file's usual agent or `agent`.

    Raises InputError for an agent that is not there, and for settings that are no object.
    """
    newer = at(data, SEPTEMBER_FORM) is not None or at(data, "agents.entries") is not None
    agents = _entries(data, file) if newer else _listed(data, file)
    usual = next((name for name, one in agents.items() if at(one.settings, "default")), "main")
    agent = agent or (usual if usual in agents else next(iter(agents), "main"))
    if agent != "main" and agent not in agents:
        raise InputError(
            f"The configuration {file} has no agent {agent!r}.",
            f"It has {', '.join(agents) or 'main alone'}.",
        )
    place, inner = (SEPTEMBER_FORM, SEPTEMBER_FORM) if newer else (FEBRUARY_FORM, "memorySearch")
    mine = agents.get(agent, Tree("", {}))
    own = Tree(f"{mine.place}.{inner}", _mapping(mine.settings, inner, file))
    return Trees(place, agent, Tree(place, _mapping(data, place, file)), own)


def _entries(data: Mapping[str, Any], file: Path) -> dict[str, Tree]:
    """The agents of the newer form."""
    entries = _mapping(data, "agents.entries", file)
    if not all(isinstance(one, Mapping) for one in entries.values()):
        raise InputError(f"{file}: agents.entries has an entry that is not an object.", "Correct the file.")
    return {name: Tree(f"agents.entries.{name}", one) for name, one in entries.items()}


def _listed(data: Mapping[str, Any], file: Path) -> dict[str, Tree]:
    """The agents of the older form."""
    listed = at(data, "agents.list", [])
    if not isinstance(listed, list) or not all(isinstance(one, Mapping) for one in listed):
        raise InputError(f"{file}: agents.list is not a list of objects.", "Correct the file.")
    return {
        str(one.get("id", "main")): Tree(f"agents.list[{place}]", one) for place, one in enumerate(listed)
    }


def at(data: Mapping[str, Any], place: str, default: Any = None) -> Any:
    """The value at a dotted path; `default` if it is missing or null."""
    found: Any = data
    for key in place.split("."):
        found = found.get(key) if isinstance(found, Mapping) else None
    return default if found is None else found


def _mapping(data: Mapping[str, Any], place: str, file: Path) -> Mapping[str, Any]:
    found = at(data, place, {})
    if not isinstance(found, Mapping):
        raise InputError(f"{file}: {place} is not an object.", "Correct the file.")
    return found


def leaves(tree: Mapping[str, Any], place: str, above: str = "") -> Iterator[Given]:
    """The leaves of a tree in order. The keys below a secret are not listed."""
    for key, value in tree.items():
        path = f"{above}{key}"
        if value is None:
            continue
        if isinstance(value, Mapping) and value and not is_secret_name(key):
            yield from leaves(value, place, f"{path}.")
        else:
            yield Given(f"{place}.{path}", path, value)


def resolved(raw: Mapping[str, Any], place: str) -> tuple[MemorySearch, list[str]]:
    """The settings with all defaults, and the unknown keys, which are ignored.

    Raises InputError for values that cannot be used, each with its key.
    """
    try:
        return MemorySearch.model_validate(raw), []
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False)
    unknown = [one["loc"] for one in found if one["type"] == "extra_forbidden"]
    wrong = [
        f"{place}.{key} is {shown(key, one['input'])}: {one['msg']}"
        for one in found
        if one["type"] != "extra_forbidden"
        for key in [".".join(map(str, one["loc"]))]
    ]
    if wrong:
        raise InputError("\n".join(wrong), "Correct the file; `workbench config FILE` names every key.")
    search, _ = resolved(without(raw, unknown), place)
    return search, [".".join(map(str, loc)) for loc in unknown]


def without(raw: Mapping[str, Any], places: Sequence[tuple[str | int, ...]]) -> dict[str, Any]:
    """The settings without the keys at these paths."""
    heads = {loc[0] for loc in places if len(loc) == 1}
    inner = {key: [loc[1:] for loc in places if loc[0] == key and len(loc) > 1] for key in raw}
    return {
        key: _pruned(value, inner[key]) if inner[key] else value
        for key, value in raw.items()
        if key not in heads
    }


def _pruned(value: Any, places: Sequence[tuple[str | int, ...]]) -> Any:
    if isinstance(value, list):
        return [
            _pruned(one, [loc[1:] for loc in places if loc[0] == number]) for number, one in enumerate(value)
        ]
    return without(value, places) if places else value


def below(key: str, keys: Sequence[str] | Mapping[str, Any]) -> str:
    """The one of `keys` that is this key or a parent of it; empty if there is none."""
    return next((one for one in keys if key == one or key.startswith(f"{one}.")), "")


def shown(key: str, value: Any) -> str:
    """A value in one line. Secrets are masked, by the name of the key and by the look of the value."""
    if is_secret_name(key):
        return A_SECRET
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = one_line(masked(text.partition("?")[0] if "://" in text else text))
    return text if len(text) <= 60 else f"{text[:60]}…"
