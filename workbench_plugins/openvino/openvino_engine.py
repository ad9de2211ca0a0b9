"""Runs the packaged model in OpenVINO: one thread for a question, all cores for many texts.

Builds BERT as a graph of OpenVINO from its weights, with mean pooling and scaling to length 1.
Sources: Devlin et al. 2019; the names of the weights are those of transformers' BertModel.

In int8 the linear layers are rounded to 8 bits: weights per output, inputs by ranges measured on texts.
Some inputs of a layer are far larger than the others, so 256 steps over all of them would be too coarse.
SmoothQuant (Xiao et al. 2023) divides the inputs by a scale per channel and multiplies the weights by it.
The attention is not rounded: with queries and keys in 8 bits it is slower where the processor has bfloat16.
`benchmarks/calibrating.py` measures the ranges, once for a model; they are the file int8_ranges.npz.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.abc import MetaPathFinder
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file
from tokenizers import Encoding, Tokenizer

from workbench.memory.embedding.engines import PieceVectors, Precision, Role, batches, cores, cpu_has


class _NoConverter(MetaPathFinder):
    """Hides OpenVINO's model converter."""

    @staticmethod
    def find_spec(name: str, *_: object) -> None:
        if name == "openvino.tools":
            raise ModuleNotFoundError(name=name)


@contextmanager
def _without_converter() -> Iterator[None]:
    """Within the block `import openvino` leaves its optional model converter out.

    The converter imports an HTTP client, and at each import it reports to OpenVINO's makers that it was
    imported. It would take longer than the rest of the package.
    """
    hidden = _NoConverter()
    sys.meta_path.insert(0, hidden)
    try:
        yield
    finally:
        sys.meta_path.remove(hidden)


with _without_converter():
    import openvino.opset13 as op
    from openvino import CompiledModel, Core, Model

Weights = Mapping[str, NDArray[np.float32]]
Output = Any
"""A node of an OpenVINO graph, and so its value."""


@dataclass(frozen=True)
class Shape:
    """The numbers of layers, attention heads and dimensions, and what keeps a variance above 0."""

    layers: int
    heads: int
    width: int
    epsilon: float


class Exact:
    """No rounding of a linear layer's numbers. A place is a layer and a name: `3.intermediate`."""

    def input(self, node: str, values: Output) -> Output:
        """The input of the linear layers at a place."""
        return values

    def weight(self, node: str, weight: NDArray[np.float32]) -> Output:
        """The weight of a linear layer whose input is that of the place: shape (outputs, inputs)."""
        return constant(weight)


def constant(values: Any) -> Output:
    """A float32 constant."""
    return op.constant(np.ascontiguousarray(values, np.float32), shared_memory=True)


def whole(*values: int) -> Output:
    """A constant of integers; one number gives a scalar."""
    return op.constant(np.array(values if len(values) > 1 else values[0], np.int64))


def built(weights: Weights, shape: Shape, rounding: Exact | None = None, words: bool = False) -> Model:
    """The graph from `ids` and `mask`, shapes (texts, word pieces), to unit vectors.

    With `words` it has a second output: a vector for each word piece.
    """
    ids = op.parameter([-1, -1], np.int64, name="ids")
    mask = op.parameter([-1, -1], np.int64, name="mask")
    present = op.convert(mask, np.float32)
    # What is added to an attention score: 0, or for padding a number whose exponential is 0.
    bias = op.unsqueeze(op.multiply(op.subtract(present, constant(1)), constant(1e9)), whole(1, 2))
    layers = _Layers(weights, shape, rounding or Exact())
    values = layers.embeddings(ids)
    for layer in range(shape.layers):
        values = layers.layer(layer, values, bias)
    outputs = [_pooled(values, present), values] if words else [_pooled(values, present)]
    return Model([op.result(one) for one in outputs], [ids, mask], "bert")


def _pooled(values: Output, present: Output) -> Output:
    along = op.unsqueeze(present, whole(2))
    texts = op.constant(np.array([1], np.int64))
    sums = op.reduce_sum(op.multiply(values, along), texts)
    return op.normalize_l2(op.divide(sums, op.reduce_sum(along, texts)), texts, 1e-24, "max")


