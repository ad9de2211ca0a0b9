"""The findings of the lint as a table."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import RenderableType

from workbench.lab.checks.findings import Finding
from workbench.views.console import PlainTable, plain


def rendered_findings(name: str, found: Sequence[Finding]) -> RenderableType:
    """One row for each finding: what cannot work, the arithmetic, and the public issue it resembles."""
    if not found:
        return plain(f"{name}: nothing found")
    table = PlainTable(pad_edge=False, title=f"{name}: {len(found)} findings", title_justify="left")
    for head in ("finding", "what it means", "arithmetic", "resembles"):
        table.add_column(head, overflow="fold")
    for one in found:
        table.add_row(plain(one.kind), plain(one.says), plain(one.arithmetic), plain(one.issue))
    return table
