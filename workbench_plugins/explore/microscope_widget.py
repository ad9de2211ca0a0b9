"""The FTS microscope: what the words of a question match in FTS5, one by one and together.

Its picture has a bar for each word, and for what is left when the words are joined with AND.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import traitlets

from workbench import figures
from workbench.contracts import Index
from workbench.retrieval.index_adapters import check_open
from workbench.retrieval.query import ascii_words, unicode_words
from workbench.tables import ABSENT, Table
from workbench.views.living.as_code import GIVEN
from workbench.views.living.notebook import Widget
from workbench.views.living.selection import Link, Selection
from workbench.views.living.state import setting, table_rows
from workbench_plugins.explore.microscope import (
    Dissection,
    MatchAttempt,
    Word,
    Words,
    WordSet,
    asked,
    dissect,
    sentences,
)

WORDS: Mapping[str, Words] = {"ASCII": ascii_words, "any script": unicode_words}
"""How a question is cut into words: as in OpenClaw 2026.2.13, and as in OpenClaw since 2026.2.15."""

NO_BREAK = "\N{NO-BREAK SPACE}"
MOST_DRAWN = 12
"""The number of words that have a bar."""

NAMED = 2
"""The number of systems that are named for one MATCH expression."""


class Microscope(Widget):
    """The words of a question: the rows that match each word and all together, and each system's MATCH.

    `settings` are the question and the letters that form words; `dissection` and `asked` are the numbers
    behind the picture and the tables. Raises InputError for a question that cannot be searched.
    """

    name, view, main, asks = "microscope", "microscope", "question", ("question",)
    selects: Mapping[str, str] = {"question": "question"}
    dissections: Mapping[str, Dissection]
    asked: list[MatchAttempt]

    question = setting(traitlets.Unicode())
    letters = setting(traitlets.Unicode("ASCII"))

    def __init__(self, index: Index, question: str, link: Link = True) -> None:
        check_open(index)
        super().__init__(question=question)
        self._index = index
        self.options = {"letters": list(WORDS)}
        self.begin(link)

    def look(self) -> None:
        """Dissects the question in each way to cut words, and runs the MATCH expressions of all systems."""
        found = {name: dissect(self.question, self._index, words) for name, words in WORDS.items()}
        self.dissections, self.asked = found, asked(self.question, self._index)

    @property
    def dissection(self) -> Dissection:
        """The words as the chosen letters form them."""
        return self.dissections[self.letters]

    def wanted(self, chosen: Selection) -> Mapping[str, Any]:
        """The selected question."""
        return {"question": chosen.question} if chosen.question else {}

    @property
    def facts(self) -> Mapping[str, Any]:
        ways = {name: _way(one, self._code(name)) for name, one in self.dissections.items()}
        return self.words | {"ways": ways, "sent": table_rows(builders_table(self.asked))}

    @property
    def figure(self) -> figures.Figure:
        """The chunks of each word and of all words together, as a figure of plotly."""
        return sets_figure(self.dissection)

    @property
    def sentence(self) -> str:
        """What the words match alone and together, and which to leave out."""
        return " ".join(sentences(self.dissection))

    @property
    def table(self) -> Table:
        """The words with their IDF, and then the sets of words."""
        return sets_table(self.dissection)

    @property
    def code(self) -> str:
        return self._code(self.letters)

    def _code(self, letters: str) -> str:
        words = WORDS[letters].__name__
        return (
            f"{GIVEN}"
            "from workbench_plugins.explore.microscope import asked, dissect, sentences\n"
            f"from workbench.retrieval.query import {words}\n\n"
            f"found = dissect({self.dissection.question!r}, index, {words})\n"
            "sets = {one.words: one.rows for one in found.sets}\n"
            "idf = {word.text: word.idf for word in found.words}\n"
            "matches = {one.matches: one.rows for one in asked(found.question, index)}\n"
            'print(*sentences(found), sep="\\n")'
        )


def _way(found: Dissection, code: str) -> dict[str, Any]:
    """A dissection for the page: a set of words is a text such as `101`, with a 1 for each word in it."""
    return {
        "size": found.size,
        "words": [one.text for one in found.words],
        "patterns": [{"words": _bits(words, found), "rows": rows} for words, rows in found.patterns],
        "figure": sets_figure(found).spec if found.words else None,
        "sentence": " ".join(sentences(found)),
        "table": table_rows(sets_table(found)),
        "code": code,
    }


def _bits(words: Sequence[str], found: Dissection) -> str:
    return "".join(str(int(word.text in words)) for word in found.words)


def sets_figure(found: Dissection) -> figures.Figure:
    """The chunks that have each word, all words but one, and all words, as a figure of plotly.

    Of more than MOST_DRAWN words it has the rarest, and of more than MOST_WORDS it leaves out all but one.
    Raises InputError if there is no word.
    """
    rarest = sorted(found.words, key=lambda word: word.rows)[:MOST_DRAWN]
    counts = {
        f"{word.text} (IDF {idf_text(word)})": float(word.rows) for word in found.words if word in rarest
    }
    every = len(found.words)
    if every > 1:
        counts |= {
            f"without {word.text}": float(word.without or 0)
            for word in found.words
            if every > 2 and found.complete
        }
        counts[f"all {every} words"] = float(found.every)
    if found.drop and not found.every:
        counts[f"without {', '.join(found.drop.words)}"] = float(found.drop.rows)
    return figures.bars(counts, f"chunks of {found.size}")


def idf_text(word: Word) -> str:
    """A word's IDF with two decimals; 0.000001 if it is FTS5's smallest."""
    return "0.000001" if word.floored else f"{word.idf:.2f}"


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
    said, others = one.description[0].removeprefix("MATCH = "), len(one.description) - 1
    if not others:
        return said
    return f"{said} ({others} other {'rule gives' if others == 1 else 'rules give'} the same)"
