"""Reads the YAML block at the head of a note: tags, importance, confidence, a date, and other keys.

It is read only when a system needs it. A missing key stays missing; a broken one is named with its line. All
YAML is checked before it is loaded: small inputs can otherwise take all memory, or raise unexpected errors.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from typing import Any

import yaml

from workbench.errors import InputError
from workbench.memory.safe_yaml import CheckedLoader, RefusedYamlError, check_yaml

BLOCK = re.compile(r"\ufeff?---[ \t]*\r?\n(.*?)^(?:---|\.\.\.)[ \t]*\r?$", re.DOTALL | re.MULTILINE)
OPENED = re.compile(r"\ufeff?---[ \t]*\r?\n")
KEY = re.compile(r"[\w\"'][^:\n]*:(?:\s|$)")
LONGEST = 100_000
FORM = (
    "The form is: ---, lines such as `tags: [a, b]`, `importance: 0.8`, `date: 2026-02-13`, then --- again."
)


@dataclass(frozen=True)
class FrontMatter:
    """The front matter of a note; None or empty for keys that it does not have.

    `importance` and `confidence` are 0 to 1, `date` has a time zone. `rest` holds every other key.
    """

    tags: tuple[str, ...] = ()
    importance: float | None = None
    confidence: float | None = None
    date: datetime | None = None
    rest: Mapping[str, Any] = field(default_factory=dict)


NOTHING = FrontMatter()
"""The front matter of a note that has none."""


def front_matter(path: str, text: str) -> FrontMatter:
    """The front matter of the file `path`, whose whole text is `text`; NOTHING when it has none.

    A first line of three dashes opens a block when a `key:` follows; otherwise it is a horizontal rule. Keys
    are `tags` (a list, or words between commas), `importance`, `confidence`, and the first of `date`,
    `timestamp` and `created` that is present. Raises InputError, naming the file and the line, for a block
    without an end, text that is not YAML, a repeated key, an alias, and a value of the wrong kind or out of
    its range.

    >>> front_matter("a.md", "---\\ntags: [tea, cup]\\nimportance: 0.8\\n---\\n# Tea\\n").tags
    ('tea', 'cup')
    >>> front_matter("a.md", "# Tea\\n") == NOTHING
    True
    """
    opened = OPENED.match(text)
    if opened is None or not _has_key(text[opened.end() :]):
        return NOTHING
    block = BLOCK.match(text)
    if block is None:
        raise _broken(path, 1, "the block that begins here has no end")
    if len(block[1]) > LONGEST:
        raise _broken(path, 1, f"the block that begins here has more than {LONGEST:,} characters")
    return _read(path, _keys(path, block[1]))


def _has_key(rest: str) -> bool:
    """Whether the first line that is neither blank nor a comment looks like `key:`."""
    lines = (line.strip() for line in rest.splitlines())
    first = next((line for line in lines if line and not line.startswith("#")), "")
    return KEY.match(first) is not None


def _broken(path: str, line: int, problem: str) -> InputError:
    return InputError(f"The front matter of {path} cannot be used: line {line}: {problem}.", FORM)


Keys = dict[str, tuple[Any, int]]
"""Each key with its value and its line in the file."""


def _keys(path: str, block: str) -> Keys:
    """The keys of a block, whose first line is the file's second."""
    try:
        check_yaml(block)
        loader = CheckedLoader(block)
        node = loader.get_single_node()
        if not isinstance(node, yaml.MappingNode):
            raise _broken(path, 2, "it is not a list of keys and values")
        return _constructed(path, loader, node)
    except RefusedYamlError as error:
        raise _broken(path, error.line + 2, error.problem) from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        raise _broken(path, mark.line + 2 if mark else 2, error.problem or "it is not YAML") from None
    except yaml.YAMLError as error:
        raise _broken(path, 2, " ".join(str(error).split())) from None


def _constructed(path: str, loader: yaml.SafeLoader, node: yaml.MappingNode) -> Keys:
    keys: Keys = {}
    for key, value in node.value:
        line = key.start_mark.line + 2
        name = str(key.value)
        if name in keys:
            raise _broken(path, line, f"the key {name} is repeated")
        try:
            keys[name] = loader.construct_object(value, deep=True), line
        except yaml.MarkedYAMLError as error:
            raise _broken(path, line, f"{name}: {error.problem}") from None
    return keys


DATES = ("date", "timestamp", "created")


def _read(path: str, keys: Keys) -> FrontMatter:
    def of(name: str, convert: Callable[[Any], Any]) -> Any:
        value, line = keys.get(name, (None, 0))
        try:
            return None if value is None else convert(value)
        except ValueError as error:
            raise _broken(path, line, f"{name} {error}") from None

    dates = [of(name, _date) for name in DATES]
    known = {"tags", "importance", "confidence", *DATES}
    return FrontMatter(
        of("tags", _tags) or (),
        of("importance", _share),
        of("confidence", _share),
        next((moment for moment in dates if moment is not None), None),
        {name: value for name, (value, _) in keys.items() if name not in known},
    )


def _tags(value: Any) -> tuple[str, ...]:
    words = value.split(",") if isinstance(value, str) else value
    if not isinstance(words, list):
        words = [words]
    if not all(isinstance(word, str | int | float | date) for word in words):
        raise ValueError(f"is {value!r}, not a list of words")
    return tuple(cleaned for word in words if (cleaned := str(word).strip()))


def _share(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ValueError(f"is {value!r}, not a number from 0 to 1")
    return float(value)


def _date(value: Any) -> datetime:
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value.strip())
        except ValueError:
            raise ValueError(f"is {value!r}, not a date such as 2026-02-13") from None
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime.combine(value, time())
    if not isinstance(value, datetime):
        raise ValueError(f"is {value!r}, not a date such as 2026-02-13")
    return value if value.tzinfo else value.replace(tzinfo=UTC)


def age_in_days(moment: datetime | None, now: datetime) -> float:
    """The days from a moment to `now`; 0 for a moment in the future, NaN for None."""
    if moment is None:
        return math.nan
    return max((now - moment).total_seconds() / 86_400, 0.0)
