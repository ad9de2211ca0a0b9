"""Which release of OpenClaw a configuration is read for: the one that you name, or the one that wrote it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from workbench.errors import InputError
from workbench.retrieval.pipeline import Pipeline
from workbench.systems.openclaw.config.file import SEPTEMBER_FORM, at, below
from workbench.systems.openclaw.config.settings import MemorySearch
from workbench.systems.openclaw.pipelines import WORKAROUND
from workbench.systems.openclaw.releases import DECAY, DIVERSE, HISTORY, WEIGHED

SINCE_15 = ("query.hybrid.mmr", "query.hybrid.temporalDecay")
NEWEST = HISTORY[-1]


class Choice(NamedTuple):
    """A release's pipeline, and why it was chosen."""

    pipeline: Pipeline
    why: str

    @property
    def release(self) -> str:
        return version_of(self.pipeline)


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
    return Choice(older[-1], _searches_as(text, older[-1]))


def _searches_as(text: str, pipeline: Pipeline) -> str:
    name = text.removeprefix("openclaw-")
    return "you named it" if name == version_of(pipeline) else f"{name} searches like it"


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


def with_switches(release: Pipeline, search: MemorySearch) -> Pipeline:
    """An older release with what its settings switch on and off."""
    hybrid = search.query.hybrid
    if not hybrid.enabled:
        return replace(WORKAROUND, name=f"{release.name}-vector-only")
    if release is HISTORY[0]:
        return release
    more = [
        *([DIVERSE] if hybrid.mmr.enabled else []),
        *([WEIGHED, DECAY] if hybrid.temporal_decay.enabled else []),
    ]
    return release.but(*more)