class _Layers:
    """The parts of BERT over its weights."""

    def __init__(self, weights: Weights, shape: Shape, rounding: Exact) -> None:
        self.weights, self.shape, self.rounding = weights, shape, rounding

    def embeddings(self, ids: Output) -> Output:
        name = "embeddings."
        words = op.gather(constant(self.weights[f"{name}word_embeddings.weight"]), ids, whole(0))
        every = self.weights[f"{name}position_embeddings.weight"]
        every = every + self.weights[f"{name}token_type_embeddings.weight"][0]
        one = op.constant(np.array([1], np.int64))
        zero = op.constant(np.array([0], np.int64))
        length = op.gather(op.shape_of(ids), one, whole(0))
        positions = op.slice(constant(every), zero, length, one, zero)
        return self.normalised(op.add(words, op.unsqueeze(positions, whole(0))), f"{name}LayerNorm")

    def layer(self, layer: int, values: Output, bias: Output) -> Output:
        name = f"encoder.layer.{layer}."
        given = self.rounding.input(f"{layer}.attention", values)
        query, key, value = (
            self._heads(self.linear(given, f"{layer}.attention", f"{name}attention.self.{part}"))
            for part in ("query", "key", "value")
        )
        scale = constant((self.shape.width // self.shape.heads) ** -0.5)
        scores = op.add(op.multiply(op.matmul(query, key, False, True), scale), bias)
        mixed = op.transpose(op.matmul(op.softmax(scores, -1), value, False, False), whole(0, 2, 1, 3))
        mixed = op.reshape(mixed, whole(0, 0, self.shape.width), True)
        values = self._added(mixed, values, f"{layer}.mixed", f"{name}attention.output.")
        given = self.rounding.input(f"{layer}.intermediate", values)
        inner = op.gelu(self.linear(given, f"{layer}.intermediate", f"{name}intermediate.dense"), "erf")
        return self._added(inner, values, f"{layer}.output", f"{name}output.")

    def _added(self, given: Output, values: Output, node: str, name: str) -> Output:
        changed = self.linear(self.rounding.input(node, given), node, f"{name}dense")
        return self.normalised(op.add(changed, values), f"{name}LayerNorm")

    def _heads(self, values: Output) -> Output:
        shape = whole(0, 0, self.shape.heads, self.shape.width // self.shape.heads)
        return op.transpose(op.reshape(values, shape, True), whole(0, 2, 1, 3))

    def linear(self, values: Output, node: str, name: str) -> Output:
        weight = self.rounding.weight(node, self.weights[f"{name}.weight"])
        bias = constant(self.weights[f"{name}.bias"].reshape(1, 1, -1))
        return op.add(op.matmul(values, weight, False, True), bias)

    def normalised(self, values: Output, name: str) -> Output:
        last = op.constant(np.array([-1], np.int64))
        scaled = op.mvn(values, last, True, self.shape.epsilon, "INSIDE_SQRT")
        gain, shift = (self.weights[f"{name}.{part}"].reshape(1, 1, -1) for part in ("weight", "bias"))
        return op.add(op.multiply(scaled, constant(gain)), constant(shift))


RANGES = Path(__file__).with_name("int8_ranges.npz")
STEPS = 255

Ranges = Mapping[str, NDArray[np.float32]]
"""For each place the least and the largest input, after the division, and the scales: `place/scales`."""


def stored_ranges() -> dict[str, NDArray[np.float32]]:
    """The measured ranges that this feature brings along."""
    with np.load(RANGES, allow_pickle=False) as found:
        return {name: found[name] for name in found.files}


class Rounded(Exact):
    """A rounding to 8 bits by measured ranges."""

    def __init__(self, ranges: Ranges) -> None:
        self.ranges = ranges

    def input(self, node: str, values: Output) -> Output:
        scales = self.ranges[f"{node}/scales"]
        least, largest = self.ranges[node]
        ends = constant(least), constant(largest)
        scaled = op.multiply(values, constant((1 / scales).reshape(1, 1, -1)))
        return op.fake_quantize(scaled, *ends, *ends, STEPS + 1)

    def weight(self, node: str, weight: NDArray[np.float32]) -> Output:
        scaled = weight * self.ranges[f"{node}/scales"]
        step = np.abs(scaled).max(axis=1, keepdims=True) / 127
        steps = op.constant(np.rint(scaled / step).astype(np.int8))
        return op.multiply(op.convert(steps, np.float32), constant(step))


FEW = 12
"""The largest number of texts that one thread reads, with the model that is there for questions. To make
another one ready takes longer."""
STEP = 16
"""Batches are padded to a multiple of this many word pieces: OpenVINO prepares itself for each new length."""


class OpenVinoEngine:
    """A BERT model from a folder in the layout of sentence-transformers."""

    def __init__(self, folder: Path, precision: Precision = "fp32") -> None:
        self.folder = folder
        self.precision = precision
        self._compiled: dict[tuple[int, bool], CompiledModel] = {}
        self._asked: dict[str, PieceVectors] = {}

    @cached_property
    def window(self) -> int:
        longest = self._settings("sentence_bert_config.json")["max_seq_length"]
        return int(longest) - self.tokenizer.num_special_tokens_to_add(False)

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer, without the padding and the limit of 128 word pieces that its file contains."""
        tokenizer = Tokenizer.from_file(str(self.folder / "tokenizer.json"))
        tokenizer.no_padding()
        tokenizer.no_truncation()
        return tokenizer

    def cut(self, texts: Sequence[str]) -> list[Encoding]:
        """The word pieces of each text, cut off after the window, with the model's own markers."""
        encoded = self.tokenizer.encode_batch(list(texts), add_special_tokens=False)
        for one in encoded:
            one.truncate(self.window)
        return [self.tokenizer.post_process(one) for one in encoded]

    def _settings(self, file: str) -> Any:
        return json.loads((self.folder / file).read_text(encoding="utf-8"))

    @property
    def shape(self) -> Shape:
        """The numbers of layers, heads and dimensions that the model's configuration names."""
        found = self._settings("config.json")
        names = "num_hidden_layers", "num_attention_heads", "hidden_size", "layer_norm_eps"
        return Shape(*(found[name] for name in names))

    @property
    def weights(self) -> Weights:
        """The model's float32 weights, by name."""
        found = load_file(self.folder / "model.safetensors")
        return {name: one for name, one in found.items() if one.dtype == np.float32}

    def compiled(self, threads: int, words: bool) -> CompiledModel:
        """The model made ready for so many threads; with `words` its second output is that of word pieces."""
        if (threads, words) not in self._compiled:
            rounding = Rounded(stored_ranges()) if self.precision == "int8" else None
            halved = self.precision != "fp32" and cpu_has("bf16")
            settings = {
                "INFERENCE_NUM_THREADS": threads,
                "NUM_STREAMS": 1,
                "INFERENCE_PRECISION_HINT": "bf16" if halved else "f32",
            }
            graph = built(self.weights, self.shape, rounding, words)
            self._compiled[threads, words] = Core().compile_model(graph, "CPU", settings)
        return self._compiled[threads, words]

    def offsets(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        encoded = self.tokenizer.encode_batch(list(texts), add_special_tokens=False)
        return [one.offsets for one in encoded]

    def vectors(self, texts: Sequence[str], role: Role, batch_size: int) -> NDArray[np.float32]:
        """One unit vector per text."""
        if len(texts) == 1:
            return self.piece_vectors(texts, role, batch_size)[0].whole[None]
        found = np.empty((len(texts), self.shape.width), np.float32)
        for numbers, _, outputs in self._batches(texts, batch_size, words=False):
            found[numbers] = outputs[0]
        return found

    def piece_vectors(self, texts: Sequence[str], role: Role, batch_size: int) -> list[PieceVectors]:
        """The vectors of each text and of its word pieces; those of the last single text are known."""
        if [*self._asked] == [*texts]:
            return [*self._asked.values()]
        found: dict[int, PieceVectors] = {}
        for numbers, encoded, outputs in self._batches(texts, batch_size, words=True):
            for row, (number, one) in enumerate(zip(numbers, encoded, strict=True)):
                pieces = np.array(one.ids, np.int64)
                found[number] = PieceVectors(outputs[0][row], pieces, outputs[1][row, : pieces.size])
        if len(texts) == 1:
            self._asked = {texts[0]: found[0]}
        return [found[number] for number in range(len(texts))]

    def _batches(
        self, texts: Sequence[str], batch_size: int, words: bool
    ) -> Iterator[tuple[list[int], list[Encoding], Any]]:
        """The places of some texts, their word pieces, and what the model makes of them.

        Texts of similar length are in one batch, so little of it is padding. A few texts, such as a question,
        have one compiled model for all purposes.
        """
        few = len(texts) <= FEW
        compiled = self.compiled(1 if few else cores(), words or few)
        encoded = self.cut(texts)
        for numbers in batches([len(one.ids) for one in encoded], batch_size):
            batch = [encoded[number] for number in numbers]
            yield numbers, batch, compiled(list(padded(batch)))

    def piece(self, number: int) -> str:
        """How the vocabulary writes a word piece; empty for the model's own markers."""
        return "" if number in self._markers else str(self.tokenizer.id_to_token(number))

    @cached_property
    def _markers(self) -> frozenset[int]:
        added = self.tokenizer.get_added_tokens_decoder()
        return frozenset(number for number, token in added.items() if token.special)


@cache
def loaded(folder: Path, precision: Precision) -> OpenVinoEngine:
    """The engine of a folder and a precision; all indexes of a process share it, since it is large."""
    return OpenVinoEngine(folder, precision)


def padded(encoded: Sequence[Encoding]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The numbers of the word pieces and a mask of where they are: shapes (texts, word pieces)."""
    length = -(-max(len(one.ids) for one in encoded) // STEP) * STEP
    ids, mask = np.zeros((2, len(encoded), length), np.int64)
    for row, one in enumerate(encoded):
        ids[row, : len(one.ids)] = one.ids
        mask[row, : len(one.ids)] = 1
    return ids, mask
