"""An openclaw.json as a system: the pipeline, the model and the chunker that it configures, key by key.

The settings are resolved as OpenClaw does it: defaults, ranges, and overrides of an agent. `keys.yaml` has
the keys, their types and defaults, and what becomes of each here. Null means absent.

Two forms are read: `agents.defaults.memorySearch`, with an agent's own under `agents.list`, and
`memory.search` since 2026.9.6, with an agent's own under `agents.entries`. A configuration is read for the
release that you name, or for the one that wrote it. The keys are parameters of a pipeline's stages, also
when they are typed as `--set KEY=value`.
"""

from __future__ import annotations

import difflib
import json
import math
import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
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
from workbench.memory.files import read_input
from workbench.memory.sources import Chunker, LineChunker
from workbench.registry import register
from workbench.retrieval.columns import parameters
from workbench.retrieval.pipeline import Pipeline
from workbench.retrieval.settings import has_parameter, with_settings
from workbench.safe_text import is_secret_name, masked, one_line
from workbench.systems.languages import Language
from workbench.systems.openclaw import WORKAROUND
from workbench.systems.registry import SYSTEMS
from workbench_plugins.beside import told_beside
from workbench_plugins.openclaw.indexing import LimitedChunker, SeptemberChunker
from workbench_plugins.openclaw.releases import DECAY, DIVERSE, HISTORY, WEIGHED
from workbench_plugins.openclaw.sessions import Thresholds

if TYPE_CHECKING:
    from workbench_plugins.providers.embedder import Provider

AUTO = "auto"
"""The provider that is the first one whose key is in the environment."""


def providers() -> Mapping[str, Provider]:
    """The services that compute embeddings, by name; none without the guest `providers`."""
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

TABLE: Mapping[str, Any] = told_beside(__file__, "keys.yaml")
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


def resolved(raw: Mapping[str, Any], place: str, retired: Sequence[str] = ()) -> tuple[Search, list[str]]:
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
                wrong.append(f"{place}.{name} is {shown(name, one['input'])}: {one['msg']}")
    unknown = []
    for given in leaves(raw, place):
        group = any(key.startswith(f"{given.key}.") for key in KINDS)
        if below(given.key, retired):
            continue
        if group and not isinstance(given.value, Mapping):
            wrong.append(f"{given.place} is {shown(given.key, given.value)}: it is no object")
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


SINCE_15 = ("query.hybrid.mmr", "query.hybrid.temporalDecay")
NEWEST = HISTORY[-1]


class Choice(NamedTuple):
    """A release's pipeline, and why it was chosen."""

    pipeline: Pipeline
    why: str

    @property
    def release(self) -> str:
        return version_of(self.pipeline)

    @property
    def says(self) -> str:
        """The system and its release, for people."""
        return f"OpenClaw {self.release}"


def version_of(pipeline: Pipeline) -> str:
    """The release in a pipeline's name, such as `2026.2.13`."""
    return pipeline.name.removeprefix("openclaw-")


def releases() -> list[str]:
    """The releases that search differently from the one before, oldest first."""
    return [version_of(one) for one in HISTORY]


def release_named(text: str) -> Choice:
    """The release that `text` names: it searches as the newest of `releases()` that is not later.

    Raises InputError for text that is no version, and for one before the first.
    """
    version = _version(text)
    older = [one for one in HISTORY if version is not None and (_version(one.name) or version) <= version]
    if not older:
        raise InputError(
            f"{text!r} is not a release whose search is known.", f"Name one of {', '.join(releases())}."
        )
    name = text.removeprefix("openclaw-")
    why = "you named it" if name == version_of(older[-1]) else f"{name} searches like it"
    return Choice(older[-1], why)


def _version(text: str) -> tuple[int, ...] | None:
    found = re.search(r"(\d{4})\.(\d+)\.(\d+)", text)
    return tuple(map(int, found.groups())) if found else None


def stated_release(data: Mapping[str, Any], form: str) -> Choice | None:
    """The release that the file itself names, by the form of its settings or in `meta.lastTouchedVersion`."""
    if form == SEPTEMBER_FORM:
        return Choice(NEWEST, f"older releases do not read {SEPTEMBER_FORM}")
    text = str(at(data, "meta.lastTouchedVersion", ""))
    version = _version(text)
    if version is None:
        return None
    if version < (_version(HISTORY[0].name) or version):
        return Choice(HISTORY[0], f"{text} wrote the file, and nothing older is known")
    pipeline = release_named(text).pipeline
    like = "" if version == _version(pipeline.name) else ", which searches like it"
    return Choice(pipeline, f"{text} wrote the file{like}")


