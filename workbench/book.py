"""Hybrid search from beginning to end, in one file that is read from top to bottom.

Notes are cut into chunks. A full-text index and one vector a chunk make them searchable. A question is
asked twice: the keyword leg looks for its words, and the vector leg for its meaning. The two lists are fused
into one score. A floor and a limit then decide what is returned.

The defaults are those of OpenClaw 2026.2.13, with the three bugs of its report openclaw#16021. Each bug is
the default of one argument of `search`, and each has a repair:

1. `join="AND"`: every word of the question must be in the chunk. `"OR"` asks for any of them.
2. `fuse=weighted_sum`: a leg that found nothing counts as a score of 0. `rank_fusion` adds nothing for it.
3. `keyword_score=clamped`: every match scores 1. `min_max` stretches the scores from 0 to 1.

This file needs Python's sqlite3 with FTS5, and NumPy. `embed` is any function that turns a list of texts
into unit vectors, shape (texts, dimensions). No other module of the workbench uses this file: it is here to
be read, and a test compares it with the workbench, list by list and score by score.

    index = build({"tea.md": "A cup of rooibos."}, embed, model="my-model")
    for candidate in cut(search(index, "what is in the cup", join="OR")):
        print(explain(candidate))
"""

from __future__ import annotations

import hashlib
import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
Embed = Callable[[Sequence[str]], NDArray[np.float32]]

ABSENT = np.nan
"""What a column holds where a leg did not bring the chunk. It is not 0: nobody has measured a 0."""


# 1. A note becomes chunks


@dataclass(frozen=True)
class Chunk:
    """A piece of a note: lines count from 1, and both ends belong to it."""

    id: str
    path: str
    start_line: int
    end_line: int
    text: str


def chunks_of(path: str, text: str, model: str, tokens: int = 400, overlap: int = 80) -> Iterator[Chunk]:
    """The chunks of a note: whole lines, about `tokens` × 4 characters. The next chunk repeats some lines."""
    budget = max(32, tokens * 4)
    lines: list[tuple[int, str]] = []  # the lines of the chunk that is being filled, with their numbers
    for number, line in enumerate(text.split("\n"), 1):
        for piece in pieces(line, budget):
            if lines and size(lines) + length(piece) + 1 > budget:
                yield from chunk_of(path, lines, model)
                lines = tail(lines, overlap * 4)
            lines.append((number, piece))
    yield from chunk_of(path, lines, model)


def length(text: str) -> int:
    """The length in UTF-16 units, as JavaScript counts it: a character outside of the first plane is two."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def size(lines: Sequence[tuple[int, str]]) -> int:
    """The length of some lines, each with the end of its line."""
    return sum(length(text) + 1 for _, text in lines)


def pieces(line: str, budget: int) -> Iterator[str]:
    """A line that is too long for one chunk, in pieces; a character that is cut in two becomes U+FFFD."""
    data = line.encode("utf-16-le", "surrogatepass")
    for start in range(0, max(1, len(data)), budget * 2):
        piece = data[start : start + budget * 2].decode("utf-16-le", "surrogatepass")
        yield re.sub("[\ud800-\udfff]", "\ufffd", piece) if len(data) > budget * 2 else piece


def tail(lines: list[tuple[int, str]], least: int) -> list[tuple[int, str]]:
    """The last lines of a chunk, as many as reach the overlap: the next chunk begins with them."""
    first = len(lines)
    while first > 0 and size(lines[first:]) < least:
        first -= 1
    return lines[first:]


def chunk_of(path: str, lines: Sequence[tuple[int, str]], model: str) -> Iterator[Chunk]:
    """These lines as a chunk, unless they are blank."""
    text, start, end = "\n".join(text for _, text in lines), lines[0][0], lines[-1][0]
    if text.strip():
        # The id names all that a chunk is made of. The model is part of it: another one has other vectors.
        hash_ = hashlib.sha256(text.encode()).hexdigest()
        key = f"memory:{path}:{start}:{end}:{hash_}:{model}"
        yield Chunk(hashlib.sha256(key.encode()).hexdigest(), path, start, end, text)


# 2. Chunks become an index


@dataclass(frozen=True)
class Index:
    """A full-text table and the vectors: row i of the table is `chunks[i]`, with the vector `vectors[i]`."""

    words: sqlite3.Connection
    chunks: list[Chunk]
    vectors: NDArray[np.float32]
    embed: Embed


def build(notes: Mapping[str, str], embed: Embed, model: str) -> Index:
    """The index of some notes, given as texts by path."""
    # A chunk that is there already, as when a long line repeats itself, is kept once.
    every = {one.id: one for path in sorted(notes) for one in chunks_of(path, notes[path], model)}
    chunks = list(every.values())
    words = sqlite3.connect(":memory:")
    words.execute("CREATE VIRTUAL TABLE texts USING fts5 (text)")
    rows = [(row, one.text) for row, one in enumerate(chunks)]
    words.executemany("INSERT INTO texts (rowid, text) VALUES (?, ?)", rows)
    vectors = embed([one.text for one in chunks]) if chunks else np.empty((0, 0), np.float32)
    return Index(words, chunks, vectors, embed)


# 3. A question asks two legs. Each brings rows with its own raw numbers, best first.


def match_expression(question: str, join: str = "AND") -> str:
    """The question in FTS5's language: its ASCII words in quotes. Other scripts have no word here."""
    return f" {join} ".join(f'"{word}"' for word in re.findall(r"[A-Za-z0-9_]+", question))


