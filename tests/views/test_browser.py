"""The notebooks and their widgets in a real JupyterLab, moved with mouse and keyboard, in both themes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page

from tests.browser import (
    NOT_FOUND,
    OUTPUT,
    PANELS,
    SHOWN_SYSTEMS,
    SIZE,
    WIDGETS,
    Shown,
    Tab,
    becomes,
    browsing,
    choose,
    drag_line,
    end_kernels,
    jupyterlab,
    lay_out,
    needs_chromium,
    reopen,
    run_all_cells,
    run_in_python,
    save,
    twin,
)
from workbench.measure.evaluation import Evaluation, evaluate
from workbench.measure.questions import QuestionSet
from workbench.memory.index import MemoryIndex
from workbench.retrieval.pipeline import search
from workbench.systems.catalogue import SYSTEMS
from workbench_plugins.cases.model import load_case
from workbench_plugins.cases.running import run_case

TENACITY = "memory/protocols/tenacity.md"

pytestmark = needs_chromium


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which JupyterLab finds the notebooks."""
    made = tmp_path_factory.mktemp("lab")
    lay_out(made)
    return made


@pytest.fixture(scope="module")
def lab(sample: MemoryIndex, folder: Path) -> Iterator[str]:
    with jupyterlab(folder, folder / "first", folder / "trusting") as address:
        yield address


@pytest.fixture(scope="module")
def tab() -> Iterator[Tab]:
    with browsing() as opened:
        yield opened


@pytest.fixture(scope="module")
def widgets_page(lab: str, tab: Tab) -> Page:
    """The notebook of all widgets, run."""
    tab.page.goto(f"{lab}/widgets.ipynb?reset")
    run_all_cells(tab.page)
    return tab.page


@pytest.fixture(scope="module")
def evaluations(sample: MemoryIndex, questions: QuestionSet) -> list[Evaluation]:
    return evaluate(questions, [SYSTEMS[name] for name in SHOWN_SYSTEMS], sample)


@pytest.fixture(scope="module")
def shown(widgets_page: Page, evaluations: list[Evaluation], sample: MemoryIndex) -> dict[str, Shown]:
    """The widgets on the page, each beside its twin, by name. A test that moves one begins it anew."""
    names = (*PANELS, "threshold-lab", "survival-chart")
    return {name: Shown(widgets_page, twin(name, sample, evaluations)) for name in names}


def test_a_notebook_opens_with_its_kernel_and_without_questions(lab: str, tab: Tab) -> None:
    tab.page.goto(f"{lab}/00_start.ipynb?reset")
    run_all_cells(tab.page)
    assert tab.page.locator(".jp-Dialog").count() == 0
    assert tab.page.get_by_text("Would you like to get notified").count() == 0


def test_its_cells_run_without_an_error(tab: Tab) -> None:
    assert tab.page.locator("[data-mime-type='application/vnd.jupyter.stderr']").all_inner_texts() == []
    assert tab.page.locator(".jp-mod-error, [data-mime-type='application/vnd.jupyter.error']").count() == 0
    tab.page.locator(".wb-list li").first.wait_for()
    assert tab.errors == []


@pytest.mark.parametrize("name", PANELS)
def test_a_widget_says_and_draws_what_python_does(name: str, shown: dict[str, Shown]) -> None:
    shown[name].begin()
    shown[name].agrees()
    shown[name].picture(f"{name}_light")


