"""The library names no feature, and without any of them all that does not name it works."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from docs.reference import PAGES as GENERATED
from tests import forked
from tests.conftest import PROJECT
from workbench import registry
from workbench.cli.commands import HEADINGS
from workbench.cli.commands import ROWS as COMMANDS
from workbench.memory.addresses import ADDRESSES
from workbench.memory.embedding.engines import BACKENDS
from workbench.memory.embedding.named import EMBEDDERS
from workbench.memory.sync import SHIPPED_VECTORS
from workbench.systems.catalogue import INDEXINGS, ON_A_SERVER, SYSTEMS
from workbench.systems.history import LINES
from workbench.systems.languages import LANGUAGES
from workbench_plugins import NEEDS, ROWS
from workbench_plugins.engines.museum import SPECIMENS
from workbench_plugins.rerank import RERANKERS

FEATURES = sorted(path.parent.name for path in (PROJECT / "workbench_plugins").glob("*/__init__.py"))
WRITTEN = [path for path in sorted((PROJECT / "docs").glob("*.md")) if path.name not in GENERATED]
REGISTRIES: list[registry.Registry[Any]] = [
    ADDRESSES, BACKENDS, EMBEDDERS, INDEXINGS, LANGUAGES, LINES, ON_A_SERVER, RERANKERS, SPECIMENS, SYSTEMS,
    SHIPPED_VECTORS, registry.WIDGETS,
]  # fmt: skip
GONE = [["diagnose", "openclaw", "stores"], ["recorder", "qmd", "calibrate"]]
LIBRARY = ("openclaw-2026.2.13", "openclaw-2026.2.13+or+rrf+minmax")


def without(folder: Path, project: Path, *features: str) -> dict[str, Any]:
    """What `tests.without` prints."""
    variables = {**os.environ, "PYTHONPATH": str(project), "WORKBENCH_HOME": str(folder)}
    ended = forked.run("tests.without", [str(folder), *features], folder, variables, timeout=300)
    assert ended.returncode == 0, ended.stderr
    left: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    return left


def imports(module: str, feature: str) -> bool:
    """Whether the README of a module's own feature says that it imports `feature`, and why."""
    readme = PROJECT / "workbench_plugins" / module.split(".")[1] / "README.md"
    return f"Imports `{feature}`, " in readme.read_text(encoding="utf-8")


def check(left: dict[str, Any], gone: set[str]) -> None:
    assert [one for one in left["failed"] if not any(imports(one, feature) for feature in gone)] == []
    assert left["found"][0] == "memory/tea.md"
    assert all(name in left["systems"] for name in LIBRARY)
    assert all(name in left["help"] for name in ("search", "index", "evaluate", "lab"))
    assert ("  serve " in left["help"]) == ("agent" not in gone)


@pytest.mark.parametrize("feature", FEATURES)
def test_what_does_not_name_a_feature_works_without_it(feature: str, tmp_path: Path) -> None:
    check(without(tmp_path, PROJECT, feature), {feature})


@pytest.mark.parametrize("gone", GONE, ids=",".join)
def test_three_features_can_be_deleted(gone: list[str], tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    for package in ("workbench", "workbench_plugins"):
        shutil.copytree(PROJECT / package, copy / package, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "tests").mkdir()
    for name in ("__init__.py", "world.py", "without.py"):
        shutil.copy(PROJECT / "tests" / name, copy / "tests")
    for feature in gone:
        shutil.rmtree(copy / "workbench_plugins" / feature)
    check(without(tmp_path, copy), set(gone))


def guests_in(text: str) -> set[str]:
    """The features whose commands, systems, widgets, names or modules are in the code of `text`."""
    code = " ".join(re.findall(r"```.*?```|`[^`]+`", text, re.DOTALL))
    commands, words = re.findall(r"workbench ([a-z-]+)", code), re.findall(r"[\w+.-]*\w", code)
    modules = re.findall(r"workbench_plugins[./]\w+", code)
    modules += [one.where for one in COMMANDS if one.name in commands]
    for kind in ("system", "widget"):
        modules += [row for name, row in ROWS[kind].items() if name in words]
    folders = {re.split("[./]", module)[1] for module in modules if module.startswith("workbench_plugins")}
    return folders & set(FEATURES)


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: page.stem)
def test_a_page_names_the_features_that_it_uses(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    named = re.search(r"^<!-- features: (.*) -->$", text, re.M)
    assert named is not None
    assert guests_in(text) <= set(named[1].split(", "))


def test_each_feature_has_a_short_readme() -> None:
    lines = {
        feature: (PROJECT / "workbench_plugins" / feature / "README.md").read_text() for feature in FEATURES
    }
    assert all(len(text.splitlines()) <= 12 for text in lines.values())


def test_every_row_names_a_thing_of_its_registry() -> None:
    of_kind = {one.kind: one for one in REGISTRIES}
    assert set(ROWS) == set(of_kind)
    for kind, some in ROWS.items():
        known = of_kind[kind]
        things = {name: known[name] for name in some}
        assert all(map(known.accepts, things.values()))
        assert list(things) == [registry.name_of(one) for one in things.values()]


def test_what_a_rows_module_needs_of_other_features_is_stated() -> None:
    assert set(NEEDS) <= {row.partition(":")[0] for some in ROWS.values() for row in some.values()}


def test_every_row_of_a_command_names_its_function_or_a_group() -> None:
    names = [one.name for one in COMMANDS]
    assert len(names) == len(set(names))
    for one in COMMANDS:
        assert one.is_group or callable(one.function())
    groups = {one.name for one in COMMANDS if one.is_group}
    assert {one.heading for one in COMMANDS} == {*HEADINGS, *groups, ""}


def test_the_library_names_no_feature_and_the_application_may() -> None:
    files = [path.relative_to(PROJECT).as_posix() for path in (PROJECT / "workbench").rglob("*.py")]
    named = [
        path
        for path in files
        if not path.startswith("workbench/cli/")
        and "workbench_plugins" in (PROJECT / path).read_text(encoding="utf-8")
    ]
    assert named == ["workbench/registry.py"]
    assert "workbench_plugins." not in (PROJECT / named[0]).read_text(encoding="utf-8")
