"""The bug museum: public bugs of hybrid search, each in the smallest input that shows it.

A specimen has two sides, the code as shipped and as fixed, which differ in one change: two fusions of the
same lists (`fused`), two pipelines over the same few notes (`searched`), or two functions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from workbench.errors import InputError
from workbench.memory.data_files import load_data
from workbench.memory.embedding.local import ToyEmbedder
from workbench.memory.files import content_hash
from workbench.memory.index import MemoryIndex
from workbench.memory.sources import LineChunker
from workbench.memory.store.contract import Cached, Settings
from workbench.memory.store.sqlite.store import Store
from workbench.records import Document, Tabular
from workbench.registry import Registry
from workbench.retrieval.fusion import Fusion
from workbench.retrieval.pipeline import Pipeline, search
from workbench.tables import Block, Column, Line, Part, Table, Types, tidy
from workbench_plugins.engines.lists import fusion_of_lists
from workbench_plugins.engines.presets import fuse

Answer = Mapping[str, float]
"""The result of one side, best first: names and their scores."""

Healthy = Callable[[Answer], bool]
"""Whether an answer is as expected."""

Alteration = Callable[[MemoryIndex], MemoryIndex]
"""What is done to a small index before it is searched."""

Axes = Mapping[str, tuple[str, ...]]
"""A toy vector has one dimension per entry: how many words of the text belong to that topic."""

FOUR_NOTES = {
    "memory/depot.md": "Rocky Point is where the bark is packed into bags.",
    "memory/disk.md": "The server reported a disk error at night, and the disk was changed.",
    "memory/backup.md": "The backup of the server runs on the second disk.",
    "memory/codes.md": "ENOENT means that a file was not there.",
}
SERVER_AND_GARDEN: Axes = {"server": ("server", "disk", "backup"), "garden": ("bark", "soil")}


@dataclass(frozen=True)
class FusedLists:
    """A fusion of two lists of scores by id; calling it gives the answer."""

    fusion: Fusion
    vector: Answer
    keyword: Answer

    def __call__(self) -> Answer:
        return fused_scores(self.fusion, self.vector, self.keyword)

    @property
    def pipeline(self) -> Pipeline:
        """The same fusion as a system for given lists."""
        return fusion_of_lists("lists", self.fusion)


@dataclass(frozen=True)
class SmallSearch:
    """A question that a pipeline answers from a few notes; calling it gives the answer."""

    pipeline: Pipeline
    question: str
    notes: Mapping[str, str]
    axes: Axes
    alteration: Alteration | None = None
    embedder: Callable[[Axes], ToyEmbedder] = ToyEmbedder

    def opened(self) -> MemoryIndex:
        """The index that is searched; close it after use."""
        index = small_memory(self.notes, self.axes, self.embedder(self.axes))
        return index if self.alteration is None else self.alteration(index)

    def __call__(self) -> Answer:
        with self.opened() as index:
            return {one.chunk.path: one.score for one in search(self.question, self.pipeline, index).results}


@dataclass(frozen=True)
class Side:
    """One side of a specimen: a line that says what it does, and the code that gives its answer."""

    description: str
    answer: Callable[[], Answer]

    @property
    def pipeline(self) -> Pipeline | None:
        """The pipeline of a side that searches notes or fuses two lists; None for any other function."""
        return self.answer.pipeline if isinstance(self.answer, SmallSearch | FusedLists) else None


class Sides(NamedTuple):
    """The code with the bug, and the code with the fix."""

    shipped: Side
    fixed: Side


def searched(
    shipped: Pipeline,
    fixed: Pipeline,
    question: str,
    notes: Mapping[str, str] = FOUR_NOTES,
    axes: Axes = SERVER_AND_GARDEN,
) -> Sides:
    """Two pipelines that search the same few notes and differ in exactly one stage, or in their layout.

    Raises InputError when they differ in more than that, or in nothing.
    """
    differences = shipped.diff(fixed)
    if len(differences) != 1:
        raise InputError(
            f"{shipped.name} and {fixed.name} differ in {len(differences)} stages.",
            "Write one specimen for each change of the fix.",
        )
    (one,) = differences
    return Sides(
        *(
            Side(part.description if part else f"no {one.slot}", SmallSearch(pipeline, question, notes, axes))
            for part, pipeline in ((one.before, shipped), (one.after, fixed))
        )
    )


def small_memory(notes: Mapping[str, str], axes: Axes, embedder: ToyEmbedder | None = None) -> MemoryIndex:
    """An index of a few notes in RAM, with vectors that you can compute by hand; close it after use."""
    embedder, chunker = embedder or ToyEmbedder(axes), LineChunker()
    settings = Settings(embedder.name, embedder.revision, embedder.dimensions, "lines")
    index = MemoryIndex(Store.create(Path(":memory:"), settings), embedder)
    for path, text in notes.items():
        document = Document(path, "memory", text, content_hash(text), len(text), 0)
        passages = chunker.chunk(text)
        vectors = embedder.embed([passage.text for passage in passages], "passage").vectors
        index.store.replace(document, passages, [Cached(vector, 1.0) for vector in vectors])
    return index


def fused_scores(fusion: Fusion, vector: Answer, keyword: Answer) -> dict[str, float]:
    """The fused scores of two lists of scores by id: best first, equal scores by id."""
    return {hit.id: hit.score for hit in fuse(fusion, vector, keyword)}


def first(answer: Answer) -> str | None:
    """The name with the best score; None for an empty answer and for a tie at the top."""
    best = [name for name, score in answer.items() if score == max(answer.values())]
    return best[0] if len(best) == 1 else None


def by_score(scores: Answer) -> Answer:
    """Scores as an answer: best first, equal scores by name."""
    return dict(sorted(scores.items(), key=lambda pair: (-pair[1], pair[0])))


@dataclass(frozen=True)
class Specimen:
    """A public bug: its reports, the symptom, the mechanism, the one change, and an input that shows it.

    `world` describes the input. `healthy` tests an answer, and `expected` states this test in words. `note`
    says what is simplified, `no_case` why it is not one question to one memory.
    """

    name: str
    references: tuple[str, ...]
    symptom: str
    mechanism: str
    change: str
    world: str
    expected: str
    healthy: Healthy
    sides: Sides
    note: str = ""
    no_case: str = ""

    def run(self) -> SpecimenRun:
        """Compute both answers and check each of them."""
        shipped, fixed = dict(self.sides.shipped.answer()), dict(self.sides.fixed.answer())
        return SpecimenRun(self, shipped, fixed, self.healthy(shipped), self.healthy(fixed))


WORDS = ("symptom", "mechanism", "change", "world", "expected", "note", "no_case")
"""The parts of a report that are words."""
SPECIMENS = Registry[Specimen](
    "specimen", lambda thing: isinstance(thing, Specimen), see_all="List them: workbench museum"
)


def is_healthy(answer: Answer, rule: str, wanted: Any) -> bool:
    """Whether an answer is as a report's rule says.

    `first` and `found` name a candidate, `order` two of which the first one scores higher, and `scores` the
    lowest and the highest score of an answer that is not empty.
    """
    match rule:
        case "first":
            return bool(first(answer) == wanted)
        case "found":
            return str(wanted) in answer
        case "order":
            return answer[wanted[0]] > answer[wanted[1]]
        case "scores":
            return bool(answer) and all(wanted[0] <= score <= wanted[1] for score in answer.values())
    raise InputError(f"There is no rule {rule!r} for a specimen.", "Use first, found, order or scores.")


Changed = Iterable[tuple[str, Any]]
"""Fields of a `SmallSearch` that a side sets."""


class Reports:
    """The specimens of one module, told and fed by the YAML file beside it, by name.

    Of a report, `vector` and `keyword` are the lists of a fusion; `question`, `notes` and `axes` those of a
    search; `healthy` is a rule of `is_healthy`, unless a function is given. Two sides differ in one change.
    """

    def __init__(self, module: str) -> None:
        self.told: Mapping[str, dict[str, Any]] = load_data(module)

    def computed(
        self,
        name: str,
        shipped: Callable[[], Answer],
        fixed: Callable[[], Answer],
        healthy: Healthy | None = None,
    ) -> Specimen:
        """Two functions; the report's `sides` say what they do."""
        return self._specimen(name, Sides(*map(Side, self.told[name]["sides"], (shipped, fixed))), healthy)

    def fused(self, name: str, shipped: Fusion, fixed: Fusion, healthy: Healthy | None = None) -> Specimen:
        """Two fusions of the report's two lists of scores by id; larger is better."""
        lists = self.told[name]["vector"], self.told[name]["keyword"]
        sides = Sides(*(Side(one.description, FusedLists(one, *lists)) for one in (shipped, fixed)))
        return self._specimen(name, sides, healthy)

    def searched(
        self, name: str, shipped: Pipeline, fixed: Pipeline, healthy: Healthy | None = None
    ) -> Specimen:
        """Two pipelines that search the report's few notes, by default FOUR_NOTES."""
        report = self.told[name]
        axes = {axis: tuple(words) for axis, words in report.get("axes", SERVER_AND_GARDEN).items()}
        sides = searched(shipped, fixed, report["question"], report.get("notes", FOUR_NOTES), axes)
        return self._specimen(name, sides, healthy)

    def stored(
        self,
        name: str,
        pipeline: Pipeline,
        shipped: Changed,
        fixed: Changed = (),
        healthy: Healthy | None = None,
    ) -> Specimen:
        """Two small indexes, made or embedded in another way, that one pipeline searches."""
        report = self.told[name]
        axes = {axis: tuple(words) for axis, words in report["axes"].items()}
        asked = SmallSearch(pipeline, report["question"], report["notes"], axes)
        sides = (
            Side(description, replace(asked, **dict(one)))
            for description, one in zip(report["sides"], (shipped, fixed), strict=True)
        )
        return self._specimen(name, Sides(*sides), healthy)

    def _specimen(self, name: str, sides: Sides, healthy: Healthy | None) -> Specimen:
        report = self.told[name]
        words = {one: report[one] for one in WORDS if one in report}
        if healthy is None:
            [(rule, wanted)] = report["healthy"].items()
            healthy = partial(is_healthy, rule=rule, wanted=wanted)
        return Specimen(name, tuple(report["references"]), healthy=healthy, sides=sides, **words)


