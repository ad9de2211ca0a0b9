"""An openclaw.json as a system: the pipeline, the model and the chunker that it configures, key by key.

Two forms are read: `agents.defaults.memorySearch`, with an agent's own under `agents.list`, and
`memory.search` since 2026.9.6, with an agent's own under `agents.entries`.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

from workbench.memory.chunking import Chunker, LineChunker
from workbench.memory.embedding.providers.catalogue import AUTO, AUTOMATIC, PROVIDERS
from workbench.memory.embedding.providers.embedder import Provider
from workbench.memory.embedding.providers.limits import LimitedChunker, longest
from workbench.memory.sessions import Thresholds
from workbench.retrieval.pipeline import Pipeline
from workbench.safe_text import masked, one_line
from workbench.systems.openclaw.config.file import (
    FEBRUARY_FORM,
    NOT_SHOWN,
    SEPTEMBER_FORM,
    Given,
    at,
    below,
    leaves,
    load,
    resolved,
    shown,
    trees,
    without,
)
from workbench.systems.openclaw.config.keys import SLOTS, has, tuned
from workbench.systems.openclaw.config.release import (
    NEWEST,
    Choice,
    agreed_release,
    release_named,
    stated_release,
    with_switches,
)
from workbench.systems.openclaw.config.settings import MemorySearch, merged
from workbench.systems.openclaw.indexing import SeptemberChunker
from workbench.systems.openclaw.releases import HISTORY

RETIRED_KEYS = (
    "store.driver", "store.path", "store.vector", "chunking", "sync.onSessionStart", "sync.onSearch",
    "sync.watch", "sync.watchDebounceMs", "sync.intervalMinutes", "query.hybrid", "cache",
    "remote.batch.wait", "remote.batch.concurrency", "remote.batch.pollIntervalMs",
    "remote.batch.timeoutMinutes",
)  # fmt: skip
"""Keys, with their subkeys, that have no effect since 2026.9.6."""

NO_EFFECT: Mapping[str, str] = {
    "enabled": "the workbench always searches; in OpenClaw, false removes the tools",
    "fallback": "the workbench never switches models silently",
    "remote.apiKey": "keys are read from the environment only",
    "remote.headers": "no headers are added to requests",
    "remote.batch": "the providers' batch APIs are not used",
    "local": "GGUF models are not read; index with --model FOLDER for a sentence-transformers model",
    "store.driver": "the index is always SQLite",
    "store.vector": "the vector search is always an exact scan",
    "store.fts": "the full-text index uses unicode61; the trigram tokenizer is a system of its own",
    "sync.onSessionStart": "`workbench index` and `workbench watch` bring the index up to date",
    "sync.onSearch": "`workbench index` and `workbench watch` bring the index up to date",
    "sync.watch": "`workbench watch` follows changes",
    "sync.intervalMinutes": "`workbench watch` follows every change",
    "sync.sessions.postCompactionForce": "transcripts are read when they have grown",
    "cache": "vectors are always cached",
}
"""Keys, with their subkeys, that have no effect in the workbench, and the reason."""


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
    search: MemorySearch
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
    def extra_paths(self) -> list[str]:
        return [one.path for one in self.search.extra_paths]

    @property
    def sessions(self) -> Path | None:
        """The folder of the agent's transcripts; None if transcripts are not searched."""
        return _state() / "agents" / self.agent / "sessions" if "sessions" in self.search.sources else None

    @property
    def thresholds(self) -> Thresholds:
        """How much a transcript must grow before it is indexed again."""
        return Thresholds(self.search.sync.sessions.delta_bytes, self.search.sync.sessions.delta_messages)

    @property
    def quiet(self) -> float:
        """How many seconds without a change `watch` waits for."""
        return self.search.sync.watch_debounce_ms / 1000

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


def read(name: str | os.PathLike[str], system: Pipeline | None = None, release: str = "") -> Configuration:
    """The configuration `FILE`, or `FILE#AGENT` for an agent that is not the first or the default one.

    Its settings change `system` when that is given, and otherwise the search of a release of OpenClaw:
    `release`, or the one that wrote the file. Raises InputError for a file that cannot be read or is no
    JSON5 object, for an agent that is not there, for values of another type or beyond repair, and when the
    release is unknown and matters.
    """
    text, _, agent = os.fspath(name).partition("#")
    return configured(load(Path(text).expanduser()), Path(text), agent, system, release)


