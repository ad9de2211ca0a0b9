"""Chooses the threshold of a system from labelled questions, and says what it promises and costs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import isfinite
from typing import Any, NamedTuple

import numpy as np

from workbench.contracts import Index
from workbench.errors import InputError
from workbench.measure.evaluation import Evaluation
from workbench.measure.measures import Share
from workbench.measure.paired import Paired, paired_values
from workbench.measure.resampling import LEVEL
from workbench.records import Shown, Trace
from workbench.retrieval.cutoff import AddedFloor
from workbench.retrieval.explain import StageOutcome, decisions
from workbench.retrieval.pipeline import Pipeline
from workbench.retrieval.query import unicode_words
from workbench.retrieval.settings import with_settings
from workbench.safe_text import counted
from workbench.tables import Block, Fold, Part, Table, numbers
from workbench_plugins.calibrate.floors import Floored, Values, levels, scores_of
from workbench_plugins.calibrate.promise import Promise, allowed, bound_text, check_enough, fewest, upper
from workbench_plugins.calibrate.synthetic_negatives import MadeLabels
from workbench_plugins.rerank import Rerank

ACCEPTED = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5)
"""The rates of the curve."""


class Labelled(NamedTuple):
    """A question's trace, and the file that answers it; none if nothing does."""

    trace: Trace
    target: str | None


class Point(NamedTuple):
    """What a rate of mistakes costs: the thresholds, the mistakes among the labels, and the hits.

    The mistakes are those at these thresholds or at stricter ones, as in `Calibrated`.
    """

    accept: float
    values: Values
    mistakes: int
    hits: Share


@dataclass(frozen=True)
class LabelComparison:
    """Made labels against those by hand: how many of each the system answers at the chosen thresholds."""

    how: str
    synthetic: Share
    by_hand: Share

    @property
    def p(self) -> float:
        """The probability of a difference of this size if both kinds were alike (Fisher's exact test)."""
        from scipy.stats import fisher_exact

        table = np.array([[one.hits, one.n - one.hits] for one in (self.synthetic, self.by_hand)])
        return float(fisher_exact(table).pvalue)


