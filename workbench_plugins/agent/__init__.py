"""The tools of an agent over a memory: search, get, explain and diagnose, in Python and over MCP."""

from __future__ import annotations

from workbench.registry import declare

declare(
    "workbench_plugins.agent.commands",
    "agent",
    command={
        "serve": "Agent: Serve a memory to an agent over MCP.",
        "watch": "",
        "memory-search": "",
        "memory-get": "",
    },
)
