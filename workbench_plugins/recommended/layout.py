"""An index laid out in passages: stems, and vectors of words and passages that know where they stand."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.contracts import Index
from workbench.memory.choices import index_home
from workbench.memory.embedding.local import Embedder, LocalEmbedder
from workbench.memory.store.sqlite.location import words_file
from workbench.records import Clause, Floats, Hits, Query, Rows, Vector
from workbench.retrieval.index_adapters import IndexAdapter, adapted, innermost, memoized
from workbench.retrieval.proper_nouns import is_name
from workbench.retrieval.query import unicode_words
from workbench.stop_words import STOP_WORDS
from workbench_plugins.recommended.identifiers import identifiers_in, paths_with
from workbench_plugins.recommended.keywords import StemTable, content_stems, porter_stems, question_stems
from workbench_plugins.recommended.passage_index import HeldWords, Passages, WordEmbedder
from workbench_plugins.recommended.passage_windows import lines_of, outline
from workbench_plugins.recommended.spelling import corrections
from workbench_plugins.recommended.stored_passages import passages_in
from workbench_plugins.recommended.words import AskedWords, Codes, asked_words, best_matches
from workbench_plugins.recommended.words import cosines as passage_cosines

Numbers = NDArray[np.float32]


class KnownNumbers:
    """Numbers of chunks for each question, computed once; those of a chunk depend on no other chunk."""

    def __init__(self) -> None:
        self._known: dict[Hashable, dict[int, Numbers]] = {}

    def of(self, question: Hashable, rows: Rows, work_out: Callable[[Rows], Numbers]) -> Numbers:
        """The numbers of these chunks: (chunks, ...). `work_out` computes those that are not known."""
        known = self._known.setdefault(question, {})
        new = [row for row in rows.tolist() if row not in known]
        known.update(zip(new, work_out(np.array(new, np.int64)) if new else [], strict=True))
        return np.array([known[row] for row in rows.tolist()], np.float32)


class WordMatches(NamedTuple):
    """How well chunks have the words of a question: a number for each chunk.

    `chunk` is the mean, by rarity, of the best cosine of each word in the chunk, and `file` the same over all
    chunks of its file that are asked for. `rare` is the lower of the two rarest words' best cosines.
    """

    chunk: Floats
    file: Floats
    rare: Floats


RARE = 2
"""How many of a question's words count as its rare ones."""
MOST_NAMED = 60
"""Chunks of files that an identifier names. A path of many files can have it, such as that of a version."""
MOST_READ = 30
"""Chunks with a word that are read to find out whether it is a name."""
COMMON = 1e-3
"""What a word that every file has still weighs, so that a question of such words alone has weights, too."""


