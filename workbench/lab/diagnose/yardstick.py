"""The questions by which a change is priced: the user's labelled ones, or the memory's own as a proxy."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

import numpy as np

from workbench.contracts import Index
from workbench.lab.cached_index import CachedIndex
from workbench.lab.diagnose.runs import Reruns
from workbench.lab.paired import HITS, Paired, paired_values
from workbench.lab.questions import Control, Question, QuestionSet
from workbench.records import Floats
from workbench.retrieval.cutoff import Limit
from workbench.retrieval.pipeline import Pipeline

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
    def losses(self) -> int:
        """The questions with a right answer only before the change, unanswerable ones included."""
        return sum(one.losses for one in (self.hits, self.silence) if one is not None)


class Yardstick:
    """Runs changed pipelines over a question set. Each question keeps the trace of the present pipeline.

    `proxy` says that the questions are not the user's, but made of the memory's own lines.
    """

    def __init__(self, pipeline: Pipeline, index: CachedIndex, questions: QuestionSet | None) -> None:
        self.proxy = questions is None
        self.questions: Sequence[Question] = questions.questions if questions else own_questions(index)
        self.controls: Sequence[Control] = questions.controls if questions else ()
        self._asked = [Reruns(one.question, pipeline, index) for one in (*self.questions, *self.controls)]
        self._pipeline = pipeline
        self._known: dict[Hashable, dict[int, list[str]]] = {}
        self._lost: Counter[int] = Counter()
        self._counted = max(pipeline.limit, Limit().count)
        self.now = self.marks(pipeline)
        self.unchanged = Price(self.now, self.now, None, None)

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
        ranks = [_reciprocal(self.questions[place].target, paths[place]) for place in asked]
        silences = [float(not paths[place]) for place in silent]
        return Marks(np.array(ranks, float), np.array(silences, float), self._counted)

    def _answers(
        self, pipeline: Pipeline, places: Iterable[int], same_depth: bool = False
    ) -> Iterator[list[str]]:
        """The files that `pipeline` returns for the questions at these places; each is asked once."""
        known = self._known.setdefault(self._key(pipeline, same_depth), {})
        for place in places:
            if place not in known:
                one = self._asked[place]
                known[place] = (one.at_same_depth if same_depth else one.trace)(pipeline).paths()
            yield known[place]

    def loses_more(self, pipeline: Pipeline, most: float) -> bool:
        """Whether changing to `pipeline` loses more than `most` right answers.

        It asks no more questions than it takes to tell, those that other changes lost first.
        """
        right = np.flatnonzero(np.concatenate([self.now.hit, self.now.silent])).tolist()
        right.sort(key=lambda place: -self._lost[place])
        lost = 0
        for place, paths in zip(right, self._answers(pipeline, right), strict=True):
            if not self._is_right(place, paths):
                lost += 1
                self._lost[place] += 1
            if lost > most:
                return True
        return False

    def _is_right(self, place: int, paths: Sequence[str]) -> bool:
        return self.questions[place].target in paths if place < len(self.questions) else not paths

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
        return Price(
            self.now, after, _compared(self.now.hit, after.hit), _compared(self.now.silent, after.silent)
        )


def _reciprocal(target: str, paths: Sequence[str]) -> float:
    return 1 / (1 + paths.index(target)) if target in paths else 0.0


def _compared(before: Floats, after: Floats) -> Paired | None:
    return paired_values(before, after, HITS) if before.size else None


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
