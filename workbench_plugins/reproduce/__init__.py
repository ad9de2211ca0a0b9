"""From a pasted bug report to a case: what it says, the smallest memory that shows it, and a verdict."""

from __future__ import annotations

from workbench.registry import declare

declare(
    "workbench_plugins.reproduce.commands",
    command={"reproduce": "Report: Make a running case of a bug report as it was pasted."},
)
