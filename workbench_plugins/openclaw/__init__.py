"""OpenClaw: its later releases, its openclaw.json, and its own index files, which are never written."""

from __future__ import annotations

from workbench.registry import declare, has_guest

declare(
    "workbench_plugins.openclaw.releases",
    system=(
        "openclaw-2026.2.15 openclaw-2026.2.27 openclaw-2026.3.7 openclaw-2026.7.1 openclaw-2026.9.6 "
        "openclaw-2026.3.31-trigram openclaw-2026.9.6-trigram"
    ),
    line="OpenClaw-with-trigrams OpenClaw",
    handful="openclaw-2026.9.6",
)
declare(
    "workbench_plugins.openclaw.indexing",
    indexing=(
        "openclaw-2026.2.13 openclaw-2026.7.1 openclaw-2026.9.6 openclaw-2026.2.12 openclaw-2026.2.15 "
        "openclaw-2026.2.27 openclaw-2026.3.7 openclaw-2026.3.31-trigram openclaw-2026.9.6-trigram"
    ),
)
declare("workbench_plugins.openclaw.config", language="openclaw.json")
declare("workbench_plugins.openclaw.live_index", memory="openclaw")
declare("workbench_plugins.openclaw.sessions", source="sessions")
declare("workbench_plugins.openclaw.indexing", annotations="stored")
declare("workbench_plugins.openclaw.keyword", kept_words="openclaw")
if has_guest("engines"):
    declare("workbench_plugins.openclaw.specimens", specimen="openclaw-dates-in-subfolders")