def keyword_leg(index: Index, match: str, depth: int) -> list[tuple[int, float]]:
    """The best `depth` rows that match, with FTS5's bm25: negative, and the smaller the better."""
    if not match:
        return []
    found = index.words.execute("SELECT rowid, bm25(texts) FROM texts WHERE texts MATCH ?", (match,))
    return sorted(found, key=lambda hit: (hit[1], index.chunks[hit[0]].id))[:depth]


def vector_leg(index: Index, question: str, depth: int) -> list[tuple[int, float]]:
    """The nearest `depth` rows with their cosine distance, 0 to 2: the smaller the better."""
    query = index.embed([question])[0]
    if not index.chunks or not query.any():  # a vector of zeros points nowhere
        return []
    # einsum adds each row in the same order, so equal vectors get equal distances. A matrix product may not.
    distances = 1.0 - np.einsum("ij,j->i", index.vectors.astype(float), query.astype(float))
    return sorted(enumerate(distances.tolist()), key=lambda hit: (hit[1], index.chunks[hit[0]].id))[:depth]


# 4. Raw numbers become scores from 0 to 1, larger is better. An absent number stays absent.


def cosine(distance: Numbers) -> Numbers:
    """The cosine of the angle between question and chunk."""
    return 1 - distance


def clamped(bm25: Numbers) -> Numbers:
    """Bug 3: bm25 is negative, so the larger of it and 0 is 0, and every match scores 1."""
    return np.where(np.isnan(bm25), ABSENT, 1 / (1 + np.fmax(0.0, bm25)))


def min_max(bm25: Numbers) -> Numbers:
    """The repair of bug 3: the leg's best match scores 1 and its worst 0; equal matches score 1."""
    if np.isnan(bm25).all():
        return bm25
    best, worst = np.nanmin(bm25), np.nanmax(bm25)
    equal = np.where(np.isnan(bm25), ABSENT, 1.0)
    return equal if best == worst else (worst - bm25) / (worst - best)


# 5. Two scores, or two ranks, become one


@dataclass(frozen=True)
class Columns:
    """What is known of each candidate: shape (candidates,), NaN for what a leg did not bring."""

    vector_score: Numbers
    keyword_score: Numbers
    vector_rank: Numbers
    keyword_rank: Numbers


VECTOR, KEYWORD, K = 0.7, 0.3, 60
"""The weights of the legs, and the constant of reciprocal rank fusion."""


def weighted_sum(of: Columns) -> Numbers:
    """Bug 2: 0.7 × cosine + 0.3 × 0 where the keyword leg found nothing, as if 0 had been measured."""
    return VECTOR * np.nan_to_num(of.vector_score) + KEYWORD * np.nan_to_num(of.keyword_score)


