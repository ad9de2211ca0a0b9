"""A random sequence of moves leaves the page and Python with the same settings, words, tiles, list and plot.

Each move is made on the page with one of its controls, or in Python. What the page sends is given to the
widget as a kernel gives it, and what the widget answers goes back to the page.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page

from docs.still import page_of
from tests.browser import NEXT_FRAME, browsing, needs_chromium
from workbench.measure.distributions import compared_numbers
from workbench.measure.evaluation import evaluate
from workbench.measure.questions import QuestionSet
from workbench.memory.index import MemoryIndex
from workbench.records import Floats, Trace
from workbench.retrieval.index_adapters import CachedIndex
from workbench.systems.catalogue import SYSTEMS
from workbench.views.widgets.threshold import ThresholdLab
from workbench.views.widgets.threshold_state import DISTRIBUTIONS
from workbench_plugins.engines.presets import ENGINES
from workbench_plugins.engines.widget import FusionLab
from workbench_plugins.explore.explorer import QuestionExplorer

pytestmark = needs_chromium

BRIDGE = """({ data, settings, names }) => {
  const heard = {};
  const values = { data, names, ...settings };
  const bridge = { changed: {}, sent: [], draws: 0 };
  const model = {
    get: (name) => values[name],
    set: (name, value) => (values[name] = bridge.changed[name] = structuredClone(value)),
    save_changes() {},
    send: (content) => bridge.sent.push(content),
    on: (event, told) => (heard[event] ??= []).push(told),
    off: (event, told) => (heard[event] = heard[event].filter((one) => one !== told)),
  };
  bridge.take = () => {
    const taken = { changed: bridge.changed, sent: bridge.sent };
    Object.assign(bridge, { changed: {}, sent: [] });
    return taken;
  };
  bridge.give = async ({ settings, data, names, problem }) => {
    Object.assign(values, settings, names && { names }, data && { data });
    (heard.change ?? []).forEach((told) => told());
    if (data) (heard["change:data"] ?? []).forEach((told) => told());
    await new Promise((done) => setTimeout(done)); // each is a message of its own
    if (problem) (heard["msg:custom"] ?? []).forEach((told) => told({ problem }));
    await new Promise((done) => setTimeout(done));
  };
  bridge.settings = () => Object.fromEntries(values.names.map((name) => [name, values[name]]));
  globalThis.bridge = bridge;
  const el = document.querySelector("main");
  el.replaceChildren();
  workbenchView.render({ model, el });
}"""
"""Renders a widget with a model that keeps what the page sends, for the test to pass on."""

INPUTS = ".wb-living select, .wb-living input:not([type=checkbox], [type=search])"
CONTROLS = """selector => [...document.querySelectorAll(selector)].map((one) => ({
  kind: one.tagName === "SELECT" ? "select" : one.role === "spinbutton" ? "number" : one.type,
  label: one.getAttribute("aria-label") ?? one.closest("label")?.textContent ?? "",
  low: one.min || one.ariaValueMin, high: one.max || one.ariaValueMax,
  value: one.value, options: [...(one.options ?? [])].map(({ value }) => value),
}))"""

MOVE = """async ([selector, place, value]) => {
  const one = document.querySelectorAll(selector)[place];
  one.value = value;
  for (const name of ["input", "change"]) one.dispatchEvent(new Event(name, { bubbles: true }));
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
}"""


PLOTS = """() => [...document.querySelectorAll(".wb-plot")].map((one) => ({
  legend: one.querySelector(".wb-legend").innerText,
  traces: one.querySelector(".wb-figure").data.map(({ x, y, text }) => ({ x: [...x], y: [...y], text })),
}))"""
ROWS = """() => [...document.querySelectorAll("table tbody tr")]
  .map((row) => [...row.cells].map((cell) => cell.textContent))"""
BARS = """() => [...document.querySelectorAll(".wb-dragged .wb-figure")].flatMap((one) => one.data)
  .filter(({ type }) => type === "bar")
  .flatMap(({ x, customdata }) => customdata.map((name, n) => [name, x[n]]))"""
MOVES = 2
"""So many of each system."""
LISTED = 100
"""So many candidates are in a list; the right file stands behind them."""


class Paired:
    """A widget in this process, and the page that shows it."""

    def __init__(self, page: Page, widget: Any, folder: Path) -> None:
        self.page, self.widget, self.problem, self.refused = page, widget, "", ""
        file = folder / "paired.html"
        file.write_text(page_of(widget), encoding="utf-8")
        page.goto(file.as_uri())
        widget.send = lambda content: setattr(self, "problem", content["problem"])
        self.data = widget.data
        self.ask(BRIDGE, {"data": self.data, "settings": widget.values, "names": widget.names})

    def ask(self, function: str, given: Any = None) -> Any:
        """What a function of the page returns, as JSON: of a tree, Playwright would check each number."""
        as_json = f"async (given) => JSON.stringify((await ({function})(JSON.parse(given))) ?? null)"
        return json.loads(self.page.evaluate(as_json, json.dumps(given)))

    def move(self, chance: random.Random) -> str:
        """Moves a random control of the page to a random value. Returns what was moved."""
        controls = self.ask(CONTROLS, INPUTS)
        place = chance.randrange(len(controls))
        one = controls[place]
        if one["kind"] == "select":
            value = chance.choice(one["options"])
        elif one["kind"] in ("range", "number"):
            low, high = float(one["low"] or -1), float(one["high"] or 2 * float(one["value"] or 1) + 1)
            value = f"{chance.uniform(low, high):.4g}"
        else:
            value = chance.choice(["rooibos tea", "backup", one["value"]])
        self.ask(MOVE, [INPUTS, place, value])
        if not one["label"].startswith("cost of"):  # which is no setting
            self.refused = ""
        self.settle()
        return f"{one['label']} = {value}"

    def give(self) -> None:
        """Brings what was set in Python to the page."""
        self.refused = ""
        self.ask("answer => bridge.give(answer)", {"settings": self.widget.values})
        self.settle()

    def settle(self) -> None:
        """Passes on what each side sends, until neither has more to say."""
        for _ in range(5):
            taken = self.ask("() => bridge.take()")
            if taken["changed"]:
                self.widget.set_state(taken["changed"])
            for content in taken["sent"]:
                self.widget._handle_custom_msg(content, [])
            answer: dict[str, Any] = {"settings": self.widget.values, "names": self.widget.names}
            if self.widget.data is not self.data:
                answer["data"] = self.data = self.widget.data
            if self.problem:
                answer["problem"] = self.refused = self.problem
                self.problem = ""
            if not (taken["changed"] or taken["sent"] or {"data", "problem"} & answer.keys()):
                break
            self.ask("answer => bridge.give(answer)", answer)
        assert not taken["sent"], "the page asks for ever"
        assert self.ask("() => bridge.settings()") == json.loads(json.dumps(self.widget.values))

    def texts(self, selector: str) -> list[str]:
        every = self.page.locator(selector).evaluate_all(
            "all => all.filter((one) => !one.closest('[hidden]')).map((one) => one.textContent)"
        )
        return [" ".join(one.split()) for one in every]


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    with browsing() as tab:
        yield tab.page
        assert tab.errors == []


@pytest.fixture(scope="module")
def few(questions: QuestionSet) -> QuestionSet:
    return QuestionSet(questions=questions.questions[::19], controls=questions.controls[::10])


def short(value: float) -> str:
    return f"{value + 0.0:.4g}" if np.isfinite(value) else "absent"  # 0.0 takes the sign from -0.0


def check_lab(lab: ThresholdLab, paired: Paired) -> None:
    """The page's tiles, words, list and marks are those of a search with the settings of Python."""
    moved = lab.evaluation.pipeline.asking(min_score=lab.min_score)
    (found,) = evaluate(paired.questions, [moved], paired.index)
    outcome = lab.outcome
    assert (outcome.hits, outcome.silent) == (found.overall, found.silent)
    right = sum(chunk.chunk.path == one.question.target for one in found.asked for chunk in one.trace.results)
    assert (outcome.right.hits, outcome.right.n) == (
        right,
        sum(len(one.trace.results) for one in found.asked),
    )
    precision = "–" if outcome.precision is None else f"{outcome.precision:.0%}".replace("%", " %")
    assert paired.texts(".wb-tiles b") == [
        f"{outcome.hits.hits} of {outcome.hits.n}", precision, f"{outcome.silent.hits} of {outcome.silent.n}",
    ]  # fmt: skip
    said = paired.texts(".wb-status" if paired.refused else ".wb-words")
    assert said == [paired.refused or f"more{lab.sentence}"]
    traces = {one.trace.question: one.trace for one in found.asked}
    traces |= {one.question: one for one in found.controls}
    check_list(traces[lab.question], paired, ".wb-answer")
    check_distribution(lab, paired)


