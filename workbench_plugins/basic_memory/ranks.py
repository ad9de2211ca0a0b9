"""The full-text search of Basic Memory 0.23.2 and 0.24.1 on PostgreSQL: the greatest of three ranks.

A note is its title and content_stems in one tsvector, and its body in pieces. Each word of the question is
looked up in both. The words that a note has become a tsvector of their own, which the whole query must match.
The statements were seen in the log of a server that the releases used.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from workbench.contracts import Context, Index
from workbench.errors import InputError
from workbench.memory.whole_files import whole_documents
from workbench.records import Clause, Hits, Query, Rows, Trace
from workbench.retrieval.index_adapters import IndexAdapter, memoized
from workbench.retrieval.query import with_query
from workbench_plugins.basic_memory.ngram_search import (
    has_own_syntax,
    ngrams,
    pairs,
    runs,
    words_beside_scripts,
)
from workbench_plugins.basic_memory.notes import EachColumn, Note, NotesLayout, note_of
from workbench_plugins.basic_memory.query_preparation import (
    POSTGRES_EDGES,
    AnyToken,
    AnyUnicodeToken,
    PunctuationMakesAPhrase,
    any_lexeme,
    any_prefix,
    is_boolean,
    strict_tsquery,
)
from workbench_plugins.stores.pipelines import TextIndex, text_table
from workbench_plugins.stores.tsquery import quoted, tsquery

if TYPE_CHECKING:
    from workbench_plugins.stores.postgres import PostgresTexts

CONFIG, RANK = "english", "ts_rank"
PIECE, OVERLAP = 8_000, 2_048
"""Characters of a piece of a body, and those that the next piece begins with again."""

SEARCH_SQL = """
    WITH owned AS (
        SELECT id, note, words
        FROM texts JOIN unnest(%(ids)s::bigint[], %(notes)s::bigint[]) AS one (id, note) USING (id)
    ), held AS (
        SELECT DISTINCT note, said, place FROM owned,
            unnest(%(asked)s::text[], %(said)s::text[]) WITH ORDINALITY AS operand (asked, said, place)
        WHERE words @@ to_tsquery('english', asked)
    ), matched AS (
        SELECT note, to_tsvector('english', string_agg(said, ' ' ORDER BY place)) AS words
        FROM held GROUP BY note
    ), noted AS (
        SELECT id, key, texts.words AS whole, coalesce(matched.words, '') AS words, note IS NOT NULL AS found
        FROM texts LEFT JOIN matched ON note = id WHERE id < %(size)s
    )
    SELECT id, greatest(ts_rank(words, query), ts_rank(whole, query), coalesce((
        SELECT max(ts_rank(owned.words, query)) FROM owned
        WHERE note = noted.id AND owned.id <> noted.id AND owned.words @@ query
    ), 0)) AS raw
    FROM noted, to_tsquery('english', %(query)s) AS query
    WHERE words @@ query AND (found OR querytree(query) = 'T')
"""
NGRAMS_SQL = """
    SELECT note, greatest(
        max(ts_rank(words, query)) FILTER (WHERE id = note),
        max(ts_rank(words, query)) FILTER (WHERE words @@ query)
    ) AS raw
    FROM texts JOIN unnest(%(ids)s::bigint[], %(notes)s::bigint[]) AS one (id, note) USING (id),
        to_tsquery('simple', %(query)s) AS query
    GROUP BY note HAVING bool_or(words @@ query)
