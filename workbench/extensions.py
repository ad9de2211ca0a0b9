"""Registries: named things of one kind, the workbench's own and those that other packages add.

An extension is an installed package with an entry point in the group `workbench.extensions`: a module, or a
function without parameters, that registers things. Extensions are loaded once, when a name that is not the
workbench's own is looked up, or when names are listed.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import singledispatch
from importlib.metadata import EntryPoint, entry_points
from inspect import ismodule
from threading import RLock
from typing import Any, Protocol, TypeVar

from workbench.errors import InputError, unknown_name
from workbench.safe_text import one_line

GROUP = "workbench.extensions"

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")


class ExtensionWarning(UserWarning):
    """An installed extension does not load; everything else works without it."""


class Named(Protocol):
    """A thing that a registry can hold."""

    @property
    def name(self) -> str: ...


Thing = TypeVar("Thing", bound=Named)


class Registry(Mapping[str, Thing]):
    """Things of one kind by their names: the workbench's own first, then those that were registered.

    `noun` is the kind in messages, and `see_all` says how to list all of them.
    """

    def __init__(self, noun: str, own: Iterable[Thing], see_all: str) -> None:
        self.noun, self._see_all = noun, see_all
        self._own = {one.name: one for one in own}
        self._added: dict[str, Thing] = {}

    def __getitem__(self, name: str) -> Thing:
        if name in self._own:
            return self._own[name]
        load_extensions()
        return self._added[name]

    def __iter__(self) -> Iterator[str]:
        load_extensions()
        return iter((*self._own, *self._added))

    def __len__(self) -> int:
        load_extensions()
        return len(self._own) + len(self._added)

    @property
    def registered(self) -> tuple[str, ...]:
        """The names that are not the workbench's own."""
        load_extensions()
        return tuple(self._added)

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

    def remove(self, name: str) -> None:
        """Forgets a thing that was registered."""
        del self._added[name]


@singledispatch
def registrar(thing: object) -> None:
    """Adds a thing to the registry of its kind; each kind has its own variant of this function."""
    raise InputError(
        f"{thing!r} cannot be registered.",
        "Register a Pipeline, an Engine (a fusion), a Specimen or an Opener (a kind of memory).",
    )


@contextmanager
def all_or_nothing() -> Iterator[None]:
    """Takes back what was registered within when an error ends it."""
    with _extensions.lock:
        before = len(_extensions.added)
        try:
            yield
        except BaseException:
            for registry, name in reversed(_extensions.added[before:]):
                registry.remove(name)
            del _extensions.added[before:]
            raise


class Extensions:
    """The installed extensions: loaded once, with a problem for each one that does not load."""

    def __init__(self) -> None:
        self.lock = RLock()
        self.loaded = self._begun = False
        self.added: list[tuple[Registry[Any], str]] = []
        self.problems: list[str] = []

    def load(self) -> None:
        """Loads each extension; a warning names the package of one that fails."""
        with self.lock:
            if self._begun:  # an extension that is being loaded may look up names itself
                return
            self._begun = True
            for one in sorted(entry_points(group=GROUP), key=lambda one: (_package(one), one.name)):
                self._load(one)
            self.loaded = True

    def _load(self, one: EntryPoint) -> None:
        try:
            with all_or_nothing():
                loaded = one.load()
                if not ismodule(loaded):
                    loaded()
        except (Exception, SystemExit) as error:
            problem = (
                f"The extension {_package(one)} ({one.value}) does not load, and nothing of it is used. "
                f"{type(error).__name__}: {one_line(str(error))}"
            )
            self.problems.append(problem)
            warnings.warn(problem, ExtensionWarning, stacklevel=2)


def _package(one: EntryPoint) -> str:
    return one.dist.name if one.dist else one.name


_extensions = Extensions()


def load_extensions() -> None:
    """Loads the installed extensions, if they are not loaded yet."""
    if not _extensions.loaded:
        _extensions.load()
