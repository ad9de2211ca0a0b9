"""The time from a slider's event to the painted figure, in JupyterLab with its kernel and Chromium.

python -m benchmarks.pixels
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

import psutil
from playwright.sync_api import Locator, Page

from tests.browser import CHROMIUM, browsing, jupyterlab, run_all_cells
from tests.conftest import SAMPLE
from workbench.memory.sync import index_folder

BUDGET = 150.0
"""Milliseconds."""

MOVES = 30
PAUSE = 400
"""Milliseconds from one key press to the next."""

MEASURE = """figure => {
  const taken = [];
  let pressed = null;
  document.addEventListener('keydown', event => { pressed = event.timeStamp; }, true);
  new MutationObserver(() => {
    if (pressed === null) return;
    const from = pressed;
    pressed = null;
    // The callback comes before the frame is painted, and the message after it.
    requestAnimationFrame(() => setTimeout(() => taken.push(performance.now() - from)));
  }).observe(figure.querySelector('.cartesianlayer'), {subtree: true, childList: true, attributes: true});
  figure.taken = taken;
}"""
"""Records on the figure how long each key press takes until the figure is painted."""


def main() -> None:
    if CHROMIUM is None:
        sys.exit("The benchmark needs Chromium: apt-get install chromium")
    index_folder(SAMPLE)
    with tempfile.TemporaryDirectory() as folder, jupyterlab(Path(folder)) as address, browsing() as tab:
        tab.page.goto(f"{address}/widgets.ipynb?reset")
        run_all_cells(tab.page)
        print(
            f"median milliseconds from key to painted figure, {MOVES} moves, and the ratio to {BUDGET:g} ms;"
        )
        print("and the share of CPU time that the host gave to other machines (steal)")
        for widget in ("threshold-lab", "fusion-lab"):
            before = psutil.cpu_times()
            taken = median(_milliseconds(tab.page, tab.page.locator(f".workbench-{widget}")))
            waited = _waited(before, psutil.cpu_times())
            print(f"{widget:14} {taken:5.0f}  {taken / BUDGET:.2f}  {waited:.0%}")


def _milliseconds(page: Page, widget: Locator) -> list[float]:
    """The milliseconds from each move of the widget's last slider until its figure is painted."""
    figure, handle = widget.locator(".js-plotly-plot"), widget.locator(".noUi-handle").last
    widget.evaluate("widget => widget.scrollIntoView()")
    figure.locator(".trace").first.wait_for(state="attached")
    figure.evaluate(MEASURE)
    for move in range(MOVES):
        handle.press("ArrowLeft" if move % 2 else "ArrowRight")
        page.wait_for_timeout(PAUSE)  # polling the page without a pause would slow it down
        page.wait_for_function(
            "([figure, n]) => figure.taken.length > n", arg=[figure.element_handle(), move]
        )
    return list(figure.evaluate("figure => figure.taken"))


def _waited(before: Any, after: Any) -> float:
    """The share of steal time (a Linux counter) in all time that was not idle; 0 on other systems."""
    spent = {kind: getattr(after, kind) - getattr(before, kind) for kind in before._fields}
    waited = spent.get("steal", 0.0)
    return float(waited / (spent["user"] + spent["system"] + waited))


if __name__ == "__main__":
    main()
