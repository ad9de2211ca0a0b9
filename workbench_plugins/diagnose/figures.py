"""The map of a sweep: right answers by one or two parameters, the present and the best setting marked."""

from __future__ import annotations

from workbench.errors import InputError
from workbench_plugins.diagnose.sweep import Sweep, best, right_answers
from workbench_plugins.pictures.drawing import Picture, heat_map

RIGHT, SILENT = "right answers", "of them unanswerable"


def sweep_figure(sweep: Sweep) -> Picture:
    """A cell for each setting of two axes; with more, each cell shows its best other setting.

    One axis has two rows: the right answers, and those that are unanswerable questions without a result.
    Raises InputError for a sweep that moved one parameter at a time: it has no grid.
    """
    first, *others = sweep.axes
    right, chosen = right_answers(sweep).tolist(), sweep.settings[best(sweep)]
    cells: dict[tuple[str, str], float] = {}
    if not others:
        silent = sweep.silent[:-1].sum(axis=1).tolist()
        for name, numbers in ((SILENT, silent), (RIGHT, right)):
            cells |= {(one, name): number for (one,), number in zip(sweep.settings, numbers, strict=True)}
        places = {"now": (sweep.now[0], RIGHT), "★": (chosen[0], RIGHT)}
        return heat_map(cells, first.name, RIGHT, _marks(places))
    for setting, number in zip(sweep.settings, right, strict=True):
        cells[setting[0], setting[1]] = max(number, cells.get((setting[0], setting[1]), 0.0))
    if any((one, other) not in cells for one in first.values for other in others[0].values):
        raise InputError(
            "A sweep of one parameter at a time has no map.",
            "Sweep the grid, or print the table of settings.",
        )
    rest = f" (best over {', '.join(one.name for one in others[1:])})" if others[1:] else ""
    places = {"now": (sweep.now[0], sweep.now[1]), "★": (chosen[0], chosen[1])}
    return heat_map(cells, first.name, f"{others[0].name}, {RIGHT}{rest}", _marks(places))


def _marks(places: dict[str, tuple[str, str]]) -> dict[tuple[str, str], str]:
    """The marks by their cells: one cell may have both."""
    return {place: " ".join(name for name in places if places[name] == place) for place in places.values()}