class PassageIndex(IndexAdapter):
    """An index whose keyword leg counts stems, and which has words and passages of its chunks."""

    def __init__(self, inner: Index, passages: Passages) -> None:
        super().__init__(inner)
        self.passages = passages
        self._asked: dict[str, AskedWords] = {}
        self._cosines, self._matches = KnownNumbers(), KnownNumbers()

    @property
    def model(self) -> str:
        """The model and the version of its weights; empty without a model on this machine."""
        embedder = word_embedder(self)
        return "" if embedder is None else f"{embedder.name} {embedder.revision.partition('/')[0]}"

    @property
    def newly_read(self) -> int:
        return self.passages.newly_read

    @property
    def left_out(self) -> Sequence[str]:
        return self.passages.remarks

    def compiled(self, query: Query) -> str:
        """The stems that are looked up, joined with the query's operator."""
        return query.expression or f" {query.operator} ".join(_stems_of(query))

    def keyword(self, query: Query, limit: int) -> Hits:
        """The best chunks by BM25 over stems; larger is better."""
        if query.expression is not None:
            return self.inner.keyword(query, limit)
        stems, table = _stems_of(query), self.passages.chunk_stems
        scores = table.scores(stems)
        every_or_any = np.logical_and if query.operator == "AND" else np.logical_or
        has = table.having if content_stems(_words_of(query)) else self._texts_having
        found = every_or_any.reduce([has(stem) for stem in stems])
        having = np.flatnonzero(found)
        best = having[_largest(scores[having], limit)]
        return Hits(self.passages.rows[best], scores[best], larger_is_better=True)

    def _texts_having(self, stem: str) -> NDArray[np.bool_]:
        """Which texts have a function word; the table does not count them."""
        return np.array(
            [stem in porter_stems(chunk.text) for chunk in self.inner.chunks(self.passages.rows)], bool
        )

    def vector(self, query: Vector, limit: int) -> Hits:
        """The nearest chunks by the mean of their passages; without a model here, by their own vectors."""
        scan = self.passages.scan
        return self.inner.vector(query, limit) if scan is None else scan.nearest(query, limit)

    @property
    def has_means(self) -> bool:
        """Whether the vector leg compares the means of passages, and not the chunks' own vectors."""
        return self.passages.scan is not None

    # What the stages observe

    def corrections(self, question: str) -> dict[str, str]:
        """The misspelt words of a question, each with the word of the notes for which it stands.

        None without a model on this machine, which tells rare words from misspelt ones.
        """
        embedder = word_embedder(self)
        if not isinstance(embedder, LocalEmbedder):
            return {}
        return corrections(
            question,
            lambda word: word.lower() in STOP_WORDS or any(map(embedder.knows, {word, word.lower()})),
            lambda word: any(map(self._is_known, porter_stems(word))),
            self._count_of_word,
        )

    def rows_named(self, question: str) -> Rows:
        """The chunks of files whose path has an identifier of the question: at most MOST_NAMED of them."""
        if not identifiers_in(question):
            return np.empty(0, np.int64)
        paths = memoized(self.inner, "paths", self.inner.paths)
        rows = (self.inner.rows_of(path) for path in paths_with(question, paths))
        return np.fromiter(islice(chain.from_iterable(rows), MOST_NAMED), np.int64)

    def _count_of_word(self, word: str) -> int:
        """In how many chunks a word stands, in any form; 0 if it does not stand in this form anywhere."""
        count = max(map(self._count, content_stems(word)), default=0)
        return count if count and self.inner.keyword(Query((Clause(word),)), 1).rows.size else 0

    def _is_known(self, stem: str) -> bool:
        """Whether a chunk has a stem, or the title or the path of a file."""
        return bool(self._count(stem) or self.passages.title_stems.postings(stem)[0].size)

    def _count(self, stem: str) -> int:
        return int(self.passages.chunk_stems.postings(stem)[0].size)

    def keyword_scores(self, question: str, rows: Rows) -> tuple[Floats, float]:
        """BM25 of each of these chunks for a question, and the most that a chunk could score."""
        return _scored(self.passages.chunk_stems, question, self.passages.ordinals(rows))

    def file_scores(self, question: str, rows: Rows) -> tuple[Floats, float]:
        """BM25 of the whole file of each of these chunks, and the most that a file could score."""
        return _scored(self.passages.file_stems, question, self._files(rows))

    def title_shares(self, question: str, rows: Rows) -> Floats:
        """The share of the question's words, by their rarity in the files, that title and path have."""
        stems = question_stems(question)
        weights = np.array([self.passages.file_stems.idf(stem) for stem in stems])
        files = self._files(rows)
        has = np.array([self.passages.title_stems.having(stem)[files] for stem in stems], float)
        return np.asarray(weights @ has.reshape(len(stems), files.size) / (weights.sum() or 1.0))

    def link_shares(self, question: str, rows: Rows) -> Floats:
        """The largest share of the question's words, by their rarity, in a line that links to the file.

        It is 0 for a file to which no other file links.
        """
        weights = self._weights(question)
        files, owners = np.unique(self._files(rows), return_inverse=True)
        best = [self._best_line(file, weights)[0] for file in files.tolist()]
        return np.array(best, float)[owners] / (sum(weights.values()) or 1.0)

    def link_places(self, question: str, rows: Rows) -> list[str]:
        """Where the line stands that `link_shares` has found, for each of these chunks; empty for 0."""
        weights, files = self._weights(question), self._files(rows).tolist()
        places = {file: self._link_place(file, weights) for file in dict.fromkeys(files)}
        return [places[file] for file in files]

    def _link_place(self, file: int, weights: Mapping[str, float]) -> str:
        weight, stems = self._best_line(file, weights)
        if not weight:
            return ""
        path = self.passages.links.lines_to(file)[stems]
        lines = lines_of(self.inner.chunks(self.inner.rows_of(path)))
        return self.passages.links.place(file, stems, path, lines)

    def _best_line(self, file: int, weights: Mapping[str, float]) -> tuple[float, frozenset[str]]:
        """The most that a line which links to a file has of these weights, and the stems of the line."""
        lines = ((_weight_in(line, weights), line) for line in self.passages.links.lines_to(file))
        return max(lines, key=lambda one: one[0], default=(0.0, frozenset()))

    def _weights(self, question: str) -> dict[str, float]:
        """The stems of a question with their rarity in the files."""
        return {stem: self.passages.file_stems.idf(stem) for stem in question_stems(question)}

    def cosines(self, question: Vector, rows: Rows) -> Floats:
        """The cosine of the best passage of each of these chunks; NaN without a model, -1 without words."""
        words = self.passages.words
        if words is None:
            return np.full(rows.size, np.nan)

        def work_out(new: Rows) -> NDArray[np.float32]:
            read = words.of(self.passages.ordinals(new))
            some = np.flatnonzero(np.diff(read.passages))
            found = np.full(new.size, -1, np.float32)
            if some.size:
                each = passage_cosines(question, read.passage_codes)
                found[some] = np.maximum.reduceat(each, read.passages[some])
            return found

        return self._cosines.of(question.tobytes(), rows, work_out).astype(float)

    def file_cosines(self, question: Vector, rows: Rows) -> Floats:
        """For each of these chunks the highest cosine of the mean of passages of any chunk of its file.

        NaN without a model on this machine, and for a file without passages.
        """
        scan, every = self.passages.scan, np.full(rows.size, np.nan)
        if scan is None or not rows.size:
            return every
        files, of_vectors = self._files(rows), self._files(scan.rows)
        some = np.flatnonzero(np.isin(of_vectors, files))
        best = np.full(self.passages.file_stems.size, np.nan)
        cosines = np.einsum("ij,j->i", scan.vectors[some], question)  # BLAS would depend on their number
        np.fmax.at(best, of_vectors[some], cosines.astype(float))
        return best[files]

    def word_matches(self, question: str, rows: Rows) -> WordMatches:
        """How well each of these chunks has the question's content words, and how well its file has them.

        Each word of the question looks for its best word in the chunk (MaxSim), and weighs the root of its
        rarity in the files. All are NaN without a model here, and 0 for a chunk without words.
        """
        words, asked = self.passages.words, self.question_words(question)
        if words is None or asked is None or not rows.size:
            return WordMatches(*np.full((3, rows.size), np.nan))
        weights = np.array([self._rarity(word) for word in asked.texts])

        def work_out(new: Rows) -> NDArray[np.float32]:
            read = words.of(self.passages.ordinals(new))
            some = np.flatnonzero(np.diff(read.words))
            found = np.full((new.size, len(asked.pieces)), np.nan, np.float32)  # NaN: a chunk without words
            found[some] = best_matches(asked.pieces, read.codes, read.words[some])
            return found

        every = self._matches.of(question, rows, work_out)
        some = np.flatnonzero(~np.isnan(every).any(axis=1))
        members = np.equal.outer(asked.owners, np.arange(weights.size)).astype(float)
        cosine = np.zeros((rows.size, weights.size))
        cosine[some] = every[some] @ (members / members.sum(axis=0))
        rare = np.argsort(-weights, kind="stable")[:RARE]
        roots = np.sqrt(weights) + COMMON
        shares = roots / roots.sum()
        of_file = best_of_group(cosine, self._files(rows))
        return WordMatches(cosine @ shares, of_file @ shares, cosine[:, rare].min(axis=1))

    def _rarity(self, word: str) -> float:
        """The IDF of a word over the files, by its rarest stem; 0 for a function word."""
        return max(map(self.passages.file_stems.idf, content_stems(word)), default=0.0)

    def name_lead(self, question: str, path: str) -> float:
        """How much better a line of a file has the question's other words than one with its name, 0 to 1.

        A near miss asks one person for what another one said. So the shares, by rarity, of the words that are
        no names are compared: the most that a line has, and the most that a line has which has a name itself,
        in its headings, or in the title or path of the file. 0 for a question without a name, or of names
        alone. An identifier is no name: nobody else has it.
        """
        rows, names = self.inner.rows_of(path), self._names_in(_without_identifiers(question))
        other = [stem for stem in question_stems(question) if stem not in names]
        weights = {stem: self.passages.file_stems.idf(stem) for stem in other}
        titled = [self.passages.title_stems.having(stem)[self._files(rows[:1])].any() for stem in names]
        if not names or any(titled) or not any(weights.values()):
            return 0.0
        chunks = self.inner.chunks(rows)
        headings, most, named = outline(path, chunks).headings, 0.0, 0.0
        for number, line in lines_of(chunks).items():
            stems = set(content_stems(line))
            share = sum(weights[stem] for stem in weights.keys() & stems)
            most = max(most, share)
            if names & stems.union(content_stems(" ".join(headings[number]))):
                named = max(named, share)
        return (most - named) / sum(weights.values())

    def _names_in(self, question: str) -> set[str]:
        """The stems of the question's words that the memory writes as names."""
        table, found = self.passages.chunk_stems, set()
        for word in unicode_words(question.lower()):
            stems = content_stems(word)
            ordinals = [
                ordinal for stem in stems for ordinal in np.flatnonzero(table.having(stem))[:MOST_READ]
            ]
            chunks = self.inner.chunks(self.passages.rows[ordinals]) if ordinals else []
            if is_name(word, [chunk.text for chunk in chunks]):
                found.update(stems)
        return found

    def question_words(self, question: str) -> AskedWords | None:
        """The question's content words with their vectors; None without a model on this machine."""
        embedder = word_embedder(self)
        if embedder is None:
            return None
        if not isinstance(embedder, LocalEmbedder):
            return embedder.question_words(question)
        if question not in self._asked:
            self._asked[question] = asked_words(embedder, question)
        return self._asked[question]

    def read_of(self, row: int) -> tuple[Codes, Codes] | None:
        """The codes of a chunk's words and of its passages; None without them."""
        words = self.passages.words
        if words is None:
            return None
        read = words.of(self.passages.ordinals(np.array([row], np.int64)))
        return read.codes, read.passage_codes

    def _files(self, rows: Rows) -> NDArray[np.int64]:
        return self.passages.files[self.passages.ordinals(rows)]


