"""The state of the question explorer: one question, two systems, and why a file is in their lists or not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from math import isfinite
from pathlib import Path
from typing import Any

import traitlets

from workbench.contracts import Index
from workbench.errors import InputError, WorkbenchError, brief, unknown_name
from workbench.memory.beside import Indexes
from workbench.memory.index import MemoryIndex
from workbench.memory.opening import command_for_own, made_as, opening_code
from workbench.records import Candidate, Fate, Trace, first_of
from workbench.retrieval.cutoff import MinScore
from workbench.retrieval.explain import Explanation, explain, formula_lines
from workbench.retrieval.formula_export import exported
from workbench.retrieval.index_adapters import check_open
from workbench.retrieval.pipeline import Pipeline, search
from workbench.retrieval.query import check_question
from workbench.retrieval.settings import as_settings, every_setting, with_values
from workbench.safe_text import counted
from workbench.systems.catalogue import SYSTEMS, default_system
from workbench.tables import ABSENT, Table
from workbench.views.living.as_code import GIVEN
from workbench.views.living.data import Chunks, trace_data
from workbench.views.living.selection import Link, Selection
from workbench.views.living.state import RefusedError, State, setting

SIDES = ("left", "right")


def paired_candidates(left: Trace, right: Trace) -> list[tuple[Candidate | None, Candidate | None]]:
    """Pairs of the same chunk's candidates in two searches (None if absent); the left search comes first.

    If one search returns whole notes and the other chunks, a note is paired with its best chunk.
    """
    of_notes = any(chunk.id == chunk.path for chunk in (*left.chunks, *right.chunks))

    def key(one: Candidate) -> str:
        return one.chunk.path if of_notes else one.chunk.id

    theirs = {key(one): one for one in reversed(right.candidates)}
    pairs = [(one, theirs.pop(key(one), None)) for one in left.candidates]
    taken = {other.position for _, other in pairs if other}
    return [*pairs, *((None, one) for one in right.candidates if one.position not in taken)]


def scored(trace: Trace, one: Candidate) -> bool:
    """Whether the candidate got the score that the trace is ranked by: it was not dropped before."""
    if not isfinite(one.score):
        return False
    writer = next((n for n, stage in enumerate(trace.stages) if trace.ranked_by in stage.writes()), -1)
    return one.drop is None or trace.stage_number(one.drop.stage) > writer


GROUPS = {"am": "AutoMem", "bm": "Basic Memory", "engine": "fusions of other engines", "qmd": "QMD"}
"""The groups of systems whose names begin with less than a word."""

SHIPPED_AND_FIXED = ("openclaw-2026.2.13", "openclaw-2026.2.13+or+rrf+minmax")
SCORE = "score = "


class ExplorerState(State):
    """The settings of the question explorer, and the two searches: see `QuestionExplorer`.

    `files` are those of all indexes that are searched, in order.
    """

    name, view, main = "question-explorer", "explorer", "question"
    asks = ("question", "target", "left", "right", "moved")
    selects: Mapping[str, str] = {
        "question": "question",
        "target": "file",
        "left": "system",
        "right": "system",
    }
    question = setting(traitlets.Unicode())
    target = setting(traitlets.Unicode())
    left = setting(traitlets.Unicode())
    right = setting(traitlets.Unicode())
    moved = setting(
        traitlets.Dict(traitlets.Dict(), help="numbers by side and name: {'left': {'floor.floor': 0.2}}")
    )
    side = setting(traitlets.Unicode(SIDES[0]))
    chunk = setting(traitlets.Unicode())

    index: Index
    indexes: Indexes
    pipelines: Mapping[str, Pipeline]
    traces: tuple[Trace, Trace]
    searched: list[Pipeline]
    searched_in: list[Index]
    explanations: tuple[Explanation, Explanation] | None
    files: list[str]
    _of_indexes: list[str]

    def __init__(
        self,
        index: Index | Indexes,
        question: str,
        target: str = "",
        systems: Sequence[str] = SHIPPED_AND_FIXED,
        pipelines: Mapping[str, Pipeline] = SYSTEMS,
        link: Link = True,
    ) -> None:
        if not isinstance(index, Indexes):
            check_open(index)
        if not isinstance(systems, list | tuple) or len(systems) != len(SIDES):
            raise InputError(f"These are not two systems: {brief(systems)}.", "Give two names of systems.")
        if not isinstance(pipelines, Mapping):
            raise InputError(f"These are no systems by name: {brief(pipelines)}.", "Give a mapping of them.")
        left, right = systems
        super().__init__(question=question, target=target, left=left, right=right)
        self.indexes = index if isinstance(index, Indexes) else Indexes(index)
        self.index, self.pipelines = self.indexes.base, pipelines
        # A page has no code that has opened the index; a notebook has.
        self._opened = opening_code(self.index) if isinstance(index, Indexes) else []
        self._saved, self._answer = "", 0
        self.options = {"left": list(pipelines), "right": list(pipelines), "side": list(SIDES)}
        self.begin(link)

    @property
    def asked_for(self) -> str:
        """The file to explain; empty for none."""
        return self.target.strip()

    def save_case(self, folder: Path | None = None) -> Path:
        """Saves a search as a case: that of the first system that misses the file, or else the left one.

        `folder` is where the notebook runs, if it is None. Raises InputError without a file to explain.
        """
        if self.explanations is None:
            raise InputError("A case needs the file that you expect.", "Name it as the expected file.")
        from workbench_plugins.cases.commands import save_trace_beside

        return save_trace_beside(
            folder or Path.cwd(), self.traces[self.failed], self.searched_in[self.failed], self.asked_for
        )

    @property
    def failed(self) -> int:
        """The place of the first system that misses the file to explain; of the left one if none does."""
        missed = [one.fate is not Fate.RETURNED for one in self.explanations or ()]
        return missed.index(True) if True in missed else 0

    def pressed(self, button: Mapping[str, Any]) -> None:
        """Saves a case when the page's button is pressed, and says where, or why not."""
        try:
            self._saved = f"Saved: {self.save_case()}"
        except WorkbenchError as error:
            self._saved = f"{error.problem} {error.remedy}"
        self.show()

    def following(self, before: Mapping[str, Any]) -> Mapping[str, Any]:
        """Another system comes without what was moved on its side."""
        new = [side for side in SIDES if getattr(self, side) != before[side]]
        return (
            {"moved": {side: moved for side, moved in self.moved.items() if side not in new}} if new else {}
        )

    def check(self, name: str) -> None:
        """Settings can be moved on the two sides, and nowhere else; a side that is named has one or more."""
        super().check(name)
        if name != "moved":
            return
        for side, moved in self.moved.items():
            if side not in SIDES:
                raise RefusedError(f"There is no side {side!r}.", "Settings are moved on left or right.")
            if not moved:
                known = ", ".join(every_setting(self.pipelines[getattr(self, side)]))
                raise RefusedError(
                    f"Nothing is moved on the {side}.", f"Leave {side} out, or move one of: {known}."
                )

    def look(self) -> None:
        """Searches with both systems, and explains the file's fate in each."""
        question = check_question(self.question)
        pipelines = [self._set(side) for side in SIDES]
        indexes = [self.indexes.of(one.indexing) for one in pipelines]
        left, right = map(search, (question, question), pipelines, indexes)
        explanations = None
        if self.asked_for:
            one, other = map(explain, (left, right), indexes, (self.asked_for, self.asked_for))
            explanations = one, other
        self.traces, self.explanations = (left, right), explanations
        self.searched, self.searched_in = pipelines, indexes
        self.files = sorted({path for one in (self.index, *indexes) for path in one.paths()})
        self._of_indexes = [
            said
            for pipeline, index in zip(pipelines, indexes, strict=True)
            for said in _of_index(pipeline, index, index is self.index)
        ]

    def _set(self, side: str) -> Pipeline:
        """The system of a side with the settings that were moved there."""
        return with_values(self.pipelines[getattr(self, side)], self.moved.get(side, {}))

    def show(self) -> None:
        """Brings the current searches and words to the page, which waits for them."""
        self._answer += 1
        super().show()

    @property
    def facts(self) -> Mapping[str, Any]:
        """The two searches for the page."""
        chunks = Chunks(self.traces)
        each = zip(self.system_names, self.searched, self.traces, strict=True)
        sides = [_side(*one, chunks) for one in each]
        for side, one in zip(sides, self.explanations or (), strict=False):
            side["why"] = one.text()
        return {
            "question": self.traces[0].question,
            "target": self.asked_for,
            "sentence": self.sentence,
            "said": self.said,
            "saved": self._saved,
            "answer": self._answer,
            "files": self.files,
            "groups": list(_groups(self.pipelines)),
            "sides": sides,
            "chunks": chunks.data,
            "code": self.code,
        }

    def wanted(self, chosen: Selection) -> Mapping[str, Any]:
        """The selected question, and the selected file to explain.

        The selected system goes to the left, unless it is already shown on one side.
        """
        new_system = chosen.system in self.pipelines and chosen.system not in (self.left, self.right)
        wanted = {
            "question": chosen.question, "target": chosen.file, "left": chosen.system * new_system,
        }  # fmt: skip
        return {name: value for name, value in wanted.items() if value}

    def shown(self, name: str) -> Iterable[str] | None:
        """The candidates of both searches."""
        return [one.id for trace in self.traces for one in trace.chunks] if name == "chunk" else None

    def choice(self, changed: set[str]) -> dict[str, Any]:
        """A candidate of a list selects its chunk, its question and its system."""
        chosen = super().choice(changed)
        if "target" in changed and not self.target:  # else the next question would bring the old file back
            chosen["file"] = ""
        trace = self.traces[SIDES.index(self.side)]
        if "chunk" in changed and (
            chunk := next((one for one in trace.chunks if one.id == self.chunk), None)
        ):
            chosen |= {"question": trace.question, "chunk": chunk, "system": getattr(self, self.side)}
        return chosen

    @property
    def system_names(self) -> tuple[str, str]:
        """The names of the two systems; with their sides if it is one system, with other settings."""
        left, right = (trace.system for trace in self.traces)
        return (left, right) if left != right else (f"{left} (left)", f"{right} (right)")

    @property
    def sentence(self) -> str:
        """All that is `said`, as one text."""
        return " ".join(self.said)

    @property
    def said(self) -> list[str]:
        """What became of the file in each system, or what each returns; then each thing that limits that."""
        if self.explanations is None:
            said = [" ".join(map(_outcome, self.system_names, self.traces))]
        else:
            said = [_verdict(self.system_names, self.explanations, self.files)]
        said += [*self.absences, *self._of_indexes]
        said += dict.fromkeys(filter(None, (trace.indexed_otherwise for trace in self.traces)))
        for trace in self.traces:
            if early := sum(not scored(trace, one) for one in trace.candidates):
                said.append(
                    f"{trace.system} drops {early} before they have a score: they are in the table only."
                )
        return said

    @property
    def absences(self) -> list[str]:
        """For each system whose index lacks the expected file, while another has it: what would read it."""
        if self.explanations is None or self.asked_for not in self.files:
            return []
        return [
            f"{one.target} is not in the index in which {one.trace.system} is searched. "
            f"{index.remedy_for_absent(one.target)}"
            for one, index in zip(self.explanations, self.searched_in, strict=True)
            if one.fate is Fate.NEVER_INDEXED and isinstance(index, MemoryIndex)
        ]

    @property
    def table(self) -> Table:
        """Every candidate of the two searches: its position, how its score was computed, and its fate."""
        left, right = self.traces
        one, other = self.system_names
        return Table(
            f"Every candidate for “{left.question}”: position, score and fate",
            ("chunk", one, "fate", other, "fate"),
            tuple(
                (_location(one, other), *_cells(left, one), *_cells(right, other))
                for one, other in paired_candidates(left, right)
            ),
        )

    @property
    def code(self) -> str:
        left, right = self.left, self.right
        given = (
            "" if self.pipelines is SYSTEMS else "# `pipelines` are the systems that the widget was given.\n"
        )
        pipelines = "wb.SYSTEMS" if self.pipelines is SYSTEMS else "pipelines"
        moved = [as_settings(self.moved.get(side, {})) for side in SIDES]
        settings = ["from workbench.retrieval.settings import with_settings"] if any(moved) else []
        lines = [
            *(self._opened or [f"{GIVEN}{given}import workbench as wb"]),
            *settings,
            "",
            f"systems = [{pipelines}[name] for name in ({left!r}, {right!r})]",
            *(f"systems[{n}] = with_settings(systems[{n}], {some})" for n, some in enumerate(moved) if some),
            *self._searches_as_code(),
            "fates = [{one.chunk.id: one.fate for one in trace.candidates} for trace in traces]",
            "for trace in traces:",
            "    wb.show(trace)",
        ]
        if self.asked_for:
            each = "trace in traces" if self._in_one_index else "trace, index in zip(traces, indexes)"
            lines += [
                f"explanations = [wb.explain(trace, index, {self.asked_for!r}) for {each}]",
                "for explanation in explanations:",
                "    wb.show(explanation)",
            ]
        return "\n".join(lines)

    @property
    def _in_one_index(self) -> bool:
        return all(one is self.index for one in self.searched_in)

    def _searches_as_code(self) -> list[str]:
        question = self.traces[0].question
        if self._in_one_index:
            return [f"traces = [wb.search({question!r}, system, index) for system in systems]"]
        return [
            "indexes = [wb.open_index(index.root, like=one.indexing) for one in systems]",
            f"traces = [wb.search({question!r}, *both) for both in zip(systems, indexes)]",
        ]


