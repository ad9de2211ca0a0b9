"""How each engine fuses the same two lists, as tables and text. This module computes no scores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from rich.console import Group, RenderableType

from workbench.lab.whose_fusion import Comparison, Degenerate, EngineOrder
from workbench.views.console import PlainTable, plain
from workbench.views.text import rendered

MORE = 2
"""The number of flips that are listed for an engine; the others are only counted."""

FIRST = 6
"""The number of candidates that are listed of an order; the others are only counted."""


@rendered.register
def rendered_comparison(comparison: Comparison) -> RenderableType:
    """The two lists, one line per engine, and the reasons why an order differs from the first engine's."""
    lists = [
        f"{leg} leg: {_list_text(scores)}"
        for leg, scores in (("vector", comparison.vector), ("keyword", comparison.keyword))
    ]
    if comparison.target is not None:
        lists.append(f"watched: {comparison.target}")
    parts: list[RenderableType] = [plain(one, "dim") for one in lists]
    parts += [comparison_table(comparison), *map(plain, flip_lines(comparison))]
    return Group(*parts)


def _list_text(scores: Mapping[str, float]) -> str:
    best_first = sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))
    more = f" and {len(scores) - FIRST} more" if len(scores) > FIRST else ""
    return ", ".join(f"{name} {score:.4g}" for name, score in best_first[:FIRST]) + more or "nothing"


def comparison_table(comparison: Comparison) -> PlainTable:
    """One line per engine: its order with ties in brackets, and the place, score and fate of the target."""
    table = PlainTable()
    table.add_column("engine", no_wrap=True)
    table.add_column("order")
    watched = comparison.target
    if watched is not None:
        for name in ("its place", "score", f"≥ {comparison.floor:g}"):
            table.add_column(name, justify="right")
    table.add_column("flips", justify="right")
    for order in comparison.orders:
        cells = [] if watched is None else _watched_cells(order, watched)
        table.add_row(order.engine.name, order_text(order), *cells, str(len(order.flips) or ""))
    return table


def order_text(order: EngineOrder) -> str:
    """The order in a line, such as `both (kwonly = v1) v3`: ties are in brackets, a long order is cut.

    A path is shortened to its file name if no other candidate has the same file name.
    """
    named = Counter(_last_part(hit.id) for hit in order.hits)
    told: list[str] = []
    left = len(order.hits)
    for group in order.groups:
        names = [_last_part(name) if named[_last_part(name)] == 1 else name for name in group]
        told.append(names[0] if len(names) == 1 else f"({' = '.join(names)})")
        left -= len(group)
        if len(order.hits) - left >= FIRST:
            break
    return " ".join(told) + (f" … and {left} more" if left else "")


def _last_part(name: str) -> str:
    return name.rpartition("/")[2]


def _watched_cells(order: EngineOrder, name: str) -> list[str]:
    first, last = order.places(name)
    place = str(first) if first == last else f"{first}–{last} tied"
    return [place, f"{order.hit(name).score:.4f}", "yes" if order.passes(name) else "no"]


def flip_lines(comparison: Comparison) -> list[str]:
    """The pairs that each engine orders in the opposite way to the first one, with the reason.

    The target's pairs come first.
    """
    lines = []
    for order in comparison.orders:
        watched = [flip for flip in order.flips if comparison.target in (flip.above, flip.below)]
        flips = [*watched, *(flip for flip in order.flips if flip not in watched)]
        if not flips:
            continue
        lines.append(f"{order.engine.name}, against {comparison.orders[0].engine.name}:")
        lines += [f"  {flip.above} over {flip.below}: {flip.why}" for flip in flips[:MORE]]
        if len(flips) > MORE:
            lines.append(f"  and {len(flips) - MORE} more")
    return lines


def degenerate_table(rows: Sequence[Degenerate]) -> PlainTable:
    """How each engine scales a single hit, two equal hits, and an empty leg."""
    table = PlainTable()
    for name in ("engine", "scale", "one hit, score 3", "two hits, score 3", "no hit"):
        table.add_column(name)
    for row in rows:
        table.add_row(row.engine, row.scale, *(_numbers(some) for some in (row.one, row.equal, row.empty)))
    return table


def _numbers(some: Sequence[float]) -> str:
    return ", ".join("no number" if number != number else f"{number:g}" for number in some) or "–"
