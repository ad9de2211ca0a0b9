"""The tools of an agent over a memory: search, get, explain and diagnose, in Python and over MCP."""

from __future__ import annotations
