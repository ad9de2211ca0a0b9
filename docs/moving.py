"""Makes the README's moving picture: the threshold lab in a real browser, while its floor rises.

python -m docs.moving [MEMORY]
"""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator

from PIL import Image

import workbench as wb
from docs.pages import HERE
from docs.pictures import CHROMIUM, few_colours, opened
from docs.still import page_of
from workbench.views.widgets.threshold import ThresholdLab

PICTURE = HERE / "threshold-lab.gif"
FLOORS = (0.0, 0.1, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5)
SECONDS = 1.2
WIDTH = 1000
COLOURS = 48
LARGEST = 1_000_000
SYSTEM = "openclaw-2026.2.13-vector-only"
FRAMED = "body { margin: 0; } [data-widget] { padding: 16px; } details { display: none; }"


def lab(memory: str) -> ThresholdLab:
    """The threshold lab over the memory's labelled questions."""
    questions = wb.load_questions(f"{memory}/questions.yaml")
    with wb.open_index(memory) as index:
        return ThresholdLab(wb.evaluate(questions, [wb.system(SYSTEM)], index))


def frames(shown: ThresholdLab) -> Iterator[Image.Image]:
    """A picture of the lab at each floor, as the browser draws it."""
    with opened() as page:
        page.set_viewport_size({"width": WIDTH, "height": 700})
        page.set_content(page_of(shown))
        page.add_style_tag(content=FRAMED)
        for floor in FLOORS:
            page.get_by_label("min score, as a number").fill(str(floor))
            page.get_by_label("min score, as a number").press("Enter")
            yield Image.open(io.BytesIO(page.locator("[data-widget]").screenshot()))


def main() -> None:
    """Writes docs/threshold-lab.gif. Exit code 1 without Chromium, and if the picture is too large."""
    if CHROMIUM is None:
        sys.exit("Chromium is not installed.\n  Install it: apt-get install chromium")
    shown = lab(sys.argv[1] if len(sys.argv) > 1 else "sample_memory")
    first, *others = [few_colours(one, COLOURS) for one in frames(shown)]
    first.save(
        PICTURE, save_all=True, append_images=others, duration=int(SECONDS * 1000), loop=0, optimize=True
    )
    size = PICTURE.stat().st_size
    print(f"{PICTURE.name}: {size / 1000:.0f} kB")
    if size > LARGEST:
        sys.exit(f"{PICTURE} is larger than {LARGEST / 1000:.0f} kB.")


if __name__ == "__main__":
    main()
