"""Registries: named things of one kind, the workbench's own and those that guests and other packages add.

A guest is a folder of `workbench_plugins`. Its `__init__` only declares names and the modules that have them,
so a guest that is not asked costs no import. An installed package joins with an entry point in the group
`workbench.extensions`: a module, or a function without parameters, that declares or registers things.
Packages are loaded once, when a name that is nobody else's is looked up, or when names are listed.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import singledispatch
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from inspect import ismodule
from pkgutil import iter_modules
from threading import RLock
from types import ModuleType
from typing import Any, NamedTuple, Protocol, TypeVar

from workbench.errors import InputError, unknown_name
from workbench.safe_text import one_line

GROUP = "workbench.extensions"
GUESTS = "workbench_plugins"

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")


class ExtensionWarning(UserWarning):
    """An installed extension does not load; everything else works without it."""


class Named(Protocol):
    """A thing that a registry can hold."""

    @property
    def name(self) -> str: ...


Thing = TypeVar("Thing", bound=Named)


class Declared(NamedTuple):
    """Where a name is: its module, the extra that installs what it needs, and what the name is for."""

    module: str
    extra: str
    says: str


def declare(module: str, extra: str = "", **names: str | Mapping[str, str]) -> None:
    """Says which names a module has, by their kind: `declare("acme.systems", system="acme acme-2")`.

    Blanks separate names. The module is imported when one of them is first used. A mapping also says what
    each name is for, as `workbench --help` prints it of a command: `command={"acme": "Ask: Do so."}`.
    `extra` is the extra of this package that installs what the module needs. Raises InputError for a name
    that another module has declared.
    """
    with _extensions.lock:
        for kind, some in names.items():
            there = _extensions.declared.setdefault(kind, {})
            for name in some if isinstance(some, Mapping) else some.split():
                one = Declared(module, extra, some[name] if isinstance(some, Mapping) else "")
                if there.setdefault(name, one) != one:
                    raise InputError(f"There is a {kind} {name!r} already.", "Choose another name.")


def declared(kind: str) -> Mapping[str, Declared]:
    """The declarations of a kind by name, those of the guests first."""
    load_guests()
    found = _extensions.declared.get(kind, {})
    # Whoever imports a guest first declares first, so the order is that of the guests' names.
    return dict(sorted(found.items(), key=lambda one: _place(one[1].module)))


def part_of(kind: str, name: str) -> ModuleType:
    """The module that declared a name, imported. Raises InputError if no guest declares it."""
    module = declared_module(kind, name)
    if module is None:
        raise InputError(
            f"The part of the workbench that has the {kind} {name!r} is not installed.",
            f"Install the whole package, with the folder {GUESTS}.",
        )
    return module


def _place(module: str) -> tuple[int, str]:
    """The heart comes first, in its own order, then the guests by name, then packages of others."""
    folder = module.split(".")[1] if module.startswith(f"{GUESTS}.") else ""
    return (1, folder) if folder else (0 if module.startswith("workbench.") else 2, "")


def declared_module(kind: str, name: str) -> ModuleType | None:
    """The module that declared a name, imported; None if none did.

    Raises InputError when the module needs a package that is not installed.
    """
    found = declared(kind).get(name)
    if found is None:
        return None
    try:
        with all_or_nothing():
            return import_module(found.module)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] in ("workbench", GUESTS):
            raise
        install = f"'hybrid-search-workbench[{found.extra}]'" if found.extra else error.name
        raise InputError(
            f"{name} needs the package {error.name}, which is not installed.",
            f"Install it: pip install {install}",
        ) from None


def has_guest(name: str) -> bool:
    """Whether a guest is installed; it is not imported."""
    try:
        return find_spec(f"{GUESTS}.{name}") is not None
    except ImportError:
        return False


class Registry(Mapping[str, Thing]):
    """Things of one kind by their names: the workbench's own, then the guests', then those of packages.

    `noun` is the kind in messages, `kind` the one in declarations, and `see_all` says how to list all.
    """

    def __init__(self, noun: str, own: Iterable[Thing], see_all: str, kind: str = "") -> None:
        self.noun, self.kind, self._see_all = noun, kind or noun, see_all
        self._own = {one.name: one for one in own}
        self._added: dict[str, Thing] = {}

    def __getitem__(self, name: str) -> Thing:
        if name in self._own:
            return self._own[name]
        if name not in self._added and declared_module(self.kind, name) is None:
            load_extensions()
            declared_module(self.kind, name)
        return self._added[name]

    def __contains__(self, name: object) -> bool:
        if name in self._own or name in self._added or name in declared(self.kind):
            return True
        load_extensions()
        return name in self._added or name in declared(self.kind)

    def __iter__(self) -> Iterator[str]:
        load_extensions()
        return iter(dict.fromkeys((*self._own, *declared(self.kind), *self._added)))

    def __len__(self) -> int:
        return len(list(iter(self)))

    @property
    def registered(self) -> tuple[str, ...]:
        """The names that are neither the workbench's own nor a guest's."""
        load_extensions()
        guests = {name for name, one in declared(self.kind).items() if one.module.startswith(f"{GUESTS}.")}
        return tuple(name for name in self if name not in self._own and name not in guests)

    def named(self, name: str) -> Thing:
        """The thing of that name. Raises InputError for an unknown name, and suggests the nearest ones."""
        if name not in self:
            remedy = "\n  ".join([self._see_all, *_extensions.problems])
            raise unknown_name(self.noun, name, self, remedy)
        return self[name]

    def add(self, thing: Thing) -> None:
        """Registers a thing under its name; the same thing again changes nothing.

        Raises InputError for a name that another thing has, and for one that cannot be typed in a command.
        """
        name = thing.name
        if not NAME.fullmatch(name):
            raise InputError(
                f"{name!r} cannot be the name of a {self.noun}.",
                "Use letters, digits, and . _ + - after the first character.",
            )
        with _extensions.lock:
            known = {**self._own, **self._added}
            if name not in known:
                self._added[name] = thing
                _extensions.added.append((self, name))
            elif known[name] != thing:
                raise InputError(f"There is a {self.noun} {name!r} already.", "Choose another name.")


@singledispatch
def registrar(thing: object) -> None:
    """Adds a thing to the registry of its kind; each kind has its own variant of this function."""
    raise InputError(
        f"{thing!r} cannot be registered.",
        "Register a system (Pipeline), a fusion (Engine), a Specimen, a kind of memory (Opener), a store, a "
        "reranker or a settings language.",
    )


def register(*things: Any) -> None:
    """Adds things of any kind: systems (Pipeline), fusions (Engine), stores, rerankers and others.

    What is registered is listed and run like the workbench's own. Either all of it is added, or none.
    Registering the same thing again changes nothing. Raises InputError for a name that another thing of that
    kind has, and for a thing of an unknown kind.
    """
    import_module("workbench.systems.registry")  # which says how systems and their parts are added
    with all_or_nothing():
        for thing in things:
            registrar(thing)


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
    """The guests and installed extensions: loaded once, with a problem for each one that does not load."""

    def __init__(self) -> None:
        self.lock = RLock()
        self._begun = self.guests_loaded = False
        self.added: list[tuple[Registry[Any], str]] = []
        self.declared: dict[str, dict[str, Declared]] = {}
        self.problems: list[str] = []

    def load_guests(self) -> None:
        """Reads the declarations of the guests; one that is not there, or not whole, is left out."""
        with self.lock:
            if self.guests_loaded:
                return
            self.guests_loaded = True
            try:
                package = import_module(GUESTS)
            except ModuleNotFoundError:
                return
            folders = (one for one in iter_modules(package.__path__, f"{GUESTS}.") if one.ispkg)
            for found in folders:
                try:
                    import_module(found.name)
                except ImportError as error:
                    self.problems.append(f"The guest {found.name} does not load: {one_line(str(error))}")

    def load(self) -> None:
        """Loads each extension; a warning names the package of one that fails."""
        with self.lock:
            self.load_guests()
            if self._begun:  # an extension that is being loaded may look up names itself
                return
            self._begun = True
            for one in sorted(entry_points(group=GROUP), key=lambda one: (_package(one), one.name)):
                self._load(one)

    def _load(self, one: EntryPoint) -> None:
        before = {kind: dict(names) for kind, names in self.declared.items()}
        try:
            with all_or_nothing():
                loaded = one.load()
                if not ismodule(loaded):
                    loaded()
        except (Exception, SystemExit, KeyboardInterrupt) as error:
            self.declared = before
            problem = (
                f"The extension {_package(one)} ({one.value}) does not load, and nothing of it is used. "
                f"{type(error).__name__}: {one_line(str(error))}"
            )
            self.problems.append(problem)
            warnings.warn(problem, ExtensionWarning, stacklevel=2)


def _package(one: EntryPoint) -> str:
    return one.dist.name if one.dist else one.name


_extensions = Extensions()


def load_guests() -> None:
    """Reads the declarations of the guests, if they are not read yet."""
    _extensions.load_guests()


def load_extensions() -> None:
    """Loads the installed extensions, if they are not loaded yet."""
    _extensions.load()
