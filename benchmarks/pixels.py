"""The threshold lab on a page opened from a file: how soon it is there, and how fast a slider moves it.

python -m benchmarks.pixels

Chromium draws 60 frames a second, and a move waits for the next of them. The moves come at all times between
two frames, as those of a hand do. The processor time is that of the page's main thread, script to paint;
other work on the machine makes the frame later, and not this time longer.
"""

from __future__ import annotations

import json
import sys
import tempfile
from dataclasses import replace
from itertools import cycle, islice, pairwise
from math import inf
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from playwright.sync_api import Page

from docs.still import page_of
from tests.browser import CHROMIUM, browsing
from tests.conftest import SAMPLE
from workbench.measure.evaluation import Evaluation, evaluate
from workbench.measure.questions import load_questions
from workbench.memory.opening import open_index
from workbench.memory.sync import index_folder
from workbench.systems.openclaw import SHIPPED, THREE_FIXES
from workbench.views.plotlyjs import plotly_script
from workbench.views.widgets.threshold import ThresholdLab

MOVES = 60
BUDGETS = {77: (16.0, 33.0), 1000: (60.0, 60.0)}
"""Milliseconds from a move to its frame, at the median and at most, by the number of questions."""

FIRST_SECONDS, LARGEST = 2.0, 1_600_000
"""The seconds until the first slider can be moved, and the bytes of the page beside plotly.js."""

MOVED, TASK = "EventDispatch", "ThreadControllerImpl::RunTask"
"""Events of a trace of Chromium: an event of the page, and all that a thread does without a pause."""

MEASURE = """async moves => {
  const slider = document.querySelector('input[type=range]');
  const taken = [];
  const [low, high] = [Number(slider.min), Number(slider.max)];
  for (let move = 0; move < moves; move++) {
    await new Promise(done => setTimeout(done, (move * 5) % 17));
    slider.value = low + (high - low) * ((move * 7) % moves) / moves;
    const began = performance.now();
    slider.dispatchEvent(new Event('input'));
    // The callback comes before the frame is painted, and the message after it.
    await new Promise(done => requestAnimationFrame(() => setTimeout(done)));
    taken.push(performance.now() - began);
  }
  return taken;
}"""


def main() -> None:
    if CHROMIUM is None:
        sys.exit("The benchmark needs Chromium: apt-get install chromium")
    index_folder(SAMPLE)
    with open_index(SAMPLE) as index:
        found = evaluate(load_questions(SAMPLE / "questions.yaml"), [SHIPPED, THREE_FIXES], index)
    print(
        "questions   page MB   first slider s   frame ms: median, most   processor ms: median, most   "
        "ratio to the budgets"
    )
    with tempfile.TemporaryDirectory() as folder, browsing() as tab:
        for questions, (usual, most) in BUDGETS.items():
            file = Path(folder) / f"{questions}.html"
            file.write_text(page_of(ThresholdLab([_asking(one, questions) for one in found])), "utf-8")
            ready, frames, busy = _measured(tab.page, file)
            size = file.stat().st_size - len(plotly_script())
            ratios = (median(frames) / usual, max(frames) / most, ready / FIRST_SECONDS, size / LARGEST)
            times = [f"{median(some):6.1f}, {max(some):5.1f}" for some in (frames, busy)]
            print(
                f"{questions:9}   {size / 1e6:7.2f}   {ready:14.2f}   {times[0]:>22}   {times[1]:>26}   "
                + " ".join(f"{one:.2f}" for one in ratios)
            )


def _asking(evaluation: Evaluation, questions: int) -> Evaluation:
    """The evaluation with its questions repeated until there are so many, controls included."""
    count = questions - len(evaluation.controls)
    return replace(evaluation, asked=tuple(islice(cycle(evaluation.asked), count)))


def _measured(page: Page, file: Path) -> tuple[float, list[float], list[float]]:
    """The seconds until the page has drawn its list; each move's frame and processor time, in ms."""
    began = perf_counter()
    page.goto(file.as_uri())
    page.locator(".wb-list li").first.wait_for()
    ready = perf_counter() - began
    page.locator(".wb-figure .main-svg").first.wait_for()
    browser = page.context.browser
    assert browser
    browser.start_tracing(page=page, categories=["devtools.timeline", "toplevel"])
    frames = page.evaluate(MEASURE, MOVES)
    return ready, frames, _busy(json.loads(browser.stop_tracing())["traceEvents"])


def _busy(events: list[dict[str, Any]]) -> list[float]:
    """The processor's milliseconds of the page's main thread, from each move to the next."""
    moves = [one for one in events if one["name"] == MOVED and one["args"]["data"]["type"] == "input"]
    thread = moves[0]["pid"], moves[0]["tid"]
    tasks = [
        one for one in events if one["name"] == TASK and (one["pid"], one["tid"]) == thread and "dur" in one
    ]
    starts = [*sorted(one["ts"] for one in moves), inf]
    return [
        sum(one.get("tdur", 0) for one in tasks if start <= one["ts"] + one["dur"] < end) / 1000
        for start, end in pairwise(starts)
    ]


if __name__ == "__main__":
    main()