@dataclass(frozen=True, repr=False)
class Calibrated(Shown):
    """Thresholds for a system, what they promise, and what they cost.

    `mistakes` counts the labels that are a mistake at these thresholds or at stricter ones that were tried; a
    wrong first file at a stricter threshold may be a right one here. `bound` is the rate that the labels
    promise after so many, at most `promise.accept`. `hits` counts the answered questions whose file is
    returned, and `before` the same at the system's own thresholds; `change` compares them in pairs.
    """

    asked: Pipeline
    pipeline: Pipeline
    thresholds: Mapping[str, float]
    own: Mapping[str, float]
    promise: Promise
    labels: int
    mistakes: int
    hits: Share
    before: Share
    change: Paired | None
    curve: tuple[Point, ...]
    synthetic_labels: LabelComparison | None = None

    @property
    def bound(self) -> float:
        """The rate that the labels promise."""
        return upper(self.mistakes, self.labels, self.promise.confidence)

    @property
    def counted_at(self) -> str:
        """Where the mistakes were counted, as the end of a sentence; empty if that is these thresholds alone.

        An answer at a stricter threshold stays an answer, and a wrong first file need not stay one.
        """
        return "" if self.promise.mistake == "answers" else " at this threshold or at a stricter one"

    @property
    def options(self) -> str | None:
        """The thresholds as a person types them; None if no option of the system sets just these."""
        settings = [f"{name}={value!r}" for name, value in self.thresholds.items()]
        value = next(iter(self.thresholds.values()))
        if self.asked.asking(min_score=value).stages == self.pipeline.stages and AddedFloor in self._kinds:
            return f"--min-score {value!r}"
        if self._made_by(lambda: with_settings(self.asked, settings)):
            return " ".join(f"--set {one}" for one in settings)
        return None

    @property
    def to_paste(self) -> dict[str, Any] | None:
        """The threshold as an openclaw.json has it; None for another system, and if no key sets just this."""
        if not self.asked.name.startswith("openclaw"):
            return None
        try:
            from workbench_plugins.openclaw.config_keys import keys_of, to_paste, with_keys
        except ImportError:
            return None
        value = next(iter(self.thresholds.values()))
        for key in keys_of(self.asked):
            setting = f"{key.name}={value!r}"
            if not key.choices and self._made_by(partial(with_keys, self.asked, [setting])):
                return to_paste(self.asked, {key.name: value})
        return None

    @property
    def _kinds(self) -> list[type]:
        return [type(stage) for stage in self.pipeline.stages]

    def _made_by(self, change: Callable[[], Pipeline]) -> bool:
        """Whether a change of the system gives this one; a change that is refused does not."""
        try:
            return change().stages == self.pipeline.stages
        except InputError:
            return False

    def __str__(self) -> str:
        """The promise in words."""
        answers = self.promise.mistake == "answers"
        where = "that this memory does not answer" if answers else "like the labels"
        what = "get an answer" if answers else "get a wrong first file"
        kind = f" made by {self.synthetic_labels.how}" if self.synthetic_labels else ""
        verb = "does" if self.mistakes == 1 else "do"
        return (
            f"With {self.promise.confidence:.0%} confidence, at most {self.promise.accept:.0%} of the "
            f"questions {where} {what}, if they are drawn as your {self.labels} labels{kind} were. Of these, "
            f"{self.mistakes} {verb}{self.counted_at}, so the rate is at most {bound_text(self.bound)} "
            "(Clopper and Pearson)."
        )

    @property
    def summary(self) -> list[str]:
        """The threshold, the promise, and what it costs."""
        return [
            f"{self.pipeline.name}: {_values(self.thresholds)}, instead of {_values(self.own)}",
            str(self),
            f"Hits: {_share_text(self.hits)}; before {_share_text(self.before)}.",
        ]

    @property
    def headline(self) -> str:
        """What to use, and what it promises, in a sentence."""
        use = (
            f"Use {self.options}" if self.options else f"{self.pipeline.name} with {_values(self.thresholds)}"
        )
        if self.promise.mistake == "answers":
            what = "questions that this memory does not answer get an answer"
        else:
            what = "questions get a wrong first file"
        return (
            f"{use}: at most {self.promise.accept:.0%} of the {what}, "
            f"with {self.promise.confidence:.0%} confidence."
        )

    def view(self) -> list[Part]:
        """What to use and its promise, on what it stands, its cost, other rates, and folded the curve."""
        labels = f"{self.labels} labels" + (
            f" made by {self.synthetic_labels.how}" if self.synthetic_labels else ""
        )
        parts: list[Part] = [
            Block(self.headline, style="bold"),
            f"It holds for questions drawn as your {labels} were: {self.mistakes} of them "
            f"{'is a mistake' if self.mistakes == 1 else 'are mistakes'}{self.counted_at}, so the rate is at "
            f"most {bound_text(self.bound)} (Clopper and Pearson).",
            f"Now {_values(self.own)}. Hits: {self.before.hits} → {self.hits.hits} of {self.hits.n}"
            + (f" ({self.change})." if self.change is not None else "."),
        ]
        parts += [_compared(self.synthetic_labels)] if self.synthetic_labels is not None else []
        parts += [f"Other rates: {_other_rates(self)}."]
        if self.to_paste is not None:
            parts.append(f"openclaw.json: {json.dumps(self.to_paste)}")
        elif not self.options:
            parts.append("No option of this system sets this threshold: keep it with --save FILE.")
        table = _curve_table(self)
        return [*parts, Fold(table.caption, [table, *self.summary])]

    def as_json(self) -> dict[str, Any]:
        """The figures for `--json`."""
        synthetic_labels = self.synthetic_labels and {
            "how": self.synthetic_labels.how,
            "answered": _shown(self.synthetic_labels.synthetic),
            "by_hand": _shown(self.synthetic_labels.by_hand),
            "p": self.synthetic_labels.p,
        }
        return {
            "system": self.pipeline.name,
            "thresholds": self.thresholds,
            "mistake": self.promise.mistake,
            "accept": self.promise.accept,
            "confidence": self.promise.confidence,
            "labels": self.labels,
            "mistakes": self.mistakes,
            "bound": self.bound,
            "options": self.options,
            "own": {name: value for name, value in self.own.items() if isfinite(value)},
            "paste": self.to_paste,
            "promise": str(self),
            "hits": _shown(self.hits),
            "before": _shown(self.before),
            "paired": self.change and self.change.as_json(),
            "curve": [{**one._asdict(), "hits": _shown(one.hits)} for one in self.curve],
            "made": synthetic_labels,
        }