"""


@dataclass(frozen=True, slots=True)
class WithOperands(Query):
    """A query for to_tsquery with the words that are looked up one by one."""

    operands: tuple[Clause, ...] = ()
    phrases: tuple[str, ...] = ()
    """Phrases of n-grams, which a note must have, too. Since 0.24."""


def operands(expression: str) -> tuple[Clause, ...]:
    """The words of an expression for to_tsquery, each once.

    >>> [one.text for one in operands("(pour:* | french) & !press")]
    ['pour', 'french', 'press']
    """
    parts = (part.strip() for part in re.split(r"[&|!()]", expression))
    words = (Clause(part.removesuffix(":*"), prefix=part.endswith(":*")) for part in parts if part)
    return tuple(dict.fromkeys(words))


def pieces(body: str) -> Iterator[str]:
    """The body in pieces of at most `PIECE` characters, each with the end of the one before.

    >>> [len(one) for one in pieces("a" * 8_391)], len([*pieces("a" * 8_000)]), [*pieces("")]
    ([8000, 2439], 1, [])
    """
    for start in range(0, len(body), PIECE - OVERLAP):
        if start == 0 or start + OVERLAP < len(body):
            yield body[start : start + PIECE]


@dataclass(frozen=True)
class NoteTable:
    """The tables of the notes and of the pieces of their bodies, and the note of each row."""

    table: PostgresTexts
    ngrams: PostgresTexts
    notes: Rows
    size: int


class RankedNoteIndex(TextIndex):
    """Whole notes by the greatest of three ranks; a query that the server cannot read finds nothing."""

    def __init__(self, inner: Index, kept: NoteTable) -> None:
        super().__init__(inner, kept.table, np.arange(kept.size), "to_tsquery", RANK)
        self._kept = kept

    def keyword(self, query: Query, limit: int) -> Hits:
        try:
            ranks = self._ranks(query)
        except InputError:
            ranks = {}
        best = sorted(ranks, key=lambda row: (-ranks[row], row))[:limit]
        rows, raw = np.array(best, np.int64), np.array([ranks[row] for row in best], float)
        return Hits(rows, raw, larger_is_better=True, number=RANK)

    def _ranks(self, query: Query) -> Mapping[int, float]:
        given = query if isinstance(query, WithOperands) else WithOperands(operands=query.clauses)
        ranks: Mapping[int, float] = dict.fromkeys(range(self._kept.size), 0.0)
        if not given.phrases or query.expression:
            ranks = self._asked(self._kept.table, SEARCH_SQL, tsquery(query), given.operands)
        for phrase in given.phrases:
            found = self._asked(self._kept.ngrams, NGRAMS_SQL, phrase)
            ranks = {row: ranks[row] + found[row] for row in ranks.keys() & found.keys()}
        return ranks

    def _asked(
        self, table: PostgresTexts, statement: str, query: str, asked: Sequence[Clause] = ()
    ) -> Mapping[int, float]:
        values = {
            "ids": list(range(self._kept.notes.size)),
            "notes": self._kept.notes.tolist(),
            "size": self._kept.size,
            "asked": [tsquery(Query((one,))) for one in asked],
            "said": [one.text for one in asked],
            "query": query.replace("\0", " "),
        }
        return dict(table.rows(statement, values))


@dataclass(frozen=True)
class RankedNotesLayout:
    """Whole notes: title and content_stems in one tsvector, and the body in pieces."""

    server: ClassVar[bool] = True
    project: str = "main"
    ngrams: bool = False
    """Whether the table has the n-grams of scripts without spaces."""

    @property
    def description(self) -> str:
        return (
            f"whole notes of the project {self.project}, title and content_stems in a tsvector of {CONFIG}, "
            f"and the body in pieces of {PIECE:,} characters"
        )

    def texts(self, note: Note) -> Sequence[str]:
        """The text of a note's row, and the pieces of its body."""
        return [f"{note.title} {note.content_stems}", *pieces(note.content_snippet)]

    def of(self, index: Index) -> Index:
        """The index as notes, arranged once for each generation."""
        documents = whole_documents(index, self)
        inner = NotesLayout(EachColumn(), self.project).of(index)

        def build() -> NoteTable:
            texts = [self.texts(note_of(document, self.project)) for document in documents]
            rows = [(row, text) for row, (text, *_) in enumerate(texts)]
            rows += [(row, text) for row, (_, *some) in enumerate(texts) for text in some]
            keys = [f"{documents[row].path}#{number}" for number, (row, _) in enumerate(rows)]
            table = text_table(index, self.description, keys, [text for _, text in rows], CONFIG)
            grams = [ngrams(text) if self.ngrams else "" for _, text in rows]
            beside = text_table(index, self.description, keys, grams, "simple")
            return NoteTable(table, beside, np.array([row for row, _ in rows], np.int64), len(documents))

        assert isinstance(inner, IndexAdapter)
        return RankedNoteIndex(inner, memoized(index, (type(self), self.project, self.ngrams), build))


def padded_tsquery(question: str) -> str:
    """`strict_tsquery`, where an operator may also stand at an end of the question.

    A query that begins with one is not valid, and finds nothing.

    >>> padded_tsquery("NOT sugar"), padded_tsquery("who asks?")
    ('& !sugar', 'who:* & asks:*')
    """
    padded = f" {question} "
    return strict_tsquery(padded, POSTGRES_EDGES).strip()


@dataclass(frozen=True)
class EachOperand(PunctuationMakesAPhrase):
    """The strict query for to_tsquery, with the words of a second try among its operands."""

    parentheses: bool = True

    @property
    def description(self) -> str:
        return f"tsquery = every word without {POSTGRES_EDGES} at its ends, as a prefix, joined with &"

    def run(self, trace: Trace, context: Context) -> Trace:
        strict = padded_tsquery(trace.question)
        words = operands(strict)
        again = AnyOperand(self.parentheses).words(trace.question) or []
        return with_query(trace, context, WithOperands(words, "AND", strict, _looked_up(words, again)))


