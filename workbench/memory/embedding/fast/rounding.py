"""Rounds the linear layers of a model to 8 bits: weights per output, inputs by ranges measured on texts.

Some inputs of a layer are far larger than the others, so 256 steps over all of them would be too coarse.
SmoothQuant (Xiao et al. 2023) divides the inputs by a scale per channel and multiplies the weights by it.
The attention is not rounded: with queries and keys in 8 bits it is slower where the processor has bfloat16.
`benchmarks/calibrating.py` measures the ranges, once for a model; they are a file beside this one.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from workbench.memory.embedding.fast.bert import Output, constant

RANGES = Path(__file__).with_name("int8_ranges.npz")
STEPS = 255

Ranges = Mapping[str, NDArray[np.float32]]
"""For each place the least and the largest input, after the division, and the scales: `place/scales`."""


def stored_ranges(file: Path = RANGES) -> dict[str, NDArray[np.float32]]:
    """The ranges from a file."""
    with np.load(file, allow_pickle=False) as found:
        return {name: found[name] for name in found.files}


class Rounded:
    """A rounding to 8 bits by measured ranges."""

    def __init__(self, ranges: Ranges) -> None:
        self.ranges = ranges

    def input(self, place: str, values: Output) -> Output:
        import openvino.opset13 as op

        scales = self.ranges[f"{place}/scales"]
        least, largest = self.ranges[place]
        ends = constant(least), constant(largest)
        scaled = op.multiply(values, constant((1 / scales).reshape(1, 1, -1)))
        return op.fake_quantize(scaled, *ends, *ends, STEPS + 1)

    def weight(self, place: str, weight: NDArray[np.float32]) -> Output:
        import openvino.opset13 as op

        scaled = weight * self.ranges[f"{place}/scales"]
        step = np.abs(scaled).max(axis=1, keepdims=True) / 127
        steps = op.constant(np.rint(scaled / step).astype(np.int8))
        return op.multiply(op.convert(steps, np.float32), constant(step))


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
