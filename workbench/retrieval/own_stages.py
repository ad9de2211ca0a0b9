"""Stages of one's own, neither of the workbench nor of a feature: their place, and what goes wrong."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from traceback import extract_tb
from types import CodeType

import numpy as np

from workbench.contracts import Context
from workbench.errors import InputError, WorkbenchError
from workbench.records import Hits, Stage, Trace
from workbench.registry import FEATURES
from workbench.retrieval.legs import LegStage

COMPUTING = ("formula", "contributions", "part", "together", "thresholds", "rows", "query", "words", "run")
"""The methods in which stages of all kinds compute, the one that decides about the others first."""


def is_own(stage: object) -> bool:
    """Whether a stage is neither of the workbench nor of a feature of it."""
    return _is_own_module(type(stage).__module__)


def _is_own_module(name: str) -> bool:
    return name.partition(".")[0] not in ("workbench", FEATURES)


def place_of(stage: Stage) -> str:
    """The file of a stage of one's own, and the line in which it computes, or else that of its class.

    It is empty for a stage of the workbench's, and for one whose source is not at hand.
    """
    kind = type(stage)
    methods = [getattr(kind, name, None) for name in COMPUTING]
    own = [one for one in methods if inspect.isfunction(one) and _is_own_module(one.__module__)]
    try:
        file, line = inspect.getfile(kind), inspect.getsourcelines(kind)[1]
    except (OSError, TypeError):
        return ""
    if own:
        file, line = own[0].__code__.co_filename, _first_line(own[0].__code__)
    return f"{Path(file).name}:{line}" if is_own(stage) else ""


def _first_line(code: CodeType) -> int:
    """The first line of what a function does, which is below its name and its docstring."""
    lines = [line for *_, line in code.co_lines() if line is not None and line > code.co_firstlineno]
    return min(lines, default=code.co_firstlineno)


@contextmanager
def told_of(stage: Stage) -> Iterator[None]:
    """Raises InputError, with the place, for what a stage of one's own raises."""
    try:
        yield
    except WorkbenchError:
        raise
    except Exception as error:
        if not is_own(stage):
            raise
        raise _wrong(stage, f"ends with {type(error).__name__}: {error}", error) from error


def run_stage(stage: Stage, trace: Trace, context: Context) -> Trace:
    """The trace after a stage. Raises InputError, with the place, where a stage of one's own goes wrong."""
    if not is_own(stage):
        return stage.run(trace, context)
    with told_of(stage):
        after = stage.run(trace, context)
    if not isinstance(after, Trace):
        raise _wrong(stage, f"returns {after!r:.60}, and a stage returns the trace")
    written = () if isinstance(stage, LegStage) else stage.writes()  # the union writes a leg's columns
    if missing := [name for name in written if name not in after.columns]:
        raise _wrong(stage, f"says that it writes {', '.join(missing)}, and does not")
    if after.order.ndim == 1 and np.unique(after.order).size < after.order.size:
        raise _wrong(stage, "has a candidate twice in its order")
    leg = after.legs.get(stage.name) if isinstance(stage, LegStage) else None
    if leg is not None and (problem := _problem_of(leg.hits)):
        raise _wrong(stage, problem)
    return after


def _problem_of(hits: Hits) -> str:
    """What is wrong with the hits of a leg, after the words *the leg*; empty for none."""
    if hits.rows.size != hits.raw.size:
        return f"brings {hits.rows.size} rows and {hits.raw.size} numbers"
    if np.isnan(hits.raw).any():
        return "brings a hit whose number is NaN"
    if np.unique(hits.rows).size < hits.rows.size:
        return "brings a chunk twice"
    steps = np.diff(hits.raw)
    falls = (steps <= 0).all() if hits.larger_is_better else (steps >= 0).all()
    return "" if falls else "brings its hits in another order than the best first"


def _wrong(stage: Stage, what: str, error: Exception | None = None) -> InputError:
    """The error of a stage of one's own, with the line that raised it, or else the place of the stage."""
    kind = type(stage)
    file = inspect.getsourcefile(kind) if error else None
    lines = [one.lineno for one in extract_tb(error.__traceback__) if one.filename == file] if error else []
    place = f"{Path(file).name}:{lines[-1]}" if file and lines else place_of(stage)
    at = f" ({place})" if place else ""
    return InputError(
        f"The stage {stage.slot} of your own, {kind.__module__}.{kind.__qualname__}{at}, {what}.",
        "Correct it there; docs/extending.md says what a stage gets and returns.",
    )
