"""What `_repr_mimebundle_` gives: a value as HTML for notebooks, and as text for everything else."""

from __future__ import annotations

from functools import singledispatch
from io import StringIO
from typing import Any

from rich.console import Group
from rich.padding import Padding
from rich.text import Text

from workbench.records import Trace
from workbench.retrieval.explain import Explanation
from workbench.retrieval.pipeline import Pipeline
from workbench.views.console import PlainConsole
from workbench.views.html.parts import framed, part
from workbench.views.html.schematic import schematic
from workbench.views.text import WIDTH, candidates_table, explanation_text, rendered

MOST = 48
"""The number of candidates that a trace lists; `to_frame()` has all."""


def bundle(thing: Any) -> dict[str, str]:
    """The value by media type: `text/html` for a notebook, `text/plain` as `workbench.show` prints it."""
    return {"text/plain": text_of(thing), "text/html": framed(html_of(thing))}


def text_of(thing: Any) -> str:
    """What `workbench.show` prints, as a string without colours, WIDTH columns wide."""
    out = StringIO()
    PlainConsole(file=out, width=WIDTH, color_system=None, force_jupyter=False).print(rendered(thing))
    return "\n".join(line.rstrip() for line in out.getvalue().rstrip("\n").split("\n"))


@singledispatch
def html_of(thing: Any) -> str:
    """The value as HTML, without the page's style: by default the parts of its printed view."""
    return part(rendered(thing))


@html_of.register
def _trace(trace: Trace) -> str:
    """The printed view, and all candidates with their fates below it, folded."""
    if len(trace.results) == len(trace.candidates):
        return part(rendered(trace))
    every = trace.candidates
    shown = every[:MOST]
    table = part(candidates_table(shown, trace, fates=True))
    some = (
        f"all {len(every)} candidates"
        if len(every) <= MOST
        else f"the first {MOST} of {len(every)} candidates"
    )
    return f"{part(rendered(trace))}<details><summary>{some} and their fates</summary>{table}</details>"


@html_of.register
def _explanation(explanation: Explanation) -> str:
    """The printed lines; those that are not indented, which name the question and the chunks, are bold."""
    lines = explanation_text(explanation).split("\n")
    indents = [len(line) - len(line.lstrip()) for line in lines]
    texts = (Text(line.lstrip(), "" if n else "bold") for line, n in zip(lines, indents, strict=True))
    return part(Group(*(Padding.indent(text, n) for text, n in zip(texts, indents, strict=True))))


@html_of.register
def _pipeline(pipeline: Pipeline) -> str:
    """The stages as a picture, and below it what is printed."""
    return f"{schematic(pipeline)}{part(rendered(pipeline))}"
