"""A fusion of one's own: each leg gives 1 / rank², so that first places count for more than in RRF."""

from dataclasses import dataclass

import workbench as wb
from workbench.retrieval.fusion import Weighted
from workbench.retrieval.pipeline import Source
from workbench_plugins.engines.presets import Engine, engine_pipeline


@dataclass(frozen=True)
class SquaredRanks(Weighted):
    """Σ weight / rank²; a leg that did not bring the candidate adds nothing."""

    @property
    def description(self):
        return f"score = Σ weight / rank², weights {self.weights_in_words}"

    def part(self, of, leg):
        rank = of[f"{leg}_rank"]
        return self.weight(of, leg) / (rank * rank)


SQUARES = Engine("squares", SquaredRanks(), Source("example", "1.0", "tests/strangers/squares.py"))

wb.register(SQUARES, engine_pipeline(SQUARES))
