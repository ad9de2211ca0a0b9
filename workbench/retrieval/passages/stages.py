"""Stages that read an index's passages: a query of content words, and a score for each kind of evidence.

Each score means the same on every memory: it is a cosine, or a share of what this question could get.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from workbench.contracts import Context
from workbench.errors import InputError
from workbench.memory.embedding.stop_words import STOP_WORDS
from workbench.records import KEPT, DropKind, Floats, Threshold, Trace
from workbench.retrieval.columns import ColumnStage, Numbers, PlainStage, filled
from workbench.retrieval.cutoff import dropped
from workbench.retrieval.passages.index import PassageIndex, passages_of
from workbench.retrieval.query import JoinedWords, unicode_words

NO_WORDS = (
    "The model of this index gives no vectors of single words here, so the cosine of the whole chunk takes "
    "the place of late interaction."
)


def _passages(context: Context) -> PassageIndex:
    found = passages_of(context.index)
    if found is None:
        raise InputError(
            f"The index {context.index.name} is not laid out in passages.",
            "Give the pipeline the layout PassagesLayout().",
        )
    return found


@dataclass(frozen=True)
class ContentWords(JoinedWords):
    """The query: the question's words of any script, without function words, joined with `join`.

    A question of function words alone keeps them.
    """

    join: Any = "OR"

    @property
    def says(self) -> str:
        return f"MATCH = the stems of the question's words without function words, joined with {self.join}"

    def words(self, question: str) -> list[str]:
        words = unicode_words(question)
        return [word for word in words if word.lower() not in STOP_WORDS] or words


@dataclass(frozen=True)
class KeywordShare(ColumnStage):
    """BM25 over stems, as a share of the most that this question could score: 0 to 1."""

    slot: ClassVar[str] = "keyword_score"
    output: ClassVar[str] = "keyword_score"
    scale: ClassVar[str] = "share of the most"
    observed: ClassVar[tuple[str, ...]] = ("keyword_beyond", "keyword_most")
    says: ClassVar[str] = (
        "keyword score = BM25 / the most that this question could score, also beyond the leg's depth"
    )

    def observe(self, trace: Trace, context: Context) -> Mapping[str, Floats]:
        scores, most = _passages(context).keyword_scores(trace.question, trace.rows)
        return {"keyword_beyond": scores, "keyword_most": np.full(scores.size, most)}

    def formula(self, of: Numbers) -> Any:
        raw = of["keyword_relevance"]
        return np.where(np.isnan(raw), of["keyword_beyond"], raw) / of["keyword_most"]


@dataclass(frozen=True)
class FileShare(ColumnStage):
    """BM25 of the whole file, as a share of the most that this question could score: 0 to 1.

    A chunk that continues a conversation need not repeat what it is about; its file does.
    """

    slot: ClassVar[str] = "file_score"
    output: ClassVar[str] = "file_score"
    scale: ClassVar[str] = "share of the most"
    observed: ClassVar[tuple[str, ...]] = ("file_bm25", "file_most")
    says: ClassVar[str] = "file score = BM25 of the whole file / the most that this question could score"

    def observe(self, trace: Trace, context: Context) -> Mapping[str, Floats]:
        scores, most = _passages(context).file_scores(trace.question, trace.rows)
        return {"file_bm25": scores, "file_most": np.full(scores.size, most)}

    def formula(self, of: Numbers) -> Any:
        return of["file_bm25"] / of["file_most"]


@dataclass(frozen=True)
class TitleShare(ColumnStage):
    """The share of the question's words, by their rarity, that the file's title and path have."""

    slot: ClassVar[str] = "title_score"
    output: ClassVar[str] = "title_score"
    scale: ClassVar[str] = "share of words"
    observed: ClassVar[tuple[str, ...]] = ("title_words",)
    says: ClassVar[str] = (
        "title score = share of the question's words, by rarity, in the file's title and path"
    )

    def observe(self, trace: Trace, context: Context) -> Mapping[str, Floats]:
        return {"title_words": _passages(context).title_shares(trace.question, trace.rows)}

    def formula(self, of: Numbers) -> Any:
        return of["title_words"]


@dataclass(frozen=True)
class WindowCosine(ColumnStage):
    """The cosine of the chunk's best window, also beyond the depth of the leg; 0 for an unknown one."""

    slot: ClassVar[str] = "vector_score"
    output: ClassVar[str] = "vector_score"
    scale: ClassVar[str] = "cosine"
    observed: ClassVar[tuple[str, ...]] = ("cosine_beyond",)
    says: ClassVar[str] = "vector score = 1 - cosine distance of the best window, also beyond the leg's depth"

    def observe(self, trace: Trace, context: Context) -> Mapping[str, Floats]:
        return {"cosine_beyond": _passages(context).cosines(context.vector(), trace.rows)}

    def formula(self, of: Numbers) -> Any:
        near = 1 - of["vector_raw"]
        return filled(np.where(np.isnan(near), of["cosine_beyond"], near), 0.0)


@dataclass(frozen=True)
class LateInteraction(ColumnStage):
    """Each content word of the question looks for its best word in the chunk; the mean of their cosines.

    Source: Khattab and Zaharia, ColBERT, SIGIR 2020, here with the words of the embedding model itself.
    """

    slot: ClassVar[str] = "late_interaction"
    output: ClassVar[str] = "late_score"
    scale: ClassVar[str] = "mean cosine of words"
    observed: ClassVar[tuple[str, ...]] = ("max_sim",)
    says: ClassVar[str] = (
        "late score = mean over the question's content words of the cosine of the best word of the chunk"
    )

    def observe(self, trace: Trace, context: Context) -> Mapping[str, Floats]:
        return {"max_sim": _passages(context).max_sims(trace.question, trace.rows)}

    def run(self, trace: Trace, context: Context) -> Trace:
        ran = super().run(trace, context)
        without = trace.rows.size and np.isnan(ran.columns["max_sim"]).all()
        return replace(ran, notes=(*ran.notes, NO_WORDS)) if without else ran

    def formula(self, of: Numbers) -> Any:
        return np.where(np.isnan(of["max_sim"]), of["vector_score"], of["max_sim"])


@dataclass(frozen=True)
class BestOfFile(PlainStage):
    """Keeps the best chunk of each file, and folds the others under it: six results are six files."""

    slot: ClassVar[str] = "fold"
    says: ClassVar[str] = "fold: keep the best chunk of each file"

    def run(self, trace: Trace, context: Context) -> Trace:
        places = np.full(trace.rows.size, np.nan)
        seen: dict[str, int] = {}
        for row in trace.order[trace.dropped[trace.order] == KEPT].tolist():
            path = trace.chunks[row].path
            seen[path] = seen.get(path, 0) + 1
            places[row] = seen[path]
        threshold = Threshold("place among the file's chunks", places, 1, at_most=True)
        return dropped(trace, self, places > 1, DropKind.FOLD, threshold)
