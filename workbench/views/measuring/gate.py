"""The outcome of a quality gate, in words: the verdicts, and who flipped and why."""

from __future__ import annotations

from rich.console import Group, RenderableType

from workbench.lab.exchange.gate import FlippedControl, GateFlip, GateResult
from workbench.views.console import PlainTable, plain
from workbench.views.text import drop_reason, rendered


@rendered.register
def rendered_gate(found: GateResult) -> RenderableType:
    """Passed or failed, the verdict on each measure, and a line for each question that flipped."""
    head = "PASSED" if found.passes else f"FAILED: {', '.join(one.measure for one in found.falls)} fell"
    table = PlainTable("measure", "change", pad_edge=False)
    for one in found.verdicts:
        table.add_row(one.measure, str(one))
    parts: list[RenderableType] = [
        plain(head, "bold"),
        plain(f"{found.after}, against {found.before}"),
        table,
    ]
    parts += [plain(line) for one in found.flipped for line in _flipped_lines(one)]
    parts += [plain(_control_line(one)) for one in found.controls]
    return Group(*parts)


def _flipped_lines(one: GateFlip) -> list[str]:
    head = f"{'lost' if one.lost else 'won'}: “{one.question}” → {one.target}"
    return [head, f"  {_why(one)}"] if one.lost else [head]


def _why(one: GateFlip) -> str:
    if one.why is None or not one.why.verdicts:
        return "never indexed"
    best = one.why.verdicts[0]
    if best.candidate is not None and best.candidate.drop is not None:
        return f"{best.fate}: {drop_reason(best.candidate)}"
    ranks = [
        f"{leg.leg} leg: rank {leg.rank}, depth {leg.depth}" if leg.rank else f"{leg.leg} leg: no match"
        for leg in best.standings
    ]
    return "; ".join([best.fate.value, *ranks])


def _control_line(one: FlippedControl) -> str:
    if not one.lost:
        return f"won: “{one.question}” is unanswerable and gets nothing"
    return f"lost: “{one.question}” is unanswerable and gets {', '.join(one.returned)}"
