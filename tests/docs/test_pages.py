"""The notebooks as pages: run, complete without a kernel, and silent towards the network."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from PIL import Image
from playwright.sync_api import ConsoleMessage, Page, expect
from tqdm import tqdm

from docs.pages import NOTEBOOKS, PICTURES, Lesson, contents, every_notebook, html, main, run, write
from docs.pictures import PATIENCE, SMALL, opened, take
from tests.browser import needs_chromium
from workbench.memory.index import MemoryIndex

NAME = "02_the_0.7_penalty"


@pytest.fixture(scope="module")
def site(sample: MemoryIndex, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One lesson, run and written."""
    folder = tmp_path_factory.mktemp("site")
    with tqdm(disable=True) as bar:
        write([run(NOTEBOOKS / f"{NAME}.ipynb", bar)], folder)
    return folder


class Visit:
    """A page that was opened, and what was asked for and complained of while it loaded."""

    def __init__(self, page: Page, path: Path) -> None:
        self.page = page
        self.requested: list[str] = []
        self.complaints: list[str] = []
        page.on("request", lambda request: self.requested.append(request.url))
        page.on("requestfailed", lambda request: self.complaints.append(request.url))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("console", self._heard)
        page.goto(path.as_uri())

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            self.complaints.append(message.text)


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    """A page of a browser without a network."""
    with opened() as page:
        yield page


@pytest.fixture(scope="module")
def visit(page: Page, site: Path) -> Visit:
    return Visit(page.context.new_page(), site / f"{NAME}.html")


@needs_chromium
def test_a_page_asks_no_network_for_anything_and_complains_of_nothing(visit: Visit) -> None:
    assert {url.partition(":")[0] for url in visit.requested} <= {"file", "data", "blob"}
    assert visit.complaints == []


@needs_chromium
def test_a_widget_stands_on_its_page_with_figure_controls_sentence_and_table(visit: Visit) -> None:
    lab = visit.page.locator("[data-widget=threshold-lab]").first
    assert not re.search(r"\d+%\|", lab.locator("xpath=../..").inner_text())  # the progress bar
    lab.get_by_role("status").filter(has_text="At 0.35, ").wait_for()
    said = lab.get_by_role("status").inner_text()
    lab.get_by_role("slider", name="min score").press("ArrowLeft")
    lab.get_by_role("status").filter(has_text="At 0.34, ").wait_for()
    assert lab.get_by_role("status").inner_text() != said
    lab.locator("summary", has_text="table").click()
    lab.locator("table", has_text="unanswerable, nothing returned").wait_for()


@needs_chromium
def test_a_prediction_shows_its_choices_and_takes_one(visit: Visit) -> None:
    prediction = visit.page.locator("[data-widget=prediction]", has_text="The least cosine that passes")
    assert [one.strip() for one in prediction.locator("label").all_inner_texts()] == [
        "0.07", "0.20", "0.35", "0.50",
    ]  # fmt: skip
    prediction.get_by_label("0.20").check()
    prediction.get_by_role("button", name="That is my guess").click()
    prediction.get_by_role("status").filter(has_text="You expect 0.20.").wait_for()


@needs_chromium
def test_a_formula_is_drawn_by_the_browser(visit: Visit) -> None:
    formula = visit.page.locator("math").first
    assert formula.is_visible()
    assert visit.page.get_by_text("$$").count() == 0


@needs_chromium
def test_the_contents_lead_to_the_page_and_back(page: Page, site: Path) -> None:
    page.goto((site / "index.html").as_uri())
    page.get_by_role("link", name="2. The 0.7 penalty: absent is not zero").click()
    expect(page).to_have_title("2. The 0.7 penalty: absent is not zero", timeout=PATIENCE)
    page.get_by_role("link", name="All notebooks").first.click()
    expect(page).to_have_title("Hybrid-search workbench: the notebooks", timeout=PATIENCE)


