"""Why an answer was lost, what would bring it back, and what that would cost."""

from __future__ import annotations

from workbench.registry import declare

declare("workbench_plugins.diagnose.diagnosis", name="diagnose", tool="memory_diagnose")
declare("workbench_plugins.diagnose.sweep", name="sweep")
declare("workbench_plugins.diagnose.question_causes", work="question")
