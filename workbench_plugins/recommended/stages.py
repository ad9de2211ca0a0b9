"""Stages that read an index's passages: a query of content words, and a score for each kind of evidence.

Each score means the same on every memory: it is a cosine, or a share of what this question could get.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from workbench.contracts import Context
from workbench.errors import InputError
from workbench.records import KEPT, DropKind, Floats, Threshold, Trace
from workbench.retrieval.columns import ColumnStage, Numbers, PlainStage, filled
from workbench.retrieval.cutoff import dropped
from workbench.retrieval.query import PrunedUnicodeWords
from workbench_plugins.recommended.layout import PassageIndex, passages_of

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
class ContentWords(PrunedUnicodeWords):
    """The query: the question's words of any script, without function words, joined with `join`.

    A question of function words alone keeps them.
    """

    join: Literal["AND", "OR"] = "OR"

    @property
    def says(self) -> str:
        return f"MATCH = the stems of the question's words without function words, joined with {self.join}"


@dataclass(frozen=True)
class KeywordShare(
    ColumnStage,
    slot="keyword_score",
    scale="share of the most",
    observed=("keyword_beyond", "keyword_most", "file_bm25", "file_most"),
):
    """BM25 over stems, of the chunk and of its file, each as a share of the most that there could be.

    The score is the mean of the two shares, 0 to 1. A chunk that continues a conversation need not repeat
    what it is about; its file does.
    """

    says: ClassVar[str] = (
        "keyword score = mean of BM25 of the chunk and BM25 of its file, each / the most that this question "
        "could score, also beyond the leg's depth"
    )

    def observe(self, trace: Trace, context: Context) -> Mapping[str, Floats]:
        passages = _passages(context)
        chunk, most = passages.keyword_scores(trace.question, trace.rows)
        file, most_of_file = passages.file_scores(trace.question, trace.rows)
        return {
            "keyword_beyond": chunk,
            "keyword_most": np.full(chunk.size, most),
            "file_bm25": file,
            "file_most": np.full(file.size, most_of_file),
        }

    def formula(self, of: Numbers) -> Any:
        raw = of["keyword_relevance"]
        chunk = np.where(np.isnan(raw), of["keyword_beyond"], raw) / of["keyword_most"]
        return (chunk + of["file_bm25"] / of["file_most"]) / 2


@dataclass(frozen=True)
class TitleShare(ColumnStage, slot="title_score", scale="share of words", observed=("title_words",)):
    """The share of the question's words, by their rarity, that the file's title and path have."""

    says: ClassVar[str] = (
        "title score = share of the question's words, by rarity, in the file's title and path"
    )

    def observe(self, trace: Trace, context: Context) -> Mapping[str, Floats]:
        return {"title_words": _passages(context).title_shares(trace.question, trace.rows)}

    def formula(self, of: Numbers) -> Any:
        return of["title_words"]


@dataclass(frozen=True)
class PassageCosine(ColumnStage, slot="vector_score", scale="cosine", observed=("passage_cosine",)):
    """The vector score: the cosine of the question with the best passage of the chunk.

    A passage is 24 word pieces, read within their window, so that one sentence can answer alone. Without a
    model on this machine the cosine of the whole chunk takes its place, and 0 if that is unknown.
    """

    says: ClassVar[str] = "vector score = the cosine of the question with the chunk's best passage of words"

    def observe(self, trace: Trace, context: Context) -> Mapping[str, Floats]:
        return {"passage_cosine": _passages(context).cosines(context.vector(), trace.rows)}

    def formula(self, of: Numbers) -> Any:
        best = of["passage_cosine"]
        return filled(np.where(np.isnan(best), 1 - of["vector_raw"], best), 0.0)


@dataclass(frozen=True)
class LateInteraction(
    ColumnStage,
    slot="late_interaction",
    output="late_score",
    scale="mean cosine of words",
    observed=("max_sim", "rare_words"),
):
    """Each content word of the question looks for its best word in the chunk; the mean of their cosines.

    A word weighs the root of its rarity in the files. `rare_words` is the lower cosine of the two rarest
    words. Source: Khattab and Zaharia, ColBERT, SIGIR 2020, with the words of the embedding model itself.
    """

    says: ClassVar[str] = (
        "late score = mean over the question's content words, by rarity, of the cosine of the best word of "
        "the chunk"
    )

    def observe(self, trace: Trace, context: Context) -> Mapping[str, Floats]:
        matched, rare = _passages(context).word_matches(trace.question, trace.rows)
        return {"max_sim": matched, "rare_words": rare}

    def run(self, trace: Trace, context: Context) -> Trace:
        ran = super().run(trace, context)
        without = trace.rows.size and np.isnan(ran.columns["max_sim"]).all()
        return replace(ran, notes=(*ran.notes, NO_WORDS)) if without else ran

    def formula(self, of: Numbers) -> Any:
        return np.where(np.isnan(of["max_sim"]), of["vector_score"], of["max_sim"])


@dataclass(frozen=True)
class BestOfFile(PlainStage, slot="fold"):
    """Keeps the best chunk of each file, and folds the others under it: six results are six files."""

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