def test_the_threshold_lab_follows_arrow_keys_box_and_python(shown: dict[str, Shown]) -> None:
    lab = shown["threshold-lab"]
    lab.begin()
    slider = lab.root.get_by_role("slider", name="min score", exact=True)
    box = lab.control("min score, as a number")

    for step in range(1, 11):
        slider.press("ArrowLeft")
        becomes(slider.input_value, f"{0.35 - step / 100:g}".__eq__)
    lab.says(min_score=0.25)
    box.fill("0.15")
    box.press("Enter")
    lab.says(min_score=0.15)
    becomes(lambda: box.evaluate("one => one === document.activeElement"), bool)  # it still has the keyboard
    lab.page.keyboard.press("ArrowUp")
    lab.says(min_score=0.16)
    run_in_python(lab.page, "threshold_lab.settings = {'min_score': 0.3}")
    lab.says(min_score=0.3)
    lab.control("system").select_option(SHOWN_SYSTEMS[1])
    lab.says(system=SHOWN_SYSTEMS[1])
    lab.root.screenshot(path=OUTPUT / "threshold-lab_light.png")


def test_the_survival_chart_follows_mouse_and_keyboard(shown: dict[str, Shown]) -> None:
    chart = shown["survival-chart"]
    chart.begin()
    chart.control(SHOWN_SYSTEMS[0]).uncheck()
    chart.control("questions").select_option("vague")
    chart.agrees(systems=[SHOWN_SYSTEMS[1]], kind="vague")
    chart.root.screenshot(path=OUTPUT / "survival-chart_light.png")


def test_the_fusion_lab_follows_arrow_keys_mouse_and_words(shown: dict[str, Shown]) -> None:
    lab = shown["fusion-lab"]
    lab.begin()
    lab.control("method").select_option("normalised-rrf")
    lab.agrees(method="normalised-rrf")
    lab.press("k", "ArrowLeft", times=5)
    lab.agrees(k=lab.twin.settings["k"] - 5)
    drag_line(lab.page, lab.root.get_by_role("slider", name="min score", exact=True), 0.5)
    lab.agrees(min_score=lab.number("min score"))
    lab.drag("keyword weight", 0.9)
    lab.agrees(keyword=lab.number("keyword weight"))
    lab.control("watch").select_option(TENACITY)
    lab.agrees(watch=TENACITY)
    lab.picture("fusion-lab_moved")
    lab.type("question", "audience calibration rules")
    lab.agrees(question="audience calibration rules")


def test_the_fusion_lab_clears_and_draws_anew_what_a_question_leaves_empty(shown: dict[str, Shown]) -> None:
    lab = shown["fusion-lab"]
    lab.begin()
    for question in (" ", "xqzv plomb", " ", "tenacity and persistence protocol"):
        lab.type("question", question)
        lab.agrees(question=question)


def test_figures_stand_where_the_last_of_many_quick_moves_left_them(shown: dict[str, Shown]) -> None:
    lab = shown["fusion-lab"]
    lab.begin()
    lab.control("method").select_option("normalised-rrf")
    lab.agrees(method="normalised-rrf")
    lab.press("k", "ArrowRight", times=20)
    lab.agrees(k=lab.number("k"))
    lab.control("method").select_option("rrf-60")
    lab.press("vector weight", "ArrowLeft", times=10)
    lab.agrees(method="rrf-60", vector=lab.number("vector weight"))


def test_the_microscope_answers_what_is_typed(shown: dict[str, Shown]) -> None:
    microscope = shown["microscope"]
    microscope.begin()
    microscope.type("question", "how should I evaluate if a claim is actually true")
    microscope.agrees(question="how should I evaluate if a claim is actually true")
    microscope.picture("microscope_long_question")
    microscope.control("words of").select_option("any script")
    microscope.agrees(letters="any script")
    microscope.type("question", " ")
    microscope.status.filter(has_text="The question is empty.").wait_for()


