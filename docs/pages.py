"""Runs the notebooks, and writes them as HTML pages that need no kernel and no network.

python -m docs.pages [--to SITE] [NOTEBOOK ...]
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
import nbformat
from latex2mathml.converter import convert as mathml
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbconvert import HTMLExporter
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath
from nbformat import NotebookNode
from tqdm import tqdm

from docs.still import still
from workbench.measure.evaluation import evaluate
from workbench.measure.questions import load_questions
from workbench.memory.opening import open_index
from workbench.systems.openclaw import SHIPPED, THREE_FIXES
from workbench.views.living import script, style
from workbench.views.plotlyjs import figure_html, figures_script, figures_style, plotly_script
from workbench.views.widgets.threshold import ThresholdLab

HERE = Path(__file__).parent
PROJECT = HERE.parent
NOTEBOOKS = PROJECT / "notebooks"
MEMORY = PROJECT / "sample_memory"
SITE = PROJECT / "site"
SECONDS_A_CELL = 600
FIGURE = "application/vnd.plotly.v1+json"
"""The form in which a notebook has a figure of plotly."""
ABOUT = "Hybrid search over an agent's memory: how it fails, in lessons whose widgets move without a kernel."
PICTURES = HERE / "pictures"
"""What `python -m docs.pictures` takes from the pages."""
PREVIEW = PICTURES / "threshold-lab-light.webp"
"""What a link to the site shows."""
KERNEL = [
    "--InteractiveShellApp.extensions=docs.still",
    "--InteractiveShellApp.reraise_ipython_extension_failures=True",
    "--log-level=ERROR",  # hides the kernel's warning about its loopback address
]


class FailedError(Exception):
    """A cell failed: the message names the notebook, the cell and the error."""


@dataclass(frozen=True)
class Lesson:
    """A notebook that has run; `name` is its path in the notebooks folder, without the ending."""

    name: str
    notebook: NotebookNode

    @property
    def page(self) -> str:
        """The path of its page in the site."""
        return f"{self.name}.html"

    @property
    def root(self) -> str:
        """The relative path from its page to the site's root."""
        return "../" * self.name.count("/")

    @property
    def title(self) -> str:
        """The first heading."""
        return self._first[0].lstrip("# ")

    @property
    def opening(self) -> str:
        """The first paragraph, as HTML."""
        return html(self._first[1])

    @property
    def _first(self) -> list[str]:
        return re.split(r"\n\s*\n", self.notebook.cells[0].source.strip(), maxsplit=2)


class Markup(IPythonRenderer):
    """Renders Markdown with formulas as MathML, and with links to pages instead of notebooks."""

    def block_math(self, body: str) -> str:
        return str(mathml(body, display="block"))

    def inline_math(self, body: str) -> str:
        return str(mathml(body))

    def link(self, text: str, url: str, title: str | None = None) -> str:
        return str(super().link(text, re.sub(r"^(?!\w+:)(.*)\.ipynb\b", r"\1.html", url), title))


def html(markdown: str) -> str:
    """Converts Markdown to HTML without scripts."""
    return MarkdownWithMath(renderer=Markup(escape=False, exclude_anchor_links=True)).render(markdown)


def run(path: Path, bar: tqdm[Any]) -> Lesson:
    """Runs the notebook at `path` from top to bottom; its figures and widgets become static HTML.

    Raises FailedError if a cell fails, takes too long, or ends the kernel.
    """
    notebook = nbformat.read(path, as_version=4)
    notebook.metadata.pop("widgets", None)  # a lesson that was run here keeps them, and they ask the network
    name = f"solutions/{path.stem}" if path.parent.name == "solutions" else path.stem
    bar.set_description(name)
    started: list[NotebookNode] = []

    def begin(cell: NotebookNode, **_: Any) -> None:
        started.append(cell)
        bar.update()

    client = NotebookClient(
        notebook,
        timeout=SECONDS_A_CELL,
        startup_timeout=SECONDS_A_CELL,
        iopub_timeout=60,
        store_widget_state=True,  # nbclient needs it for a cell whose output is a widget of ipywidgets
        resources={"metadata": {"path": str(path.parent)}},
        extra_arguments=KERNEL,
        on_cell_execute=begin,
    )
    search_path = os.pathsep.join(filter(None, [str(PROJECT), os.environ.get("PYTHONPATH")]))
    try:
        client.execute(env=os.environ | {"PYTHONPATH": search_path})
    except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
        source = "".join(f"    {line}\n" for line in started[-1].source.splitlines())
        place = f"{name}.ipynb, In [{len(started)}]"
        raise FailedError(f"{place} failed:\n{source}{_reason(error)}") from None
    notebook.metadata.pop("widgets", None)
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if FIGURE in output.get("data", {}):
                output.data["text/html"] = figure_html(output.data.pop(FIGURE))
    return Lesson(name, notebook)


def _reason(error: Exception) -> str:
    return f"{error.ename}: {error.evalue}" if isinstance(error, CellExecutionError) else str(error)


def exporter() -> HTMLExporter:
    """The exporter from notebooks to pages: JupyterLab's look, without external resources."""
    made = HTMLExporter(template_file=str(HERE / "page.html.j2"))
    made.register_filter("markdown2html", html)
    return made