def check_list(trace: Trace, paired: Paired, within: str) -> None:
    """The list has what is returned and then what is dropped, each with its score."""
    returned = [f"{n}. {one.chunk.location}" for n, one in enumerate(trace.results, 1)]
    dropped = [one for one in trace.candidates if one.drop is not None]
    places = paired.texts(f"{within} .wb-list li > div > div:first-child")[:LISTED]
    assert [re.sub(r" (right file|this file)?$", "", one) for one in places] == [
        *returned, *(one.chunk.location for one in dropped),
    ][:LISTED]  # fmt: skip
    scores = [short(one.score) for one in (*trace.results, *dropped)]
    assert paired.texts(f"{within} .wb-list .wb-value")[:LISTED] == scores[:LISTED]


def check_distribution(lab: ThresholdLab, paired: Paired) -> None:
    """The legend counts what the floor compares, and the marks are the same numbers, to 1e-12."""
    found = compared_numbers(lab.evaluation)
    plots = paired.ask(PLOTS)
    limits = [lab.min_score] if len(found.limits) == 1 else found.limits
    moved = [value for name, value in lab.moved.items() if name.startswith("floor.")]
    if len(plots) != len(limits) or moved:
        return
    (entry,) = (one for one in lab.data["systems"] if one["pipeline"]["system"] == lab.system)
    for place, (plot, limit) in enumerate(zip(plots, limits, strict=True)):
        groups = [one[:, place] for one in (found.right, found.other, found.control) if len(one)]
        counts = [(int((one >= limit).sum()), len(one)) for one in groups]
        assert [
            tuple(map(int, one)) for one in re.findall(r": (\d+) of (\d+) pass", plot["legend"])
        ] == counts
        axis = entry["axes"][place]
        for values, trace in zip(groups, plot["traces"], strict=True):
            CHECKS[lab.distribution](values[np.isfinite(values)], len(values), trace, axis)


