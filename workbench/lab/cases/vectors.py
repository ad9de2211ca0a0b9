"""Vectors in a case: written as base64 or as decimal numbers, and reduced to their cosines."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from workbench.errors import InputError
from workbench.lab.cases.model import CaseModel, CaseWindows, CaseWords, VectorText
from workbench.memory.embedding.local import (
    PACKAGED_MODEL,
    Embedded,
    Embedder,
    LocalEmbedder,
    Role,
    ToyEmbedder,
    local_embedder,
    unit,
)
from workbench.memory.embedding.tokens import AskedWords
from workbench.memory.passages.arranged import WindowsRead
from workbench.memory.passages.codes import StretchCodes, WordCodes
from workbench.records import Chunk, Vector

Numbers = Literal["float16", "float32"]
BYTES = {"float16": "<f2", "float32": "<f4"}
PassageKey = tuple[str, int, int, str]
"""The path of a passage, its first and last line, and its text."""


def packed(vector: Vector, numbers: Numbers) -> str:
    """The vector as base64 of little-endian numbers."""
    return base64.b64encode(vector.astype(BYTES[numbers]).tobytes()).decode()


def unpacked(written: VectorText, model: CaseModel, place: str) -> Vector:
    """A vector of a case, float32; a vector in float16 is scaled to length 1 again.

    Raises InputError, naming `place`, for text that is not such a vector.
    """
    if isinstance(written, str):
        numbers = "float16" if model.vectors == "float16" else "float32"
        try:
            vector = np.frombuffer(base64.b64decode(written, validate=True), BYTES[numbers]).astype(
                np.float32
            )
        except (binascii.Error, ValueError) as error:
            raise _unusable(place, f"is not base64 of {numbers} numbers: {error}") from None
        vector = unit(vector[np.newaxis])[0] if numbers == "float16" else vector
    else:
        vector = np.array(written, np.float32)
    if vector.size != model.dimensions:
        raise _unusable(place, f"has {vector.size} numbers, and the model {model.dimensions} dimensions")
    if not np.isfinite(vector).all() or float(np.abs(vector).max(initial=0)) > 2:
        raise _unusable(place, "is not a unit vector")
    return vector


def packed_windows(vectors: NDArray[np.float32], words: WordCodes, stretches: StretchCodes) -> CaseWindows:
    """What a model has read of a passage, as a case has it."""
    return CaseWindows(
        vectors=_base64(vectors.astype("<f2")),
        signs=_base64(words.signs),
        sizes=_base64(words.sizes.astype("<f2")),
        stretches=_base64(stretches.halves),
        stretch_sizes=_base64(stretches.sizes.astype("<f2")),
    )


def packed_words(asked: AskedWords) -> CaseWords:
    """The words of a question, as a case has them."""
    counts = np.bincount(asked.owners, minlength=len(asked.texts)).tolist()
    return CaseWords(
        vectors=_base64(asked.pieces.astype("<f4")), pieces=list(zip(asked.texts, counts, strict=True))
    )


def _base64(numbers: NDArray[Any]) -> str:
    return base64.b64encode(np.ascontiguousarray(numbers).tobytes()).decode()


def unpacked_windows(given: CaseWindows, model: CaseModel, place: str) -> WindowsRead:
    """What `packed_windows` gave, for one passage. Raises InputError, naming `place`, for other text."""
    vectors = _rows(given.vectors, "<f2", model.dimensions, place).astype(np.float32)
    signs = _rows(given.signs, "u1", (model.dimensions + 7) // 8, place)
    sizes = _rows(given.sizes, "<f2", 1, place)[:, 0]
    halves = _rows(given.stretches, "u1", (model.dimensions + 1) // 2, place)
    stretch_sizes = _rows(given.stretch_sizes, "<f2", 1, place)[:, 0]
    if len(signs) != len(sizes) or (len(signs) and not len(vectors)):
        raise _unusable(place, f"has {len(vectors)} windows, {len(signs)} signs and {len(sizes)} sizes")
    if len(halves) != len(stretch_sizes) or bool(len(halves)) != bool(len(vectors)):
        told = f"has {len(vectors)} windows, {len(halves)} stretches and {len(stretch_sizes)} sizes of these"
        raise _unusable(place, told)
    return WindowsRead(
        np.zeros(len(vectors), np.int32),
        vectors,
        _in_first(len(signs), len(vectors)),
        WordCodes(signs, sizes),
        _in_first(len(halves), len(vectors)),
        StretchCodes(halves, stretch_sizes),
    )


def _in_first(count: int, windows: int) -> NDArray[np.int32]:
    """All in the first window: a passage is compared with all of its words, in whichever window they are."""
    return np.array([count, *[0] * (windows - 1)][:windows], np.int32)


def unpacked_words(given: CaseWords, model: CaseModel, place: str) -> AskedWords:
    """What `packed_words` gave. Raises InputError, naming `place`, for other text."""
    vectors = _rows(given.vectors, "<f4", model.dimensions, place)
    counts = [count for _, count in given.pieces]
    if sum(counts) != len(vectors):
        raise _unusable(place, f"has {len(vectors)} word pieces, and words of {sum(counts)}")
    return AskedWords(
        tuple(text for text, _ in given.pieces), vectors, np.repeat(np.arange(len(counts)), counts)
    )


def _rows(written: str, numbers: str, width: int, place: str) -> NDArray[Any]:
    try:
        found = np.frombuffer(base64.b64decode(written, validate=True), numbers).reshape(-1, width)
    except (binascii.Error, ValueError) as error:
        raise _unusable(place, f"is not base64 of rows of {width} numbers: {error}") from None
    if not np.isfinite(found).all():
        raise _unusable(place, "has a number that is not finite")
    return found


def _unusable(place: str, problem: str) -> InputError:
    return InputError(f"The vector of {place} {problem}.", "Write the case again: workbench case new")


def cosines_alone(
    questions: Sequence[Vector], passages: NDArray[np.float32]
) -> tuple[list[list[float]], list[list[float]]]:
    """Shorter unit vectors of questions and passages that have the same cosines with each other.

    A vector of a model can be inverted to the text that it came from; a cosine cannot. The questions span a
    space of at most their number of dimensions. A passage is its shadow in this space, and one more number
    for the rest of it. Cosines of two passages are not kept: no stage reads them.
    """
    asked = np.array(questions, float)
    basis = _orthonormal(asked)
    shadows = passages.astype(float) @ basis.T
    rest = np.sqrt(np.clip(1 - (shadows**2).sum(axis=1), 0, None))
    rest = np.where(passages.any(axis=1), rest, 0.0)
    small = np.column_stack([shadows, rest])
    own = np.column_stack([asked @ basis.T, np.zeros(len(asked))])
    return _decimals(own), _decimals(small)


def _orthonormal(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """A basis of what the vectors span, by Gram and Schmidt: the first question is (1, 0, …)."""
    basis: list[NDArray[np.float64]] = []
    for vector in vectors:
        rest = vector - sum((one * (one @ vector) for one in basis), np.zeros_like(vector))
        length = float(np.linalg.norm(rest))
        if length > 1e-6:
            basis.append(rest / length)
    return np.array(basis, float).reshape(len(basis), vectors.shape[1])


def _decimals(vectors: NDArray[np.float64]) -> list[list[float]]:
    return [[round(float(one), 7) + 0.0 for one in row] for row in vectors]


@dataclass
class CaseEmbedder:
    """The questions' vectors of a case; other texts go to the model that the case names, if it is here."""

    model: CaseModel
    questions: dict[str, Vector]
    inner: Embedder | None = field(default=None)

    @property
    def name(self) -> str:
        return self.model.name

    @property
    def revision(self) -> str:
        return self.model.revision

    @property
    def dimensions(self) -> int:
        return self.model.dimensions

    def embed(self, texts: Sequence[str], role: Role) -> Embedded:
        """One vector per text. Raises InputError for a text without a vector if the model is not here."""
        if role == "query" and all(text in self.questions for text in texts):
            vectors = np.array([self.questions[text] for text in texts], np.float32)
            return Embedded(vectors.reshape(len(texts), self.dimensions), np.ones(len(texts)))
        if self.model.vectors == "cosines":
            raise InputError(
                "This case holds cosines with its own questions only, so no other text can be compared.",
                "Ask its own questions, or make a case with --vectors float32.",
            )
        return self._model().embed(texts, role)

    def _model(self) -> Embedder:
        if self.inner is None:
            self.inner = model_of(self.model)
        return self.inner


