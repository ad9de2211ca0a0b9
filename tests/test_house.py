"""The house: a small heart that knows no guest, and imports that run one way."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tests.conftest import PROJECT

HEART, GUESTS = PROJECT / "workbench", PROJECT / "workbench_plugins"
FILES = sorted([*HEART.rglob("*.py"), *GUESTS.rglob("*.py")])
BESIDE = (
    "errors", "safe_text", "progress", "tables", "terminal", "figures", "records", "contracts", "registry"
)  # fmt: skip
ROOMS = (*BESIDE, "memory", "retrieval", "systems", "measure", "views", "cli")

LATE = {
    "distributed", "httpx2", "itables", "json5", "openvino", "pandas", "plotly", "pymilvus",
    "sentence_transformers", "tenacity", "tokenizers", "torch", "transformers",
}  # fmt: skip
"""Libraries that are slow to load, or that an extra brings: they are imported when they are first needed."""

PRIVATE = {"_servers"}
"""Inner names of other packages that are used: milvus_lite has no other way to ask which files it serves."""

PUBLIC = {"_asdict", "_fields", "_replace"}
"""Names of a NamedTuple, whose underscore keeps them apart from its fields."""


class Import(NamedTuple):
    """One import: its module, and whether it runs when the file is imported."""

    module: str
    at_once: bool


def name_of(file: Path) -> str:
    return file.relative_to(PROJECT).as_posix()


def imports(node: ast.AST, at_once: bool = True) -> Iterator[Import]:
    """Every import below a node, those in functions and under `if TYPE_CHECKING` included."""
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.Import(names=names):
                yield from (Import(name.name, at_once) for name in names)
            case ast.ImportFrom(module=module, names=names):
                yield from (Import(f"{module}.{name.name}", at_once) for name in names)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                yield from imports(child, at_once=False)
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                yield from imports(child, at_once=False)
            case _:
                yield from imports(child, at_once)


@cache
def imports_of(file: Path) -> list[Import]:
    return list(imports(ast.parse(file.read_text(encoding="utf-8"))))


def test_the_library_imports_no_guest_and_nothing_imports_the_benchmarks() -> None:
    modules = {file: [one.module for one in imports_of(file)] for file in FILES}
    heart = {
        file: some
        for file, some in modules.items()
        if file.is_relative_to(HEART) and not file.is_relative_to(HEART / "cli")
    }
    assert [
        name_of(file) for file, some in heart.items() if any("workbench_plugins" in one for one in some)
    ] == []
    assert [
        name_of(file) for file, some in modules.items() if any(one[:10] == "benchmarks" for one in some)
    ] == []


def test_the_imports_of_the_heart_run_one_way() -> None:
    wrong = []
    for file in (one for one in FILES if one.is_relative_to(HEART) and one.parent != HEART):
        mine = ROOMS.index(file.relative_to(HEART).parts[0])
        for one in imports_of(file):
            room = one.module.split(".")[1] if one.module.startswith("workbench.") else ""
            if room in ROOMS and ROOMS.index(room) > mine:
                wrong.append(f"{name_of(file)} imports {one.module}")
    assert wrong == []


def test_heavy_libraries_are_imported_when_they_are_needed() -> None:
    late = {"openvino_engine.py", "figures.py"}  # which are themselves imported late
    files = [file for file in FILES if file.name not in late]
    at_once = {(name_of(file), one.module) for file in files for one in imports_of(file) if one.at_once}
    assert {pair for pair in at_once if pair[1].split(".")[0] in LATE} == set()


def test_no_inner_name_of_another_package_is_used() -> None:
    """A name with an underscore that is asked of something, and that none of our files defines."""
    asked, defined = set(), set()
    for node in (one for file in FILES for one in ast.walk(ast.parse(file.read_text(encoding="utf-8")))):
        match node:
            case ast.Attribute(attr=name, ctx=ast.Load()) if re.match("_[a-z]", name):
                asked.add(name)
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.Name(id=name, ctx=ast.Store()):
                defined.add(name)
            case ast.Attribute(attr=name, ctx=ast.Store()):
                defined.add(name)
    assert asked - defined - PUBLIC == PRIVATE
    assert not [one for file in FILES for one in imports_of(file) if re.search(r"\._[a-z]", one.module)]


def test_every_public_function_and_class_has_a_docstring() -> None:
    without = [
        f"{name_of(file)}: {one.name}"
        for file in FILES
        for one in ast.parse(file.read_text(encoding="utf-8")).body
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        and not one.name.startswith("_")
        and not ast.get_docstring(one)
    ]
    assert without == []