def check_bars(values: Floats, size: int, trace: Any, axis: Any) -> None:
    """Each bar stands in the middle of its bin, and its height is the share of the numbers in it.

    A number that rounding may put on the other side of an edge counts in either bin.
    """
    edges = np.linspace(axis["low"], axis["high"], BINS + 1)
    np.testing.assert_allclose(trace["x"], (edges[1:] + edges[:-1]) / 2, rtol=1e-12, atol=1e-12)
    drawn = np.array(trace["y"]) * size / 100
    np.testing.assert_allclose(drawn, drawn.round(), rtol=0, atol=1e-9)
    near = 1e-9 * (axis["high"] - axis["low"])
    for low, high, count, told in zip(edges[:-1], edges[1:], drawn.round(), trace["text"], strict=True):
        surely = ((values > low + near) & (values < high - near)).sum()
        perhaps = ((values >= low - near) & (values <= high + near)).sum()
        assert surely <= count <= perhaps
        assert told.startswith(f"{short(low)} to {short(high)}: {count:g} of {size}")
    within = (values >= axis["low"]) & (values <= axis["high"])
    assert drawn.round().sum() == within.sum()


def check_curve(values: Floats, size: int, trace: Any, axis: Any) -> None:
    """The curve says at each limit which share of the group passes it."""
    limits = np.linspace(axis["low"], axis["high"], 101)
    np.testing.assert_allclose(trace["x"], limits, rtol=1e-12, atol=1e-12)
    shares = [100 * (values >= limit).sum() / size for limit in trace["x"]]
    np.testing.assert_allclose(trace["y"], shares, rtol=1e-12, atol=1e-12)


