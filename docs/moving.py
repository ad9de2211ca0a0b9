"""Makes the README's moving picture: the threshold lab in a real browser, while its floor rises.

python -m docs.moving [MEMORY]
"""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator

from PIL import Image
from plotly.offline import get_plotlyjs

import workbench as wb
from docs.pages import HERE
from docs.pictures import CHROMIUM, few_colours, opened
from docs.still import still
from workbench.views.widgets.threshold import ThresholdLab

PICTURE = HERE / "threshold-lab.gif"
FLOORS = (0.0, 0.1, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6)
SECONDS = 1.2
WIDTH = 1000
COLOURS = 48
LARGEST = 1_000_000
SYSTEM = "openclaw-2026.2.13-vector-only"
PAGE = """\
<!doctype html><meta charset="utf-8"><style>
body { margin: 0; font: 14px system-ui, sans-serif; } .still { padding: 16px; }
.still details { display: none; } .control { margin-right: 16px; }
</style><body></body>
"""
SHOW = "html => document.body.append(document.createRange().createContextualFragment(html))"


def lab(memory: str) -> ThresholdLab:
    """The threshold lab over the memory's labelled questions."""
    questions = wb.load_questions(f"{memory}/questions.yaml")
    with wb.open_index(memory) as index:
        return ThresholdLab(wb.evaluate(questions, [wb.system(SYSTEM)], index))


def frames(shown: ThresholdLab) -> Iterator[Image.Image]:
    """A picture of the lab at each floor, as the browser draws it."""
    with opened() as page:
        page.set_viewport_size({"width": WIDTH, "height": 700})
        for floor in FLOORS:
            shown.settings = {"min_score": floor}
            page.set_content(PAGE)
            page.add_script_tag(content=get_plotlyjs())
            page.evaluate(SHOW, still(shown))
            page.wait_for_selector(".main-svg")
            yield Image.open(io.BytesIO(page.locator(".still").screenshot()))


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
