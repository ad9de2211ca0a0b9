"""How systems change: their named changes, and their releases in the order of time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import ModuleType

from workbench.errors import InputError
from workbench.memory.data_files import load_data
from workbench.records import Stage
from workbench.registry import Registry
from workbench.retrieval.pipeline import Change, Pipeline, Source
from workbench.systems import openclaw, tutorial
from workbench.systems.catalogue import SYSTEMS


def _modules(names: Iterable[str] | None = None) -> Iterator[ModuleType]:
    """The modules that define systems and their changes; those of the systems of these names alone."""
    wanted = set(SYSTEMS) if names is None else set(names)
    own = [one for one in (openclaw, tutorial) if wanted & {pipeline.name for pipeline in one.PIPELINES}]
    yield from (*own, *SYSTEMS.modules(wanted))


def changes() -> list[Change]:
    """Every named change: those that the systems are made of, and the optional ones beside them."""
    standalone = [one for module in _modules() for one in vars(module).values() if isinstance(one, Change)]
    shipped = [change for pipeline in SYSTEMS.values() for change in pipeline.changes]
    return list(dict.fromkeys([*standalone, *shipped]))


def changes_of(name: str) -> dict[str, Change]:
    """The named changes that a system can take: those of all systems whose names begin as its own does.

    `openclaw-2026.9.6` takes what is named beside any `openclaw-…`.
    """
    family = name.partition("-")[0]
    alike = [one for one in SYSTEMS if one.partition("-")[0] == family]
    shipped = [change for one in alike for change in SYSTEMS[one].changes]
    standalone = [
        one for module in _modules(alike) for one in vars(module).values() if isinstance(one, Change)
    ]
    return {one.name: one for one in reversed([*standalone, *shipped])}


def where_is(stage: Stage) -> tuple[str, str]:
    """The module and the name of the change whose stage this is, so that code can import it.

    Raises InputError for a stage that no module names.
    """
    for module in _modules():
        for name, one in vars(module).items():
            if isinstance(one, Change) and one.stage == stage:
                return module.__name__, name
    raise InputError(
        f"No module names a change with the stage: {stage.description}.", "Name the change there."
    )


class History:
    """The releases and changes of one system, as the YAML file beside a module describes them.

    `notes` are texts that the notes of several releases share, beside those of the file, by their name.
    """

    def __init__(self, module: str, **notes: str) -> None:
        self._data = load_data(module)
        self._notes = {**notes, **self._data.get("notes", {})}

    def _source(self, release: str, row: dict[str, str]) -> Source:
        repository = row.get("repository", self._data.get("repository", ""))
        note = row.get("note", "").format(**self._notes)
        location = row.get("place", self._data.get("place", ""))
        return Source(repository, release, location, row.get("issue", ""), note)

    def release(self, name: str, variant: str = "") -> Source:
        """Where a release can be checked, or a variant of it: the file has it as `2026.9.6-trigram`."""
        return self._source(name, self._data["releases"][f"{name}-{variant}" if variant else name])

    def change(self, release: str, name: str, stage: Stage) -> Change:
        """The named change of a release, which puts this stage into its slot."""
        row = self._data["changes"][release][name]
        return Change(name, stage, row["why"], self._source(release, row), row.get("before", ""))


@dataclass(frozen=True)
class ReleaseLine:
    """The releases of one system, oldest first, and what the names of its other pipelines begin with.

    `stop_words` are the words that its keyword search leaves out.
    """

    name: str
    prefix: str
    releases: tuple[Pipeline, ...]
    stop_words: frozenset[str] = frozenset()


LINES = Registry[ReleaseLine](
    "line of releases",
    lambda thing: isinstance(thing, ReleaseLine),
    see_all="Name the systems with --system.",
)


def line_of(name: str) -> ReleaseLine:
    """The line of releases that a system belongs to: the one that has it, or that its name begins like.

    Raises InputError for a system without releases, such as a fusion of another engine.
    """
    lines = sorted(LINES.values(), key=lambda line: name not in {one.name for one in line.releases})
    for line in lines:
        if name in {one.name for one in line.releases} or (line.prefix and name.startswith(line.prefix)):
            return line
    raise InputError(
        f"{name} has no releases that are known here.",
        f"These have: {', '.join(LINES) or 'none'}. Name the systems with --system.",
    )