def test_the_question_explorer_answers_why_not_and_saves_a_case_that_runs(
    widgets_page: Page, sample: MemoryIndex, evaluations: list[Evaluation], folder: Path
) -> None:
    explorer = twin("question-explorer", sample, evaluations)
    root = widgets_page.locator(".workbench-question-explorer")
    run_in_python(widgets_page, f"question_explorer.settings = {explorer.settings!r}")
    root.get_by_role("status").filter(has_text=explorer.sentence).wait_for()
    root.get_by_label("expected file").fill(TENACITY)
    root.get_by_label("expected file").press("Enter")
    explorer.settings = {"target": TENACITY}
    root.get_by_role("status").filter(has_text=explorer.sentence).wait_for()
    why = root.get_by_role("group", name=f"explanation, {SHOWN_SYSTEMS[0]}", exact=True)
    becomes(why.inner_text, explorer.explanations[0].text().__eq__)
    root.get_by_label("left system").locator("summary").first.press("Enter")
    root.get_by_label("search the systems, left").fill(SHOWN_SYSTEMS[2])
    root.get_by_label("search the systems, left").press("Enter")
    explorer.settings = {"left": SHOWN_SYSTEMS[2]}
    root.get_by_role("status").filter(has_text=explorer.sentence).wait_for()
    root.get_by_role("button", name="save as case").click()
    root.get_by_text("Saved: ").wait_for()
    file = max(folder.rglob("*.case.yaml"), key=lambda one: one.stat().st_mtime)
    run = run_case(load_case(file).case)
    assert run.as_observed
    assert not run.holds
    root.screenshot(path=OUTPUT / "question-explorer_light.png")


def test_a_file_and_its_chunks_are_asked_for(shown: dict[str, Shown]) -> None:
    chunks = shown["file-chunks"]
    chunks.begin()
    chunks.type("file", "MEMORY.md")
    chunks.agrees(file="MEMORY.md")
    chunks.root.locator("summary", has_text="copy as code").press("Enter")
    becomes(chunks.root.locator("pre").last.inner_text, chunks.twin.code.__eq__)
    chunks.type("file", "nowhere.md")
    chunks.status.filter(has_text="no indexed file").wait_for()
    becomes(lambda: chunks.root.locator("[aria-busy]").count(), (0).__eq__)


def test_a_prediction_is_made_with_mouse_and_keyboard(widgets_page: Page) -> None:
    prediction = widgets_page.locator(".wb-living").filter(has_text=re.compile("^Which leg finds it"))
    button = prediction.get_by_role("button", name="That is my guess")
    assert button.is_disabled()
    prediction.get_by_label("keyword").click()
    prediction.get_by_label("vector").press("Space")
    button.click()
    prediction.get_by_role("status").filter(has_text="You expect vector. Read on.").wait_for()
    assert prediction.get_by_label("both").is_disabled()


def test_the_widgets_are_there_in_the_dark_too(shown: dict[str, Shown], widgets_page: Page) -> None:
    choose(widgets_page, "Settings", "Theme", "JupyterLab Dark")
    widgets_page.locator("body[data-jp-theme-light='false']").wait_for(state="attached")
    for name in PANELS:
        widget = shown[name]
        widget.status.wait_for()
        widget.picture(f"{name}_dark")


def test_the_console_shows_no_error(tab: Tab) -> None:
    assert tab.errors == []


def test_a_saved_notebook_moves_in_another_jupyterlab_where_it_is_trusted(
    lab: str, folder: Path, tmp_path: Path, tab: Tab, shown: dict[str, Shown]
) -> None:
    shown["threshold-lab"].begin()
    save(tab.page)
    end_kernels(tab.page)
    assert (folder / "notebooks" / "widgets.ipynb").stat().st_size < 4_000_000
    with jupyterlab(folder, tmp_path / "second", folder / "trusting") as address:
        tab.page.goto(f"{address}/widgets.ipynb?reset")
        _moves(tab, address)
        tab.page.screenshot(path=OUTPUT / "saved.png")
    with jupyterlab(folder, tmp_path / "third", tmp_path / "nobody") as address:
        tab.page.goto(f"{address}/widgets.ipynb?reset")
        _stands(tab.page)
    tab.page.goto("about:blank")
    tab.errors.clear()  # the page complained that its server had ended