def check_strip(values: Floats, size: int, trace: Any, axis: Any) -> None:
    """The marks are the numbers, or evenly chosen ones of more than a hundred."""
    every = np.sort(values)
    shown = every if len(every) <= 100 else every[((np.arange(100) + 0.5) * len(every) / 100).astype(int)]
    np.testing.assert_allclose(trace["x"], shown, rtol=1e-12, atol=1e-12)
    assert np.ptp(trace["y"]) < 1 if len(shown) else trace["y"] == []


CHECKS = {"histogram": check_bars, "share that passes": check_curve, "strip": check_strip}
BINS = 50


@pytest.mark.parametrize("part", range(4))
def test_a_threshold_lab_moves_as_python_does(
    part: int, page: Page, sample: MemoryIndex, few: QuestionSet, tmp_path: Path
) -> None:
    index, chance = CachedIndex(sample), random.Random(part)
    names = list(SYSTEMS)[part::4]
    lab = ThresholdLab(evaluate(few, [SYSTEMS[name] for name in names], index), link=False)
    paired = Paired(page, lab, tmp_path)
    paired.questions, paired.index = few, index
    for name in names:
        lab.system = name
        paired.give()
        made = [name]
        for _ in range(MOVES):
            made.append(paired.move(chance))
            try:
                check_lab(lab, paired)
            except AssertionError as error:
                raise AssertionError(f"after {made}, {lab.values}: {error}") from error
        for kind in DISTRIBUTIONS:
            lab.distribution = kind
            paired.give()
            page.evaluate(NEXT_FRAME)
            check_distribution(lab, paired)


