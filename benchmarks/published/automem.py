"""AutoMem's pipelines on LoCoMo: `python -m benchmarks.published.automem locomo.json corrections.json`.

A memory is one turn, and a search covers the turns of one conversation. The pipeline's own formulas compute
the scores, here for all questions of a conversation at once.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from benchmarks.published.figures import Figures, figures
from workbench.contracts import Index, Observer
from workbench.errors import InputError, WorkbenchError
from workbench.measure.measures import Judged, values
from workbench.measure.paired import Paired, corrected, paired_values
from workbench.memory.embedding.cache import embed_through_cache
from workbench.memory.embedding.local import Embedded, Embedder, LocalEmbedder, Role, Truncated
from workbench.memory.files import content_hash
from workbench.memory.index_files import default_index_path
from workbench.memory.store.contract import Settings
from workbench.memory.store.sqlite.store import Store
from workbench.records import Floats, Trace, Vector
from workbench.retrieval.columns import ColumnStage
from workbench.retrieval.legs import VectorLeg
from workbench.retrieval.pipeline import Pipeline, run
from workbench_plugins.automem import pipelines as automem
from workbench_plugins.automem.components import AdaptiveFloor, ContentKeyword
from workbench_plugins.automem.memories import Memory, query_tokens
from workbench_plugins.runs.collections import Locomo, LocomoQuestion, Turn, load
from workbench_plugins.stores.cluster import Cluster

LIMIT = 10


@dataclass(frozen=True)
class TurnFigures(Figures):
    """The figures over the questions that have a turn for an answer.

    `kept` is the mean number of turns in an answer; `floors` counts how often the adaptive floor cut.
    """

    kept: float
    floors: int


class StoredEmbedder:
    """An embedder that embeds each text once and then reads its vector from the store's cache."""

    def __init__(self, embedder: Embedder, store: Store) -> None:
        self._embedder = embedder
        self._store = store
        self._settings = settings_of(embedder)
        self.name, self.revision, self.dimensions = embedder.name, embedder.revision, embedder.dimensions

    def embed(self, texts: Sequence[str], role: Role) -> Embedded:
        by_hash = {content_hash(text): text for text in texts}
        known = embed_through_cache(self._store, self._settings, self._embedder, role, by_hash)
        found = [known[content_hash(text)] for text in texts]
        vectors = np.array([one.vector for one in found], np.float32).reshape(len(texts), self.dimensions)
        return Embedded(vectors, np.array([one.read_share for one in found], float))


def settings_of(embedder: Embedder) -> Settings:
    """The settings of a store of turns."""
    return Settings(embedder.name, embedder.revision, embedder.dimensions, "turns")


@contextmanager
def stored(embedder: Embedder, data: Path) -> Iterator[Embedder]:
    """`embedder` with a vector cache in the user's cache folder, one file for each data file."""
    cache = default_index_path(data)
    cache.parent.mkdir(parents=True, exist_ok=True)
    opened = Store.open(cache) if cache.is_file() else Store.create(cache, settings_of(embedder))
    with opened as store:
        yield StoredEmbedder(embedder, store)


@dataclass(frozen=True)
class TurnAnswer:
    """The answer to one question: the ids of the kept turns, best first, and whether the floor cut."""

    question: LocomoQuestion
    turns: tuple[str, ...]
    cut: bool


def bench(data: Locomo, pipeline: Pipeline, embedder: Embedder, limit: int = LIMIT) -> TurnFigures:
    """The figures of one AutoMem pipeline on LoCoMo, over the questions that have a turn for an answer.

    Raises InputError for a pipeline that is not one of AutoMem's.
    """
    return _figures(_with_truth(answers(data, pipeline, embedder, limit)))


def _with_truth(answered: Iterable[TurnAnswer]) -> list[TurnAnswer]:
    return [one for one in answered if one.question.turns]


def _figures(answered: Sequence[TurnAnswer]) -> TurnFigures:
    overall = figures(_judged(answered))
    kept = float(np.mean([len(one.turns) for one in answered])) if answered else 0.0
    return TurnFigures(**vars(overall), kept=kept, floors=sum(one.cut for one in answered))


def _judged(answered: Sequence[TurnAnswer]) -> list[Judged]:
    return [Judged(one.turns, one.question.turns) for one in answered]


