"""Takes the pictures in docs/pictures/, light and dark: each widget, and each lesson's first picture, small.

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
from playwright.sync_api import Locator, Page, sync_playwright

from docs.pages import PICTURES, SITE, small

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome") or shutil.which("chromium-browser")
WINDOW = {"width": 1280, "height": 800}
DENSITY = 1.5
"""Pixels for each CSS pixel, so that a picture is sharp on a dense screen."""
PATIENCE = 300_000
"""Milliseconds that a page may take to be drawn; a busy machine is slow."""
QUALITY, LARGEST = 70, 250_000
SMALL = (480, 300)
"""The size of a lesson's first picture on the list of lessons, in pixels."""
PICTURED = "[data-widget]:not([data-widget=prediction]), .workbench-figure"
FOLDS = "[data-widget] details:not(.wb-chunks *, .wb-picker)"
FRAMED = f"[data-widget] {{ padding: 16px; }} {FOLDS} {{ display: none; }}"


@contextmanager
def opened() -> Iterator[Page]:
    """A browser page, 1280 CSS pixels wide, without a network."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        context = browser.new_context(
            viewport=WINDOW, device_scale_factor=DENSITY, color_scheme="light", offline=True
        )
        context.set_default_timeout(PATIENCE)
        yield context.new_page()
        browser.close()


def seen(shown: Page | Locator) -> Image.Image:
    """A page or a part of it as it is drawn."""
    return Image.open(io.BytesIO(shown.screenshot())).convert("RGB")


def take(page: Page, site: Path, folder: Path) -> list[Path]:
    """Takes each widget as on the first page that shows it, without its folds, and first pictures, small."""
    taken: dict[str, Image.Image] = {}
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        for path in sorted(site.glob("*.html")):
            page.goto(path.resolve().as_uri())
            page.add_style_tag(content=FRAMED)
            if path.stem != "index":
                taken[f"{small(path.stem)}-{scheme}"] = small_picture(seen(page.locator(PICTURED).first))
            for still in page.locator("[data-widget]").all():
                name = f"{still.get_attribute('data-widget')}-{scheme}"
                if name not in taken:
                    taken[name] = seen(still)
    folder.mkdir(exist_ok=True)
    for name, picture in taken.items():
        picture.save(folder / f"{name}.webp", quality=QUALITY, method=6)
    return [folder / f"{name}.webp" for name in taken]


def small_picture(picture: Image.Image) -> Image.Image:
    """The upper part of a picture, as wide as the picture, in the size SMALL."""
    width, height = SMALL
    part = picture.crop((0, 0, picture.width, min(picture.height, picture.width * height // width)))
    fitted = part.resize((width, part.height * width // part.width), Image.Resampling.LANCZOS)
    whole = Image.new("RGB", SMALL, fitted.getpixel((2, 2)))
    whole.paste(fitted, (0, (height - fitted.height) // 2))
    return whole


def main() -> None:
    """Takes the pictures. Exit code 1 without pages or Chromium, and if a widget's picture is too large."""
    site = Path(sys.argv[1]) if len(sys.argv) > 1 else SITE
    if not (site / "index.html").is_file():
        sys.exit(f"There are no pages in {site}.\n  Make them: make html")
    if CHROMIUM is None:
        sys.exit("Chromium is not installed.\n  Install it: apt-get install chromium")
    with opened() as page:
        pictures = take(page, site, PICTURES)
    for picture in pictures:
        size = picture.stat().st_size
        print(f"{picture.name}: {size / 1000:.0f} kB")
        if size > LARGEST:
            sys.exit(f"{picture} is larger than {LARGEST / 1000:.0f} kB.")


if __name__ == "__main__":
    main()
