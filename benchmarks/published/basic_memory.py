"""Basic Memory's retrieval benchmark on LoCoMo, with one note per session.

    python -m benchmarks.published.basic_memory locomo.json corrections.json

Source: basicmachines-co/basic-memory, benchmarks/, at cb6bc320. The data are read from a path.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.published.figures import Figures, figures
from benchmarks.published.spread import answers_of_each
from workbench.contracts import Index
from workbench.errors import InputError, WorkbenchError
from workbench.measure.measures import Judged
from workbench.memory.embedding.cache import embed_through_cache
from workbench.memory.embedding.local import Embedder, LocalEmbedder, Role, Truncated
from workbench.memory.files import content_hash
from workbench.memory.index import MemoryIndex
from workbench.memory.index_files import default_index_path
from workbench.memory.sources import Chunker
from workbench.memory.store.contract import Cached, IndexLocation, IndexStore, Settings
from workbench.memory.store.sqlite.store import Store
from workbench.progress import progress_bar
from workbench.records import Document
from workbench.retrieval.index_adapters import CachedIndex
from workbench.retrieval.pipeline import Pipeline, search
from workbench_plugins.basic_memory import pipelines as basic_memory
from workbench_plugins.basic_memory.note_chunkers import BulletChunker, vector_text
from workbench_plugins.basic_memory.notes import NotesLayout, note_of
from workbench_plugins.basic_memory.pipelines import MinSimilarity
from workbench_plugins.runs.collections import Locomo, LocomoQuestion, SessionDocument, load
from workbench_plugins.stores.cluster import Cluster

PROJECT = "bm-bench-run"
HEADLINE = frozenset({1, 2, 3, 4})
"""The categories in the official figure. Category 5, the adversarial questions, is not among them."""

# The measures


def precision_at_k(hits: Sequence[str], truth: Collection[str], k: int) -> float:
    """The share of correct hits among the first k; 0 if there are no hits.

    With fewer than k hits it divides by their number. The usual precision always divides by k.
    """
    first = hits[:k]
    return sum(hit in set(truth) for hit in first) / len(first) if first else 0.0


# The index: one note a session


def session_note(session: SessionDocument) -> Document:
    """A session as a note: its title in the front matter, its turns as bullets."""
    text = f"---\ntitle: {json.dumps(session.title)}\n---\n\n{session.body}"
    return Document(f"{session.id}.md", "memory", text, content_hash(text), len(text.encode()), 0)


@contextmanager
def session_index(
    locomo: Locomo, embedder: Embedder | None = None, path: Path | None = None, chunker: Chunker | None = None
) -> Iterator[MemoryIndex]:
    """An index of all sessions as notes; it also caches the vectors of the questions. See `note_index`."""
    notes = [session_note(session) for session in locomo.documents]
    with note_index(notes, PROJECT, embedder, path, chunker) as index:
        questions = [one.text for one in locomo.questions]
        _vectors(index.store, index.store.settings, index.embedder, "query", questions)
        yield index


@contextmanager
def note_index(
    notes: Sequence[Document],
    project: str,
    embedder: Embedder | None = None,
    path: Path | None = None,
    chunker: Chunker | None = None,
    place: IndexLocation | None = None,
) -> Iterator[MemoryIndex]:
    """An index of notes at `path`, by default in the user's cache folder, or at a new `place` on a server.

    It also caches vectors.

    The defaults are Basic Memory's chunker, and all-MiniLM-L6-v2 with texts truncated after the first window,
    as sentence-transformers does.
    """
    embedder = embedder or LocalEmbedder(reading=Truncated())
    chunker = chunker or BulletChunker()
    settings = Settings(embedder.name, embedder.revision, embedder.dimensions, chunker.name)
    if place:
        with place.rebuilding(settings) as made:
            _fill(made, settings, chunker, embedder, notes, project)
        with place.open() as stored:
            yield MemoryIndex(stored, embedder)
        return
    path = path or default_index_path(Path("/locomo-sessions") / content_hash(repr(settings))[:8])
    path.parent.mkdir(parents=True, exist_ok=True)
    with Store.open(path) if path.exists() else Store.create(path, settings) as store:
        _fill(store, settings, chunker, embedder, notes, project)
        yield MemoryIndex(store, embedder)


def _fill(
    store: IndexStore,
    settings: Settings,
    chunker: Chunker,
    embedder: Embedder,
    notes: Sequence[Document],
    project: str,
) -> None:
    stored = {path: stamp.hash for path, stamp in store.stamps().items()}
    if stored == {note.path: note.hash for note in notes}:
        return
    passages = {note.path: chunker.chunk(vector_text(note_of(note, project))) for note in notes}
    texts = [passage.text for some in passages.values() for passage in some]
    known = _vectors(store, settings, embedder, "passage", texts)
    with store.writing():
        for old in stored:
            store.delete(old)
        for note in notes:
            cut = passages[note.path]
            store.replace(note, cut, [known[passage.hash] for passage in cut])


def _vectors(
    store: IndexStore, settings: Settings, embedder: Embedder, role: Role, texts: Sequence[str]
) -> Mapping[str, Cached]:
    """The vectors of these texts by hash; texts that are not in the cache are embedded and added to it."""
    by_hash = {content_hash(text): text for text in texts}
    with progress_bar(desc=f"embedding, {role}", unit="text") as bar:
        return embed_through_cache(store, settings, embedder, role, by_hash, bar.update)


# The benchmark


@dataclass(frozen=True)
class SessionFigures(Figures):
    """The figures with the benchmark's own precision."""

    precision_5: float


