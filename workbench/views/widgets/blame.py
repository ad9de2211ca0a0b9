"""A blame as a waterfall: from the first system's value, over the shares of the changes, to the second's."""

from __future__ import annotations

from itertools import accumulate
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
    ends = list(accumulate((float(one.share) for one in parts), initial=float(blame.before)))
    return {
        "measure": blame.measure,
        "before": _whole(blame.one.name, blame.before),
        "after": _whole(blame.other.name, blame.after),
        "parts": [
            {
                "name": one.name.replace("_", " "), "from": start, "to": end, "text": share_text(one),
                "told": f"alone {signed(one.alone)}, as the last change {signed(one.last)}",
            }
            for one, start, end in zip(parts, ends, ends[1:], strict=False)
        ],
    }  # fmt: skip


def _whole(name: str, value: Any) -> dict[str, Any]:
    return {"name": name, "value": float(value), "text": number(value)}


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
        table = [list(self.table.header), *map(list, self.table.rows)]
        data = blame_data(blame) | told | {"table": table, "code": self.code}
        self.root = Living(data, {})
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
