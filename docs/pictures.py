"""Takes the pictures in docs/pictures/: each widget, each lesson's first picture, small, and sheets of both.

python -m docs.pictures [SITE]

A sheet shows one widget, or one lesson's first picture, as it is drawn on a page of 1280 and of 400 pixels,
light and dark.
"""

from __future__ import annotations

import io
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from PIL import Image
from playwright.sync_api import Locator, Page, sync_playwright

import workbench as wb
from docs.pages import HERE, MEMORY, PICTURES, SITE, small
from docs.still import page_of
from workbench_plugins.diagnose.widgets import BlameChart, FixFinder

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome") or shutil.which("chromium-browser")
WIDTHS, TALL = (1280, 400), 800
"""The widths of the windows in which pictures are taken, and their height, in CSS pixels."""
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
DENSITY = 1.5
"""Pixels for each CSS pixel, so that a picture is sharp on a dense screen."""
PATIENCE = 300_000
"""Milliseconds that a page may take to be drawn; a busy machine is slow."""
QUALITY, LARGEST = 45, 1_500_000
"""The quality of the images, and the most bytes that all of them may have."""
SMALL = (480, 300)
"""The size of a lesson's first picture on the list of lessons, in pixels."""
SHEET, GAP = (600, 200), 10
"""The widths of the two columns of a sheet, and the space around its pictures, in pixels."""
PICTURED = "[data-widget]:not([data-widget=prediction]), .workbench-figure"
SHOWN = re.findall(r"pictures/(.+)-light\.webp", (HERE / "memories.md").read_text(encoding="utf-8"))
"""The widgets of which the documentation shows a picture."""
LESSON, WIDGETS = small(""), "widgets"
"""What the names of lessons' pictures begin with, and the folder of pages that show one widget."""
DRAWN = """() => {
  const seen = (all) => [...document.querySelectorAll(all)].filter((one) => one.checkVisibility());
  const have = (all, part) => seen(all).every((one) => one.querySelector(part));
  const drawn = have(".wb-figure, .workbench-figure", ".main-svg") && have("[data-widget]", ".wb-living");
  return document.readyState === "complete" && drawn;
}"""
"""Whether all that a page has is drawn."""
FOLDS = "[data-widget] details:not(.wb-chunks *, .wb-picker)"
FRAMED = f"[data-widget] {{ padding: 16px; }} {FOLDS} {{ display: none; }}"


@contextmanager
def opened() -> Iterator[Page]:
    """A browser page, 1280 CSS pixels wide, without a network."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        context = browser.new_context(
            viewport={"width": WIDTHS[0], "height": TALL},
            device_scale_factor=DENSITY,
            color_scheme="light",
            offline=True,
        )
        context.set_default_timeout(PATIENCE)
        yield context.new_page()
        browser.close()


def seen(shown: Page | Locator) -> Image.Image:
    """A page or a part of it as it is drawn."""
    return Image.open(io.BytesIO(shown.screenshot())).convert("RGB")


def take(page: Page, pages: Sequence[Path], folder: Path) -> list[Path]:
    """Takes each widget as on the first page that shows it, without its folds, and first pictures of lessons.

    Returns the files: `NAME-light.webp` of the widgets in SHOWN, the small first pictures, and
    `sheet-NAME.webp` of both, but for a lesson that begins with a widget that has a sheet.
    """
    views = {(width, scheme): _seen_in(page, pages, width, scheme) for scheme in SCHEMES for width in WIDTHS}
    wide = views[WIDTHS[0], "light"]
    of_widgets = {name: one for name, one in wide.items() if not name.startswith(LESSON)}
    taken = {
        f"{name}-light": scaled(wide[name], round(wide[name].width / DENSITY))
        for name in SHOWN
        if name in wide
    }
    for name, one in wide.items():
        if name.startswith(LESSON):
            taken |= {f"{name}-{scheme}": small_picture(views[WIDTHS[0], scheme][name]) for scheme in SCHEMES}
        if name in of_widgets or one not in of_widgets.values():
            taken[f"sheet-{name}"] = sheet({view: pictures[name] for view, pictures in views.items()})
    folder.mkdir(exist_ok=True)
    for name, picture in taken.items():
        picture.save(folder / f"{name}.webp", quality=QUALITY, method=6)
    return [folder / f"{name}.webp" for name in taken]


def _seen_in(
    page: Page, pages: Sequence[Path], width: int, scheme: Literal["light", "dark"]
) -> dict[str, Image.Image]:
    """Each widget and each lesson's first picture by its name, in a window of that width."""
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": TALL})
    found: dict[str, Image.Image] = {}
    for path in pages:
        page.goto(path.resolve().as_uri())
        page.add_style_tag(content=FRAMED)
        page.wait_for_function(DRAWN)
        if path.parent.name != WIDGETS and path.stem != "index":
            found[small(path.stem)] = seen(page.locator(PICTURED).first)
        for still in page.locator("[data-widget]").all():
            name = still.get_attribute("data-widget") or ""
            if name not in found:
                found[name] = seen(still)
    return found


