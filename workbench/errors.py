"""Every error that the workbench raises on purpose: its message names the problem, and then the remedy."""

from __future__ import annotations

import difflib
import re
import reprlib
from collections.abc import Collection
from typing import Any, ClassVar, Self, TypeVar

from workbench.masking import masked
from workbench.safe_text import visible


class WorkbenchError(Exception):
    """An expected failure: `problem` says what is wrong, `remedy` what to do about it.

    Both are safe to print: secrets are masked, control characters are visible. `exit_code` is the code
    with which the command line ends.
    """

    exit_code: ClassVar[int] = 2

    def __init__(self, problem: str, remedy: str) -> None:
        self.problem = visible(masked(problem))
        self.remedy = visible(masked(remedy))
        super().__init__(f"{self.problem}\n  {self.remedy}")

    def with_remedy(self, remedy: str) -> Self:
        """The same failure with another remedy."""
        return _read_again(type(self), self.problem, remedy)

    def __reduce__(self) -> tuple[Any, ...]:
        """The error as another process reads it, such as one that a worker has raised."""
        return _read_again, (type(self), self.problem, self.remedy)


Failure = TypeVar("Failure", bound=WorkbenchError)


def _read_again(kind: type[Failure], problem: str, remedy: str) -> Failure:
    error = kind.__new__(kind)
    WorkbenchError.__init__(error, problem, remedy)
    return error


class InputError(WorkbenchError):
    """The given input cannot be used."""


class StorageError(WorkbenchError):
    """An index cannot be read or written: disk full, file locked or damaged. Nothing is lost."""

    exit_code: ClassVar[int] = 3


class ProviderError(WorkbenchError):
    """An embedding provider or another remote service fails."""

    exit_code: ClassVar[int] = 4


class Interrupted(KeyboardInterrupt):
    """The user has ended long work with Ctrl-C; the message says what of it is kept."""


def install_extra(extra: str) -> str:
    """The remedy for a missing package: the workbench comes from its folder, and no package index has it.

    >>> install_extra("lab")
    "Install it in the folder of the workbench: pip install -e '.[lab]'"
    """
    return f"Install it in the folder of the workbench: pip install -e '.[{extra}]'"


def _plainly(name: str) -> str:
    """A name in small letters and with hyphens, since nobody means another one by writing it otherwise."""
    return re.sub(r"[\s_]+", "-", name.strip().lower())


def _nearest(name: str, known: Collection[str]) -> list[str]:
    """The known name that is the same in other letters, or at most three that have it inside or are alike."""
    wanted = _plainly(name)
    if same := [one for one in known if _plainly(one) == wanted]:
        return same

    def likeness(one: str) -> tuple[bool, float]:
        plain = _plainly(one)
        return bool(wanted) and wanted in plain, difflib.SequenceMatcher(None, wanted, plain).ratio()

    like = {one: likeness(one) for one in known}
    near = [one for one in known if like[one] >= (False, LEAST_LIKE)]
    return sorted(near, key=like.__getitem__, reverse=True)[:3]


LEAST_LIKE = 0.3
"""How like a name is at least that an error offers, from 0 to 1."""

_BRIEF = reprlib.Repr()
_BRIEF.maxstring = _BRIEF.maxother = 200


def brief(value: object) -> str:
    """A value as Python writes it, and of a long one its ends; secrets in a text are masked."""
    try:
        return _BRIEF.repr(masked(value) if isinstance(value, str) else value)
    except ValueError:  # an integer with more digits than Python writes
        return f"this {type(value).__name__}"


DECIMAL = re.compile(r"([+-]?\d{0,40})(?:[.,](\d{1,40}))?\s*(%?)")
"""A number as it is written elsewhere: with a decimal comma, or as a percentage."""


def as_number(typed: str) -> str:
    """What to write in place of a number that is written as elsewhere; empty for anything else.

    >>> as_number("0,2"), as_number("35%"), as_number("some")
    ('Write 0.2.', 'Write 0.35.', '')
    """
    found = DECIMAL.fullmatch(typed.strip())
    if found is None or not (found[1].strip("+-") or found[2]):
        return ""
    read = float(f"{found[1]}.{found[2] or 0}")
    return f"Write {read / 100 if found[3] else read:.10g}."


def unknown_name(kind: str, name: str, known: Collection[str], remedy: str) -> InputError:
    """The error for a name that is not in `known`; its message lists the nearest names.

    >>> unknown_name("leg", "vectro", ["vector", "keyword"], "Choose one of them.").problem
    "There is no leg 'vectro'; the nearest are vector, keyword."
    """
    if not (near := _nearest(name, known)):
        return InputError(f"There is no {kind} {brief(name)}.", remedy)
    are = "is" if len(near) == 1 else "are"
    return InputError(f"There is no {kind} {brief(name)}; the nearest {are} {', '.join(near)}.", remedy)
