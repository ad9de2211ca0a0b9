"""A question as it is examined: the notes' words, other questions that are tried, and causes that it has."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from textwrap import shorten

from workbench.contracts import Index
from workbench.memory.index import MemoryIndex
from workbench.memory.index_files import file_to_open
from workbench.records import Trace
from workbench.retrieval.index_adapters import innermost, memoized
from workbench.retrieval.pipeline import Pipeline, search
from workbench.retrieval.query import unicode_words
from workbench_plugins.diagnose.causes import Cause
from workbench_plugins.diagnose.fixes import named
from workbench_plugins.diagnose.index_of_folder import index_of_folder
from workbench_plugins.diagnose.stage_settings import typed_settings

LARGEST = 20_000
"""An index of more chunks is not read for the words that it has."""
MANY_WORDS = 40
"""A question of so many words is a text with a question in it, whatever answer is wanted."""
MOST_TRIED = 24
"""The largest number of other questions that are tried."""

Works = Callable[[Trace], bool]
"""Whether an answer is as wanted."""


@dataclass(frozen=True)
class Asked:
    """A question, the pipeline and the index that it is asked of, and what is wanted of the answer.

    `outcome` says in words what `works` means, and `wanted` names the file, if one is. With `deep`, the
    memory may be embedded again. `near` are texts of the wanted file, and its path: their words are tried in
    place of those that no note has, and their dates in place of a relative day.
    """

    question: str
    pipeline: Pipeline
    index: Index
    works: Works
    outcome: str = "brings the answer that is wanted"
    deep: bool = False
    wanted: str = ""
    near: Sequence[str] = ()

    @cached_property
    def texts(self) -> list[str]:
        """The texts of the notes, each with its path before it; none of an index of very many chunks."""
        if self.index.size > LARGEST:
            return []
        documents = self.index.documents()
        if documents is not None:
            return [f"{one.path}\n{one.text}" for one in documents]
        rows = [self.index.rows_of(path) for path in self.index.paths()]
        return [f"{one.path}\n{one.text}" for some in rows for one in self.index.chunks(some)]

    @cached_property
    def vocabulary(self) -> Counter[str]:
        """The words of the notes in lower case, with how often each stands there."""
        return memoized(self.index, "words of the notes", lambda: Counter(lower_words(self.texts)))

    @cached_property
    def written(self) -> frozenset[str]:
        """The words of the notes in lower case, without those that only a path has."""
        bodies = (text.partition("\n")[2] for text in self.texts)
        return memoized(self.index, "words below the paths", lambda: frozenset(lower_words(bodies)))

    @cached_property
    def own(self) -> Counter[str]:
        """The words of the wanted file and of its path in lower case, with how often each stands there."""
        chunks = self.index.chunks(self.index.rows_of(self.wanted)) if self.wanted else ()
        return Counter(lower_words([self.wanted, *(one.text for one in chunks)]))

    def first_that_works(self, others: Iterator[str]) -> str:
        """The first other question that gives the wanted answer; empty if none of the first few does."""
        return next(self._working(others), ("", None))[0]

    def best_that_works(self, others: Iterator[str]) -> str:
        """The best of the first few others that give the wanted answer: it has the wanted file first.

        Of several such questions, and of a search without a wanted file, the best is the one whose first file
        stands out most.
        """

        def merit(found: tuple[str, Trace]) -> tuple[int, float]:
            paths = found[1].paths()
            return -paths.index(self.wanted) if self.wanted in paths else 0, _lead(found[1])

        return max(self._working(others), key=merit, default=("", None))[0]

    def _working(self, others: Iterator[str]) -> Iterator[tuple[str, Trace]]:
        """The first few other questions that give the wanted answer, each with its search."""
        for one in islice(dict.fromkeys(one.strip() for one in others), MOST_TRIED):
            if one == self.question or not any(letter.isalnum() for letter in one):
                continue
            try:
                trace = search(one, self.pipeline, self.index)
                works = self.works(trace)
            except Exception:  # a stage or an engine of the user's may raise for a question of ours
                continue
            if works:
                yield one, trace

    def instead(self, question: str) -> str:
        """The command that asks another question; the question alone if only Python can ask it."""
        command = search_command(question, self.pipeline, self.index)
        own = (
            " in Python: no command makes this pipeline"
            if isinstance(innermost(self.index), MemoryIndex)
            else ""
        )
        return command or f"ask “{question}”{own}"

    def cause(self, description: str, better: str, evidence: str = "") -> Cause:
        """The cause in this question that a better one shows: it gives the answer that is wanted."""
        told = evidence or f"“{short(better)}” {self.outcome}"
        return Cause(("question",), description, self.instead(better), told, True)


def _lead(trace: Trace) -> float:
    """How far the score of the first file in an answer is above that of the second, or above 0."""
    best: dict[str, float] = {}
    for one in trace.results:
        best.setdefault(one.chunk.path, one.score)
    first, second, *_ = *best.values(), 0.0, 0.0
    return first - second


def lower_words(texts: Iterable[str]) -> Iterator[str]:
    """The words of some texts in lower case, as often as each stands there."""
    return (word.lower() for text in texts for word in unicode_words(text))


def settings_of(pipeline: Pipeline) -> tuple[str, ...] | None:
    """The settings that make a pipeline of the system whose name it has; None if none do."""
    known = named(pipeline.name)
    if known is None:
        return None
    return () if known.searches_as(pipeline) else typed_settings(known, pipeline) or None


def search_command(question: str, pipeline: Pipeline, index: Index) -> str:
    """The command that searches a folder's index; empty for another index, and where no settings do it."""
    folder, typed = index_of_folder(index), settings_of(pipeline)
    if folder is None or typed is None:
        return ""
    file = folder.opened.name
    words = ["workbench", "search", " ".join(question.split()), "-m", str(folder.root)]
    if file_to_open(folder.root, pipeline.indexing) != Path(file):  # another index of the folder answers
        words += ["--index", file]
    words += ["--system", pipeline.name]
    for one in typed:
        words += ["--set", one]
    return shlex.join(words)


def short(question: str) -> str:
    """The beginning of a question, as evidence quotes it."""
    return shorten(question, 80, placeholder=" …")