def agreed_release(keys: set[str], made: Callable[[Pipeline], Pipeline], file: Path) -> Choice:
    """The release of a file that names none, when all releases that know its keys answer the same.

    `made` gives the pipeline that the file configures of a release. Raises InputError when two differ.
    """
    late = any(below(key, SINCE_15) for key in keys)
    able = HISTORY[1:-1] if late else HISTORY[:-1]
    built = [made(one) for one in able]
    if any(before.diff(after) for before, after in pairwise(built)):
        names = [version_of(one) for one in able]
        raise InputError(
            f"{file} does not say which release of OpenClaw wrote it (meta.lastTouchedVersion), and the "
            f"releases that it may be for answer differently: {', '.join(names)}.",
            f"Name yours: --release {names[-1]}, or as a system: -s openclaw-{names[-1]}@{file}",
        )
    return Choice(able[-1], "all releases that know its keys answer the same")


def with_switches(release: Pipeline, search: Search) -> Pipeline:
    """A release with what its settings switch on and off; the newest has no switches."""
    if not search["query.hybrid.enabled"]:
        return replace(WORKAROUND, name=f"{release.name}-vector-only")
    if release in (HISTORY[0], NEWEST):
        return release
    more = [
        *([DIVERSE] if search["query.hybrid.mmr.enabled"] else []),
        *([WEIGHED, DECAY] if search["query.hybrid.temporalDecay.enabled"] else []),
    ]
    return release.but(*more)


class KeyReport(NamedTuple):
    """The effect of a key of the file in the workbench."""

    key: str
    value: str
    fate: Literal["used", "no effect", "unknown"]
    says: str


@dataclass(frozen=True)
class Configuration:
    """An openclaw.json in the workbench's terms, with the effect of each of its keys.

    `model` is a name for `embedder_named`, None where OpenClaw's is not available here. `environment` holds
    the variables that name the provider's address, as the file gives it. `store` is OpenClaw's own index.
    """

    file: Path
    agent: str
    search: Search
    pipeline: Pipeline
    choice: Choice
    model: str | None
    environment: Mapping[str, str]
    chunker: Chunker
    store: Path
    workspace: Path | None
    citations: str
    findings: Sequence[KeyReport] = field(default=(), repr=False)

    @property
    def provider(self) -> str:
        return str(self.search["provider"])

    @property
    def extra_paths(self) -> list[str]:
        return [one.path for one in self.search["extraPaths"]]

    @property
    def sessions(self) -> Path | None:
        """The folder of the agent's transcripts; None if transcripts are not searched."""
        return _state() / "agents" / self.agent / "sessions" if "sessions" in self.search["sources"] else None

    @property
    def thresholds(self) -> Thresholds:
        """How much a transcript must grow before it is indexed again."""
        return Thresholds(self.search["sync.sessions.deltaBytes"], self.search["sync.sessions.deltaMessages"])

    @property
    def quiet(self) -> float:
        """How many seconds without a change `watch` waits for."""
        return float(self.search["sync.watchDebounceMs"]) / 1000

    @property
    def address_variables(self) -> list[str]:
        """The environment variables in which the user names the address of this configuration's provider."""
        return [one.url_variable for one in _providers(self.search)]

    def unnamed_addresses(self) -> dict[str, str]:
        """The provider's addresses, by variable, that only the file names and the user does not.

        The workbench sends nothing there, since the file may be somebody else's.
        """
        usual = {one.url_variable: one.base_url for one in _providers(self.search)}
        return {
            variable: address
            for variable, address in self.environment.items()
            if not os.environ.get(variable) and address.rstrip("/") != usual[variable]
        }

    @property
    def unused(self) -> list[KeyReport]:
        """The keys that have no effect here or are unknown."""
        return [one for one in self.findings if one.fate != "used"]