def _without_identifiers(question: str) -> str:
    for one in identifiers_in(question):
        question = question.replace(one, " ")
    return question


def _weight_in(line: Collection[str], weights: Mapping[str, float]) -> float:
    """The weights of the stems that a line has."""
    return sum(weight for stem, weight in weights.items() if stem in line)


def best_of_group(numbers: Floats, groups: NDArray[np.int64]) -> Floats:
    """For each row the largest number of each column among the rows of its group."""
    known, group = np.unique(groups, return_inverse=True)
    best = np.full((known.size, numbers.shape[1]), -np.inf)
    np.maximum.at(best, group, numbers)
    return best[group]


def _largest(numbers: Floats, count: int) -> NDArray[np.int64]:
    """The ordinals of so many of the largest numbers, the largest first, equal ones in their order."""
    edge = np.partition(numbers, -count)[-count] if 0 < count < numbers.size else -np.inf
    near = np.flatnonzero(numbers >= edge)
    return near[np.argsort(-numbers[near], kind="stable")[:count]]


def _scored(table: StemTable, question: str, ordinals: NDArray[np.int64]) -> tuple[Floats, float]:
    stems = question_stems(question)
    return table.scores(stems)[ordinals], table.most(stems)


def _words_of(query: Query) -> str:
    return " ".join(clause.text for clause in query.clauses)


