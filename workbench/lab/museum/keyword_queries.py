"""Bugs in the MATCH expression that a question becomes."""

from __future__ import annotations

from collections.abc import Callable

from workbench.lab.museum.sides import SERVER_AND_GARDEN, computed, searched, small_memory
from workbench.lab.museum.specimen import Answer, Sides, Specimen, by_score
from workbench.memory.store.sqlite.match import quoted
from workbench.records import Query
from workbench.systems.openclaw.pipelines import OR_JOIN, SHIPPED

NO_FLOOR = SHIPPED.asking(min_score=0.0)

MAILS = {"case/mail.md": "Two mails came from @jpl.nasa.gov on Tuesday.", "case/call.md": "A call from home."}
LISTED = set('"./$:^{}()*+-~')


def listed_only(token: str) -> str:
    """The token in quotes if it contains a listed character, and else as it is."""
    return quoted(token) if LISTED & set(token) else token


def _found(quote: Callable[[str], str], question: str) -> Answer:
    match = " ".join(quote(token) for token in question.split())
    with small_memory(MAILS, SERVER_AND_GARDEN) as index:
        try:
            hits = index.keyword(Query(expression=match), 5)
        except Exception:  # mulder swallows every error of FTS5, and this reproduces it
            return {}
        paths = [chunk.path for chunk in index.chunks(hits.rows)]
        return by_score(dict(zip(paths, (-hits.raw).tolist(), strict=True)))


SPECIMENS = (
    Specimen(
        name="openclaw-and-join",
        references=("openclaw/openclaw#15226", "#39484", "PR#15234"),
        symptom="A question of several words finds nothing, although a note contains most of them.",
        mechanism="The words are joined with AND, so one missing word empties the keyword leg.",
        change="how the words of the question are joined",
        world="four notes, one about Rocky Point; “Rocky Point bagging operations”",
        expected="the note about Rocky Point is found",
        healthy=lambda answer: "memory/depot.md" in answer,
        sides=searched(NO_FLOOR, NO_FLOOR.but(OR_JOIN), "Rocky Point bagging operations"),
        note="Both sides have a floor of 0, so that only the join differs.",
    ),
    Specimen(
        name="mulder-silent-syntax-error",
        references=("calebevans/mulder#152", "PR#155", "meta_skill PR#100", "powercontext PR#1125"),
        symptom="A search for “@nasa” reports no hits, although many notes contain it.",
        mechanism="FTS5 accepts only letters, digits and _ without quotes. The list of characters to quote "
        "lacked @, so the expression was a syntax error, and the error was swallowed.",
        change="which tokens are quoted: those with a listed character, or all",
        world="two notes, one with @jpl.nasa.gov; “@nasa”",
        expected="the note with the address is found",
        healthy=lambda answer: "case/mail.md" in answer,
        sides=Sides(
            computed(
                "quote a token that has a listed character; an error is no hits", _found, listed_only, "@nasa"
            ),
            computed("quote every token", _found, quoted, "@nasa"),
        ),
    ),
)