def read(
    name: str | os.PathLike[str],
    system: Pipeline | None = None,
    release: str = "",
    more: Mapping[str, Any] | None = None,
) -> Configuration:
    """The configuration `FILE`, or `FILE#AGENT` for an agent that is not the first or the default one.

    Its settings change `system` when that is given, and otherwise the search of a release of OpenClaw:
    `release`, or the one that wrote the file. `more` is read as if it were pasted into the file. Raises
    InputError for a file that cannot be read or is no JSON5 object, for an agent that is not there, for
    values of another type or beyond repair, and when the release is unknown and matters.
    """
    text, _, agent = os.fspath(name).partition("#")
    data = merged(load(Path(text).expanduser()), more or {})
    return configured(data, Path(text), agent, system, release)


def configured(
    data: Mapping[str, Any], file: Path, agent: str = "", system: Pipeline | None = None, release: str = ""
) -> Configuration:
    """The configuration of `data`, which comes from `file`. Raises InputError as `read` does."""
    form, agent, defaults, overrides = trees(data, file, agent)
    given = [*defaults.given(), *overrides.given()]
    keys = {one.key for one in given}
    raw = merged(defaults.settings, overrides.settings)
    if system is not None:
        choice: Choice | None = Choice(system, "you named it")
    else:
        choice = release_named(release) if release else stated_release(data, form)
    newest = choice is not None and choice.pipeline is NEWEST
    if newest:
        raw["provider"] = "openai" if raw.get("provider") in (None, AUTO) else raw["provider"]
    search, unknown = resolved(raw, f"{file}: {form}", RETIRED_KEYS if newest else ())
    if choice is None:
        choice = agreed_release(keys, lambda one: tuned(with_switches(one, search), search), file)
    pipeline, model = _pipeline(choice, search, keys), _model(search)
    url = search["remote.baseUrl"]
    workspace = at(data, "agents.defaults.workspace")
    configuration = Configuration(
        file,
        agent,
        search,
        replace(pipeline, name=f"{pipeline.name}@{file.name}"),
        choice,
        model,
        environment={one.url_variable: url for one in _providers(search) if url},
        chunker=_chunker(newest, search, model),
        store=_store(search, agent),
        workspace=Path(workspace).expanduser() if isinstance(workspace, str) and workspace else None,
        citations=str(at(data, "memory.citations", "auto")),
    )
    findings = [_finding(one, given, unknown, configuration, newest) for one in given]
    return replace(configuration, findings=(*findings, *_beside(data, form)))


# The parts of a configuration


def _pipeline(choice: Choice, search: Search, keys: set[str]) -> Pipeline:
    """The chosen system with the file's settings; another system takes those that it has stages for."""
    if choice.pipeline not in HISTORY:
        return tuned(choice.pipeline, search, keys)
    return tuned(with_switches(choice.pipeline, search), search)


def _model(search: Search) -> str | None:
    if search["provider"] == AUTO and providers():
        return f"{AUTO}/{search['model']}".rstrip("/")
    return f"{search['provider']}/{search['model']}" if search["provider"] in providers() else None


def _providers(search: Search) -> list[Provider]:
    """The providers that may answer: `auto` chooses among those with a key."""
    known = providers()
    if search["provider"] == AUTO:
        return [one for one in known.values() if one.needs_key]
    return [known[search["provider"]]] if search["provider"] in known else []


def _chunker(newest: bool, search: Search, model: str | None) -> Chunker:
    kind = SeptemberChunker if newest else LineChunker
    chunker = kind(search["chunking.tokens"], search["chunking.overlap"])
    if model is None:
        return chunker
    from workbench_plugins.providers.embedder import longest

    return LimitedChunker(chunker, longest(search["provider"], search["model"]))


def _store(search: Search, agent: str) -> Path:
    path = search["store.path"] or f"{_state()}/memory/{{agentId}}.sqlite"
    return Path(path.replace("{agentId}", agent)).expanduser()


def _state() -> Path:
    """OpenClaw's state folder."""
    return Path(os.environ.get("OPENCLAW_STATE_DIR") or "~/.openclaw").expanduser()


# The effect of each key


def _finding(
    one: Given, given: Sequence[Given], unknown: Sequence[str], made: Configuration, newest: bool
) -> KeyReport:
    def found(fate: Literal["used", "no effect"], says: str) -> KeyReport:
        return KeyReport(one.place, shown(one.key, one.value), fate, says)

    if below(one.key, unknown):
        near = difflib.get_close_matches(one.key, KINDS, n=1, cutoff=0.6)
        return _unknown(one.place, f"unknown; the most similar key is {near[0]}" if near else "unknown")
    later = [other.place for other in given if other.key == one.key][-1]
    if later != one.place and one.key != "extraPaths":
        return found("no effect", f"{later} overrides it")
    if newest and (above := below(one.key, RETIRED_KEYS)):
        return found("no effect", f"2026.9.6 no longer reads {above}: its values are fixed")
    if above := below(one.key, NO_EFFECT):
        return found("no effect", NO_EFFECT[above])
    became = _became(one, made)
    return found("used", became) if became else found("no effect", _why_not(one, made))


