"""A sweep in words and as a table: the best settings, the present one, and what choosing is worth."""

from __future__ import annotations

import numpy as np
from rich.console import Group, RenderableType

from workbench.lab.evaluation import Share
from workbench.lab.paired import HITS
from workbench.lab.sweep.choosing import best, held_out, pareto, right_answers
from workbench.lab.sweep.running import Sweep
from workbench.views.console import PlainTable, plain
from workbench.views.text import ABSENT, rendered

SHOWN = 10
"""The number of settings that the table shows beside those of the Pareto front."""
MOST_OF_FRONT = 10


@rendered.register
def rendered_sweep(sweep: Sweep) -> RenderableType:
    """The best settings, the Pareto front, the present setting, and the held-out estimate."""
    lines = [
        f"{sweep.pipeline.name}: {len(sweep.settings):,} settings, {sweep.values.shape[1]} questions, "
        f"{sweep.silent.shape[1]} unanswerable questions"
    ]
    if sweep.by_stages:
        lines.append(f"The stages ran for each question and setting, since {sweep.by_stages}.")
    return Group(*map(plain, lines), plain(""), settings_table(sweep), plain(""), *map(plain, verdict(sweep)))


def settings_table(sweep: Sweep) -> PlainTable:
    """One row for each setting with the most right answers, those of the front, and the present one."""
    table = PlainTable(pad_edge=False)
    for name in (*(one.name for one in sweep.axes), sweep.measure, "nothing returned", ""):
        table.add_column(name, justify="left" if not name else "right")
    front = pareto(sweep)[:MOST_OF_FRONT]
    first = np.argsort(-right_answers(sweep), kind="stable")[:SHOWN].tolist()
    for place in dict.fromkeys([*first, *front]):
        signs = [word for word, holds in (("best", place == best(sweep)), ("front", place in front)) if holds]
        table.add_row(*sweep.settings[place], *_numbers(sweep, place), ", ".join(signs))
    table.add_row(*sweep.now, *_numbers(sweep, -1), "now")
    return table


def _numbers(sweep: Sweep, place: int) -> tuple[str, str]:
    count = sweep.values.shape[1]
    score = (
        f"{int(sweep.values[place].sum())}/{count}" if sweep.measure == HITS else f"{sweep.score(place):.3f}"
    )
    return score, _share(sweep.silence(place))


def _share(share: Share) -> str:
    return f"{share.hits}/{share.n}" if share.n else ABSENT


def verdict(sweep: Sweep) -> list[str]:
    """What the best setting is worth on questions that did not choose it, in sentences."""
    lines = [
        "best: most right answers, which are the questions' "
        f"{sweep.measure} plus the unanswerable questions with nothing returned",
        "front: no other setting is better in one of the two without being worse in the other",
    ]
    held = held_out(sweep)
    if held is None:
        return [*lines, "All questions are about one file, so no part of them can be held out."]
    return [
        *lines,
        f"held out: chosen on {len(held.chosen) - 1} of {len(held.chosen)} parts and measured on the other, "
        f"{sweep.measure} {held.mean:.3f}, nothing returned for {_share(held.silent)}. "
        f"{flattery(held.flattered, sweep.measure)}",
        f"held out, compared with now: {held.paired}",
    ]


def flattery(flattered: float, measure: str) -> str:
    """How much better the best setting looks on the questions that chose it, in points or in the measure."""
    if flattered <= 0:
        return "The best setting's own number is not better than that."
    points = f"{100 * flattered:.0f} points" if measure == HITS else f"{flattered:.3f} {measure}"
    return f"The best setting's own number flatters it by {points}."
