"""Results of other engines: read, written, compared with ours, searched for what is missing, and linted."""

from __future__ import annotations

from workbench.registry import declare

declare(
    "workbench_plugins.runs.commands",
    command={
        "runs": "Report: Runs: the results of other engines, beside ours.",
        "gate": "runs: Compare today's answers with saved ones, for the CI of a team.",
    },
)