def _unknown(place: str, says: str) -> KeyReport:
    """A key that is not known. Its value is not shown: nobody can say whether it is a secret."""
    return KeyReport(one_line(masked(place)), NOT_SHOWN, "unknown", says)


def _beside(data: Mapping[str, Any], form: str) -> Iterator[KeyReport]:
    """The keys about memory outside the settings of memory search: citations, workspace, and others."""
    memory = at(data, "memory", {})
    for one in leaves(memory if isinstance(memory, Mapping) else {}, "memory"):
        if one.key == "citations":
            yield KeyReport(
                one.place, shown(one.key, one.value), "used", "the citations of the agent's tools"
            )
        elif not below(one.key, ("search",)):
            yield _unknown(one.place, "unknown")
    if (workspace := at(data, "agents.defaults.workspace")) is not None:
        yield KeyReport("agents.defaults.workspace", shown("", workspace), "used", "the default of --memory")
    if form == SEPTEMBER_FORM and at(data, FEBRUARY_FORM) is not None:
        yield KeyReport(FEBRUARY_FORM, "…", "no effect", f"{SEPTEMBER_FORM} overrides it")


def _became(one: Given, made: Configuration) -> str:
    """The effect of a key in the workbench, empty if it has none."""
    search = made.search
    slots = [slot for slot, key in SLOTS.items() if key == one.key and has(made.pipeline, slot)]
    if slots:
        value = search[one.key]
        return f"{', '.join(slots)} = {value:.6g}" + (f", not {one.value}" if value != one.value else "")
    match one.key:
        case "provider" | "model" if made.model:
            return f"the model {made.model}"
        case "remote.baseUrl":
            variables = " or ".join(made.unnamed_addresses())
            return (
                f"not used until you name it: --base-url or {variables}"
                if variables
                else "the provider's address"
            )
        case "chunking.tokens" | "chunking.overlap":
            return f"the chunker {made.chunker.name}"
        case "extraPaths":
            every = (
                "; its patterns have no effect" if any(path.pattern for path in search["extraPaths"]) else ""
            )
            return f"extra paths {', '.join(made.extra_paths)}{every}"
        case "sources" | "experimental.sessionMemory":
            refused = isinstance(one.value, list) and set(one.value) - set(search["sources"])
            also = "; sessions need experimental.sessionMemory too" if refused else ""
            return f"the sources {', '.join(search['sources'])}{also}"
        case "store.path":
            return f"OpenClaw's own index, {made.store}, which is only read"
        case "sync.watchDebounceMs":
            return f"`index --watch` waits for {made.quiet:g} s without a change"
        case "sync.sessions.deltaBytes" | "sync.sessions.deltaMessages":
            enough = made.thresholds
            return f"`index --watch` reads a transcript after {enough.bytes} bytes or {enough.messages} lines"
        case "query.hybrid.enabled":
            return "two legs" if search["query.hybrid.enabled"] else "the vector leg only"
        case "query.hybrid.mmr.enabled" if has(made.pipeline, "diversity.relevance_weight"):
            return "the stage diversity"
        case "query.hybrid.temporalDecay.enabled" if has(made.pipeline, "recency.half_life_days"):
            return "the stage recency"
        case _:
            return ""


def _why_not(one: Given, made: Configuration) -> str:
    if one.key in ("provider", "model"):
        return f"{made.provider} is not available here; the workbench uses its own model"
    if one.key == "remote.baseUrl":
        return f"{made.provider} is not available here"
    return f"{made.pipeline.name} has no such stage"


# OpenClaw's own keys as parameters of a pipeline's stages


def has(pipeline: Pipeline, setting: str) -> bool:
    """Whether a pipeline has that parameter; a rescue down to 0 does not follow the keyword weight."""
    if not has_parameter(pipeline, setting):
        return False
    return not (setting.startswith("rescue.") and _parameter(pipeline, setting) == 0)


