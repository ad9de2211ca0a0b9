"""The settings of memory search in an openclaw.json: the tree of the file, and the value of each key.

Values are resolved as OpenClaw does it: defaults, ranges, and overrides of an agent. `keys.yaml` has the
keys, their types and defaults. Null means absent. Two forms are read: `agents.defaults.memorySearch`, with an
agent's own under `agents.list`, and `memory.search` since 2026.9.6, with an agent's own under
`agents.entries`.
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
    TypeAdapter,
    ValidationError,
)

from workbench.errors import InputError
from workbench.masking import is_secret_name, masked
from workbench.memory.data_files import load_data
from workbench.memory.files import read_input
from workbench.safe_text import one_line

if TYPE_CHECKING:
    from workbench_plugins.providers.embedder import Provider

AUTO = "auto"
"""The provider that is the first one whose key is in the environment."""


def providers() -> Mapping[str, Provider]:
    """The services that compute embeddings, by name; none without the feature `providers`."""
    try:
        from workbench_plugins.providers.embedder import PROVIDERS
    except ImportError:
        return {}
    return PROVIDERS


def _whole(value: Any) -> Any:
    """JavaScript has one type of number: 1e5 is the integer 100000."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _floored(value: Any) -> Any:
    return math.floor(value) if isinstance(value, float) and math.isfinite(value) else value


FEBRUARY_FORM, SEPTEMBER_FORM = "agents.defaults.memorySearch", "memory.search"


class ExtraPath(BaseModel):
    """A file or folder outside the memory to index too."""

    model_config = ConfigDict(frozen=True, strict=True)
    path: Annotated[str, AfterValidator(str.strip)]
    pattern: str | None = None


Extra = Annotated[
    ExtraPath, BeforeValidator(lambda value: {"path": value} if isinstance(value, str) else value)
]

_TYPES: Mapping[str, Any] = {
    "anything": Any,
    "count": Annotated[int, BeforeValidator(_whole), Field(ge=0)],
    "days": Annotated[float, Field(gt=0)],
    "driver": Literal["sqlite"],
    "floored": Annotated[int, BeforeValidator(_floored)],
    "headers": dict[str, str],
    "multiplier": Annotated[float, AfterValidator(lambda value: min(20, max(1, math.floor(value))))],
    "paths": list[Extra],
    "positive": Annotated[int, BeforeValidator(_whole), Field(ge=1)],
    "share": Annotated[float, AfterValidator(lambda value: min(1.0, max(0.0, value)))],
    "sources": list[Literal["memory", "sessions"]],
    "switch": bool,
    "text": str,
    "tokenizer": Literal["unicode61", "trigram"],
    "whole": Annotated[int, BeforeValidator(_whole)],
}
TYPES: Mapping[str, TypeAdapter[Any]] = {
    name: TypeAdapter(kind, config=ConfigDict(strict=True, allow_inf_nan=False))
    for name, kind in _TYPES.items()
}
"""What a key can be; a value of another type is an error."""

TABLE: Mapping[str, Any] = load_data(__file__, "keys.yaml")
KINDS: Mapping[str, TypeAdapter[Any]] = {key: TYPES[one["is"]] for key, one in TABLE["keys"].items()}
USUAL: Mapping[str, Any] = {key: one.get("usual") for key, one in TABLE["keys"].items()}
"""The type of each key of memory search, and its default value."""
SLOTS: Mapping[str, str] = TABLE["slots"]
SWITCHES: Mapping[str, str] = TABLE["switches"]
COUNTS: Mapping[str, tuple[float, float]] = TABLE["counts"]
RETIRED_KEYS: Sequence[str] = TABLE["retired"]
NO_EFFECT: Mapping[str, str] = TABLE["no effect"]

Search = Mapping[str, Any]
"""The settings of one agent's memory search: the value of each key, None where it is absent."""

WEIGHTS = ("query.hybrid.vectorWeight", "query.hybrid.textWeight")
PREFIXES = (f"{FEBRUARY_FORM}.", f"{SEPTEMBER_FORM}.", "memorySearch.")


