"""The FTS microscope: a question, and what FTS5 makes of its words, one by one and together."""

from __future__ import annotations

from collections.abc import Mapping

import ipywidgets as w

from workbench.contracts import Index
from workbench.lab.microscope import Dissection, MatchAttempt, Words, WordSet, asked, dissect, sentences
from workbench.retrieval.query import ascii_words, unicode_words
from workbench.views.figures.microscope import (
    axis_updates,
    drawn,
    idf_text,
    microscope_figure,
    trace_updates,
)
from workbench.views.figures.style import live, restyle
from workbench.views.text import ABSENT
from workbench.views.widgets.panel import Table
from workbench.views.widgets.question_panel import GIVEN, Asking, question_box

WORDS: Mapping[str, Words] = {"ASCII": ascii_words, "any script": unicode_words}
"""How a question is cut into words: as OpenClaw 2026.2.13 does it, and as it does since 2026.2.15."""

NO_BREAK = "\N{NO-BREAK SPACE}"
NAMED = 2
"""How many of the systems that ask alike are named."""


class Microscope(Asking):
    """A question under the microscope: its words, the rows of each and of all together, and who asks what.

    `settings` are the question and the letters that make words; `dissection` and `asked` are the numbers
    behind the figure and the tables. Raises InputError for a question that no search can answer; one that
    is typed into the widget is refused in the status line.
    """

    name = "microscope"
    dissection: Dissection
    asked: list[MatchAttempt]

    def __init__(self, index: Index, question: str) -> None:
        self.index = index
        self.question = question_box(question)
        self.letters = w.Dropdown(options=list(WORDS), description="words of", layout={"width": "16em"})
        self.controls = {"question": self.question, "letters": self.letters}
        self.look()
        self.figure = live(microscope_figure(self.dissection))
        self.builders = w.HTML()
        self.lay_out([self.question, self.letters], w.VBox([self.figure, self.builders]))
        self.watch()

    def look(self) -> None:
        """Dissects the question, and asks it as every system does."""
        question, words = self.question.value, WORDS[self.letters.value]
        self.dissection, self.asked = dissect(question, self.index, words), asked(question, self.index)

    def draw(self) -> None:
        """Moves the figure's traces and axes to the present dissection."""
        restyle(self.figure, trace_updates(self.dissection), axis_updates(self.dissection))

    def tell(self) -> None:
        """Says the present state, the MATCH expressions included."""
        super().tell()
        self.builders.value = builders_table(self.asked).html

    @property
    def finding(self) -> str:
        """What the words find, alone and together, and what to drop."""
        said = sentences(self.dissection)
        shown, n = len(drawn(self.dissection)), len(self.dissection.words)
        return " ".join(
            [*said, *([f"The figure draws the {shown} rarest of {n} words."] if shown < n else [])]
        )

    @property
    def table(self) -> Table:
        """The words with their IDF, and then the sets of words."""
        return sets_table(self.dissection)

    @property
    def code(self) -> str:
        words = WORDS[self.letters.value].__name__
        return (
            f"{GIVEN}"
            "from workbench.lab.microscope import asked, dissect, sentences\n"
            f"from workbench.retrieval.query import {words}\n\n"
            f"found = dissect({self.dissection.question!r}, index, {words})\n"
            "sets = {one.words: one.rows for one in found.sets}\n"
            "idf = {word.text: word.idf for word in found.words}\n"
            "matches = {one.matches: one.rows for one in asked(found.question, index)}\n"
            'print(*sentences(found), sep="\\n")'
        )


def sets_table(found: Dissection) -> Table:
    """Each word with its rows and its IDF, and below them the larger sets of words."""
    idf: dict[tuple[str, ...], str] = {
        (word.text,): idf_text(word) + " (floor)" * word.floored for word in found.words
    }
    return Table(
        f"How many of {found.size} chunks have all of these words",
        ("words", "chunks", "IDF of the word"),
        tuple(
            (_set_text(one, found), str(one.rows), idf.get(one.words, ABSENT))
            for one in sorted(found.sets, key=lambda one: len(one.words))
        ),
    )


def _set_text(one: WordSet, found: Dissection) -> str:
    left_out = [word.text for word in found.words if word.text not in one.words]
    if len(one.words) == 1 or (found.complete and left_out):
        return " AND ".join(one.words)
    return f"all but {left_out[0]}" if left_out else f"all {len(one.words)} words"


def builders_table(ways: list[MatchAttempt]) -> Table:
    """What each way to ask sends to the full-text index, what it finds, and whose it is."""
    return Table(
        "What the systems ask",
        ("MATCH", "finds", "asked by", "how"),
        tuple((_match_text(one), _count_text(one), _named(one), _how(one)) for one in ways),
    )


def _match_text(one: MatchAttempt) -> str:
    if not one.matches:
        return "nothing: no word that it reads"
    return ("one by one: " if len(one.matches) > 1 else "") + " ; ".join(one.matches)


def _count_text(one: MatchAttempt) -> str:
    return f"{one.rows} of {one.of} {one.unit}".replace(" ", NO_BREAK)


def _named(one: MatchAttempt) -> str:
    named = ", ".join(one.systems[:NAMED])
    return f"{named} and {len(one.systems) - NAMED} more" if len(one.systems) > NAMED else named


def _how(one: MatchAttempt) -> str:
    others = len(one.says) - 1
    said = one.says[0].removeprefix("MATCH = ")
    return f"{said} ({others} other {'way' if others == 1 else 'ways'} to the same)" if others else said
