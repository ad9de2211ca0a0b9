"""The threshold that is dragged in its plot: the line, the number, tiles and legend are those of Python."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Page

from docs.still import page_of
from tests import world
from tests.browser import browsing, drag_line, needs_chromium
from workbench.measure.evaluation import Evaluation, evaluate
from workbench.measure.questions import Question, QuestionSet
from workbench.memory.index import MemoryIndex
from workbench.retrieval.fusion import RankSum
from workbench.retrieval.index_adapters import CachedIndex
from workbench.retrieval.pipeline import Pipeline
from workbench.retrieval.settings import with_settings
from workbench.systems.catalogue import SYSTEMS
from workbench.systems.openclaw import SHIPPED, THREE_FIXES
from workbench.views.widgets.threshold import ThresholdLab

pytestmark = needs_chromium

EVIDENCE = SYSTEMS["openclaw-2026.2.13+or+rrf+minmax+evidence"]
_numbers = count()


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    with browsing() as tab:
        yield tab.page
        assert tab.errors == []


def opened(page: Page, lab: ThresholdLab, folder: Path) -> None:
    """Opens the lab as a page from a file, and waits for its plot."""
    file = folder / f"{next(_numbers)}.html"
    file.write_text(page_of(lab), encoding="utf-8")
    page.goto(file.as_uri())
    page.locator(".wb-figure .main-svg").first.wait_for()


def tiles(page: Page) -> list[str]:
    return page.locator(".wb-tiles b").all_inner_texts()


def expected_tiles(lab: ThresholdLab) -> list[str]:
    found = lab.outcome
    precision = "–" if found.precision is None else f"{found.precision:.0%}".replace("%", " %")
    silent = f"{found.silent.hits} of {found.silent.n}" if found.silent.n else "–"
    return [f"{found.hits.hits} of {found.hits.n}", precision, silent]


def dragged(page: Page, label: str, share: float) -> None:
    drag_line(page, page.get_by_role("slider", name=label, exact=True), share)


def saved_png(page: Page, folder: Path) -> Image.Image:
    """The image that the camera of the first plot saves."""
    page.locator(".wb-figure").first.hover()
    with page.expect_download() as saving:
        page.locator(".modebar-btn").first.click()
    file = folder / saving.value.suggested_filename
    saving.value.save_as(file)
    return Image.open(file)


@pytest.fixture(scope="module")
def lab(sample: MemoryIndex, questions: QuestionSet) -> ThresholdLab:
    return ThresholdLab(evaluate(questions, [SHIPPED, THREE_FIXES], sample), link=False)


def test_the_line_is_dragged_and_everything_follows(page: Page, lab: ThresholdLab, tmp_path: Path) -> None:
    opened(page, lab, tmp_path)
    assert tiles(page) == expected_tiles(lab)
    for share in (0.2, 0.6, 0.0):
        dragged(page, "min score", share)
        number = float(page.get_by_label("min score, as a number").input_value())
        assert number == pytest.approx(share, abs=0.011)
        lab.min_score = number
        assert tiles(page) == expected_tiles(lab)
        assert lab.sentence in (page.locator(".wb-status").text_content() or "")


def test_the_line_stands_on_the_axis_where_its_number_is(
    page: Page, lab: ThresholdLab, tmp_path: Path
) -> None:
    opened(page, lab, tmp_path)
    ticks = page.locator(".wb-figure .xtick text")
    marks = [(float(one.text_content() or ""), one.bounding_box()) for one in ticks.all()]
    slider = page.get_by_role("slider", name="min score", exact=True)
    for value, box in marks:
        slider.evaluate("(one, value) => { one.value = value; }", value)
        track = slider.bounding_box()
        assert box
        assert track
        line = track["x"] + 8 + value * (track["width"] - 16)
        assert line == pytest.approx(box["x"] + box["width"] / 2, abs=1.5)


def test_the_camera_saves_the_plot_with_its_line_and_its_legend(
    page: Page, lab: ThresholdLab, tmp_path: Path
) -> None:
    opened(page, lab, tmp_path)
    image = saved_png(page, tmp_path)
    assert (image.format, image.width) == ("PNG", 1800)
    colours = {one[1][:3] for one in image.convert("RGB").getcolors(1 << 24)}
    assert {(196, 79, 0), (0, 114, 178), (142, 47, 106)} <= colours  # the line, and two groups


def test_keys_and_the_number_move_the_line(page: Page, lab: ThresholdLab, tmp_path: Path) -> None:
    lab.min_score = 0.35
    opened(page, lab, tmp_path)
    slider = page.get_by_role("slider", name="min score", exact=True)
    slider.focus()
    for key in ("ArrowLeft", "ArrowLeft", "ArrowRight"):
        slider.press(key)
    assert page.get_by_label("min score, as a number").input_value() == "0.34"
    box = page.get_by_label("min score, as a number")
    box.fill("0.2")
    box.press("Enter")
    assert slider.input_value() == "0.2"
    lab.min_score = 0.2
    assert tiles(page) == expected_tiles(lab)


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("5", "“5” is not taken, and 0.35 stays. Write a number from 0 to 1."),
        ("-0.1", "“-0.1” is not taken, and 0.35 stays. Write a number from 0 to 1."),
        ("0,2", "“0,2” is not taken, and 0.35 stays. Write 0.2."),
        ("high", "“high” is not taken, and 0.35 stays. Write a number from 0 to 1."),
        ("", "An empty box is not taken, and 0.35 stays. Write a number from 0 to 1."),
    ],
)
def test_a_number_that_cannot_be_is_refused_in_words_and_the_last_one_stays(
    page: Page, lab: ThresholdLab, tmp_path: Path, typed: str, told: str
) -> None:
    lab.min_score = 0.35
    opened(page, lab, tmp_path)
    box, refused = page.get_by_label("min score, as a number"), page.get_by_role("alert")
    box.fill("")
    box.press_sequentially(typed)
    box.press("Enter")
    assert refused.filter(has_text="stays").inner_text() == told
    assert box.input_value() == "0.35"
    assert tiles(page) == expected_tiles(lab)
    box.press("ArrowDown")
    assert box.input_value() == "0.34"
    assert refused.filter(has_text="stays").count() == 0


@pytest.mark.parametrize("kind", ["histogram", "share that passes", "strip"])
def test_each_kind_of_distribution_names_files_and_counts(
    page: Page, lab: ThresholdLab, tmp_path: Path, kind: str
) -> None:
    lab.min_score, lab.distribution = 0.35, kind
    opened(page, lab, tmp_path)
    traces = page.evaluate("() => document.querySelector('.wb-figure').data.map(({ x, text }) => [x, text])")
    assert [len(x) <= 300 and len(x) == len(text) for x, text in traces] == [True] * 3
    assert sum(len(x) for x, _ in traces) <= 303
    words = "".join(text for _, some in traces for text in some)
    is_strip, drawing = kind == "strip", page.locator(".wb-figure").first
    assert ("of 1090 pass, 100 drawn" in page.locator(".wb-legend").first.inner_text()) == is_strip
    assert (drawing.locator(".ytick text").count() == 0) == is_strip
    assert (drawing.locator(".yaxislayer-above path").count() == 0) == is_strip
    assert ("of 283" in words) if kind == "share that passes" else ("memory/" in words and "“" in words)


def test_two_thresholds_have_two_lines(
    page: Page, sample: MemoryIndex, questions: QuestionSet, tmp_path: Path
) -> None:
    lab = ThresholdLab(evaluate(questions, [EVIDENCE], sample), link=False)
    opened(page, lab, tmp_path)
    assert page.locator(".wb-threshold").count() == 2
    dragged(page, "cosine", 0.5)
    dragged(page, "relevance", 1.0)
    lab.moved = {
        f"floor.{name}": float(page.get_by_label(f"{name}, as a number", exact=True).input_value())
        for name in ("cosine", "relevance")
    }
    assert lab.moved["floor.cosine"] == pytest.approx(0.5, abs=0.011)
    assert tiles(page) == expected_tiles(lab)
    cosine, relevance = (lab.moved[f"floor.{name}"] for name in ("cosine", "relevance"))
    moved = f"with floor.cosine {cosine:g}, floor.relevance {relevance:g}, "
    assert lab.sentence.startswith(f"At min score {lab.min_score:.2f} {moved}")
    assert lab.sentence in (page.locator(".wb-status").text_content() or "")


def of_python(evaluation: Evaluation, slot: str, of_questions: bool) -> list[tuple[int, int]]:
    """What passes and what reaches each threshold of a stage: right file, others, unanswerable."""
    traces = [(one.trace, one.question.target) for one in evaluation.asked]
    groups = [[0, 0], [0, 0], [0, 0]]
    for trace, target in [*traces, *((one, None) for one in evaluation.controls)]:
        place = next(n for n, stage in enumerate(trace.stages) if stage.slot == slot)
        if place not in trace.cutoffs:
            continue
        cut = trace.cutoffs[place]
        (threshold,) = cut.thresholds
        for row in np.flatnonzero(cut.applied)[: 1 if of_questions else None]:
            right = of_questions or trace.chunks[row].path == target
            group = groups[2 if target is None else 0 if right else 1]
            group[0] += bool(threshold.passing[row])
            group[1] += 1
    return [(one, other) for one, other in groups if other]


def test_every_system_has_the_counts_of_evaluate(
    page: Page, sample: MemoryIndex, questions: QuestionSet, tmp_path: Path
) -> None:
    few = QuestionSet(questions=questions.questions[::9], controls=questions.controls[::7])
    index, chance = CachedIndex(sample), random.Random(4)
    lab = ThresholdLab(evaluate(few, list(SYSTEMS.values()), index), link=False)
    opened(page, lab, tmp_path)
    asked: list[str] = []
    entries = {one["pipeline"]["system"]: one for one in lab.data["systems"]}
    for name, pipeline in SYSTEMS.items():
        entry = entries[name]
        lab.system = name
        page.get_by_label("system", exact=True).select_option(name)
        cuts = [one for one in [entry["cut"]] if entry["floor"].startswith(f"{one}.")]
        if not cuts:  # thresholds of its own, which have a test above
            continue
        lab.min_score = float(f"{chance.uniform(*entry['span']):.3g}")
        (moved,) = evaluate(few, [pipeline.asking(min_score=lab.min_score)], index)
        assert (moved.overall, moved.silent) == (lab.outcome.hits, lab.outcome.silent), name
        (cut,) = (one for one in entry["pipeline"]["steps"] if one["slot"] == entry["cut"])
        if not cut["parameters"]["floor"]["here"]:  # another search, which a page alone does not have
            asked.append(name)
            continue
        box = page.get_by_label("min score, as a number")
        box.fill(repr(lab.min_score))
        box.press("Enter")
        assert tiles(page) == expected_tiles(lab), name
        told = page.locator(".wb-legend").inner_text()
        counts = [(int(one), int(other)) for one, other in re.findall(r": (\d+) of (\d+) pass", told)]
        assert counts == of_python(moved, entry["cut"], entry["of_questions"]), name
    assert all(name.startswith(("am-", "bm-")) for name in asked)


# bad input: a right picture, or one sentence


@dataclass(frozen=True)
class Wide(RankSum):
    """Scores from -3 to 40."""

    def together(self, *parts: Any) -> Any:
        return 1300 * super().together(*parts) - 3


@dataclass(frozen=True)
class Scaled(RankSum):
    """Scores that are no number."""

    by: ClassVar[float] = np.nan

    def together(self, *parts: Any) -> Any:
        return self.by * super().together(*parts)


class Infinite(Scaled):
    """Scores without a bound."""

    by = np.inf


def constant() -> Pipeline:
    return with_settings(SHIPPED, ["fusion.vector=0", "fusion.keyword=0"])


BAD: dict[str, Callable[[], Pipeline]] = {
    "constant scores": constant,
    "scores from -3 to 40": lambda: SHIPPED.with_stage(Wide()),
    "scores that are no number": lambda: SHIPPED.with_stage(Scaled()),
    "infinite scores": lambda: SHIPPED.with_stage(Infinite()),
    "a system without a floor": lambda: SYSTEMS["bm-head"],
    "no candidate": lambda: with_settings(SHIPPED, ["limit.count=0"]),
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("controls", [True, False], ids=["controls", "no unanswerable questions"])
def test_bad_input_gives_a_right_picture(
    page: Page, sample: MemoryIndex, questions: QuestionSet, tmp_path: Path, name: str, controls: bool
) -> None:
    few = QuestionSet(questions=questions.questions[:6], controls=questions.controls[:3] if controls else ())
    lab = ThresholdLab(evaluate(few, [replace(BAD[name](), name="bad")], sample), link=False)
    opened(page, lab, tmp_path)
    assert tiles(page) == expected_tiles(lab)
    low, high = lab.spans["min_score"]
    for share in (0.9, 0.1):
        dragged(page, "min score", share)
        lab.min_score = float(page.get_by_label("min score, as a number").input_value())
        assert lab.min_score == pytest.approx(low + share * (high - low), abs=0.02 * (high - low))
        assert tiles(page) == expected_tiles(lab)


def test_a_memory_of_one_chunk_and_a_hostile_name_have_a_picture(page: Page, tmp_path: Path) -> None:
    name = "<img src=x onerror=document.title='hit'>.md"
    with world.build(tmp_path / "memory", {name: "A cup of tea."}) as index:
        asked = QuestionSet(questions=(Question(question="tea <b>", target=name),))
        lab = ThresholdLab(evaluate(asked, [SHIPPED], index), link=False)
    for kind in ("histogram", "strip"):
        lab.distribution = kind
        opened(page, lab, tmp_path)
        assert page.title() == lab.name
        assert page.locator("img").count() == 0
        assert tiles(page) == expected_tiles(lab)


def test_thousands_of_candidates_have_a_picture(
    page: Page, sample: MemoryIndex, questions: QuestionSet, tmp_path: Path
) -> None:
    (evaluation,) = evaluate(QuestionSet(questions=questions.questions[:1]), [SHIPPED], sample)
    trace = evaluation.asked[0].trace
    wide = with_settings(SHIPPED, ["limit.count=9000"])
    assert trace.chunks
    (evaluation,) = evaluate(QuestionSet(questions=questions.questions[:1]), [wide], sample)
    lab = ThresholdLab([replace(evaluation, asked=evaluation.asked * 50)], link=False)
    opened(page, lab, tmp_path)
    assert sum(map(int, re.findall(r"of (\d+) pass", page.locator(".wb-legend").inner_text()))) > 5_000
    assert tiles(page) == expected_tiles(lab)


def test_the_text_beside_a_mark_has_short_lines_and_fits_into_the_figure(
    page: Page, lab: ThresholdLab, tmp_path: Path
) -> None:
    lab.distribution = "histogram"
    opened(page, lab, tmp_path)
    shown = page.locator(".wb-figure").first
    (target, *_) = shown.evaluate("one => one.data.map(({ text }) => text)")
    lines = [line for text in target for line in text.split("<br>")]
    assert any("“" in line for line in lines)
    assert max(map(len, lines)) <= 41
    assert not any("&lt;" in line for line in lines)
    box = shown.bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] * 0.45, box["y"] + box["height"] * 0.72)
    told = page.locator(".hoverlayer .hovertext path").first
    told.wait_for()
    inner = told.bounding_box()
    assert inner
    assert box["x"] <= inner["x"]
    assert inner["x"] + inner["width"] <= box["x"] + box["width"]


def test_the_figure_of_a_stated_probability_has_the_axis_of_the_distribution(
    page: Page, sample: MemoryIndex, questions: QuestionSet, tmp_path: Path
) -> None:
    opened(page, ThresholdLab(evaluate(questions, [SYSTEMS["recommended"]], sample), link=False), tmp_path)
    page.locator(".wb-reliability .main-svg").first.wait_for()
    ends = """all => all.slice(0, 2).map((one) => {
        const { _offset, _length, range, title } = one._fullLayout.xaxis;
        return [one.getBoundingClientRect().left + _offset, _length, range, title.text];
    })"""
    distribution, diagram = page.locator(".wb-figure").evaluate_all(ends)
    assert distribution == diagram
