"""What an agent gets from OpenClaw's memory tools: lines of a file, and citations."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePath
from typing import Any

from tests.adapters import Given, adapts
from tests.adapters.openclaw_february import FEBRUARY as RELEASES
from tests.adapters.openclaw_files import empty_folder, plant
from workbench_plugins.agent.note_files import Read
from workbench_plugins.agent.tool_contracts import FEBRUARY, SEPTEMBER, citation
from workbench_plugins.agent.tools import AgentTools

MEMORY = "# m\nl2\nl3\nl4\n"
"""What MEMORY.md holds in these cases; any other file holds its own name without the ending."""


@adapts("memory-get", *RELEASES)
def memory_get(given: Given) -> dict[str, Any]:
    """The lines that the tool gives, or why it gives none."""
    with empty_folder() as root:
        for line in given["tree"]:
            path = line.partition(" -> ")[0]
            plant(root, line, MEMORY if path == "MEMORY.md" else PurePath(path).stem)
        tools = AgentTools(root, contract=FEBRUARY, extra_paths=tuple(given["extraPaths"]))
        asked = dict(given["params"])
        answer = tools.call("memory_get", {"path": asked.pop("relPath"), **asked})
    return {"throws": answer["error"].split(":")[0]} if "error" in answer else answer


@adapts("memory-get-9.6", "2026.9.6")
def memory_get_bounded(given: Given) -> dict[str, Any]:
    contract = replace(SEPTEMBER, most_units=given.get("maxChars", SEPTEMBER.most_units))
    return contract.read(Read("memory/a.md", given["content"]), given.get("from"), given.get("lines"))


@adapts("citations", *RELEASES)
def citations(given: Given) -> Any:
    if "results" not in given:
        return citation(given["path"], given["startLine"], given["endLine"])
    if not given["include"]:
        return given["results"]
    return [FEBRUARY.with_citation(row) for row in given["results"]]
