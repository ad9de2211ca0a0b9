"""Extensions that are installed for a test: a module, and the metadata that names it as an entry point."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pytest

from workbench import registry as extensions


class Install(Protocol):
    """Installs a package of that name with this source; `target` names a function as its entry point."""

    def __call__(self, package: str, source: str, target: str = "") -> None: ...


@pytest.fixture
def nothing_registered(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A workbench that has not loaded its extensions; what these register is forgotten."""
    fresh = extensions.Extensions()
    monkeypatch.setattr(extensions, "_extensions", fresh)
    yield
    for registry, name in fresh.added:
        del registry._added[name]


@pytest.fixture
def install(nothing_registered: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Writes packages into a folder that Python imports from."""
    folder = tmp_path / "site-packages"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    written: list[str] = []

    def write(package: str, source: str, target: str = "") -> None:
        module = package.replace("-", "_")
        written.append(module)
        (folder / f"{module}.py").write_text(source, encoding="utf-8")
        metadata = folder / f"{module}-1.0.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        points = f"[{extensions.GROUP}]\nmine = {module}{target}\n"
        (metadata / "entry_points.txt").write_text(points)

    yield write
    for module in written:
        sys.modules.pop(module, None)
