"""What `diagnose` says of planted faults: `python -m benchmarks.faults [FOLDER] [--list]`.

Each fault breaks a good pipeline, or its index, in one known way; the question is one that the good pipeline
answers and the broken one does not. There are three levels: a registered system with a setting, a pipeline
without a system's name, and stages of one's own with a foreign source. Printed are the share of faults whose
place is the first cause, of those in a stage the share whose slot the first fix touches, and how many of the
repairs that are printed bring the file when they are pasted into an empty shell or interpreter.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from benchmarks.pasting import holds, indexed_copy
from tests.lab.diagnose.faults import DistanceAsScore, OtherModel
from tests.lab.diagnose.faults import Fault as Planted
from workbench.contracts import Context, Index
from workbench.measure.questions import QuestionSet, load_questions
from workbench.memory.files import memory_root
from workbench.memory.opening import open_index
from workbench.records import Clause, DropKind, Hits, Query, Threshold, Trace, Vector
from workbench.retrieval.columns import ColumnStage, Numbers, PlainStage, filled
from workbench.retrieval.cutoff import EvidenceFloor, Limit, MinScore, Order, dropped
from workbench.retrieval.fusion import RankSum, WeightedSum
from workbench.retrieval.index_adapters import CachedIndex, IndexAdapter
from workbench.retrieval.legs import Depth, FixedDepth, KeywordLeg, Union, VectorLeg
from workbench.retrieval.pipeline import Pipeline, Source
from workbench.retrieval.query import JoinedWords, UnicodeWords, ascii_words, with_query
from workbench.retrieval.scoring import Cosine, MinMaxRank, Relevance
from workbench.retrieval.settings import with_settings
from workbench.systems.catalogue import SYSTEMS
from workbench.systems.openclaw import THREE_FIXES, WITH_EVIDENCE, WORKAROUND
from workbench_plugins.diagnose.diagnosis import diagnose
from workbench_plugins.diagnose.page import Diagnosis
from workbench_plugins.rerank import Rerank, reranked_order

LEVELS = ("a registered system", "own settings", "own code")


@dataclass(frozen=True)
class Fault(Planted):
    """A fault of one of the levels."""

    level: int = 0


# Level 1: a registered system, and one setting or stage of it


def _set(system: str, *settings: str) -> Fault:
    good = SYSTEMS[system]
    where = settings[0].partition(".")[0]
    return Fault(f"{system} {' '.join(settings)}", good, with_settings(good, settings), where)


def _with(system: str, stage: Any) -> Fault:
    good = SYSTEMS[system]
    return Fault(f"{system} {stage.description}", good, good.with_stage(stage), stage.slot)


EVIDENCE = "openclaw-2026.2.13+or+rrf+minmax+evidence"
REGISTERED = [
    _set(EVIDENCE, "query.join=AND"),
    _set(EVIDENCE, "limit.count=1"),
    _set(EVIDENCE, "floor.cosine=0.7", "floor.relevance=0.99"),
    _set("openclaw-2026.7.1", "fusion.vector=0.1", "fusion.keyword=0.9"),
    _set("openclaw-2026.2.27", "floor.floor=0.8"),
    _set("openclaw-2026.9.6", "diversity.relevance_weight=0.05"),
    _set("openclaw-2026.2.13-vector-only", "vector_leg.depth.cap=3"),
    _set("am-150", "limit.count=1"),
    _set("bm-head", "limit.count=2"),
    _set("am-205", "fusion.weights.vector=0"),
    _set("tutorial-day13", "limit.count=1"),
    _set("recommended", "limit.count=1"),
    _with("engine-weaviate-relative", UnicodeWords("AND")),
    _with("engine-rrf-60", VectorLeg(Depth(4, 2))),
]


# Level 2: own settings, several of them, without the name of a system

MINE = Source("", "", "my settings")
BASE = (
    UnicodeWords("OR"), KeywordLeg(FixedDepth(cap=40)), VectorLeg(FixedDepth(cap=40)), Union(),
    MinMaxRank(), Cosine(), WeightedSum(0.6, 0.4), Order(), MinScore(0.2), Limit(8),
)  # fmt: skip
SUM = Pipeline("mine", BASE, MINE)
RANKS = Pipeline(
    "mine",
    (
        UnicodeWords("OR"), KeywordLeg(FixedDepth(cap=30)), VectorLeg(FixedDepth(cap=30)), Union(),
        RankSum(1.0, 1.0, k=20), Order(), Limit(5),
    ),
    MINE,
)  # fmt: skip

FLOORED = replace(RANKS, stages=(*RANKS.stages[:-1], MinScore(0.01), RANKS.stages[-1]))


def _broken(good: Pipeline, stages: Sequence[Any], **named: Any) -> list[Pipeline]:
    """The good pipeline and that with these stages, both without the changes that their names tell."""
    broken = good
    for stage in stages:
        broken = broken.with_stage(stage)
    return [replace(one, changes=(), **named) for one in (good, broken)]


def _mine(name: str, good: Pipeline, *stages: Any) -> Fault:
    return Fault(name, *_broken(good, stages, name="mine"), stages[0].slot, level=1)


OWN_SETTINGS = [
    _mine("a sum with AND", SUM, JoinedWords("AND")),
    _mine("a floor of percents", SUM, MinScore(0.85)),
    _mine("no weight for the vectors", SUM, WeightedSum(0.0, 1.0)),
    _mine("absent counts as -1", SUM, WeightedSum(0.6, 0.4, absent=-1.0)),
    _mine("three vectors, by depth", SUM, VectorLeg(FixedDepth(cap=2))),
    _mine("one result", SUM, Limit(1)),
    _mine("a floor for sums on reciprocal ranks", FLOORED, MinScore(0.3)),
    _mine("ranks with a leg that drowns the other", RANKS, RankSum(0.02, 1.0, k=20)),
    _mine("a rank constant of 0 with weights", RANKS, RankSum(0.1, 1.0, k=0)),
    _mine("evidence of a reranker's scale", WITH_EVIDENCE, EvidenceFloor(0.95, 0.999)),
    _mine("one keyword hit", SUM, KeywordLeg(FixedDepth(cap=1))),
    _mine("a floor on the keyword score", SUM, MinScore(0.9, of="keyword_score")),
    _mine("two results of three fixes", THREE_FIXES, Limit(1)),
]  # fmt: skip


# Level 3: stages of one's own, with a foreign source

THEIRS = Source("acme/search", "1.0", "src/search.py")


@dataclass(frozen=True)
class LongWords(PlainStage, slot="query"):
    """A query that keeps only the words of eight letters and more."""

    description: ClassVar[str] = "MATCH = words of at least eight letters, joined with AND"

    def run(self, trace: Trace, context: Context) -> Trace:
        words = [one for one in ascii_words(trace.question) if len(one) > 7]
        return with_query(trace, context, Query(tuple(map(Clause, words)), "AND") if words else None)


@dataclass(frozen=True)
class AnyWords(PlainStage, slot="query"):
    """A query of all words."""

    description: ClassVar[str] = "MATCH = all words, joined with OR"

    def run(self, trace: Trace, context: Context) -> Trace:
        words = re.findall(r"\w+", trace.question)
        return with_query(trace, context, Query(tuple(map(Clause, words)), "OR") if words else None)


@dataclass(frozen=True)
class Product(ColumnStage, slot="fusion", output="score"):
    """A fusion that multiplies: a candidate of one leg alone has 0."""

    description: ClassVar[str] = "score = vector score × keyword score"

    def formula(self, of: Numbers) -> Any:
        return filled(of["vector_score"], 0.0) * filled(of["keyword_score"], 0.0)


@dataclass(frozen=True)
class Mean(ColumnStage, slot="fusion", output="score"):
    """A fusion that takes the mean of both scores."""

    description: ClassVar[str] = "score = mean of vector score and keyword score"

    def formula(self, of: Numbers) -> Any:
        return (filled(of["vector_score"], 0.0) + filled(of["keyword_score"], 0.0)) / 2


@dataclass(frozen=True)
class Reference(Order):
    """An order by chunk id alone."""

    description: ClassVar[str] = "order = by chunk id"  # type: ignore[assignment]

    def rows(self, trace: Trace) -> Any:
        return np.argsort(trace.ids)


@dataclass(frozen=True)
class ShareOfTop(PlainStage, slot="floor"):
    """A floor that drops what scores below a share of the best score."""

    share: float = 0.3

    @property
    def description(self) -> str:
        return f"floor: drop what scores below {self.share:g} of the best"

    def run(self, trace: Trace, context: Context) -> Trace:
        scores = trace.columns["score"]
        least = self.share * float(np.nanmax(scores)) if scores.size else 0.0
        return dropped(trace, self, DropKind.FLOOR, Threshold("score", scores, least))


@dataclass(frozen=True)
class OnlyFolder(KeywordLeg):
    """A keyword leg with a filter on one folder, which the other leg does not have."""

    folder: str = "memory/projects/"

    @property
    def description(self) -> str:
        return f"keyword leg: FTS5, in {self.folder} alone"

    def _matches(self, trace: Trace, index: Index, limit: int) -> Hits:
        every = super()._matches(trace, index, index.size)
        inside = np.array([one.path.startswith(self.folder) for one in index.chunks(every.rows)], bool)
        return replace(every, rows=every.rows[inside][:limit], raw=every.raw[inside][:limit])


@dataclass(frozen=True)
class FirstFolder(VectorLeg):
    """A vector leg with a filter on one folder."""

    folder: str = "memory/projects/"

    @property
    def description(self) -> str:
        return f"vector leg: in {self.folder} alone"

    def run(self, trace: Trace, context: Context) -> Trace:
        made = super().run(trace, context)
        leg = made.legs[self.name]
        hits = self._inside(context.index.vector(context.vector(), context.index.size), context)
        hits = replace(hits, rows=hits.rows[: leg.depth], raw=hits.raw[: leg.depth])
        return replace(made, legs={**made.legs, self.name: replace(leg, hits=hits)})

    def every(self, trace: Trace, context: Context) -> Hits | None:
        found = super().every(trace, context)
        return None if found is None else self._inside(found, context)

    def _inside(self, hits: Hits, context: Context) -> Hits:
        inside = [one.path.startswith(self.folder) for one in context.index.chunks(hits.rows)]
        return replace(hits, rows=hits.rows[np.array(inside, bool)], raw=hits.raw[np.array(inside, bool)])


@dataclass(frozen=True)
class ByLength:
    """A reranker that likes the shortest text."""

    name: str = "shortest"

    def scores(self, question: str, texts: list[str]) -> list[float]:
        return [-float(len(one)) for one in texts]


@dataclass(frozen=True)
class ByWords:
    """A reranker that counts the words of the question in the text."""

    name: str = "shared words"

    def scores(self, question: str, texts: list[str]) -> list[float]:
        asked = set(re.findall(r"\w+", question.lower()))
        return [len(asked & set(re.findall(r"\w+", one.lower()))) + 1e-6 * len(asked) for one in texts]


@dataclass(frozen=True)
class OnePerFolder(PlainStage, slot="fold"):
    """A fold that keeps one chunk of each folder."""

    depth: int = 1

    @property
    def description(self) -> str:
        return f"fold: keep the best of each {'file' if self.depth > 9 else 'folder'}"

    def run(self, trace: Trace, context: Context) -> Trace:
        seen: dict[str, int] = {}
        places = np.full(trace.rows.size, np.nan)
        for row in trace.order.tolist():
            part = "/".join(trace.chunks[row].path.split("/")[: self.depth])
            seen[part] = seen.get(part, 0) + 1
            places[row] = seen[part]
        at_most = Threshold("place in its folder", places, 1, at_most=True)
        return dropped(trace, self, DropKind.FOLD, at_most)


class Prefixed(IndexAdapter):
    """Questions that are embedded far from the passages: half of the vector is that of an instruction."""

    def embed(self, question: str) -> Vector:
        other = self.inner.embed("Represent this sentence for searching relevant passages")
        mixed = 0.15 * self.inner.embed(question) + 0.85 * other
        return np.ascontiguousarray(mixed / np.linalg.norm(mixed), np.float32)


class Half(IndexAdapter):
    """An approximate index that reaches two chunks of three."""

    def vector(self, query: Vector, limit: int) -> Hits:
        every = self.inner.vector(query, self.size)
        known = every.rows % 3 != 0
        return Hits(every.rows[known][:limit], every.raw[known][:limit])


class Copies(IndexAdapter):
    """A memory in which the first chunks that a vector search finds stand five times, under other names."""

    def vector(self, query: Vector, limit: int) -> Hits:
        every = self.inner.vector(query, self.size)
        first, raw = every.rows[:3], every.raw[:3]
        rows = [first[at] + 1_000_000 * copy for at in range(first.size) for copy in range(5)]
        both = np.concatenate([rows, every.rows[3:]]), np.concatenate([np.repeat(raw, 5), every.raw[3:]])
        return Hits(both[0][:limit], both[1][:limit])

    def chunks(self, rows: Any) -> Any:
        found = self.inner.chunks(rows % 1_000_000)
        copies = (rows // 1_000_000).tolist()
        return [
            replace(one, id=f"{one.id}-{copy}", path=f"copies/{copy}/{one.path}") if copy else one
            for one, copy in zip(found, copies, strict=True)
        ]


class LongVectors(IndexAdapter):
    """Vectors that are not of length 1 in an index that compares by the dot product: long ones always win."""

    def vector(self, query: Vector, limit: int) -> Hits:
        every = self.inner.vector(query, self.size)
        length = 1 + 3 * ((every.rows * 7919) % 97 / 97)
        raw = 1 - (1 - every.raw) * length
        order = np.argsort(raw, kind="stable")
        return Hits(every.rows[order][:limit], raw[order][:limit])


def _code(name: str, good: Pipeline, *stages: Any, where: str = "", **index: Any) -> Fault:
    both = _broken(good, stages, name="acme", source=THEIRS)
    return Fault(name, *both, where or stages[0].slot, level=2, **index)


ACME = Pipeline(
    "acme",
    (
        AnyWords(), KeywordLeg(FixedDepth(cap=25)), VectorLeg(FixedDepth(cap=25)), Union(), Relevance(),
        Cosine(), Mean(), Order(), ShareOfTop(), OnePerFolder(99), Limit(6),
    ),
    THEIRS,
)  # fmt: skip
VECTORS = replace(WORKAROUND, name="acme", changes=(), source=THEIRS)
RERANKED = Pipeline(
    "acme",
    (
        AnyWords(), KeywordLeg(FixedDepth(cap=25)), VectorLeg(FixedDepth(cap=25)), Union(), Relevance(),
        Cosine(), Mean(), Rerank(ByWords(), 20), reranked_order(), Limit(6),
    ),
    THEIRS,
)  # fmt: skip

OWN_CODE = [
    _code("long words alone", ACME, LongWords()),
    _code("a product of the scores", ACME, Product()),
    _code("a distance as a similarity", ACME, DistanceAsScore()),
    _code("an order by id", ACME, Reference()),
    _code("a floor at the best score", ACME, ShareOfTop(0.97)),
    _code("one result of each folder", ACME, OnePerFolder(1)),
    _code("one result", ACME, Limit(1)),
    _code("a vector leg of one folder", ACME, FirstFolder(FixedDepth(cap=25))),
    _code("a reranker of short texts", RERANKED, Rerank(ByLength(), 20)),
    _code("a reranker that reads one", RERANKED, Rerank(ByWords(), 1)),
    _code("another model", ACME, where="vectors", index=OtherModel),
    _code("an index that reaches two of three", ACME, where="vectors", index=Half),
    _code("copies of other files", VECTORS, where="index", index=Copies),
    _code("questions behind an instruction", ACME, where="vectors", index=Prefixed),
    _code("vectors of other lengths", ACME, where="vectors", index=LongVectors),
]

FAULTS = [*REGISTERED, *OWN_SETTINGS, *OWN_CODE]


@dataclass(frozen=True)
class Outcome:
    """What a diagnosis says of a fault."""

    fault: Fault
    found: Diagnosis
    holds: bool | None = None
    """Whether every printed repair brings the file when it is pasted; None where none can be pasted."""

    @property
    def named(self) -> bool:
        """Whether the first cause is where the fault is."""
        return bool(self.found.causes) and self.fault.where in self.found.causes[0].where

    @property
    def fixed(self) -> bool | None:
        """Whether the first fix touches the slot of the fault; None for a fault of the index."""
        slots = {one.slot for one in self.fault.broken.stages}
        if self.fault.where not in slots:
            return None
        return bool(self.found.fixes) and self.fault.where in {
            one.slot for one in self.found.pipeline.diff(self.found.fixes[0].pipeline)
        }


def diagnosed(fault: Fault, index: Index, questions: QuestionSet, base: Path) -> Outcome:
    """The diagnosis of the question that a fault loses; the index is that of `base`."""
    asked, other = fault.lost(index, questions), fault.index(index)
    found = diagnose(asked.question, fault.broken, other, asked.target, questions=questions)
    return Outcome(fault, found, holds(found, base) if other is index else None)


def main() -> None:
    listed = "--list" in sys.argv
    root = memory_root(next((one for one in sys.argv[1:] if not one.startswith("-")), "sample_memory"))
    questions = load_questions(root / "questions.yaml")
    told: list[Outcome] = []
    with indexed_copy(root) as base, open_index(base / "notes", index_path=base / "index") as opened:
        index = CachedIndex(opened)
        for fault in FAULTS:
            try:
                told.append(one := diagnosed(fault, index, questions, base))
            except StopIteration:
                print(
                    f"{fault.level + 1} No question is lost by {fault.name}: plant a stronger fault.",
                    flush=True,
                )
                continue
            first = one.found.causes[0] if one.found.causes else None
            cause = f"{' and '.join(first.where)}: {first.description}" if first else "no cause"
            fix = one.found.fixes[0].setting if one.found.fixes else "none"
            mark = "yes" if one.named else "NO "
            if one.holds is False:
                print("    a repair that is printed does not bring the file")
            touched = {True: "yes", False: "NO ", None: "-  "}[one.fixed]
            print(
                f"{fault.level + 1} cause {mark} fix {touched} {fault.name}: {cause:.90} | {fix}", flush=True
            )
            if listed and not one.named:
                print(one.found.text)
    for level, name in enumerate(LEVELS):
        _print(name, [one for one in told if one.fault.level == level])
    _print("all", told)


def _print(name: str, told: list[Outcome]) -> None:
    fixable = [one for one in told if one.fixed is not None]
    print(
        f"{name}: cause first in {sum(one.named for one in told)} of {len(told)}; first fix touches the true "
        f"slot in {sum(bool(one.fixed) for one in fixable)} of {len(fixable)} that a stage can have"
    )
    claims = [one.holds for one in told if one.holds is not None]
    print(f"of {len(claims)} claimed repairs {sum(claims)} hold")


if __name__ == "__main__":
    from benchmarks import faults  # so that a printed repair can import its stages by their module's name

    faults.main()