def change(before: Sequence[TurnAnswer], after: Sequence[TurnAnswer], measure: Any) -> Paired:
    """How a measure of ir_measures differs between two pipelines; whole conversations are resampled."""
    first, second = (np.array(values(_judged(one), measure)) for one in (before, after))
    conversations = [one.question.conversation for one in before]
    return paired_values(first, second, str(measure), conversations, "conversation")


def answers(
    data: Locomo, pipeline: Pipeline, embedder: Embedder, limit: int = LIMIT, cluster: Cluster | None = None
) -> Iterator[TurnAnswer]:
    """The pipeline's answer to each question, conversation by conversation; one is a task of `cluster`."""
    rooms = list(_rooms(data, embedder))
    answer = partial(_answered, pipeline, limit)
    found = map(answer, rooms) if cluster is None else cluster.map(answer, rooms, what=pipeline.name)
    for some in found:
        yield from some


def _rooms(data: Locomo, embedder: Embedder) -> Iterator[Room]:
    turns = embedder.embed([turn.bullet for turn in data.turns], "passage").vectors.astype(float)
    questions = embedder.embed([one.text for one in data.questions], "query").vectors.astype(float)
    of_turn = np.array([turn.conversation for turn in data.turns], int)
    of_question = np.array([question.conversation for question in data.questions], int)
    for conversation in np.unique(of_question).tolist():
        pool, asked = np.flatnonzero(of_turn == conversation), np.flatnonzero(of_question == conversation)
        # A matrix product rounds equal rows differently, depending on their position; einsum does not.
        similarity = np.einsum("qd,td->qt", questions[asked], turns[pool])
        yield Room([data.questions[i] for i in asked], [data.turns[i] for i in pool], similarity)


@dataclass(frozen=True)
class Room:
    """One conversation: its questions, its turns, and their cosine similarities, shape (questions, turns)."""

    questions: Sequence[LocomoQuestion]
    turns: Sequence[Turn]
    similarity: Floats


def _answered(pipeline: Pipeline, limit: int, room: Room) -> list[TurnAnswer]:
    depth = _stage(pipeline, "vector_leg", VectorLeg).depth.of(limit)
    near = np.argsort(-room.similarity, axis=1, kind="stable")[:, :depth]
    score = _scores(room, near, pipeline)
    best = np.argsort(-score, axis=1, kind="stable")[:, :limit]
    score, places = np.take_along_axis(score, best, 1), np.take_along_axis(near, best, 1)
    floors = _stage(pipeline, "adaptive_floor", AdaptiveFloor).floors(score)
    each = zip(room.questions, places, ~(score < floors[..., None]), floors, strict=True)
    return [
        TurnAnswer(question, tuple(room.turns[i].id for i in found[kept]), not np.isnan(floor))
        for question, found, kept, floor in each
    ]


Kind = TypeVar("Kind")


def _stage(pipeline: Pipeline, slot: str, kind: type[Kind]) -> Kind:
    stage = pipeline[slot]
    if not isinstance(stage, kind):
        raise InputError(
            f"{pipeline.name} is not an AutoMem pipeline.", f"Its {slot} is not {kind.__name__}."
        )
    return stage


def _scores(room: Room, near: NDArray[np.int64], pipeline: Pipeline) -> Floats:
    """The scores of each question's nearest turns, by the pipeline's formulas: (questions, turns)."""
    columns = {
        "vector_raw": 1 - np.take_along_axis(room.similarity, near, 1),
        "vector_rank": np.broadcast_to(np.arange(1.0, near.shape[1] + 1), near.shape),
        **dict.fromkeys(("keyword_raw", "keyword_rank"), np.full(near.shape, np.nan)),
    }
    slots = [stage.slot for stage in pipeline.stages]
    trace = Trace("", pipeline.name, pipeline.stages, rows=near, columns=columns)
    context = TurnsSearch(_observed(room, near, pipeline))
    first, last = slots.index("candidates") + 1, slots.index("fusion") + 1
    return run(trace, context, first, last).columns["score"]


