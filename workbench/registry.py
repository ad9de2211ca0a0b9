"""Registries: the named things of one kind, the library's own, the features' and those of other packages.

What features add stands in one table, `ROWS` of `workbench_plugins`: for each kind the names, and where each
thing is, as `module:attribute [extra]`. A module is imported when one of its names is used, and the rows of a
feature that was taken out are left out. An installed package joins with an entry point in the group
`workbench.extensions`: a module, or a function without parameters, that registers things. Packages are loaded
once, when a name that nobody else has is looked up, or when names are listed.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from inspect import isclass, ismodule
from threading import RLock
from types import ModuleType
from typing import Any, TypeVar

from workbench.errors import InputError, install_extra, unknown_name
from workbench.safe_text import one_line

GROUP = "workbench.extensions"
FEATURES = "workbench_plugins"

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*(://)?")
SETTINGS = (".json", ".json5", ".yaml", ".toml")
"""The endings of files of settings, whose names are read as names of systems."""

Thing = TypeVar("Thing")


class ExtensionWarning(UserWarning):
    """An installed extension does not load; everything else works without it."""


def has_feature(name: str) -> bool:
    """Whether a feature is there; it is not imported."""
    try:
        return find_spec(f"{FEATURES}.{name}") is not None
    except ImportError:
        return False


def load(name: str, row: str) -> Any:
    """What a row `module:attribute [extra]` names; `name` is its name in messages.

    Raises InputError when a package that it needs is not installed, or a feature was taken out.
    """
    entry = EntryPoint(name, row, GROUP)
    try:
        return entry.load()
    except ModuleNotFoundError as error:
        raise not_there(name, error, *entry.extras) from None


def not_there(name: str, error: ModuleNotFoundError, extra: str = "") -> Exception:
    """The error for what `name` needs: a feature that was taken out, or a package of the extra.

    A missing module of the library itself is a mistake in the workbench, and stays as it is.
    """
    package, _, inside = (error.name or "").partition(".")
    if package == "workbench":
        return error
    if package == FEATURES:
        return InputError(
            f"{name} needs {FEATURES}/{inside.partition('.')[0]}, which is not there.",
            f"Install the whole package, with the folder {FEATURES}.",
        )
    if extra:
        remedy = install_extra(extra)
        return InputError(f"{name} needs the package {error.name}, which is not installed.", remedy)
    # A package is often not called as its module is, and then somebody else may own the module's name.
    return InputError(
        f"{name} needs the Python module {error.name}, which is not installed.",
        f"Install the package that has it; the documentation of {name} names it.",
    )


def _rows_of_features(kind: str) -> dict[str, str]:
    """The rows of the table for one kind, without those of features that are not there."""
    try:
        table: Any = import_module(FEATURES)
    except ModuleNotFoundError:
        return {}

    def is_there(row: str) -> bool:
        module = row.partition(":")[0]
        return all(map(has_feature, (module.split(".")[1], *table.NEEDS.get(module, ()))))

    there = {row: is_there(row) for row in set(table.ROWS.get(kind, {}).values())}
    return {name: row for name, row in table.ROWS.get(kind, {}).items() if there[row]}


class Registry(Mapping[str, Thing]):
    """The things of one kind by name: the library's own, then the features', then those of packages.

    `kind` is a noun for messages, and the kind of the rows. `accepts` says whether a thing is of this kind,
    and `see_all` how to list all.
    """

    def __init__(
        self, kind: str, accepts: Callable[[Any], bool], own: Iterable[Thing] = (), see_all: str = ""
    ) -> None:
        self.kind, self.accepts, self._see_all = kind, accepts, see_all
        self._own = {name_of(one): one for one in own}
        self._added: dict[str, Thing] = {}
        self._loaded: dict[str, Thing] = {}
        _registries.append(self)

    @cached_property
    def rows(self) -> dict[str, str]:
        """Where the things of the features are, `module:attribute`, by name."""
        return _rows_of_features(self.kind)

    def __getitem__(self, name: str) -> Thing:
        if name in self._own:
            return self._own[name]
        if name not in self.rows:
            load_extensions()
            return self._added[name]
        if name not in self._loaded:
            found: Any = load(name, self.rows[name])
            # A row may name a tuple of things, one of which has the name.
            named = next(one for one in found if one.name == name) if type(found) is tuple else found
            self._loaded[name] = named
        return self._loaded[name]

    def modules(self, names: Collection[str]) -> Iterator[ModuleType]:
        """The modules of the features that have the things of these names, in the order of the rows."""
        where = dict.fromkeys(row.partition(":")[0] for name, row in self.rows.items() if name in names)
        return map(import_module, where)

    def __contains__(self, name: object) -> bool:
        if name in self._own or name in self.rows:
            return True
        load_extensions()
        return name in self._added

    def __iter__(self) -> Iterator[str]:
        return iter((*self._own, *self.rows, *self.registered))

    def __len__(self) -> int:
        return len(list(iter(self)))

    @property
    def registered(self) -> tuple[str, ...]:
        """The names that are neither the library's own nor a feature's."""
        load_extensions()
        return tuple(self._added)

    @property
    def of_this_process(self) -> tuple[str, ...]:
        """The names that no installed package has registered, so that a new process does not know them."""
        load_extensions()
        installed = {name for registry, name in _extensions.installed if registry is self}
        return tuple(name for name in self._added if name not in installed)

    def named(self, name: str) -> Thing:
        """The thing of that name. Raises InputError for an unknown name, and suggests the nearest ones."""
        if name not in self:
            remedy = "\n  ".join([self._see_all, *_extensions.problems])
            raise unknown_name(self.kind, name, self, remedy)
        return self[name]

    def add(self, thing: Thing) -> None:
        """Registers a thing under its name; the same thing again changes nothing.

        Raises InputError for a name that another thing has, and for one that cannot be typed in a command.
        """
        name = name_of(thing)
        if not NAME.fullmatch(name):
            raise InputError(
                f"{name!r} cannot be the name of a {self.kind}.",
                "Use letters, digits, and . _ + - after the first character.",
            )
        if name.endswith(SETTINGS):
            raise InputError(
                f"The name {name!r} would be read as the name of a file.", "Choose another name."
            )
        with _extensions.lock:
            if name not in (*self._own, *self.rows, *self._added):
                self._added[name] = thing
                _extensions.added.append((self, name))
            elif self[name] != thing:
                raise InputError(f"There is a {self.kind} {name!r} already.", "Choose another name.")


def name_of(thing: Any) -> str:
    """The name of a thing, or of a class."""
    return str(thing.__name__ if isclass(thing) else thing.name)


_registries: list[Registry[Any]] = []


def register(*things: Any) -> None:
    """Adds things of any kind: systems (Pipeline), fusions (Engine), stores, rerankers, widgets and others.

    What is registered is listed and run like the workbench's own. Either all of it is added, or none.
    Registering the same thing again changes nothing. Raises InputError for a name that another thing of that
    kind has, and for a thing of an unknown kind.
    """
    import_module("workbench.systems.catalogue")  # the registry of systems
    with all_or_nothing():
        for thing in things:
            registry = next((one for one in _registries if one.accepts(thing)), None)
            if registry is None:
                raise InputError(
                    f"{thing!r} cannot be registered.",
                    "Register a system (Pipeline), a fusion (Engine), a Specimen, a kind of memory (Opener), "
                    "a store, a reranker, a settings language, a command (Row) or a widget (a class).",
                )
            registry.add(thing)


@contextmanager
def all_or_nothing() -> Iterator[None]:
    """Takes back what was registered within when an error ends it."""
    with _extensions.lock:
        before = len(_extensions.added)
        try:
            yield
        except BaseException:
            for registry, name in reversed(_extensions.added[before:]):
                del registry._added[name]
            del _extensions.added[before:]
            raise


class Extensions:
    """The installed extensions: loaded once, with a problem for each one that does not load.

    `added` is all that was registered, in its order, and `installed` what the extensions registered of it.
    """

    def __init__(self) -> None:
        self.lock = RLock()
        self._begun = False
        self.added: list[tuple[Registry[Any], str]] = []
        self.installed: list[tuple[Registry[Any], str]] = []
        self.problems: list[str] = []

    def load(self) -> None:
        """Loads each extension; a warning names the package of one that fails."""
        with self.lock:
            if self._begun:  # an extension that is being loaded may look up names itself
                return
            self._begun = True
            for one in sorted(entry_points(group=GROUP), key=lambda one: (_package(one), one.name)):
                self._load(one)

    def _load(self, one: EntryPoint) -> None:
        before = len(self.added)
        try:
            with all_or_nothing():
                loaded = one.load()
                if not ismodule(loaded):
                    loaded()
        except (Exception, SystemExit, KeyboardInterrupt) as error:
            problem = (
                f"The extension {_package(one)} ({one.value}) does not load, and nothing of it is used. "
                f"{type(error).__name__}: {one_line(str(error))}"
            )
            self.problems.append(problem)
            warnings.warn(problem, ExtensionWarning, stacklevel=2)
        self.installed += self.added[before:]


def _package(one: EntryPoint) -> str:
    return one.dist.name if one.dist else one.name


_extensions = Extensions()


def load_extensions() -> None:
    """Loads the installed extensions, if they are not loaded yet."""
    _extensions.load()


WIDGETS = Registry[type]("widget", isclass, see_all="See dir(workbench.views.widgets).")
"""The widgets that features and packages add: classes."""