def _outcome(name: str, trace: Trace) -> str:
    if not trace.chunks:
        return f"{name}: no leg brought a candidate."
    counts = Counter(one.fate for one in trace.candidates)
    dropped = [f"{counts[fate]} {fate}" for fate in Fate if counts[fate] and fate is not Fate.RETURNED]
    rest = f" ({', '.join(dropped)})" if dropped else ""
    return f"{name} returns {counts[Fate.RETURNED]} of {counted(len(trace.chunks), 'candidate')}{rest}."


def _of_index(pipeline: Pipeline, index: Index, is_base: bool) -> list[str]:
    """Remarks about a side that is searched in a release's index, or in an index that is out of date."""
    said = []
    if release := made_as(index):
        own = command_for_own(index) if pipeline.indexing is None else ""
        make = f" Make the workbench's own: {own}" if own else ""
        said.append(f"{pipeline.name} is searched in the index that is made as {release}.{make}")
    if not is_base and isinstance(index, MemoryIndex) and (changed := index.changed()):
        count = counted(len(changed), "file")
        said.append(
            f"Its index is out of date: {count} changed ({changed[0]}{', …' * (len(changed) > 1)}). "
            f"Update it: {index.update_command}"
        )
    return said


def _verdict(names: Sequence[str], explanations: Sequence[Explanation], files: Sequence[str]) -> str:
    target = explanations[0].target
    if target not in files:
        near = unknown_name("file", target, files, "").problem if files else "There is no such file."
        return f"{near} Choose a file from the list, or index this one."
    told = [
        "not in the index." if one.fate is Fate.NEVER_INDEXED else one.headline[0].lower() + one.headline[1:]
        for one in explanations
    ]
    return " ".join(
        f"In {name}, {what} is {words}" for name, what, words in zip(names, (target, "it"), told, strict=True)
    )


