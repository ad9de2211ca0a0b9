"""The reliability of stated probabilities in words and as a table."""

from __future__ import annotations

from rich.console import Group, RenderableType

from workbench.lab.checks.reliability import Bin, Reliability
from workbench.views.console import PlainTable, plain
from workbench.views.text import rendered

HEADS = ("stated probability", "mean", "answerable", "share", "95 % interval", "")


@rendered.register
def rendered_reliability(found: Reliability) -> RenderableType:
    """A row for each bin, and what the bins say together."""
    table = PlainTable(*HEADS[:1], pad_edge=False)
    for head in HEADS[1:]:
        table.add_column(head, justify="right")
    for row in reliability_rows(found):
        table.add_row(*row)
    return Group(plain(f"{found.system}: how true its probabilities are"), table, plain(sentence(found)))


def reliability_rows(found: Reliability) -> list[tuple[str, ...]]:
    """The cells of each bin, below `HEADS`."""
    return [_row(one) for one in found.bins]


def _row(one: Bin) -> tuple[str, ...]:
    low, high = one.answerable.interval
    return (
        f"{one.low:.2f} to {one.high:.2f}",
        f"{one.stated:.2f}",
        f"{one.answerable.hits} of {one.answerable.n}",
        f"{one.answerable.rate:.2f}",
        f"{low:.2f} to {high:.2f}",
        "" if one.agrees else "differs",
    )


def sentence(found: Reliability) -> str:
    """What the bins say, in words."""
    n, apart = found.answerable.n, found.apart
    said = (
        "every bin's mean is within the interval of its share, so these questions cannot tell the "
        "probabilities from true ones"
        if not apart
        else f"{len(apart)} of {len(found.bins)} bins differ from what was stated"
    )
    return (
        f"Of {n} questions, {found.answerable.hits} are answerable; {said}. The Brier score is "
        f"{found.brier:.3f} (0 is perfect; always stating the share of answerable questions gives "
        f"{found.constant:.3f})."
    )
