"""Traces and explanations as plain dictionaries, for `--json`."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

from workbench.records import Candidate, Drop, Trace, Value
from workbench.retrieval.explain import Explanation, Verdict, steps
from workbench.systems.openclaw import snippet


def trace_data(trace: Trace) -> dict[str, Any]:
    """A trace: the question, the hits of each leg, the results, and why others were dropped."""
    return {
        "question": trace.question, "system": trace.system, "match": trace.match,
        "legs": {
            leg.name: {"asked": leg.asked, "depth": leg.depth, "brought": int(leg.hits.rows.size)}
            for leg in trace.legs.values()
        },
        "notes": list(trace.notes),
        "results": [{"rank": rank, **candidate_data(one)} for rank, one in enumerate(trace.results, 1)],
        "dropped": [candidate_data(one) for one in trace.candidates if one.dropped_by],
    }  # fmt: skip


def candidate_data(candidate: Candidate) -> dict[str, Any]:
    """A candidate: its path and lines, its numbers (null if absent), and the stage that dropped it."""
    chunk = candidate.chunk
    return {
        "id": chunk.id, "path": chunk.path, "start_line": chunk.start_line, "end_line": chunk.end_line,
        "position": candidate.position,
        **{name: _finite(value) for name, value in candidate.numbers.items()},
        "dropped_by": candidate.dropped_by.says if candidate.dropped_by else None,
        "dropped": _drop_data(candidate.drop) if candidate.drop else None,
        "snippet": snippet(chunk),
    }  # fmt: skip


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


def explanation_data(explanation: Explanation) -> dict[str, Any]:
    """An explanation: the file's fate, and each chunk's, with formulas and ranks."""
    return {
        "question": explanation.trace.question, "system": explanation.trace.system,
        "target": explanation.target, "fate": explanation.fate.value,
        "chunks": [_verdict_data(explanation.trace, verdict) for verdict in explanation.verdicts],
    }  # fmt: skip


def _verdict_data(trace: Trace, verdict: Verdict) -> dict[str, Any]:
    chunk, found = verdict.chunk, verdict.candidate
    made = steps(trace, trace.chunks.index(chunk)) if found else ()
    return {
        "path": chunk.path, "start_line": chunk.start_line, "end_line": chunk.end_line,
        "fate": verdict.fate.value,
        "dropped": _drop_data(found.drop) if found and found.drop else None,
        "candidate": candidate_data(found) if found else None,
        "formulas": {step.column: f"{step.formula}" for step in made},
        "legs": [asdict(one) | {"missing": list(one.missing)} for one in verdict.leg_ranks],
        "read_share": chunk.read_share,
    }  # fmt: skip
