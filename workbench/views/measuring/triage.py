"""What triage found, in words: the symptom, what to run, public bugs, and a lesson."""

from __future__ import annotations

from rich.console import Group, RenderableType

from workbench.lab.triage.finding import Fit, Triage
from workbench.views.console import plain
from workbench.views.text import rendered


@rendered.register
def rendered_triage(found: Triage) -> RenderableType:
    """The best symptom with all that it leads to, and the names of the next ones."""
    best, *others = found.fits
    head = [] if found.known else ["No known symptom is near these words. The nearest is below."]
    lines = [*head, *_lines(best), *map(_other, others)]
    return Group(*(plain(line, "bold" if line.startswith("symptom: ") else "") for line in lines))


def _lines(fit: Fit) -> list[str]:
    symptom = fit.symptom
    return [
        f"symptom: {symptom.name} ({fit.sure}, cosine {fit.cosine:.2f} with “{fit.nearest}”)",
        f"  {symptom.says}",
        *(f"  run: {one}" for one in symptom.checks),
        *(
            f"  like it: workbench museum {one.name} ({', '.join(one.references[:2])})"
            for one in fit.specimens
        ),
        f"  lesson: workbench lab, notebooks/{symptom.lesson}.ipynb",
    ]


def _other(fit: Fit) -> str:
    return f"or: {fit.symptom.name} ({fit.sure}, cosine {fit.cosine:.2f})"