def specimen(name: str) -> Specimen:
    """The specimen of that name. Raises InputError for an unknown name, and suggests the nearest ones."""
    return SPECIMENS.named(name)


def run_specimens(names: Iterable[str] | None = None) -> SpecimenRuns:
    """The answers of the specimens of these names, by default of all. Raises InputError for unknown ones."""
    return SpecimenRuns(specimen(name).run() for name in (SPECIMENS if names is None else names))


@dataclass(frozen=True)
class SpecimenRun(Tabular):
    """Both answers of a specimen, and whether each is as expected."""

    specimen: Specimen
    shipped: Answer
    fixed: Answer
    shipped_healthy: bool
    fixed_healthy: bool

    @property
    def shows(self) -> bool:
        """Whether the shipped side has the bug and the fixed side does not."""
        return self.fixed_healthy and not self.shipped_healthy

    @property
    def by_side(self) -> tuple[tuple[str, Side, Answer, bool], ...]:
        """For each side its name, what it does, its answer, and whether this is as expected."""
        shipped, fixed = self.specimen.sides
        return (
            ("shipped", shipped, self.shipped, self.shipped_healthy),
            ("fixed", fixed, self.fixed, self.fixed_healthy),
        )

    @property
    def report(self) -> dict[str, str]:
        """The report in words, by the names of its parts."""
        return {name: getattr(self.specimen, name) for name in WORDS[:5]}

    def as_json(self) -> dict[str, Any]:
        """The specimen and its answers as plain data."""
        sides = {
            name: {
                "does": side.description,
                "answers": [{"name": one, "score": score} for one, score in answer.items()],
                "as_expected": healthy,
            }
            for name, side, answer, healthy in self.by_side
        }
        one = self.specimen
        named = {"name": one.name, "references": list(one.references), **self.report, "note": one.note}
        return {**named, **sides, "shows": self.shows}

    def view(self) -> list[Part]:
        """The specimen in full: the report in words, both answers, and whether each is as expected."""
        one = self.specimen
        words = [("input" if name == "world" else name, text) for name, text in self.report.items()]
        rows = [
            (name, side.description, answer_text(answer), "yes" if healthy else "no")
            for name, side, answer, healthy in self.by_side
        ]
        return [
            Line(one.name, "bold"),
            Line(", ".join(one.references), "dim"),
            Table("", [Column("", "label"), ""], words, padded=True),
            Table("answers", ["", "does", "answers", "as expected"], rows),
            self._outcome,
            *([Line(one.note, "dim")] if one.note else []),
        ]

    @property
    def _outcome(self) -> str:
        if self.shows:
            return "The shipped side has the bug, and the change fixes it."
        state = {True: "as expected", False: "not as expected"}
        return (
            f"This specimen does not show its bug: the shipped answer is {state[self.shipped_healthy]}, "
            f"the fixed answer is {state[self.fixed_healthy]}."
        )

    def observations(self) -> Table:
        """One row."""
        return SpecimenRuns([self]).observations()