def tuned(base: Pipeline, search: Search, keys: Collection[str] | None = None) -> Pipeline:
    """`base` with the values of `search` in its stages: of all keys, or of `keys` alone.

    One weight changes the other too, since OpenClaw scales them to sum to 1.
    """
    if keys is not None and set(keys) & set(WEIGHTS):
        keys = {*keys, *WEIGHTS}
    settings = [
        f"{slot}={search[key]}"
        for slot, key in SLOTS.items()
        if has(base, slot) and (keys is None or key in keys)
    ]
    return with_settings(base, settings)


def key_of(setting: str) -> str:
    """OpenClaw's key in `KEY=value`, with or without the path of its settings before it; empty if it is none.

    >>> key_of("agents.defaults.memorySearch.query.minScore=0.2"), key_of("fusion.vector=1")
    ('query.minScore', '')
    """
    bare = _bare(setting)
    return bare if bare in (*SLOTS.values(), *SWITCHES) else ""


def _bare(setting: str) -> str:
    name = setting.partition("=")[0].strip()
    return next((name.removeprefix(one) for one in PREFIXES if name.startswith(one)), name)


def fits(pipeline: Pipeline, key: str) -> bool:
    """Whether a pipeline has what a key sets."""
    return key in SWITCHES or any(has(pipeline, slot) for slot, one in SLOTS.items() if one == key)


def with_keys(pipeline: Pipeline, settings: Sequence[str]) -> Pipeline:
    """`pipeline` with each `KEY=value` set as OpenClaw would read it: ranges, scaled weights, switches.

    Raises InputError for a value that cannot be used, and for a key that the pipeline has no stage for.
    """
    typed = {key_of(one): _value(one.partition("=")[2].strip()) for one in settings}
    if not typed:
        return pipeline
    try:
        search, _ = resolved(nested(_present(pipeline) | typed), "--set")
    except InputError as error:
        problem = error.problem.replace("--set.", "--set ")
        raise InputError(problem, "Give a value that OpenClaw accepts.") from None
    for key in SWITCHES:
        if key in typed:
            pipeline = _with_values_of(pipeline, _switched(pipeline, key, bool(typed[key])))
    missing = [key for key in typed if not fits(pipeline, key)]
    if missing:
        raise InputError(
            f"{pipeline.name} has no stage that {missing[0]} sets.",
            f"See its stages: workbench show {pipeline.name.partition('@')[0]}",
        )
    return tuned(pipeline, search, typed)


def check_key(setting: str) -> None:
    """Raises InputError for text that is meant as an OpenClaw key and is none, naming the nearest."""
    name, bare = setting.partition("=")[0].strip(), _bare(setting)
    known = [*dict.fromkeys(SLOTS.values()), *SWITCHES]
    same = [key for key in known if key.lower() == bare.lower() or key.lower().endswith(f".{bare.lower()}")]
    if bare != name or same:
        near = same or difflib.get_close_matches(bare, known, n=2, cutoff=0.3)
        raise InputError(
            f"--set takes no OpenClaw key {bare}{f'; the nearest is {near[0]}' if near else ''}.",
            f"It takes {', '.join(known)}; every other key belongs in a file: --config FILE",
        )


class Key(NamedTuple):
    """A key that sets something of a pipeline: its present value, and the values that it takes.

    A number goes from `low` to `high`; a `whole` one has no fractions. Anything else takes one of `choices`.
    """

    name: str
    now: float | str | bool
    low: float = 0.0
    high: float = 1.0
    whole: bool = False
    choices: tuple[str | bool, ...] = ()


def keys_of(pipeline: Pipeline) -> list[Key]:
    """The keys that a pipeline has stages for, and that its release reads, with the values that they take."""
    found: list[Key] = []
    for slot, key in SLOTS.items():
        if has(pipeline, slot) and key not in [one.name for one in found]:
            low, high = COUNTS.get(key, (0.0, 1.0))
            found.append(Key(key, _parameter(pipeline, slot), low, high, key in COUNTS))
    slots = {stage.slot for stage in pipeline.stages}
    for key, slot in SWITCHES.items():
        on = slot in slots
        if on or (slot != "keyword_leg" and _has_switches(pipeline)):
            found.append(Key(key, on, choices=(not on,)))
    return [one for one in found if reads(pipeline, one.name)]


