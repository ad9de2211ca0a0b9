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
from workbench_plugins.cases.case_index import CaseEmbedder, in_base64, unusable
from workbench_plugins.cases.model import Case, CaseModel, CaseWindows, CaseWords
from workbench_plugins.recommended.layout import PassageIndex, PassagesLayout, passages_of
from workbench_plugins.recommended.passage_index import WordsRead
from workbench_plugins.recommended.words import AskedWords, Codes, packed_width

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
    size = sum(words.bytes + some.bytes for words, some in read.values())
    if size * 4 // 3 > MOST_READ:
        return {}
    return {
        row: CaseWindows(
            signs=in_base64(words.packed),
            sizes=in_base64(words.sizes.astype("<f2")),
            stretches=in_base64(stretches.packed),
            stretch_sizes=in_base64(stretches.sizes.astype("<f2")),
        )
        for row, (words, stretches) in read.items()
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

    def words_read(self, path: str, chunks: Sequence[Chunk]) -> WordsRead:
        """What was read of these chunks of a file. Raises InputError if the windows of one are missing."""
        keys = [(path, one.start_line, one.end_line, one.text) for one in chunks]
        if not self.read.keys() >= set(keys):
            raise InputError(
                f"Some passages of {path} have windows in the case, and others have none.",
                "Write the case again: workbench case new",
            )
        read = [_unpacked_windows(self.read[key], self.model, f"the note {path}") for key in keys]
        return WordsRead.joined(read, self.dimensions)

    def question_words(self, question: str) -> AskedWords:
        """The words of a question. Raises InputError for a question that is not one of the case."""
        for one in self.asked:
            if one.words is not None and one.question.strip(BLANKS) == question:
                return _unpacked_words(one.words, self.model, f"the question {question[:40]!r}")
        raise InputError(
            f"The case has no vectors for the words of {question[:60]!r}.", "Ask its own questions."
        )


def _unpacked_windows(given: CaseWindows, model: CaseModel, where: str) -> WordsRead:
    """What `windows_of` gave, for one passage. Raises InputError, naming `where`, for other text."""
    signs = _rows(given.signs, "u1", packed_width(model.dimensions, 1), where)
    sizes = _rows(given.sizes, "<f2", 1, where)[:, 0]
    stretch_sizes = _rows(given.stretch_sizes, "<f2", 1, where)[:, 0]
    # Cases that were written before have two or four bits a number, and those of today have one.
    stretches = _rows(given.stretches, "u1", 1, where)
    widths = [packed_width(model.dimensions, bits) for bits in (1, 2, 4)]
    if len(signs) != len(sizes) or len(stretches) not in [width * len(stretch_sizes) for width in widths]:
        told = f"{len(signs)} signs, {len(sizes)} sizes, {len(stretches)} bytes of stretches"
        raise unusable(where, f"has {told} and {len(stretch_sizes)} sizes of these")
    return WordsRead(
        np.array([len(sizes)], np.int32),
        Codes(signs, sizes),
        np.array([len(stretch_sizes)], np.int32),
        Codes(stretches.reshape(len(stretch_sizes), -1 if len(stretch_sizes) else widths[0]), stretch_sizes),
    )


def _unpacked_words(given: CaseWords, model: CaseModel, where: str) -> AskedWords:
    """What `question_words` gave. Raises InputError, naming `where`, for other text."""
    vectors = _rows(given.vectors, "<f4", model.dimensions, where)
    counts = [count for _, count in given.pieces]
    if sum(counts) != len(vectors):
        raise unusable(where, f"has {len(vectors)} word pieces, and words of {sum(counts)}")
    return AskedWords(
        tuple(text for text, _ in given.pieces), vectors, np.repeat(np.arange(len(counts)), counts)
    )


def _rows(written: str, numbers: str, width: int, where: str) -> NDArray[Any]:
    try:
        found = np.frombuffer(base64.b64decode(written, validate=True), numbers).reshape(-1, width)
    except (binascii.Error, ValueError) as error:
        raise unusable(where, f"is not base64 of rows of {width} numbers: {error}") from None
    if not np.isfinite(found).all():
        raise unusable(where, "has a number that is not finite")
    return found
