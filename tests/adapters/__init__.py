"""Adapters from vectors of real systems to the workbench's own code, one module a system.

A case names a group and a version (a release, or a commit under the key `commit`). Its adapter turns the
input into an output. Importing this package registers every adapter.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Given = Mapping[str, Any]


@dataclass(frozen=True)
class Case:
    """What a system gave for an input. `version` is empty where a file names none."""

    group: str
    version: str
    input: Given
    expected: Any
    note: str = ""
    system: str = ""


Adapter = Callable[[Case], Any]
ADAPTERS: dict[tuple[str, str], Adapter] = {}


def adapts(group: str, *versions: str) -> Callable[[Callable[[Given], Any]], Callable[[Given], Any]]:
    """Registers an adapter of inputs for a group, in versions that begin with one of `versions`."""

    def register(adapter: Callable[[Given], Any]) -> Callable[[Given], Any]:
        ADAPTERS.update({(group, version): lambda case: adapter(case.input) for version in versions})
        return adapter

    return register


def adapts_every(group: str) -> Callable[[Adapter], Adapter]:
    """Registers an adapter of whole cases for a group, which reads the version itself.

    It raises LookupError for a version that the workbench does not have.
    """

    def register(adapter: Adapter) -> Adapter:
        ADAPTERS[group, ""] = adapter
        return adapter

    return register


def adapts_known(
    group: str, commit_of: Callable[[Case], str]
) -> Callable[[Callable[[Given], Any]], Callable[[Given], Any]]:
    """Registers an adapter of inputs for every case whose commit `commit_of` knows."""

    def register(adapter: Callable[[Given], Any]) -> Callable[[Given], Any]:
        def adapt(case: Case) -> Any:
            commit_of(case)
            return adapter(case.input)

        ADAPTERS[group, ""] = adapt
        return adapter

    return register


def adapter_for(case: Case) -> Adapter | None:
    """The adapter for a case's group and version, None when there is none."""
    for (group, version), adapter in ADAPTERS.items():
        if group == case.group and (not version or re.match(re.escape(version) + r"(?![\w.])", case.version)):
            return adapter
    return None


for module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{module.name}")
