"""One page on a memory: a question, two systems, a threshold lab, and the chunks of a file, all linked."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from html import escape
from typing import Any

import ipywidgets as w

from workbench.errors import InputError, WorkbenchError
from workbench.measure.evaluation import AskedQuestion, Evaluation
from workbench.measure.questions import Control, Question, QuestionSet
from workbench.memory.index import OpenIndex
from workbench.records import Trace
from workbench.retrieval.pipeline import Pipeline, search
from workbench.retrieval.query import check_question
from workbench.systems.registry import SYSTEMS, default_system
from workbench.views.widgets.panel import Link, status_html
from workbench.views.widgets.threshold import ThresholdLab
from workbench_plugins.explore.chunks import FileChunks
from workbench_plugins.explore.explorer import SHIPPED_AND_FIXED, QuestionExplorer

WORD = re.compile(r"[^\W_][\w'’-]*")
WORDS = 8
"""The number of words of the first question."""

NO_LABELS = (
    "The threshold lab needs to know a right answer. Ask a question, choose the file that you expect under "
    "“explain file”, and press “this file is the right answer”."
)


class TellingExplorer(QuestionExplorer):
    """A question explorer that calls `told` after each answer."""

    told: Callable[[], None] | None = None

    def tell(self) -> None:
        """Updates the texts, and says that there is an answer."""
        super().tell()
        if self.told:
            self.told()


class MemoryPage:
    """The page of `workbench explore`: `explorer`, `lab` (None without a right answer) and `chunks`.

    `labelled` are the memory's labelled questions, if it has some. `right` holds the right file of each
    question that a reader has added to them. Raises InputError for a memory without a file.
    """

    def __init__(
        self,
        index: OpenIndex,
        labelled: QuestionSet | None = None,
        pipelines: Mapping[str, Pipeline] = SYSTEMS,
        link: Link = True,
    ) -> None:
        question, file = first_question(index)
        shipped, fixed = SHIPPED_AND_FIXED
        systems = (shipped, default_system() if default_system() in pipelines else fixed)
        self.index, self.pipelines, self._link = index, pipelines, link
        self._labelled = labelled or QuestionSet.model_construct(questions=(), controls=())
        self.right: dict[str, str] = {} if labelled else {question: file}
        self._traces: dict[tuple[str, str], Trace] = {}
        self._evaluated: object = None
        self.lab: ThresholdLab | None = None
        self.explorer = TellingExplorer(index, question, file, systems, pipelines, link)
        self.chunks = FileChunks(index, file, link, height="590px")
        self.add = w.Button(
            description="this file is the right answer", layout={"width": "auto", "align_self": "flex-start"},
            tooltip="adds the question and the file under “explain file” to those of the threshold lab",
        )  # fmt: skip
        self.add.on_click(lambda _: self.add_right_answer())
        self._floors = w.VBox()
        tabs = w.Tab(
            [w.VBox([self.add, self.explorer.root]), self._floors], titles=["explorer", "threshold lab"]
        )
        tabs.layout = {"width": "880px", "flex": "0 0 auto"}
        side = w.VBox(
            [self.chunks.root], layout={"flex": "1 1 300px", "min_width": "300px", "margin": "0 0 0 8px"}
        )
        remarks = [w.HTML(_notice(remark)) for remark in index.remarks]
        self.root = w.VBox([*remarks, w.HBox([tabs, side], layout={"flex_flow": "row wrap"})])
        self.root.add_class("workbench-page")
        self.explorer.told = self._evaluate
        self._evaluate()

    def add_right_answer(self) -> None:
        """Adds the explorer's question and file to the questions of the threshold lab."""
        question, file = self.explorer.traces[0].question, self.explorer.asked_for
        if self.explorer.problem is None and file in self.index.paths():
            self.right[question] = file
            self._evaluate()

    def _evaluate(self) -> None:
        """Makes a new threshold lab if the systems or the right answers have changed."""
        names = list(dict.fromkeys((self.explorer.left.value, self.explorer.right.value)))
        state = (names, dict(self.right))
        if self.explorer.problem is not None or state == self._evaluated:
            return
        self._evaluated = state
        try:
            made = ThresholdLab([self._evaluation(self.pipelines[name]) for name in names], self._link)
        except WorkbenchError as error:
            self._replace_lab(None, f"{error.problem} {error.remedy}")
        else:
            self._replace_lab(made, "")

    def _replace_lab(self, made: ThresholdLab | None, words: str) -> None:
        if self.lab is not None:
            self.lab.link = False
            self.lab.root.close()
        self.lab = made
        self._floors.children = [made.root] if made else [w.HTML(status_html(words))]

    def _evaluation(self, pipeline: Pipeline) -> Evaluation:
        own = {question: Question(question=question, target=file) for question, file in self.right.items()}
        asked = [*(one for one in self._labelled.questions if one.question not in own), *own.values()]
        if not asked:
            raise InputError("No right answer is known.", NO_LABELS)
        return Evaluation(
            pipeline,
            tuple(AskedQuestion(one, self._trace(pipeline, one)) for one in asked),
            tuple(self._trace(pipeline, one) for one in self._labelled.controls),
            self.index,
        )

    def _trace(self, pipeline: Pipeline, asked: Control) -> Trace:
        key = (pipeline.name, asked.question)
        if key not in self._traces:
            self._traces[key] = search(asked.question, pipeline, self.index)
        return self._traces[key]

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        return self.root._repr_mimebundle_(**kwargs)


def first_question(index: OpenIndex) -> tuple[str, str]:
    """A question to begin with, and the file that answers it: the first words of a file of the memory.

    Raises InputError for a memory without a file.
    """
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


def _notice(text: str) -> str:
    return f'<div role="note" style="line-height:1.4;padding:2px 0">{escape(text)}</div>'


def problem_page(error: Exception) -> w.HTML:
    """A page that says in plain words why there is nothing else on it."""
    if isinstance(error, WorkbenchError):
        problem, remedy = error.problem, error.remedy
    else:
        problem, remedy = (
            f"{type(error).__name__}: {error}",
            "This is a mistake in the workbench. Please report it.",
        )
    return w.HTML(
        f'<div role="alert" style="line-height:1.5;padding:16px;font-size:15px">'
        f"<b>{escape(problem)}</b><br>{escape(remedy)}</div>"
    )
