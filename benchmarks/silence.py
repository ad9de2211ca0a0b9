"""Does a calibrated threshold keep its promise, and what does it cost? Random splits, five systems.

    python -m benchmarks.silence [--splits 200]

For each split some of a collection's questions without an answer choose the threshold. The promise is kept if
the rate of answers among all of them is at most the accepted one. The labels that are left over are printed
beside it: they are few, so their own rate exceeds the accepted one by chance as well. Each system's own
threshold is measured on the same questions. The collections are the sample memory and benchmarks/notes.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from tqdm.auto import tqdm

import workbench as wb
from workbench.errors import InputError
from workbench.measure.evaluation import Share, evaluate
from workbench.measure.questions import load_questions
from workbench.memory.sync import index_folder
from workbench.retrieval.index_adapters import CachedIndex
from workbench.systems.registry import system
from workbench_plugins.calibrate.calibrated import Labelled, walked
from workbench_plugins.calibrate.floors import Floored, Values, with_floor

HERE = Path(__file__).parent
COLLECTIONS = {"sample memory": HERE.parent / "sample_memory", "notes": HERE / "notes"}
SYSTEMS = (
    "openclaw-2026.2.13", "openclaw-2026.2.13+or+rrf+minmax+evidence", "am-205", "bm-head", "recommended",
)  # fmt: skip
ACCEPT, CONFIDENCE = 0.2, 0.9
SMALLEST = 12
"""Labels of a split at least; fewer than 11 promise nothing."""


class Measured:
    """A system on a collection: what it returns for each label at some thresholds, computed once."""

    def __init__(self, floored: Floored, answered: Sequence[Labelled], silent: Sequence[Labelled]) -> None:
        self.floored, self.answered, self.silent = floored, answered, silent
        self._known: dict[Values, tuple[np.ndarray, Share]] = {}

    def at(self, values: Values) -> tuple[np.ndarray, Share]:
        """Which questions without an answer get one, and the hits of the others."""
        if values not in self._known:
            paths = [self.floored.paths(one.trace, values) for one in self.silent]
            hits = sum(one.target in self.floored.paths(one.trace, values) for one in self.answered)
            self._known[values] = np.array([bool(one) for one in paths]), Share(hits, len(self.answered))
        return self._known[values]

    def split(self, chosen: np.ndarray) -> Values:
        """The thresholds that some of the labels choose."""
        labels = [self.silent[place] for place in chosen]
        return walked(self.floored, labels, self.answered, (ACCEPT,), CONFIDENCE)[ACCEPT][0]


def measured(name: str, folder: Path, index: CachedIndex) -> Measured:
    """The system of that name on a folder's questions."""
    pipeline = with_floor(system(name))
    (found,) = evaluate(load_questions(folder / "questions.yaml"), [pipeline], index)
    answered = [Labelled(one.trace, one.question.target) for one in found.asked]
    return Measured(Floored(pipeline, index), answered, [Labelled(one, None) for one in found.controls])


def told(name: str, one: Measured, splits: int) -> None:
    """Prints how often the promise is kept on random splits, and its cost in hits."""
    n, chance = len(one.silent), np.random.default_rng(0)
    size = max(SMALLEST, n // 2)
    kept, kept_beside, answers, hits = 0, 0, [], []
    for _ in tqdm(range(splits), desc=name, mininterval=30):
        chosen = chance.choice(n, size, replace=False)
        answered, found = one.at(one.split(chosen))
        kept += bool(answered.mean() <= ACCEPT)
        kept_beside += bool(np.delete(answered, chosen).mean() <= ACCEPT)
        answers.append(answered.mean())
        hits.append(found.hits)
    own, before = one.at(one.floored.own())
    low, middle, high = np.quantile(hits, [0.05, 0.5, 0.95])
    print(
        f"  {name:<42} {size} labels: kept in {kept / splits:.1%} of {splits} splits "
        f"(on the labels left over {kept_beside / splits:.1%}); answers {np.median(answers):.0%}, "
        f"hits {middle:.0f} ({low:.0f} to {high:.0f}) of {before.n}; "
        f"own threshold: answers {own.mean():.0%}, hits {before.hits}"
    )


def main() -> None:
    """Measures every system on every collection."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--splits", type=int, default=200)
    given = parser.parse_args()
    for title, folder in COLLECTIONS.items():
        index_folder(folder)
        with wb.open_index(folder) as opened:
            index = CachedIndex(opened)
            print(f"{title}: accepted {ACCEPT:.0%}, confidence {CONFIDENCE:.0%}")
            for name in SYSTEMS:
                try:
                    told(name, measured(name, folder, index), given.splits)
                except InputError as error:
                    print(f"  {name:<42} refused: {error.problem}")


if __name__ == "__main__":
    main()
