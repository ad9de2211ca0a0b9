"""Stages that read an index's passages: a query of content words, and a score for each kind of evidence.

Each score means the same on every memory: it is a cosine, or a share of what this question could get.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

import numpy as np

from workbench.contracts import Context
from workbench.errors import InputError
from workbench.records import KEPT, DropKind, Floats, Rows, Threshold, Trace
from workbench.retrieval.columns import ColumnStage, Names, Numbers, PlainStage, filled
from workbench.retrieval.cutoff import MinScore, dropped
from workbench.retrieval.formula_export import step
from workbench.retrieval.fusion import WeightedSum
from workbench.retrieval.legs import FixedKeywordLeg, LegRank, Union, VectorLeg, question_vector
from workbench.retrieval.query import PrunedUnicodeWords, unicode_words
from workbench_plugins.recommended.identifiers import (
    identifier_shares,
    identifiers_in,
    paths_with,
    words_of_dates,
)
from workbench_plugins.recommended.keywords import content_stems
from workbench_plugins.recommended.layout import PassageIndex, passages_of
from workbench_plugins.recommended.spelling import corrected

NO_WORDS = (
    "The model of this index gives no vectors of single words here, so the cosine of the whole chunk takes "
    "the place of late interaction."
)


MEAN, WHOLE = "mean of passages", "whole chunk"
"""What the vector leg compares with a model on this machine, and without one."""


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

    A date has its words in other forms, too: January for 01. A question of function words alone has no query.
    With `corrects`, this stage and the following ones read a misspelt word as the notes spell it.
    """

    join: Literal["AND", "OR"] = "OR"
    corrects: bool = True

    def words(self, question: str) -> list[str]:
        return [word for word in unicode_words(question) if content_stems(word)] + words_of_dates(question)

    @property
    def description(self) -> str:
        spelled = "; a misspelt word is read as the notes spell it" if self.corrects else ""
        return (
            "MATCH = the stems of the question's words without function words, joined with "
            f"{self.join}{spelled}"
        )

    def run(self, trace: Trace, context: Context) -> Trace:
        passages = passages_of(context.index)
        spelled = passages.corrections(trace.question) if self.corrects and passages else {}
        notes = (f"No note has “{word}”. It is read as “{other}”." for word, other in spelled.items())
        read_as = corrected(trace.question, spelled) if spelled else ""
        return super().run(trace.with_changes(read_as=read_as, notes=(*trace.notes, *notes)), context)


@dataclass(frozen=True)
class StemLeg(FixedKeywordLeg):
    """The keyword leg of an index in passages, which counts stems."""

    column_names: ClassVar[Mapping[str, str]] = {"keyword_relevance": "BM25 of the chunk"}

    @property
    def description(self) -> str:
        return f"keyword leg: BM25 over stems, {self.depth}"

    def run(self, trace: Trace, context: Context) -> Trace:
        found = super().run(trace, context)
        return found.with_changes(names={**found.names, **self.column_names})


@dataclass(frozen=True)
class MeanLeg(VectorLeg):
    """The vector leg of an index in passages: it compares the mean of a chunk's passages.

    Without a model on this machine it compares the chunk's own vector.
    """

    @property
    def description(self) -> str:
        return f"vector leg: the nearest chunks by the cosine of the mean of their passages, {self.depth}"

    def leg_ranks(self, trace: Trace, context: Context, rows: Rows) -> list[LegRank]:
        of = f"the {MEAN if _passages(context).has_means else WHOLE}".replace("mean of", "mean of its")
        return [replace(one, of=of) for one in super().leg_ranks(trace, context, rows)]


@dataclass(frozen=True)
class NamedAndUnion(Union):
    """The candidates: the union of the legs, and the chunks of files whose path has an identifier.

    A day's notes are often in a file of this name, and say the day nowhere else.
    """

    description: ClassVar[str] = (
        f"{Union.description}; and the chunks of files whose path has an identifier of the question"
    )

    def more(self, trace: Trace, context: Context) -> Rows:
        return _passages(context).rows_named(trace.text)


