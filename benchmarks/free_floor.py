"""What the floor of `serve` costs and refuses on questions that did not choose it.

    python -m benchmarks.free_floor [--system recommended]

Each file's questions are left out in turn while the floor is chosen, and so is each unanswerable question.
Beside it stand the system's own floor, and the floor of `calibrate` for 20 %.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np

import workbench as wb
from workbench.measure.evaluation import evaluate
from workbench.measure.questions import load_questions
from workbench.measure.resampling import LEVEL
from workbench.retrieval.index_adapters import CachedIndex
from workbench_plugins.calibrate.calibrated import Labelled, walked
from workbench_plugins.calibrate.floors import Floored, Values, with_floor
from workbench_plugins.calibrate.free_floor import strictest_free

HERE = Path(__file__).parent
SAMPLE = HERE.parent / "sample_memory"
SETS = {
    "sample memory": (SAMPLE, SAMPLE / "questions.yaml"),
    "its hard questions": (SAMPLE, SAMPLE / "questions_hard.yaml"),
    "notes": (HERE / "notes", HERE / "notes" / "questions.yaml"),
}
DRAWS = 2_000


def lost_by_file(lost: dict[str, tuple[int, int]]) -> str:
    """The share of hits that a floor loses, with its interval: files are drawn again."""
    counts, chance = np.array(list(lost.values())), np.random.default_rng(1)
    drawn = counts[chance.integers(0, len(counts), (DRAWS, len(counts)))].sum(axis=1)
    low, high = np.quantile(drawn[:, 0] / np.maximum(drawn[:, 1], 1), [LEVEL / 2, 1 - LEVEL / 2])
    return (
        f"{counts[:, 0].sum() / counts[:, 1].sum():.1%} of the hits lost ({low:.1%} to {high:.1%}, by file)"
    )


def measure(name: str, system: str, folder: Path) -> None:
    """Prints a line for each floor."""
    memory, file = SETS[name]
    place = folder / f"{memory.name}.sqlite"
    wb.index_folder(memory, options=wb.Options(index_path=place))
    with wb.open_index(memory, index_path=place) as opened, opened.snapshot():
        index = CachedIndex(opened)
        (evaluation,) = evaluate(load_questions(file), [with_floor(wb.system(system))], index)
        floored, controls = Floored(evaluation.pipeline, index), list(evaluation.controls)
        asked = [Labelled(one.trace, one.question.target) for one in evaluation.asked]
        found = [one for one in asked if one.target in one.trace.paths()]

        def calibrated(others: list[Labelled], silent: list[Labelled]) -> Values:
            return walked(floored, silent, others, [0.2], 0.9)[0.2][0]

        def free(others: list[Labelled], silent: list[Labelled]) -> Values:
            return strictest_free(floored, others, [one.trace for one in silent])

        silent = [Labelled(one, None) for one in controls]
        choices = {"own floor": lambda *_: floored.own(), "calibrate, 20 %": calibrated, "serve": free}
        for what, choose in choices.items():
            lost = {}
            for target in sorted({str(one.target) for one in found}):
                values = choose([one for one in found if one.target != target], silent)
                mine = [one for one in found if one.target == target]
                kept = sum(target in floored.paths(one.trace, values) for one in mine)
                lost[target] = len(mine) - kept, len(mine)
            answered = 0
            for place_, one in enumerate(silent):
                values = choose(found, silent[:place_] + silent[place_ + 1 :])
                answered += bool(floored.paths(one.trace, values))
            hits = len(found) - sum(count for count, _ in lost.values())
            print(
                f"{name}, {what}: {hits} of {len(asked)} hits, {lost_by_file(lost)}; "
                f"{answered} of {len(silent)} unanswerable questions get an answer",
                flush=True,
            )


def main() -> None:
    """Measures all sets of questions."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--system", default="recommended")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name in SETS:
            measure(name, given.system, Path(folder))


if __name__ == "__main__":
    main()
