"""How measuring lies: checks that an evaluation runs on itself. Each warning states the number behind it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from workbench.contracts import Index
from workbench.measure.evaluation import AskedQuestion, Evaluation
from workbench.measure.measures import HITS
from workbench.measure.paired import paired, paired_values
from workbench.measure.resampling import fewest_wins
from workbench.records import KEPT, Shown, Trace
from workbench.retrieval.cutoff import Limit, Order
from workbench.safe_text import counted
from workbench.tables import Column, Part, Table

FOLDS = 5
SEED = 0
MANY = 3
"""The least number of systems of which the best one is a choice that the questions have made."""


class MeasuringWarning(NamedTuple):
    """Why a figure of an evaluation may mislead: the kind of warning, the systems, and a sentence."""

    kind: str
    systems: tuple[str, ...]
    description: str

    def as_json(self) -> dict[str, Any]:
        """The kind, the systems, and the sentence, which is called `says`."""
        return {"kind": self.kind, "systems": self.systems, "says": self.description}

    def __str__(self) -> str:
        return f"{', '.join(self.systems)}: {self.description}" if self.systems else self.description


class MeasuringWarnings(list[MeasuringWarning], Shown):
    """The warnings about some evaluations, in the order of the checks."""

    def view(self) -> list[Part]:
        """One row for each warning: its kind, and the system with the sentence."""
        if not self:
            return ["No check of the evaluation has found a warning about these numbers."]
        rows = [(one.kind, str(one)) for one in self]
        return [Table("", (Column("warning", "narrow"), "what was found"), rows)]


def warnings_about(evaluations: Sequence[Evaluation], index: Index, measure: Any = HITS) -> MeasuringWarnings:
    """What may mislead in the figures of these evaluations, with one measure; none for no evaluation."""
    if not evaluations:
        return MeasuringWarnings()
    found = [
        *_labels(evaluations[0], index),
        *_collection(evaluations, index, measure),
        *_unjudged(evaluations, measure),
    ]
    for one in evaluations:
        found += _ties(one)
    for one in evaluations[1:]:
        found += _blind(evaluations[0], one, measure)
    return MeasuringWarnings([*found, *_small_sample(evaluations, measure), *_chosen(evaluations, measure)])


def _labels(evaluation: Evaluation, index: Index) -> list[MeasuringWarning]:
    """Files with the same text as a target, and questions with two targets."""
    twins: dict[str, list[str]] = defaultdict(list)
    for document in index.documents() or ():
        twins[document.text.strip()].append(document.path)
    same = {path: sorted(set(paths) - {path}) for paths in twins.values() if len(paths) > 1 for path in paths}
    asked = [one.question for one in evaluation.asked]
    doubled = [one for one in asked if one.target in same]
    targets: dict[str, set[str]] = defaultdict(set)
    for question in asked:
        targets[question.question].add(question.target)
    several = [text for text, paths in targets.items() if len(paths) > 1]
    found = []
    if doubled:
        first = doubled[0].target
        found.append(
            f"{len(doubled)} of {len(asked)} questions have a right file whose text another file has, too "
            f"({first} and {same[first][0]}): to return the other one counts as a miss"
        )
    if several:
        found.append(
            f"{len(several)} {'question is' if len(several) == 1 else 'questions are'} given with two right "
            "files, so no answer with one file is right "
            f"for both (“{several[0]}”)"
        )
    return [MeasuringWarning("labels that two files satisfy", (), one) for one in found]


def _collection(evaluations: Sequence[Evaluation], index: Index, measure: Any) -> list[MeasuringWarning]:
    """A cutoff that is not smaller than the number of files."""
    files = len(index.paths())
    cutoff = cutoff_of(measure)
    found = []
    if files and cutoff is not None and cutoff >= files:
        description = f"{measure} looks at {cutoff} files, and the memory has {files}, so it leaves none out"
        found.append(MeasuringWarning("k larger than the collection", (), description))
    wide = [one.pipeline for one in evaluations if files and _limit(one) >= files]
    if wide:
        description = (
            f"the limit of {wide[0].limit:g} results is not smaller than the memory of {files} files"
        )
        names = tuple(one.name for one in wide)
        found.append(MeasuringWarning("k larger than the collection", names, description))
    return found


def _limit(evaluation: Evaluation) -> float:
    limits = [stage.count for stage in evaluation.pipeline.stages if isinstance(stage, Limit)]
    return limits[0] if limits else 0.0


def cutoff_of(measure: Any) -> int | None:
    """The k of a measure at k; None for a measure without one."""
    found = re.search(r"@\s*(\d+)", str(measure))
    return int(found[1]) if found else None


def _unjudged(evaluations: Sequence[Evaluation], measure: Any) -> list[MeasuringWarning]:
    """Returned files without a label."""
    cutoff = cutoff_of(measure)
    shares = []
    for one in evaluations:
        returned = [asked.trace.paths()[:cutoff] for asked in one.asked]
        right = sum(asked.question.target in some for asked, some in zip(one.asked, returned, strict=True))
        count = sum(map(len, returned))
        shares.append((count - right, count, one.pipeline.name))
    without, count, name = max(shares)
    if not without:
        return []
    description = (
        f"{without} of the {count} files that it returns have no label, and count as wrong; one of them may "
        "answer, too"
    )
    more = f" (the most of {len(evaluations)} systems)" if len(evaluations) > 1 else ""
    return [MeasuringWarning("unjudged files", (name,), description + more)]


def _ties(evaluation: Evaluation) -> list[MeasuringWarning]:
    """Hits that the chunk ids have decided, and a scorer that gives every candidate the same score."""
    decided = [one for one in evaluation.asked if _decided_by_ties(one, evaluation)]
    name = (evaluation.pipeline.name,)
    found = []
    if decided:
        description = (
            f"in {len(decided)} of {len(evaluation.asked)} questions the last place falls among equal "
            "scores, so that chunk ids decide about a hit"
        )
        found.append(MeasuringWarning("ties", name, description))
    constant = np.array([_constant_hit(one, evaluation) for one in evaluation.asked], float)
    hits, files = evaluation.values(), [one.question.target for one in evaluation.asked]
    enough = len({*files}) >= fewest_wins() and constant.sum() and hits.sum()
    if enough and not paired_values(constant, hits, HITS, files).differs:
        description = (
            f"its candidates in the order of their ids hit {constant.sum():.0f} of {constant.size}, in the "
            f"order of its scores {hits.sum():.0f}: no significant difference ({_asked(evaluation)})"
        )
        found.append(MeasuringWarning("a constant scorer is as good", name, description))
    return found


def _decided_by_ties(one: AskedQuestion, evaluation: Evaluation) -> bool:
    """Whether the right file's best candidate is equal to others on both sides of the limit."""
    trace, limit = one.trace, int(_limit(evaluation))
    passing = _passing(trace)
    own = passing & np.array([chunk.path == one.question.target for chunk in trace.chunks], bool)
    ranked = [row for row in trace.order.tolist() if passing[row]]
    best = next((place for place, row in enumerate(ranked) if own[row]), None)
    if best is None:
        return False
    equal = _equal_in_order(trace, ranked[best])
    better = sum(not equal[row] for row in ranked[:best])
    others = sum(equal[row] and not own[row] for row in ranked)
    return bool(better < limit <= better + others)


