"""Runs a case on the released system, and compares whole result lists with ours."""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import zip_longest
from math import inf, isclose
from pathlib import Path
from typing import Any, NamedTuple, cast

from workbench.errors import InputError
from workbench.memory.embedding.engines import Role
from workbench.memory.embedding.local import Embedded
from workbench.memory.files import replaced
from workbench.records import Document, Shown
from workbench.retrieval.cutoff import MinScore
from workbench.retrieval.pipeline import Pipeline
from workbench.retrieval.query import BLANKS
from workbench.safe_text import counted
from workbench.systems.history import line_of
from workbench.tables import Part, Table, masked_parts
from workbench_plugins.cases.case_index import (
    CaseEmbedder,
    chunker_of,
    cut_note,
    notes_of,
    other_chunks,
    unpacked,
)
from workbench_plugins.cases.model import Case, CaseQuestion, without_secrets
from workbench_plugins.cases.released import basic_memory, openclaw_gateway
from workbench_plugins.cases.released.embeddings import served
from workbench_plugins.cases.released.installing import Installed, numbered
from workbench_plugins.cases.released.release_answers import answers
from workbench_plugins.cases.running import judged, run_case, systems_named

Row = Sequence[tuple[str, float]]
"""The results of a question in order: the place of each, and its score."""
OUTSIDE = "memory/outside-of-memory/"
TOLERANCE = 1e-4
"""Scores that differ by less are the same: the vectors of many cases have four decimals."""
NEVER = "9999"
"""A release after all others."""
BASIC_MEMORY = {"bm-head": "0.23.2", "bm-0.24.1": "0.24.1"}
"""The releases that systems of ours are; other systems follow commits between releases."""


@dataclass(frozen=True)
class Side:
    """The results of one question on one of the two sides, as (place, score), and what is expected."""

    question: str
    ours: tuple[tuple[str, float], ...]
    theirs: tuple[tuple[str, float], ...]
    holds: bool | None = None

    @property
    def same(self) -> bool:
        """Whether both lists have the same places in the same order, with the same scores."""
        pairs = zip(self.ours, self.theirs, strict=False)
        close = (
            mine[0] == their[0] and isclose(mine[1], their[1], abs_tol=TOLERANCE) for mine, their in pairs
        )
        return len(self.ours) == len(self.theirs) and all(close)


@dataclass(frozen=True, repr=False)
class Confirmation(Shown):
    """What a release and our system return for the questions of a case.

    `other_chunks` says why the chunks of the case can be others than those of the release, and a remedy.
    """

    package: str
    version: str
    system: str
    sides: tuple[Side, ...]
    other_chunks: str = ""

    @property
    def same(self) -> bool:
        """Whether every list is the same."""
        return all(one.same for one in self.sides)

    @property
    def description(self) -> str:
        """Whether the release confirms our system, and how many expectations hold on it."""
        lists, release = counted(len(self.sides), "list"), f"{self.package} {self.version}"
        judged = [one.holds for one in self.sides if one.holds is not None]
        held = f" Expectations that hold on it: {sum(judged)} of {len(judged)}." if judged else ""
        if self.same:
            said = f"returns what {self.system} returns: {lists}, scores within {TOLERANCE:g}."
            return f"{release} {said}{held}"
        differ = sum(not one.same for one in self.sides)
        said = f"{release} and {self.system} differ in {differ} of {lists}"
        if not self.other_chunks:
            return f"{said}: our model of the release is wrong.{held}"
        return f"{said}.{held} The chunks can be the reason. {self.other_chunks}"

    def view(self) -> list[Part]:
        """The verdict; where lists differ, both."""
        rows = [
            (str(rank), *(f"{one[0]} {one[1]:.4f}" if one else "" for one in pair))
            for side in self.sides
            if not side.same
            for rank, pair in enumerate(zip_longest(side.ours, side.theirs), 1)
        ]
        lists = [Table("", ["#", "ours", "theirs"], rows)] if rows else []
        return masked_parts([self.description, *lists])

    def as_json(self) -> dict[str, Any]:
        """The lists of both sides."""
        sides = [{**asdict(one), "same": one.same} for one in self.sides]
        release = f"{self.package} {self.version}"
        data = {"release": release, "system": self.system, "same": self.same, "questions": sides}
        return cast("dict[str, Any]", without_secrets(data))


class Judge(NamedTuple):
    """The package and the version that judge a case, our system for them, and the release after ours."""

    package: str
    version: str
    ours: Pipeline
    until: str = ""


def release_of(case: Case, own: Pipeline, release: str = "") -> Judge:
    """What judges a case on a system of ours.

    For OpenClaw our system is the newest one that is not newer, or the oldest one. Raises InputError for a
    case of lists, for a system of another project, and without a release where the system names none.
    """
    if case.memory.lists is not None or not own.name.startswith(("openclaw-", "bm-")):
        raise InputError(
            f"{own.name} has no released package that could judge it here.",
            "Cases of a memory with a system openclaw-… or bm-… have one.",
        )
    if own.name.startswith("bm-"):
        version = release or BASIC_MEMORY.get(own.name, "")
        if not version:
            raise InputError(f"{own.name} follows a commit, not a release.", "Name one: --release 0.23.2")
        near = [name for name, one in BASIC_MEMORY.items() if numbered(one) <= numbered(version)]
        ours = systems_named([near[-1] if near else own.name], case)[0]
        return Judge("basic-memory", version, ours)
    known = line_of(own.name).releases
    wanted = numbered(release or own.source.release)
    before = [one for one in known if numbered(one.source.release) <= wanted]
    if not release:
        later = [one.source.release for one in known if numbered(one.source.release) > wanted]
        return Judge("openclaw", own.source.release, own, (later or [NEVER])[0])
    return Judge("openclaw", release, systems_named([(before or known[:1])[-1].name], case)[0])


