"""QMD: BM25 and vectors over whole files, expanded questions, rank fusion with a bonus, and a blend."""

from __future__ import annotations

from workbench.registry import declare, has_guest

declare(
    "workbench_plugins.qmd.pipelines",
    system=(
        "qmd-2.8.3-no-rerank qmd-2.8.3-no-rerank+keywords qmd-2.1.0-no-rerank+keywords qmd-2.8.3-no-models"
    ),
    indexing="qmd-2.8.3",
)
if has_guest("engines"):
    declare("workbench_plugins.qmd.specimens", specimen="qmd-weight-by-position")