def _equal_in_order(trace: Trace, row: int) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """The candidates that have the same numbers as one in all columns that the order reads."""
    ties = [name for stage in trace.stages if isinstance(stage, Order) for name in stage.ties]
    columns = [trace.scores, *(trace.columns[name] for name in ties if name in trace.columns)]
    same = [(column == column[row]) | (np.isnan(column) & np.isnan(column[row])) for column in columns]
    equal: np.ndarray[Any, np.dtype[np.bool_]] = np.all(same, axis=0)
    return equal


def _constant_hit(one: AskedQuestion, evaluation: Evaluation) -> bool:
    first = sorted(one.trace.chunks, key=lambda chunk: chunk.id)[: int(_limit(evaluation))]
    return any(chunk.path == one.question.target for chunk in first)


def _passing(trace: Trace) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """The candidates that are returned, or that only a limit has dropped."""
    limits = [number for number, stage in enumerate(trace.stages) if isinstance(stage, Limit)]
    return np.isin(trace.dropped, [KEPT, *limits]) if trace.chunks else np.zeros(0, bool)


def _blind(first: Evaluation, other: Evaluation, measure: Any) -> list[MeasuringWarning]:
    """A measure that is the same for every question although the files come in another order."""
    if (first.values(measure) != other.values(measure)).any():
        return []
    pairs = zip(first.asked, other.asked, strict=True)
    moved = sum(one.trace.paths() != two.trace.paths() for one, two in pairs)
    if not moved:
        return []
    description = (
        f"the answers differ in {moved} questions, and {measure} is the same for each: it cannot see this "
        "change; compare by RR or nDCG@10"
    )
    return [
        MeasuringWarning(
            "a measure that cannot see the change", (first.pipeline.name, other.pipeline.name), description
        )
    ]


