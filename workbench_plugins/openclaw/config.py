"""An openclaw.json as a system: the pipeline, the model and the chunker that it configures, key by key.

A configuration is read for the release that you name, or for the one that wrote it. `config_values` has the
value of each key, and `config_keys` sets the keys as parameters of a pipeline's stages.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from workbench.errors import InputError
from workbench.masking import masked
from workbench.memory.sources import Chunker, LimitedChunker, LineChunker
from workbench.retrieval.pipeline import Pipeline
from workbench.safe_text import one_line
from workbench.systems.catalogue import SYSTEMS
from workbench.systems.languages import Language
from workbench.systems.openclaw import WORKAROUND
from workbench_plugins.openclaw.config_keys import check_key, fits, has, key_of, tuned, with_keys
from workbench_plugins.openclaw.config_values import (
    AUTO,
    FEBRUARY_FORM,
    KINDS,
    NO_EFFECT,
    NOT_SHOWN,
    RETIRED_KEYS,
    SEPTEMBER_FORM,
    SLOTS,
    Given,
    Search,
    at,
    below,
    leaves,
    load,
    merged,
    providers,
    resolved,
    shown,
    trees,
)
from workbench_plugins.openclaw.release_indexing import SeptemberChunker
from workbench_plugins.openclaw.releases import DECAY, DIVERSE, HISTORY, WEIGHED
from workbench_plugins.openclaw.sessions import Thresholds

if TYPE_CHECKING:
    from workbench_plugins.providers.embedder import Provider

SINCE_15 = ("query.hybrid.mmr", "query.hybrid.temporalDecay")
NEWEST = HISTORY[-1]
FIRST_ALIKE = "2026.2.12"
"""The first release that is known. Our 2026.2.13 returns what was recorded of it."""


class Choice(NamedTuple):
    """A release's pipeline, and why it was chosen."""

    pipeline: Pipeline
    why: str

    @property
    def release(self) -> str:
        return version_of(self.pipeline)

    @property
    def description(self) -> str:
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

    FIRST_ALIKE searches as the first of them. Raises InputError for text that is no version, and for one
    before that.
    """
    version = _version(text)
    if version is None or version < (_version(FIRST_ALIKE) or version):
        raise InputError(
            f"{text!r} is not a release whose search is known.",
            f"Name one of {FIRST_ALIKE}, {', '.join(releases())}.",
        )
    older = [one for one in HISTORY if (_version(one.name) or version) <= version] or [HISTORY[0]]
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
    if version < (_version(FIRST_ALIKE) or version):
        return Choice(HISTORY[0], f"{text} wrote the file, and nothing older is known")
    pipeline = release_named(text).pipeline
    like = "" if version == _version(pipeline.name) else ", which searches like it"
    return Choice(pipeline, f"{text} wrote the file{like}")


def agreed_release(keys: set[str], configured: Callable[[Pipeline], Pipeline], file: Path) -> Choice:
    """The release of a file that names none, when all releases that know its keys answer the same.

    `configured` gives the pipeline that the file configures of a release. Raises InputError when two differ.
    """
    late = any(below(key, SINCE_15) for key in keys)
    able = HISTORY[1:-1] if late else HISTORY[:-1]
    built = [configured(one) for one in able]
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
    return release.with_changes(*more)


class KeyReport(NamedTuple):
    """The effect of a key of the file in the workbench."""

    key: str
    value: str
    fate: Literal["used", "no effect", "unknown"]
    description: str

    def as_json(self) -> dict[str, str]:
        """The fields of the report; the description is called `says`."""
        return {"key": self.key, "value": self.value, "fate": self.fate, "says": self.description}


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

    @property
    def has_named_address(self) -> bool:
        """Whether the user has named every address that may get texts: a model has its name there alone."""
        return bool(self.address_variables) and all(map(os.environ.get, self.address_variables))

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
    data = merged(load(Path(os.path.expanduser(text))), more or {})
    return configured(data, Path(text), agent, system, release)


def configured(
    data: Mapping[str, Any], file: Path, agent: str = "", system: Pipeline | None = None, release: str = ""
) -> Configuration:
    """The configuration of `data`, which comes from `file`. Raises InputError as `read` does."""
    form, agent, defaults, overrides = trees(data, file, agent)
    given = [*defaults.keys_with_values(), *overrides.keys_with_values()]
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
        workspace=Path(os.path.expanduser(workspace)) if isinstance(workspace, str) and workspace else None,
        citations=str(at(data, "memory.citations", "auto")),
    )
    findings = [_finding(one, given, unknown, configuration, newest) for one in given]
    return replace(configuration, findings=(*findings, *_memory_keys(data, form), *_misplaced(data, form)))


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
    return Path(os.path.expanduser(path.replace("{agentId}", agent)))


def _state() -> Path:
    """OpenClaw's state folder."""
    return Path(os.path.expanduser(os.environ.get("OPENCLAW_STATE_DIR") or "~/.openclaw"))


# The effect of each key