def completed(search: Search) -> Search:
    """The settings with what depends on several keys.

    Weights are scaled to sum to 1. An overlap is less than a chunk. Sessions need two settings, each provider
    has a default model, and paths are unique.
    """
    vector, text = (search[key] for key in WEIGHTS)
    total = vector + text
    asked = search["sources"] if search["experimental.sessionMemory"] else ["memory"]
    paths = {one.path: one for one in search["extraPaths"] if one.path}
    provider = providers().get(search["provider"])
    bare = search["model"].strip().removeprefix("models/").removeprefix(f"{search['provider']}/")
    return {
        **search,
        WEIGHTS[0]: vector / total if total else USUAL[WEIGHTS[0]],
        WEIGHTS[1]: text / total if total else USUAL[WEIGHTS[1]],
        "chunking.overlap": min(search["chunking.tokens"] - 1, max(0, search["chunking.overlap"])),
        "sources": [one for one in ("memory", "sessions") if one in asked] or ["memory"],
        "extraPaths": list(paths.values()),
        "model": bare or (provider.model if provider else ""),
    }


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


NOT_SHOWN, A_SECRET = "(not shown)", "(a secret)"
LARGEST_FILE = 250_000
"""Bytes. The JSON5 parser takes about 25 µs for each."""


class Given(NamedTuple):
    """A key with its value: its path in the file, and its path below the settings of memory search."""

    location: str
    key: str
    value: Any


class Tree(NamedTuple):
    """Settings of memory search with their path in the file."""

    location: str
    settings: Mapping[str, Any]

    def keys_with_values(self) -> list[Given]:
        """Every key that has a value, in the order of the file."""
        return list(leaves(self.settings, self.location))


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
    location, inner = (SEPTEMBER_FORM, SEPTEMBER_FORM) if newer else (FEBRUARY_FORM, "memorySearch")
    mine = agents.get(agent, Tree("", {}))
    own = Tree(f"{mine.location}.{inner}", _mapping(mine.settings, inner, file))
    return Trees(location, agent, Tree(location, _mapping(data, location, file)), own)


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
        str(one.get("id", "main")): Tree(f"agents.list[{number}]", one) for number, one in enumerate(listed)
    }


def at(data: Mapping[str, Any], location: str, default: Any = None) -> Any:
    """The value at a dotted path; `default` if it is missing or null."""
    found: Any = data
    for key in location.split("."):
        found = found.get(key) if isinstance(found, Mapping) else None
    return default if found is None else found


def _mapping(data: Mapping[str, Any], location: str, file: Path) -> Mapping[str, Any]:
    found = at(data, location, {})
    if not isinstance(found, Mapping):
        raise InputError(f"{file}: {location} is not an object.", "Correct the file.")
    return found


def leaves(tree: Mapping[str, Any], location: str, above: str = "") -> Iterator[Given]:
    """The leaves of a tree in order. The keys below a secret are not listed."""
    for key, value in tree.items():
        path = f"{above}{key}"
        if value is None:
            continue
        if isinstance(value, Mapping) and value and not is_secret_name(key):
            yield from leaves(value, location, f"{path}.")
        else:
            yield Given(f"{location}.{path}", path, value)


def resolved(raw: Mapping[str, Any], location: str, retired: Sequence[str] = ()) -> tuple[Search, list[str]]:
    """The settings with all defaults, and the unknown keys, which are ignored, as the `retired` ones are.

    Raises InputError for values that cannot be used, each with its key.
    """
    search, wrong = dict(USUAL), []
    for key, kind in KINDS.items():
        value = None if below(key, retired) else at(raw, key)
        try:
            search[key] = search[key] if value is None else kind.validate_python(value)
        except ValidationError as error:
            for one in error.errors(include_url=False, include_context=False):
                name = ".".join(map(str, (key, *one["loc"])))
                wrong.append(f"{location}.{name} is {shown(name, one['input'])}: {one['msg']}")
    unknown = []
    for given in leaves(raw, location):
        group = any(key.startswith(f"{given.key}.") for key in KINDS)
        if below(given.key, retired):
            continue
        if group and not isinstance(given.value, Mapping):
            wrong.append(f"{given.location} is {shown(given.key, given.value)}: it is no object")
        elif at(raw, given.key) is None or not (group or below(given.key, KINDS)):
            unknown.append(given.key)
    if wrong:
        raise InputError("\n".join(wrong), "Correct the file; `workbench config FILE` names every key.")
    return completed(search), unknown


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


def nested(flat: Mapping[str, Any]) -> dict[str, Any]:
    """The values of dotted keys as one tree."""
    tree: dict[str, Any] = {}
    for key, value in flat.items():
        *outer, last = key.split(".")
        inner = tree
        for part in outer:
            inner = inner.setdefault(part, {})
        inner[last] = value
    return tree
