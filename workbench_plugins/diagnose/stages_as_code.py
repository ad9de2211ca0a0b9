"""A whole pipeline as Python that runs in an empty notebook, made of stages that can be imported."""

from __future__ import annotations

import math
import sys
from collections import defaultdict
from dataclasses import fields, is_dataclass
from typing import Any

from workbench.contracts import Index
from workbench.memory.opening import opening_code
from workbench.retrieval.index_adapters import innermost
from workbench.retrieval.pipeline import Pipeline


class NotImportableError(Exception):
    """A value that code in an empty notebook cannot name."""


def code_of_stages(pipeline: Pipeline) -> str:
    """Python that makes a pipeline of its stages; empty if one of them, or the layout, cannot be imported."""
    imports: dict[str, set[str]] = defaultdict(set)
    try:
        stages = [_expression(one, imports) for one in pipeline.stages]
        source = _expression(pipeline.source, imports)
        layout = _expression(pipeline.layout, imports)
    except NotImportableError:
        return ""
    imports[Pipeline.__module__].add(Pipeline.__name__)
    begin = [f"from {module} import {', '.join(sorted(names))}" for module, names in sorted(imports.items())]
    made = [f"    {one}," for one in stages]
    ends = f"), {source}{'' if pipeline.layout is None else f', layout={layout}'})"
    return "\n".join([*begin, "", f"pipeline = Pipeline({pipeline.name!r}, (", *made, ends])


def _expression(value: Any, imports: dict[str, set[str]]) -> str:
    """Code for a stage, or for a parameter of it, and what it imports. Raises NotImportableError."""
    if value is None or isinstance(value, str | bool | int):
        return repr(value)
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else f"float({str(value)!r})"
    if isinstance(value, tuple):
        items = [_expression(one, imports) for one in value]
        return f"({', '.join(items)}{',' if len(items) == 1 else ''})"
    kind = type(value)
    there = getattr(sys.modules.get(kind.__module__), kind.__name__, None)
    if not is_dataclass(value) or there is not kind or kind.__module__ == "__main__":
        raise NotImportableError
    given = [
        f"{one.name}={_expression(getattr(value, one.name), imports)}" for one in fields(value) if one.init
    ]
    imports[kind.__module__].add(kind.__name__)
    return f"{kind.__name__}({', '.join(given)})"


def search_code(question: str, index: Index) -> str:
    """Python that asks a question of the index of a folder with `pipeline`; empty for another index."""
    opened = opening_code(innermost(index))
    return "\n".join([*opened, f"wb.show(wb.search({question!r}, pipeline, index))"]) if opened else ""
