"""BM25 over stems, held in memory: scores of any texts, and the most that a question could score.

A text has the stems that FTS5's own porter tokenizer makes.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from itertools import chain, pairwise
from typing import Any

import apsw
import numpy as np
from numpy.typing import NDArray

from workbench.memory.data_files import load_data
from workbench.memory.store.postings import K1, B
from workbench.records import Floats
from workbench.stop_words import STOP_WORDS

_CONNECTIONS = threading.local()
UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
ELSEWHERE = load_data(__file__, "words_elsewhere.yaml")


def porter_stems(text: str) -> list[str]:
    """The stems of a text's words, in order: lower case, without accents, by the Porter algorithm.

    A run of characters of a script without blanks, or of Hangul, becomes its pairs of characters.

    >>> porter_stems("The backups were running, café 日本語")
    ['the', 'backup', 'were', 'run', 'cafe', '日本', '本語']
    """
    return _tokens(text, "porter")


def _tokens(text: str, *kind: str) -> list[str]:
    spaced = UNSPACED.sub(lambda run: f" {' '.join(_pairs(run[0]))} ", folded(text))
    return [_light(one) for one in _split(spaced, *kind)]


def _split(text: str, *kind: str) -> list[str]:
    found = _tokenizer(*kind, "unicode61")(
        text.encode("utf-8", "replace"), apsw.FTS5_TOKENIZE_DOCUMENT, None, include_offsets=False,
        include_colocated=False,
    )  # fmt: skip
    return [str(one) for one in found]


def folded(text: str) -> str:
    """A text in the forms that questions have: no wide letters, no vowel marks, one alef, ä beside ae.

    Latin accents stay, since the tokenizer takes them out.

    >>> folded("ＷｉＦｉ مُسَكِّن أحمد"), folded("Schlüssel, naïve")
    ('WiFi مسكن احمد', 'Schlüssel Schluessel, naïve')
    """
    if text.isascii():
        return text
    whole = WIDE.sub(lambda run: unicodedata.normalize("NFKC", run[0]), unicodedata.normalize("NFC", text))
    plain = MARKS.sub("", whole).translate(ALEFS)
    return SPELLED_TWICE.sub(_in_both_spellings, plain)


def _in_both_spellings(word: re.Match[str]) -> str:
    return f"{word[0]} {word[0].translate(TWO_LETTERS)}"


WIDE = re.compile("[\uf900-\ufaff\uff00-\uffef]+")
MARKS = re.compile(
    "[\u0591-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06ed\u0e31\u0e34-\u0e3a\u0e47-\u0e4e]"
)
"""Vowel marks of Hebrew, Arabic and Thai, and the long line of Arabic."""
ALEFS = str.maketrans("أإآٱىة", "اااايه")
SPELLED_TWICE = re.compile(r"\b\w*[äöüßÄÖÜ]\w*")
TWO_LETTERS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue"})


@lru_cache(maxsize=100_000)
def _light(word: str) -> str:
    """An Arabic word without its article and one ending, if three letters stay.

    Source: the light stems of Larkey, Ballesteros and Connell, SIGIR 2002.
    """
    if ARABIC.match(word):
        word = word.removeprefix(_long_end(word, ELSEWHERE["first"], str.startswith))
        word = word.removesuffix(_long_end(word, ELSEWHERE["last"], str.endswith))
    return word


def _long_end(word: str, ends: Sequence[str], has: Callable[[str, str], bool]) -> str:
    return next((one for one in ends if has(word, one) and len(word) >= len(one) + 3), "")


ARABIC = re.compile("[\u0600-\u06ff]")


def _pairs(run: str) -> list[str]:
    return [a + b for a, b in pairwise(run)] or [run]


def _tokenizer(*names: str) -> apsw.FTS5Tokenizer:
    """The tokenizer of this thread; a connection belongs to one thread."""
    tokenizers: dict[tuple[str, ...], apsw.FTS5Tokenizer] = vars(_CONNECTIONS).setdefault("tokenizers", {})
    if names not in tokenizers:
        options = [*names[1:], "remove_diacritics", "2"]
        tokenizers[names] = apsw.Connection(":memory:").fts5_tokenizer(names[0], options)
    return tokenizers[names]


def content_stems(text: str) -> list[str]:
    """The stems of a text without its function words, in order.

    The function words go before stemming: "cans" and "willing" have the stems of "can" and "will".

    >>> content_stems("Who is willing to open the cans?")
    ['will', 'open', 'can']
    """
    return [_stem(word) for word in _tokens(text) if word not in _stop_words()]


@cache
def _stop_words() -> frozenset[str]:
    """The function words of English and of scripts other than Latin, as `_tokens` writes them."""
    return STOP_WORDS | {*_tokens(ELSEWHERE["stop words"])}


@lru_cache(maxsize=100_000)
def _stem(word: str) -> str:
    (stem,) = _split(word, "porter")
    return stem


def question_stems(text: str) -> list[str]:
    """The stems of a question without function words, each once; all stems if there are only those."""
    return list(dict.fromkeys(content_stems(text) or porter_stems(text)))


Counts = Mapping[str, int]
"""How often each stem stands in a text."""
Ordinals = NDArray[np.integer[Any]]


class StemTable(ABC):
    """BM25 over the stems of some texts. Function words count neither as terms nor in a text's length.

    `lengths` has the number of stems of each text. The IDF is ln(1 + (n - df + ½) / (df + ½)), which is never
    negative (Lucene's), so that a share of the question's highest possible score is between 0 and 1.
    """

    def __init__(self, lengths: Floats) -> None:
        self.size = lengths.size
        self._normal = K1 * (1 - B + B * lengths / max(lengths.mean(), 1.0)) if lengths.size else lengths

    @abstractmethod
    def postings(self, stem: str) -> tuple[Ordinals, Ordinals]:
        """The texts that have a stem, in order, and how often each has it."""

    def idf(self, stem: str) -> float:
        """How rare a stem is; a stem that no text has is the rarest."""
        count = self.postings(stem)[0].size
        return float(np.log1p((self.size - count + 0.5) / (count + 0.5)))

    def scores(self, stems: Sequence[str]) -> Floats:
        """BM25 of each text; 0 for a text without any of the stems."""
        total = np.zeros(self.size)
        for stem in stems:
            ordinals, counts = self.postings(stem)
            total[ordinals] += self.idf(stem) * counts * (K1 + 1) / (counts + self._normal[ordinals])
        return total

    def having(self, stem: str) -> NDArray[np.bool_]:
        """Which texts have a stem."""
        has = np.zeros(self.size, bool)
        has[self.postings(stem)[0]] = True
        return has

    def most(self, stems: Sequence[str]) -> float:
        """The score that no text can pass: every stem of the question, as often as one likes."""
        return sum(self.idf(stem) for stem in stems) * (K1 + 1)


class StemIndex(StemTable):
    """The stems of some texts, counted and held in memory."""

    def __init__(self, texts: Sequence[str]) -> None:
        counted = [Counter(content_stems(text)) for text in texts]
        super().__init__(np.array([sum(counts.values()) for counts in counted], float))
        # All postings are in one table, ordered by stem and then by text.
        self._numbers = {
            stem: number for number, stem in enumerate(dict.fromkeys(chain.from_iterable(counted)))
        }
        stems = np.fromiter(map(self._numbers.__getitem__, chain.from_iterable(counted)), np.int32)
        order = np.argsort(stems, kind="stable")
        self._ends = np.cumsum([0, *np.bincount(stems, minlength=len(self._numbers))])
        held = np.array([len(counts) for counts in counted], np.int64)
        self._ordinals = np.repeat(np.arange(len(texts), dtype=np.int32), held)[order]
        every_count = chain.from_iterable(counts.values() for counts in counted)
        self._counts = np.fromiter(every_count, np.int32)[order]

    def postings(self, stem: str) -> tuple[Ordinals, Ordinals]:
        number = self._numbers.get(stem)
        held = slice(0) if number is None else slice(self._ends[number], self._ends[number + 1])
        return self._ordinals[held], self._counts[held]
