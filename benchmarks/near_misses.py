"""What tells a near miss from a question that is answered: AUC of each kind of evidence, on two collections.

    python -m benchmarks.near_misses locomo.json corrections.json

A near miss speaks of the right things and lacks the one fact: the first controls of benchmarks/notes, and
LoCoMo's adversarial questions, which ask one person for what the other one said. `answerable` looks at
`support`, `nearest` and `other name`; `vector` and `rare` are parts of the support. `nearest` is the cosine
of the nearest chunk's own vector. `other name` is whether a line of the best file has clearly more of the
question's other words than any line with its name. A name is a word that the memory writes with a capital
letter within sentences, or a speaker. The AUC of several is that of a logistic regression, cross-validated by
conversation or question. `silent on` is the share of the unanswered questions that a floor holds back if it
holds back 5 in 100 of the others. Intervals are bootstraps over the questions.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from tqdm.auto import tqdm

import workbench as wb
from benchmarks.fit import ADVERSARIAL, FOLDS, LOST, NOTES
from benchmarks.published.basic_memory import session_index
from workbench.contracts import Index
from workbench.measure.questions import load_questions
from workbench.memory.embedding.local import LocalEmbedder, Truncated
from workbench.memory.sources import LineChunker
from workbench.memory.sync import index_folder
from workbench.records import Floats, Trace
from workbench.retrieval.pipeline import search
from workbench_plugins.recommended.pipelines import RECOMMENDED
from workbench_plugins.runs.collections import load

KINDS = ("vector", "rare", "support", "nearest", "other name")
NEAR = 27
"""The near misses come first among the controls of the notes."""
DRAWS = 1000


@dataclass(frozen=True)
class Set:
    """Questions that a collection answers, and then some that it does not: a row of `KINDS` each, and groups.

    `told` names parts of those that it does not answer, such as the near misses.
    """

    name: str
    yes: Floats
    no: Floats
    groups: Sequence[str]
    told: Mapping[str, slice]

    @property
    def rows(self) -> Floats:
        """The evidence of each question."""
        return np.concatenate([self.yes, self.no])

    @property
    def truth(self) -> np.ndarray:
        """Whether each question is answered."""
        return np.arange(len(self.rows)) < len(self.yes)


# The evidence


def evidence(trace: Trace) -> list[float]:
    """The numbers of `KINDS` for one question."""
    most = [trace.columns[name].max() for name in ("vector_score", "rare_words", "support")]
    return [*most, 1 - np.nanmin(trace.columns["vector_raw"]), -trace.columns["other_name"].max()]


def ask(questions: Sequence[str], index: Index, name: str) -> Floats:
    """The evidence of each question: (questions, kinds)."""
    return np.array(
        [evidence(search(one, RECOMMENDED, index)) for one in tqdm(questions, desc=name, mininterval=30)]
    ).reshape(-1, len(KINDS))


# The figures


def judged(one: Set, kinds: int) -> Floats:
    """The log odds of each question, by a regression over the first kinds that has not seen its group."""
    rows, truth = one.rows[:, :kinds], one.truth
    dealt = {name: place % FOLDS for place, name in enumerate(dict.fromkeys(one.groups))}
    fold = np.array([dealt[name] for name in one.groups])
    found = np.zeros(len(rows))
    for held in np.unique(fold):
        seen = fold != held
        spread = rows[seen].std(axis=0) + 1e-9
        made = LogisticRegression(class_weight="balanced").fit(rows[seen] / spread, truth[seen])
        found[~seen] = made.decision_function(rows[~seen] / spread)
    return found


def told(one: Set) -> None:
    """Prints the AUC of each kind, and what the last one adds to the others."""
    before, after = judged(one, len(KINDS) - 1), judged(one, len(KINDS))
    columns = {**dict(zip(KINDS, one.rows.T, strict=True)), " and ".join(KINDS[:-1]): before, "all": after}
    yes = len(one.yes)
    for name, part in one.told.items():
        print(f"{one.name}: {yes} answered, {len(one.no[part])} {name}")
        for kind, numbers in columns.items():
            known, other = numbers[:yes], numbers[yes:][part]
            silent = np.mean(other < np.quantile(known, LOST))
            ends = interval(lambda a, b, known=known, other=other: auc(known[a], other[b]), known, other)
            print(f"  {kind:16} AUC {auc(known, other):.3f} {ends}, silent on {silent:.2f}")
        first, second = (before[:yes], before[yes:][part]), (after[:yes], after[yes:][part])

        def change(a: np.ndarray, b: np.ndarray, first=first, second=second) -> float:
            return auc(second[0][a], second[1][b]) - auc(first[0][a], first[1][b])

        print(f"  what {KINDS[-1]} adds to the AUC: {interval(change, *first)}")


def auc(yes: Floats, no: Floats) -> float:
    """How often an answered question has more of something than one that is not."""
    return float(roc_auc_score(np.arange(yes.size + no.size) < yes.size, np.r_[yes, no]))


def interval(value: Callable[[np.ndarray, np.ndarray], float], yes: Floats, no: Floats) -> str:
    """The 95 % bootstrap interval of a figure of some answered questions and some that are not."""
    rng = np.random.default_rng(0)
    drawn = [
        value(rng.integers(yes.size, size=yes.size), rng.integers(no.size, size=no.size))
        for _ in range(DRAWS)
    ]
    low, high = np.quantile(drawn, [0.025, 0.975])
    return f"({low:.3f} to {high:.3f})"


# The collections


def noted() -> Set:
    """The questions of the notes, against the near misses, and against those about something else."""
    file = load_questions(NOTES / "questions.yaml")
    index_folder(NOTES)
    with wb.open_index(NOTES) as index:
        yes = ask([one.question for one in file.questions], index, "notes")
        no = ask([one.question for one in file.controls], index, "controls")
    alone = [str(place) for place in range(len(yes) + len(no))]
    parts = {"near misses": slice(NEAR), "about something else": slice(NEAR, None)}
    return Set("notes", yes, no, alone, parts)


def spoken(locomo: Path, corrections: Path) -> Set:
    """LoCoMo's questions, against its adversarial ones."""
    data = load(locomo, corrections)
    known = [one for one in data.questions if one.documents]
    known.sort(key=lambda one: one.category == ADVERSARIAL)
    with session_index(data, LocalEmbedder(reading=Truncated()), chunker=LineChunker()) as index:
        rows = ask([one.text for one in known], index, "LoCoMo")
    yes = sum(one.category != ADVERSARIAL for one in known)
    groups = [str(one.conversation) for one in known]
    return Set("LoCoMo", rows[:yes], rows[yes:], groups, {"adversarial": slice(None)})


def main() -> None:
    """Asks the questions of both collections, and prints the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("locomo", type=Path)
    parser.add_argument("corrections", type=Path)
    given = parser.parse_args()
    for one in (noted(), spoken(given.locomo, given.corrections)):
        told(one)


if __name__ == "__main__":
    main()
