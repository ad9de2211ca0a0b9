"""Real systems as data: every pipeline by its name, and what else guests add about systems."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from workbench.errors import InputError
from workbench.memory.sources import Indexing
from workbench.registry import Registry, declared, register, registrar
from workbench.retrieval.cutoff import Order
from workbench.retrieval.pipeline import Pipeline
from workbench.retrieval.rerank import Rerank, Reranker, RerankerOfIndex, reranked_order
from workbench.systems import openclaw, tutorial

__all__ = ["register"]

SYSTEMS = Registry[Pipeline](
    "system", (*openclaw.PIPELINES, *tutorial.PIPELINES), "Choose one of them, or see all: workbench systems"
)
ON_A_SERVER = Registry[Pipeline](
    "system on a server", (), "Choose one of them, or see all: workbench systems", kind="server_system"
)
"""The systems that need an index on a database server; all others run on any index."""


def every_system() -> list[Pipeline]:
    """All systems: those that run anywhere, those that need a server, and those that were registered."""
    added = SYSTEMS.registered
    own = [one for name, one in SYSTEMS.items() if name not in added]
    return [*own, *ON_A_SERVER.values(), *(SYSTEMS[name] for name in added)]


def default_system() -> str:
    """The system of `search`, `explain` and the other commands that are given none.

    A guest may declare it; without one it is the bug report's three fixes.
    """
    return next(iter(declared("default")), openclaw.THREE_FIXES.name)


def system(name: str) -> Pipeline:
    """The pipeline of that name: one of SYSTEMS or ON_A_SERVER, or a file of settings, `SYSTEM@FILE` as well.

    Raises InputError, naming the nearest ones, when there is no such system, and for a file that cannot be
    used.
    """
    language = language_of_file(name)
    if language is not None:
        return language.system(name)
    return ON_A_SERVER[name] if name not in SYSTEMS and name in ON_A_SERVER else SYSTEMS.named(name)


def is_configuration(name: str) -> bool:
    """Whether a system's name is that of a file of settings, with or without a system before it."""
    return language_of_file(name) is not None


@registrar.register(Pipeline)
def _add(pipeline: Pipeline) -> None:
    if is_configuration(pipeline.name):
        raise InputError(
            f"The name {pipeline.name!r} would be read as the name of a file.", "Choose another name."
        )
    (ON_A_SERVER if getattr(pipeline.layout, "server", False) else SYSTEMS).add(pipeline)


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


@dataclass(frozen=True)
class Language:
    """A system's own way to write its settings: keys that `--set` takes, and files that `--config` reads.

    `reads` says whether a name is that of a file in this language, with or without `SYSTEM@` before it,
    `system` gives the pipeline that such a file describes, and `read` what the file says, for a release.
    `key_of` gives the key in `KEY=value`, empty if it is none of this language; `check` refuses text that is
    meant as a key and is none; `fits` says whether a pipeline has what a key sets, and `with_keys` sets it.
    `parsed` gives the content of a file's text, which messages call by the second argument, and `configured`
    the pipeline of such content, of a file, for an agent and a release. All raise InputError. `keys` gives
    the keys that a pipeline has stages for and its release reads, and `to_paste` values of keys as a file has
    them; None if the pipeline's release reads one of the keys no longer. `pasted` gives what the file of a
    system's name says, as `read` does, once more content is pasted into the file.
    """

    name: str
    reads: Callable[[str], bool]
    system: Callable[[str], Pipeline]
    read: Callable[[str, str], Any]
    key_of: Callable[[str], str]
    check: Callable[[str], None]
    fits: Callable[[Pipeline, str], bool]
    with_keys: Callable[[Pipeline, Sequence[str]], Pipeline]
    parsed: Callable[[str, str], Mapping[str, Any]]
    configured: Callable[[Mapping[str, Any], Path, str, str], Pipeline]
    keys: Callable[[Pipeline], list[Key]]
    to_paste: Callable[[Pipeline, Mapping[str, Any]], dict[str, Any] | None]
    pasted: Callable[[str, Mapping[str, Any]], Any]


