"""The tools of an agent over one memory: search it, read from it, and explain a search.

Open indexes of one memory, so that searches run side by side: one index for each thread that searches.
"""

from __future__ import annotations

import logging
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from workbench.contracts import Context
from workbench.errors import InputError, WorkbenchError
from workbench.measure.questions import labels_of, nearest
from workbench.memory.choices import extra_paths_of
from workbench.memory.embedding.local import Embedder
from workbench.memory.files import memory_root
from workbench.memory.index import MemoryIndex, OpenIndex
from workbench.memory.index_files import file_to_open
from workbench.memory.opening import folder_of, open_index
from workbench.records import DropKind, MadeOtherwise, Threshold, Trace
from workbench.registry import has_feature
from workbench.retrieval.columns import PlainStage
from workbench.retrieval.cutoff import dropped
from workbench.retrieval.explain import Explanation, explain
from workbench.retrieval.pipeline import Pipeline, caution, search
from workbench.retrieval.query import check_question
from workbench.safe_text import counted
from workbench.systems.openclaw import WITH_EVIDENCE
from workbench_plugins.agent.answer_length import MOST_TOKENS, tokens
from workbench_plugins.agent.arguments import (
    Diagnose,
    Explain,
    FebruaryGet,
    FebruarySearch,
    SaveCase,
    check_names,
    checked,
)
from workbench_plugins.agent.note_files import FileMissingError, MemoryFiles
from workbench_plugins.agent.tool_contracts import SEPTEMBER, Answer, Citations, Contract, SearchOutcome

LOG = logging.getLogger(__name__)

MOST_SEARCHES = 8
SEARCH_SECONDS = 20.0


def side_by_side() -> int:
    """How many searches run at the same time: one for each core, and at most MOST_SEARCHES."""
    return min(os.cpu_count() or 1, MOST_SEARCHES)


class IndexPool:
    """Lends an open index to each thread that searches; a thread waits when all of them are lent.

    An index is opened when it is first needed, and kept. `opened` gets it before each search, or None, and
    gives it back open. All of them use one embedder, so that a model is loaded once, and share the vectors of
    one state of the store.
    """

    def __init__(self, opened: Callable[..., OpenIndex], most: int, seconds: float = SEARCH_SECONDS) -> None:
        self._opened = opened
        self._seconds = seconds
        self._room = threading.BoundedSemaphore(most)
        self._lock = threading.Lock()
        self._idle: list[OpenIndex] = []
        self._closings = 0
        self._embedder: Embedder | None = None

    @contextmanager
    def lend(self) -> Iterator[OpenIndex]:
        """An index in one state, for the calling thread alone.

        Raises what opening it raises, and InputError when the search takes more than `seconds`.
        """
        with self._room:
            with self._lock:
                index, closings = self._idle.pop() if self._idle else None, self._closings
            index = self._opened(index)
            try:
                with index.snapshot():
                    self._share_embedder(index)
                    with index.time_limit(self._seconds):
                        yield index
            finally:
                self._take_back(index, closings)

    def _share_embedder(self, index: OpenIndex) -> None:
        """Gives the index the embedder that the others use, unless it has been rebuilt with another model."""
        with self._lock:
            known, own = self._embedder, index.embedder
            if known is not None and (known.name, known.revision) == (own.name, own.revision):
                index.embedder = known
            else:
                self._embedder = own

    def _take_back(self, index: OpenIndex, closings: int) -> None:
        with self._lock:
            if closings == self._closings:
                self._idle.append(index)
                return
        index.close()

    def close(self) -> None:
        """Closes every index: those that are lent when they come back. A later search opens a new one."""
        with self._lock:
            idle, self._idle = self._idle, []
            self._closings += 1
        for index in idle:
            index.close()


NEAREST = 10
"""The most dropped candidates, and the most chunks of a file, that an explanation shows."""


@dataclass(frozen=True)
class OfCorpora(PlainStage, slot="corpus"):
    """Keeps only the candidates from these sources."""

    sources: tuple[str, ...]

    @property
    def description(self) -> str:
        return f"corpus: keep only {' and '.join(self.sources)}"

    def run(self, trace: Trace, context: Context) -> Trace:
        sources = np.array([chunk.source for chunk in trace.chunks], np.str_)
        threshold = Threshold("source", sources, ", ".join(self.sources))
        return dropped(trace, self, DropKind.FILTER, threshold)


