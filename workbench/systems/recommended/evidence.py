"""The fixes of openclaw#16021, and a threshold on evidence: what to add to OpenClaw's own pipeline."""

from __future__ import annotations

from workbench.retrieval.cutoff import EvidenceFloor
from workbench.retrieval.pipeline import Change, Source
from workbench.systems.openclaw.pipelines import THREE_FIXES

EVIDENCE_FLOOR = Change(
    "evidence",
    EvidenceFloor(cosine=0.25, relevance=0.9),
    "a threshold on each leg's raw numbers: a fused rank says which hit is first, not whether it is good",
    Source("this workbench", "0.1.0", "workbench/retrieval/cutoff.py", "", "Never shipped elsewhere."),
)

WITH_EVIDENCE = THREE_FIXES.but(EVIDENCE_FLOOR)

PIPELINES = (WITH_EVIDENCE,)
