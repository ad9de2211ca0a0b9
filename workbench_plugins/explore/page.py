"""What stands behind the page of `workbench explore`: the explorer, and a question set that grows."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from workbench.errors import InputError
from workbench.measure.evaluation import Evaluation, evaluate
from workbench.measure.questions import Control, Question, QuestionSet, load_questions
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
WORDS = 8
"""The number of words of the first question."""

NO_LABELS = (
    "Ask a question, choose the file that you expect under “explain file”, and press “this file is the right "
    "answer”."
)


class Desk:
    """The explorer of a memory, and the right answers that a reader adds.

    `labelled` are the memory's own labelled questions, if it has some. Those that are added go to the file
    `saved`, which `evaluate` reads; what it holds already stays. Raises InputError for a memory without a
    file, and for a file of questions that cannot be read.
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
        self.index, self._labelled, self._saved = index, labelled, saved
        self._asked = CachedIndex(index)
        self.log: list[Asked] = []
        self._added = list(load_questions(saved).questions) if saved.is_file() else []
        self.explorer = ExplorerState(index, question, file, systems, pipelines, Selection())

    def add_right_answer(self) -> str:
        """Adds the explorer's question and file to the file of questions; says the score with them.

        Raises InputError for a file that is not in the index.
        """
        question, file = self.explorer.traces[0].question, self.explorer.asked_for
        if file not in self.index.paths():
            raise InputError(f"There is no file {file!r} in the index.", "Choose one from the list.")
        self._added = [one for one in self._added if one.question != question]
        self._added.append(Question(question=question, target=file))
        self._save()
        scored = (f"{one.pipeline.name} {one.overall.hits} of {one.overall.n}" for one in self.evaluations())
        moved = " (with the settings that you moved)" if any(self.explorer.moved.values()) else ""
        return f"Questions with a hit: {', '.join(scored)}{moved}. Saved in {self._saved}."

    def _save(self) -> None:
        some = [{"question": one.question, "target": one.target} for one in self._added]
        with replaced(self._saved) as file:
            yaml.safe_dump({"questions": some}, file, allow_unicode=True)

    @property
    def questions(self) -> QuestionSet:
        """The memory's labelled questions and those that were added. Raises InputError if there are none."""
        added = {one.question for one in self._added}
        own = self._labelled.questions if self._labelled else ()
        asked = (*(one for one in own if one.question not in added), *self._added)
        controls: tuple[Control, ...] = self._labelled.controls if self._labelled else ()
        if not asked:
            raise InputError("No right answer is known.", NO_LABELS)
        return QuestionSet(questions=asked, controls=controls)

    def evaluations(self) -> list[Evaluation]:
        """The two systems, with what was moved, on all questions with a known answer."""
        systems = {one.name: one for one in reversed(self.explorer.searched)}
        return evaluate(self.questions, list(systems.values())[::-1], self._asked)

    def judged(self) -> dict[str, Any]:
        """The questions of the log, worst first in the left system, for the page."""
        system = self.explorer.searched[0]
        found = worst_first(self.log, system, self._asked)
        return {
            "sentence": f"{len(found)} questions in {system.name}. {WORST}",
            "rows": [
                {
                    "question": one.asked.question,
                    "expected": one.asked.expected or "",
                    "said": one.said,
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
