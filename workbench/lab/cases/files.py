"""Case files: read with a line and a field for each error, written in the same way every time.

A case file may come from anybody. Nothing outside its own folder is read, no link is followed, and its size
is bounded.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError

from workbench.errors import InputError, StorageError
from workbench.lab.cases.model import SUFFIX, Case
from workbench.lab.cases.yaml_tree import read_tree, write_tree
from workbench.memory.files import read_input
from workbench.memory.safe_yaml import RefusedYamlError
from workbench.safe_text import one_line

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

    @property
    def name(self) -> str:
        """The file's name without `.case.yaml`."""
        return self.path.name.removesuffix(SUFFIX)


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
    return write_tree(_plain(case))


def _plain(part: BaseModel) -> Any:
    """The values of a part that differ from their defaults; a system that only has a name is this name."""
    fields = type(part).model_fields
    given = {
        name: _value(getattr(part, name))
        for name, field in fields.items()
        if name == "case" or getattr(part, name) != field.default
    }
    given = {
        name: value
        for name, value in given.items()
        if (value is not None and value != []) or name == "returned"
    }
    return given["name"] if set(given) == {"name"} and "openclaw" in fields else given


def _value(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return _plain(value)
    if isinstance(value, list | tuple):
        return [_value(one) for one in value]
    return value


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