@dataclass(eq=False)
class AgentTools:
    """`memory_search`, `memory_get`, `memory_explain` and `memory_diagnose` over one memory, safe in threads.

    With a folder `cases`, there is `memory_case` too: it writes cases into this folder, and nowhere else.
    `memory` is an address that `workbench.open` opens, and `re_embed` is its choice. For a memory that is not
    a folder, `workspace` is the folder that `memory_get` reads from.

    The default pipeline is OpenClaw's with the three proposals of its bug report and a threshold on
    evidence. On the sample memory it answers 50 of 57 questions (as shipped 6, with the proposals alone 51)
    and returns nothing for 10 of 20 questions without an answer (with the proposals alone 0).

    With `calibrated`, the first search sets the strictest floor that costs no labelled question of the memory
    its file, if there are enough of them: the log says what it refuses.

    The index is opened by the first search, so the tools can be made before there is an index. Answers
    have the form of `contract`. Notes beside the memory may be read as the user chose when indexing, or as
    `extra_paths` say. Raises InputError for a folder that cannot be read; every tool raises it for
    arguments that cannot be used.
    """

    memory: str | os.PathLike[str]
    pipeline: Pipeline = WITH_EVIDENCE
    contract: Contract = SEPTEMBER
    citations: Citations = Citations.AUTO
    session_key: str = ""
    extra_paths: tuple[str, ...] | None = None
    embedder: Embedder | None = None
    index_path: Path | None = None
    workspace: Path | None = None
    re_embed: bool = False
    cases: Path | None = None
    calibrated: bool = False

    def __post_init__(self) -> None:
        self._calibrating = threading.Lock()
        self._told: MadeOtherwise | None = None  # what the log has said of the index
        self.cases = None if self.cases is None else memory_root(self.cases)
        folder = folder_of(self.memory)
        self._is_folder = folder is not None
        read_from = folder or self.workspace
        self._root = None if read_from is None else memory_root(read_from)
        self._pool = IndexPool(self._open, 2 * side_by_side())  # searches, and beside them what takes longer

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
        return MemoryFiles(self._root, self.contract.heads, self._extra_paths(self._root))

    def _extra_paths(self, root: Path) -> tuple[str, ...]:
        if self.extra_paths is not None or not self._is_folder:
            return self.extra_paths or ()
        with suppress(WorkbenchError):  # without an index that can be read the memory itself still can
            return extra_paths_of(root, self.index_path or file_to_open(root, self.pipeline.indexing))
        return ()

    def close(self) -> None:
        """Closes the indexes; the next search opens one again."""
        self._pool.close()

    def _open(self, index: OpenIndex | None = None) -> OpenIndex:
        """An open index that has what its pipeline compares, before the time limit of a search begins."""
        if index is None:
            index = open_index(
                self._root if self._is_folder and self._root is not None else self.memory,
                self.embedder,
                index_path=self.index_path,
                re_embed=self.re_embed,
                like=self.pipeline.indexing,
            )
            told = caution(self.pipeline, index)
            if told != self._told:
                self._told = told
                if told is not None:
                    LOG.warning("%s", told)
        if isinstance(index, MemoryIndex) and not getattr(self.pipeline.layout, "has_vectors", False):
            index.prepare()
        return index

    def _calibrate(self) -> None:
        """Sets the floor of the pipeline from the memory's labels, once."""
        with self._calibrating:
            if not self.calibrated:
                return
            self.calibrated = False
            labels = labels_of(self._root) if self._root is not None else None
            if labels is None or not labels.controls or not has_feature("calibrate"):
                return
            from workbench_plugins.calibrate.free_floor import free_floor

            try:
                with self._open() as index, index.snapshot():
                    found = free_floor(self.pipeline, labels, index)
            except WorkbenchError as error:
                LOG.warning("The floor is the system's own: %s %s", error.problem, error.remedy)
                return
            self.pipeline = found.pipeline
            LOG.warning("The floor is set from this memory's labels.\n  %s", "\n  ".join(found.summary))

    # as Python functions

    def memory_search(self, query: str, max_results: float | None = None, **given: Any) -> Answer:
        """The chunks that answer `query`, best first, or the reason why there is no answer.

        `given` may have `min_score` and `corpus`.
        """
        return self.call("memory_search", {"query": query, "max_results": max_results, **given})

    def memory_get(
        self, path: str, from_: float | None = None, lines: float | None = None, **given: Any
    ) -> Answer:
        """`lines` lines of a file from line `from_`, or the reason why it is not read."""
        return self.call("memory_get", {"path": path, "from": from_, "lines": lines, **given})

    def memory_explain(self, query: str, path: str | None = None, **given: Any) -> Answer:
        """What a search found and dropped, and why; with a `path`, also what happened to that file.

        `given` may have `max_results` and `min_score`.
        """
        return self.call("memory_explain", {"query": query, "path": path, **given})

    def memory_diagnose(self, query: str, path: str | None = None, **given: Any) -> Answer:
        """What loses the file at `path`, or brings in an unwanted one, and what would change that.

        `given` may have `unwanted`, `max_results` and `min_score`.
        """
        return self.call("memory_diagnose", {"query": query, "path": path, **given})

    # by name, as MCP calls them

    @property
    def offered(self) -> dict[str, tuple[type[Any], Callable[[Any], Answer]]]:
        """The tools by name: the model of their arguments, and what answers these.

        Without the feature that diagnoses there is no `memory_diagnose`, and without cases no `memory_case`.
        """
        tools: dict[str, tuple[type[Any], Callable[[Any], Answer]]] = {
            "memory_search": (self.contract.searching, self._search),
            "memory_get": (self.contract.getting, self._get),
            "memory_explain": (Explain, self._explain),
            "memory_diagnose": (Diagnose, self._diagnose),
        }
        if not has_feature("diagnose"):
            del tools["memory_diagnose"]
        if has_feature("cases") and self.cases is not None:
            tools["memory_case"] = (SaveCase, partial(self._case, self.cases))
        return tools

    def call(self, tool: str, given: Mapping[str, Any]) -> Answer:
        """The answer of a tool to its arguments. Raises InputError for an unknown tool, too."""
        check_names(tool, given)
        if tool not in self.offered:
            raise InputError(f"There is no tool {tool!r}.", f"There are {', '.join(self.offered)}.")
        kind, answer = self.offered[tool]
        asked = checked(kind, tool, given)
        if kind is not self.contract.getting:
            self._calibrate()
        return answer(asked)

    def _search(self, asked: FebruarySearch) -> Answer:
        question = check_question(asked.query)
        pipeline = self._asking(asked.max_results, asked.min_score, asked.corpora)
        try:
            with self._pool.lend() as index:
                trace = search(question, pipeline, index)
                model, changed, is_of_text = index.model, index.changed(), index.size > 0
                update = index.update_command if changed else ""
        except WorkbenchError as error:
            return self.contract.unavailable(error)
        cited = self.citations.wanted(self.session_key)
        first, columns = getattr(asked, "more", None) or 1, getattr(asked, "columns", False)
        return self.contract.found(
            SearchOutcome(
                trace,
                model,
                self.citations,
                cited,
                asked.corpora,
                changed=changed,
                update=update,
                first=first,
                columns=columns,
                is_of_text=is_of_text,
            )
        )

    def _asking(self, limit: float | None, floor: float | None, corpora: tuple[str, ...] = ()) -> Pipeline:
        # February's tool takes a limit below 0, and returns nothing.
        asked = self.pipeline.asking(None if limit is None else max(0, limit), floor)
        return asked.with_new_stage(OfCorpora(corpora), before="limit") if corpora else asked

    def _get(self, asked: FebruaryGet) -> Answer:
        try:
            if asked.is_of_wiki:
                raise FileMissingError(asked.path)
            file = self.files.read(asked.path)
        except WorkbenchError as error:
            return self.contract.not_read(asked.path, error)
        return self.contract.read(file, asked.from_, asked.lines)

    def _explain(self, asked: Explain) -> Answer:
        question = check_question(asked.query)
        pipeline = self._asking(asked.max_results, asked.min_score)
        try:
            with self._pool.lend() as index:
                trace = search(question, pipeline, index)
                file = None if asked.path is None else explain(trace, index, asked.path.removeprefix("./"))
                warning, why = _warning(index, file), _why_absent(index, file)
        except WorkbenchError as error:
            return self.contract.unavailable(error)
        answer = (_trace_answer if asked.more else _short_answer)(trace) | warning
        if file is not None and asked.more:
            shown = file.as_json()
            shown["chunks"] = shown["chunks"][:NEAREST]
            _without_text(one["candidate"] for one in shown["chunks"])
            answer["file"] = {"says": file.text(), **shown}
        elif file is not None:
            way = file.verdicts[0].way(trace) if file.verdicts else why
            answer["file"] = {
                "target": file.target,
                "fate": file.fate.value,
                "says": "\n".join([f"{file.fate.upper()}. {file.headline}", *way]),
            }
        return answer if asked.more else _shortened(answer)

    def _diagnose(self, asked: Diagnose) -> Answer:
        from workbench_plugins.diagnose.diagnosis import diagnose, diagnose_unwanted

        question = check_question(asked.query)
        pipeline = self._asking(asked.max_results, asked.min_score)
        if bool(asked.path) == bool(asked.unwanted):
            raise InputError(
                "A diagnosis is about one file.", "Give the path that you expect, or the unwanted one."
            )
        ask = diagnose if asked.path else diagnose_unwanted
        path = (asked.path or asked.unwanted or "").removeprefix("./")
        with ExitStack() as stack:
            try:
                index = stack.enter_context(self._pool.lend())
            except WorkbenchError as error:
                return self.contract.unavailable(error)
            labels = labels_of(self._root) if self._root is not None else None
            found = ask(question, pipeline, index, path, questions=labels)
        return {"says": found.text, **found.as_json()}

    def _case(self, folder: Path, asked: SaveCase) -> Answer:
        from workbench_plugins.cases.making import case_of, save_beside

        question, path = check_question(asked.query), asked.path.removeprefix("./")
        pipeline = self._asking(asked.max_results, asked.min_score)
        with self._pool.lend() as index:
            if path not in index.paths():
                raise InputError(f"{path} is not in the memory.", "Give a path from memory_search.")
            case = case_of(question, pipeline, index, path)
        observed = case.questions[0].observed
        return {
            "file": str(save_beside(case, folder)),
            "notes": len(case.memory.notes or ()),
            "fate": observed.fate if observed else "",
            "says": "The file holds the notes of the memory: it is the user's to post, or to redact first.",
        }


