"""AutoMem's recall, release by release."""

from __future__ import annotations

from workbench.registry import declare, has_guest

declare(
    "workbench_plugins.automem.pipelines",
    system="am-dead-keyword am-128-substring am-150 am-191 am-205",
    line="AutoMem",
)
declare("workbench_plugins.automem.memories", kept_words="automem")
if has_guest("engines"):
    declare(
        "workbench_plugins.automem.specimens",
        specimen=(
            "automem-dead-keyword-weight automem-floor-cuts-more automem-hyphen-never-matches "
            "automem-unbounded-keyword automem-pool-is-the-limit"
        ),
    )
