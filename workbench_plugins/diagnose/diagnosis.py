"""What happened to a file, who did it, what would have saved it, and what that costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from workbench.contracts import Index
from workbench.errors import InputError
from workbench.measure.blame import Reruns
from workbench.measure.paired import Paired, corrected
from workbench.measure.questions import QuestionSet, check_targets
from workbench.records import Tabular, Trace
from workbench.retrieval.explain import Explanation, explain
from workbench.retrieval.index_adapters import CachedIndex
from workbench.retrieval.pipeline import Pipeline, check_pipeline
from workbench.retrieval.query import check_question
from workbench.systems.registry import language_of_file
from workbench_plugins.diagnose.causes import Cause, Prices, causes_inside, repairs, without_stop_words
from workbench_plugins.diagnose.chunks import Tried, cut_index, tried, untried
from workbench_plugins.diagnose.fixes import MOST_FIXES, Fix, best_fixes, fixes_of_many, verified
from workbench_plugins.diagnose.goal import Aim, Goal, RankedIndex
from workbench_plugins.diagnose.outside import causes_outside, check_known, without_foreign_vectors
from workbench_plugins.diagnose.parameters import parameters_of

FORMAT = 2
"""The version of `Diagnosis.as_json`, which docs/diagnose.md describes."""


@dataclass(frozen=True, repr=False)
class Diagnosis(Tabular):
    """One page about one file and one question.

    `explanation` says what happened, `causes` who did it, and `fixes` what would have changed it, the best
    first; `found` counts all fixes. `goal` is what was wanted of the file. `proxy` says that the prices are
    over the memory's own questions, not over labelled ones; `asked` and `unanswerable` count them.
    `chunking` says which other chunks were tried.
    """

    explanation: Explanation
    goal: Goal
    pipeline: Pipeline
    causes: tuple[Cause, ...]
    fixes: tuple[Fix, ...]
    found: int
    chunking: str
    prices: Prices = field(compare=False)

    def __repr__(self) -> str:
        """One line; `workbench.show` prints all."""
        one = self.explanation
        return (
            f"<Diagnosis: {one.target} is {one.fate} for {one.trace.question!r}, {one.trace.system}; "
            f"{len(self.causes)} causes, {len(self.fixes)} fixes>"
        )

    @property
    def question(self) -> str:
        return self.explanation.trace.question

    @property
    def target(self) -> str:
        return self.goal.path

    @property
    def trace(self) -> Trace:
        """The search that is diagnosed."""
        return self.explanation.trace

    @property
    def proxy(self) -> bool:
        """Whether the prices are over the memory's own questions instead of labelled ones."""
        return self.prices.proxy

    @property
    def prices_text(self) -> str:
        """What the prices are measured with."""
        asked, silent = len(self.prices.questions), len(self.prices.controls)
        if self.proxy:
            return (
                f"{asked} questions that the memory asks of itself (file names, headings, first lines). "
                "This is only a proxy: give labelled questions with --questions FILE for a real price"
            )
        return f"{asked} labelled questions and {silent} unanswerable ones"

    @property
    def order_text(self) -> str:
        """That labelled questions have also ordered the causes and fixes. Empty for a proxy."""
        if self.proxy:
            return ""
        return (
            "The causes and fixes are ordered by these questions too, so their hits are not held out: "
            "new questions may give fewer. workbench sweep estimates that."
        )

    @property
    def settings_text(self) -> str:
        """For a system from a file of settings: whether a setting of its release can do it. Else empty."""
        language = language_of_file(self.pipeline.name)
        if language is None:
            return ""
        if any(one.is_key for one in self.fixes):
            return f"Paste the JSON into your {language.name}."
        return f"No setting of {self.pipeline.name} can do it: the fixes above need a changed program."

    def as_json(self) -> dict[str, Any]:
        """The diagnosis in the form that docs/diagnose.md describes, version FORMAT."""
        now = self.prices.now
        return {
            "question": self.question,
            "target": self.target,
            "fate": self.explanation.fate.value,
            "causes": [one.as_json() for one in self.causes],
            "fixes": [one.as_json() for one in self.fixes],
            "price": {
                "format": FORMAT,
                "system": self.pipeline.name,
                "wanted": self.goal.aim.value,
                "proxy": self.proxy,
                "questions": len(self.prices.questions),
                "unanswerable": len(self.prices.controls),
                "hits": now.hits,
                "silent": now.silences,
                "fixes_found": self.found,
                "says": [
                    one
                    for one in (self.prices_text, self.order_text, self.chunking, self.settings_text)
                    if one
                ],
            },
        }


