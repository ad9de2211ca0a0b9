"""Why an answer was lost, what would bring it back, and what that would cost."""

from __future__ import annotations

from workbench.registry import declare

declare("workbench_plugins.diagnose.diagnosis", name="diagnose", tool="memory_diagnose")
declare("workbench_plugins.diagnose.sweep", name="sweep")
declare("workbench_plugins.diagnose.widgets", "lab", widget="BlameChart FixFinder SweepMap")
declare(
    "workbench_plugins.diagnose.commands",
    command={
        "diagnose": "Ask: Find what loses a file, the nearest settings that bring it back, and their price.",
        "blame": "Measure: Say how much of the difference between two systems each change has.",
        "sweep": "Measure: Evaluate a system with many values of its parameters.",
        "lint": "Measure: Look for settings that cannot work.",
        "triage": "case: Name the known symptom that is nearest to your words, and what to run.",
    },
)
