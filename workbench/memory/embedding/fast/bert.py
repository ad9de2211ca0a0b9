"""Builds BERT as a graph of OpenVINO from its weights, with mean pooling and scaling to length 1.

Sources: Devlin et al. 2019; the names of the weights are those of transformers' BertModel.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from openvino import Model

Weights = Mapping[str, NDArray[np.float32]]
Output = Any
"""A node of an OpenVINO graph, and so its value."""


@dataclass(frozen=True)
class Shape:
    """The numbers of layers and attention heads, and what keeps a variance above 0."""

    layers: int
    heads: int
    epsilon: float


class Rounding(Protocol):
    """How numbers are rounded for faster arithmetic. A place is a layer and a name: `3.intermediate`."""

    def input(self, place: str, values: Output) -> Output:
        """The input of the linear layers at a place."""
        ...

    def weight(self, place: str, weight: NDArray[np.float32]) -> Output:
        """The weight of a linear layer whose input is that of the place: shape (outputs, inputs)."""
        ...


class Exact:
    """No rounding."""

    def input(self, place: str, values: Output) -> Output:
        return values

    def weight(self, place: str, weight: NDArray[np.float32]) -> Output:
        return constant(weight)


def constant(values: Any) -> Output:
    """A float32 constant."""
    import openvino.opset13 as op

    return op.constant(np.ascontiguousarray(values, np.float32), shared_memory=True)


def whole(*values: int) -> Output:
    """A constant of integers; of no dimension when there is one number."""
    import openvino.opset13 as op

    return op.constant(np.array(values if len(values) > 1 else values[0], np.int64))


def built(weights: Weights, shape: Shape, rounding: Rounding | None = None, words: bool = False) -> Model:
    """The graph from `ids` and `mask`, shapes (texts, word pieces), to unit vectors.

    With `words` it has a second output: a vector for each word piece.
    """
    import openvino.opset13 as op
    from openvino import Model

    ids = op.parameter([-1, -1], np.int64, name="ids")
    mask = op.parameter([-1, -1], np.int64, name="mask")
    present = op.convert(mask, np.float32)
    # What is added to an attention score: 0, or for padding a number whose exponential is 0.
    bias = op.unsqueeze(op.multiply(op.subtract(present, constant(1)), constant(1e9)), whole(1, 2))
    made = _Layers(weights, shape, rounding or Exact())
    values = made.embeddings(ids)
    for layer in range(shape.layers):
        values = made.layer(layer, values, bias)
    outputs = [_pooled(values, present), values] if words else [_pooled(values, present)]
    return Model([op.result(one) for one in outputs], [ids, mask], "bert")


def _pooled(values: Output, present: Output) -> Output:
    import openvino.opset13 as op

    along = op.unsqueeze(present, whole(2))
    texts = op.constant(np.array([1], np.int64))
    sums = op.reduce_sum(op.multiply(values, along), texts)
    return op.normalize_l2(op.divide(sums, op.reduce_sum(along, texts)), texts, 1e-24, "max")


class _Layers:
    """The parts of BERT over its weights."""

    def __init__(self, weights: Weights, shape: Shape, rounding: Rounding) -> None:
        import openvino.opset13 as op

        self.op = op
        self.weights, self.shape, self.rounding = weights, shape, rounding
        self.width = weights["embeddings.word_embeddings.weight"].shape[1]

    def embeddings(self, ids: Output) -> Output:
        op, name = self.op, "embeddings."
        words = op.gather(constant(self.weights[f"{name}word_embeddings.weight"]), ids, whole(0))
        every = self.weights[f"{name}position_embeddings.weight"]
        every = every + self.weights[f"{name}token_type_embeddings.weight"][0]
        one = op.constant(np.array([1], np.int64))
        zero = op.constant(np.array([0], np.int64))
        length = op.gather(op.shape_of(ids), one, whole(0))
        places = op.slice(constant(every), zero, length, one, zero)
        return self.normalised(op.add(words, op.unsqueeze(places, whole(0))), f"{name}LayerNorm")

    def layer(self, layer: int, values: Output, bias: Output) -> Output:
        op, name = self.op, f"encoder.layer.{layer}."
        given = self.rounding.input(f"{layer}.attention", values)
        query, key, value = (
            self._heads(self.linear(given, f"{layer}.attention", f"{name}attention.self.{part}"))
            for part in ("query", "key", "value")
        )
        scale = constant((self.width // self.shape.heads) ** -0.5)
        scores = op.add(op.multiply(op.matmul(query, key, False, True), scale), bias)
        mixed = op.transpose(op.matmul(op.softmax(scores, -1), value, False, False), whole(0, 2, 1, 3))
        mixed = op.reshape(mixed, whole(0, 0, self.width), True)
        values = self._added(mixed, values, f"{layer}.mixed", f"{name}attention.output.")
        given = self.rounding.input(f"{layer}.intermediate", values)
        inner = op.gelu(self.linear(given, f"{layer}.intermediate", f"{name}intermediate.dense"), "erf")
        return self._added(inner, values, f"{layer}.output", f"{name}output.")

    def _added(self, given: Output, values: Output, place: str, name: str) -> Output:
        changed = self.linear(self.rounding.input(place, given), place, f"{name}dense")
        return self.normalised(self.op.add(changed, values), f"{name}LayerNorm")

    def _heads(self, values: Output) -> Output:
        shape = whole(0, 0, self.shape.heads, self.width // self.shape.heads)
        return self.op.transpose(self.op.reshape(values, shape, True), whole(0, 2, 1, 3))

    def linear(self, values: Output, place: str, name: str) -> Output:
        weight = self.rounding.weight(place, self.weights[f"{name}.weight"])
        bias = constant(self.weights[f"{name}.bias"].reshape(1, 1, -1))
        return self.op.add(self.op.matmul(values, weight, False, True), bias)

    def normalised(self, values: Output, name: str) -> Output:
        last = self.op.constant(np.array([-1], np.int64))
        scaled = self.op.mvn(values, last, True, self.shape.epsilon, "INSIDE_SQRT")
        gain, shift = (self.weights[f"{name}.{part}"].reshape(1, 1, -1) for part in ("weight", "bias"))
        return self.op.add(self.op.multiply(scaled, constant(gain)), constant(shift))
