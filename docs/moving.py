"""Makes the README's moving picture: the pipeline in a real browser, while the floor rises and is removed.

python -m docs.moving [MEMORY]
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from PIL import Image

import workbench as wb
from docs.pages import HERE
from docs.pictures import CHROMIUM, opened, seen
from docs.still import page_of
from workbench.views.widgets.threshold import ThresholdLab

PICTURE = HERE / "pipeline.gif"
FLOORS = {0.25: 1.6, 0.3: 0.9, 0.33: 0.9, 0.345: 0.9, 0.35: 3.0, 0.2: 0.6, 0.0: 3.0}
"""Each floor in its order, with the seconds for which it stands."""
WINDOW = {"width": 1140, "height": 560}
COLOURS = 32
LARGEST = 650_000
SYSTEM, QUESTION = "openclaw-2026.2.13", "how should I evaluate if a claim is actually true"
FRAMED = "body { margin: 0; } [data-widget] { padding: 16px; } details { display: none; }"


def lab(memory: str) -> ThresholdLab:
    """The threshold lab over the memory's labelled questions, with lesson 00's question."""
    questions = wb.load_questions(f"{memory}/questions.yaml")
    with wb.open_index(memory) as index:
        shown = ThresholdLab(wb.evaluate(questions, [wb.system(SYSTEM)], index), link=False)
    shown.question = QUESTION
    return shown


def frames(shown: ThresholdLab) -> Iterator[Image.Image]:
    """A picture of the lab at each floor, as the browser draws it."""
    with opened() as page:
        page.set_viewport_size(WINDOW)
        page.set_content(page_of(shown))
        page.add_style_tag(content=FRAMED)
        for floor in FLOORS:
            page.get_by_label("min score, as a number").fill(str(floor))
            page.get_by_label("min score, as a number").press("Enter")
            # A palette of its own makes the file three times smaller.
            yield seen(page).quantize(COLOURS, dither=Image.Dither.NONE)


def main() -> None:
    """Writes docs/pipeline.gif. Exit code 1 without Chromium, and if the picture is too large."""
    if CHROMIUM is None:
        sys.exit("Chromium is not installed.\n  Install it: apt-get install chromium")
    shown = lab(sys.argv[1] if len(sys.argv) > 1 else "sample_memory")
    first, *others = frames(shown)
    lasting = [int(1000 * seconds) for seconds in FLOORS.values()]
    first.save(PICTURE, save_all=True, append_images=others, duration=lasting, loop=0, optimize=True)
    size = PICTURE.stat().st_size
    print(f"{PICTURE.name}: {size / 1000:.0f} kB")
    if size > LARGEST:
        sys.exit(f"{PICTURE} is larger than {LARGEST / 1000:.0f} kB.")


if __name__ == "__main__":
    main()
