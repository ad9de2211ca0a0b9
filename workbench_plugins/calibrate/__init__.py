"""Thresholds that keep a promise: how often a system answers what its memory does not know."""

from __future__ import annotations

from workbench.registry import declare

declare("workbench_plugins.calibrate.stored", language="calibration")
