"""Specimens that are two releases of AutoMem, or of Basic Memory, apart in one stage or in their view."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from typing import ClassVar

from workbench.lab.museum.specimen import Specimen, first, searched
from workbench.systems.automem import pipelines as automem
from workbench.systems.automem.components import ContentKeyword
from workbench.systems.automem.memories import Memory
from workbench.systems.automem.text import query_tokens
from workbench.systems.basic_memory import pipelines as basic_memory

AXES = {"tea": ("tea",), "bike": ("bike",)}
"""What the vector leg understands: how much a text is about tea, and how much about bikes."""

# AutoMem

TINS = {
    "memory/tin.md": "AutoJack keeps the tea in a blue tin.",
    "memory/pot.md": "There is tea in the pot.",
}
DEAD, ALIVE = searched(
    automem.DEAD_KEYWORD, automem.DEAD_KEYWORD.but(automem.WHOLE_WORDS), "autojack tea", TINS, AXES
)

DEAD_WEIGHT = Specimen(
    name="automem-dead-keyword-weight",
    references=("verygoodplugins/automem#128", "PR#150"),
    symptom="A name that stands in one memory alone does not bring it up: 35 % of the score is always 0.",
    mechanism="Keyword points go to rows of the keyword search, and that is only asked for places which the "
    "vector search leaves: none.",
    change="the keyword component of the vector search's rows: 0, or the share of words that they have",
    world="two memories that are equally near; “autojack tea”",
    expected="the memory that has the name comes first",
    healthy=lambda answer: first(answer) == "memory/tin.md",
    shipped=DEAD,
    fixed=ALIVE,
)

SHELF = {
    "memory/1.md": "AutoJack keeps the tea in a blue tin.",
    "memory/2.md": "There is tea in the pot.",
    "memory/3.md": "After tea and more tea to the bike shop.",
    "memory/4.md": "Bring tea for the bike ride.",
    "memory/5.md": "Drink tea before you mend one bike after another bike .",
}
MENDED = automem.DEAD_KEYWORD.but(automem.WHOLE_WORDS)
CUTTING, GUARDED = searched(
    MENDED, MENDED.but(automem.LARGER_HALF_KEPT), "autojack blue tin tea", SHELF, AXES
)

MORE_IS_CUT = Specimen(
    name="automem-floor-cuts-more",
    references=("verygoodplugins/automem#128", "PR#101", "PR#150"),
    symptom="Once the keyword weight works, fewer memories come back than before.",
    mechanism="The adaptive floor cuts below a gap of 15 % of the top score. Keyword points widen the gaps.",
    change="the floor: 15 %, or 25 % and never more than half",
    world="five memories, one with all the words of the question",
    expected="at least half of the five are returned",
    healthy=lambda answer: len(answer) >= 3,
    shipped=CUTTING,
    fixed=GUARDED,
    note="With the keyword weight still dead the same question gets all five.",
)


@dataclass(frozen=True)
class TokensOfTheContent(ContentKeyword):
    """The share of the tokens that the content has, cut as the question is cut."""

    says: ClassVar[str] = "keyword component = share of the tokens that are tokens of the text"

    def reads(self, memory: Memory) -> Container[str]:
        return query_tokens(memory.content)


HOPS = {"memory/multi.md": "Over tea a multi-hop question.", "memory/one.md": "Over tea a question."}
SPLIT, WHOLE = searched(
    automem.LIVE_KEYWORD, automem.LIVE_KEYWORD.with_stage(TokensOfTheContent()), "multi-hop tea", HOPS, AXES
)

HYPHEN = Specimen(
    name="automem-hyphen-never-matches",
    references=("verygoodplugins/automem, automem/utils/text.py", "measured"),
    symptom="A word with a hyphen finds nothing, not even the memory that has it letter for letter.",
    mechanism="A question's tokens keep their hyphens, a memory's words end at them: multi-hop against "
    "multi and hop.",
    change="how a memory's text is cut into words: another way than the question, or the same",
    world="two memories that are equally near, one of them with “multi-hop”",
    expected="the memory that has the word comes first",
    healthy=lambda answer: first(answer) == "memory/multi.md",
    shipped=SPLIT,
    fixed=WHOLE,
    note="The fix is ours. The first repair, which looked for substrings, did not have the fault.",
)

MINUTES = {
    "memory/minutes.md": "AutoJack writes the minutes.",
    "memory/hub.md": "AutoJack mends the hub.",
}
RAW, OVER_BEST = searched(
    automem.LIVE_KEYWORD, automem.LIVE_KEYWORD.but(automem.NORMALISED), "autojack minutes", MINUTES, AXES
)

UNBOUNDED = Specimen(
    name="automem-unbounded-keyword",
    references=("verygoodplugins/automem#190", "PR#191"),
    symptom="Memories of the keyword search score 1.4 and more, above the best vector match there can be.",
    mechanism="The graph's raw count, 2 for each word found, is weighted as if it went from 0 to 1.",
    change="the keyword score: the raw count, or its share of the highest count",
    world="two memories, and a question for which there is no vector",
    expected="the keyword search gives no more than its weight, 0.35",
    healthy=lambda answer: max(answer.values()) <= 0.35,
    shipped=RAW,
    fixed=OVER_BEST,
)

CROWD = {
    "memory/pot.md": "There is tea in the pot.",
    "memory/cup.md": "Somebody left tea in a cup.",
    "memory/tin.md": "AutoJack moved the tea and the bike to the shed, the tea first.",
}
NARROW, WIDE = searched(
    automem.BOUNDED.asking(limit=2), automem.OVERFETCHED.asking(limit=2), "autojack tea", CROWD, AXES
)

POOL = Specimen(
    name="automem-pool-is-the-limit",
    references=("verygoodplugins/automem PR#205",),
    symptom="The keyword weight works, and what is returned is what the vector search would have returned.",
    mechanism="As many vectors are fetched as results are asked for, so scoring can only reorder them.",
    change="how many vectors are fetched: the limit, or four times that",
    world="three memories, the third nearest has the name; limit 2",
    expected="the memory that has the name is returned",
    healthy=lambda answer: "memory/tin.md" in answer,
    shipped=NARROW,
    fixed=WIDE,
)

# Basic Memory

DEPOT = {
    "notes/depot.md": "Bark: Ada packs it, the others carry it, whoever they are.",
    "notes/mill.md": "The mill is shut on Sundays.",
}
PHRASE, WORDS = searched(
    basic_memory.DEAD_FTS,
    basic_memory.DEAD_FTS.but(basic_memory.PUNCTUATION),
    "Who packs the bark?",
    DEPOT,
    AXES,
)

DEAD_FTS = Specimen(
    name="basic-memory-dead-full-text",
    references=("basicmachines-co/basic-memory PR#994",),
    symptom="Hybrid search answers every question exactly as vector search does.",
    mechanism="A question mark makes one phrase of the question, and no note has a question for a phrase.",
    change="what is done about punctuation at the ends of words: nothing, or it is taken off",
    world="two notes, one with every word of “Who packs the bark?”",
    expected="the note with all the words is found",
    healthy=lambda answer: "notes/depot.md" in answer,
    shipped=PHRASE,
    fixed=WORDS,
    note="On LoCoMo every question's full-text leg was empty.",
)

SPECS = {"notes/nine.md": "SPEC 9 says how a kiln is shut.", "notes/mill.md": "The mill is shut on Sundays."}
ANY_WORD, GATED = searched(
    basic_memory.UNGATED, basic_memory.UNGATED.but(basic_memory.GATE), "SPEC 16", SPECS, AXES
)

UNGATED = Specimen(
    name="basic-memory-ungated-relaxation",
    references=("basicmachines-co/basic-memory PR#994", "16869867"),
    symptom="Asked for SPEC 16, which is not on file, it answers SPEC 9 with the highest score there is.",
    mechanism="When not all words are found, any is enough; and the best of a leg always scores 1.",
    change="which questions are relaxed: all, or those of three words and more without a number",
    world="two notes, one about another specification; “SPEC 16”",
    expected="nothing is found",
    healthy=lambda answer: not answer,
    shipped=ANY_WORD,
    fixed=GATED,
    note="The gate has its price: on LoCoMo it costs 1.4 to 4.1 points of recall@5.",
)

SESSIONS = {
    "notes/s01 talk.md": "Ada likes identity politics, identity papers and identity theory.",
    "notes/s02 talk.md": "Nothing was said.",
    "notes/s03 talk.md": "The kettle was mended.",
}
IDENTITY = "What is Ada's identity?"
TITLE_FIRST, ONE_SCAN = searched(basic_memory.CJK_REGRESS, basic_memory.ONE_MATCH, IDENTITY, SESSIONS, AXES)

BURIED = Specimen(
    name="basic-memory-title-buries-body",
    references=("basicmachines-co/basic-memory PR#1022", "measured"),
    symptom="A word in everybody's title, and the note with all the words is no better than the others.",
    mechanism="title MATCH q OR content_stems MATCH q is two scans; a row that the title's scan finds is "
    "scored on its title alone.",
    change="the WHERE clause: a MATCH for each column, or one over both",
    world=f"three notes whose titles begin with s; “{IDENTITY}”",
    expected="the note about identity comes first",
    healthy=lambda answer: first(answer) == "notes/s01 talk.md",
    shipped=TITLE_FIRST,
    fixed=ONE_SCAN,
    note="The fix is ours, and was never shipped. On LoCoMo the defect costs ten points of recall@5.",
)

LETTER_S, WHOLE_WORD = searched(
    basic_memory.CJK_REGRESS,
    basic_memory.CJK_REGRESS.but(basic_memory.UNICODE_TOKENS),
    IDENTITY,
    SESSIONS,
    AXES,
)

POSSESSIVE = Specimen(
    name="basic-memory-possessive-s",
    references=("basicmachines-co/basic-memory PR#1022", "PR#1269"),
    symptom="A possessive in the question, and every note whose title has a word with s is found.",
    mechanism="Ada's is cut into ada and s, and s is looked for as the prefix s*.",
    change="what a word is: ASCII letters and digits, or letters of any script with their apostrophes",
    world=f"three notes whose titles begin with s; “{IDENTITY}”",
    expected="the note about identity comes first",
    healthy=lambda answer: first(answer) == "notes/s01 talk.md",
    shipped=LETTER_S,
    fixed=WHOLE_WORD,
    note="This is how it was repaired; basic-memory-title-buries-body is still there behind it.",
)

WHEEL = {"notes/колесо.md": "Колесо чинит Аня.", "notes/mill.md": "The mill is shut on Sundays."}
CYRILLIC = "кто чинит колесо завтра"
ASCII_ONLY, ANY_SCRIPT = searched(
    basic_memory.GATED, basic_memory.GATED.but(basic_memory.UNICODE_TOKENS), CYRILLIC, WHEEL, AXES
)

NON_LATIN = Specimen(
    name="basic-memory-non-latin-never-relaxed",
    references=("basicmachines-co/basic-memory PR#1022", "PR#1269"),
    symptom="The second try that helps every question in English helps none in Russian.",
    mechanism="The gate counts words by [A-Za-z0-9]+. A question in Cyrillic has none, which is too few.",
    change="what a word is: ASCII letters and digits, or letters of any script",
    world=f"two notes, one with two of the four words of “{CYRILLIC}” (who mends the wheel tomorrow)",
    expected="the note with two of the words is found",
    healthy=lambda answer: "notes/колесо.md" in answer,
    shipped=ASCII_ONLY,
    fixed=ANY_SCRIPT,
)

CUPS = {"notes/tea.md": "Two cups of tea a day.", "notes/mill.md": "The mill is shut on Sundays."}
RANKS, SCORES = searched(
    basic_memory.SCORED_RRF, basic_memory.SCORED_RRF.but(basic_memory.FUSION), "cups of tea", CUPS, AXES
)

DILUTED = Specimen(
    name="basic-memory-diluted-score",
    references=("basicmachines-co/basic-memory#577",),
    symptom="A note that matches in meaning and in every word is shown with 3 %.",
    mechanism="A rank fusion's best is 1/61 from each leg, however well a note matches.",
    change="the fusion: weighted ranks, or the larger score and a bonus",
    world="two notes, one that both legs put first, with a cosine of 1",
    expected="the best note scores at least 0.5",
    healthy=lambda answer: max(answer.values()) >= 0.5,
    shipped=RANKS,
    fixed=SCORES,
    note="In the report 65 % became 3.2 %.",
)

SPECIMENS = (
    DEAD_WEIGHT,
    MORE_IS_CUT,
    HYPHEN,
    UNBOUNDED,
    POOL,
    DEAD_FTS,
    UNGATED,
    BURIED,
    POSSESSIVE,
    NON_LATIN,
    DILUTED,
)