def _finding(
    one: Given, given: Sequence[Given], unknown: Sequence[str], configuration: Configuration, newest: bool
) -> KeyReport:
    def found(fate: Literal["used", "no effect"], description: str) -> KeyReport:
        return KeyReport(one.location, shown(one.key, one.value), fate, description)

    if below(one.key, unknown):
        near = difflib.get_close_matches(one.key, KINDS, n=1, cutoff=0.6)
        return _unknown(one.location, f"unknown; the most similar key is {near[0]}" if near else "unknown")
    later = [other.location for other in given if other.key == one.key][-1]
    if later != one.location and one.key != "extraPaths":
        return found("no effect", f"{later} overrides it")
    if newest and (above := below(one.key, RETIRED_KEYS)):
        return found("no effect", f"2026.9.6 no longer reads {above}: its values are fixed")
    if above := below(one.key, NO_EFFECT):
        return found("no effect", NO_EFFECT[above])
    became = _became(one, configuration)
    return found("used", became) if became else found("no effect", _why_not(one, configuration))


def _unknown(location: str, description: str) -> KeyReport:
    """A key that is not known. Its value is not shown: nobody can say whether it is a secret."""
    return KeyReport(one_line(masked(location)), NOT_SHOWN, "unknown", description)


def _memory_keys(data: Mapping[str, Any], form: str) -> Iterator[KeyReport]:
    """The keys about memory outside the settings of memory search: citations, workspace, and others."""
    memory = at(data, "memory", {})
    for one in leaves(memory if isinstance(memory, Mapping) else {}, "memory"):
        if one.key == "citations":
            yield KeyReport(
                one.location, shown(one.key, one.value), "used", "the citations of the agent's tools"
            )
        elif not below(one.key, ("search",)):
            meant = _meant(one.key)
            yield _unknown(
                one.location, f"not read there: its place is {form}.{meant}" if meant else "unknown"
            )
    if (workspace := at(data, "agents.defaults.workspace")) is not None:
        yield KeyReport("agents.defaults.workspace", shown("", workspace), "used", "the default of --memory")
    if form == SEPTEMBER_FORM and at(data, FEBRUARY_FORM) is not None:
        yield KeyReport(FEBRUARY_FORM, "…", "no effect", f"{SEPTEMBER_FORM} overrides it")


def _misplaced(data: Mapping[str, Any], form: str) -> Iterator[KeyReport]:
    """The keys of memory search that are no settings of it where they stand, each with its place.

    Looked at is what stands below another `memorySearch`, and beside the settings or above them.
    """
    elsewhere = {key: value for key, value in data.items() if key != "memory"}  # which `_memory_keys` reads
    for one in leaves(elsewhere, ""):
        if below(one.key, (FEBRUARY_FORM,)):
            continue
        _, named, inside = f".{one.key}".partition(".memorySearch.")
        beside = re.sub(r"^(agents\.)?(defaults\.)?", "", one.key)
        if meant := (_meant(inside) or inside) if named else _meant(beside):
            yield _unknown(one.key, f"not read there: its place is {form}.{meant}")


def _meant(key: str) -> str:
    """The one known key of a query or of chunking that is, or ends in, this one; empty for any other key.

    Other keys, such as `model`, have a meaning of their own elsewhere in the file.
    """
    alike = [one for one in KINDS if one == key or one.endswith(f".{key}")]
    return alike[0] if len(alike) == 1 and alike[0].startswith(("query.", "chunking.")) else ""


def _became(one: Given, configuration: Configuration) -> str:
    """The effect of a key in the workbench, empty if it has none."""
    search = configuration.search
    slots = [slot for slot, key in SLOTS.items() if key == one.key and has(configuration.pipeline, slot)]
    if slots:
        value = search[one.key]
        return f"{', '.join(slots)} = {value:.6g}" + (f", not {one.value}" if value != one.value else "")
    match one.key:
        case "provider" | "model" if configuration.model:
            return f"the model {configuration.model}"
        case "remote.baseUrl":
            variables = " or ".join(configuration.unnamed_addresses())
            return (
                f"not used until you name it: --base-url or {variables}"
                if variables
                else "the provider's address"
            )
        case "chunking.tokens" | "chunking.overlap":
            return f"the chunker {configuration.chunker.name}"
        case "extraPaths":
            every = (
                "; its patterns have no effect" if any(path.pattern for path in search["extraPaths"]) else ""
            )
            return f"extra paths {', '.join(configuration.extra_paths)}{every}"
        case "sources" | "experimental.sessionMemory":
            refused = isinstance(one.value, list) and set(one.value) - set(search["sources"])
            also = "; sessions need experimental.sessionMemory too" if refused else ""
            return f"the sources {', '.join(search['sources'])}{also}"
        case "store.path":
            return f"OpenClaw's own index, {configuration.store}, which is only read"
        case "sync.watchDebounceMs":
            return f"`index --watch` waits for {configuration.quiet:g} s without a change"
        case "sync.sessions.deltaBytes" | "sync.sessions.deltaMessages":
            enough = configuration.thresholds
            return f"`index --watch` reads a transcript after {enough.bytes} bytes or {enough.messages} lines"
        case "query.hybrid.enabled":
            return "two legs" if search["query.hybrid.enabled"] else "the vector leg only"
        case "query.hybrid.mmr.enabled" if has(configuration.pipeline, "diversity.relevance_weight"):
            return "the stage diversity"
        case "query.hybrid.temporalDecay.enabled" if has(configuration.pipeline, "recency.half_life_days"):
            return "the stage recency"
        case _:
            return ""


def _why_not(one: Given, configuration: Configuration) -> str:
    if one.key in ("provider", "model"):
        return f"{configuration.provider} is not available here; the workbench uses its own model"
    if one.key == "remote.baseUrl":
        return f"{configuration.provider} is not available here"
    return f"{configuration.pipeline.name} has no such stage"


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


LANGUAGE = OpenClawJson()