def _looked_up(strict: Sequence[Clause], again: Sequence[str]) -> tuple[Clause, ...]:
    """The words of the strict query, then those of the second try, each once."""
    return tuple(dict.fromkeys([*strict, *(Clause(word, prefix=True) for word in again)]))


@dataclass(frozen=True)
class AnyOperand(AnyUnicodeToken):
    """`AnyUnicodeToken` for to_tsquery; the words of the strict query stay among the operands."""

    def query(self, query: str | None) -> Query | None:
        if query is None or not (words := self.words(query)):
            return None
        asked = _looked_up(operands(padded_tsquery(query)), words)
        return WithOperands(any_prefix(words).clauses, "OR", any_lexeme(words), asked)


@dataclass(frozen=True)
class EachOperandOrPhrase(EachOperand):
    """The strict query of 0.24.1: quoted words together, operators at an end left out, and n-grams."""

    def run(self, trace: Trace, context: Context) -> Trace:
        question = trace.question
        phrases = () if has_own_syntax(question) else ngram_phrases(question)
        if phrases:
            lexical = " ".join(words_beside_scripts(question))
            strict = strict_tsquery(lexical, POSTGRES_EDGES, nothing="")
            asked = operands(strict)
            return with_query(trace, context, WithOperands(asked, "AND", strict, asked, phrases))
        strict = trimmed_tsquery(question)
        asked = _looked_up(operands(strict), AnyOperandOrPhrase(self.parentheses).words(question) or [])
        return with_query(trace, context, WithOperands(operands(strict), "AND", strict, asked))


ENDS = re.compile(r"^\s*(?:(?:AND|OR)\s+)+|(?:\s+(?:AND|OR|NOT))+\s*$|^\s*(?:AND|OR|NOT)\s*$")


def trimmed_tsquery(question: str) -> str:
    """The strict text for to_tsquery of 0.24.1.

    >>> trimmed_tsquery('"support group" tea'), trimmed_tsquery("tea AND NOT milk OR")
    ('(support & group) & tea', 'tea & !milk')
    >>> trimmed_tsquery("run* shoes & €"), trimmed_tsquery('("spare key" OR milk) NOT "tea"')
    ('run:* & shoes:*', '((spare & key) | milk) & !(tea)')
    """
    if '"' in question:
        signed = re.sub(r'"([^"]*)"|\b(AND|OR|NOT)\b', _phrase_or_sign, question)
        return re.sub(r"(?<=[^\s&|!(])\s+(?=[^\s&|)])", " & ", signed.strip()).replace("! ", "!")
    inner = ENDS.sub("", question)
    if is_boolean(f" {inner} "):
        return (
            strict_tsquery(f" {inner} ".replace(" AND NOT ", " NOT "), POSTGRES_EDGES)
            .replace("& & !", "& !")
            .strip()
            .removeprefix("& ")
        )
    if inner.split() == [inner] and "*" in inner:
        return strict_tsquery(inner)
    kept = (one.replace("*", "") for one in inner.split() if any(map(str.isalnum, one)))
    return strict_tsquery(" ".join(kept), POSTGRES_EDGES)


def _phrase_or_sign(found: re.Match[str]) -> str:
    """A quoted phrase as its words in parentheses, and an operator as its sign."""
    words, operator = found.groups()
    return {"AND": "&", "OR": "|", "NOT": "!"}.get(operator) or f"({' & '.join(words.split())})"


@dataclass(frozen=True)
class AnyOperandOrPhrase(AnyOperand):
    """`AnyOperand` of 0.24.1; the phrases stay required."""

    def cjk_tokens(self, query: str) -> list[str]:
        return AnyToken.cjk_tokens(self, query)

    def query(self, query: str | None) -> Query | None:
        if query is None or not (words := self.words(query)):
            return None
        phrases = () if has_own_syntax(query) else ngram_phrases(query)
        if phrases and not words_beside_scripts(query):
            return None
        strict = strict_tsquery(" ".join(words_beside_scripts(query))) if phrases else trimmed_tsquery(query)
        asked = operands(strict) if phrases else _looked_up(operands(strict), words)
        return WithOperands(any_prefix(words).clauses, "OR", any_lexeme(words), asked, phrases)


def ngram_phrases(text: str) -> tuple[str, ...]:
    """The runs of a text as phrases for to_tsquery.

    >>> print(*ngram_phrases("お茶の価格 2026年"))
    'お茶' <-> '茶の' <-> 'の価' <-> '価格' '年'
    """
    phrases = (" <-> ".join(map(quoted, pairs(run) or run)) for run in runs(text))
    return tuple(dict.fromkeys(phrases))