def _curve_table(found: Calibrated) -> Table:
    """A row for each accepted rate: the thresholds, the mistakes among the labels, and the hits."""
    known = {one.accept: one for one in found.curve}
    rows = []
    for rate in sorted({*ACCEPTED, found.promise.accept}):
        if rate in known:
            one = known[rate]
            values = ", ".join(f"{value:g}" for value in one.values)
            rows.append((f"{rate:.0%}", values, f"{one.mistakes} of {found.labels}", _share_text(one.hits)))
        else:
            needed = fewest(rate, found.promise.confidence)
            few = allowed(found.labels, rate, found.promise.confidence) < 0
            why = f"needs {needed} labels" if few else "no threshold keeps it"
            rows.append((f"{rate:.0%}", why, "", ""))
    heads = numbers("threshold", "mistakes", "hits, 95 % interval")
    where = f"; mistakes are counted{found.counted_at}" if found.counted_at else ""
    return Table(
        f"What other rates cost, at {found.promise.confidence:.0%} confidence{where}",
        ["accepted", *heads],
        rows,
    )


def _other_rates(found: Calibrated) -> str:
    """The hits at other accepted rates, each in a few words."""
    others = [one for one in found.curve if one.accept != found.promise.accept]
    others_kept = [f"{one.accept:.0%} keeps {one.hits.hits} hits" for one in others]
    return ", ".join(others_kept) or "none can be promised with these labels"


def _values(thresholds: Mapping[str, float]) -> str:
    return ", ".join(
        f"{name} = {value:g}" if isfinite(value) else f"{name} = none" for name, value in thresholds.items()
    )


def _share_text(share: Share) -> str:
    low, high = share.interval
    return f"{share.hits} of {share.n} ({low:.0%} to {high:.0%})"


def _compared(labels: LabelComparison) -> str:
    """What made labels say about those by hand."""
    if not labels.by_hand.n:
        return f"Made by {labels.how}: no question without an answer was written by hand to compare with."
    verdict = (
        "they differ, so do not take the promise for questions of people"
        if labels.p < LEVEL
        else "too few questions to tell them apart"
    )
    return (
        f"Made by {labels.how}: {_share_text(labels.synthetic)} get an answer; of those written by hand "
        f"{_share_text(labels.by_hand)}; {verdict} (Fisher's exact p = {labels.p:.2g})."
    )


def _shown(share: Share) -> dict[str, Any]:
    return {"count": share.hits, "of": share.n, "interval": list(share.interval)}


def calibrated(
    asked: Pipeline,
    evaluation: Evaluation,
    index: Index,
    promise: Promise,
    synthetic_labels: MadeLabels | None = None,
) -> Calibrated:
    """The loosest thresholds that keep a promise.

    `evaluation` is that of the system that was asked, `with_floor`. Its controls are the questions without
    an answer, and `synthetic_labels` take their place. Raises InputError for labels of one kind, for
    contradictory ones, for too few of them, for a score that is the same for all of them, and for a reranker
    that failed: what it did not read would pass for a silence.
    """
    answered = once([Labelled(one.trace, one.question.target) for one in evaluation.asked])
    by_hand = once([Labelled(one, None) for one in evaluation.controls])
    _check_read(
        [
            *(one.trace for one in (*answered, *by_hand)),
            *(synthetic_labels.traces if synthetic_labels else ()),
        ]
    )
    _check_one_truth(answered, by_hand)
    silent = once([Labelled(one, None) for one in synthetic_labels.traces]) if synthetic_labels else by_hand
    labels = silent if promise.mistake == "answers" else [*answered, *silent]
    floored = Floored(evaluation.pipeline, index)
    _check_labels(labels, floored, promise)
    points = walked(floored, labels, answered, (promise.accept, *ACCEPTED), promise.confidence)
    values, mistakes = points[promise.accept]
    hits = _hits(floored, answered, values)
    before = np.array([float(one.target in one.trace.paths()) for one in answered])
    curve = (
        Point(rate, some, count, _share(_hits(floored, answered, some)))
        for rate, (some, count) in sorted(points.items())
    )
    compared = None
    if synthetic_labels is not None:
        compared = LabelComparison(
            synthetic_labels.how, _answered(floored, silent, values), _answered(floored, by_hand, values)
        )
    return Calibrated(
        asked=asked,
        pipeline=floored.at(values),
        thresholds=_named(floored, values),
        own=_named(floored, floored.own()),
        promise=promise,
        labels=len(labels),
        mistakes=mistakes,
        hits=_share(hits),
        before=_share(before),
        change=paired_values(before, hits, units=[one.target for one in answered]) if answered else None,
        curve=tuple(curve),
        synthetic_labels=compared,
    )


def _check_labels(labels: Sequence[Labelled], floored: Floored, promise: Promise) -> None:
    if not labels and promise.mistake == "answers":
        raise InputError(
            "All labels are questions that the memory answers.",
            "Add `controls:`, questions that it does not answer, or make some: --make leave-one-out",
        )
    what = "unanswerable question" if promise.mistake == "answers" else "label"
    check_enough(len(labels), promise.accept, promise.confidence, what)
    if promise.mistake == "first" and len(floored.names) == 2:
        raise InputError(
            "Two thresholds cannot be set from wrong first files: the questions that order the thresholds "
            "must be others than those that the promise is about.",
            "Calibrate one score with --on, or count answers.",
        )


