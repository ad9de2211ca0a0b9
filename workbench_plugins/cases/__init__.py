"""Cases: a failure of memory search as one file, which can be run, redacted, shrunk and reported."""

from __future__ import annotations

from workbench.registry import declare

declare("workbench_plugins.cases.show", view="CaseRun Matrix")
declare(
    "workbench_plugins.cases.commands",
    save="case",
    command={"case": "Report: Cases: a failure as one file, which runs as a test."},
)
declare("workbench_plugins.cases.making", tool="memory_case")
