"""What a model has read word by word, as a case carries it: the windows of passages, the words of questions.

Systems such as `recommended` read these numbers. This module is imported for them alone.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.contracts import Index
from workbench.errors import InputError
from workbench.records import Chunk, Vector
from workbench.retrieval.pipeline import Pipeline
from workbench.retrieval.query import BLANKS
from workbench_plugins.cases.indexing import CaseEmbedder, in_base64, unusable
from workbench_plugins.cases.model import Case, CaseModel, CaseWindows, CaseWords
from workbench_plugins.recommended.arranged import WindowsRead
from workbench_plugins.recommended.layout import PassageIndex, PassagesLayout, passages_of
from workbench_plugins.recommended.words import AskedWords, Codes

MOST_READ = 12_000_000
"""Characters that may be spent on what a model has read word by word; a case has at most 20,000,000."""
PassageKey = tuple[str, int, int, str]
"""The path of a passage, its first and last line, and its text."""


def _laid_out(index: Index, pipeline: Pipeline) -> PassageIndex | None:
    """The passages of an index, if that is how the pipeline lays it out."""
    layout = pipeline.layout
    return passages_of(index.laid_out(layout)) if isinstance(layout, PassagesLayout) else None


def windows_of(index: Index, rows: Sequence[int], pipeline: Pipeline) -> dict[int, CaseWindows]:
    """What the model has read of each row, or nothing: without a model, or if it has no room in a case."""
    laid_out = _laid_out(index, pipeline)
    if laid_out is None:
        return {}
    read = {row: found for row in rows if (found := laid_out.read_of(row)) is not None}
    size = sum(vectors.nbytes // 2 + words.bytes + some.bytes for vectors, words, some in read.values())
    if size * 4 // 3 > MOST_READ:
        return {}
    return {
        row: CaseWindows(
            vectors=in_base64(vectors.astype("<f2")),
            signs=in_base64(words.packed),
            sizes=in_base64(words.sizes.astype("<f2")),
            stretches=in_base64(stretches.packed),
            stretch_sizes=in_base64(stretches.sizes.astype("<f2")),
        )
        for row, (vectors, words, stretches) in read.items()
    }


def question_words(question: str, index: Index, pipeline: Pipeline) -> CaseWords | None:
    """The words of a question, as a case has them; None if the pipeline does not read them."""
    laid_out = _laid_out(index, pipeline)
    asked = laid_out.question_words(question.strip(BLANKS)) if laid_out else None
    if asked is None:
        return None
    counts = np.bincount(asked.owners, minlength=len(asked.texts)).tolist()
    return CaseWords(
        vectors=in_base64(asked.pieces.astype("<f4")), pieces=list(zip(asked.texts, counts, strict=True))
    )


class CaseReader(CaseEmbedder):
    """A `CaseEmbedder` of a case in which what the model has read word by word travels, too.

    `read` has it for each passage, by the path, the lines and the text.
    """

    def __init__(
        self, case: Case, questions: Mapping[str, Vector], read: Mapping[PassageKey, CaseWindows]
    ) -> None:
        super().__init__(case.model, questions)
        self.asked, self.read = case.questions, read

    def windows_read(self, path: str, chunks: Sequence[Chunk]) -> WindowsRead:
        """What was read of these chunks of a file. Raises InputError if the windows of one are missing."""
        keys = [(path, one.start_line, one.end_line, one.text) for one in chunks]
        if not self.read.keys() >= set(keys):
            raise InputError(
                f"Some passages of {path} have windows in the case, and others have none.",
                "Write the case again: workbench case new",
            )
        read = [_unpacked_windows(self.read[key], self.model, f"the note {path}") for key in keys]
        return WindowsRead.joined(read, self.dimensions)

    def question_words(self, question: str) -> AskedWords:
        """The words of a question. Raises InputError for a question that is not one of the case."""
        for one in self.asked:
            if one.words is not None and one.question.strip(BLANKS) == question:
                return _unpacked_words(one.words, self.model, f"the question {question[:40]!r}")
        raise InputError(
            f"The case has no vectors for the words of {question[:60]!r}.", "Ask its own questions."
        )


def _unpacked_windows(given: CaseWindows, model: CaseModel, place: str) -> WindowsRead:
    """What `windows_of` gave, for one passage. Raises InputError, naming `place`, for other text."""
    vectors = _rows(given.vectors, "<f2", model.dimensions, place).astype(np.float32)
    signs = _rows(given.signs, "u1", (model.dimensions + 7) // 8, place)
    sizes = _rows(given.sizes, "<f2", 1, place)[:, 0]
    stretch_sizes = _rows(given.stretch_sizes, "<f2", 1, place)[:, 0]
    # A case that was written before has four bits a number, and one of today has two.
    four, two = (model.dimensions + 1) // 2, (model.dimensions + 3) // 4
    before = len(given.stretches) * 3 // 4 >= four * len(stretch_sizes)
    halves = _rows(given.stretches, "u1", four if before else two, place)
    if len(signs) != len(sizes) or (len(signs) and not len(vectors)):
        raise unusable(place, f"has {len(vectors)} windows, {len(signs)} signs and {len(sizes)} sizes")
    if len(halves) != len(stretch_sizes) or bool(len(halves)) != bool(len(vectors)):
        told = f"has {len(vectors)} windows, {len(halves)} stretches and {len(stretch_sizes)} sizes of these"
        raise unusable(place, told)
    return WindowsRead(
        np.zeros(len(vectors), np.int32),
        vectors,
        _in_first(len(signs), len(vectors)),
        Codes(signs, sizes),
        _in_first(len(halves), len(vectors)),
        Codes(halves, stretch_sizes),
    )


def _in_first(count: int, windows: int) -> NDArray[np.int32]:
    """All in the first window: a passage is compared with all of its words, in whichever window they are."""
    return np.array([count, *[0] * (windows - 1)][:windows], np.int32)


def _unpacked_words(given: CaseWords, model: CaseModel, place: str) -> AskedWords:
    """What `question_words` gave. Raises InputError, naming `place`, for other text."""
    vectors = _rows(given.vectors, "<f4", model.dimensions, place)
    counts = [count for _, count in given.pieces]
    if sum(counts) != len(vectors):
        raise unusable(place, f"has {len(vectors)} word pieces, and words of {sum(counts)}")
    return AskedWords(
        tuple(text for text, _ in given.pieces), vectors, np.repeat(np.arange(len(counts)), counts)
    )


def _rows(written: str, numbers: str, width: int, place: str) -> NDArray[Any]:
    try:
        found = np.frombuffer(base64.b64decode(written, validate=True), numbers).reshape(-1, width)
    except (binascii.Error, ValueError) as error:
        raise unusable(place, f"is not base64 of rows of {width} numbers: {error}") from None
    if not np.isfinite(found).all():
        raise unusable(place, "has a number that is not finite")
    return found
