"""The state of a widget: named settings that are checked, and what a page needs to draw.

A notebook's widget and the page of `workbench explore` have the same state; only the first needs ipywidgets.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from functools import cache
from inspect import get_annotations
from typing import Any, ClassVar, TypeVar

import numpy as np
import traitlets

from workbench.errors import InputError, WorkbenchError, brief, unknown_name
from workbench.tables import Table, framed, html_table
from workbench.views.living import VERSION, as_json
from workbench.views.living.selection import Link, Selection, selection

LISTED = 1_000
"""An error lists all allowed values in so many characters at most, and otherwise the nearest ones."""

TraitT = TypeVar("TraitT", bound=traitlets.TraitType[Any, Any])

KINDS = {
    traitlets.Bool: "True or False", traitlets.Float: "a number", traitlets.List: "a list of texts",
    traitlets.Dict: "values by name",
}  # fmt: skip
"""What a setting takes, by its kind; any other one takes a text."""


class RefusedError(InputError, traitlets.TraitError):
    """A setting cannot have this value; nothing has changed."""


def setting(trait: TraitT) -> TraitT:
    """The trait as a setting of a widget, which its page has too."""
    trait.tag(sync=True, setting=True)
    return trait


@contextmanager
def _refusing() -> Iterator[None]:
    """Every error of the workbench within refuses the settings, which traitlets then takes back."""
    try:
        yield
    except RefusedError:
        raise
    except WorkbenchError as error:
        raise RefusedError(error.problem, error.remedy) from error


def plain(value: Any) -> Any:
    """A value as a page can have it: the scalars of NumPy in it become Python's own."""
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    return value.item() if isinstance(value, np.generic) else value


def table_rows(table: Table) -> list[list[str]]:
    """A table for a page: its header and its rows."""
    return [list(table.header), *map(list, table.rows)]


