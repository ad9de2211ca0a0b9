"""A blame as a waterfall: from the first system's value, over the shares of the changes, to the second's."""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import Any

from workbench.measure.blame import Blame
from workbench.views.blame import by_share, number, share_text, shares_table, signed
from workbench.views.living import VERSION
from workbench.views.living.controls import Living
from workbench.views.text import Table
from workbench.views.widgets.panel import Panel


def blame_data(blame: Blame) -> dict[str, Any]:
    """The bars of a blame: each change begins where the one before ends, the largest share first."""
    parts = by_share(blame)
    ends = [float(end) for end in accumulate((one.share for one in parts), initial=blame.before)]
    return {
        "measure": blame.measure,
        "before": {"name": blame.one.name, "value": ends[0], "text": number(blame.before)},
        "after": {"name": blame.other.name, "value": float(blame.after), "text": number(blame.after)},
        "parts": [
            {
                "name": one.name,
                "from": start,
                "to": end,
                "text": share_text(one),
                "told": f"alone {signed(one.alone)}, as the last change {signed(one.last)}",
            }
            for one, (start, end) in zip(parts, pairwise(ends), strict=True)
        ],
    }  # fmt: skip


def blame_sentence(blame: Blame) -> str:
    """The whole difference, the share of each change, and the verdict question by question."""
    shares = ", ".join(f"{one.name} {share_text(one)}" for one in by_share(blame))
    return (
        f"{blame.other.name} has {signed(blame.difference)} {blame.measure} over {blame.one.name} on "
        f"{blame.questions} questions: {shares}. Question by question: {blame.verdict}."
    )


class BlamePicture(Panel):
    """A blame that was computed, as a picture."""

    name = "blame-chart"

    def __init__(self, blame: Blame) -> None:
        self.blame, self.controls = blame, {}
        told = {"version": VERSION, "view": "blame", "of": {}, "asks": [], "sentence": self.sentence}
        told |= {"table": [list(self.table.header), *map(list, self.table.rows)], "code": self.code}
        self.root = Living(blame_data(blame) | told, {})
        self.join(False)

    @property
    def sentence(self) -> str:
        return blame_sentence(self.blame)

    @property
    def table(self) -> Table:
        return shares_table(self.blame)

    @property
    def code(self) -> str:
        return "# `blame` is what wb.blame returned.\nimport workbench as wb\n\nwb.show(blame)"