@dataclass(frozen=True)
class TurnsSearch:
    """The context of many searches at once: the columns that the stages read, shape (questions, turns)."""

    known: Mapping[str, Floats]
    limit: float = 0

    @property
    def index(self) -> Index:
        raise InputError("A benchmark of turns has no index.", "Use a pipeline of AutoMem.")

    def vector(self) -> Vector:
        raise InputError("A benchmark of turns has no question to embed.", "Use a pipeline of AutoMem.")

    def observations(self, stage: Observer, trace: Trace) -> Mapping[str, Floats]:
        observed = stage.observed if isinstance(stage, ColumnStage) else ()
        return {name: self.known[name] for name in observed}


def _observed(room: Room, near: NDArray[np.int64], pipeline: Pipeline) -> dict[str, Floats]:
    """The columns that the pipeline's stages read; a turn has a text and a vector, but no front matter."""
    tokens = [query_tokens(question.text) for question in room.questions]
    hits = _token_hits(tokens, room.turns, pipeline)
    absent, none = np.full(near.shape, np.nan), np.zeros(near.shape)
    counts = np.broadcast_to(np.array([[float(len(some))] for some in tokens]), near.shape)
    return {
        "token_hits": np.take_along_axis(hits, near, 1),
        **dict.fromkeys(("tokens", "keyword_tokens"), counts),
        **dict.fromkeys(("keyword_best", "importance", "confidence", "age_days"), absent),
        **dict.fromkeys(("tag_hits", "exact"), none),
    }


def _token_hits(tokens: Sequence[Sequence[str]], turns: Sequence[Turn], pipeline: Pipeline) -> Floats:
    """How many tokens of each question are in each turn, by the pipeline's rule: (questions, turns)."""
    stage = pipeline["keyword_component"]
    if not isinstance(stage, ContentKeyword):
        return np.zeros((len(tokens), len(turns)))
    read = [stage.searched(Memory(f"{turn.speaker}: {turn.text}")) for turn in turns]
    every = {token for some in tokens for token in some}
    has = {token: np.array([token in one for one in read], float) for token in every}
    return np.array([sum((has[token] for token in some), np.zeros(len(turns))) for some in tokens])


ROWS = (
    ("keyword dead, 1x, floor 15 %", automem.DEAD_KEYWORD),
    ("keyword dead, no floor", automem.DEAD_KEYWORD.with_changes(automem.NO_FLOOR)),
    ("token fix only, floor 15 %", automem.DEAD_KEYWORD.with_changes(automem.WHOLE_WORDS)),
    ("token fix + 25 %/guard (#150)", automem.LIVE_KEYWORD),
    ("substring (e59e9ca) + 25 %/guard", automem.SUBSTRING),
    ("#150 + over-fetch 4x (#205)", automem.LIVE_KEYWORD.with_changes(automem.OVERFETCH)),
    ("over-fetch 4x + floor 15 %", automem.LIVE_KEYWORD.with_changes(automem.OVERFETCH, automem.OLD_FLOOR)),
)
"""The pipelines that the lesson compares: each change alone, and together with others."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a line for each of ROWS, and how it differs from the first. Returns 0, or an error's code."""
    from ir_measures import R

    parser = argparse.ArgumentParser(prog="python -m benchmarks.published.automem", description=__doc__)
    parser.add_argument("data", type=Path, help="a file of the form of LoCoMo's locomo10.json")
    parser.add_argument("corrections", type=Path, nargs="?", help="the audit's corrections, in one list")
    given = parser.parse_args(arguments)
    try:
        data = load(given.data, given.corrections)
    except WorkbenchError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    print(f"{'profile':34}    r5   r10   MRR  kept  floor fired     n")
    with stored(LocalEmbedder(reading=Truncated()), given.data) as embedder:
        found = [(name, _with_truth(answers(data, pipeline, embedder))) for name, pipeline in ROWS]
    for name, answered in found:
        print(_line(name, _figures(answered)))
    (first, before), *others = found
    for measure in (R @ 5, R @ 10):
        print(f"\n{measure}, against “{first}”:")
        compared = corrected([change(before, after, measure) for _, after in others])
        for (name, _), one in zip(others, compared, strict=True):
            print(f"{name:34} {one}")
    return 0


def _line(name: str, one: TurnFigures) -> str:
    means = f"{one.recall_5:.3f} {one.recall_10:.3f} {one.mrr:.3f} {one.kept:5.2f}"
    return f"{name:34} {means} {one.floors:12} {one.n:5}"


if __name__ == "__main__":
    sys.exit(main())
