"""Specimens that are two searches of a few notes, apart in one stage."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from workbench.lab.museum.specimen import Answer, Specimen, by_score, computed, searched, small_memory
from workbench.records import Hits, Trace
from workbench.retrieval.cutoff import MinScore
from workbench.retrieval.legs import Context, Depth, KeywordLeg, Union, VectorLeg
from workbench.retrieval.pipeline import Pipeline
from workbench.retrieval.query import quoted
from workbench.retrieval.scoring import relevance
from workbench.systems.engines.presets import PIPELINES
from workbench.systems.openclaw.pipelines import OR_JOIN, SHIPPED

ENGINE = {pipeline.name: pipeline for pipeline in PIPELINES}

NOTES = {
    "memory/depot.md": "Rocky Point is where the bark is packed into bags.",
    "memory/disk.md": "The server reported a disk error at night, and the disk was changed.",
    "memory/backup.md": "The backup of the server runs on the second disk.",
    "memory/codes.md": "ENOENT means that a file was not there.",
}
AXES = {"server": ("server", "disk", "backup"), "garden": ("bark", "soil")}
"""No word of these is in the question about Rocky Point, so the vector leg is not asked there."""

ROCKY = "Rocky Point bagging operations"
NO_FLOOR_AT_ALL = SHIPPED.asking(min_score=0.0)

AND_SHIPPED, AND_FIXED = searched(NO_FLOOR_AT_ALL, NO_FLOOR_AT_ALL.but(OR_JOIN), ROCKY, NOTES, AXES)

AND_JOIN = Specimen(
    name="openclaw-and-join",
    references=("openclaw/openclaw#15226", "#39484", "PR#15234"),
    symptom="Questions of several words find nothing, although a note has most of them.",
    mechanism="The words are joined with AND, so one that is missing empties the keyword leg.",
    change="how the words of the question are joined",
    world=f"four notes, one about Rocky Point; “{ROCKY}”",
    expected="the note about Rocky Point is found",
    healthy=lambda answer: "memory/depot.md" in answer,
    shipped=AND_SHIPPED,
    fixed=AND_FIXED,
    note="The floor is lowered to 0 on both sides, so that the join alone decides.",
)

WORDS_ONLY = SHIPPED.but(OR_JOIN)
FLOOR_SHIPPED, FLOOR_FIXED = searched(WORDS_ONLY, WORDS_ONLY.with_stage(MinScore(0.3)), ROCKY, NOTES, AXES)

UNREACHABLE = Specimen(
    name="openclaw-unreachable-floor",
    references=("openclaw/openclaw#25183", "#29112"),
    symptom="An exact word that only one note has finds nothing at all.",
    mechanism="The best that the keyword leg alone can give is 0.3 × 1.0, and the floor is 0.35.",
    change="the floor: 0.35, or no more than the keyword weight",
    world=f"four notes, one about Rocky Point; “{ROCKY}”, words joined with OR",
    expected="the note about Rocky Point is returned",
    healthy=lambda answer: "memory/depot.md" in answer,
    shipped=FLOOR_SHIPPED,
    fixed=FLOOR_FIXED,
    note="Simplified: 2026.2.27 lowers the floor only when nothing passes it.",
)

RRF = ENGINE["engine-rrf-60"]
SCALE_SHIPPED, SCALE_FIXED = searched(RRF.asking(min_score=0.3), RRF, "disk error", NOTES, AXES)

RRF_SCALE = Specimen(
    name="threshold-on-rrf-scale",
    references=(
        "TencentCloud/TencentDB-Agent-Memory#1296", "ohdearquant/khive#1111", "ai-memory#317",
        "vellum PR#15936", "uteke PR#831", "marm PR#112",
    ),
    symptom="A threshold of 0.3, sensible for a cosine, empties every hybrid search.",
    mechanism="The best that two lists can give with k = 60 is 2/61 = 0.033.",
    change="the floor: 0.3, or none, and the limit decides",
    world="four notes; “disk error”, which both legs answer",
    expected="something is returned",
    healthy=bool,
    shipped=SCALE_SHIPPED,
    fixed=SCALE_FIXED,
)  # fmt: skip

QDRANT = ENGINE["engine-qdrant-k2"]
LOCAL_SHIPPED, LOCAL_FIXED = searched(QDRANT, QDRANT.asking(min_score=0.4), "disk error", NOTES, AXES)

LOCAL_THRESHOLD = Specimen(
    name="qdrant-local-threshold",
    references=("qdrant/qdrant-client#1136", "PR#1138"),
    symptom="In local mode a hybrid query returns points below the score_threshold that was asked for.",
    mechanism="The function that fuses receives the threshold and never uses it.",
    change="the floor after the fusion: none, or the 0.4 that was asked for",
    world="four notes; “disk error” with a threshold of 0.4",
    expected="nothing below 0.4 is returned, and something is",
    healthy=lambda answer: bool(answer) and min(answer.values()) >= 0.4,
    shipped=LOCAL_SHIPPED,
    fixed=LOCAL_FIXED,
)


@dataclass(frozen=True)
class VectorPool:
    """The candidates: the vector leg's chunks alone; the keyword leg only adds to their scores."""

    slot: ClassVar[str] = "candidates"
    says: ClassVar[str] = "candidates = what the vector leg brought"

    def run(self, trace: Trace, context: Context) -> Trace:
        vector, keyword = trace.legs["vector"].hits, trace.legs["keyword"]
        inside = np.isin(keyword.hits.rows, vector.rows)
        seen = replace(keyword, hits=Hits(keyword.hits.rows[inside], keyword.hits.raw[inside]))
        pooled = Union().run(replace(trace, legs={**trace.legs, "keyword": seen}), context)
        return replace(pooled, legs=trace.legs)