def _moves(tab: Tab, address: str) -> None:
    """The sliders of the saved widgets move without a kernel, and what takes Python says so."""
    outputs = tab.page.locator(".jp-Notebook .jp-OutputArea-output")
    panels = [tab.page.locator(f".workbench-{name}") for name in (*PANELS, "threshold-lab")]

    def found() -> bool:
        lost = outputs.filter(has_text=NOT_FOUND)
        becomes(lambda: lost.count() > 0 or all(panel.count() for panel in panels), bool)
        return lost.count() == 0

    reopen(tab, f"{address}/widgets.ipynb?reset", found)
    end_kernels(tab.page)
    for name, slider in (("threshold-lab", "min score"), ("fusion-lab", "min score")):
        root = tab.page.locator(f".workbench-{name}")
        before = root.text_content()
        root.get_by_role("slider", name=slider).first.press("Home")
        becomes(root.text_content, before.__ne__)
    box = tab.page.locator(".workbench-microscope").get_by_label("question", exact=True)
    box.fill("tea")
    box.press("Enter")
    tab.page.locator(".workbench-microscope").get_by_text("This takes Python").wait_for()
    assert box.input_value() != "tea"


def _stands(page: Page) -> None:
    """Without trust, each saved widget is its picture, with a line that says how to move it."""
    page.set_viewport_size({"width": 1280, "height": 6000})  # all cells
    pictures = page.locator(".jp-OutputArea-output img[src^='data:image/svg']")
    becomes(pictures.count, len(WIDGETS).__eq__)
    for picture in pictures.all():
        becomes(lambda picture=picture: picture.evaluate("image => image.naturalHeight"), (50).__le__)
    assert page.get_by_text("To move it, trust the notebook").count() == len(WIDGETS)
    assert page.locator("img[alt*='At 0.35, ']").count() == 1
    assert page.locator(".wb-living").count() == 0


def test_a_click_on_a_mark_is_seen_in_the_other_widgets_and_in_python(
    lab: str, tab: Tab, sample: MemoryIndex
) -> None:
    tab.page.goto(f"{lab}/linked.ipynb?reset")
    run_all_cells(tab.page)
    explorer = tab.page.locator(".workbench-question-explorer")
    best = search("rooibos tea", SYSTEMS[SHOWN_SYSTEMS[1]], sample).results[0].chunk
    fusion, microscope = (tab.page.locator(f".workbench-{name}") for name in ("fusion-lab", "microscope"))
    for widget in (explorer, fusion, microscope):
        widget.get_by_role("status").first.wait_for(state="attached")  # all three listen
    explorer.get_by_label("right system").locator(".wb-list li").first.click()
    fusion.get_by_role("status").filter(has_text=best.location).wait_for()
    fusion.locator(".wb-figure text").filter(has_text="▸").wait_for()
    microscope.get_by_role("status").filter(has_text="rooibos").wait_for()
    cell = tab.page.locator(".jp-CodeCell").last
    cell.locator(".cm-content").click()
    tab.page.keyboard.press("Control+Enter")
    cell.get_by_text(f"selected: <Selection: question 'rooibos tea', chunk '{best.location}'").wait_for()
    tab.page.screenshot(path=OUTPUT / "linked.png")
    assert tab.errors == []


def test_two_linked_labs_in_a_box_are_dragged_set_saved_and_dragged_without_a_kernel(
    lab: str, tab: Tab
) -> None:
    page = tab.page
    page.goto(f"{lab}/composed.ipynb?reset")
    run_all_cells(page)
    _follow_each_other(page, "0.25")
    page.locator(".jp-OutputArea-output").filter(has=page.locator(".wb-living")).first.screenshot(
        path=OUTPUT / "composed.png"
    )
    save(page)
    end_kernels(page)

    def found() -> bool:
        lost = page.locator(".jp-OutputArea-output").filter(has_text=NOT_FOUND)
        becomes(lambda: lost.count() > 0 or page.locator(".wb-threshold").count() == 2, bool)
        return lost.count() == 0

    reopen(tab, f"{lab}/composed.ipynb?reset", found)
    end_kernels(page)
    _follow_each_other(page, "0.7")


