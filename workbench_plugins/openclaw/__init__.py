"""OpenClaw: its later releases, its openclaw.json, and its own index files, which are never written."""

from __future__ import annotations

from workbench.registry import declare

declare("workbench_plugins.openclaw.sessions", source="sessions")
declare("workbench_plugins.openclaw.release_indexing", annotations="stored")
