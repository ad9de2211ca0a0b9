"""The lessons as slides: one for each section and each cell with code, without checks and exercises."""

from __future__ import annotations

from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from docs.slides import REVEAL, exporter, with_slides


def test_a_section_and_a_cell_with_code_begin_a_slide_and_checks_are_skipped() -> None:
    checks = new_code_cell("assert True", metadata={"tags": ["checks"]})
    cells = [
        new_markdown_cell("# A\n\nOne.\n\n## B\n\nTwo."),
        new_code_cell("1"),
        new_markdown_cell("So."),
        checks,
    ]
    made = with_slides(new_notebook(cells=cells))
    kinds = [(cell.source.partition("\n")[0], cell.metadata.slideshow.slide_type) for cell in made.cells]
    assert kinds == [
        ("# A", "slide"), ("## B", "slide"), ("1", "slide"), ("So.", "-"), ("assert True", "skip"),
    ]  # fmt: skip


def test_the_slides_have_the_sections_and_the_address_of_reveal() -> None:
    made = with_slides(new_notebook(cells=[new_markdown_cell("# A\n\nOne.\n\n## B\n\nTwo.")]))
    page, _ = exporter().from_notebook_node(made)
    assert page.count("<section>") >= 2
    assert f"{REVEAL}/dist/reveal.css" in page
    assert "mathjax.org" not in page.lower()