def rank_fusion(of: Columns) -> Numbers:
    """The repair of bug 2: Σ weight / (60 + rank), as a share of the most. An absent leg adds nothing."""
    parts = VECTOR / (K + of.vector_rank), KEYWORD / (K + of.keyword_rank)
    return (np.nan_to_num(parts[0]) + np.nan_to_num(parts[1])) / ((VECTOR + KEYWORD) / (K + 1))


# 6. The whole search


@dataclass(frozen=True)
class Candidate:
    """A chunk that a leg brought, with everything that decides about it."""

    chunk: Chunk
    match: str
    distance: float
    bm25: float
    columns: Mapping[str, float]
    score: float
    fate: str = "not decided"


def search(
    index: Index,
    question: str,
    join: str = "AND",
    keyword_score: Callable[[Numbers], Numbers] = clamped,
    fuse: Callable[[Columns], Numbers] = weighted_sum,
    depth: int = 24,
) -> list[Candidate]:
    """Every candidate, best first. Each leg brings `depth`: more than is returned, so fusion has a choice."""
    match = match_expression(question, join)
    near, matched = vector_leg(index, question, depth), keyword_leg(index, match, depth)

    # The candidates are all rows that a leg brought, each once.
    rows = list(dict.fromkeys(row for row, _ in (*near, *matched)))
    distance, vector_rank = columns_of(near, rows)
    bm25, keyword_rank = columns_of(matched, rows)
    columns = Columns(cosine(distance), keyword_score(bm25), vector_rank, keyword_rank)
    scores = fuse(columns)

    # Best score first. Equal scores keep the order in which the legs brought them, and then that of the ids.
    ids = np.array([index.chunks[row].id for row in rows], str)
    order = np.lexsort((ids, keyword_rank, vector_rank, -scores))
    return [
        Candidate(
            index.chunks[rows[candidate]],
            match,
            distance=float(distance[candidate]),
            bm25=float(bm25[candidate]),
            columns={name: float(column[candidate]) for name, column in vars(columns).items()},
            score=float(scores[candidate]),
        )
        for candidate in order.tolist()
    ]


def columns_of(hits: Sequence[tuple[int, float]], rows: Sequence[int]) -> tuple[Numbers, Numbers]:
    """The raw numbers of a leg and its ranks from 1, by candidate; absent where the leg did not bring it."""
    raw = dict(hits)
    ranks = {row: rank for rank, (row, _) in enumerate(hits, 1)}
    numbers = [np.array([of.get(row, ABSENT) for row in rows], float) for of in (raw, ranks)]
    return numbers[0], numbers[1]


def cut(candidates: Sequence[Candidate], floor: float = 0.35, limit: int = 6) -> list[Candidate]:
    """The candidates with their fates: the first `limit` of those that reach the floor are returned."""
    decided, returned = [], 0
    for one in candidates:
        if one.score < floor:
            fate = f"below the floor: {below(one.score, floor)} < {floor}"
        elif returned == limit:
            fate = f"beyond the limit of {limit}"
        else:
            fate, returned = "returned", returned + 1
        decided.append(replace(one, fate=fate))
    return decided


def below(score: float, floor: float) -> str:
    """A score below the floor, with four decimals, or with as many as tell it from the floor."""
    decimals = range(4, 18)
    return next((text for n in decimals if float(text := f"{score:.{n}f}") < floor), str(score))


# 7. Why?


def explain(candidate: Candidate) -> str:
    """One candidate from the legs to its fate, line by line."""
    of, chunk = candidate.columns, candidate.chunk
    lines = [f"{chunk.path}:{chunk.start_line}-{chunk.end_line}"]
    if np.isnan(of["vector_rank"]):
        lines.append("vector leg: did not bring it")
    else:
        rank, score = of["vector_rank"], of["vector_score"]
        lines.append(f"vector leg: rank {rank:.0f}, score = 1 - {candidate.distance:.4f} = {score:.4f}")
    if np.isnan(of["keyword_rank"]):
        lines.append(f"keyword leg: did not bring it for {candidate.match or 'a question without a word'}")
    else:
        rank, score = of["keyword_rank"], of["keyword_score"]
        lines.append(f"keyword leg: rank {rank:.0f}, bm25 {candidate.bm25:.4f}, score {score:.4f}")
    return "\n  ".join([*lines, f"fused score {candidate.score:.4f}: {candidate.fate}"])
