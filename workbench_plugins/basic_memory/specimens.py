"""Bugs of Basic Memory: each is two of its pipelines that differ in one stage, or in their layout."""

from __future__ import annotations

from workbench.registry import register
from workbench_plugins.basic_memory import pipelines as basic_memory
from workbench_plugins.engines.museum import TEA_AND_BIKE, Specimen, first, searched

MILL = {"notes/mill.md": "The mill is shut on Sundays."}
SESSIONS = {
    "notes/s01 talk.md": "Ada likes identity politics, identity papers and identity theory.",
    "notes/s02 talk.md": "Nothing was said.",
    "notes/s03 talk.md": "The kettle was mended.",
}
IDENTITY = "What is Ada's identity?"
CYRILLIC = "кто чинит колесо завтра"

SPECIMENS = (
    Specimen(
        name="basic-memory-dead-full-text",
        references=("basicmachines-co/basic-memory PR#994",),
        symptom="Hybrid search gives every question exactly the answer of vector search.",
        mechanism="A question mark turns the whole question into a phrase, and no note contains that phrase.",
        change="punctuation at the ends of words: kept, or removed",
        world="two notes, one with every word of “Who packs the bark?”",
        expected="the note with all the words is found",
        healthy=lambda answer: "notes/depot.md" in answer,
        sides=searched(
            basic_memory.DEAD_FTS,
            basic_memory.DEAD_FTS.but(basic_memory.PUNCTUATION),
            "Who packs the bark?",
            {"notes/depot.md": "Bark: Ada packs it, the others carry it, whoever they are."} | MILL,
            TEA_AND_BIKE,
        ),
        note="On LoCoMo the full-text leg was empty for every question.",
    ),
    Specimen(
        name="basic-memory-ungated-relaxation",
        references=("basicmachines-co/basic-memory PR#994", "16869867"),
        symptom="A search for SPEC 16, which does not exist, returns SPEC 9 with the highest possible score.",
        mechanism="If no note has all the words, one word is enough; and the best hit of a leg always scores "
        "1.",
        change="which questions are relaxed: all, or those with three words or more and without a number",
        world="two notes, one about another specification; “SPEC 16”",
        expected="nothing is found",
        healthy=lambda answer: not answer,
        sides=searched(
            basic_memory.UNGATED,
            basic_memory.UNGATED.but(basic_memory.GATE),
            "SPEC 16",
            {"notes/nine.md": "SPEC 9 says how a kiln is shut."} | MILL,
            TEA_AND_BIKE,
        ),
        note="The gate has a price: on LoCoMo it costs 1.4 to 4.1 points of recall@5.",
    ),
    Specimen(
        name="basic-memory-title-buries-body",
        references=("basicmachines-co/basic-memory PR#1022", "measured"),
        symptom="If a word is in every title, the note with all the words scores no better than the others.",
        mechanism="title MATCH q OR content_stems MATCH q is two scans; a row that the title's scan finds is "
        "scored on its title alone.",
        change="the WHERE clause: a MATCH for each column, or one over both",
        world=f"three notes whose titles begin with s; “{IDENTITY}”",
        expected="the note about identity comes first",
        healthy=lambda answer: first(answer) == "notes/s01 talk.md",
        sides=searched(basic_memory.CJK_REGRESS, basic_memory.ONE_MATCH, IDENTITY, SESSIONS, TEA_AND_BIKE),
        note="The fix is ours, and was never shipped. On LoCoMo the defect costs ten points of recall@5.",
    ),
    Specimen(
        name="basic-memory-possessive-s",
        references=("basicmachines-co/basic-memory PR#1022", "PR#1269"),
        symptom="A question with a possessive finds every note whose title has a word that begins with s.",
        mechanism="Ada's is cut into ada and s, and the query searches for the prefix s*.",
        change="a word: ASCII letters and digits, or letters of any script with their apostrophes",
        world=f"three notes whose titles begin with s; “{IDENTITY}”",
        expected="the note about identity comes first",
        healthy=lambda answer: first(answer) == "notes/s01 talk.md",
        sides=searched(
            basic_memory.CJK_REGRESS,
            basic_memory.CJK_REGRESS.but(basic_memory.UNICODE_TOKENS),
            IDENTITY,
            SESSIONS,
            TEA_AND_BIKE,
        ),
        note="This is the shipped repair; the defect of basic-memory-title-buries-body remains behind it.",
    ),
    Specimen(
        name="basic-memory-non-latin-never-relaxed",
        references=("basicmachines-co/basic-memory PR#1022", "PR#1269"),
        symptom="The second try, which helps questions in English, never helps a question in Russian.",
        mechanism="The gate counts words by [A-Za-z0-9]+. A question in Cyrillic has none, which is too few.",
        change="a word: ASCII letters and digits, or letters of any script",
        world=f"two notes, one with two of the four words of “{CYRILLIC}” (who mends the wheel tomorrow)",
        expected="the note with two of the words is found",
        healthy=lambda answer: "notes/колесо.md" in answer,
        sides=searched(
            basic_memory.GATED,
            basic_memory.GATED.but(basic_memory.UNICODE_TOKENS),
            CYRILLIC,
            {"notes/колесо.md": "Колесо чинит Аня."} | MILL,
            TEA_AND_BIKE,
        ),
    ),
    Specimen(
        name="basic-memory-diluted-score",
        references=("basicmachines-co/basic-memory#577",),
        symptom="A note that matches in meaning and in every word scores 3 %.",
        mechanism="A rank fusion gives at most 1/61 from each leg, however well a note matches.",
        change="the fusion: weighted ranks, or the larger score plus a bonus",
        world="two notes; both legs rank one of them first, with a cosine of 1",
        expected="the best note scores at least 0.5",
        healthy=lambda answer: max(answer.values()) >= 0.5,
        sides=searched(
            basic_memory.SCORED_RRF,
            basic_memory.SCORED_RRF.but(basic_memory.FUSION),
            "cups of tea",
            {"notes/tea.md": "Two cups of tea a day."} | MILL,
            TEA_AND_BIKE,
        ),
        note="In the report 65 % became 3.2 %.",
    ),
)

register(*SPECIMENS)
