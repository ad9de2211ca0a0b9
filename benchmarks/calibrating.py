"""Measures the ranges of all-MiniLM-L6-v2's inner numbers, by which `fast` rounds them to 8 bits.

python -m benchmarks.calibrating [FILE]

The texts are the topics of Python's own help, so no question or note that is searched takes part.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from pydoc_data.topics import topics

import numpy as np
import openvino.opset13 as op
from numpy.typing import NDArray
from openvino import Core, Model

from workbench.memory.embedding.local import packaged_model
from workbench_plugins.openvino.openvino_engine import (
    RANGES,
    STEPS,
    Exact,
    OpenVinoEngine,
    Output,
    built,
    padded,
)

SHARE = 0.85
"""How much of a channel's range moves into the weights. Measured: 0.5 and 0.7 agree less with fp32."""
LONG, SHORT = 96, 64
LAYERS = {
    "attention": ("attention.self.query", "attention.self.key", "attention.self.value"),
    "mixed": ("attention.output.dense",),
    "intermediate": ("intermediate.dense",),
    "output": ("output.dense",),
}


def range_of(least: float, largest: float) -> NDArray[np.float32]:
    """The least and largest of 256 steps that cover the given ones, with 0 exactly at a step.

    >>> print(range_of(-1, 3).round(4))
    [-1.0039  2.9961]
    """
    least, largest = min(least, 0.0), max(largest, 0.0)
    step = (largest - least) / STEPS
    below = round(-least / step) if step else 0
    return np.array([-below * step, (STEPS - below) * step], np.float32)


def scales_of(inputs: NDArray[np.float32], weights: NDArray[np.float32], share: float) -> NDArray[np.float32]:
    """The scale of each channel from its largest input and its largest weight; their geometric mean is 1."""
    scales = np.maximum(inputs, 1e-5) ** share / np.maximum(weights, 1e-5) ** (1 - share)
    return np.asarray(scales / np.exp(np.log(scales).mean()), np.float32)


class Watched(Exact):
    """No rounding; remembers the values at each place."""

    def __init__(self) -> None:
        self.places: dict[str, Output] = {}

    def input(self, place: str, values: Output) -> Output:
        return self.places.setdefault(place, values)


def texts() -> list[str]:
    """Long and short texts in English, half of them technical."""
    whole = "\n".join(topics[name] for name in sorted(topics))
    long = [whole[at : at + 900] for at in range(0, len(whole), len(whole) // LONG)][:LONG]
    return long + [whole[at : at + 90] for at in range(500, len(whole), len(whole) // SHORT)][:SHORT]


def measured(engine: OpenVinoEngine) -> dict[str, tuple[NDArray[np.float32], NDArray[np.float32]]]:
    """At each place the least and the largest value of each channel."""
    watched = Watched()
    graph = built(engine.weights, engine.shape, watched)
    outputs = [op.result(one) for one in watched.places.values()]
    compiled = Core().compile_model(
        Model(outputs, graph.get_parameters(), "watched"), "CPU", {"INFERENCE_PRECISION_HINT": "f32"}
    )
    found: dict[str, tuple[NDArray[np.float32], NDArray[np.float32]]] = {}
    for text in texts():
        ids, mask = padded(engine.cut([text]))
        ids, mask = ids[:, : mask.sum()], mask[:, : mask.sum()]
        answer = compiled([ids, mask])
        for number, place in enumerate(watched.places):
            values = answer[number].reshape(-1, answer[number].shape[-1])
            least, largest = values.min(axis=0), values.max(axis=0)
            before = found.get(place, (least, largest))
            found[place] = np.minimum(before[0], least), np.maximum(before[1], largest)
    return found


def ranges(engine: OpenVinoEngine) -> Mapping[str, NDArray[np.float32]]:
    """The ranges of each place, and the scales of the inputs of linear layers."""
    weights = engine.weights
    made = {}
    for place, (least, largest) in measured(engine).items():
        layer, _, name = place.partition(".")
        names = [f"encoder.layer.{layer}.{one}.weight" for one in LAYERS[name]]
        of_weights = np.max([np.abs(weights[one]).max(axis=0) for one in names], axis=0)
        scales = scales_of(np.maximum(-least, largest), of_weights, SHARE)
        made[f"{place}/scales"] = scales
        made[place] = range_of(float((least / scales).min()), float((largest / scales).max()))
    return made


def main() -> None:
    file = Path(sys.argv[1]) if len(sys.argv) > 1 else RANGES
    found = ranges(OpenVinoEngine(packaged_model()))
    np.savez_compressed(file, **found)
    print(f"{file}: {len(found)} ranges and scales of {LONG + SHORT} texts, {file.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
