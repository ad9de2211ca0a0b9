"""Prices: what a changed pipeline does to all questions that are known of a memory.

These are the user's labelled questions, or as a proxy the memory's own: its file names, headings and first
lines.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath, PurePosixPath
from traceback import extract_tb
from typing import TypeVar

import numpy as np

from workbench.contracts import Index
from workbench.errors import WorkbenchError
from workbench.measure.measures import HITS
from workbench.measure.paired import Paired, paired_values
from workbench.measure.questions import Control, Question, QuestionSet
from workbench.measure.reruns import Reruns
from workbench.records import Floats, Trace
from workbench.retrieval.cutoff import Limit
from workbench.retrieval.index_adapters import CachedIndex
from workbench.retrieval.pipeline import Pipeline

Asks = TypeVar("Asks", bound=Control)

MOST_OWN = 48
"""The number of own questions of a memory, spread evenly over its files."""

LONGEST_OWN = 12
"""Words of a line that serve as a question."""


@dataclass(frozen=True)
class Marks:
    """What a pipeline made of the questions: 1 / rank of each target (0: not returned), and each silence."""

    reciprocal: Floats
    silent: Floats
    counted: float = math.inf

    @property
    def hit(self) -> Floats:
        """1 for each question whose target is returned, else 0."""
        return (self.reciprocal > 0).astype(float)

    @property
    def hits(self) -> int:
        """The number of questions whose target is returned."""
        return int(np.count_nonzero(self.reciprocal))

    @property
    def silences(self) -> int:
        """The number of unanswerable questions with an empty answer."""
        return int(np.count_nonzero(self.silent))

    @property
    def right(self) -> float:
        """How right the answers are, 0 to 1: the mean over all questions of 1 / rank, or of silence.

        A rank beyond `counted` counts nothing, so that a longer answer does not look like a better one.
        """
        near = np.where(self.reciprocal * self.counted >= 1, self.reciprocal, 0.0)
        every = np.concatenate([near, self.silent])
        return float(every.mean()) if every.size else 0.0


@dataclass(frozen=True)
class Price:
    """What a change costs and brings over the questions, with the verdict of the paired test on both."""

    before: Marks
    after: Marks
    hits: Paired | None
    silence: Paired | None

    @property
    def wins(self) -> int:
        """The questions with a right answer only after the change, unanswerable ones included."""
        return sum(one.wins for one in (self.hits, self.silence) if one is not None)

    @property
    def hits_text(self) -> str:
        """The hits before and after: `6 → 49`."""
        return f"{self.before.hits} → {self.after.hits}"

    @property
    def silence_text(self) -> str:
        """The unanswerable questions with an empty answer, before and after."""
        return f"{self.before.silences} → {self.after.silences}"

    @property
    def losses(self) -> int:
        """The questions with a right answer only before the change, unanswerable ones included."""
        return sum(one.losses for one in (self.hits, self.silence) if one is not None)


def raised_text(question: str, error: Exception) -> str:
    """Which question a search cannot answer, and which function raises what."""
    if isinstance(error, WorkbenchError):
        return error.problem if question in error.problem else f"“{question}”: {error.problem}"
    last = extract_tb(error.__traceback__)[-1]
    where = f"{last.name} ({PurePath(last.filename).name}:{last.lineno})"
    return f"“{question}”: {where} raises {type(error).__name__}: {error}"


class Prices:
    """Runs changed pipelines over a question set. Each question keeps the trace of the present pipeline.

    `proxy` says that the questions are not the user's, but made of the memory's own lines. A question for
    which a function of the user's raises is left out; `unanswered` says which, and where. If none is left,
    the question that is diagnosed stands `alone`.
    """

    def __init__(
        self, pipeline: Pipeline, index: CachedIndex, questions: QuestionSet | None, diagnosed: Question
    ) -> None:
        self._pipeline, self.index = pipeline, index
        self._asked: list[Reruns] = []
        self.unanswered: list[str] = []
        some = questions.questions if questions else own_questions(index)
        self.questions: Sequence[Question] = self._answered(some) or self._answered([diagnosed])
        self.alone = [one.question for one in self.questions] == [diagnosed.question]
        self.proxy = questions is None and not self.alone
        self.controls: Sequence[Control] = self._answered(questions.controls if questions else ())
        self._known: dict[Hashable, dict[int, list[str]]] = {}
        self._lost: Counter[int] = Counter()
        self._counted = max(pipeline.limit, Limit().count)
        self.now = self.marks(pipeline)
        self.unchanged = Price(self.now, self.now, None, None)

    def _answered(self, questions: Sequence[Asks]) -> list[Asks]:
        """Those of some questions that the present pipeline answers."""
        answered = []
        for one in questions:
            try:
                self._asked.append(Reruns(one.question, self._pipeline, self.index))
                answered.append(one)
            except Exception as error:  # whatever a stage or an engine of the user's raises
                self.unanswered.append(raised_text(one.question, error))
        return answered

    @property
    def asked_text(self) -> str:
        """What the questions are, after their number."""
        if self.alone:
            return "question (this one)"
        return "questions that the memory asks of itself" if self.proxy else "labelled questions"

    @property
    def traces(self) -> list[Trace]:
        """The present searches for the questions that have an answer."""
        return [one.base for one in self._asked[: len(self.questions)]]

    def marks(self, pipeline: Pipeline, same_depth: bool = False, every: int = 1) -> Marks:
        """What `pipeline` makes of the questions, or of every second, third, … one.

        With `same_depth` the legs bring what they bring now, whatever the limit of `pipeline` is.
        """
        first = len(self.questions)
        asked, silent = range(0, first, every), range(first, len(self._asked), every)
        answers = self._answers(pipeline, (*asked, *silent), same_depth)
        return self._marked(dict(zip((*asked, *silent), answers, strict=True)), asked, silent)

    def _marked(self, paths: Mapping[int, Sequence[str]], asked: range, silent: range) -> Marks:
        """The marks of answers, given by the places of their questions."""
        ranks = [_reciprocal(self.questions[number].target, paths[number]) for number in asked]
        silences = [float(not paths[number]) for number in silent]
        return Marks(np.array(ranks, float), np.array(silences, float), self._counted)

    def _answers(
        self, pipeline: Pipeline, numbers: Iterable[int], same_depth: bool = False
    ) -> Iterator[list[str]]:
        """The files that `pipeline` returns for the questions at these places; each is asked once."""
        known = self._known.setdefault(self._key(pipeline, same_depth), {})
        for number in numbers:
            if number not in known:
                one = self._asked[number]
                known[number] = (one.at_same_depth if same_depth else one.trace)(pipeline).paths()
            yield known[number]

    def loses_more(self, pipeline: Pipeline, most: float) -> bool:
        """Whether changing to `pipeline` loses more than `most` right answers.

        It asks no more questions than it takes to tell, those that other changes lost first.
        """
        right = np.flatnonzero(np.concatenate([self.now.hit, self.now.silent])).tolist()
        right.sort(key=lambda number: -self._lost[number])
        lost = 0
        for number, paths in zip(right, self._answers(pipeline, right), strict=True):
            if not self._is_right(number, paths):
                lost += 1
                self._lost[number] += 1
            if lost > most:
                return True
        return False

    def _is_right(self, number: int, paths: Sequence[str]) -> bool:
        return self.questions[number].target in paths if number < len(self.questions) else not paths

    def _key(self, pipeline: Pipeline, same_depth: bool) -> Hashable:
        """What the answers depend on; with the present limit and layout, the depth is the same anyway."""
        now = self._pipeline
        alike = (pipeline.layout, pipeline.limit) == (now.layout, now.limit)
        return pipeline.stages, pipeline.layout, same_depth and not alike

    def price(self, pipeline: Pipeline) -> Price:
        """What changing to `pipeline` costs and brings."""
        return self._price(self.marks(pipeline))

    def price_in(self, index: CachedIndex) -> Price:
        """What it costs and brings to search another index of the same memory with the present pipeline."""
        answers = [Reruns(one.question, self._pipeline, index).base.paths() for one in self._asked]
        first = len(self.questions)
        return self._price(self._marked(dict(enumerate(answers)), range(first), range(first, len(answers))))

    def _price(self, after: Marks) -> Price:
        files = [one.target for one in self.questions]
        return Price(
            self.now,
            after,
            _compared(self.now.hit, after.hit, files),
            _compared(self.now.silent, after.silent, range(len(self.controls))),
        )


def _reciprocal(target: str, paths: Sequence[str]) -> float:
    return 1 / (1 + paths.index(target)) if target in paths else 0.0


def _compared(before: Floats, after: Floats, units: Sequence[Hashable]) -> Paired | None:
    return paired_values(before, after, HITS, units) if before.size else None


def own_questions(index: Index) -> list[Question]:
    """Questions that a memory's files ask of themselves: file names, headings and first lines.

    They are a proxy: their words stand in the file, so they are easier than a person's questions. At most
    MOST_OWN, from files that are spread evenly over the memory.
    """
    paths = index.paths()
    chosen = paths[:: max(1, -(-3 * len(paths) // MOST_OWN))]
    return [question for path in chosen for question in _of_file(index, path)]


def _of_file(index: Index, path: str) -> Iterator[Question]:
    name = " ".join(re.findall(r"[^\W\d_]+", PurePosixPath(path).stem))
    chunks = index.chunks(index.rows_of(path))
    lines = [line.strip() for chunk in chunks[:1] for line in chunk.text.splitlines()]
    headings = [line.lstrip("#").strip() for line in lines if line.startswith("#")]
    plain = [line for line in lines if line and not line.startswith(("#", "---", "<!--"))]
    asked = (("file name", name), ("heading", *headings[:1]), ("first line", *plain[:1]))
    for kind, *texts in asked:
        for text in texts:
            words = text.split()[:LONGEST_OWN]
            if any(any(character.isalnum() for character in word) for word in words):
                yield Question(question=" ".join(words), target=path, kind=kind)
