"""Figures: what is drawn is what is said, odd input gives a right picture or a sentence, names are text."""

from __future__ import annotations

import gzip
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import plotly.io as pio
import pytest
from coloraide import Color

from tests.browser import needs_chromium
from workbench import figures
from workbench.errors import InputError
from workbench.figures import Figure
from workbench.views import plotlyjs, plots

SCRIPT = "<script>alert('&')</script> $x$ %{y}"


def test_a_bar_is_as_long_as_its_number_and_an_interval_lies_around_its_end() -> None:
    shown = plots.bars({"one": 2, SCRIPT: (4, 3, 6), "less": -1.0}, "hits")
    (drawn,) = (trace for trace in shown.data if trace.type == "bar")
    assert list(drawn.x) == [2, 4, -1]
    around = [one.error_x for one in shown.data if one.error_x.array]
    assert [(one.array[1], one.arrayminus[1]) for one in around] == [(2, 1), (2, 1)]
    assert Color(around[0].color).contrast(drawn.marker.color[1], method="wcag21") > 3
    assert Color(around[1].color).contrast("white", method="wcag21") > 3
    assert not any(one.error_x.array for one in plots.bars({"one": 2}, "hits").data)
    assert shown.words == f"hits: one 2, {SCRIPT} 4.0 (3.0 to 6.0), less −1"
    assert repr(shown) == shown.words


def test_the_lines_of_a_long_title_are_about_as_long_as_each_other() -> None:
    found = {
        words: plots.bars({"one": 1}, words).layout.xaxis.title.text
        for words in ("share of the questions that hit", "chunks of 294", "x" * 60, "")
    }
    assert [*found.values()] == [
        "share of the<br>questions that hit", "chunks of 294", "<br>".join(["x" * 28, "x" * 28, "xxxx"]), "",
    ]  # fmt: skip


def test_a_small_count_has_ticks_at_whole_numbers_and_a_share_does_not() -> None:
    ticks = [plots.bars({"one": 0, "other": most}, "hits").layout.xaxis.dtick for most in (1, 1.5, 300)]
    assert ticks == [1, None, None]


def named_everywhere() -> list[Figure]:
    """A figure of each kind, with SCRIPT in each place that takes a name."""
    return [
        plots.bars({SCRIPT: 1}, SCRIPT),
        plots.lines(
            {SCRIPT: [(0, 1), (1, 2)], "other": [(0, 1)]}, SCRIPT, SCRIPT, {SCRIPT: 1}, {SCRIPT: (0, 1)}
        ),
        plots.heat_map({(SCRIPT, SCRIPT): 1.0}, SCRIPT, SCRIPT, SCRIPT, {(SCRIPT, SCRIPT): SCRIPT}),
        plots.ranks({SCRIPT: [SCRIPT, "b"], "after": ["b", SCRIPT]}),
        plots.survival({SCRIPT: [2, 1]}, [SCRIPT, "returned"]),
        plots.waterfall((SCRIPT, 1), {SCRIPT: 2}, ("after", 3), SCRIPT),
        plots.scores([1.0], [0.5], axis=SCRIPT),
    ]


def test_a_name_is_only_text_wherever_it_stands() -> None:
    for one in named_everywhere():
        spec = one.spec
        del spec["layout"]["meta"]  # the words, which are not markup
        drawn = json.dumps(spec).replace("<br>", "").replace("<extra></extra>", "").replace("%{text}", "")
        assert "<" not in drawn
        assert "$" not in drawn


def test_a_long_name_is_folded_and_never_cut() -> None:
    name = "what to do when a task seems impossible"
    shown = plots.bars({name: 3, "memory/" + "x" * 60: 1, "是否真的" * 12: 2}, "chunks")
    first, second, third = shown.layout.yaxis.ticktext
    assert first.replace("<br>", " ") == name
    assert second.replace("<br>", "") == "memory/" + "x" * 60
    assert third.replace("<br>", "") == "是否真的" * 12
    assert max(map(len, f"{first}<br>{second}".split("<br>"))) <= 26
    assert max(map(len, third.split("<br>"))) <= 13