def configured(
    data: Mapping[str, Any], file: Path, agent: str = "", system: Pipeline | None = None, release: str = ""
) -> Configuration:
    """The configuration of `data`, which comes from `file`. Raises InputError as `read` does."""
    form, agent, defaults, overrides = trees(data, file, agent)
    given = [*defaults.given(), *overrides.given()]
    keys = {one.key for one in given}
    raw = merged(defaults.settings, overrides.settings)
    choice = _named(system, release) or stated_release(data, form)
    newest = choice is not None and choice.pipeline is NEWEST
    if newest:
        raw = without(raw, [tuple(key.split(".")) for key in RETIRED_KEYS])
        raw["provider"] = "openai" if raw.get("provider") in (None, AUTO) else raw["provider"]
    search, unknown = resolved(raw, f"{file}: {form}")
    if choice is None:
        choice = agreed_release(keys, lambda one: tuned(with_switches(one, search), search), file)
    pipeline = _pipeline(choice, search, keys)
    model = _model(search)
    configuration = Configuration(
        file, agent, search, replace(pipeline, name=f"{pipeline.name}@{file.name}"), choice, model,
        _environment(search), _chunker(newest, search, model), _store(search, agent), _workspace(data),
        str(at(data, "memory.citations", "auto")),
    )  # fmt: skip
    findings = [_finding(one, given, unknown, configuration, newest) for one in given]
    return replace(configuration, findings=(*findings, *_beside(data, form)))


# The parts of a configuration


def _named(system: Pipeline | None, release: str) -> Choice | None:
    """The system or the release that the user names, None for neither."""
    if system is not None:
        return Choice(system, "you named it")
    return release_named(release) if release else None


def _pipeline(choice: Choice, search: MemorySearch, keys: set[str]) -> Pipeline:
    """The chosen system with the file's settings; another system takes those that it has stages for."""
    if choice.pipeline not in HISTORY:
        return tuned(choice.pipeline, search, keys)
    if choice.pipeline is NEWEST:
        return tuned(NEWEST, search)
    return tuned(with_switches(choice.pipeline, search), search)


def _model(search: MemorySearch) -> str | None:
    if search.provider == AUTO:
        return f"{AUTO}/{search.model}".rstrip("/")
    return f"{search.provider}/{search.model}" if search.provider in PROVIDERS else None


def _environment(search: MemorySearch) -> dict[str, str]:
    url = search.remote.base_url if search.remote else None
    return {one.url_variable: url for one in _providers(search) if url}


def _providers(search: MemorySearch) -> list[Provider]:
    names = AUTOMATIC if search.provider == AUTO else [search.provider]
    return [PROVIDERS[name] for name in names if name in PROVIDERS]


def _chunker(newest: bool, search: MemorySearch, model: str | None) -> Chunker:
    kind = SeptemberChunker if newest else LineChunker
    chunker = kind(search.chunking.tokens, search.chunking.overlap)
    if model is None:
        return chunker
    return LimitedChunker(chunker, longest(search.provider, search.model))


def _store(search: MemorySearch, agent: str) -> Path:
    path = search.store.path or f"{_state()}/memory/{{agentId}}.sqlite"
    return Path(path.replace("{agentId}", agent)).expanduser()


def _state() -> Path:
    """OpenClaw's state folder."""
    return Path(os.environ.get("OPENCLAW_STATE_DIR") or "~/.openclaw").expanduser()


def _workspace(data: Mapping[str, Any]) -> Path | None:
    given = at(data, "agents.defaults.workspace")
    return Path(given).expanduser() if isinstance(given, str) and given else None


# The effect of each key


def _finding(
    one: Given, given: Sequence[Given], unknown: Sequence[str], made: Configuration, newest: bool
) -> KeyReport:
    def found(fate: Literal["used", "no effect"], says: str) -> KeyReport:
        return KeyReport(one.place, shown(one.key, one.value), fate, says)

    if below(one.key, unknown):
        near = difflib.get_close_matches(one.key, _known(), n=1, cutoff=0.6)
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
        value = at(search.model_dump(by_alias=True), one.key)
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
                "; its patterns have no effect" if any(path.pattern for path in search.extra_paths) else ""
            )
            return f"extra paths {', '.join(made.extra_paths)}{every}"
        case "sources" | "experimental.sessionMemory":
            refused = isinstance(one.value, list) and set(one.value) - set(search.sources)
            also = "; sessions need experimental.sessionMemory too" if refused else ""
            return f"the sources {', '.join(search.sources)}{also}"
        case "store.path":
            return f"OpenClaw's own index, {made.store}, which is only read"
        case "sync.watchDebounceMs":
            return f"`workbench watch` waits for {made.quiet:g} s without a change"
        case "sync.sessions.deltaBytes" | "sync.sessions.deltaMessages":
            enough = made.thresholds
            return (
                f"`workbench watch` reads a transcript after {enough.bytes} bytes or {enough.messages} lines"
            )
        case "query.hybrid.enabled":
            return "two legs" if search.query.hybrid.enabled else "the vector leg only"
        case "query.hybrid.mmr.enabled" if has(made.pipeline, "diversity.relevance_weight"):
            return "the stage diversity"
        case "query.hybrid.temporalDecay.enabled" if has(made.pipeline, "recency.half_life_days"):
            return "the stage recency"
        case _:
            return ""


def _why_not(one: Given, made: Configuration) -> str:
    if one.key in ("provider", "model"):
        return f"{made.search.provider} is not available here; the workbench uses its own model"
    if one.key == "remote.baseUrl":
        return f"{made.search.provider} is not available here"
    return f"{made.pipeline.name} has no such stage"


def _known() -> list[str]:
    blank = MemorySearch.model_validate({}).model_dump(by_alias=True)
    return [one.key for one in leaves(blank, "")]
