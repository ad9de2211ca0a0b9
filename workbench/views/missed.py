"""Where right files are lost, as tables: missed questions, the steps of a search, and floors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from rich.console import Group, RenderableType

from workbench.lab.missed import Missed, MissedQuestions
from workbench.lab.survival import Survival, Survivals, SurvivalStep
from workbench.lab.thresholds import Outcome, Scores
from workbench.views.console import PlainTable, plain
from workbench.views.text import ABSENT, rendered


def rendered_missed(missed: Mapping[str, Sequence[Missed]]) -> RenderableType:
    """The missed questions of each system, one line per question: the fate of the file, question and file."""
    parts: list[RenderableType] = []
    for system, questions in missed.items():
        parts += [plain(""), plain(_heading(system, questions), "bold")]
        if questions:
            parts.append(_table(questions))
    return Group(*parts)


@rendered.register
def rendered_missed_questions(missed: MissedQuestions) -> RenderableType:
    """The missed questions of one system."""
    return rendered_missed({missed.system: missed})


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


@rendered.register(Survivals)
def rendered_survivals(survivals: Sequence[Survival]) -> RenderableType:
    """One line per step, one column per system: the number of questions whose target is left."""
    table = PlainTable(pad_edge=False)
    table.add_column("questions whose target is")
    for one in survivals:
        table.add_column(one.system, justify="right")
    for step in SurvivalStep:
        table.add_row(step.says, *(str(one.count(step)) for one in survivals))
    return table


@rendered.register
def rendered_survival(survival: Survival) -> RenderableType:
    """The steps of one system."""
    return rendered_survivals([survival])


@rendered.register
def rendered_scores(scores: Scores) -> RenderableType:
    """One line per floor: the questions that hit, the precision, and the unanswerable questions."""
    table = PlainTable(pad_edge=False)
    heads = ("floor", "questions\nwith a hit", "returned chunks\nof the right file", "precision")
    for head in (*heads, "unanswerable,\nnothing\nreturned"):
        table.add_column(head, justify="right")
    table.add_column("")
    for floor in scores.floors:
        own = "its own floor" if floor == scores.floor else ""
        table.add_row(f"{floor:g}", *_cells(scores.at(floor)), own)
    return Group(plain(scores.system, "dim"), table)


def _cells(outcome: Outcome) -> list[str]:
    precision = outcome.precision
    return [
        f"{outcome.hits.hits}/{outcome.hits.n}",
        f"{outcome.right.hits}/{outcome.right.n}",
        ABSENT if precision is None else f"{precision:.1%}",
        f"{outcome.silent.hits}/{outcome.silent.n}" if outcome.silent.n else ABSENT,
    ]