@dataclass(frozen=True)
class SessionAnswer:
    """A question, the returned notes (best first), and whether the keyword leg was empty."""

    question: LocomoQuestion
    hits: tuple[str, ...]
    keyword_empty: bool

    @property
    def judged(self) -> Judged:
        return Judged(self.hits, self.question.documents)


@dataclass(frozen=True)
class Report:
    """The answers of one pipeline to all questions."""

    pipeline: Pipeline
    answered: tuple[SessionAnswer, ...]

    @property
    def overall(self) -> SessionFigures:
        return measured(self.answered)

    @property
    def headline(self) -> SessionFigures:
        """The figures without the adversarial questions."""
        return measured([one for one in self.answered if one.question.category in HEADLINE])

    @property
    def by_category(self) -> dict[int, SessionFigures]:
        """The figures by LoCoMo's category number."""
        numbers = sorted({one.question.category for one in self.answered})
        return {
            number: measured([one for one in self.answered if one.question.category == number])
            for number in numbers
        }

    @property
    def empty_keyword_legs(self) -> int:
        """The number of questions for which the keyword leg found nothing, even after relaxation."""
        return sum(one.keyword_empty for one in self.answered)


def measured(answered: Sequence[SessionAnswer]) -> SessionFigures:
    """The means over these questions; 0 for none."""
    precise = [precision_at_k(one.hits, one.question.documents, 5) for one in answered]
    precision_5 = sum(precise) / len(precise) if precise else 0.0
    return SessionFigures(**vars(figures([one.judged for one in answered])), precision_5=precision_5)


def bench(
    locomo: Locomo, pipeline: Pipeline, least: float, index: Index, cluster: Cluster | None = None
) -> Report:
    """Run all questions on `pipeline`, with a minimum similarity of `least` in its vector leg."""
    asked = as_benched(pipeline, least)
    return Report(asked, tuple(answers_to_sessions(locomo.questions, asked, index, cluster)))


def answers_to_sessions(
    questions: Sequence[LocomoQuestion], pipeline: Pipeline, index: Index, cluster: Cluster | None = None
) -> list[SessionAnswer]:
    """The sessions that a system returns for each question, asked on the workers of `cluster` if given."""
    if cluster is None:
        return [_answer(pipeline, one, index) for one in questions]
    [answered] = answers_of_each(cluster, index, [pipeline], questions, _text_of, _answer)
    return answered


def _text_of(question: LocomoQuestion) -> str:
    return question.text


def _answer(pipeline: Pipeline, question: LocomoQuestion, index: Index) -> SessionAnswer:
    """The answer of a system to one question; also a task of a cluster."""
    trace = search(question.text, pipeline, index)
    hits = tuple(path.removesuffix(".md") for path in trace.paths())
    brought = "keyword" in trace.legs and trace.legs["keyword"].hits.rows.size > 0
    return SessionAnswer(question, hits, not brought)


def as_benched(pipeline: Pipeline, least: float) -> Pipeline:
    """`pipeline` with this minimum similarity, over notes of the benchmark's project."""
    changed = pipeline.with_stage(MinSimilarity(least))
    if not isinstance(changed.layout, NotesLayout):
        raise InputError(f"{pipeline.name} does not search notes.", "Choose one of Basic Memory's pipelines.")
    return replace(changed, layout=replace(changed.layout, project=PROJECT))


ROWS = (
    ("vector only", basic_memory.VECTOR_ONLY),
    ("232f4690 before", basic_memory.DEAD_FTS),
    ("232f4690 before, RRF", basic_memory.SCORED_RRF),
    ("a6d07843 punctuation only", basic_memory.DEAD_FTS.with_changes(basic_memory.PUNCTUATION)),
    ("a6d07843 relaxed, ungated", basic_memory.UNGATED),
    ("16869867 gated", basic_memory.GATED),
    ("16869867 gated, RRF", basic_memory.GATED.with_changes(basic_memory.RANKS_AGAIN)),
    ("a2f5edfa", basic_memory.CJK_REGRESS),
    ("a2f5edfa, one MATCH", basic_memory.ONE_MATCH),
    ("1f56fc76", basic_memory.HEAD),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a line for each variant and minimum similarity. Returns 0, or the exit code of an error."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.published.basic_memory")
    parser.add_argument("locomo", type=Path)
    parser.add_argument("corrections", type=Path, nargs="?")
    parser.add_argument("--min-similarity", type=float, nargs="+", default=[0.0, 0.3, 0.55])
    given = parser.parse_args(arguments)
    try:
        _print_table(load(given.locomo, given.corrections), given.min_similarity)
    except WorkbenchError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


def _print_table(locomo: Locomo, minima: Sequence[float]) -> None:
    with session_index(locomo) as opened:
        index = CachedIndex(opened)
        print(f"{len(locomo.documents)} notes, {index.size} chunks, {len(locomo.questions)} questions")
        for least in minima:
            print(f"min similarity {least:g}: recall@5, recall@10, MRR, empty keyword legs (r@5 by category)")
            for name, pipeline in ROWS:
                print(line(name, bench(locomo, pipeline, least, index)), flush=True)


def line(name: str, report: Report) -> str:
    """One line of the table; it ends with recall@5 by category."""
    one = report.overall
    by_category = ", ".join(f"{number}: {part.recall_5:.3f}" for number, part in report.by_category.items())
    return (
        f"{name:26} {one.recall_5:.3f} / {one.recall_10:.3f} / {one.mrr:.3f}"
        f"  {report.empty_keyword_legs:5}  ({by_category})"
    )


if __name__ == "__main__":
    sys.exit(main())
