"""Case files: read with a line and a field for each error, written in the same way every time.

A case file may come from anybody. Nothing outside its own folder is read, no link is followed, and its size,
depth and number of values are bounded before it is built. It is YAML without tags, aliases and guessed types:
a person writes cases by hand, so `question: 12:30` is text here, although YAML 1.1 reads a number.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from pydantic import ValidationError
from yaml.emitter import ScalarAnalysis

from workbench.errors import InputError, StorageError
from workbench.memory.files import read_input
from workbench.memory.safe_yaml import RefusedYamlError, check_yaml
from workbench.safe_text import BIDIRECTIONAL, SEPARATORS, one_line
from workbench_plugins.cases.model import SUFFIX, Case

MOST_VALUES = 300_000
NUMBER = re.compile(r"[-+]?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?")
WORDS: dict[str, Any] = {"true": True, "false": False, "null": None, "~": None, "": None}
TAGS = ("str", "int", "float", "bool", "null", "timestamp", "map", "seq", "merge", "value")

Place = tuple[str | int, ...]
"""Where a value is: the keys and the positions that lead to it."""


class YamlTree(NamedTuple):
    """The values of a YAML text, and the line of each, from 1."""

    values: Any
    lines: dict[Place, int]

    def line_of(self, place: Sequence[str | int]) -> int:
        """The line of a value, or of the nearest value around it."""
        known = tuple(place)
        while known and known not in self.lines:
            known = known[:-1]
        return self.lines.get(known, 1)


def read_tree(text: str) -> YamlTree:
    """The values of a YAML text.

    Raises RefusedYamlError, with the line, for aliases, tags, duplicate keys, deep nesting and more than
    300,000 values; yaml.YAMLError for text that is not YAML.
    """
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    check_yaml(text, loader, MOST_VALUES)
    root = yaml.compose(text, loader)
    lines: dict[Place, int] = {}
    return YamlTree(None if root is None else _value(root, (), lines), lines)


def _value(node: yaml.Node, place: Place, lines: dict[Place, int]) -> Any:
    line = node.start_mark.line
    lines[place] = line + 1
    if node.tag.removeprefix("tag:yaml.org,2002:") not in TAGS:
        raise RefusedYamlError(line, f"the tag {node.tag} is not allowed")
    if isinstance(node, yaml.MappingNode):
        return dict(_pairs(node, place, lines))
    if isinstance(node, yaml.SequenceNode):
        return [_value(one, (*place, number), lines) for number, one in enumerate(node.value)]
    return _scalar(str(node.value), plain=not getattr(node, "style", None))


def _pairs(node: yaml.MappingNode, place: Place, lines: dict[Place, int]) -> Iterator[tuple[str, Any]]:
    seen: set[str] = set()
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise RefusedYamlError(key.start_mark.line, "a key is not a word")
        if key.value in seen:
            raise RefusedYamlError(key.start_mark.line, f"the key {key.value!r} is there twice")
        seen.add(key.value)
        yield key.value, _value(value, (*place, key.value), lines)


def _scalar(text: str, plain: bool) -> Any:
    if not plain:
        return text
    if text in WORDS:
        return WORDS[text]
    if NUMBER.fullmatch(text):
        return float(text) if re.search(r"[.eE]", text) else int(text)
    return text


UNSEEN = re.compile("[" + "".join(map(chr, (*BIDIRECTIONAL, *SEPARATORS))) + "]")
"""Characters that change the order or the lines of what is shown; they are written as escapes."""


BASE64 = re.compile(r"[A-Za-z][A-Za-z0-9+/]{199,}={0,2}")
"""A long vector. It stands in YAML as it is: it begins with a letter, so nothing takes it for a number."""


class _Writer(yaml.SafeDumper):
    """Writes no aliases, texts of several lines as blocks, and vectors without a look at each letter."""

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def analyze_scalar(self, scalar: str) -> ScalarAnalysis:
        if BASE64.fullmatch(scalar):
            return ScalarAnalysis(scalar, False, False, True, True, True, True, False)
        return super().analyze_scalar(scalar)


def _text(writer: _Writer, text: str) -> yaml.Node:
    if UNSEEN.search(text):
        return writer.represent_scalar("tag:yaml.org,2002:str", text, style='"')
    return writer.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


def _numbers(writer: _Writer, values: Sequence[Any]) -> yaml.Node:
    short = bool(values) and all(isinstance(one, int | float) for one in values)
    return writer.represent_sequence("tag:yaml.org,2002:seq", values, flow_style=short)


_Writer.add_representer(str, _text)
_Writer.add_representer(list, _numbers)
_Writer.add_representer(tuple, _numbers)


LARGEST_FILE = 20_000_000
"""Bytes: some 5,000 chunks with their vectors."""
FORM = "docs/cases.md describes a case; `workbench case new` writes one."


@dataclass(frozen=True)
class CaseFile:
    """A case and the file that it was read from; its folder holds what the case keeps beside itself."""

    path: Path
    case: Case

    @property
    def folder(self) -> Path:
        return self.path.parent


def load_case(path: str | os.PathLike[str]) -> CaseFile:
    """The case in a file.

    Raises InputError for a file that cannot be read or has more than 20 MB, for a link that leads out of its
    folder, and for a file that is not a case: the message names the line and the field.
    """
    file = Path(path)
    if file.is_symlink() and file.resolve().parent != file.parent.resolve():
        raise InputError(
            f"The case {one_line(str(file))} is a link that leads out of its own folder.",
            "Copy the case there; links are not followed.",
        )
    return CaseFile(file, parsed_case(read_input(file, "The case", LARGEST_FILE), str(file)))


def parsed_case(text: str, name: str) -> Case:
    """The case in a text; messages call it `name`. Raises InputError as `load_case` does."""
    try:
        tree = read_tree(text)
    except RefusedYamlError as error:
        raise _refused(name, error.line + 1, error.problem) from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        raise _refused(name, mark.line + 1 if mark else _line_at(text, error), _reason(error)) from None
    except (ValueError, RecursionError) as error:
        raise _refused(name, 1, str(error)) from None
    if not isinstance(tree.values, dict):
        raise _refused(name, 1, "it has no keys")
    try:
        return Case.model_validate(tree.values)
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False, include_input=False)
        first = min(found, key=lambda one: one["type"] != "extra_forbidden")  # a misspelt key is missing too
        place = tuple(first["loc"])
        field = ".".join(map(str, place)) or "the case"
        problem = first["msg"].removeprefix("Value error, ")
        raise _refused(name, tree.line_of(place), f"{one_line(field)[:200]}: {problem}") from None


def _refused(name: str, line: int, problem: str) -> InputError:
    return InputError(f"{one_line(name)}, line {line}: {one_line(problem)[:500]}.", FORM)


def _reason(error: yaml.YAMLError) -> str:
    said = [getattr(error, part, None) for part in ("context", "problem", "reason")]
    return ", ".join(one for one in said if isinstance(one, str)) or "it is not YAML"


def _line_at(text: str, error: yaml.YAMLError) -> int:
    position = getattr(error, "position", 0)
    return text.count("\n", 0, position if isinstance(position, int) else 0) + 1


def case_text(case: Case) -> str:
    """The case as YAML: what has its default value is left out, and equal cases give equal texts."""
    text = yaml.dump(
        {"case": case.case, **case.model_dump(exclude_defaults=True)},
        Dumper=_Writer,
        sort_keys=False,
        allow_unicode=True,
        width=1 << 30,
        default_flow_style=False,
    )
    return UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04X}", text)  # they stand in double quotes alone


def save_case(case: Case, path: str | os.PathLike[str], overwrite: bool = False) -> Path:
    """Writes a case to a file; either the whole text is there afterwards, or the old file is.

    Raises InputError for a file that exists, unless `overwrite`, and StorageError if it cannot be written.
    """
    file = Path(path)
    if file.exists() and not overwrite:
        raise InputError(f"{file} exists already.", "Choose another name, or remove the file.")
    replace_text(file, case_text(case))
    return file


def replace_text(file: Path, text: str) -> None:
    """Writes a text beside a file and moves it there. Raises StorageError if it cannot be written."""
    try:
        handle, fresh = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.parent)
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as out:
                out.write(text)
            os.chmod(fresh, 0o644)
            os.replace(fresh, file)
        except BaseException:
            with suppress(OSError):
                os.unlink(fresh)
            raise
    except OSError as error:
        raise StorageError(
            f"The case {file} cannot be written: {error.strerror or error}.",
            "Choose another place with --out.",
        ) from None


def case_files(given: Sequence[str | os.PathLike[str]]) -> list[Path]:
    """The case files among these paths: a file itself, or all `*.case.yaml` below a folder, in order.

    Raises InputError for a path that does not exist, and for a folder without a case.
    """
    found: list[Path] = []
    for one in map(Path, given):
        inside = sorted(one.rglob(f"*{SUFFIX}")) if one.is_dir() else [one]
        if not inside:
            raise InputError(f"There is no case in {one}.", f"The name of a case ends with {SUFFIX}.")
        found += inside
    return found
