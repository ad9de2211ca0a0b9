"""The two legs of any other engine: recorded, fused as the engine does it, and explained like our own."""

from __future__ import annotations

from workbench.registry import declare

declare("workbench_plugins.recorder.recording", name="record")
