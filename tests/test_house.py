"""The house: imports run one way, heavy libraries stay in their places, and files stay readable."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

PACKAGE = Path(__file__).parent.parent / "workbench"
FILES = sorted(PACKAGE.rglob("*.py"))
BESIDE = ["safe_text", "errors", "extensions", "records", "contracts"]
ROOMS = [*BESIDE, "memory", "retrieval", "systems", "lab", "views", "agent", "cli"]
BESIDE_CLI = {"__main__"}
LONGEST = 400
MOST_MODULES = 13

HOMES = {
    "plotly": {"views/figures"},
    "ipywidgets": {"views/widgets"},
    "anywidget": {"views/widgets"},
    "apsw": {"memory/store/sqlite", "systems/openclaw", "systems/openclaw/live", "systems/basic_memory"},
    "sqlite_vec": {"memory/store/sqlite"},
    "torch": {"memory/embedding"},
    "transformers": {"memory/embedding"},
    "sentence_transformers": {"memory/embedding"},
    "watchfiles": {"memory/watching.py"},
    "openai": {"memory/embedding/providers"},
    "google": {"memory/embedding/providers"},
    "httpx2": {"memory/embedding/providers"},
    "tenacity": {"memory/embedding/providers"},
    "json5": {"systems/openclaw/config"},
}
LATE = {"torch", "transformers", "sentence_transformers", "openai", "google", "httpx2", "tenacity", "json5"}


class Import(NamedTuple):
    """One import: in which file, of which module, and whether it runs when the file is imported."""

    file: str
    module: str
    at_once: bool


def relative(file: Path) -> str:
    return file.relative_to(PACKAGE).as_posix()


def module_name(file: Path) -> str:
    return ".".join(["workbench", *file.relative_to(PACKAGE).with_suffix("").parts]).removesuffix(".__init__")


MODULES = {module_name(file) for file in FILES}


def imports_of(file: Path) -> Iterator[Import]:
    """Every import of a file, those in functions and under `if TYPE_CHECKING` included."""
    yield from _imports(ast.parse(file.read_text(encoding="utf-8")), relative(file), at_once=True)


def _imports(node: ast.AST, file: str, at_once: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.Import(names=names):
                yield from (Import(file, name.name, at_once) for name in names)
            case ast.ImportFrom(module=module, names=names, level=0):
                inner = [f"{module}.{name.name}" for name in names]
                yield from (Import(file, one if one in MODULES else f"{module}", at_once) for one in inner)
            case ast.ImportFrom(level=level):
                raise AssertionError(f"{file} has a relative import of level {level}")
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                yield from _imports(child, file, at_once=False)
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                yield from _imports(child, file, at_once=False)
            case _:
                yield from _imports(child, file, at_once)


IMPORTS = [one for file in FILES for one in imports_of(file)]


def room(module: str) -> str:
    """The room that a module stands in: `memory` for `workbench.memory.store.sqlite.store`."""
    return module.split(".")[1] if "." in module else "the front door"


def level(name: str) -> int:
    return ROOMS.index("cli" if name in BESIDE_CLI else name)


def inside(module: str) -> bool:
    return module.split(".")[0] == "workbench"


@pytest.mark.parametrize("file", [file for file in FILES if file.parent != PACKAGE], ids=relative)
def test_a_file_imports_only_its_own_room_and_those_before_it(file: Path) -> None:
    mine = level(room(module_name(file)))
    allowed = [name for name in (*ROOMS, *BESIDE_CLI) if level(name) <= mine]
    against = [
        one.module for one in imports_of(file) if inside(one.module) and room(one.module) not in allowed
    ]
    assert against == []


@pytest.mark.parametrize(
    ("file", "rooms"),
    [
        ("records.py", set()),
        ("__main__.py", {"cli"}),
    ],
)
def test_a_file_beside_the_rooms_imports_only_what_it_may(file: str, rooms: set[str]) -> None:
    assert {room(one.module) for one in imports_of(PACKAGE / file) if inside(one.module)} <= rooms


def test_every_file_has_its_place_in_the_order() -> None:
    assert {room(name) for name in MODULES} <= {*ROOMS, *BESIDE_CLI, "the front door"}


def test_the_front_door_imports_no_room_until_a_name_is_used() -> None:
    assert [
        one.module for one in imports_of(PACKAGE / "__init__.py") if one.at_once and inside(one.module)
    ] == []


@pytest.mark.parametrize("name", ROOMS[len(BESIDE) :])
def test_the_imports_inside_a_room_have_no_cycle(name: str) -> None:
    inner = [one for one in IMPORTS if one.at_once and room(one.module) == name]
    graph = {
        module_name(file): {one.module for one in inner if one.file == relative(file)} - {module_name(file)}
        for file in (PACKAGE / name).rglob("*.py")
    }
    assert set(TopologicalSorter(graph).static_order()) == set(graph)


@pytest.mark.parametrize("folder", sorted({file.parent for file in FILES}), ids=lambda folder: folder.name)
def test_a_folder_holds_at_most_a_dozen_modules_or_so(folder: Path) -> None:
    modules = [file for file in folder.glob("*.py") if file.name != "__init__.py"]
    assert len(modules) <= MOST_MODULES


@pytest.mark.parametrize("library", HOMES)
def test_a_library_is_imported_only_in_its_home(library: str) -> None:
    files = {one.file for one in IMPORTS if one.module.split(".")[0] == library}
    assert [one for one in files if not {one, str(Path(one).parent)} & HOMES[library]] == []


@pytest.mark.parametrize("library", sorted(LATE))
def test_a_heavy_library_is_imported_only_inside_functions(library: str) -> None:
    assert [one.file for one in IMPORTS if one.at_once and one.module.split(".")[0] == library] == []


@pytest.mark.parametrize("file", FILES, ids=relative)
def test_a_file_has_at_most_400_lines(file: Path) -> None:
    assert len(file.read_text(encoding="utf-8").splitlines()) <= LONGEST


@pytest.mark.parametrize("file", FILES, ids=relative)
def test_every_public_function_and_class_has_a_docstring(file: Path) -> None:
    body = ast.parse(file.read_text(encoding="utf-8")).body
    public = [
        one
        for one in body
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and one.name[0] != "_"
    ]
    assert [one.name for one in public if not ast.get_docstring(one)] == []


def test_a_public_class_name_stands_for_one_class() -> None:
    homes: dict[str, list[str]] = {}
    for file in FILES:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and node.name[0] != "_":
                homes.setdefault(node.name, []).append(relative(file))
    assert {name: files for name, files in homes.items() if len(files) > 1} == {}


def test_the_reader_of_imports_tells_when_they_run() -> None:
    source = (
        "import a.b\nif TYPE_CHECKING:\n    import c\ndef f():\n    from d import e\nclass G:\n    import h\n"
    )
    found = {one.module: one.at_once for one in _imports(ast.parse(source), "x.py", at_once=True)}
    assert found == {"a.b": True, "c": False, "d": False, "h": True}
