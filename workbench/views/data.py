"""Traces and explanations as plain dictionaries, for `--json`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from workbench.records import Candidate, Drop, Trace, Value
from workbench.retrieval.explain import Explanation, Verdict, steps
from workbench.retrieval.legs import Standing
from workbench.systems.openclaw.pipelines import snippet


def trace_data(trace: Trace) -> dict[str, Any]:
    """A trace: the question, the hits of each leg, the results, and why others were dropped."""
    return {
        "question": trace.question,
        "system": trace.system,
        "match": trace.match,
        "legs": {
            leg.name: {"asked": leg.asked, "depth": leg.depth, "brought": int(leg.hits.rows.size)}
            for leg in trace.legs.values()
        },
        "notes": list(trace.notes),
        "results": [candidate_data(one) for one in trace.results],
        "dropped": [candidate_data(one) for one in trace.candidates if one.dropped_by],
    }


def candidate_data(candidate: Candidate) -> dict[str, Any]:
    """A candidate: its path and lines, its numbers (null if absent), and the stage that dropped it."""
    chunk = candidate.chunk
    return {
        "id": chunk.id,
        "path": chunk.path,
        "start_line": chunk.start_line,
        "end_line": chunk.end_line,
        "position": candidate.position,
        **_present(candidate.numbers),
        "dropped_by": candidate.dropped_by.says if candidate.dropped_by else None,
        "dropped": _drop_data(candidate.drop) if candidate.drop else None,
        "snippet": snippet(chunk),
    }


def _drop_data(drop: Drop) -> dict[str, Any]:
    """Why a candidate was dropped; `value` and `limit` are those of the first threshold that it missed."""
    misses = [
        {"measure": one.measure, "value": _finite(one.value), "limit": _finite(one.limit)}
        for one in drop.misses
    ]
    first = {"value": misses[0]["value"], "limit": misses[0]["limit"]}
    return {"stage": drop.stage.slot, "kind": drop.kind.value, **first, "missed": misses}


def _finite(value: Value) -> Value | None:
    return value if isinstance(value, str) or math.isfinite(value) else None


def _present(numbers: Mapping[str, float]) -> dict[str, float | None]:
    return {name: value if math.isfinite(value) else None for name, value in numbers.items()}


def explanation_data(explanation: Explanation) -> dict[str, Any]:
    """An explanation: the file's fate, and each chunk's, with formulas and standings."""
    return {
        "question": explanation.trace.question,
        "system": explanation.trace.system,
        "target": explanation.target,
        "fate": explanation.fate.value,
        "chunks": [_verdict_data(explanation.trace, verdict) for verdict in explanation.verdicts],
    }


def _verdict_data(trace: Trace, verdict: Verdict) -> dict[str, Any]:
    formulas = {}
    if verdict.candidate is not None:
        made = steps(trace, trace.chunks.index(verdict.chunk))
        formulas = {step.column: f"{step.formula}" for step in made}
    return {
        "path": verdict.chunk.path,
        "start_line": verdict.chunk.start_line,
        "end_line": verdict.chunk.end_line,
        "fate": verdict.fate.value,
        "dropped": _drop_data(verdict.candidate.drop)
        if verdict.candidate and verdict.candidate.drop
        else None,
        "candidate": candidate_data(verdict.candidate) if verdict.candidate else None,
        "formulas": formulas,
        "legs": [_standing_data(standing) for standing in verdict.standings],
        "read_share": verdict.chunk.read_share,
    }


def _standing_data(standing: Standing) -> dict[str, Any]:
    return {
        "leg": standing.leg,
        "rank": standing.rank,
        "matched": standing.matched,
        "depth": standing.depth,
        "number": standing.number,
        "raw": standing.raw,
        "missing": list(standing.missing),
    }
