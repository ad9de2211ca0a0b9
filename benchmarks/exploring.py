"""The explore page in Chromium: how soon its first picture is there, and how soon a new question is answered.

python -m benchmarks.exploring [FOLDER]

The folder is indexed first. The browser is open before the command starts, as a reader's is. The
server's processor time until the first picture is printed too; other work on the machine leaves it as it is.
"""

from __future__ import annotations

import re
import subprocess
import sys
from statistics import median
from time import perf_counter

import psutil
from playwright.sync_api import Page

from benchmarks.starting import as_typed
from tests.browser import CHROMIUM, browsing
from tests.conftest import SAMPLE
from workbench.memory.sync import index_folder

ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+/\?token=\S+")
STARTS = 5
QUESTIONS = (
    "where do urgent messages go", "who likes tea after noon", "what was decided about the backup",
    "how do I reach the greenhouse", "the name of the laptop", "what must never be pushed",
    "which note is about dates", "when is the next field trial",
)  # fmt: skip
FIRST, NEXT = 2.0, 0.3
"""Seconds that may be taken."""

ANSWERED = """question => document.querySelector('.wb-flow li')?.title === question
  && !document.querySelector('[aria-busy]:not(#losses)')"""
"""Losses are counted meanwhile, in parts between which the page answers a question."""


def main() -> None:
    if CHROMIUM is None:
        sys.exit("The benchmark needs Chromium: apt-get install chromium")
    folder = sys.argv[1] if len(sys.argv) > 1 else str(SAMPLE)
    index_folder(folder)
    with browsing() as tab:
        taken = [_measured(tab.page, folder) for _ in range(STARTS)]
    firsts, answers = [first for first, _, _ in taken], [one for _, _, some in taken for one in some]
    print("seconds                 median   most   budget   ratio of the median")
    for name, found, budget in (("first picture", firsts, FIRST), ("a new question", answers, NEXT)):
        usual = median(found)
        print(f"{name:22}  {usual:6.2f} {max(found):6.2f}   {budget:6.2f}   {usual / budget:.2f}")
    print(
        f"the server's processor time until the first picture: {median(busy for _, busy, _ in taken):.2f} s"
    )


def _measured(page: Page, folder: str) -> tuple[float, float, list[float]]:
    """The seconds from the command to the first picture, the server's processor time until then, and for each
    question the seconds from Enter to its picture."""
    command = [sys.executable, "-m", "workbench", "explore", folder, "--no-browser", "--port", "0"]
    began = perf_counter()
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=as_typed())
    try:
        assert server.stderr
        found = next(match for line in server.stderr if (match := ADDRESS.search(line)))
        page.goto(found[0])
        page.locator(".wb-list li").first.wait_for()
        first, busy = perf_counter() - began, psutil.Process(server.pid).cpu_times()
        return first, busy.user + busy.system, [_asked(page, one) for one in QUESTIONS]
    finally:
        server.terminate()
        server.wait()


def _asked(page: Page, question: str) -> float:
    box = page.get_by_label("question", exact=True)
    box.fill(question)
    began = perf_counter()
    box.press("Enter")
    page.wait_for_function(ANSWERED, arg=question)
    return perf_counter() - began


if __name__ == "__main__":
    main()