@dataclass(frozen=True, kw_only=True)
class EvidenceSum(WeightedSum):
    """The weighted sum of the eight scores, under the names that they have here.

    A weight beside `vector` and `keyword` has no default: six were fitted together, and those of `link` and
    `identifier` were chosen afterwards.
    """

    fitted = True
    SCORES: ClassVar[Mapping[str, str]] = {
        "vector": "best passage",
        "keyword": "keyword share",
        "file_late": "late interaction of the file",
        "file_mean": "best mean of the file",
        "late": "late interaction",
        "link": "link share",
        "identifier": "identifier share",
        "title": "title share",
    }
    ranges: ClassVar[Mapping[str, tuple[float, float]]] = {
        **WeightedSum.ranges,
        **dict.fromkeys(SCORES, (0, 1)),
    }
    file_late: float
    file_mean: float
    identifier: float
    late: float
    link: float
    title: float

    @property
    def weights(self) -> dict[str, float]:
        return {name: getattr(self, name) for name in self.SCORES} | dict(self.more)

    def score_name(self, leg: str) -> str:
        return self.SCORES.get(leg, super().score_name(leg))


@dataclass(frozen=True)
class KeywordShare(
    ColumnStage,
    slot="keyword_score",
    scale="share of the most",
    observed=("keyword_beyond", "keyword_most", "file_bm25", "file_most"),
    column_names={
        "keyword_score": "keyword share",
        "keyword_beyond": "BM25 of the chunk",
        "keyword_most": "the most for a chunk",
        "file_bm25": "BM25 of its file",
        "file_most": "the most for a file",
    },
):
    """BM25 over stems, of the chunk and of its file, each as a share of the most that there could be.

    The score is `of_chunk` of the chunk's share and the rest of the file's, 0 to 1. A chunk that continues a
    conversation need not repeat what it is about; its file does.
    """

    fitted = True
    ranges: ClassVar[Mapping[str, tuple[float, float]]] = {"of_chunk": (0, 1)}
    of_chunk: float = 0.05

    @property
    def description(self) -> str:
        return (
            f"keyword share = {self.of_chunk:g} × BM25 of the chunk + {1 - self.of_chunk:g} × BM25 of its "
            "file, each / the most that this question could score, also beyond the leg's depth"
        )

    def observe(self, trace: Trace, context: Context) -> Mapping[str, Floats]:
        passages = _passages(context)
        chunk, most = passages.keyword_scores(trace.text, trace.rows)
        file, most_of_file = passages.file_scores(trace.text, trace.rows)
        return {
            "keyword_beyond": chunk,
            "keyword_most": np.full(chunk.size, most),
            "file_bm25": file,
            "file_most": np.full(file.size, most_of_file),
        }

    def formula(self, of: Numbers) -> Any:
        raw, share = of["keyword_relevance"], of.constant(self.of_chunk)
        chunk = np.where(np.isnan(raw), of["keyword_beyond"], raw) / of["keyword_most"]
        return share * chunk + of.constant(1 - self.of_chunk) * (of["file_bm25"] / of["file_most"])


@dataclass(frozen=True)
class TitleShare(
    ColumnStage,
    slot="title_score",
    scale="share of words",
    observed=("title_words",),
    column_names={
        "title_score": "title share",
        "title_words": "share of the question's words, by rarity, in title and path",
    },
):
    """The share of the question's words, by their rarity, that the file's title and path have."""

    description: ClassVar[str] = (
        "title share = share of the question's words, by rarity, in the file's title and path"
    )

    def observe(self, trace: Trace, context: Context) -> Mapping[str, Floats]:
        return {"title_words": _passages(context).title_shares(trace.text, trace.rows)}

    def formula(self, of: Numbers) -> Any:
        return of["title_words"]


@dataclass(frozen=True)
class LinkShare(
    ColumnStage,
    slot="link_score",
    scale="share of words",
    observed=("link_words",),
    column_names={
        "link_score": "link share",
        "link_words": "share of the question's words, by rarity, in the best line that links to the file",
    },
):
    """The share of the question's words, by their rarity, in the best line of another file that links here.

    A page that lists others often says best what each of them is for. 0 for a file to which nothing links.
    """

    description: ClassVar[str] = (
        "link share = share of the question's words, by rarity, in the best line that links to the file"
    )

    def observe(self, trace: Trace, context: Context) -> Mapping[str, Floats]:
        return {"link_words": _passages(context).link_shares(trace.text, trace.rows)}

    def evidence(self, trace: Trace, context: Context, rows: Rows) -> Sequence[str]:
        places = _passages(context).link_places(trace.text, rows)
        return [f"the line {one} links here" if one else "" for one in places]

    def formula(self, of: Numbers) -> Any:
        return of["link_words"]


