"""Thresholds that keep a promise: how often a system answers what its memory does not know."""

from __future__ import annotations

from workbench.registry import declare

declare("workbench_plugins.calibrate.stored", language="calibration")
declare(
    "workbench_plugins.calibrate.commands",
    command={"calibrate": "Measure: Set a system's threshold so that it keeps a promise about mistakes."},
)
