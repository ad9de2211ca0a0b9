"""What stands behind the page of `workbench explore`: the explorer, and a question set that grows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from workbench.errors import InputError
from workbench.measure.evaluation import Evaluation, evaluate
from workbench.measure.losses import losses_by_stage
from workbench.measure.questions import Control, Question, QuestionSet, load_questions
from workbench.memory.beside import Indexes
from workbench.memory.files import replaced
from workbench.memory.index import OpenIndex
from workbench.retrieval.index_adapters import CachedIndex
from workbench.retrieval.pipeline import Pipeline
from workbench.retrieval.query import check_question
from workbench.systems.catalogue import SYSTEMS, default_system
from workbench.views.living.selection import Selection
from workbench.views.widgets.threshold_state import ThresholdState
from workbench_plugins.explore.explorer_state import SHIPPED_AND_FIXED, ExplorerState
from workbench_plugins.explore.log import WORST, Asked, logged, worst_first

WORD = re.compile(r"[^\W_][\w'’-]*")
PART = 5
"""The number of labelled questions that are searched in one go."""
COUNTS = 8
"""The number of counts of losses that are kept: pages that are open at once have settings of their own."""

WORDS = 8
"""The number of words of the first question."""

NO_LABELS = "Ask a question, choose the expected file, and press “this file is the right answer”."


class Desk:
    """The explorer of a memory, and the right answers that a reader adds.

    `labelled` are the memory's own labelled questions, if it has some. What is added, questions with their
    right file and questions that no file answers, goes to the file `saved`, which `evaluate` reads; what it
    holds already stays. Raises InputError for a memory without a file, and for a file of questions that
    cannot be read.
    """

    def __init__(
        self,
        index: OpenIndex,
        labelled: QuestionSet | None,
        saved: Path,
        pipelines: Mapping[str, Pipeline] = SYSTEMS,
    ) -> None:
        question, file = first_question(index, labelled)
        shipped, fixed = SHIPPED_AND_FIXED
        systems = (shipped, default_system() if default_system() in pipelines else fixed)
        self.index, self._own, self._saved = index, labelled, saved
        self.indexes = Indexes(index, beside=True)
        self._cached: dict[str, CachedIndex] = {}
        self._parts: dict[tuple[Any, ...], list[Sequence[Evaluation]]] = {}
        self._added = self._kept()
        self.explorer = ExplorerState(self.indexes, question, file, systems, pipelines, Selection())

    def add_right_answer(self) -> str:
        """Adds the explorer's question and file to the file of questions; says the score with them.

        A system whose index lacks the file misses the question, which is said. Raises InputError for a file
        that is in no index.
        """
        question, file = self.explorer.traces[0].question, self.explorer.asked_for
        if not file:
            raise InputError("No file is chosen.", "Name the right one as the expected file.")
        if file not in self.explorer.files:
            raise InputError(f"There is no file {file!r} in the index.", "Choose one from the list.")
        self._add(Question(question=question, target=file))
        scored = (f"{one.pipeline.name} {one.overall.hits} of {one.overall.n}" for one in self.evaluations())
        told = f"Questions with a hit: {', '.join(scored)}{self._with_moved}. Saved in {self._saved}."
        return " ".join([told, *self.explorer.absences])

    def add_unanswerable(self) -> str:
        """Adds the explorer's question as one that no file answers; says for how many nothing is returned.

        Raises InputError before the first right answer is known: a file of questions needs one.
        """
        self._check_right_answers()
        self._add(Control(question=self.explorer.traces[0].question))
        silent = (one.silent for one in self.evaluations())
        names = (one.name for one in self._systems)
        scored = (f"{name} {one.hits} of {one.n}" for name, one in zip(names, silent, strict=True))
        told = "Unanswerable questions with nothing returned"
        return f"{told}: {', '.join(scored)}{self._with_moved}. Saved in {self._saved}."

    @property
    def _with_moved(self) -> str:
        return " (with the settings that you moved)" if any(self.explorer.moved.values()) else ""

    def _kept(self) -> dict[str, Control]:
        """The questions in the file, by their words."""
        kept = load_questions(self._saved) if self._saved.is_file() else None
        return {one.question: one for one in (*kept.questions, *kept.controls)} if kept else {}

    def _add(self, one: Control) -> None:
        every = {**self._kept(), one.question: one}  # another page may have added some meanwhile
        questions, controls = _parted(every.values())
        if not questions:
            raise InputError(f"{self._saved} would be left without a right answer.", NO_LABELS)
        self._added = every
        added = {
            "questions": [one.model_dump(exclude_defaults=True) for one in questions],
            "controls": [one.question for one in controls],
        }
        with replaced(self._saved) as file:
            yaml.safe_dump({name: some for name, some in added.items() if some}, file, allow_unicode=True)

    @property
    def _every(self) -> list[Control]:
        own = (*self._own.questions, *self._own.controls) if self._own else ()
        return list(({one.question: one for one in own} | self._added).values())

    def _check_right_answers(self) -> None:
        if not self.labelled:
            raise InputError("No right answer is known.", NO_LABELS)

    @property
    def questions(self) -> QuestionSet:
        """The memory's labelled questions and those that were added. Raises InputError if there are none."""
        self._check_right_answers()
        questions, controls = _parted(self._every)
        return QuestionSet(questions=questions, controls=controls)

    @property
    def labelled(self) -> int:
        """The number of questions whose right answer is known."""
        return len(_parted(self._every)[0])

    def evaluations(self) -> list[Evaluation]:
        """The two systems, with what was moved, on all questions with a known answer."""
        return self._evaluated(self.questions)

    def _evaluated(self, questions: QuestionSet) -> list[Evaluation]:
        """The two systems on these questions, each in its index."""
        return [one for some in self._systems for one in evaluate(questions, [some], self._asked(some))]

    def _asked(self, system: Pipeline) -> CachedIndex:
        """The index of this system, with a cache of its answers."""
        index = self.indexes.of(system.indexing)
        return self._cached.setdefault(index.name, CachedIndex(index))

    @property
    def _systems(self) -> list[Pipeline]:
        """The two systems, or the left one where both have one name."""
        left, right = self.explorer.searched
        return [left] if left.name == right.name else [left, right]

    def count_losses(self) -> dict[str, Any]:
        """Searches the next PART labelled questions, so that the page can ask something else in between.

        When all are counted: for each of the two systems how many right files each stage lost, with their
        questions. Until then the number of those that are counted.
        """
        questions = self.questions.questions
        explorer = self.explorer
        key = (explorer.left, explorer.right, repr(explorer.moved), questions)
        parts = self._parts.pop(key, [])
        self._parts = dict([*self._parts.items(), (key, parts)][-COUNTS:])
        done = sum(len(part[0].asked) for part in parts)
        if done < len(questions):
            part = QuestionSet(questions=questions[done : done + PART])
            parts.append(self._evaluated(part))
            return {"counted": done + len(part.questions)}
        every = [
            replace(some[0], asked=tuple(one for part in some for one in part.asked))
            for some in zip(*parts, strict=True)
        ]
        found = [losses_by_stage(one, self._asked(one.pipeline)) for one in every]
        return {
            "losses": [
                {"system": one.system, "asked": one.asked, "returned": one.returned, "stages": one.as_json()}
                for one in found
            ]
        }

    def judged(self, log: Sequence[Asked]) -> dict[str, Any]:
        """The questions of a log, worst first in the left system, for the page."""
        system = self.explorer.searched[0]
        found = worst_first(log, system, self._asked(system))
        return {
            "sentence": f"{len(found)} questions in {system.name}. {WORST}",
            "rows": [
                {
                    "question": one.asked.question,
                    "expected": one.asked.expected or "",
                    "said": one.sentence,
                    "logged": logged(one.asked),
                }
                for one in found
            ],
        }

    def lab(self) -> ThresholdState:
        """The threshold lab of the two systems, with the explorer's question if its answer is known."""
        lab = ThresholdState(self.evaluations(), Selection())
        if (asked := self.explorer.traces[0].question) in lab.options["question"]:
            lab.question = asked
        return lab


def _parted(some: Iterable[Control]) -> tuple[tuple[Question, ...], tuple[Control, ...]]:
    """Questions with a right answer, and those that no file answers."""
    every = list(some)
    questions = tuple(one for one in every if isinstance(one, Question))
    return questions, tuple(one for one in every if not isinstance(one, Question))


def first_question(index: OpenIndex, labelled: QuestionSet | None = None) -> tuple[str, str]:
    """A question to begin with, and the file that answers it: a labelled one, or a file's first words.

    Raises InputError for a memory without a file.
    """
    for one in labelled.questions if labelled else ():
        if one.target in index.paths():
            return one.question, one.target
    for path in index.paths():
        for chunk in index.chunks(index.rows_of(path)[:1]):
            words = WORD.findall(chunk.text)[:WORDS]
            try:
                return check_question(" ".join(words)), path
            except InputError:
                continue
    raise InputError(
        "The index has no file with words in it.", "Add a note to the memory, and index it again."
    )