def small(name: str) -> str:
    """The name of a lesson's first picture for the list of lessons, without `-light.webp` or `-dark.webp`."""
    return f"lesson-{name}"


def ways(lesson: Lesson, lessons: Sequence[Lesson]) -> Iterator[tuple[str, str]]:
    """The links of a page to other pages: label and page."""
    yield "All notebooks", "index.html"
    pages = [one.page for one in lessons]
    other = lesson.page.removeprefix("solutions/") if "/" in lesson.page else f"solutions/{lesson.page}"
    if other in pages:
        yield ("Its lesson" if "/" in lesson.page else "Its solutions"), other
    beside = [one for one in lessons if one.root == lesson.root]
    here = beside.index(lesson)
    if here:
        yield f"Previous: {beside[here - 1].title}", beside[here - 1].page
    if here + 1 < len(beside):
        yield f"Next: {beside[here + 1].title}", beside[here + 1].page


def contents(lessons: Sequence[Lesson], first: str = "") -> str:
    """The page that lists the lessons in reading order, below `first`, the HTML of a widget."""
    pages = {one.page for one in lessons}
    listed = [
        {
            "page": one.page,
            "title": one.title,
            "opening": one.opening,
            "picture": small(one.name) if (PICTURES / f"{small(one.name)}-light.webp").exists() else None,
            "solutions": f"solutions/{one.page}" if f"solutions/{one.page}" in pages else None,
        }
        for one in lessons
        if not one.root or one.page.removeprefix("solutions/") not in pages
    ]
    template = jinja2.Environment(loader=jinja2.FileSystemLoader(HERE)).get_template("index.html.j2")
    return template.render(lessons=listed, first=first, about=ABOUT)


def write(lessons: Sequence[Lesson], site: Path) -> None:
    """Writes the pages, the table of contents, and the shared files into `site`."""
    made = exporter()
    site.mkdir(parents=True, exist_ok=True)
    for lesson in lessons:
        lesson.notebook.metadata.title = lesson.title
        resources = {"root": lesson.root, "ways": list(ways(lesson, lessons))}
        page, _ = made.from_notebook_node(lesson.notebook, resources)
        (site / lesson.page).parent.mkdir(exist_ok=True)
        page = with_shared_style(page, lesson.root, site)
        (site / lesson.page).write_text(page, encoding="utf-8")
    (site / "index.html").write_text(contents(lessons, still(lab(MEMORY))), encoding="utf-8")
    write_scripts(site)
    shutil.copy(PREVIEW, site / "preview.webp")
    for picture in PICTURES.glob(f"{small('*')}.webp"):
        shutil.copy(picture, site)
    shutil.copy(HERE / "page.css", site)


def write_scripts(folder: Path) -> None:
    """Writes what the pages of a folder load: the living view, plotly.js, and what draws figures with it."""
    for name, text in {
        "living.js": script(),
        "living.css": style(),
        "plotly.js": plotly_script(),
        "figures.js": figures_script(),
        "figures.css": figures_style(),
    }.items():
        (folder / name).write_text(text, encoding="utf-8")


def with_shared_style(page: str, root: str, site: Path) -> str:
    """The page with a link in place of each large style: JupyterLab's, which is the same on every page.

    The page is light or dark as the browser is, and not JupyterLab's light theme always.
    """

    def link(found: re.Match[str]) -> str:
        name = f"notebook-{hashlib.sha256(found[1].encode()).hexdigest()[:8]}.css"
        (site / name).write_text(found[1], encoding="utf-8")
        return f'<link rel="stylesheet" href="{root}{name}">'

    page = re.sub(r"<body[^>]*>", '<body class="jp-Notebook">', page, count=1)
    return re.sub(r"<style[^>]*>([^<]{20000,})</style>", link, page)


def lab(memory: Path) -> ThresholdLab:
    """The threshold lab over the labelled questions of a memory, which is indexed."""
    with open_index(memory) as index:
        found = evaluate(load_questions(memory / "questions.yaml"), [SHIPPED, THREE_FIXES], index)
    return ThresholdLab(found, link=False)


def every_notebook() -> list[Path]:
    """The lessons in reading order, then their solutions."""
    return sorted(NOTEBOOKS.glob("*.ipynb")) + sorted((NOTEBOOKS / "solutions").glob("*.ipynb"))


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the notebooks, and writes the site after all have run. A failed cell gives exit code 1."""
    parser = argparse.ArgumentParser(prog="python -m docs.pages", description="The notebooks as HTML pages.")
    parser.add_argument("notebooks", nargs="*", type=Path, help="some notebooks; by default all of them")
    parser.add_argument("--to", type=Path, default=SITE, help="the folder to write to")
    asked = parser.parse_args(arguments)
    paths = [path.resolve() for path in asked.notebooks] or every_notebook()
    cells = [cell for path in paths for cell in nbformat.read(path, as_version=4).cells]
    try:
        with tqdm(total=sum(cell.cell_type == "code" for cell in cells), unit="cell") as bar:
            lessons = [run(path, bar) for path in paths]
    except FailedError as error:
        sys.exit(str(error))
    write(lessons, asked.to)
    print(f"{len(lessons)} pages: {asked.to / 'index.html'}")


if __name__ == "__main__":
    main()
