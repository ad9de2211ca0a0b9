"""The findings of the lint as a table."""

from __future__ import annotations

from rich.console import Group, RenderableType

from workbench.lab.checks.findings import Findings
from workbench.safe_text import counted
from workbench.views.console import PlainTable, plain
from workbench.views.text import rendered


@rendered.register
def rendered_findings(found: Findings) -> RenderableType:
    """One row for each finding: what cannot work, the arithmetic, and the public issue it resembles."""
    if not found:
        return plain(f"{found.system}: nothing found")
    count = counted(len(found), "finding")
    table = PlainTable(pad_edge=False)
    for head in ("finding", "what it means", "arithmetic", "resembles"):
        table.add_column(head, overflow="fold")
    for one in found:
        table.add_row(plain(one.kind), plain(one.says), plain(one.arithmetic), plain(one.issue))
    return Group(plain(f"{found.system}: {count}", "bold"), table)
