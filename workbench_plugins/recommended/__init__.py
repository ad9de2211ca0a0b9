"""What this project recommends: the system `recommended`, the reranker `late`, and a reliability test."""

from __future__ import annotations

from workbench.registry import declare

declare("workbench_plugins.recommended.layout", layout="passages")
declare("workbench_plugins.recommended.reliability", measure="reliability")
declare("workbench_plugins.recommended.reliability", diagram="reliability")