def reads(pipeline: Pipeline, key: str) -> bool:
    """Whether the release of a pipeline reads a key."""
    return not (pipeline.name.startswith(HISTORY[-1].name) and below(key, RETIRED_KEYS))


def to_paste(pipeline: Pipeline, values: Mapping[str, Any]) -> dict[str, Any] | None:
    """The values as an openclaw.json has them; None if the pipeline's release no longer reads a key.

    Both weights are written, since OpenClaw scales them together.
    """
    if not all(reads(pipeline, key) for key in values):
        return None
    if set(values) & set(WEIGHTS):
        values = {**values, **_present(pipeline)}
    form = SEPTEMBER_FORM if pipeline.name.startswith(HISTORY[-1].name) else FEBRUARY_FORM
    return nested({f"{form}.{key}": value for key, value in values.items()})


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _present(pipeline: Pipeline) -> dict[str, Any]:
    """The weights that the pipeline has now: a weight that is set is scaled together with the other one."""
    slots = {key: slot for slot, key in SLOTS.items() if slot.startswith("fusion.") and has(pipeline, slot)}
    return {key: _parameter(pipeline, slot) for key, slot in slots.items()}


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


def _switched(pipeline: Pipeline, key: str, on: bool) -> Pipeline:
    slots = [stage.slot for stage in pipeline.stages]
    if key == "query.hybrid.enabled":
        base, at_file, file = pipeline.name.partition("@")
        return pipeline if on else replace(WORKAROUND, name=f"{base}-vector-only{at_file}{file}")
    slot, changes = ("diversity", [DIVERSE]) if "mmr" in key else ("recency", [WEIGHED, DECAY])
    if on == (slot in slots):
        return pipeline
    if not on:
        return replace(pipeline, stages=tuple(one for one in pipeline.stages if one.slot != slot))
    if not _has_switches(pipeline):
        raise InputError(
            f"{pipeline.name} cannot switch {key} on.",
            "Name a release from 2026.2.15 to 2026.7.1, such as -s openclaw-2026.2.15.",
        )
    return replace(pipeline.but(*changes), name=pipeline.name)


def _has_switches(pipeline: Pipeline) -> bool:
    return any(pipeline.name.startswith(one.name) for one in HISTORY[1:-1])


def _with_values_of(own: Pipeline, switched: Pipeline) -> Pipeline:
    """The switched pipeline with the values of all keys that the pipeline had, and that it still has."""
    slots = [slot for slot in SLOTS if has(switched, slot) and has(own, slot)]
    return with_settings(switched, [f"{slot}={_parameter(own, slot)}" for slot in slots])


def _parameter(pipeline: Pipeline, setting: str) -> Any:
    slot, _, parameter = setting.partition(".")
    return parameters(pipeline[slot])[parameter]


# OpenClaw's settings as a language

RELEASE = re.compile(r"openclaw-\d+\.\d+\.\d+[\w.-]*")


def is_file(name: str) -> bool:
    """Whether a name ends in that of an OpenClaw configuration, with or without `#AGENT`."""
    return name.partition("#")[0].endswith(OpenClawJson.endings)


def pasted(name: str, content: Mapping[str, Any]) -> Configuration:
    """FILE with `content` pasted into it, or `SYSTEM@FILE`: the file then changes that system or release.

    Raises InputError for a file that cannot be used.
    """
    base, _, file = name.partition("@")
    if base in SYSTEMS:
        return read(file, SYSTEMS[base], more=content)
    release, file = (base, file) if RELEASE.fullmatch(base) else ("", name)
    return read(file, release=release, more=content)


class OpenClawJson(Language):
    """OpenClaw's settings: `--config openclaw.json` and `--set query.minScore=0.3`."""

    name = "openclaw.json"
    endings = (".json", ".json5")

    def system(self, file: str) -> Pipeline:
        """The system that a file configures, with or without a release or another system before it."""
        return pasted(file, {}).pipeline

    def key_of(self, setting: str) -> str:
        """OpenClaw's key in `KEY=value`, empty if it is none. Raises InputError for a misspelled one."""
        key = key_of(setting)
        if not key:
            check_key(setting)
        return key

    def with_setting(self, pipeline: Pipeline, setting: str) -> Pipeline | None:
        """The pipeline with the key set as OpenClaw reads it; None if it has no stage that the key sets."""
        return with_keys(pipeline, [setting]) if fits(pipeline, key_of(setting)) else None


register(OpenClawJson())
