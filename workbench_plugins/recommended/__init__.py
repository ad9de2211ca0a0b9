"""What this project recommends: the pipeline `recommended`, and the bug report's fixes with a threshold.

An index that knows its passages, and the stages that read them.

Short passages of a memory that know where they stand: windows, and the vectors of their words.
"""

from __future__ import annotations

from workbench.registry import declare

declare("workbench_plugins.recommended.pipelines", system="recommended", default="recommended")
declare("workbench_plugins.recommended.layout", layout="passages")
declare("workbench_plugins.recommended.late", reranker="late")
declare("workbench_plugins.recommended.reliability", measure="reliability", view="Reliability")
declare("workbench_plugins.recommended.reliability_figure", "lab", diagram="reliability")
