"""The questions that pipelines missed, as tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from rich.console import Group, RenderableType

from workbench.lab.missed import Missed
from workbench.views.console import PlainTable, plain


def rendered_missed(missed: Mapping[str, Sequence[Missed]]) -> RenderableType:
    """The missed questions of each system, one line per question: the fate of the file, question and file."""
    parts: list[RenderableType] = []
    for system, questions in missed.items():
        parts += [plain(""), plain(_heading(system, questions), "bold")]
        if questions:
            parts.append(_table(questions))
    return Group(*parts)


def _heading(system: str, questions: Sequence[Missed]) -> str:
    if not questions:
        return f"{system} missed no question"
    fates = Counter(one.fate for one in questions)
    counted = ", ".join(f"{count} {fate}" for fate, count in fates.most_common())
    return f"{system} missed {len(questions)} (file {counted})"


def _table(questions: Sequence[Missed]) -> PlainTable:
    table = PlainTable("the file is", "question", "file that answers it")
    for one in questions:
        table.add_row(one.fate, one.question, one.target)
    return table