@dataclass(frozen=True)
class IdentifierShare(
    ColumnStage,
    slot="identifier_score",
    scale="share of words",
    observed=("identifier_words",),
    column_names={
        "identifier_score": "identifier share",
        "identifier_words": "share of the question's identifiers in the chunk or its path",
    },
):
    """The share of the question's identifiers that the chunk or its path has; 0 without one in the question.

    One counts half with other signs between its parts, and a date without its year.
    An identifier, such as E3372, night_watch or 2026-05-05, means one thing. A model cuts it into pieces that
    others have, too, and the stems of its parts are common words. A date is found in any form.
    """

    description: ClassVar[str] = (
        "identifier share = share of the question's identifiers in the chunk or its path: dates, long "
        "numbers, and words with letters and digits, or with a dot or an underscore inside; half if written "
        "otherwise"
    )

    def observe(self, trace: Trace, context: Context) -> Mapping[str, Floats]:
        found = identifier_shares(trace.text, trace.chunks)
        every = len(identifiers_in(trace.text)) or 1
        return {"identifier_words": np.array([sum(one.values()) / every for one in found], float)}

    def evidence(self, trace: Trace, context: Context, rows: Rows) -> Sequence[str]:
        found = identifier_shares(trace.text, context.index.chunks(rows))
        told = [", ".join(_as_found(*each) for each in one.items()) for one in found]
        return [f"it has {one}" if one else "" for one in told]

    def formula(self, of: Numbers) -> Any:
        return of["identifier_words"]


def _as_found(identifier: str, share: float) -> str:
    return identifier if share == 1 else f"{identifier}, written otherwise"


@dataclass(frozen=True)
class ChunkCosine(
    ColumnStage,
    slot="vector_cosine",
    scale="cosine",
    present="vector_rank",
    column_names={"vector_cosine": MEAN, "vector_raw": "cosine distance"},
):
    """The cosine of the question with what the vector leg compares: the mean of the chunk's passages.

    Without a model on this machine that is the chunk's own vector. A chunk of the keyword leg alone has none.
    """

    description: ClassVar[str] = "mean of passages = 1 - cosine distance of the vector leg"

    def called(self, context: Context) -> Mapping[str, str]:
        has_means = _passages(context).has_means
        return self.column_names if has_means else {**self.column_names, "vector_cosine": WHOLE}

    def formula(self, of: Numbers) -> Any:
        return 1 - of["vector_raw"]


@dataclass(frozen=True)
class FileMean(
    ColumnStage,
    slot="file_mean",
    output="file_mean_score",
    scale="cosine",
    observed=("file_cosine",),
    column_names={
        "file_mean_score": "best mean of the file",
        "file_cosine": "highest mean of passages in the file",
    },
):
    """The file's best chunk as a whole: the highest mean of passages of any chunk of the file.

    So a chunk counts more in a file that is about the question. Without a model on this machine the cosine of
    the whole chunk takes its place, and 0 if that is unknown.
    """

    description: ClassVar[str] = "best mean of the file = the highest mean of passages of any of its chunks"

    def observe(self, trace: Trace, context: Context) -> Mapping[str, Floats]:
        return {"file_cosine": _passages(context).file_cosines(question_vector(trace, context), trace.rows)}

    def called(self, context: Context) -> Mapping[str, str]:
        has_means = _passages(context).has_means
        return self.column_names if has_means else {"file_mean_score": f"{WHOLE} in place of its file, or 0"}

    def formula(self, of: Numbers) -> Any:
        best = of["file_cosine"]
        return filled(np.where(np.isnan(best), of["vector_cosine"], best), 0.0)


@dataclass(frozen=True)
class PassageCosine(
    ColumnStage,
    slot="vector_score",
    scale="cosine",
    observed=("passage_cosine",),
    column_names={"vector_score": "best passage", "passage_cosine": "highest cosine among its passages"},
):
    """The best passage: the cosine of the question with the best passage of the chunk.

    A passage is 24 word pieces, read within their window, so that one sentence can answer alone. Without a
    model on this machine the cosine of the whole chunk takes its place, and 0 if that is unknown.
    """

    description: ClassVar[str] = (
        "best passage = the cosine of the question with the chunk's best passage of words"
    )

    def observe(self, trace: Trace, context: Context) -> Mapping[str, Floats]:
        return {"passage_cosine": _passages(context).cosines(question_vector(trace, context), trace.rows)}

    def called(self, context: Context) -> Mapping[str, str]:
        has_words = _passages(context).passages.words is not None
        return self.column_names if has_words else {"vector_score": f"{WHOLE}, or 0"}

    def formula(self, of: Numbers) -> Any:
        best = of["passage_cosine"]
        return filled(np.where(np.isnan(best), of["vector_cosine"], best), 0.0)


