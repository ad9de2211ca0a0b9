"""Bugs of AutoMem: each is two of its pipelines that differ in one stage."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from typing import ClassVar

from workbench.registry import register
from workbench_plugins.automem import pipelines as automem
from workbench_plugins.automem.components import ContentKeyword
from workbench_plugins.automem.memories import Memory, query_tokens
from workbench_plugins.engines.museum import TEA_AND_BIKE, Specimen, first, searched

FIVE_MEMORIES = {
    "memory/1.md": "AutoJack keeps the tea in a blue tin.",
    "memory/2.md": "There is tea in the pot.",
    "memory/3.md": "After tea and more tea to the bike shop.",
    "memory/4.md": "Bring tea for the bike ride.",
    "memory/5.md": "Drink tea before you mend one bike after another bike .",
}
WHOLE_WORDS = automem.DEAD_KEYWORD.but(automem.WHOLE_WORDS)


@dataclass(frozen=True)
class TokensOfTheContent(ContentKeyword):
    """The share of the question's tokens that are tokens of the text, both cut by the same rule."""

    says: ClassVar[str] = "keyword component = share of the tokens that are tokens of the text"

    def searched(self, memory: Memory) -> Container[str]:
        return query_tokens(memory.content)


SPECIMENS = (
    Specimen(
        name="automem-dead-keyword-weight",
        references=("verygoodplugins/automem#128", "PR#150"),
        symptom="A name that only one memory contains does not raise it: 35 % of the score is always 0.",
        mechanism="Only rows of the keyword search get keyword points, and the keyword search only fills "
        "places that the vector search leaves free: none.",
        change="the keyword component of the vector search's rows: 0, or their share of the words",
        world="two memories that are equally near; “autojack tea”",
        expected="the memory with the name comes first",
        healthy=lambda answer: first(answer) == "memory/tin.md",
        sides=searched(
            automem.DEAD_KEYWORD,
            WHOLE_WORDS,
            "autojack tea",
            {
                "memory/tin.md": "AutoJack keeps the tea in a blue tin.",
                "memory/pot.md": "There is tea in the pot.",
            },
            TEA_AND_BIKE,
        ),
    ),
    Specimen(
        name="automem-floor-cuts-more",
        references=("verygoodplugins/automem#128", "PR#101", "PR#150"),
        symptom="With a working keyword weight, fewer memories are returned than before.",
        mechanism="The adaptive floor cuts below a gap of 15 % of the top score. Keyword points widen the "
        "gaps.",
        change="the floor: 15 %, or 25 % and never more than half",
        world="five memories, one with all the words of the question",
        expected="at least half of the five are returned",
        healthy=lambda answer: len(answer) >= 3,
        sides=searched(
            WHOLE_WORDS,
            WHOLE_WORDS.but(automem.LARGER_HALF_KEPT),
            "autojack blue tin tea",
            FIVE_MEMORIES,
            TEA_AND_BIKE,
        ),
        note="While the keyword weight is dead, the same question returns all five.",
    ),
    Specimen(
        name="automem-hyphen-never-matches",
        references=("verygoodplugins/automem, automem/utils/text.py", "measured"),
        symptom="A word with a hyphen finds nothing, not even a memory that contains exactly this word.",
        mechanism="A question's tokens keep their hyphens, but a memory's words end at them: multi-hop is "
        "compared with multi and hop.",
        change="how a memory's text is cut into words: by another rule than the question, or by the same",
        world="two memories that are equally near, one of them with “multi-hop”",
        expected="the memory with the word comes first",
        healthy=lambda answer: first(answer) == "memory/multi.md",
        sides=searched(
            automem.LIVE_KEYWORD,
            automem.LIVE_KEYWORD.with_stage(TokensOfTheContent()),
            "multi-hop tea",
            {"memory/multi.md": "Over tea a multi-hop question.", "memory/one.md": "Over tea a question."},
            TEA_AND_BIKE,
        ),
        note="The fix is ours. AutoMem's first repair, which looked for substrings, did not have this fault.",
    ),
    Specimen(
        name="automem-unbounded-keyword",
        references=("verygoodplugins/automem#190", "PR#191"),
        symptom="Memories of the keyword search score 1.4 and more, above the best possible vector match.",
        mechanism="The graph's raw count, 2 for each found word, is weighted as if it were between 0 and 1.",
        change="the keyword score: the raw count, or its share of the highest count",
        world="two memories, and a question that has no vector",
        expected="the keyword search gives no more than its weight, 0.35",
        healthy=lambda answer: max(answer.values()) <= 0.35,
        sides=searched(
            automem.LIVE_KEYWORD,
            automem.LIVE_KEYWORD.but(automem.NORMALISED),
            "autojack minutes",
            {
                "memory/minutes.md": "AutoJack writes the minutes.",
                "memory/hub.md": "AutoJack mends the hub.",
            },
            TEA_AND_BIKE,
        ),
    ),
    Specimen(
        name="automem-pool-is-the-limit",
        references=("verygoodplugins/automem PR#205",),
        symptom="The keyword weight works, but the answer holds the same memories as the vector search.",
        mechanism="The search fetches as many vectors as requested results; scoring can only reorder them.",
        change="how many vectors are fetched: the limit, or four times the limit",
        world="three memories, the third nearest has the name; limit 2",
        expected="the memory with the name is returned",
        healthy=lambda answer: "memory/tin.md" in answer,
        sides=searched(
            automem.BOUNDED.asking(limit=2),
            automem.OVERFETCHED.asking(limit=2),
            "autojack tea",
            {
                "memory/pot.md": "There is tea in the pot.",
                "memory/cup.md": "Somebody left tea in a cup.",
                "memory/tin.md": "AutoJack moved the tea and the bike to the shed, the tea first.",
            },
            TEA_AND_BIKE,
        ),
    ),
)

register(*SPECIMENS)
