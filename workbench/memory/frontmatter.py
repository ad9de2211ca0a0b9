"""The YAML block at the head of a note: tags, importance, confidence, a date, and whatever else it says.

Read only when a system asks for it. What is absent stays absent; what is broken is named with its line.
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

BLOCK = re.compile(r"\ufeff?---[ \t]*\r?\n(.*?)^(?:---|\.\.\.)[ \t]*\r?$", re.DOTALL | re.MULTILINE)
OPENED = re.compile(r"\ufeff?---[ \t]*\r?\n")
KEY = re.compile(r"[\w\"'][^:\n]*:(?:\s|$)")
LONGEST = 100_000
DEEPEST = 30
FORM = (
    "The form is: ---, lines such as `tags: [a, b]`, `importance: 0.8`, `date: 2026-02-13`, then --- again."
)


@dataclass(frozen=True)
class FrontMatter:
    """What a note says about itself; None or empty where it says nothing.

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

    A first line of three dashes opens a block when a `key:` follows, and is a mere rule otherwise. Keys
    are `tags` (a list, or words between commas), `importance`, `confidence`, and `date`, `timestamp` or
    `created`, of which the first that is there counts. Raises InputError, naming the file and the line,
    for a block without an end, text that is no YAML, a key that is there twice, an alias, and a value of
    the wrong kind or out of its range.

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
"""Each key with its value and the line of the file that it stands in."""


def _keys(path: str, block: str) -> Keys:
    """The keys of a block, whose first line is the file's second."""
    try:
        _refuse_bombs(path, block)
        loader = yaml.SafeLoader(block)
        node = loader.get_single_node()
        if not isinstance(node, yaml.MappingNode):
            raise _broken(path, 2, "it is no list of keys and values")
        return _constructed(path, loader, node)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        raise _broken(path, mark.line + 2 if mark else 2, error.problem or "it is no YAML") from None
    except yaml.YAMLError as error:
        raise _broken(path, 2, " ".join(str(error).split())) from None


def _refuse_bombs(path: str, block: str) -> None:
    # A few lines of aliases can stand for more terms than there is memory, and brackets can go on for ever.
    depth = 0
    for event in yaml.parse(block, yaml.SafeLoader):
        line = event.start_mark.line + 2 if event.start_mark else 2
        if isinstance(event, yaml.AliasEvent):
            raise _broken(path, line, f"the alias *{event.anchor} is not read")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST:
            raise _broken(path, line, "it is nested too deeply")


def _constructed(path: str, loader: yaml.SafeLoader, node: yaml.MappingNode) -> Keys:
    keys: Keys = {}
    for key, value in node.value:
        line = key.start_mark.line + 2
        name = str(key.value)
        if name in keys:
            raise _broken(path, line, f"{name} is there a second time")
        try:
            keys[name] = loader.construct_object(value, deep=True), line
        except ValueError as error:  # 2026-13-45 looks like a date
            raise _broken(path, line, f"{name}: {error}") from None
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
        raise ValueError(f"is {value!r}, and not a list of words")
    return tuple(cleaned for word in words if (cleaned := str(word).strip()))


def _share(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ValueError(f"is {value!r}, and not a number from 0 to 1")
    return float(value)


def _date(value: Any) -> datetime:
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value.strip())
        except ValueError:
            raise ValueError(f"is {value!r}, and not a date such as 2026-02-13") from None
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime.combine(value, time())
    if not isinstance(value, datetime):
        raise ValueError(f"is {value!r}, and not a date such as 2026-02-13")
    return value if value.tzinfo else value.replace(tzinfo=UTC)


def age_in_days(moment: datetime | None, now: datetime) -> float:
    """How many days before `now` a moment was; 0 for one to come, NaN for none."""
    if moment is None:
        return math.nan
    return max((now - moment).total_seconds() / 86_400, 0.0)