LANGUAGES = Registry[Language](
    "settings language", (), "See the documentation of the guests.", kind="language"
)
registrar.register(Language, LANGUAGES.add)


def language_of_file(name: str) -> Language | None:
    """The language of a file of settings; None for another name."""
    if not name.partition("#")[0].endswith((".json", ".json5", ".yaml", ".toml")):
        return None
    return next((one for one in LANGUAGES.values() if one.reads(name)), None)


def with_settings_of_any_language(
    pipelines: Sequence[Pipeline], settings: Collection[str], leave_out: bool = False
) -> tuple[list[Pipeline], list[str]]:
    """The pipelines with the keys among `settings` set where they fit, and the settings that are no keys.

    Raises InputError for a key that fits none of the pipelines, unless `leave_out`, and for a value that
    cannot be used.
    """
    made, slots = list(pipelines), []
    for setting in settings:
        languages = list(LANGUAGES.values())  # only now: languages import what they need
        language = next((one for one in languages if one.key_of(setting)), None)
        if language is None:
            for one in languages:
                one.check(setting)
            slots.append(setting)
            continue
        key = language.key_of(setting)
        if made and not leave_out and not any(language.fits(one, key) for one in made):
            language.with_keys(made[0], [setting])  # which says why not
        made = [language.with_keys(one, [setting]) if language.fits(one, key) else one for one in made]
    return made, slots


INDEXINGS = Registry[Indexing](
    "way to index", (), "Choose one of these, or leave it out for the workbench's own way.", kind="indexing"
)
"""How releases index a memory, by the name of the system: for answers that are exactly its own."""
registrar.register(Indexing, INDEXINGS.add)


def indexing(name: str) -> Indexing:
    """How the release of that name indexes a memory: give it to `index_folder` as `like`.

    Raises InputError, naming the nearest ones, for a release whose indexing is not known.
    """
    return INDEXINGS.named(name)


@dataclass(frozen=True)
class RerankerKind:
    """A kind of reranker: `form` is how a person types it, and `make` takes what comes after `NAME:`."""

    name: str
    form: str
    make: Callable[[str], Reranker | RerankerOfIndex]


RERANKERS = Registry[RerankerKind]("reranker", (), "")
registrar.register(RerankerKind, RERANKERS.add)


def reranker_named(text: str) -> Reranker | RerankerOfIndex:
    """The reranker that this text describes, such as `late` or `cross-encoder:FOLDER`.

    Raises InputError for a text of another form.
    """
    kind, colon, rest = text.strip().partition(":")
    known = RERANKERS.get(kind)
    if known is None or (":" in known.form) != bool(rest) or bool(colon) != bool(rest):
        forms = " or ".join(one.form for one in RERANKERS.values())
        raise InputError(
            f"{kind!r} names no reranker, or lacks what comes after it.", f"Give {forms or 'none'}."
        )
    return known.make(rest)


RERANKED = "+rerank"
"""The end of the name of a system with a reranker."""


def with_reranker(pipeline: Pipeline, reranker: Reranker | RerankerOfIndex) -> Pipeline:
    """The pipeline, with the best 20 candidates in the order of a reranker; its floor stays on its own score.

    `rerank.count` is how many are read. Raises InputError for a pipeline that reranks already.
    """
    order = pipeline["order"]
    if not isinstance(order, Order) or any(isinstance(stage, Rerank) for stage in pipeline.stages):
        raise InputError(
            f"{pipeline.name} has a reranker or an order of its own.",
            "Choose a system without a reranker, or leave out --rerank.",
        )
    stage = Rerank(reranker, fused=order)
    reranked = pipeline.with_new_stage(stage, before=order.slot).with_stage(reranked_order())
    return replace(reranked, name=f"{pipeline.name}{RERANKED}")