def _asked(evaluation: Evaluation) -> str:
    """How many questions there are, about how many files."""
    files = {one.question.target for one in evaluation.asked}
    return f"{counted(len(evaluation.asked), 'question')} about {counted(len(files), 'file')}"


def _small_sample(evaluations: Sequence[Evaluation], measure: Any) -> list[MeasuringWarning]:
    """Warnings for differences that are printed although there are too few questions to tell."""
    files = len({one.question.target for one in evaluations[0].asked})
    need, asked = fewest_wins(), _asked(evaluations[0])
    if files < need:
        description = f"{asked} are fewer than {need} files: no difference between two systems can be told"
        return [MeasuringWarning("too small a sample", (), description)]
    unclear = []
    for one in evaluations[1:]:
        verdict = paired(evaluations[0], one, measure)
        if verdict.difference and not verdict.differs:
            unclear.append((one.pipeline.name, verdict))
    if not unclear:
        return []
    name, verdict = max(unclear, key=lambda pair: abs(pair[1].difference))
    more = f"{verdict.wins - verdict.losses:+d}" if measure == HITS else f"{verdict.difference:+.3f}"
    description = (
        f"it differs from {evaluations[0].pipeline.name} by {more} {measure}, which "
        f"{asked} cannot tell from luck; it takes {need} files better and none worse"
    )
    description = description.replace("by -", "by −")
    return [MeasuringWarning("too small a sample", (name,), description)]


def _chosen(evaluations: Sequence[Evaluation], measure: Any) -> list[MeasuringWarning]:
    """A warning that the best of several systems looks too good: the same questions chose and measure it."""
    table = np.array([one.values(measure) for one in evaluations])
    if len(evaluations) < MANY or table.shape[1] < FOLDS:
        return []
    parts = np.random.default_rng(SEED).permutation(table.shape[1]) % FOLDS
    held_out = np.zeros(table.shape[1])
    for part in range(FOLDS):
        chosen = int(np.argmax(table[:, parts != part].mean(axis=1)))
        held_out[parts == part] = table[chosen, parts == part]
    best = int(np.argmax(table.mean(axis=1)))
    if held_out.mean() >= table[best].mean():
        return []
    description = (
        f"it is the best of {len(evaluations)} by the same questions that report it ({measure} "
        f"{table[best].mean():.3f}); chosen on four fifths of them and measured on the rest, the best "
        f"reaches {held_out.mean():.3f}"
    )
    return [
        MeasuringWarning(
            "chosen and reported by the same questions", (evaluations[best].pipeline.name,), description
        )
    ]
