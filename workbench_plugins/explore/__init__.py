"""One page on your own notes: the question explorer, chunks, the microscope."""

from __future__ import annotations

from workbench.registry import declare, has_guest

declare("workbench_plugins.explore.explorer", "lab", widget="QuestionExplorer")
if all(map(has_guest, ("basic_memory", "openclaw", "recommended"))):
    declare("workbench_plugins.explore.microscope_widget", "lab", widget="Microscope")
declare("workbench_plugins.explore.chunks", "lab", widget="FileChunks")