def _stems_of(query: Query) -> list[str]:
    return question_stems(_words_of(query))


def word_embedder(index: Index) -> WordEmbedder | None:
    """The model of an index, if it runs on this machine, or what the index holds of its reading."""
    embedder: Embedder | None = getattr(innermost(index), "embedder", None)
    return embedder if isinstance(embedder, LocalEmbedder | HeldWords) else None


def passages_of(index: Index) -> PassageIndex | None:
    """The passages of an index that is laid out in passages; None for another."""
    return adapted(index, PassageIndex)


def cache_of(index: Index) -> Path:
    """The file of an index's word vectors: beside the index, or in the user's cache folder."""
    name = index.name
    if Path(name).is_file():
        return words_file(Path(name))
    return index_home() / f"words-{hashlib.sha256(name.encode()).hexdigest()[:12]}"


@dataclass(frozen=True)
class PassagesLayout:
    """Passages beside an index: stems, and with a model on this machine vectors of words and passages."""

    description = (
        "stems of chunks, files and titles; with a model on this machine also the vectors of words and "
        "passages, read with title, headings and speakers in front; a chunk's vector is their mean"
    )
    unit = "passages"
    has_vectors = True
    """A search compares the means of passages, so an index may leave its chunks' own vectors for later."""

    def of(self, index: Index) -> Index:
        """The index in passages, arranged once for each generation; the first time takes a while."""
        arranged = memoized(index, self, lambda: passages_in(index, word_embedder(index), cache_of(index)))
        return PassageIndex(index, arranged)
