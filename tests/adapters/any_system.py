"""Adapters for the stages of any system, also of one that an extension has registered."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.adapters import Case, adapts_every
from workbench.contracts import Context
from workbench.memory.store.sqlite.fts5 import match_expression
from workbench.records import Trace
from workbench.retrieval.columns import ColumnStage
from workbench.retrieval.pipeline import Running
from workbench.systems.catalogue import system


@adapts_every("stage")
def stage(case: Case) -> list[float | None]:
    """The column that the stage in a slot computes from other columns; null is absent."""
    computing = system(case.system)[case.input["slot"]]
    if not isinstance(computing, ColumnStage):
        raise LookupError(f"the stage {computing.slot} of {case.system} computes no column")
    columns = {name: np.array(column, float) for name, column in case.input["columns"].items()}
    return [None if np.isnan(one) else one for one in computing.computed(columns).tolist()]


class Compiling:
    """An index that compiles queries and answers nothing."""

    compiled = staticmethod(match_expression)


@adapts_every("query")
def query(case: Case) -> str | None:
    """The MATCH expression of a question."""
    index: Any = Compiling()
    asking, question = system(case.system)["query"], case.input["question"]
    context: Context = Running(index, question, 6)
    return asking.run(Trace(question, case.system, (asking,)), context).match