def _warning(index: OpenIndex, file: Explanation | None) -> Answer:
    """A warning that the explained file, or another one, has changed since; empty if none has."""
    changed = index.changed()
    if not changed:
        return {}
    several = f"{counted(len(changed), 'file')} changed since the memory was indexed, such as {changed[0]}."
    said = (index.change_of(file.target) if file is not None else "") or several
    return {"warning": f"{said} Bring the index up to date: {index.update_command}"}


def _why_absent(index: OpenIndex, file: Explanation | None) -> list[str]:
    """Why a file is not in the index, or the most similar path that is; empty for a file that is in it."""
    if file is None or file.verdicts:
        return []
    near = nearest(file.target, index.paths())
    told = file.unread or (f"The most similar path is {near}." if near else "")
    return [told] if told else []


SHORT = 3
"""The most dropped candidates that a short explanation shows."""


def _short_answer(trace: Trace) -> Answer:
    """What a search found and dropped, in few numbers: the whole is an explanation with `more`."""
    whole = trace.as_json()
    dropped = [(one, one.drop.stage) for one in trace.candidates if one.drop is not None]
    return {
        "indexed_otherwise": whole["indexed_otherwise"],
        "says": "\n".join(
            [*([trace.headline] if trace.results else []), *trace.notes, *trace.outcome_lines()]
        ),
        **{name: whole[name] for name in ("question", "system", "legs")},
        "results": [
            {name: one[name] for name in ("rank", "path", "start_line", "end_line")}
            | {"score": round(one["score"], 4)}
            for one in whole["results"]
        ],
        "dropped": {
            "count": len(dropped),
            "by": dict(Counter(stage.description for _, stage in dropped)),
            "nearest": [{"place": one.chunk.location, "reason": one.reason} for one, _ in dropped[:SHORT]],
        },
        "more": "more=true gives every number, and more of the dropped candidates.",
    }


def _shortened(answer: Answer) -> Answer:
    """The answer with fewer of the dropped candidates where it would have too many tokens, but with one."""
    nearest = answer["dropped"]["nearest"]
    while tokens(answer) > MOST_TOKENS and len(nearest) > 1:
        nearest.pop()
    return answer


def _trace_answer(trace: Trace) -> Answer:
    """A trace for an agent, without snippets; of the dropped candidates, the counts and the nearest."""
    shown = trace.as_json()
    dropped = shown["dropped"]
    _without_text([*shown["results"], *dropped])
    return {
        "says": "\n".join([*trace.asked_lines(), *trace.outcome_lines()]),
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