def sheet(views: Mapping[tuple[int, str], Image.Image]) -> Image.Image:
    """The views of one picture: wide and narrow beside each other, light above dark."""
    columns = dict(zip(WIDTHS, SHEET, strict=True))
    small_views = {view: scaled(one, columns[view[0]]) for view, one in views.items()}
    heights = [max(small_views[width, scheme].height for width in WIDTHS) + GAP for scheme in SCHEMES]
    whole = Image.new("RGB", (sum(SHEET) + 3 * GAP, sum(heights) + GAP), "#888")
    for place, scheme in enumerate(SCHEMES):
        top = GAP + sum(heights[:place])
        whole.paste(small_views[WIDTHS[0], scheme], (GAP, top))
        whole.paste(small_views[WIDTHS[1], scheme], (SHEET[0] + 2 * GAP, top))
    return whole


def scaled(picture: Image.Image, width: int) -> Image.Image:
    """The picture with that width, in its shape."""
    return picture.resize((width, picture.height * width // picture.width), Image.Resampling.LANCZOS)


def small_picture(picture: Image.Image) -> Image.Image:
    """The upper part of a picture, as wide as the picture, in the size SMALL."""
    width, height = SMALL
    part = picture.crop((0, 0, picture.width, min(picture.height, picture.width * height // width)))
    fitted = scaled(part, width)
    whole = Image.new("RGB", SMALL, fitted.getpixel((2, 2)))
    whole.paste(fitted, (0, (height - fitted.height) // 2))
    return whole


def write_others(folder: Path) -> list[Path]:
    """Pages of the widgets that no lesson shows first, over the sample memory."""
    folder.mkdir()
    questions = wb.load_questions(MEMORY / "questions.yaml")
    with wb.open_index(MEMORY) as index:
        shown = [
            BlameChart(questions, index, link=False),
            FixFinder(index, questions.questions[0].question, questions.questions[0].target, link=False),
        ]
        for one in shown:
            (folder / f"{one.name}.html").write_text(page_of(one), encoding="utf-8")
    return [folder / f"{one.name}.html" for one in shown]


def main() -> None:
    """Takes the pictures. Exit code 1 without pages or Chromium, and if they are too large."""
    site = Path(sys.argv[1]) if len(sys.argv) > 1 else SITE
    if not (site / "index.html").is_file():
        sys.exit(f"There are no pages in {site}.\n  Make them: make html")
    if CHROMIUM is None:
        sys.exit("Chromium is not installed.\n  Install it: apt-get install chromium")
    with opened() as page, tempfile.TemporaryDirectory() as folder:
        others = write_others(Path(folder) / WIDGETS)
        pictures = take(page, [*sorted(site.glob("*.html")), *others], PICTURES)
    for old in {*PICTURES.glob("*.webp")} - {*pictures}:
        old.unlink()
    sizes = [picture.stat().st_size for picture in pictures]
    print(f"{len(pictures)} pictures in {PICTURES}: {sum(sizes) / 1e6:.2f} MB")
    if sum(sizes) > LARGEST:
        sys.exit(f"They are larger than {LARGEST / 1e6:.1f} MB.")


if __name__ == "__main__":
    main()