def _two_of_each(candidates: VectorPool | Union) -> Pipeline:
    two = RRF.asking(limit=2).with_stage(KeywordLeg(Depth(1, 200))).with_stage(VectorLeg(Depth(1, 200)))
    return two.with_stage(candidates)


GATE_SHIPPED, GATE_FIXED = searched(
    _two_of_each(VectorPool()), _two_of_each(Union()), "ENOENT on the server disk", NOTES, AXES
)

SEMANTIC_GATE = Specimen(
    name="mem0-semantic-gate",
    references=("mem0ai/mem0#5742", "PR#6378"),
    symptom="An error code that is written in one memory word for word is never found.",
    mechanism="Candidates are the semantic top-k alone: a keyword hit outside it is scored and thrown away.",
    change="what the candidates are: the vector leg's, or both legs'",
    world="four notes, two candidates a leg; “ENOENT on the server disk”",
    expected="the note with the code is returned",
    healthy=lambda answer: "memory/codes.md" in answer,
    shipped=GATE_SHIPPED,
    fixed=GATE_FIXED,
    note="Simplified: RRF takes the place of mem0's sum of semantic, keyword and entity scores.",
)

MAIL = {"case/mail.md": "Two mails came from @jpl.nasa.gov on Tuesday.", "case/call.md": "A call from home."}
LISTED = set('"./$:^{}()*+-~')


def listed_only(token: str) -> str:
    """The token, quoted when it has one of the listed characters, and bare when it has not."""
    return quoted(token) if LISTED & set(token) else token


def _found(quote: Callable[[str], str], question: str) -> Answer:
    match = " ".join(quote(token) for token in question.split())
    with small_memory(MAIL, AXES) as index:
        try:
            hits = index.keyword(match, 5)
        except Exception:  # the program under the glass swallows whatever FTS5 says, and so do we
            return {}
        paths = [chunk.path for chunk in index.chunks(hits.rows)]
        return by_score(dict(zip(paths, (-hits.raw).tolist(), strict=True)))


QUOTING = Specimen(
    name="mulder-silent-syntax-error",
    references=("calebevans/mulder#152", "PR#155", "meta_skill PR#100", "powercontext PR#1125"),
    symptom="A search for “@nasa” says that there are no hits; the notes are full of it.",
    mechanism="FTS5 takes letters, digits and _ bare. A list of characters to quote had no @, the expression "
    "was a syntax error, and the error was swallowed.",
    change="which tokens are quoted: those with a listed character, or all",
    world="two notes, one with @jpl.nasa.gov; “@nasa”",
    expected="the note with the address is found",
    healthy=lambda answer: "case/mail.md" in answer,
    shipped=computed(
        "quote a token that has a listed character; an error is no hits", _found, listed_only, "@nasa"
    ),
    fixed=computed("quote every token", _found, quoted, "@nasa"),
)


def fts5_idf(notes: int, having: int) -> float:
    """FTS5's weight of a word: ln((N - n + 0.5) / (n + 0.5)), and 0.000001 where that is not above 0."""
    weight = math.log((notes - having + 0.5) / (having + 0.5))
    return weight if weight > 0 else 1e-6


def lucene_idf(notes: int, having: int) -> float:
    """Lucene's weight of a word: ln(1 + (N - n + 0.5) / (n + 0.5)), which is always above 0."""
    return math.log(1 + (notes - having + 0.5) / (having + 0.5))


PAIR = {"MEMORY.md": "tea in the morning", "memory/tea.md": "tea with rooibos leaves"}


def bm25(idf: Callable[[int, int], float], word: str, k1: float = 1.2, b: float = 0.75) -> dict[str, float]:
    """BM25 of one word for each note of the pair that has it, larger is better."""
    texts = {path: text.split() for path, text in PAIR.items()}
    average = sum(map(len, texts.values())) / len(texts)
    having = [path for path, words in texts.items() if word in words]
    return {
        path: idf(len(texts), len(having))
        * (count := texts[path].count(word))
        * (k1 + 1)
        / (count + k1 * (1 - b + b * len(texts[path]) / average))
        for path in having
    }


def _relevances(idf: Callable[[int, int], float]) -> Answer:
    scores = {f"{word}: {path}": s for word in ("tea", "rooibos") for path, s in bm25(idf, word).items()}
    return by_score({name: float(relevance(-score)) for name, score in scores.items()})


IDF_FLOOR = Specimen(
    name="fts5-idf-floor",
    references=("SQLite FTS5, fts5_aux.c", "measured"),
    symptom="In a young memory the keyword leg counts for nothing, even for a word that one note alone has.",
    mechanism="The weight of a word in half of the rows or more is 0.000001, so r / (1 + r) is about 0.",
    change="the weight of a word (idf)",
    world="two notes, both with “tea”, one with “rooibos”; scores are r / (1 + r)",
    expected="every match scores at least 0.1",
    healthy=lambda answer: min(answer.values()) >= 0.1,
    shipped=computed("idf = ln((N - n + 0.5) / (n + 0.5)), at least 0.000001", _relevances, fts5_idf),
    fixed=computed("idf = ln(1 + (N - n + 0.5) / (n + 0.5))", _relevances, lucene_idf),
)

SPECIMENS = (AND_JOIN, UNREACHABLE, RRF_SCALE, LOCAL_THRESHOLD, SEMANTIC_GATE, QUOTING, IDF_FLOOR)
