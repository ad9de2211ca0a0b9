"""OpenClaw's memory search as release 2026.2.13 shipped it, and the changes that lessons 00 to 05 make to it.

OR-join, RRF and min-max are the proposals of openclaw#16021; OpenClaw never shipped any of them. It shipped
`SIGN` in 2026.3.7. `EVIDENCE_FLOOR` is this workbench's own: a threshold on each leg's raw numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from workbench.memory.files import HEADS, FileRules
from workbench.memory.sources import USUAL_LONGEST, Indexing, LimitedChunker, LineChunker
from workbench.records import Stage
from workbench.retrieval.cutoff import EvidenceFloor, Limit, MinScore, Order
from workbench.retrieval.fusion import AnsweredSum, OneLeg, WeightedRRF, WeightedSum
from workbench.retrieval.legs import Depth, KeywordLeg, Union, VectorLeg
from workbench.retrieval.pipeline import Change, Pipeline, Source
from workbench.retrieval.query import JoinedWords
from workbench.retrieval.scoring import AbsoluteRank, ClampedRank, Cosine, MinMaxRank, Relevance

DEFAULT_WEIGHTS = {"vector": 0.7, "keyword": 0.3}


@dataclass(frozen=True)
class ConfiguredSum(WeightedSum):
    """`WeightedSum` with the weights that OpenClaw derives from the configured ones.

    They are scaled to sum to 1; 0 and 0 become 0.7 and 0.3. The trace says so if they differ.
    """

    @property
    def weights(self) -> dict[str, float]:
        """The weights that OpenClaw uses, by leg."""
        weights = super().weights
        total = sum(weights.values())
        return (
            {leg: weight / total for leg, weight in weights.items()} if total else weights | DEFAULT_WEIGHTS
        )

    @property
    def remark(self) -> str | None:
        weights, used = super().weights, self.weights
        if used == weights:
            return None
        return (
            f"The weights {' and '.join(f'{one:g}' for one in weights.values())} do not sum to 1; "
            f"OpenClaw uses {' and '.join(f'{one:.4g}' for one in used.values())}."
        )


DEPTH = Depth(multiplier=4, cap=200)
REPORT = "#16021"

# Equal scores stay in insertion order: the candidates of the vector leg, then those of the keyword leg.
INSERTION = Order(ties=("vector_rank", "keyword_rank"))

SIMPLIFIED = (
    "Simplified: there is one model and one source, so the SQL has no filters for them; the vector leg is an "
    "exact scan in NumPy instead of vec_distance_cosine(), with the same order. Equal numbers in a leg are "
    "ordered by chunk id. OpenClaw keeps the stored order, which depends on the file that was embedded "
    "first, so a leg's limit can cut between equal chunks differently. An index made with --as keeps the "
    "stored order."
)

FEBRUARY_FILES = FileRules(HEADS, anywhere=False, every_folder=True)
"""Source: openclaw 2026.2.13, src/memory/internal.ts, listMemoryFiles."""

FEBRUARY = Indexing(
    "openclaw-2026.2.13",
    LimitedChunker(LineChunker(), USUAL_LONGEST),
    FEBRUARY_FILES,
    ties_by_row=True,
    reading="truncated",
)
"""How 2026.2.13 indexes a memory; a local model reads the first window of a chunk, as in the records."""

SHIPPED = Pipeline(
    "openclaw-2026.2.13",
    JoinedWords(join="AND")
    >> KeywordLeg(DEPTH)
    >> VectorLeg(DEPTH)
    >> Union()
    >> ClampedRank()
    >> Cosine()
    >> ConfiguredSum(vector=0.7, keyword=0.3, absent=0.0)
    >> INSERTION
    >> MinScore(0.35)
    >> Limit(6),
    Source(
        "openclaw/openclaw",
        "2026.2.13",
        "src/memory/manager.ts, src/memory/hybrid.ts",
        REPORT,
        SIMPLIFIED,
    ),
    indexing=FEBRUARY,
)

WORKAROUND = Pipeline(
    "openclaw-2026.2.13-vector-only",
    VectorLeg(DEPTH) >> Union() >> Cosine() >> OneLeg() >> INSERTION >> MinScore(0.25) >> Limit(10),
    Source(
        "openclaw/openclaw",
        "2026.2.13",
        "configuration hybrid.enabled=false, minScore=0.25, maxResults=10",
        REPORT,
        f"The report's workaround, which it measured at 94.7 %. {SIMPLIFIED}",
    ),
    indexing=FEBRUARY,
)


def _proposal(name: str, stage: Stage, why: str, part: str) -> Change:
    return Change(name, stage, why, Source("openclaw/openclaw", "proposed", part, REPORT, "Never shipped."))


OR_JOIN = _proposal("or", JoinedWords(join="OR"), "one matching word is enough for the keyword leg", "fix 1")
RRF = _proposal(
    "rrf",
    WeightedRRF(vector=0.7, keyword=0.3, k=60),
    "ranks instead of scores, so a missing leg adds nothing and takes nothing away",
    "fix 2",
)
MIN_MAX = _proposal(
    "minmax", MinMaxRank(), "a gradient over the hits, instead of 1.0 for every match", "fix 3"
)
ABSOLUTE = _proposal("abs", AbsoluteRank(), "the minimal fix, which reverses the order", "fix 3")
RENORMALISED = Change(
    "renormalised",
    AnsweredSum(vector=0.7, keyword=0.3, absent=0.0),
    "the weight of a leg that found nothing is not counted",
    Source("openclaw/openclaw", "proposed", "src/memory/hybrid.ts", "#29485", "Closed unmerged."),
)

FIXES = (OR_JOIN, RRF, MIN_MAX)


def combinations(shipped: Pipeline, fixes: Sequence[Change]) -> list[Pipeline]:
    """Every on/off combination of `fixes` on `shipped`: 2 to the power of their number, shipped first."""
    switches = product((False, True), repeat=len(fixes))
    chosen = [[fix for fix, on in zip(fixes, row, strict=True) if on] for row in switches]
    return [shipped.with_changes(*some) for some in sorted(chosen, key=len)]


EIGHT = combinations(SHIPPED, FIXES)
THREE_FIXES = EIGHT[-1]

# The report measured its workaround with ten results and the default with six; this makes them equal.
TEN = _proposal(
    "ten", Limit(10), "ten results, the number that the report used for its workaround", "validation"
)

# OpenClaw 2026.3.7 shipped this one.
SIGN = Change(
    "sign",
    Relevance(),
    "FTS5's negative rank is read as relevance, so keyword scores differ from each other",
    Source("openclaw/openclaw", "2026.3.7", "src/memory/hybrid.ts", "#33757, which closes #5767"),
)

EVIDENCE_FLOOR = Change(
    "evidence",
    EvidenceFloor(cosine=0.25, relevance=0.9),
    "a threshold on each leg's raw numbers: a fused rank says which hit is first, not whether it is good",
    Source("this workbench", "0.1.0", "workbench/retrieval/cutoff.py", "", "Never shipped elsewhere."),
)

WITH_EVIDENCE = THREE_FIXES.with_changes(EVIDENCE_FLOOR)

PIPELINES = (
    *EIGHT,
    SHIPPED.with_changes(RENORMALISED),
    SHIPPED.with_changes(ABSOLUTE),
    SHIPPED.with_changes(OR_JOIN, ABSOLUTE),
    SHIPPED.with_changes(TEN),
    THREE_FIXES.with_changes(TEN),
    WORKAROUND,
    WITH_EVIDENCE,
)
