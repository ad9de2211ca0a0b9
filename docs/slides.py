"""Runs lessons, and writes each as slides of nbconvert, for a lecture. They load reveal.js from the network.

python -m docs.slides [--to FOLDER] [--reveal URL] [NOTEBOOK ...]
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import nbformat
from nbconvert import SlidesExporter
from nbformat import NotebookNode
from tqdm import tqdm

from docs.pages import HERE, NOTEBOOKS, SITE, FailedError, html, run, write_scripts

REVEAL = "https://unpkg.com/reveal.js@4.0.2"
SKIPPED = {"checks", "exercise"}
"""The tags of cells that are for readers, not for an audience."""


def with_slides(notebook: NotebookNode) -> NotebookNode:
    """The notebook with a slide for each section, and one for each cell with code and its outputs.

    A Markdown cell whose heading is in its middle is cut there, since a slide begins with its heading.
    """
    cells: list[NotebookNode] = []
    for cell in notebook.cells:
        if cell.cell_type != "markdown":
            cells.append(cell)
            continue
        parts = re.split(r"\n+(?=## )", cell.source)
        cells += [nbformat.v4.new_markdown_cell(part) for part in parts if part.strip()]
    for cell in cells:
        skipped = bool(SKIPPED & set(cell.metadata.get("tags", [])))
        begins = cell.cell_type == "code" or cell.source.startswith("#")
        kind = "skip" if skipped else "slide" if begins else "-"
        cell.metadata["slideshow"] = {"slide_type": kind}
    made = nbformat.v4.new_notebook(cells=cells, metadata=notebook.metadata)
    return nbformat.from_dict(made)


def exporter(reveal: str = REVEAL) -> SlidesExporter:
    """The exporter: reveal.js comes from `reveal`, and the widgets move as on the pages."""
    made = SlidesExporter(
        template_file=str(HERE / "slides.html.j2"), reveal_url_prefix=reveal, reveal_scroll=True
    )
    made.register_filter("markdown2html", html)
    return made


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the lessons, and writes their slides. A failed cell gives exit code 1."""
    parser = argparse.ArgumentParser(prog="python -m docs.slides", description="The lessons as slides.")
    parser.add_argument("notebooks", nargs="*", type=Path, help="some lessons; by default all of them")
    parser.add_argument("--to", type=Path, default=SITE / "slides", help="the folder to write to")
    parser.add_argument("--reveal", default=REVEAL, help="the address or folder of reveal.js 4")
    asked = parser.parse_args(arguments)
    paths = [path.resolve() for path in asked.notebooks] or sorted(NOTEBOOKS.glob("*.ipynb"))
    asked.to.mkdir(parents=True, exist_ok=True)
    try:
        for path in paths:
            with tqdm(unit="cell") as bar:
                lesson = run(path, bar)
            page, _ = exporter(asked.reveal).from_notebook_node(with_slides(lesson.notebook))
            (asked.to / lesson.page).write_text(page, encoding="utf-8")
    except FailedError as error:
        sys.exit(str(error))
    write_scripts(asked.to)
    print(f"{len(paths)} lessons: {asked.to}")


if __name__ == "__main__":
    main()