@dataclass
class CaseReader(CaseEmbedder):
    """A `CaseEmbedder` of a case in which what the model has read word by word travels, too.

    `read` has it for each passage, by the path, the lines and the text; `words` the words of the
    questions.
    """

    read: dict[PassageKey, WindowsRead] = field(default_factory=dict)
    words: dict[str, AskedWords] = field(default_factory=dict)

    def windows_read(self, path: str, chunks: Sequence[Chunk]) -> WindowsRead:
        """What was read of these chunks of a file. Raises InputError if the windows of one are missing."""
        found = [self.read.get((path, one.start_line, one.end_line, one.text)) for one in chunks]
        known = [one for one in found if one is not None]
        if len(known) < len(chunks):
            raise InputError(
                f"Some passages of {path} have windows in the case, and others have none.",
                "Write the case again: workbench case new",
            )
        return WindowsRead.joined(known, self.dimensions)

    def question_words(self, question: str) -> AskedWords:
        """The words of a question. Raises InputError for a question that is not one of the case."""
        if question not in self.words:
            raise InputError(
                f"The case has no vectors for the words of {question[:60]!r}.", "Ask its own questions."
            )
        return self.words[question]


def model_of(model: CaseModel) -> Embedder:
    """The embedder that a case names: the toy model, or the packaged one in the same reading.

    Raises InputError for another model: the workbench never switches models silently.
    """
    if model.axes is not None:
        return ToyEmbedder({axis: tuple(words) for axis, words in model.axes.items()}, model.name)
    local = local_embedder(PACKAGED_MODEL, model.revision) if model.revision else LocalEmbedder()
    if local is None or model.name != PACKAGED_MODEL or model.revision not in ("", local.revision):
        raise InputError(
            f"The case needs vectors of the model {model.name} ({model.revision}), which is not here, and "
            "they are not in the case.",
            "Make the case where that model is, with --vectors float32.",
        )
    return local