def test_linked_labs_of_different_systems_agree_and_follow_while_the_kernel_works(
    lab: str, tab: Tab, folder: Path
) -> None:
    page = tab.page
    page.goto(f"{lab}/different.ipynb?reset")
    run_all_cells(page)
    wide, narrow = (page.locator(".workbench-threshold-lab").nth(place) for place in range(2))
    numbers = [one.get_by_label("min score, as a number") for one in (wide, narrow)]
    for one in (wide, narrow):
        one.locator(".wb-figure .main-svg").first.wait_for()
    slider = wide.get_by_role("slider", name="min score")
    drag_line(page, slider, 0.02)
    becomes(lambda: [one.input_value() for one in numbers], ["0.02", "0.02"].__eq__)
    numbers[0].fill("0.7")  # which the other one cannot have
    numbers[0].press("Enter")
    narrow.get_by_text("min_score cannot be 0.7. It goes from 0 to 0.035.").wait_for()
    becomes(lambda: [one.input_value() for one in numbers], ["0.02", "0.02"].__eq__)

    cell = page.locator(".jp-CodeCell").last
    run_in_python(page, "print([one.min_score for one in labs])")
    assert cell.locator(".jp-OutputArea-output").all_inner_texts() == ["[0.02, 0.02]\n"]
    cell.locator(".cm-content").fill("while not pathlib.Path('go').exists(): time.sleep(0.1)")
    cell.locator(".cm-content").press("Control+Enter")
    page.get_by_text("| Busy").wait_for()
    tiles = narrow.locator(".wb-tiles b")
    before = tiles.all_inner_texts()
    drag_line(page, slider, 0.01)
    becomes(tiles.all_inner_texts, before.__ne__)
    (folder / "notebooks" / "go").touch()
    run_in_python(page, "print([one.min_score for one in labs])")
    becomes(cell.locator(".jp-OutputArea-output").all_inner_texts, ["[0.01, 0.01]\n"].__eq__)
    assert tab.errors == []


def test_labs_steer_functions_in_a_narrow_cell(lab: str, tab: Tab) -> None:
    page = tab.page
    page.set_viewport_size({"width": 800, "height": 800})  # with the file browser beside the notebook
    page.goto(f"{lab}/steering.ipynb?reset")
    run_all_cells(page)
    for place, (before, after) in enumerate(
        [("the floor is 0.35", "the floor is 0.7"), ("half of it is 0.175", "half of it is 0.35")]
    ):
        one = page.locator(".workbench-threshold-lab").nth(place)
        page.get_by_text(before, exact=True).wait_for(state="attached")
        one.locator(".wb-figure .main-svg").first.wait_for()
        drag_line(page, one.get_by_role("slider", name="min score"), 0.7)
        page.get_by_text(after, exact=True).wait_for(state="attached")
        assert one.evaluate("one => one.scrollWidth <= one.clientWidth + 1")
    page.screenshot(path=OUTPUT / "narrow.png")
    page.set_viewport_size(SIZE)  # type: ignore[arg-type]
    assert tab.errors == []


def _follow_each_other(page: Page, first: str) -> None:
    """Both labs are drawn and stand where the first was left; when one line is dragged, both move."""
    labs = [page.locator(".workbench-threshold-lab").nth(place) for place in range(2)]
    numbers = [one.get_by_label("min score, as a number") for one in labs]
    for one, number in zip(labs, numbers, strict=True):
        one.locator(".wb-figure .main-svg").first.wait_for()
        becomes(number.input_value, first.__eq__)
    drag_line(page, labs[0].get_by_role("slider", name="min score"), 0.7)
    for number in numbers:
        becomes(number.input_value, "0.7".__eq__)
    tiles = [one.locator(".wb-tiles b").all_inner_texts() for one in labs]
    assert tiles[0] == tiles[1]