@pytest.mark.parametrize("shape", ["histogram", "ecdf", "strip"])
def test_the_legend_counts_what_passes_and_the_line_stands_at_the_threshold(shape: str) -> None:
    right, other = np.linspace(0, 1, 11), np.append(np.linspace(0, 0.5, 5_000), np.nan)
    shown = plots.scores(right, other, [], 0.3, shape)  # type: ignore[arg-type]
    passing = int((other >= 0.3).sum())
    assert [trace.name for trace in shown.data] == [
        "right file (8 of 11 pass)", f"other files ({passing} of 5000 pass)",
    ]  # fmt: skip
    assert [line.x0 for line in shown.layout.shapes] == [0.3]
    assert "1 without a number" in shown.words
    assert sum(len(trace.x) for trace in shown.data) <= 300


def test_a_histogram_has_every_number_in_one_bin() -> None:
    drawn = plots.scores([0.1, 0.2, 0.2, 0.9], [0.5]).data
    assert [round(sum(trace.y), 9) for trace in drawn] == [100, 100]


@pytest.mark.parametrize(
    ("right", "other", "threshold"),
    [
        ([0.5] * 3, [0.5] * 9, 0.5),
        ([0.2], [], None),
        ([-3.0, 40.0], np.linspace(-3, 40, 5_000), -np.inf),
        ([0.01, 0.016], [0.012], 0.35),
        ([0.0, 0.0], [0.0], np.nan),
        ([1e9], [1e-9], 1.0),
    ],
)
@pytest.mark.parametrize("shape", ["histogram", "ecdf", "strip"])
def test_odd_scores_have_a_picture(shape: str, right: object, other: object, threshold: float | None) -> None:
    shown = plots.scores(right, other, threshold=threshold, shape=shape)  # type: ignore[arg-type]
    low, high = shown.layout.xaxis.range
    for trace in shown.data:
        assert low <= min(trace.x)
        assert max(trace.x) <= high
    lines = [line.x0 for line in shown.layout.shapes]
    assert lines == ([threshold] if threshold is not None and np.isfinite(threshold) else [])


@pytest.mark.parametrize(
    "draw",
    [
        lambda: plots.bars({}, ""),
        lambda: plots.bars({"one": float("nan")}, ""),
        lambda: plots.lines({"none": []}, "", ""),
        lambda: plots.heat_map({}, "", ""),
        lambda: plots.ranks({"none": []}),
        lambda: plots.scores([], [np.nan]),
        lambda: plots.evidence([], [], [], 0.25, 0.9),
    ],
)
def test_nothing_to_draw_is_said(draw: Callable[[], object]) -> None:
    with pytest.raises(InputError, match="nothing to draw"):
        draw()


