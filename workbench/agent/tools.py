"""The tools of an agent over one memory: search it, read from it, and explain a search."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from workbench.agent.arguments import Diagnose, Explain, SaveCase, checked
from workbench.agent.contracts import SEPTEMBER, Answer, Citations, February, SearchOutcome
from workbench.agent.pool import IndexPool, side_by_side
from workbench.agent.reading import FileMissingError, MemoryFiles
from workbench.contracts import Context
from workbench.errors import InputError, WorkbenchError
from workbench.lab.cases.intake.naming import save_beside
from workbench.lab.cases.making import case_of
from workbench.lab.diagnose.diagnosis import diagnose
from workbench.lab.questions import labels_of
from workbench.memory.choices import extra_paths_of
from workbench.memory.embedding.local import Embedder
from workbench.memory.files import memory_root
from workbench.memory.index import OpenIndex, default_index_path
from workbench.records import DropKind, Threshold, Trace
from workbench.retrieval.columns import PlainStage
from workbench.retrieval.cutoff import dropped
from workbench.retrieval.explain import explain
from workbench.retrieval.pipeline import Pipeline, search
from workbench.retrieval.query import check_question
from workbench.systems.opening import folder_of, open_memory
from workbench.systems.recommended.evidence import WITH_EVIDENCE
from workbench.views.data import explanation_data, trace_data
from workbench.views.diagnosis import diagnosis_text
from workbench.views.text import asked_lines, explanation_text, outcome_lines

NEAREST = 10
"""The most dropped candidates, and the most chunks of a file, that an explanation shows."""


@dataclass(frozen=True)
class OfCorpora(PlainStage):
    """Keeps only the candidates from these sources."""

    slot: ClassVar[str] = "corpus"
    sources: tuple[str, ...]

    @property
    def says(self) -> str:
        return f"corpus: keep only {' and '.join(self.sources)}"

    def run(self, trace: Trace, context: Context) -> Trace:
        sources = np.array([chunk.source for chunk in trace.chunks], np.str_)
        threshold = Threshold("source", sources, ", ".join(self.sources))
        return dropped(trace, self, ~np.isin(sources, self.sources), DropKind.FILTER, threshold)


@dataclass(eq=False)
class AgentTools:
    """`memory_search`, `memory_get`, `memory_explain` and `memory_diagnose` over one memory, safe in threads.

    With a folder `cases`, there is `memory_case` too: it writes cases into this folder, and nowhere else.
    `memory` is an address that `workbench.open` opens, and `re_embed` is its choice. For a memory that is not
    a folder, `workspace` is the folder that `memory_get` reads from.

    The default pipeline is OpenClaw's with the three proposals of its bug report and a threshold on
    evidence. On the sample memory it answers 50 of 57 questions (as shipped 6, with the proposals alone 51)
    and returns nothing for 10 of 20 questions without an answer (with the proposals alone 0).

    The index is opened by the first search, so the tools can be made before there is an index. Answers
    have the form of `contract`. Notes beside the memory may be read as the user chose when indexing, or as
    `extra_paths` say. Raises InputError for a folder that cannot be read; every tool raises it for
    arguments that cannot be used.
    """

    memory: str | os.PathLike[str]
    pipeline: Pipeline = WITH_EVIDENCE
    contract: February = SEPTEMBER
    citations: Citations = Citations.AUTO
    session_key: str = ""
    extra_paths: tuple[str, ...] | None = None
    embedder: Embedder | None = None
    index_path: Path | None = None
    workspace: Path | None = None
    re_embed: bool = False
    cases: Path | None = None

    def __post_init__(self) -> None:
        self.cases = None if self.cases is None else memory_root(self.cases)
        folder = folder_of(self.memory)
        self._is_folder = folder is not None
        read_from = folder or self.workspace
        self._root = None if read_from is None else memory_root(read_from)
        self._pool = IndexPool(self._open, side_by_side())

    def __enter__(self) -> AgentTools:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def files(self) -> MemoryFiles:
        """The files that may be read. Raises InputError for an OpenClaw file without its workspace."""
        if self._root is None:
            raise InputError(
                f"{self.memory} is an index without its notes; OpenClaw keeps them in its workspace.",
                "Name that folder: --workspace FOLDER",
            )
        return MemoryFiles(self._root, self.contract.heads, self._beside(self._root))

    def _beside(self, root: Path) -> tuple[str, ...]:
        if self.extra_paths is not None or not self._is_folder:
            return self.extra_paths or ()
        with suppress(WorkbenchError):  # without an index that can be read the memory itself still can
            return extra_paths_of(root, self.index_path or default_index_path(root))
        return ()

    def close(self) -> None:
        """Closes the indexes; the next search opens one again."""
        self._pool.close()

    def _open(self) -> OpenIndex:
        return open_memory(self.memory, self.embedder, index_path=self.index_path, re_embed=self.re_embed)

    # as Python functions

    def memory_search(
        self,
        query: str,
        max_results: float | None = None,
        min_score: float | None = None,
        corpus: str | None = None,
    ) -> Answer:
        """The chunks that answer `query`, best first, or the reason why there is no answer."""
        given = {"query": query, "max_results": max_results, "min_score": min_score, "corpus": corpus}
        return self.call("memory_search", given)

    def memory_get(
        self, path: str, from_: float | None = None, lines: float | None = None, corpus: str | None = None
    ) -> Answer:
        """`lines` lines of a file from line `from_`, or the reason why it is not read."""
        return self.call("memory_get", {"path": path, "from": from_, "lines": lines, "corpus": corpus})

    def memory_explain(
        self,
        query: str,
        path: str | None = None,
        max_results: float | None = None,
        min_score: float | None = None,
    ) -> Answer:
        """What a search found and dropped, and why; with a `path`, also what happened to that file."""
        given = {"query": query, "path": path, "max_results": max_results, "min_score": min_score}
        return self.call("memory_explain", given)

    def memory_diagnose(
        self,
        query: str,
        path: str | None = None,
        unwanted: str | None = None,
        max_results: float | None = None,
        min_score: float | None = None,
    ) -> Answer:
        """What loses the file at `path`, or brings in an unwanted one, and what would change that."""
        given = {
            "query": query,
            "path": path,
            "unwanted": unwanted,
            "max_results": max_results,
            "min_score": min_score,
        }
        return self.call("memory_diagnose", given)

    # by name, as MCP calls them

    def call(self, tool: str, given: Mapping[str, Any]) -> Answer:
        """The answer of a tool to its arguments. Raises InputError for an unknown tool, too."""
        tools: dict[str, Callable[[Mapping[str, Any]], Answer]] = {
            "memory_search": self._search,
            "memory_get": self._get,
            "memory_explain": self._explain,
            "memory_diagnose": self._diagnose,
            **({} if self.cases is None else {"memory_case": self._case}),
        }
        if tool not in tools:
            raise InputError(f"There is no tool {tool!r}.", f"There are {', '.join(tools)}.")
        return tools[tool](given)

    def _search(self, given: Mapping[str, Any]) -> Answer:
        asked = checked(self.contract.searching, "memory_search", given)
        question = check_question(asked.query)
        pipeline = self._asking(asked.max_results, asked.min_score, asked.corpora)
        try:
            with self._pool.lend() as index:
                trace = search(question, pipeline, index)
                model, changed = index.model, index.changed()
        except WorkbenchError as error:
            return self.contract.unavailable(error)
        cited = self.citations.wanted(self.session_key)
        return self.contract.found(SearchOutcome(trace, model, self.citations, cited, asked.corpora, changed))

    def _asking(self, limit: float | None, floor: float | None, corpora: tuple[str, ...] = ()) -> Pipeline:
        asked = self.pipeline.asking(limit, floor)
        return asked.with_new_stage(OfCorpora(corpora), before="limit") if corpora else asked

    def _get(self, given: Mapping[str, Any]) -> Answer:
        asked = checked(self.contract.getting, "memory_get", given)
        try:
            if asked.is_of_wiki:
                raise FileMissingError(asked.path)
            file = self.files.read(asked.path)
        except WorkbenchError as error:
            return self.contract.not_read(asked.path, error)
        return self.contract.read(file, asked.from_, asked.lines)

    def _explain(self, given: Mapping[str, Any]) -> Answer:
        asked = checked(Explain, "memory_explain", given)
        question = check_question(asked.query)
        pipeline = self._asking(asked.max_results, asked.min_score)
        try:
            with self._pool.lend() as index:
                trace = search(question, pipeline, index)
                file = None if asked.path is None else explain(trace, index, asked.path.removeprefix("./"))
        except WorkbenchError as error:
            return self.contract.unavailable(error)
        answer = _trace_answer(trace)
        if file is not None:
            shown = explanation_data(file)
            shown["chunks"] = shown["chunks"][:NEAREST]
            _without_text(one["candidate"] for one in shown["chunks"])
            answer["file"] = {"says": explanation_text(file), **shown}
        return answer

    def _diagnose(self, given: Mapping[str, Any]) -> Answer:
        asked = checked(Diagnose, "memory_diagnose", given)
        question = check_question(asked.query)
        pipeline = self._asking(asked.max_results, asked.min_score)
        path, unwanted = ((one or "").removeprefix("./") for one in (asked.path, asked.unwanted))
        with ExitStack() as stack:
            try:
                index = stack.enter_context(self._pool.lend())
            except WorkbenchError as error:
                return self.contract.unavailable(error)
            labels = labels_of(self._root) if self._root is not None else None
            found = diagnose(question, pipeline, index, path, unwanted=unwanted, questions=labels)
        return {"says": diagnosis_text(found), **found.as_json()}

    def _case(self, given: Mapping[str, Any]) -> Answer:
        asked = checked(SaveCase, "memory_case", given)
        question, path = check_question(asked.query), asked.path.removeprefix("./")
        pipeline = self._asking(asked.max_results, asked.min_score)
        with self._pool.lend() as index:
            if path not in index.paths():
                raise InputError(f"{path} is not in the memory.", "Give a path from memory_search.")
            made = case_of(question, pipeline, index, path)
        assert self.cases is not None  # without it there is no such tool
        observed = made.questions[0].observed
        return {
            "file": str(save_beside(made, self.cases)),
            "notes": len(made.memory.notes or ()),
            "fate": observed.fate if observed else "",
            "says": "The file holds the notes of the memory: it is the user's to post, or to redact first.",
        }


def _trace_answer(trace: Trace) -> Answer:
    """A trace for an agent, without snippets; of the dropped candidates, the counts and the nearest."""
    shown = trace_data(trace)
    dropped = shown["dropped"]
    _without_text([*shown["results"], *dropped])
    return {
        "says": "\n".join([*asked_lines(trace), *outcome_lines(trace)]),
        **shown,
        "dropped": {
            "count": len(dropped),
            "by": dict(Counter(one["dropped_by"] for one in dropped)),
            "nearest": dropped[:NEAREST],
        },
    }


def _without_text(candidates: Iterable[dict[str, Any] | None]) -> None:
    """Takes the text of notes out of what an explanation shows: it is about numbers."""
    for one in candidates:
        if one is not None:
            one.pop("snippet", None)