class State(traitlets.HasTraits):
    """A widget without its page: settings, and the picture as a sentence, a table and code.

    A subclass names its `view`, declares each of its settings with `setting`, and calls `begin` when it has
    what it shows. It implements `facts`, `sentence`, `table` and `code`. `main` names the setting that is its
    value for `interact`. `asks` names the settings whose change takes Python: `look` then computes anew.

    Settings are taken all or not at all, by `take`: from an assignment (`lab.min_score = 0.2`), from
    `settings`, and from the page. `options` lists the allowed values of a setting, `spans` its least and
    largest number, and `shown` what can be chosen among what is shown. What changes on the page is selected
    too: `selects` says which setting selects what, and `wanted` which settings show a selection.
    """

    name: ClassVar[str] = ""
    view: ClassVar[str] = ""
    main: ClassVar[str] = ""
    asks: tuple[str, ...] = ()
    closed: ClassVar[tuple[str, ...]] = (
        "data",
        "names",
        "options",
        "spans",
    )  # which follow from the settings
    selects: Mapping[str, str] = {}
    _selection: Selection | None = None
    _begun = False
    _followed: tuple[object, ...] = ()

    data = traitlets.Dict().tag(sync=True, to_json=lambda data, _: as_json(data))
    names = traitlets.List(traitlets.Unicode()).tag(sync=True)
    options = traitlets.Dict().tag(sync=True)
    spans = traitlets.Dict().tag(sync=True)
    value = traitlets.Any()

    def __init__(self, **given: Any) -> None:
        settings = [name for name in given if name in setting_names(type(self))]
        super().__init__(**{name: value for name, value in given.items() if name not in settings})
        for name in settings:
            self._put(name, given[name])

    @property
    def sentence(self) -> str:
        """The content of the picture as a sentence."""
        raise NotImplementedError

    @property
    def table(self) -> Table:
        """The content of the picture as a table."""
        raise NotImplementedError

    @property
    def code(self) -> str:
        """Code that computes the same numbers."""
        raise NotImplementedError

    @property
    def facts(self) -> Mapping[str, Any]:
        """What the page draws from."""
        raise NotImplementedError

    @property
    def words(self) -> dict[str, Any]:
        """The picture in words, for a page that does not compute them."""
        return {"sentence": self.sentence, "table": table_rows(self.table), "code": self.code}

    def following(self, before: Mapping[str, Any]) -> Mapping[str, Any]:
        """The values of other settings that follow from what has changed since `before`."""
        return {}

    def adapt(self) -> None:
        """Brings `names`, `options` and `spans` to the settings as they are."""

    def look(self) -> None:
        """Computes what the settings show. Raises InputError for settings that show nothing."""

    def shown(self, name: str) -> Iterable[str] | None:
        """What a setting can choose among what is shown, such as the chunks of a list; None for any value.

        It can also be empty, and becomes so when what it has chosen is no longer there.
        """
        return None

    def wanted(self, chosen: Selection) -> Mapping[str, Any]:
        """The settings that show what is selected."""
        return {}

    def marked(self, chosen: Selection) -> str:
        """The selected chunk as the setting `chunk` has it; empty if it is not among what is shown."""
        chunk = chosen.chunk.id if chosen.chunk else ""
        return chunk if chunk in (self.shown("chunk") or ()) else ""

    def follow(self, chosen: Selection) -> None:
        """Shows what is selected, as far as this widget has it."""
        wanted = self.wanted(chosen)
        try:
            self.take(wanted)
        except RefusedError:  # it does not have all of it: another memory's file, say
            for name, value in wanted.items():
                with suppress(RefusedError):
                    self.take({name: value})
        if "chunk" in self.names:
            self.take({"chunk": self.marked(chosen)})

    def pressed(self, button: Mapping[str, Any]) -> None:
        """Does what a button on the page asks for. Raises InputError if it cannot be done."""

    def begin(self, link: Link = True) -> None:
        """Checks the settings, shows what they show, and joins the selection."""
        self.names = list(setting_names(type(self)))
        self.adapt()
        for name in self.names:
            self.check(name)
        self.look()
        self.show()
        self.value = getattr(self, self.main, None)
        self._begun = True
        self.link = link

    def show(self) -> None:
        """Brings what there is to the page; `of` are the settings that Python has answered."""
        of = {name: getattr(self, name) for name in self.asks}
        self.set_trait("data", {"version": VERSION, "view": self.view, "of": of, **self.facts})

    @property
    def values(self) -> dict[str, Any]:
        """The settings as the page has them."""
        return {name: getattr(self, name) for name in self.names}

    @property
    def settings(self) -> dict[str, Any]:
        """The named values. You can set some of them; if one is wrong, none is set.

        Raises InputError for a name or a value that this widget does not have.
        """
        return self.values

    @settings.setter
    def settings(self, values: Mapping[str, Any]) -> None:
        self.take(values)

    def take(self, values: Mapping[str, Any]) -> None:
        """Sets several settings, and looks once if Python has to. Raises InputError; then nothing changes."""
        if unknown := [name for name in values if name not in setting_names(type(self))]:
            raise self._unknown(unknown[0])
        every = setting_names(type(self))
        before, looked = {name: getattr(self, name) for name in every}, False
        try:
            with self.hold_trait_notifications(), _refusing():
                for name, value in values.items():
                    self._put(name, value)
                follow = {name: value for name, value in self.following(before).items() if name not in values}
                for name, value in follow.items():
                    self._put(name, value)
                values = {**values, **follow}
                self.adapt()
                for name in every:
                    if name in values:
                        self.check(name)
                changed = {name for name in values if getattr(self, name) != before[name]}
                if changed & {*self.asks}:
                    self.look()
                    looked = True
                self._choose(every, values)
                if changed & {*self.asks}:
                    self.show()
                if self.main in changed:
                    super().__setattr__("value", getattr(self, self.main))
        except BaseException:  # also when somebody interrupts what takes long
            for name, value in before.items():
                self.set_trait(name, value)
            self.adapt()
            if looked:
                self.look()
            raise

    def _choose(self, every: Iterable[str], values: Mapping[str, Any]) -> None:
        """Refuses what is not among what is shown, and empties a choice that is no longer there."""
        for name in every:
            value = getattr(self, name)
            if value and (there := self.shown(name)) is not None and value not in there:
                if name in values:
                    raise self._refused(name, value)
                self._put(name, "")

    def _put(self, name: str, value: Any) -> None:
        value = plain(value)
        is_number = isinstance(getattr(type(self), name), traitlets.Float)
        try:
            if isinstance(value, str):
                value.encode()
            if isinstance(value, bytes) or (is_number and isinstance(value, bool)):
                raise traitlets.TraitError
            super().__setattr__(name, value)
        except (traitlets.TraitError, OverflowError, ValueError):  # traitlets writes the value too
            raise self._refused(name, value) from None

    def _refused(self, name: str, value: Any) -> RefusedError:
        return RefusedError(f"{name} cannot be {brief(value)}.", self.allowed(name, value))

    def check(self, name: str) -> None:
        """Raises RefusedError if the value of a setting is not allowed."""
        value = getattr(self, name)
        if name not in self.names:
            raise RefusedError(
                f"{name} has no effect with the current settings.",
                "Choose a method that uses it; a question needs an index.",
            )
        fits = True
        if name in self.options:
            chosen = value if isinstance(value, list) else [value]
            fits = set(chosen) <= set(self.options[name])
        elif name in self.spans:
            low, high = self.spans[name]
            fits = low <= value <= high
        if not fits:
            raise self._refused(name, value)

    def allowed(self, name: str, value: Any) -> str:
        """The remedy for a value that is not allowed."""
        known, there = self.options.get(name), self.shown(name)
        if known is not None or there is not None:
            every = [str(one) or "''" for one in (["", *sorted(there or ())] if known is None else known)]
            if len(listed := ", ".join(every)) <= LISTED:
                return f"Choose one of: {listed}."
            nearest = get_close_matches(brief(value), every, 3, 0.0)
            return f"It has {len(every)} values; the nearest are {', '.join(nearest)}."
        if name in self.spans:
            low, high = self.spans[name]
            return f"It goes from {low:g} to {high:g}."
        trait = self.traits()[name]
        return f"Give {trait.help or KINDS.get(type(trait), 'a text')}."

    def _unknown(self, name: str) -> InputError:
        return unknown_name("setting", name, self.names, f"It has {', '.join(self.names)}.")

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "value" and self._begun:
            name = self.main
        if self._begun and name in setting_names(type(self)):
            self.take({name: value})
        elif self._begun and (name in self.closed or _follows(type(self), name)):
            raise InputError(
                f"{name} cannot be set: it follows from the settings.",
                f"Set one of: {', '.join(self.names)}.",
            )
        elif name.startswith("_") or hasattr(type(self), name) or name in _announced(type(self)):
            super().__setattr__(name, value)
        else:
            raise self._unknown(name)

    @property
    def selection(self) -> Selection:
        """What is selected for this widget; `link` sets it."""
        assert self._selection
        return self._selection

    @property
    def link(self) -> Link:
        """True if the widget takes part in the page's selection; otherwise its own selection.

        Set it to True to join, to False to leave, and to a `Selection` to form a group with other widgets.
        """
        return True if self.selection is selection else self.selection

    @link.setter
    def link(self, link: Link) -> None:
        if not isinstance(link, bool | Selection):
            raise InputError(f"link cannot be {brief(link)}.", "Give True, False, or a Selection.")
        if self._selection:
            self.selection.unobserve(self._selected, Selection.NAMES)
        self._selection = link if isinstance(link, Selection) else selection if link else Selection()
        self.selection.observe(self._selected, Selection.NAMES)

    def _selected(self, _: Any) -> None:
        chosen = self.selection
        if self._followed != chosen.values:
            self._followed = chosen.values
            self.follow(chosen)

    def from_page(self, values: Mapping[str, Any]) -> None:
        """Takes what was changed on the page, and selects it. Raises InputError; then nothing changes."""
        before = self.values
        self.take(values)
        if chosen := self.choice({name for name in values if getattr(self, name) != before.get(name)}):
            self.selection.choose(**chosen)

    def choice(self, changed: set[str]) -> dict[str, Any]:
        """What these changed settings select."""
        some = {self.selects[name]: getattr(self, name) for name in self.selects if name in changed}
        return {what: value for what, value in some.items() if value}

    @property
    def html(self) -> str:
        """The picture as a table, for a page that runs no scripts."""
        return framed(html_table(self.table))


@cache
def setting_names(kind: type) -> tuple[str, ...]:
    """The settings of a class of widgets, in the order in which they are declared."""
    traits = [one for base in reversed(kind.__mro__) for one in vars(base).items()]
    found = [
        name for name, one in traits if isinstance(one, traitlets.TraitType) and "setting" in one.metadata
    ]
    return tuple(dict.fromkeys(found))


def _follows(kind: type, name: str) -> bool:
    """Whether this is a result, which follows from the settings."""
    found = getattr(kind, name, None)
    return isinstance(found, property) and found.fset is None


@cache
def _announced(kind: type) -> set[str]:
    """The attributes that the classes of a widget announce with a type."""
    return {name for one in kind.__mro__ for name in get_annotations(one)}