@dataclass(frozen=True)
class LateInteraction(
    ColumnStage,
    slot="late_interaction",
    output="late_score",
    scale="mean cosine of words",
    observed=("max_sim", "rare_words"),
    column_names={
        "late_score": "late interaction",
        "max_sim": "mean, by rarity, of the best cosine of each word of the question",
        "rare_words": "match of the two rarest words",
    },
):
    """Each content word of the question looks for its best word in the chunk; the mean of their cosines.

    A word weighs the root of its rarity in the files. `rare_words` is the lower cosine of the two rarest
    words. Source: Khattab and Zaharia, ColBERT, SIGIR 2020, with the words of the embedding model itself.
    """

    description: ClassVar[str] = (
        "late interaction = mean over the question's content words, by rarity, of the best word's cosine in "
        "the chunk"
    )

    def observe(self, trace: Trace, context: Context) -> Mapping[str, Floats]:
        found = _passages(context).word_matches(trace.text, trace.rows)
        return {"max_sim": found.chunk, "rare_words": found.rare}

    def run(self, trace: Trace, context: Context) -> Trace:
        ran = super().run(trace, context)
        without = trace.rows.size and np.isnan(ran.columns["max_sim"]).all()
        return replace(ran, notes=(*ran.notes, NO_WORDS)) if without else ran

    def formula(self, of: Numbers) -> Any:
        return np.where(np.isnan(of["max_sim"]), of["vector_score"], of["max_sim"])


@dataclass(frozen=True)
class FileLateInteraction(
    ColumnStage,
    slot="file_late_interaction",
    output="file_late_score",
    scale="mean cosine of words",
    observed=("file_max_sim",),
    column_names={
        "file_late_score": "late interaction of the file",
        "file_max_sim": "the same with the best word of any candidate of the file",
    },
):
    """Late interaction with the whole file: each word of the question looks in all candidates of the file.

    One part of a file can say who, and another one what.
    """

    description: ClassVar[str] = (
        "late interaction of the file = the same with the best word's cosine in any candidate of the file"
    )

    def observe(self, trace: Trace, context: Context) -> Mapping[str, Floats]:
        return {"file_max_sim": _passages(context).word_matches(trace.text, trace.rows).file}

    def formula(self, of: Numbers) -> Any:
        return np.where(np.isnan(of["file_max_sim"]), of["late_score"], of["file_max_sim"])


@dataclass(frozen=True)
class BestOfFile(PlainStage, slot="fold"):
    """Keeps the best chunk of each file, and folds the others under it: six results are six files."""

    description: ClassVar[str] = "fold: keep the best chunk of each file"

    def run(self, trace: Trace, context: Context) -> Trace:
        ranks = np.full(trace.rows.size, np.nan)
        seen: dict[str, int] = {}
        for row in trace.order[trace.dropped[trace.order] == KEPT].tolist():
            path = trace.chunks[row].path
            seen[path] = seen.get(path, 0) + 1
            ranks[row] = seen[path]
        threshold = Threshold("place among the file's chunks", ranks, 1, at_most=True)
        return dropped(trace, self, DropKind.FOLD, threshold)


@step.register
def _fold(_: BestOfFile, __: Names) -> dict[str, Any]:
    return {"each": "file"}


# Whether to return anything

FEATURES = ("intercept", "support", "nearest", "other_name")
"""The support says best what a collection without the answer lacks. The nearest chunk's own vector adds
what a chunk is about as a whole. Of some forty kinds of evidence, the other name is the one that tells near
misses on two collections, each with the weights of the other."""
CLEAR = 0.4
"""The lead of a line without the question's name from which on it counts as another's."""


@dataclass(frozen=True)
class Support(ColumnStage, slot="support", scale="sum of cosines", column_names={"support": "support"}):
    """How much a chunk supports an answer: its meaning and the question's rare words, in one place.

    Evidence in two chunks is no answer: the right subject in one, and the rare words in another.
    """

    description: ClassVar[str] = "support = best passage + 2 × the match of the question's two rarest words"

    def formula(self, of: Numbers) -> Any:
        return of["vector_score"] + 2 * of["rare_words"]


