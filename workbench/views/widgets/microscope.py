"""The FTS microscope: what the words of a question match in FTS5, one by one and together."""

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
from workbench.views.widgets.selection import Link, Selection

WORDS: Mapping[str, Words] = {"ASCII": ascii_words, "any script": unicode_words}
"""How a question is cut into words: as in OpenClaw 2026.2.13, and as in OpenClaw since 2026.2.15."""

NO_BREAK = "\N{NO-BREAK SPACE}"
NAMED = 2
"""The number of systems that are named for one MATCH expression."""


class Microscope(Asking):
    """The words of a question: the rows that match each word and all together, and each system's MATCH.

    `settings` are the question and the letters that form words; `dissection` and `asked` are the numbers
    behind the figure and the tables. Raises InputError for a question that cannot be searched; if you type
    one into the widget, the status line says why.
    """

    name = "microscope"
    selects: Mapping[str, str] = {"question": "question"}
    dissection: Dissection
    asked: list[MatchAttempt]

    def __init__(self, index: Index, question: str, link: Link = True) -> None:
        self.index = index
        self.question = question_box(question)
        self.letters = w.Dropdown(options=list(WORDS), description="words of", layout={"width": "16em"})
        self.controls = {"question": self.question, "letters": self.letters}
        self.look()
        self.figure = live(microscope_figure(self.dissection))
        self.builders = w.HTML()
        self.watch()
        self.lay_out([self.question, self.letters], w.VBox([self.figure, self.builders]), link)

    def look(self) -> None:
        """Dissects the question, and runs the MATCH expressions of all systems."""
        question, words = self.question.value, WORDS[self.letters.value]
        self.dissection, self.asked = dissect(question, self.index, words), asked(question, self.index)

    def draw(self) -> None:
        """Updates the figure's traces and axes to the current dissection."""
        restyle(self.figure, trace_updates(self.dissection), axis_updates(self.dissection))

    def follow(self, chosen: Selection) -> None:
        """Dissects the selected question."""
        if chosen.question:
            self.take({"question": chosen.question})

    def tell(self) -> None:
        """Updates the texts, including the MATCH expressions."""
        super().tell()
        self.builders.value = builders_table(self.asked).html

    @property
    def finding(self) -> str:
        """What the words match alone and together, and which to leave out."""
        said = sentences(self.dissection)
        shown, n = len(drawn(self.dissection)), len(self.dissection.words)
        return " ".join(
            [*said, *([f"The figure shows the {shown} rarest of {n} words."] if shown < n else [])]
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
    """Each MATCH expression, what it finds, and which systems send it."""
    return Table(
        "What the systems send to FTS5",
        ("MATCH", "finds", "systems", "how it is built"),
        tuple((_match_text(one), _count_text(one), _named(one), _how(one)) for one in ways),
    )


def _match_text(one: MatchAttempt) -> str:
    if not one.matches:
        return "nothing: no usable word"
    return ("one by one: " if len(one.matches) > 1 else "") + " ; ".join(one.matches)


def _count_text(one: MatchAttempt) -> str:
    return f"{one.rows} of {one.of} {one.unit}".replace(" ", NO_BREAK)


def _named(one: MatchAttempt) -> str:
    named = ", ".join(one.systems[:NAMED])
    return f"{named} and {len(one.systems) - NAMED} more" if len(one.systems) > NAMED else named


def _how(one: MatchAttempt) -> str:
    others = len(one.says) - 1
    said = one.says[0].removeprefix("MATCH = ")
    return (
        f"{said} ({others} other {'rule gives' if others == 1 else 'rules give'} the same)"
        if others
        else said
    )