def confirm(case: Case, installed: Installed, ours: Pipeline, folder: Path | None = None) -> Confirmation:
    """Both sides' results for every question. `folder` is that of the case file.

    A floor that the case adds is applied to both. Raises InputError for a release that does not run, and for
    one that embeds a text for which the case has no vector.
    """
    run = run_case(case, ours, folder=folder)
    by_file = installed.package != "openclaw"
    mine = {
        one.asked.question: [
            (r.chunk.path if by_file else r.chunk.location, r.score) for r in one.trace.results
        ]
        for one in run.answers
    }
    with tempfile.TemporaryDirectory() as scratch, served(embedder=CaseVectors(case, folder)) as server:
        notes = Path(scratch)
        for note in notes_of(case, folder):
            path = notes / (note.path if by_file else where_read(note.path))
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(note.whole, encoding="utf-8")
        ask = _basic_memory if by_file else _openclaw
        try:
            theirs = ask(case, installed, ours, notes, server.url)
        except (InputError, OSError, subprocess.CalledProcessError) as error:
            problem = f"{installed.package} {installed.version} does not run: {error}."
            if server.refused:
                text = server.refused[0][:60]
                problem = f"{installed.package} embeds a text for which the case has no vector: {text!r}."
            raise InputError(problem, "Give --node or --python; or write the case without vectors.") from None
    sides = tuple(_side(one, mine[one.question], theirs[one.question]) for one in case.questions)
    chunks = other_chunks(case, ours, folder)
    return Confirmation(installed.package, installed.version, ours.name, sides, chunks)


def _side(asked: CaseQuestion, ours: Row, theirs: Row) -> Side:
    paths = list(dict.fromkeys(re.sub(r":\d+-\d+$", "", location) for location, _ in theirs))
    holds = judged(asked.expect, paths).holds if asked.expect.same_as is None else None
    return Side(asked.question, tuple(ours), tuple(theirs), holds)


class CaseVectors(CaseEmbedder):
    """The vectors that a case has of its questions and passages; other texts go to its model."""

    def __init__(self, case: Case, folder: Path | None) -> None:
        known = {one.question: one.vector for one in case.questions}
        for note in notes_of(case, folder):
            cut = cut_note(note, chunker_of(case.memory))
            known |= {
                one.text: given.vector for one, given in zip(cut.passages, cut.given_passages, strict=True)
            }
        read = {
            text.strip(BLANKS): unpacked(vector, case.model, text[:40])
            for text, vector in known.items()
            if vector is not None
        }
        super().__init__(case.model, read)

    def embed(self, texts: Sequence[str], role: Role) -> Embedded:
        return super().embed([one.strip(BLANKS) for one in texts], "query")


def where_read(path: str) -> str:
    """Where OpenClaw gets a note of this path: it reads MEMORY.md and the folder memory alone."""
    return path if path.lower() == "memory.md" or path.startswith("memory/") else f"{OUTSIDE}{path}"


def _openclaw(case: Case, installed: Installed, ours: Pipeline, notes: Path, url: str) -> Mapping[str, Row]:
    given = {"maxResults": case.system.limit, "minScore": case.system.min_score}
    arguments = {name: value for name, value in given.items() if value is not None}
    tokenizer = "trigram" if ours.name.endswith("-trigram") else ""
    with openclaw_gateway.running(installed, notes, url, tokenizer) as ask:
        found = answers(ask, _questions(case), arguments)
    return {
        question: [] if isinstance(rows, dict) else [(_location(one), float(one["score"])) for one in rows]
        for question, rows in found.items()
    }


def _questions(case: Case) -> list[str]:
    return [one.question for one in case.questions]


def _location(row: Mapping[str, Any]) -> str:
    return f"{row['path'].removeprefix(OUTSIDE)}:{row['startLine']}-{row['endLine']}"


def _basic_memory(
    case: Case, installed: Installed, ours: Pipeline, notes: Path, url: str
) -> Mapping[str, Row]:
    from workbench_plugins.basic_memory.notes import note_of
    from workbench_plugins.basic_memory.pipelines import MinSimilarity

    similar = next((one.least for one in ours.stages if isinstance(one, MinSimilarity)), basic_memory.LEAST)
    with basic_memory.running(installed, notes, url, case.model.dimensions, similar) as ask:
        found = answers(ask, _questions(case), {"search_type": "hybrid"})
    files = {one.relative_to(notes).as_posix(): one.read_text("utf-8") for one in notes.rglob("*.md")}
    documents = (Document(path, "memory", text, "", 0, 0) for path, text in files.items())
    paths = {note_of(one, "main").permalink: one.path for one in documents}
    least = max((one.floor for one in ours.stages if isinstance(one, MinScore)), default=-inf)
    return {
        question: [(paths.get(one, one), float(score)) for one, score in rows if score >= least]
        for question, rows in found.items()
    }


def save(found: Confirmation, case: Case, file: Path) -> Path:
    """Writes a difference as a record: the case, and the lists of both sides."""
    with replaced(file) as out:
        record = {**found.as_json(), "case": case.model_dump(exclude_unset=True)}
        json.dump(record, out, ensure_ascii=False, indent=1)
    return file
