"""What this house would do: a threshold on evidence, on top of the fixes that openclaw#16021 proposes."""

from __future__ import annotations

from workbench.retrieval.evidence import EvidenceFloor
from workbench.retrieval.pipeline import Change, Source
from workbench.systems.openclaw.pipelines import THREE_FIXES

EVIDENCE_FLOOR = Change(
    "evidence",
    EvidenceFloor(cosine=0.25, relevance=0.9),
    "a threshold on what each leg found, since a fused rank says who came first, not whether it is any good",
    Source("this workbench", "0.1.0", "workbench/retrieval/evidence.py", "", "Never shipped elsewhere."),
)

RECOMMENDED = THREE_FIXES.but(EVIDENCE_FLOOR)

PIPELINES = (RECOMMENDED,)