@dataclass(frozen=True)
class Calibration:
    """A logistic regression over what the best files have, and the model for whose vectors it was fitted."""

    weights: tuple[tuple[str, float], ...] = ()
    model: str = ""

    def __post_init__(self) -> None:
        unknown = sorted({name for name, _ in self.weights} ^ set(FEATURES)) if self.weights else []
        if unknown:
            raise InputError(
                f"The calibration does not fit this workbench: {', '.join(unknown)}.",
                f"It needs a weight for each of {', '.join(FEATURES)}.",
            )

    def check(self, model: str) -> None:
        """Raises InputError for an index whose vectors are of another model than the calibration's."""
        if model != self.model:
            fitted = f"fitted for the model {self.model}" if self.model else "not fitted for any model"
            raise InputError(
                f"The calibration was {fitted}, and this index has {model or 'no vectors of single words'}.",
                "Fit one with benchmarks/fit.py --model, or index with the calibration's model.",
            )


@dataclass(frozen=True)
class Answerable(
    ColumnStage,
    slot="answerable",
    scale="probability",
    observed=("file_named", "other_name"),
    column_names={"file_named": "file named", "other_name": "other name"},
):
    """The probability that anything here answers the question, the same for every candidate.

    It looks at the most support of a candidate, at the cosine of the nearest chunk's own vector, and at
    whether a line of the best file has clearly more of the question's other words than any line with a name
    of the question: `other_name` is 1 where `PassageIndex.name_lead` is above CLEAR. The probability is 1
    where the path of the best file has an identifier of the question, such as a date: the question names
    this file, and `file_named` is 1. A calibration that was fitted for another model is refused. The
    probability is then unknown: nothing is held back, both columns are NaN, and the trace says so.
    """

    calibration: Calibration = field(default_factory=Calibration)

    description: ClassVar[str] = (
        "answerable = the probability that anything here answers, from the chunk with the most support and "
        "the nearest chunk, lower where the question's other words are on a line without its name, and 1 "
        "where the path of the best file has an identifier of the question"
    )

    def observe(self, trace: Trace, context: Context) -> Mapping[str, Floats]:
        best = [trace.chunks[row].path for row in trace.order[:1]]
        named = np.full(trace.rows.size, float(bool(paths_with(trace.text, best))))
        leads = [_passages(context).name_lead(trace.text, path) for path in best]
        other = np.full(trace.rows.size, float(any(lead > CLEAR for lead in leads)))
        return {"file_named": named, "other_name": other}

    def run(self, trace: Trace, context: Context) -> Trace:
        found = passages_of(context.index)
        try:
            self.calibration.check(found.model if found else "")
        except InputError as error:
            note = f"Whether anything here answers is unknown. {error.problem} So nothing is held back."
            blank = {name: np.full(trace.rows.size, np.nan) for name in self.observed}
            known = {self.output: np.ones(trace.rows.size)}
            return replace(trace, columns={**trace.columns, **blank, **known}, notes=(*trace.notes, note))
        return super().run(trace, context)

    def formula(self, of: Numbers) -> Any:
        weight = {name: of.constant(value) for name, value in self.calibration.weights}
        weight = weight or dict.fromkeys(FEATURES, of.constant(0.0))
        log_odds = weight["intercept"] + weight["support"] * of.greatest("support")
        log_odds = log_odds + weight["nearest"] * filled(of.greatest("vector_cosine"), 0.0)
        log_odds = log_odds + weight["other_name"] * of["other_name"]
        return np.where(of["file_named"] == 0, 1 / (1 + np.exp(-log_odds)), 1.0)


@dataclass(frozen=True)
class SilenceFloor(MinScore):
    """Returns nothing when P(answerable), the probability that anything here answers, is below `floor`.

    `floor` is 1 - w / 100, where w is how many wrong answers among a hundred you accept in such a case.
    """

    floor: float = 0.5
    of: str = "answerable"
    ranges: ClassVar[Mapping[str, tuple[float, float]]] = {"floor": (0, 1)}

    @property
    def description(self) -> str:
        return f"floor: return nothing if the chance that anything here answers is below {self.floor:g}"


def accepting(wrong_per_hundred: float) -> SilenceFloor:
    """The floor that accepts so many wrong answers in a hundred. Raises InputError beyond 0 to 100.

    >>> accepting(25).floor
    0.75
    """
    if not 0 <= wrong_per_hundred <= 100:
        raise InputError(f"{wrong_per_hundred} wrong answers in a hundred cannot be.", "Give 0 to 100.")
    return SilenceFloor(1 - wrong_per_hundred / 100)
