"""The bytes of what is shipped, of the site, and of a saved notebook with five widgets.

python -m benchmarks.sizes [SITE]

The notebook is run and saved in JupyterLab, in Chromium. SITE is what `make html` wrote; by default site/.
"""

from __future__ import annotations

import gzip
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import nbformat

from docs.pages import SITE
from tests.browser import (
    CHROMIUM,
    SET_UP,
    WIDGETS,
    browsing,
    end_kernels,
    jupyterlab,
    lay_out,
    run_all_cells,
    save,
)
from tests.conftest import SAMPLE
from workbench.memory.sync import index_folder
from workbench.views.living import module, style
from workbench.views.plotlyjs import packed, plotly_script

FIVE = ("threshold-lab", "fusion-lab", "survival-chart", "microscope", "question-explorer")
LARGEST = 3_000_000
"""Bytes of a saved notebook with these widgets."""


def main() -> None:
    if CHROMIUM is None:
        sys.exit("The benchmark needs Chromium: apt-get install chromium")
    index_folder(SAMPLE)
    site = Path(sys.argv[1]) if len(sys.argv) > 1 else SITE
    for name, size, note in (*_shipped(), *_written(site)):
        print(f"{name:34} {size / 1e6:6.2f} MB  {note}")
    size = _saved()
    print(f"{'saved notebook, five widgets':34} {size / 1e6:6.2f} MB  {size / LARGEST:.2f} of the budget")


def _shipped() -> Iterator[tuple[str, int, str]]:
    for name, text in (("plotly.js", plotly_script()), ("module", module()), ("style", style())):
        small = len(packed()) if name == "plotly.js" else len(gzip.compress(text.encode()))
        yield name, len(text.encode()), f"{small / 1e6:.2f} MB with gzip"


def _written(site: Path) -> Iterator[tuple[str, int, str]]:
    pages = {path: path.stat().st_size for path in site.rglob("*.html")}
    if pages:
        largest = max(pages, key=lambda path: pages[path])
        yield "site", sum(path.stat().st_size for path in site.rglob("*.*")), f"{len(pages)} pages"
        yield "its largest page", pages[largest], largest.name


def _saved() -> int:
    """The bytes of a notebook that shows the five widgets, as JupyterLab saves it."""
    with tempfile.TemporaryDirectory() as place, browsing() as tab:
        folder = Path(place)
        lay_out(folder)
        file = folder / "notebooks" / "five.ipynb"
        notebook = nbformat.read(file.with_name("widgets.ipynb"), as_version=4)
        notebook.cells = [
            nbformat.v4.new_code_cell(one) for one in (SET_UP, *(WIDGETS[name] for name in FIVE))
        ]
        nbformat.write(notebook, file)
        with jupyterlab(folder, folder / "own", folder / "trusting") as address:
            tab.page.set_viewport_size({"width": 1280, "height": 6000})  # all cells
            tab.page.goto(f"{address}/five.ipynb")
            run_all_cells(tab.page)
            for name in FIVE:
                status = tab.page.locator(f".workbench-{name}").get_by_role("status")
                status.first.wait_for(state="attached")
            save(tab.page)
            end_kernels(tab.page)
            tab.page.goto("about:blank")
        return file.stat().st_size


if __name__ == "__main__":
    main()
