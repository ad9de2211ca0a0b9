"""How similar texts are to MMR when each is cut to its beginning, for every length of the beginning."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise, takewhile
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.records import Floats, Rows
from workbench.systems.openclaw.diversity import UNSPACED, WORD, jaccard_index

NONE = -1
"""Stands for no token."""
FAR = np.iinfo(np.int32).max
"""Where a token ends that a text does not have."""
SURROGATES = range(0xD800, 0xE000)
WORD_CODES = np.array([WORD.match(chr(code)) is not None for code in range(128)])


class _Lowered(NamedTuple):
    """A text in lower case, and for each of its characters the length up to which a text must be cut.

    Each character is lowered alone, since a cut text is lowered after the cut.
    """

    text: str
    ends: Rows


def _lowered(text: str) -> _Lowered:
    lower = text.lower()
    if len(lower) == len(text) and max(text, default="") < chr(SURROGATES.start):
        return _Lowered(lower, np.arange(1, len(text) + 1))
    pieces = ["" if ord(one) in SURROGATES else one.lower() for one in text]
    ends = np.cumsum([_units(one) for one in text])
    return _Lowered("".join(pieces), np.repeat(ends, [len(one) for one in pieces]))


def _units(character: str) -> int:
    """The UTF-16 units of a character."""
    return 2 if ord(character) > 0xFFFF else 1


class Beginnings:
    """The beginnings of `texts`, of each length from 0 to `longest`, in UTF-16 units.

    A beginning has the tokens that end in it, and what is left of the word that the cut divides. With
    `unspaced`, tokens are those of `UnspacedMMR`, and of texts without tokens only equal ones are similar.
    """

    def __init__(self, texts: Sequence[str], unspaced: bool) -> None:
        self._texts, self._unspaced = texts, unspaced
        lowered = [_lowered(text) for text in texts]
        self.longest = max((int(one.ends[-1]) for one in lowered if one.ends.size), default=0)
        words = _words(lowered)
        numbers: dict[str, int] = {}
        tokens = [numbers.setdefault(one, len(numbers)) for one in words.texts]
        others = list(_unspaced(lowered)) if unspaced else []
        found = np.array([numbers.setdefault(one.token, len(numbers)) for one in others], np.int64)
        self._whole = len(numbers)
        self._ends = np.full((len(texts), self._whole + 1), FAR, np.int32)
        number = np.array(tokens, np.int64)
        np.minimum.at(self._ends, (words.owners, number), words.ends.astype(np.int32))
        for one, place in zip(others, found.tolist(), strict=True):
            self._ends[one.owner, place] = min(self._ends[one.owner, place], one.end)
        self._parts = self._new_parts(lowered, words, number, numbers)
        self._sizes = self._counts(self._ends) + (self._parts != NONE)

    def _counts(self, ends: NDArray[np.int32]) -> NDArray[np.int64]:
        """How many of these tokens end in each beginning: shape (texts, lengths)."""
        width = self.longest + 1
        owners, tokens = np.nonzero(ends != FAR)
        flat = np.bincount(owners * width + ends[owners, tokens], minlength=len(ends) * width)
        return flat.reshape(len(ends), width).cumsum(axis=1)

    def _new_parts(
        self, lowered: Sequence[_Lowered], words: _Words, number: Rows, numbers: dict[str, int]
    ) -> NDArray[np.int64]:
        """The part of a divided word in each beginning, if the beginning does not have it as a whole word."""
        after = words.parts(number, numbers)
        lengths = np.arange(self.longest + 1)
        parts = np.full((len(lowered), lengths.size), NONE)
        for place, (one, start) in enumerate(zip(lowered, words.starts, strict=True)):
            read = np.searchsorted(one.ends, lengths, side="right")
            parts[place] = np.where(read > 0, after[start + read - 1], NONE)
        whole = np.take_along_axis(self._ends, self._column(parts), axis=1) <= lengths
        return np.where(whole, NONE, parts)

    def _column(self, tokens: NDArray[np.int64]) -> NDArray[np.int64]:
        """The columns of tokens; those that are no whole token anywhere, or none, share the last column."""
        return np.where((tokens == NONE) | (tokens >= self._whole), self._whole, tokens)

    def similarities(self, one: int, lengths: Rows) -> Floats:
        """How similar a text is to all texts at each of these lengths, ascending: shape (lengths, texts)."""
        lengths = np.minimum(lengths, self.longest)
        mine, all_parts = self._parts[one, lengths], self._parts[:, lengths]
        shared = self._shared(one, lengths)
        shared += self._ends[:, self._column(mine)] <= lengths
        shared += self._ends[one, self._column(all_parts)] <= lengths
        shared += (all_parts == mine) & (mine != NONE)
        result = jaccard_index(
            shared.astype(float), self._sizes[one, lengths].astype(float), self._sizes[:, lengths]
        )
        for other, place in np.argwhere((self._sizes[:, lengths] == 0) & (self._sizes[one, lengths] == 0)):
            result[other, place] = lengths[place] < self._alike_until(one, other)
        return result.T

    def _shared(self, one: int, lengths: Rows) -> NDArray[np.int64]:
        """How many whole tokens each beginning shares with that of `one`: shape (texts, lengths)."""
        tokens = np.flatnonzero(self._ends[one] != FAR)
        both = np.maximum(self._ends[one, tokens], self._ends[:, tokens])
        first = np.searchsorted(lengths, both)  # the first of the lengths at which both have the token
        width = lengths.size + 1
        flat = (np.arange(len(both))[:, None] * width + first).ravel()
        counts = np.bincount(flat, minlength=len(both) * width).reshape(len(both), width)
        shared: NDArray[np.int64] = counts[:, :-1].cumsum(axis=1)
        return shared

    def _alike_until(self, one: int, other: int) -> float:
        """The length from which on two texts without tokens differ."""
        if not self._unspaced:
            return math.inf
        texts = self._texts[one], self._texts[other]
        common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(*texts, strict=False)))
        following = [text[common] for text in texts if len(text) > common]
        before = sum(map(_units, texts[0][:common]))
        return before + min(map(_units, following), default=math.inf)


class _Words(NamedTuple):
    """The words of texts in lower case, in the order of the joined texts, in columns.

    `owners` are the places of the texts, and `ends` the lengths at which a word is whole. `begins` and
    `stops` count the characters of the joined texts, and `starts` has where each text starts in them.
    """

    texts: list[str]
    owners: Rows
    ends: Rows
    begins: Rows
    stops: Rows
    starts: Rows
    size: int

    def parts(self, number: Rows, numbers: dict[str, int]) -> NDArray[np.int64]:
        """For each character of the joined texts: the part of a word that a cut after it leaves, or NONE."""
        distinct, first = np.unique(number, return_index=True)
        every = [self.texts[place] for place in first.tolist()]
        table = np.array(
            [numbers.setdefault(one[:size], len(numbers)) for one in every for size in range(1, len(one))],
            np.int64,
        )
        offsets = np.cumsum([0, *(len(one) - 1 for one in every)])[np.searchsorted(distinct, number)]
        lengths = self.stops - self.begins - 1
        within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        after = np.full(self.size, NONE)
        after[np.repeat(self.begins, lengths) + within] = table[np.repeat(offsets, lengths) + within]
        return after


def _words(lowered: Sequence[_Lowered]) -> _Words:
    joined = "\n".join([one.text for one in lowered]) + "\n"
    sizes = np.array([len(one.text) for one in lowered], np.int64)
    starts = np.cumsum(sizes + 1) - sizes - 1
    codes = np.frombuffer(joined.encode("utf-32-le"), np.uint32)
    inside = WORD_CODES[np.minimum(codes, 127)] & (codes < 128)
    edges = np.diff(inside.astype(np.int8), prepend=0)  # the joined texts end outside a word
    begins, stops = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
    owners = np.searchsorted(starts, begins, side="right") - 1
    ends = np.zeros(len(joined), np.int64)
    for one, start in zip(lowered, starts.tolist(), strict=True):
        ends[start : start + one.ends.size] = one.ends
    return _Words(WORD.findall(joined), owners, ends[stops - 1], begins, stops, starts, len(joined))


class _Token(NamedTuple):
    owner: int
    token: str
    end: int


def _unspaced(lowered: Sequence[_Lowered]) -> Iterator[_Token]:
    """The characters of unspaced scripts and their pairs, in order of their ends in each text."""
    for owner, (text, ends) in enumerate(lowered):
        if text.isascii():
            continue
        places = [match.start() for match in UNSPACED.finditer(text)]
        yield from (_Token(owner, text[place], int(ends[place])) for place in places)
        pairs = (b for a, b in pairwise(places) if b == a + 1)
        yield from (_Token(owner, text[b - 1 : b + 1], int(ends[b])) for b in pairs)
