"""The best setting of a sweep, and what it is worth on questions that did not choose it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.lab.evaluation import Share
from workbench.lab.paired import Paired, paired_values
from workbench.lab.sweep.grid import Setting
from workbench.lab.sweep.running import Sweep
from workbench.lab.sweep.table import Marks, Numbers
from workbench.records import Floats

FOLDS = 5
SEED = 0


def right_answers(sweep: Sweep, questions: Marks | None = None, controls: Marks | None = None) -> Floats:
    """The right answers at each setting: the measure summed over the questions, plus the silent controls.

    `questions` and `controls` mark those that count; by default all.
    """
    values = sweep.values[:-1] if questions is None else sweep.values[:-1, questions]
    silent = sweep.silent[:-1] if controls is None else sweep.silent[:-1, controls]
    found: Floats = values.sum(axis=1) + silent.sum(axis=1)
    return found


def best(sweep: Sweep) -> int:
    """The place of the setting with the most right answers; of several, the first."""
    return int(np.argmax(right_answers(sweep)))


def pareto(sweep: Sweep) -> list[int]:
    """The settings that no other beats in one of measure and silence without losing in the other.

    Of settings with the same two numbers the first is listed. Ordered by falling measure.
    """
    means, silent = sweep.means[:-1], sweep.silent[:-1].sum(axis=1)
    front: list[int] = []
    for place in np.lexsort((np.arange(means.size), -silent, -means)).tolist():
        if not front or silent[place] > silent[front[-1]]:
            front.append(place)
    return front


@dataclass(frozen=True)
class HeldOut:
    """What choosing is worth: in each fold the setting is chosen on the others, and measured on this one.

    `chosen` has the setting of each fold. `values` and `silent` are the results on questions that did not
    choose. `flattered` is how much larger the chosen setting's mean is on the questions that chose it.
    """

    chosen: tuple[Setting, ...]
    values: Floats
    silent: Share
    flattered: float
    paired: Paired

    @property
    def mean(self) -> float:
        """The mean of the measure on questions that did not choose the setting."""
        return float(self.values.mean())

    def as_json(self) -> dict[str, Any]:
        """The figures under the key `held_out` of `workbench sweep --json`."""
        return {
            "folds": len(self.chosen),
            "chosen": [list(one) for one in self.chosen],
            "mean": self.mean,
            "silent": self.silent.hits,
            "flattered": self.flattered,
            "paired_with_current": self.paired.as_json(),
        }


def held_out(sweep: Sweep, folds: int = FOLDS) -> HeldOut | None:
    """Choose in `folds` parts and measure on the rest. None for fewer files than two.

    All questions about one file are in the same part, since they resemble each other.
    """
    files = np.unique([one.target for one in sweep.questions.questions], return_inverse=True)[1]
    folds = min(folds, int(files.max()) + 1)
    if folds < 2:
        return None
    parts = _dealt(int(files.max()) + 1, folds)[files]
    of_controls = _dealt(sweep.silent.shape[1], folds)
    values, silent = np.zeros(parts.size), np.zeros(of_controls.size, bool)
    chosen = []
    for fold in range(folds):
        place = int(np.argmax(right_answers(sweep, parts != fold, of_controls != fold)))
        values[parts == fold] = sweep.values[place, parts == fold]
        silent[of_controls == fold] = sweep.silent[place, of_controls == fold]
        chosen.append(sweep.settings[place])
    verdict = paired_values(sweep.values[-1], values, sweep.measure)
    flattered = sweep.score(best(sweep)) - float(values.mean())
    return HeldOut(tuple(chosen), values, Share(int(silent.sum()), silent.size), flattered, verdict)


def _dealt(count: int, folds: int) -> Numbers:
    """A part for each of so many things, shuffled, and of equal sizes."""
    return np.random.default_rng(SEED).permutation(count) % folds


def as_json(sweep: Sweep) -> dict[str, Any]:
    """A sweep under the keys of `workbench sweep --json`: every setting, the best, and its held-out worth."""
    held, front = held_out(sweep), set(pareto(sweep))
    return {
        "system": sweep.pipeline.name,
        "measure": sweep.measure,
        "n": sweep.values.shape[1],
        "controls": sweep.silent.shape[1],
        "axes": [
            {"name": one.name, "values": list(one.values), "now": one.now(sweep.pipeline)}
            for one in sweep.axes
        ],
        "by_stages": sweep.by_stages,
        "current": {"setting": list(sweep.now), "mean": sweep.score(-1), "silent": sweep.silence(-1).hits},
        "best": best(sweep),
        "held_out": held.as_json() if held else None,
        "settings": [
            {
                "setting": list(one),
                "mean": sweep.score(place),
                "silent": sweep.silence(place).hits,
                "pareto": place in front,
            }
            for place, one in enumerate(sweep.settings)
        ],
    }
