"""The house: a small library that knows no feature, and imports that run one way."""

from __future__ import annotations

import ast
import pydoc
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.sparse.csgraph import connected_components

from tests.conftest import PROJECT
from workbench.registry import GROUP

LIBRARY, FEATURES = PROJECT / "workbench", PROJECT / "workbench_plugins"
FILES = sorted([*LIBRARY.rglob("*.py"), *FEATURES.rglob("*.py")])
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


ROW = re.compile(r"workbench(_plugins)?(\.\w+)+(:\w+)?( \[\w+\])?")
"""A module of ours as a string, alone or with a name in it and an extra."""


class Import(NamedTuple):
    """One import: its module, whether it runs at once with the file, and whether it is for types alone."""

    module: str
    at_once: bool
    for_types: bool


def name_of(file: Path) -> str:
    return file.relative_to(PROJECT).as_posix()


def module_of(file: Path) -> str:
    return name_of(file).removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def imports(node: ast.AST, at_once: bool = True, for_types: bool = False) -> Iterator[Import]:
    """Every import below a node, those in functions and under `if TYPE_CHECKING` included."""
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.Import(names=names):
                yield from (Import(name.name, at_once, for_types) for name in names)
            case ast.ImportFrom(module=module, names=names):
                yield from (Import(f"{module}.{name.name}", at_once, for_types) for name in names)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                yield from imports(child, False, for_types)
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                yield from imports(child, False, True)
            case _:
                yield from imports(child, at_once, for_types)


@cache
def imports_of(file: Path) -> list[Import]:
    return list(imports(ast.parse(file.read_text(encoding="utf-8"))))


def test_the_library_imports_no_feature_and_nothing_imports_the_benchmarks() -> None:
    modules = {file: [one.module for one in imports_of(file)] for file in FILES}
    library = {
        file: some
        for file, some in modules.items()
        if file.is_relative_to(LIBRARY) and not file.is_relative_to(LIBRARY / "cli")
    }
    assert [
        name_of(file) for file, some in library.items() if any("workbench_plugins" in one for one in some)
    ] == []
    assert [
        name_of(file) for file, some in modules.items() if any(one[:10] == "benchmarks" for one in some)
    ] == []


def test_the_imports_of_the_library_run_one_way() -> None:
    wrong = []
    for file in (one for one in FILES if one.is_relative_to(LIBRARY) and one.parent != LIBRARY):
        mine = ROOMS.index(file.relative_to(LIBRARY).parts[0])
        for one in imports_of(file):
            room = one.module.split(".")[1] if one.module.startswith("workbench.") else ""
            if room in ROOMS and ROOMS.index(room) > mine:
                wrong.append(f"{name_of(file)} imports {one.module}")
    assert wrong == []


def test_no_circle_of_imports_has_more_than_two_files() -> None:
    """Imports in functions are counted, those for types alone are not."""
    names = {module_of(file): number for number, file in enumerate(FILES)}
    graph = np.zeros((len(FILES), len(FILES)), bool)
    for number, file in enumerate(FILES):
        for one in imports_of(file):
            module = one.module if one.module in names else one.module.rpartition(".")[0]
            if module in names and not one.for_types:
                graph[number, names[module]] = True
    _, circles = connected_components(graph, connection="strong")
    large = [number for number, size in enumerate(np.bincount(circles)) if size > 2]
    assert [[name_of(FILES[file]) for file in np.flatnonzero(circles == one)] for one in large] == []


def test_modules_are_imported_by_string_in_three_files_alone() -> None:
    """They hold the lazy names of `wb`, the registries, and the table of commands."""
    by_string = {
        name_of(file)
        for file in FILES
        if any(one.module.startswith("importlib.import_module") for one in imports_of(file))
        or "__import__" in file.read_text(encoding="utf-8")
    }
    assert by_string <= {"workbench/__init__.py", "workbench/registry.py", "workbench/cli/commands.py"}


def test_every_string_that_names_a_module_names_one_that_is_there() -> None:
    named = {
        one.value
        for file in FILES
        for one in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(one, ast.Constant) and isinstance(one.value, str) and ROW.fullmatch(one.value)
    } - {GROUP}
    assert len(named) > 50
    for row in named:
        where = row.partition(" ")[0]
        assert pydoc.locate(where.replace(":", ".")) is not None, row


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