def check_fusion(lab: FusionLab, paired: Paired) -> None:
    """The page's sentence, table and bars are those of Python."""
    assert paired.texts(".wb-status") == [" ".join(lab.sentence.split())]
    rows = paired.ask(ROWS)
    assert [tuple(one) for one in rows] == list(lab.table.rows)
    drawn = paired.ask(BARS)
    scores = {one.id: one.score for one in lab.ranking}
    assert len(drawn) == min(12, len(scores))
    for name, score in drawn:
        assert score == pytest.approx(scores[name], rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("asking", [True, False], ids=["a question", "two lists"])
def test_a_fusion_lab_moves_as_python_does(
    asking: bool, page: Page, sample: MemoryIndex, tmp_path: Path
) -> None:
    index, question = (sample, "rooibos tea") if asking else (None, "")
    lab, chance = FusionLab(index=index, question=question, link=False), random.Random(7)
    paired = Paired(page, lab, tmp_path)
    page.get_by_text("table", exact=True).click()
    for method in ENGINES:
        page.get_by_label("method").select_option(method)
        paired.settle()
        for _ in range(MOVES):
            made = paired.move(chance)
            try:
                check_fusion(lab, paired)
            except AssertionError as error:
                raise AssertionError(f"after {made}, {lab.values}: {error}") from error


def test_a_widget_that_is_shown_before_its_data_is_drawn_when_they_come(page: Page, tmp_path: Path) -> None:
    lab = FusionLab(link=False)
    paired = Paired(page, lab, tmp_path)
    paired.ask(BRIDGE, {"data": "{}", "settings": lab.values, "names": lab.names})
    assert paired.texts("main *") == []
    paired.ask("answer => bridge.give(answer)", {"data": lab.data})
    assert paired.texts(".wb-status") == [" ".join(lab.sentence.split())]
    lab.keyword = 0.5
    paired.give()
    assert paired.texts(".wb-status") == [" ".join(lab.sentence.split())]


def test_a_method_that_is_chosen_again_keeps_what_was_moved(page: Page, tmp_path: Path) -> None:
    lab = FusionLab(link=False)
    paired = Paired(page, lab, tmp_path)
    lab.keyword = 0.5
    paired.give()
    page.get_by_label("method").select_option(lab.method)
    paired.settle()
    lab.method = str(lab.method)
    assert lab.keyword == 0.5
    assert page.get_by_label("keyword weight, as a number").input_value() == "0.5"
    page.get_by_label("method").select_option("openclaw-clamped")
    page.get_by_label("method").select_option("rrf-60")
    paired.settle()
    assert lab.keyword == 1


@pytest.mark.parametrize("part", range(2))
def test_an_explorer_moves_as_python_does(part: int, page: Page, sample: MemoryIndex, tmp_path: Path) -> None:
    names, chance = list(SYSTEMS)[part::2], random.Random(part)
    explorer = QuestionExplorer(sample, "rooibos tea", "memory/people/ana.md", link=False)
    paired = Paired(page, explorer, tmp_path)
    for left, right in zip(names[::2], names[1::2], strict=False):
        explorer.settings = {"left": left, "right": right}
        paired.give()
        for _ in range(MOVES):
            made = paired.move(chance)
            try:
                assert paired.texts(".wb-status") == [" ".join((paired.refused or explorer.sentence).split())]
                for trace, side in zip(explorer.traces, ("left", "right"), strict=True):
                    check_list(trace, paired, f"[aria-label='{side} system']")
            except AssertionError as error:
                raise AssertionError(f"after {made}, {explorer.values}: {error}") from error


def test_what_python_refuses_goes_back_on_the_page_and_the_reason_stays(
    page: Page, sample: MemoryIndex, few: QuestionSet, tmp_path: Path
) -> None:
    lab = ThresholdLab(evaluate(few, [SYSTEMS["openclaw-2026.2.13"]], sample), link=False)
    paired = Paired(page, lab, tmp_path)
    page.get_by_text("more settings").click()
    box = page.get_by_label("limit.count, as a number")
    box.fill("-3")
    box.press("Enter")
    paired.settle()
    assert lab.moved == {}
    assert "limit.count is -3, out of its range" in paired.texts(".wb-status")[0]
    explorer = QuestionExplorer(sample, "rooibos tea", link=False)
    paired = Paired(page, explorer, tmp_path)
    explorer.set_state({"moved": {"middle": {}}})  # as a page or a link that sends it
    paired.settle()
    assert explorer.moved == {}
    assert "There is no side 'middle'. Settings are moved on left or right." in paired.texts(".wb-status")[0]


def test_a_list_of_the_last_question_chooses_nothing(page: Page, sample: MemoryIndex, tmp_path: Path) -> None:
    explorer = QuestionExplorer(sample, "rooibos tea", link=False)
    paired = Paired(page, explorer, tmp_path)
    page.get_by_label("question", exact=True).fill("where is the backup")
    page.get_by_role("button", name="Ask", exact=True).click()
    page.locator("[aria-label='right system'] .wb-list li").last.click()  # before Python has answered
    paired.settle()
    assert (explorer.question, explorer.chunk, paired.refused) == ("where is the backup", "", "")
    page.locator("[aria-label='right system'] .wb-list li").first.click()
    paired.settle()
    assert explorer.chunk == explorer.traces[1].results[0].chunk.id