def diagnose(
    question: str,
    pipeline: Pipeline,
    index: Index,
    target: str = "",
    *,
    unwanted: str = "",
    questions: QuestionSet | None = None,
    rechunk: bool = False,
) -> Diagnosis:
    """Why the file `target` is not in the answer, or why `unwanted` is: causes, fixes, and their price.

    A target that is returned, but not first, is diagnosed for the first place. Prices are over `questions`;
    without them over the memory's own lines. Every cause in the pipeline and every fix has been run.
    With `rechunk`, the notes of the index are also cut into chunks of other sizes, in a temporary index for
    each of them; texts that have no vector yet are embedded, which can take long.

    Raises InputError without a file or for two; for a file that is not in the index (naming the nearest), one
    that is first already, and an unwanted one that is not in the answer; for a pipeline with nothing to
    change, for labels whose files are not in the index, and with `rechunk` for an index whose notes cannot be
    cut anew.
    """
    check_pipeline(pipeline)
    asked = check_question(question)
    if bool(target) == bool(unwanted):
        raise InputError(
            "A diagnosis is about one file.", "Name the one that you expect (target), or the unwanted one."
        )
    with index.snapshot():
        check_known(index, target or unwanted)
        if questions is not None:
            check_targets(questions, index.paths())
        if rechunk:
            cut_index(index)  # which says at once if it cannot be done
        usable = without_foreign_vectors(index, asked, pipeline)
        cached = RankedIndex(usable)
        runs = Reruns(asked, pipeline, cached)
        goal = _goal(runs.base, target, unwanted)
        _check_changeable(pipeline)
        many = CachedIndex(usable)
        prices = Prices(pipeline, many, questions)
        chunks = tried(runs, goal, prices, index) if rechunk else untried(index)
        return _diagnosed(runs, goal, prices, cached, chunks)


def _diagnosed(runs: Reruns, goal: Goal, prices: Prices, index: CachedIndex, chunks: Tried) -> Diagnosis:
    pipeline = runs.pipeline
    outside = [] if goal.aim is Aim.OUT else list(causes_outside(runs, index, goal))
    every = repairs(pipeline)
    inside = causes_inside(every, runs, goal, prices, index)
    offered = [*every, *without_stop_words(pipeline)]
    fixes, found = best_fixes(offered, runs, goal, prices)
    if not fixes:
        fixes = fixes_of_many([one.repairs for one in inside], runs, goal, prices, index)
        found = len(fixes)
    few = [verified(one, runs, goal, index) for one in _few(fixes)]
    return Diagnosis(
        explain(runs.base, index, goal.path, runs.vector),
        goal,
        pipeline,
        (*outside, *inside),
        tuple(_corrected(_shown(few, chunks.fixes))),
        found + len(chunks.fixes),
        chunks.says,
        prices,
    )


def _shown(few: Sequence[Fix], of_chunks: Sequence[Fix]) -> Sequence[Fix]:
    """The best few fixes, and every size of chunks that works, since somebody has waited for these."""
    return sorted([*few, *of_chunks], key=lambda one: one.collateral) if of_chunks else few


def _few(fixes: Sequence[Fix]) -> list[Fix]:
    """The best fixes, with the best key of the file of settings among them if there is one."""
    best = list(fixes[:MOST_FIXES])
    key = next((one for one in fixes if one.is_key), None)
    return best if key is None or key in best else [*best[:-1], key]


def _corrected(fixes: Sequence[Fix]) -> list[Fix]:
    """The fixes with their p values corrected for the number of fixes that are shown (Holm)."""
    hits = _holm([one.price.hits for one in fixes])
    silence = _holm([one.price.silence for one in fixes])
    return [
        replace(one, price=replace(one.price, hits=hit, silence=silent))
        for one, hit, silent in zip(fixes, hits, silence, strict=True)
    ]


def _holm(verdicts: Sequence[Paired | None]) -> list[Paired | None]:
    known = [one for one in verdicts if one is not None]
    return [*corrected(known)] if len(known) == len(verdicts) else list(verdicts)


def _goal(trace: Trace, target: str, unwanted: str) -> Goal:
    paths = trace.paths()
    if unwanted:
        if unwanted not in paths:
            raise InputError(
                f"{unwanted} is not in the answer of {trace.system}, so nothing has to keep it out.",
                "Name a file of the answer: workbench search QUESTION lists them.",
            )
        return Goal(unwanted, Aim.OUT)
    if paths[:1] == [target]:
        raise InputError(
            f"{target} is already the first file in the answer of {trace.system}.",
            "Ask why another file came in: --unwanted FILE.",
        )
    return Goal(target, Aim.FIRST if target in paths else Aim.IN)


def _check_changeable(pipeline: Pipeline) -> None:
    if not parameters_of(pipeline) and all(one.removes for one in repairs(pipeline)):
        raise InputError(
            f"{pipeline.name} has no parameter and no known change, so there is nothing to diagnose.",
            "Choose another system, or explain what it did: workbench explain QUESTION --target FILE.",
        )
