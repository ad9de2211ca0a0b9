"""How other search engines fuse two lists, products as people run them, and the museum of public bugs."""

from __future__ import annotations

from workbench.registry import declare

declare("workbench_plugins.engines.lists", index="lists")
declare("workbench_plugins.engines.museum", museum="specimens")