def once(labels: Sequence[Labelled]) -> list[Labelled]:
    """Each label once: a question that is asked twice is no second observation."""
    return list({(_words(one), one.target): one for one in labels}.values())


def _check_one_truth(answered: Sequence[Labelled], silent: Sequence[Labelled]) -> None:
    asked = {_words(one): one.trace.question for one in answered}
    both = [asked[_words(one)] for one in silent if _words(one) in asked]
    if both:
        raise InputError(
            f"The labels contradict each other: {min(both)!r} has an answer, and it is among the controls.",
            "Keep one of the two labels.",
        )


def _check_read(traces: Sequence[Trace]) -> None:
    failed = [one for one in traces if one.rows.size and np.isnan(one.columns.get(Rerank.output, 0)).all()]
    if failed:
        raise InputError(
            f"The reranker failed for {len(failed)} of {len(traces)} labels. {failed[0].notes[-1]}",
            "Calibrate once it answers.",
        )


def _words(one: Labelled) -> str:
    """A question without regard to capitals and punctuation."""
    return " ".join(unicode_words(one.trace.question.casefold())) or one.trace.question


def walked(
    floored: Floored,
    labels: Sequence[Labelled],
    answered: Sequence[Labelled],
    rates: Sequence[float],
    confidence: float,
) -> dict[float, tuple[Values, int]]:
    """The loosest thresholds for each rate that can be promised, with the mistakes up to there."""
    most = {rate: allowed(len(labels), rate, confidence) for rate in rates}
    found: dict[float, tuple[Values, int]] = {}
    left = list(labels)
    strictest: Values | None = None
    for values in levels(floored, [one.trace for one in labels], [one.trace for one in answered]):
        strictest = strictest or values
        # A mistake at a stricter threshold stays one: so a looser threshold never looks better.
        left = [one for one in left if not _wrong(floored.paths(one.trace, values), one.target)]
        mistakes = len(labels) - len(left)
        found |= {rate: (values, mistakes) for rate, allows in most.items() if mistakes <= allows}
        if mistakes > max(most.values()):
            break
    if rates[0] not in found and strictest is not None:
        raise not_kept(floored, labels, strictest)
    return found


def not_kept(floored: Floored, labels: Sequence[Labelled], strictest: Values) -> InputError:
    """The error where the strictest thresholds make too many mistakes, with the stage that undoes them."""
    traces = [(floored.trace(one.trace, strictest), one.target) for one in labels]
    wrong = [trace for trace, target in traces if _wrong(trace.paths(), target)]
    problem = (
        f"{floored.pipeline.name} makes {counted(len(wrong), 'mistake')} with "
        f"{counted(len(labels), 'label')} even at the strictest threshold."
    )
    undoing = Counter(stage for trace in wrong for stage in _bringing_back(trace))
    if not undoing:
        scores = ", ".join(scores_of(floored.pipeline))
        return InputError(problem, f"Accept more mistakes, or calibrate another score with --on: {scores}.")
    ((slot, count),) = undoing.most_common(1)
    return InputError(
        f"{problem} In {count} of them the stage `{slot}` brings back what the floor has dropped.",
        f"Calibrate without that stage, --set {slot}=none, or accept more mistakes.",
    )


def _bringing_back(trace: Trace) -> set[str]:
    """The slots of the stages that brought a result back after the floor had dropped it."""
    rows = [trace.chunks.index(one.chunk) for one in trace.results]
    return {
        one.stage.slot
        for row in rows
        for one in decisions(trace, row)
        if one.outcome is StageOutcome.BROUGHT_BACK
    }


def _wrong(paths: Sequence[str], target: str | None) -> bool:
    return bool(paths) and paths[0] != target


def _hits(floored: Floored, answered: Sequence[Labelled], values: Values) -> np.ndarray:
    return np.array([float(one.target in floored.paths(one.trace, values)) for one in answered])


def _answered(floored: Floored, labels: Sequence[Labelled], values: Values) -> Share:
    return Share(sum(bool(floored.paths(one.trace, values)) for one in labels), len(labels))


def _share(hits: np.ndarray) -> Share:
    return Share(int(hits.sum()), hits.size)


def _named(floored: Floored, values: Values) -> dict[str, float]:
    slot = floored.stage.slot
    return {f"{slot}.{name}": value for name, value in zip(floored.names, values, strict=True)}