def _location(one: Candidate | None, other: Candidate | None) -> str:
    there = one or other
    return there.chunk.location if there else ABSENT


def _cells(trace: Trace, one: Candidate | None) -> tuple[str, str]:
    if one is None:
        return ABSENT, "no candidate"
    formulas = (line.removeprefix(SCORE) for line in formula_lines(trace, one) if line.startswith(SCORE))
    score = next(formulas, f"{one.score:.4g}") if scored(trace, one) else f"{ABSENT} (dropped before)"
    return f"{one.position}. {score}", one.fate.value


def _side(name: str, pipeline: Pipeline, trace: Trace, chunks: Chunks) -> dict[str, Any]:
    """One search for the page; `floor` names the parameter of its floor, and `column` what that cuts."""
    floor = first_of(pipeline.stages, MinScore)
    made = exported(pipeline, trace.columns)
    return {
        "pipeline": made | {"system": name},
        "traces": [trace_data(trace, made, chunks)],
        "floor": f"{floor.slot}.floor" if floor else "",
        "own": floor.floor if floor else None,
        "column": floor.of if floor else "",
        "why": "",
    }


def _groups(pipelines: Mapping[str, Pipeline]) -> Iterator[dict[str, Any]]:
    """The systems to choose from: the usual ones first, then the others by the word that they begin with."""
    usual = [*SHIPPED_AND_FIXED, default_system(), "openclaw-2026.2.13-vector-only", "openclaw-2026.9.6"]
    first = [name for name in dict.fromkeys(usual) if name in pipelines]
    if first:
        yield {"label": "the usual ones", "names": first}
    others = sorted(name for name in pipelines if name not in first)  # by name: none of them is imported
    for label, names in groupby(others, key=lambda name: name.partition("-")[0]):
        yield {"label": GROUPS.get(label, label), "names": list(names)}
