"""Faults in a brewery's notes, and whether `diagnose` names them: `python -m benchmarks.planted_brewery`.

They are of the six kinds of `benchmarks.six_kinds`, of sorts that neither that one nor `benchmarks.planted`
has, and are counted as `benchmarks.planted` counts: `--held` runs every second fault of each kind, which was
held out, and `--list` and `--only=NAME` do the same.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from benchmarks.boatyard import write
from benchmarks.brewery import NOTES, QUESTIONS
from benchmarks.faults import SUM
from benchmarks.planted import (
    NEW,
    OLD,
    OR,
    VECTORS,
    NotLostError,
    Planted,
    Vectors,
    before_filter,
    command,
    embedding,
    indexed,
    paths,
    report,
    shown,
)
from benchmarks.planted import code as planted_code
from workbench.contracts import Context
from workbench.records import DropKind, Hits, Threshold, Trace, Vector
from workbench.retrieval.columns import ColumnStage, Numbers, PlainStage, filled
from workbench.retrieval.cutoff import Limit, Order, dropped
from workbench.retrieval.fusion import RankSum, WeightedSum
from workbench.retrieval.index_adapters import IndexAdapter
from workbench.retrieval.legs import FixedDepth, Union, VectorLeg
from workbench_plugins.engines.lists import Asked
from workbench_plugins.recorder.recorded_index import TopK
from workbench_plugins.recorder.recording import Recorder, record


def settings(name: str, words: str, *options: str, good: str) -> Planted:
    """Options that lose the first question which a registered system answers without them."""

    def printed(root: Path) -> tuple[str, bool | None]:
        write(root, NOTES)
        indexed(root)
        for question, target in QUESTIONS.items():
            if target in paths(root, question, "-s", good) and target not in paths(root, question, *options):
                return command(root, question, target, *options)
        raise NotLostError

    return Planted("settings", name, words, printed)


def data(
    kind: str,
    name: str,
    words: str,
    question: str,
    target: str,
    *options: str,
    notes: Mapping[str, str] | None = None,
    before: Callable[[Path], object] = Path.exists,
    after: Callable[[Path], object] = Path.exists,
    index: tuple[str, ...] = (),
    vectors: Callable[[Vectors], Vectors] = lambda made: made,
) -> Planted:
    """The brewery with other notes beside it, changed before or after it is indexed."""

    def printed(root: Path) -> tuple[str, bool | None]:
        write(root, {**NOTES, **(notes or {})})
        before(root)
        with embedding(vectors):
            indexed(root, *index)
        after(root)
        return command(root, question, target, *options)

    return Planted(kind, name, words, printed)


def asked(name: str, words: str, question: str, target: str, *options: str, **notes: str) -> Planted:
    return data("question", name, words, question, target, *options, notes=notes)


code = partial(planted_code, notes=NOTES, questions=QUESTIONS)
"""Stages or an index of one's own, in a pipeline without the name of a system."""


# Code of one's own


class Both(Union, slot="candidates"):
    """Candidates that are joined as SQL joins by default."""

    description: ClassVar[str] = "candidates = keyword JOIN vector USING (id)"

    def run(self, trace: Trace, context: Context) -> Trace:
        rows = [set(one.hits.rows.tolist()) for one in trace.legs.values()]
        kept = set.intersection(*rows)
        legs = {name: replace(one, hits=_only(one.hits, kept)) for name, one in trace.legs.items()}
        return replace(super().run(replace(trace, legs=legs), context), legs=trace.legs)


def _only(hits: Hits, rows: set[int]) -> Hits:
    kept = np.isin(hits.rows, list(rows))
    return Hits(hits.rows[kept], hits.raw[kept], hits.larger_is_better)


@dataclass(frozen=True)
class NanSum(ColumnStage, slot="fusion", output="score"):
    """A sum that is NaN where a leg did not bring the candidate."""

    description: ClassVar[str] = "score = 0.6 × vector score + 0.4 × keyword score"

    def formula(self, of: Numbers) -> Any:
        return 0.6 * of["vector_score"] + 0.4 * of["keyword_score"]


@dataclass(frozen=True)
class InBothLegs(PlainStage, slot="floor"):
    """Drops what has no keyword rank or no vector rank."""

    description: ClassVar[str] = "dropna()"

    def run(self, trace: Trace, context: Context) -> Trace:
        ranks = trace.columns["keyword_rank"] + trace.columns["vector_rank"]
        return dropped(trace, self, DropKind.FLOOR, Threshold("ranks", np.where(ranks > 0, 1.0, 0.0), 1))