NAN, INF = float("nan"), float("inf")
REFUSED: dict[str, Callable[[Any], object]] = {
    "scores of texts": lambda p: p.scores(["a"], [1]),
    "scores of digits": lambda p: p.scores(["1"], [1]),
    "scores of lists": lambda p: p.scores([[1, 2], [3]], [1]),
    "scores by name": lambda p: p.scores({"a": 1}, [1]),
    "scores too far apart": lambda p: p.scores([1e308, -1e308], [0], shape="strip"),
    "a threshold that is a text": lambda p: p.scores([1], [2], threshold="low"),
    "probabilities of texts": lambda p: p.stated(["x"], []),
    "bars without names": lambda p: p.bars([1, 2], "x"),
    "bars of texts": lambda p: p.bars({"a": "b"}, "x"),
    "an interval of one end": lambda p: p.bars({"a": (1, 2)}, "x"),
    "names that are numbers": lambda p: p.bars({1: 1}, "x"),
    "5,000 bars": lambda p: p.bars({str(n): n for n in range(5000)}, "x"),
    "a threshold of two numbers": lambda p: p.scores([1], [2], threshold=[1, 2]),
    "a shape that is a list": lambda p: p.scores([1], [2], shape=["strip"]),
    "an order that is a number": lambda p: p.ranks({"a": 3}),
    "an order of lists": lambda p: p.ranks({"a": [["x"]]}),
    "a reference of two numbers": lambda p: p.lines({"a": [(0, 1)]}, "x", "y", {"r": (1, 2)}),
    "a band of one number": lambda p: p.lines({"a": [(0, 1)]}, "x", "y", {}, {"b": 1}),
    "no points": lambda p: p.lines({"a": None}, "x", "y"),
    "a cell of two numbers": lambda p: p.heat_map({("a", "b"): [1, 2]}, "x", "y"),
    "steps that are one text": lambda p: p.survival({"a": [1, 2]}, "ab"),
    "steps that are numbers": lambda p: p.survival({"a": [1, 2]}, [1, 2]),
    "counts that are one number": lambda p: p.survival({"a": 3}, ["s", "t"]),
    "a change of two numbers": lambda p: p.waterfall(("a", 1), {"b": (1, 2)}, ("c", 2), "hits"),
    "an own floor of one number": lambda p: p.answered({"a": [(1, 2)]}, {"a": 1}, 3, 4),
    "a share without an interval": lambda p: p.reliability([0.1], [0.1], [1], None),
    "points without names": lambda p: p.lines([(1, 2)], "x", "y"),
    "points of three numbers": lambda p: p.lines({"a": [(1, 2, 3)]}, "x", "y"),
    "40,000 points": lambda p: p.lines({str(n): [(0, 1)] * 5000 for n in range(8)}, "x", "y"),
    "cells without names": lambda p: p.heat_map([[1]], "x", "y"),
    "90,000 cells": lambda p: p.heat_map(
        {(str(n), str(m)): 1 for n in range(300) for m in range(300)}, "x", "y"
    ),
    "a name twice": lambda p: p.ranks({"a": ["x", "x"]}),
    "ranks of numbers": lambda p: p.ranks({"a": [1, 2]}),
    "5,000 ranks": lambda p: p.ranks({"a": list(map(str, range(5000)))}),
    "evidence that is flat": lambda p: p.evidence([0.1, 0.2, 0.3], [], [], 0.2, 0.9),
    "more counts than steps": lambda p: p.survival({"a": [1, 2]}, ["x"]),
    "a change that is a text": lambda p: p.waterfall(("a", "1"), {"c": 1}, ("b", 1), "x"),
    "a price of one number": lambda p: p.prices({"a": 1}, "x"),
    "bins that differ in number": lambda p: p.reliability([0.1], [], [1], None),
    "no bin": lambda p: p.reliability([], [], [], None),
    "a curve without a point": lambda p: p.answered({}, {}, 1, 1),
}


@pytest.mark.parametrize(
    "ends",
    [
        (8e-13, 1.6e-12),
        (1e-300, 3e-300),
        (1e6, 1e6 + 1e-9),
        (-5.0, -5.0 + 1e-15),
        (99999.9, 100000.6),
        (0.1, 0.7),
        (5, 5),
    ],
)
def test_bins_part_the_values_and_cover_them(ends: tuple[float, float]) -> None:
    edges = figures.bins(np.array(ends))
    assert (np.diff(edges) > 0).all()
    assert 2 <= edges.size <= 51
    assert edges[0] <= ends[0] <= ends[1] <= edges[-1]


def test_an_interval_without_an_end_is_not_written() -> None:
    assert figures.with_interval(0.5, 0, np.inf) == figures.with_interval(0.5, -np.inf, 1) == "0.5"


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_drawn_is_refused_in_one_sentence(name: str) -> None:
    with pytest.raises(InputError) as error:
        REFUSED[name](plots)
    assert len(error.value.problem) < 120
    assert error.value.remedy


