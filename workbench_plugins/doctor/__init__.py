"""Checks of the installation, of the model and of the indexes, and the list of all indexes."""

from __future__ import annotations

from workbench.registry import declare

declare(
    "workbench_plugins.doctor.commands",
    work="indexes",
)
declare("workbench_plugins.doctor.faults", work="faults")