@dataclass(frozen=True)
class SumOfRanks(ColumnStage, slot="fusion", output="score"):
    """Ranks are added as they are, so the worst come first."""

    description: ClassVar[str] = "score = vector rank + keyword rank"

    def formula(self, of: Numbers) -> Any:
        return filled(of["vector_rank"], 0.0) + filled(of["keyword_rank"], 0.0)


@dataclass(frozen=True)
class Decay(ColumnStage, slot="fusion", output="score"):
    """A recency that hardly leaves anything of the score of a note without a date."""

    description: ClassVar[str] = "score = mean × 0.5 ** (age / 7)"

    def formula(self, of: Numbers) -> Any:
        mean = (filled(of["vector_score"], 0.0) + filled(of["keyword_score"], 0.0)) / 2
        return np.where(filled(of["keyword_rank"], 99.0) > 1, mean, mean * 0.01)


@dataclass(frozen=True)
class LongestFirst(Order):
    """An order by the length of the text."""

    description: ClassVar[str] = "order = by falling length"  # type: ignore[assignment]

    def rows(self, trace: Trace) -> Any:
        return np.argsort([-len(one.text) for one in trace.chunks], kind="stable")


@dataclass(frozen=True)
class BestHalf(PlainStage, slot="floor"):
    """A floor at half of the candidates."""

    description: ClassVar[str] = "floor: above the mean of all scores plus four deviations"

    def run(self, trace: Trace, context: Context) -> Trace:
        score = trace.columns["score"]
        least = float(np.nanmean(score) + 4 * np.nanstd(score))
        return dropped(trace, self, DropKind.FLOOR, Threshold("score", score, least))


# Indexes


class FirstTen(IndexAdapter):
    """Vectors of the first ten chunks alone: the job that made them stopped."""

    def vector(self, query: Vector, limit: int) -> Hits:
        every = self.inner.vector(query, self.size)
        known = every.rows <= np.sort(every.rows)[9]
        return Hits(every.rows[known][:limit], every.raw[known][:limit])


class Doubled(IndexAdapter):
    """Questions that get the prefix of a query twice, and that of a passage."""

    def embed(self, question: str) -> Vector:
        return self.inner.embed(f"passage: query: query: Instruct: retrieve the web page. {'! ' * 60}")


def shifted(vectors: Vectors) -> Vectors:
    """Each text has the vector of another one: two lists came apart."""
    return np.roll(vectors, 3, axis=0)


def negative(vectors: Vectors) -> Vectors:
    return -vectors


# Other engines

TEXTS = {name.removesuffix(".md"): " ".join(text.split()) for name, text in NOTES.items()}
IDS = sorted(TEXTS)


def recorded(name: str, words: str, target: str, **given: Any) -> Planted:
    return Planted("foreign", name, words, lambda _: shown(record("glycol chiller", **given), target))


def engine(name: str, words: str, question: str, target: str, of: Recorder) -> Planted:
    return Planted("foreign", name, words, lambda _: shown(of.record(question), target))


def counted_words(read: Callable[[str], list[str]]) -> Callable[..., Any]:
    def ask(question: str, most: int) -> list[tuple[str, float | None]]:
        words = read(question)
        found = {id_: sum(text.lower().count(word) for word in words) for id_, text in TEXTS.items()}
        best = sorted((one for one in found if found[one]), key=lambda one: (-found[one], one))
        return [(one, float(found[one])) for one in best[:most]]

    return ask


def near_first(ids: list[str]) -> Callable[..., Any]:
    return lambda _, most: [(one, 0.9 - rank / 100) for rank, one in enumerate(ids)][:most]


def all_words(question: str, most: int) -> list[tuple[str, float | None]]:
    words = question.lower().split()
    return [(one, 3.0) for one in IDS if all(word in TEXTS[one].lower() for word in words)][:most]


# Notes


def linked_folder(root: Path) -> None:
    other = root.parent / "elsewhere"
    write(other, {"suppliers.md": "# Suppliers\n\nThe maltster delivers on Wednesdays at six.\n"})
    (root / "vendor").symlink_to(other)


def in_bytes(name: str, content: bytes) -> Callable[[Path], None]:
    return lambda root: (root / name).write_bytes(content) and None


def removed(name: str) -> Callable[[Path], None]:
    return lambda root: (root / name).unlink()


