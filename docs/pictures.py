"""Takes the README's pictures: each widget as on the first page that shows it, in reading order.

python -m docs.pictures [SITE]
"""

from __future__ import annotations

import io
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

from docs.pages import HERE, SITE

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome") or shutil.which("chromium-browser")
WINDOW = {"width": 1280, "height": 800}
DENSITY = 2
"""Pixels for each CSS pixel, so that a picture is sharp on a dense screen."""
PATIENCE = 300_000
"""Milliseconds that a page may take to be drawn; a busy machine is slow."""
COLOURS = 64
LARGEST = 250_000
FRAMED = "[data-widget] { padding: 16px; } [data-widget] details { display: none; }"


@contextmanager
def opened() -> Iterator[Page]:
    """A browser page in the light theme, 1280 CSS pixels wide at double density, without a network."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        context = browser.new_context(
            viewport=WINDOW, device_scale_factor=DENSITY, color_scheme="light", offline=True
        )
        context.set_default_timeout(PATIENCE)
        yield context.new_page()
        browser.close()


def take(page: Page, site: Path, folder: Path) -> list[Path]:
    """Takes one picture per widget into `folder`, named after the widget, without its folded parts."""
    taken: dict[str, Path] = {}
    for path in sorted(site.glob("*.html")):
        page.goto(path.resolve().as_uri())
        page.add_style_tag(content=FRAMED)
        for still in page.locator("[data-widget]").all():
            name = still.get_attribute("data-widget")
            if name is not None and name not in taken:
                taken[name] = folder / f"{name}.png"
                picture = Image.open(io.BytesIO(still.screenshot()))
                few_colours(picture, COLOURS).save(taken[name], optimize=True)
    return list(taken.values())


def few_colours(picture: Image.Image, colours: int) -> Image.Image:
    """The picture with a palette of its own, which makes its file three times smaller."""
    return picture.convert("RGB").quantize(colours, dither=Image.Dither.NONE)


def main() -> None:
    """Takes the pictures into docs/. Exit code 1 without pages or Chromium, and if a picture is too large."""
    site = Path(sys.argv[1]) if len(sys.argv) > 1 else SITE
    if not (site / "index.html").is_file():
        sys.exit(f"There are no pages in {site}.\n  Make them: make html")
    if CHROMIUM is None:
        sys.exit("Chromium is not installed.\n  Install it: apt-get install chromium")
    with opened() as page:
        pictures = take(page, site, HERE)
    for picture in pictures:
        size = picture.stat().st_size
        print(f"{picture.name}: {size / 1000:.0f} kB")
        if size > LARGEST:
            sys.exit(f"{picture} is larger than {LARGEST / 1000:.0f} kB.")


if __name__ == "__main__":
    main()
