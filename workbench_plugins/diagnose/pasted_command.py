"""The command of a search with a fix: the user's own options and those of the fix, which run together."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from itertools import chain

from workbench.errors import InputError
from workbench.retrieval.pipeline import Pipeline
from workbench.retrieval.settings import with_settings
from workbench.systems.languages import with_keys_of_any_language
from workbench_plugins.diagnose.fixes import Fix, named
from workbench_plugins.diagnose.stage_settings import typed_settings

STRONGER = {"floor": "--min-score", "limit": "--limit"}
"""Options that a command line obeys after every `--set` of their slot."""
NUMBER_OF = {"floor.floor": "--min-score", "limit.count": "--limit"}
CHANGING = ("--system", "--set", "--limit", "--min-score")
"""The options that say which pipeline is run."""

Pairs = Sequence[tuple[str, str]]
"""Options with their values."""


def command_with(command: Sequence[str], now: Pipeline, fix: Fix) -> str:
    """The search `command` of the pipeline `now` with a fix; empty if the fix is no option of it.

    Of the ways to write it, the first that makes the pipeline of the fix: without the own options that the
    fix undoes, without those that it replaces, with all of them, and with nothing but the system and what the
    fix differs from it in.
    """
    if fix.paste is not None or fix.as_set is None or fix.chunks is not None:
        return ""
    words = shlex.split(fix.as_set)
    others, own = _parted(command)
    for pairs in _ways(own, list(zip(words[::2], words[1::2], strict=True)), now, fix.pipeline):
        made = _made_by(pairs)
        if made is not None and made.searches_as(fix.pipeline):
            return shlex.join([*others, *chain.from_iterable(pairs)])
    return ""


def replaced_settings(command: Sequence[str], shown: str) -> list[str]:
    """The own settings of a command that the command with a fix no longer has."""
    kept = shlex.split(shown)
    return [f"{option} {value}" for option, value in _parted(command)[1] if value not in kept]


def added_settings(command: Sequence[str], shown: str) -> list[str]:
    """The settings of a command with a fix that the command did not have."""
    own, new = _parted(command)[1], _parted(shlex.split(shown))[1]
    return [f"{option} {value}" for option, value in new if (option, value) not in own]


def _parted(command: Sequence[str]) -> tuple[list[str], Pairs]:
    """The words of a command without the options that say which pipeline is run, and these options."""
    others, own, words = [], [], iter(command)
    for word in words:
        if word in CHANGING:
            own.append((word, next(words)))
        else:
            others.append(word)
    return others, own


def _ways(own: Pairs, fix: Pairs, now: Pipeline, wanted: Pipeline) -> Iterator[Pairs]:
    """The ways to write a fix, the shortest ones that keep the own options first."""
    touched = {one.slot for one in now.diff(wanted)}
    weaker = {STRONGER[slot] for slot in touched & STRONGER.keys()} & {option for option, _ in own}
    if any(option == "--system" for option, _ in fix):
        weaker.add("--system")
    kept = [one for one in own if one[0] not in weaker]
    typed = [_instead_of(pair, weaker) for pair in fix]
    names = [value.partition("=")[0].strip() for option, value in typed if option == "--set"]
    others = [pair for pair in kept if pair[0] != "--set" or not _sets(pair[1], names)]
    yield others
    yield [*others, *typed]
    yield [*kept, *typed]
    yield [*kept, *(pair for pair in typed if pair != ("--set", "floor=none"))]
    systems = [pair for pair in [*own, *fix] if pair[0] == "--system"][-1:]
    base = _made_by(systems)
    if base is not None:
        yield [*systems, *(("--set", one) for one in typed_settings(base, wanted))]


def _instead_of(pair: tuple[str, str], weaker: set[str]) -> tuple[str, str]:
    """An option of a fix; in the place of a stronger option, the fix's value of that option."""
    setting, _, value = pair[1].partition("=")
    return (NUMBER_OF[setting], value) if NUMBER_OF.get(setting) in weaker else pair


def _sets(setting: str, names: Sequence[str]) -> bool:
    """Whether a setting is of one of these parameters, or of a parameter of one of these slots."""
    name = setting.partition("=")[0].strip()
    return any(name == one or name.startswith(f"{one}.") for one in names)


def _made_by(pairs: Pairs) -> Pipeline | None:
    """The pipeline that these options of the command line make; None if they do not fit together."""
    values: dict[str, list[str]] = {option: [] for option in CHANGING}
    for option, value in pairs:
        values[option].append(value)
    base = named("".join(values["--system"][-1:]))
    if base is None:
        return None
    try:
        (keyed,), settings = with_keys_of_any_language([base], values["--set"])
        numbers = [[float(one) for one in values[option][-1:]] for option in ("--limit", "--min-score")]
        limit, floor = (some[0] if some else None for some in numbers)
        return with_settings(keyed.asking(limit, floor), settings)
    except InputError:
        return None