FRONT = "---\ntitle: Yeast propagation\ntags: [starter, wort, flask]\nauthor: Lucia\n---\n\nSee sheet nine.\n"
LONG_FRONT = "---\n" + "\n".join(f"field{n}: value {n} of the export" for n in range(40)) + "\n---\n\n"
MINUTES = "\n".join(f"- {n}: nothing new about the roof of the hall." for n in range(1, 70))
HIDDEN = base64.b64encode(b"The spare manifold is under the stairs beside the boiler. " * 3).decode()

PLANTED = [
    settings("words alone", "fusion|weight", "-s", "openclaw-2026.7.1", "--set", "fusion.vector=0",
             "--set", "fusion.keyword=1", good="openclaw-2026.7.1"),
    settings("all words", "query", "-s", "openclaw-2026.2.13+or+rrf+minmax", "--set", "query.join=AND",
             "--set", "floor.floor=0.45", good="openclaw-2026.2.13+or+rrf+minmax"),
    settings("a floor on percents", "floor|score below", *OR, "--min-score", "35",
             good="openclaw-2026.2.13+or"),
    settings("no weight for words", "fusion|weight", *OR, "--set", "fusion.keyword=0", "--set",
             "fusion.vector=0.3", good="openclaw-2026.2.13+or"),
    settings("diversity alone", "diversity", *NEW, "--set", "diversity.relevance_weight=0.05", "--limit", "2",
             good="openclaw-2026.9.6"),
    settings("one result", "limit", "-s", "recommended", "--limit", "1", good="recommended"),
    settings("a floor just too high", "floor|score below", *OR, "--min-score", "0.68",
             good="openclaw-2026.2.13+or"),
    data("index", "deleted and made again", "Cause: index", "who likes liquorice", "people/tom.md",
         after=lambda root: write(root, {"people/tom.md": "# Tom\n\nTom likes liquorice.\n"})),
    data("index", "vectors of other texts", "vectors", "who plays the bassoon", "people/anouk.md", *VECTORS,
         "--limit", "2", index=("--vectors",), vectors=shifted),
    data("index", "vectors with the wrong sign", "vectors", "who plays the bassoon", "people/anouk.md",
         *VECTORS, "--limit", "2", index=("--vectors",), vectors=negative),
    data("index", "the index of the past", "Cause: index", "which pub pays late", "people/piet.md", *VECTORS,
         "--limit", "1",
         after=lambda root: write(root, {"people/piet.md": "# Piet\n\nThe pub that pays late: Heron.\n"})),
    code("ten vectors", "vectors|index", kind="index", of_index=FirstTen, base=SUM.with_stage(Limit(2))),
    code("two prefixes", "vectors|question", kind="index", of_index=Doubled,
         base=replace(SUM.with_stage(Limit(2)).with_stage(WeightedSum(0.95, 0.05)), changes=())),
    code("an inner join", "JOIN|all legs|candidates", Both(), base=SUM),
    code("a sum with NaN", "fusion.*all legs|all legs", NanSum(), base=SUM),
    code("dropna", "all legs", InBothLegs(), base=SUM),
    code("ranks that are added", "fusion", SumOfRanks(), base=SUM),
    code("the longest first", "order", LongestFirst(), base=SUM.with_stage(Limit(3))),
    code("a decay", "fusion", Decay(), base=SUM.with_stage(Limit(3))),
    code("four deviations", "floor", BestHalf(), base=SUM),
    code("a rank constant for scores", "fusion|floor", RankSum(1.0, 1.0, k=60), base=SUM),
    code("one vector", "vector.leg", VectorLeg(FixedDepth(cap=1)),
         base=SUM.with_stage(WeightedSum(0.9, 0.1))),
    data("data", "only in the front matter", "front matter", "which flask for the starter", "people/yeast.md",
         *OLD, "--min-score", "0.45", notes={"people/yeast.md": FRONT}),
    data("data", "a long front matter", "front matter|Cause: chunk", "where does the swan nest",
         "office/swan.md", *VECTORS, "--limit", "3",
         notes={"office/swan.md": LONG_FRONT + "The swan nests behind the malt mill.\n"}),
    data("data", "a linked folder", "link", "when does the maltster deliver", "vendor/suppliers.md",
         before=linked_folder),
    data("data", "another ending", "\\.markdown|ending|ends", "who mends the pump", "plant/pump.markdown",
         notes={"plant/pump.markdown": "# Pump\n\nHans mends the pump.\n"}),
    data("data", "base64", "base64|encod|encrypt", "where is the spare manifold", "plant/manifold.md", *OR,
         notes={"plant/manifold.md": f"# Note\n\n{HIDDEN}\n"}),
    data("data", "ligatures", "ligature|Unicode|letters", "first flag of the office", "office/flag.md", *OLD,
         notes={"office/flag.md": "# \ufb01rst \ufb02ag\n\nof the of\ufb01ce hangs there.\n"}),
    data("data", "one line in minutes", "Cause: chunk|passage", "who has the key of the hop store",
         "office/minutes.md", *VECTORS, "--limit", "2",
         notes={"office/minutes.md": f"# Minutes\n\n{MINUTES}\nThe key of the hop store is with Rosa.\n"}),
    asked("small letters", "question.*(sop|standard)", "sop", "office/sop.md", *OLD,
          **{"office/sop.md": "# Rules\n\nThe standard operating procedure hangs at the door.\n"}),
    asked("in full", "question.*(CIP|clean)", "cleaning in place", "plant/cip.md", *OLD,
          **{"plant/cip.md": "# Pipes\n\nRun CIP each night with acid.\n"}),
    asked("a name in two ways", "question", "Katarzyna phone", "people/kasia.md", *OLD,
          **{"people/kasia.md": "# Catarzyna\n\nHer phone is 0171.\n"}),
    asked("a number with a unit", "question", "1.3mm gap", "plant/mill.md", *OLD),
    asked("camelCase", "question", "glycolTemperature", "plant/chiller.md", *OLD, "--min-score", "0.5"),
    asked("a hyphen", "question", "labeling-machine jam", "plant/labels.md", *OLD),
    asked("two questions", "question", "who plays the bassoon and when is the excise duty declaration due",
          "people/anouk.md", *VECTORS, "--limit", "1"),
    asked("plural", "question", "forklifts licences", "plant/forklift.md", *OLD),
    asked("a phrase in quotes", "question", '"keeps yeast bank"', "people/lucia.md", *OLD),
    asked("out of place", "question", "braumeisterin fagott", "people/anouk.md", *OLD),
    recorded("an inner join of lists", "inner join|both legs|all legs", "plant/chiller",
             legs={"vector": [("plant/chiller", 0.9), ("people/piet", 0.7), ("office/tours", 0.6)],
                   "keyword": [("people/piet", 4.0), ("office/tours", 3.0), ("office/excise", 2.0)]},
             fused=[("office/tours", 1.3), ("people/piet", 1.2)]),
    recorded("distances taken as similarities", "upside down|vector.leg", "plant/chiller",
             legs={"vector": [("people/piet", 0.2), ("office/tours", 0.5), ("plant/chiller", 0.9)],
                   "keyword": [("office/tours", 4.0)]}, fusion="rrf-60", limit=2),
    engine("AND in the other engine", "AND|all words", "which glycol does the chiller need",
           "plant/chiller",
           Recorder("acme", {"vector": Asked(near_first([one for one in IDS if "chiller" not in one]),
                                             TopK(cap=9)),
                             "keyword": Asked(all_words, TopK(cap=9))}, "rrf-60", limit=4, texts=TEXTS)),
    engine("a small pool", "cut|vector.leg|keyword.leg", "glycol chiller",
           "plant/chiller",
           Recorder("acme", {"vector": Asked(near_first([*IDS[:12], "plant/chiller"]), TopK(cap=3)),
                             "keyword": Asked(counted_words(lambda _: ["pub"]), TopK(cap=3))}, "rrf-60",
                    limit=8, texts=TEXTS)),
    engine("a filter after the cut", "filter", "glycol chiller", "plant/chiller",
           Recorder("acme", {"vector": Asked(before_filter([*IDS[:12], "plant/chiller"], "plant"),
                                             TopK(cap=8)),
                             "keyword": Asked(counted_words(lambda _: ["pub"]), TopK(cap=8))}, "rrf-60",
                    limit=4, texts=TEXTS)),
    recorded("ids in another case", "ids|two ways", "plant/chiller",
             legs={"vector": [("A", 0.9), ("B", 0.8), ("PLANT/Chiller", 0.7)],
                   "keyword": [("c", 3.0), ("d", 2.5), ("plant/chiller", 2.0)]}, fusion="rrf-60", limit=2),
]  # fmt: skip


if __name__ == "__main__":
    report(PLANTED)
