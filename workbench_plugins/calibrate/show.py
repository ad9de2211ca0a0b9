"""A calibration in words and as a table."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping

from rich.console import Group, RenderableType
from workbench.views.text import Table, numbers, plain, rendered, rich_table

from workbench.measure.evaluation import Share
from workbench.measure.resampling import LEVEL
from workbench_plugins.calibrate.calibrated import ACCEPTED, Calibrated, Made
from workbench_plugins.calibrate.promise import allowed, fewest


@rendered.register
def _calibrated(found: Calibrated) -> RenderableType:
    """The threshold, the promise, its cost, the curve, and how to use it."""
    told = [
        f"{found.pipeline.name}: {_values(found.thresholds)}, instead of {_values(found.own)}",
        str(found),
    ]
    told.append(f"Hits: {_share(found.hits)}; before {_share(found.before)}.")
    if found.change is not None:
        told.append(f"In pairs: {found.change}.")
    if found.made is not None:
        told.append(_compared(found.made))
    use = [found.options or "only as a file: no option of this system sets this threshold"]
    if found.to_paste is not None:
        use.append(f"openclaw.json: {json.dumps(found.to_paste)}")
    lines = [plain(line) for line in (*told, "")]
    return Group(*lines, rich_table(curve_table(found)), plain(""), *(plain(f"Use it: {one}") for one in use))


def curve_table(found: Calibrated) -> Table:
    """A row for each accepted rate: the thresholds, the mistakes among the labels, and the hits."""
    known = {one.accept: one for one in found.curve}
    rows = []
    for rate in sorted({*ACCEPTED, found.promise.accept}):
        if rate in known:
            one = known[rate]
            values = ", ".join(f"{value:g}" for value in one.values)
            rows.append((f"{rate:.0%}", values, f"{one.mistakes} of {found.labels}", _share(one.hits)))
        else:
            needed = fewest(rate, found.promise.confidence)
            few = allowed(found.labels, rate, found.promise.confidence) < 0
            why = f"needs {needed} labels" if few else "no threshold keeps it"
            rows.append((f"{rate:.0%}", why, "", ""))
    heads = numbers("threshold", "mistakes", "hits, 95 % interval")
    return Table(
        f"What other rates cost, at {found.promise.confidence:.0%} confidence", ["accepted", *heads], rows
    )


def _values(thresholds: Mapping[str, float]) -> str:
    return ", ".join(
        f"{name} = {value:g}" if math.isfinite(value) else f"{name} = none"
        for name, value in thresholds.items()
    )


def _share(share: Share) -> str:
    low, high = share.interval
    return f"{share.hits} of {share.n} ({low:.0%} to {high:.0%})"


def _compared(made: Made) -> str:
    """What made labels say about those by hand."""
    if not made.by_hand.n:
        return f"Made by {made.how}: no question without an answer was written by hand to compare with."
    told = (
        "they differ, so do not take the promise for questions of people"
        if made.p < LEVEL
        else "too few questions to tell them apart"
    )
    return (
        f"Made by {made.how}: {_share(made.made)} get an answer; of those written by hand "
        f"{_share(made.by_hand)}; {told} (Fisher's exact p = {made.p:.2g})."
    )