ODD: dict[str, Callable[[Any], plots.Figure]] = {
    "missing scores": lambda p: p.scores([None, INF, 1], [-INF, NAN, 0.2], threshold=NAN),
    "a scalar": lambda p: p.scores(1, 2),
    "an absent threshold": lambda p: p.scores([1e-320, 2e-320], [0], threshold=INF),
    "a bar without a number": lambda p: p.bars({"a": INF, "b": 1}, "x", NAN),
    "one point": lambda p: p.lines({"a": [(1, 1)]}, "x", "y", {"at": NAN}),
    "a missing cell": lambda p: p.heat_map({("a", "b"): INF, ("a", "c"): 1}, "x", "y"),
    "one order": lambda p: p.ranks({"a": ["x"]}, "absent"),
    "evidence of one leg": lambda p: p.evidence([(NAN, 0.5)], [], [], 0.2, 0.9),
    "no change": lambda p: p.waterfall(("a", 1), {}, ("b", 1), "x"),
    "a missing price": lambda p: p.prices({"a": (NAN, 1)}, "x"),
}


@pytest.mark.parametrize("name", ODD)
def test_numbers_that_are_missing_leave_a_picture_without_a_warning(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        shown = ODD[name](plots)
    json.dumps(shown.spec, allow_nan=False)
    assert shown.data
    assert "nan" not in shown.words


def test_two_million_scores_are_drawn_as_few_marks() -> None:
    many = np.linspace(0, 1, 2_000_000)
    assert len(json.dumps(plots.scores(many, many, threshold=0.5).spec)) < 20_000


def test_an_unknown_shape_is_named_with_the_known_ones() -> None:
    with pytest.raises(InputError, match=r"histogram, ecdf, strip"):
        plots.scores([1], [2], shape="pie")  # type: ignore[arg-type]


def test_evidence_passes_by_either_threshold() -> None:
    right = [(0.3, np.nan), (np.nan, 0.95), (0.2, 0.5)]
    shown = plots.evidence(right, [(0.1, 0.1)], [], 0.25, 0.9)
    assert {trace.name for trace in shown.data} == {"right file (2 of 3 pass)", "other files (0 of 1 pass)"}
    assert len(shown.layout.shapes) == 2


def test_a_waterfall_has_a_label_for_each_bar_also_if_all_have_one_name() -> None:
    shown = plots.waterfall(("a", 1), {"a": 0.5}, ("a", 1.5), "hits")
    assert list(shown.layout.yaxis.ticktext) == ["a", "a", "a"]
    assert list(shown.layout.yaxis2.ticktext) == ["1", "+0.5", "1.5"]


def test_a_waterfall_leads_from_the_first_number_to_the_last() -> None:
    shown = plots.waterfall(("before", 6), {"one": 20, "other": -4}, ("after", 22), "hits")
    drawn = shown.data[-1]
    ends = [start + size for start, size in zip(drawn.base, drawn.x, strict=True)]
    assert ends == [6, 26, 22, 22]
    assert list(drawn.base) == [0, 6, 26, 0]


def test_a_notebook_gets_plotly_s_own_form_and_words_and_never_a_widget() -> None:
    shown = plots.bars({"one": 1}, "hits")
    found = shown._repr_mimebundle_()
    assert set(found) == {"application/vnd.plotly.v1+json", "text/plain"}
    assert len(json.dumps(found)) < 5_000
    assert shown.layout.template.layout.colorway == pio.templates["workbench"].layout.colorway
    assert shown.update_layout(height=500).words == shown.words


def test_the_bundle_is_the_one_that_its_version_names_and_has_its_licence() -> None:
    assert f"plotly.js (cartesian - minified) v{plotlyjs.VERSION}" in plotlyjs.plotly_script()[:200]
    assert len(plotlyjs.packed()) < 520_000
    assert gzip.decompress(plotlyjs.packed()).decode() == plotlyjs.plotly_script()
    assert "MIT License" in (Path(plotlyjs.__file__).parent / "LICENSE").read_text(encoding="utf-8")


@needs_chromium
def test_no_script_of_a_name_runs_when_a_figure_is_drawn_and_pointed_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from docs.pictures import opened

    ran = "window.ran = 1"
    monkeypatch.setattr(
        "tests.views.test_figures.SCRIPT",
        f'"><img src=x onerror="{ran}"><svg onload="{ran}"></svg></script><script>{ran}</script>'
        f'<a href="javascript:{ran}">tea</a>',
    )
    with opened() as page:
        for number, one in enumerate(named_everywhere()):
            path = tmp_path / f"{number}.html"
            path.write_text(plotlyjs.figure_page(SCRIPT, one.spec), encoding="utf-8")
            page.goto(path.as_uri())
            page.locator(".js-plotly-plot .main-svg").first.wait_for()
            box = page.locator(".js-plotly-plot .main-svg").first.bounding_box()
            assert box
            for share in range(1, 20):
                page.mouse.move(box["x"] + box["width"] * share / 20, box["y"] + box["height"] * share / 20)
            assert page.evaluate("window.ran ?? 0") == 0
            assert page.locator("img, a[href^=javascript]").count() == 0


WORDS = ".legendtext, .annotation-text, .xtick text, .x2tick text, .ytick text, .y2tick text"
OVERLAPS = """words => {
  const bar = document.querySelector(".modebar-group").getBoundingClientRect();
  const beside = (one) => one.left >= bar.right || one.right <= bar.left;
  const over = (one) => !beside(one) && one.top < bar.bottom && one.bottom > bar.top;
  return [...document.querySelectorAll(words)].filter((one) => over(one.getBoundingClientRect()))
    .map((one) => one.textContent);
}"""


@needs_chromium
@pytest.mark.parametrize("width", [1280, 768, 400])
def test_the_buttons_of_a_figure_cover_no_word_and_send_nothing(width: int, tmp_path: Path) -> None:
    from docs.pictures import opened

    drawn = [
        *named_everywhere(),
        *(plots.scores([0.1, 0.9], [0.5] * 3, [0.2], 0.9, shape) for shape in ("histogram", "ecdf", "strip")),  # type: ignore[arg-type]
        plots.survival({"one": [3, 2], "another system": [3, 3]}, ["keyword leg", "returned"]),
        plots.ranks({"keyword leg": ["a", "b"], "vector leg": ["b", "a"]}),
        plots.bars({"one": 3, "two": 4}, "hits", reference=4),
    ]
    with opened() as page:
        page.set_viewport_size({"width": width, "height": 700})
        for number, one in enumerate(drawn):
            path = tmp_path / f"{number}.html"
            path.write_text(plotlyjs.figure_page("A figure", one.spec), encoding="utf-8")
            page.goto(path.as_uri())
            buttons = page.locator(".modebar-btn")
            buttons.first.wait_for(state="attached")
            assert page.evaluate(OVERLAPS, WORDS) == []
            offered = buttons.evaluate_all("all => all.map((one) => one.dataset.title)")
            assert offered[0] == "Download plot as a PNG"
            assert not [name for name in offered if "Share" in name]
            page.keyboard.press("Tab")
            assert buttons.first.evaluate("one => one === document.activeElement")


@needs_chromium
def test_a_page_of_its_own_draws_the_figure_without_a_network(tmp_path: Path) -> None:
    from docs.pictures import opened

    path = tmp_path / "figure.html"
    path.write_text(plotlyjs.figure_page("Hits", plots.bars({SCRIPT: 3}, "hits").spec), encoding="utf-8")
    with opened() as page:
        complaints: list[str] = []
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(path.as_uri())
        page.locator(".js-plotly-plot .ytick text").first.wait_for()
        assert page.locator(".ytick text").first.text_content().startswith("<script>")  # type: ignore[union-attr]
        page.set_viewport_size({"width": 400, "height": 700})
        page.wait_for_function("document.querySelector('.js-plotly-plot .main-svg').clientWidth <= 400")
        svg = page.locator(".js-plotly-plot .main-svg").first
        assert svg.evaluate("one => one.clientHeight") == plots.bars({SCRIPT: 3}, "hits").layout.height
        assert page.evaluate("document.documentElement.scrollWidth") <= 400
        assert complaints == []