@needs_chromium
def test_a_picture_of_each_widget_is_taken(page: Page, site: Path, tmp_path: Path) -> None:
    pictures = take(page, sorted(site.glob("*.html")), tmp_path)
    widgets, lesson = ("threshold-lab", "prediction", "survival-chart"), f"lesson-{NAME}"
    assert {picture.stem for picture in pictures} >= {
        "threshold-lab-light", "survival-chart-light", *(f"sheet-{name}" for name in widgets),
        f"{lesson}-light", f"{lesson}-dark",
    }  # fmt: skip
    assert all(500 < picture.stat().st_size < 250_000 for picture in pictures)
    light, dark = (Image.open(tmp_path / f"{lesson}-{scheme}.webp") for scheme in ("light", "dark"))
    assert light.getpixel((2, 2)) > (240, 240, 240) > (40, 40, 40) > dark.getpixel((2, 2))
    assert Image.open(tmp_path / f"lesson-{NAME}-light.webp").size == SMALL


def test_each_lesson_has_a_small_picture_for_the_list_of_lessons() -> None:
    lessons = [path.stem for path in every_notebook() if path.parent == NOTEBOOKS]
    taken = {path.stem for path in PICTURES.glob("lesson-*.webp")}
    assert taken == {f"lesson-{name}-{scheme}" for name in lessons for scheme in ("light", "dark")}


@needs_chromium
def test_a_lesson_that_was_run_in_its_place_gives_a_page_that_asks_no_network(
    page: Page, tmp_path: Path
) -> None:
    """Jupyter saves the state of widgets; with it, a page would load a script from the network."""
    state = {
        "application/vnd.jupyter.widget-state+json": {"state": {}, "version_major": 2, "version_minor": 0}
    }
    code = "from workbench.views import plots\nplots.bars({'<b>one</b>': 1, 'two': 2}, 'hits')"
    cells = [nbformat.v4.new_markdown_cell("# A lesson\n\nIt has a figure."), nbformat.v4.new_code_cell(code)]
    notebook = nbformat.v4.new_notebook(cells=cells, metadata={"widgets": state})
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3"}
    nbformat.write(notebook, tmp_path / "A_lesson.ipynb")
    with tqdm(disable=True) as bar:
        write([run(tmp_path / "A_lesson.ipynb", bar)], tmp_path / "site")
    seen = Visit(page.context.new_page(), tmp_path / "site" / "A_lesson.html")
    names = seen.page.locator(".workbench-figure .ytick text")
    expect(names.first).to_have_text("<b>one</b>", timeout=PATIENCE)
    expect(seen.page.get_by_role("figure", name="hits: <b>one</b> 1, two 2")).to_be_visible()
    assert {url.partition(":")[0] for url in seen.requested} <= {"file", "data", "blob"}
    assert seen.complaints == []


def lesson(name: str, text: str) -> Lesson:
    return Lesson(name, nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(text)]))


def test_the_contents_list_lessons_in_order_with_their_first_paragraph_and_solutions() -> None:
    page = contents(
        [
            lesson("00_start", "# Start <here>\n\nA search *fails*.\n\nMore."),
            lesson("01_next", "# Next\n\nThen `AND`."),
            lesson("solutions/01_next", "# Solved\n\nSo."),
        ]
    )
    assert re.findall(r'href="(\S+\.html)"', page) == [
        "00_start.html",
        "01_next.html",
        "solutions/01_next.html",
    ]
    assert "Start &lt;here&gt;" in page
    assert "<p>A search <em>fails</em>.</p>" in page
    assert "More." not in page


def test_links_between_notebooks_lead_to_pages_and_others_stay() -> None:
    text = "[a](01_and_join.ipynb) [b](solutions/01.ipynb#x) [c](https://example.org/n.ipynb)"
    targets = ["01_and_join.html", "solutions/01.html#x", "https://example.org/n.ipynb"]
    assert re.findall(r'href="([^"]*)"', html(text)) == targets


def test_every_notebook_is_found_lessons_before_solutions() -> None:
    names = [path.relative_to(NOTEBOOKS).as_posix() for path in every_notebook()]
    assert names[0] == "00_start.ipynb"
    assert names == sorted(names, key=lambda name: ("/" in name, name))


def test_a_cell_that_fails_is_named_and_nothing_is_written(tmp_path: Path) -> None:
    cells = [nbformat.v4.new_code_cell(source) for source in ("x = 1", "assert x == 2, 'not two'")]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "broken.ipynb")
    with pytest.raises(SystemExit) as ended:
        main([str(tmp_path / "broken.ipynb"), "--to", str(tmp_path / "site")])
    said = "broken.ipynb, In [2] failed:\n    assert x == 2, 'not two'\nAssertionError: not two"
    assert ended.value.code == said
    assert not (tmp_path / "site").exists()
