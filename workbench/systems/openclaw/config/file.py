"""Reads an openclaw.json: which of the two forms it has, and which keys it sets for an agent."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from workbench.errors import InputError
from workbench.memory.files import read_input
from workbench.safe_text import is_secret_name, masked, one_line
from workbench.systems.openclaw.config.settings import MemorySearch

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