SPECIMEN_COLUMNS: Types = {
    "specimen": "str", "reported_in": "str", "symptom": "str", "mechanism": "str", "change": "str",
    "shipped": "str", "fixed": "str", "shipped_as_expected": "bool", "fixed_as_expected": "bool",
    "shown": "bool",
}  # fmt: skip


class SpecimenRuns(list[SpecimenRun], Tabular):
    """The answers of several specimens."""

    def view(self) -> list[Part]:
        """How many specimens show their bug, and one line for each with whether it does."""
        rows = [
            (one.name, one.references[0], one.symptom, "yes" if run.shows else "no")
            for run in self
            for one in [run.specimen]
        ]
        columns = Column("specimen", "whole"), "reported in", "symptom", Column("shown", "whole")
        shown = sum(run.shows for run in self)
        total = f"{shown} of {len(self)} specimens have their bug as shipped, and lose it with the change."
        return [Block(total, style="bold"), Table("specimens", columns, rows)]

    def observations(self) -> Table:
        """One row for each specimen."""
        rows = []
        for run in self:
            one = run.specimen
            report = (one.name, one.references[0], one.symptom, one.mechanism, one.change)
            answers = (answer_text(run.shipped), answer_text(run.fixed))
            rows.append([*report, *answers, run.shipped_healthy, run.fixed_healthy, run.shows])
        return tidy(SPECIMEN_COLUMNS, rows)


def answer_text(answer: Answer) -> str:
    """An answer in a line: `exact 0.5, vec-1 0.5`."""
    return ", ".join(f"{name} {score:.4g}" for name, score in answer.items()) or "nothing"
