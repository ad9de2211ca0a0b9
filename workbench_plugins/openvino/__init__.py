"""OpenVINO computes the packaged model where it is installed: the same vectors, and a start without torch."""

from __future__ import annotations

from workbench.registry import declare

declare("workbench_plugins.openvino.backend", "fast", backend="openvino")
