"""Other words for the words of a case: the same word always becomes the same other word of the same length.

Which word is drawn depends on the length of the original and on the order of first appearance alone, so
nobody can try a dictionary on the result. Words that systems treat in their own way (stop words,
operators) stay.
"""

from __future__ import annotations

import random
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import lru_cache
from typing import Literal

from workbench.systems.automem.text import STOPWORDS as AUTOMEM
from workbench.systems.basic_memory.relaxation import STOPWORDS as BASIC_MEMORY
from workbench.systems.openclaw.annotations import ROOT_FILES
from workbench.systems.openclaw.expansion import EVERY_LANGUAGE

Kind = Literal["words", "prefixes", "letters"]

TOKEN = re.compile(
    r"<!--\s*(?:importance\s*:\s*\d+|(?:trigger|project)\s*:)|(?<![^\W_])\d{4}-\d{2}-\d{2}(?![^\W_])|[^\W_]+"
)
DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
FRONT_MATTER = re.compile(r"---\n(.*?\n)---(?:\n|\Z)", re.DOTALL)
FIELD = re.compile(r"^(\s*[\w-]+\s*:)(.*)$", re.MULTILINE)
OPERATORS = frozenset({"AND", "OR", "NOT", "NEAR"})
STOP = frozenset(word.lower() for word in (*EVERY_LANGUAGE, *BASIC_MEMORY, *AUTOMEM))
STRUCTURE = frozenset({*ROOT_FILES, "memory.md", "memory", "sessions"})
ENDINGS = re.compile(r"\.(?:md|jsonl)$")
CHARACTERS = ((0x3040, 0x30FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xAC00, 0xD7AF))
"""Scripts without spaces, in which every character is replaced on its own."""
VOWELS, CONSONANTS, DIGITS = "aeiou", "bcdfghjklmnpqrstvwxyz", "0123456789"
DRAWS = 200


@dataclass
class Pseudonyms:
    """A consistent replacement of words.

    `words` draws a word for each word; `prefixes` keeps common beginnings common, for systems that search
    for beginnings; `letters` exchanges letters one for one, for systems that search inside of words, and is
    easy to undo. With `dates`, all dates move by the same number of days. `taken` are words that must not
    be drawn.
    """

    kind: Kind
    dates: bool
    seed: int
    taken: set[str] = field(default_factory=set)
    images: dict[str, str] = field(default_factory=dict)
    kept: dict[str, int] = field(default_factory=dict)
    moved: set[str] = field(default_factory=set)
    unchanged: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._random = random.Random(f"redaction {self.kind} {self.seed}")
        self._days = timedelta(days=self._random.choice((-1, 1)) * self._random.randint(40, 300))
        self._used: set[str] = set()
        self._branches: dict[str, dict[str, str]] = {}

    def text(self, text: str) -> str:
        """A text with its words replaced; blanks, punctuation and lengths stay."""
        found = FRONT_MATTER.match(text)
        if found is None:
            return TOKEN.sub(lambda token: self._token(token[0]), text)
        head = FIELD.sub(self._field, found[0])
        return head + TOKEN.sub(lambda token: self._token(token[0]), text[found.end() :])

    def _field(self, found: re.Match[str]) -> str:
        """A line of front matter: its key stays, and so does a number."""
        number = re.fullmatch(r"\s*-?\d+(?:\.\d+)?\s*", found[2])
        return found[0] if number else found[1] + TOKEN.sub(lambda token: self._token(token[0]), found[2])

    def path(self, path: str) -> str:
        """A path with its words replaced; the names that systems know stay, and so does the ending."""
        return "/".join(self._segment(one) for one in path.split("/"))

    def _segment(self, name: str) -> str:
        if name in STRUCTURE:
            return name
        ending = ENDINGS.search(name)
        stem = name[: ending.start()] if ending else name
        return self.text(stem) + (ending[0] if ending else "")

    def _token(self, token: str) -> str:
        if token.startswith("<!--"):
            return token
        if DATE.fullmatch(token):
            return self._date(token)
        if token in OPERATORS or fold(token) in STOP:
            self.kept[token.lower()] = self.kept.get(token.lower(), 0) + 1
            return token
        return "".join(self._word(part) for part in _parts(token))

    def _date(self, token: str) -> str:
        try:
            there = date.fromisoformat(token) if self.dates else None
        except ValueError:
            there = None
        if there is None:
            return "-".join(self._word(part) for part in token.split("-"))
        self.moved.add(token)
        return (there + self._days).isoformat()

    def _word(self, word: str) -> str:
        key = fold(word)
        if key not in self.images:
            self.images[key] = self._drawn(key)
        return _shaped(word, self.images[key])

    def _drawn(self, key: str) -> str:
        """The word for a folded word: of the same length and alphabet, not used yet, and no original word."""
        if self.kind != "words":
            return self._branched(key)
        for attempt in range(DRAWS):
            image = self._random_word(key)
            strict = len(key) > 2 and attempt < DRAWS // 2
            if image not in self._used and image not in STOP and not (strict and image in self.taken):
                self._used.add(image)
                return image
        self.unchanged.add(key)
        self._used.add(key)
        return key

    def _random_word(self, key: str) -> str:
        vowel = self._random.random() < 0.5
        made = [self._letter(_pool(one, (place % 2 == 0) == vowel)) for place, one in enumerate(key)]
        return "".join(one or old for one, old in zip(made, key, strict=True))

    def _branched(self, key: str) -> str:
        """Each letter by what stands before it in the word, or by itself alone: no two words become one."""
        made = []
        for place, one in enumerate(key):
            branch = self._branches.setdefault(key[:place] if self.kind == "prefixes" else "", {})
            if one not in branch:
                pool = [other for other in _pool(one) if other not in branch.values()]
                branch[one] = self._letter(pool) or one
            made.append(branch[one])
        return "".join(made)

    def _letter(self, pool: Sequence[str]) -> str:
        return self._random.choice(pool) if pool else ""


def fold(word: str) -> str:
    """A word in lower case without marks, as FTS5 compares words."""
    return "".join(one for one in _apart(word.lower()) if not unicodedata.combining(one))


def _apart(word: str) -> str:
    """A word with its marks as characters of their own; a Korean syllable stays whole."""
    return "".join(one if _alone(one) else unicodedata.normalize("NFD", one) for one in word)


def words_of(text: str) -> Iterator[str]:
    """The folded words of a text that would be replaced."""
    for token in TOKEN.findall(text):
        if not token.startswith("<!--") and fold(token) not in STOP:
            yield from map(fold, _parts(token))


def _parts(token: str) -> list[str]:
    """A word, or where a script has no spaces, its characters and what stands between them."""
    if not any(map(_alone, token)):
        return [token]
    return [part for part in re.split(f"({_ALONE})", token) if part]


_ALONE = "[" + "".join(f"{chr(first)}-{chr(last)}" for first, last in CHARACTERS) + "]"


def _alone(character: str) -> bool:
    return any(first <= ord(character) <= last for first, last in CHARACTERS)


@lru_cache(maxsize=4096)
def _pool(character: str, vowel: bool | None = None) -> str:
    """The characters that one may become: a digit, a letter of the same alphabet, or none."""
    if character in DIGITS:
        return DIGITS
    if character.isascii():
        return VOWELS + CONSONANTS if vowel is None else VOWELS if vowel else CONSONANTS
    if not character.isalpha():
        return ""
    first = ord(character) & ~0xFF
    near = (chr(code) for code in range(first, first + 0x100))
    return "".join(one for one in near if _alike(character, one))


def _alike(character: str, other: str) -> bool:
    return (
        unicodedata.category(other) == unicodedata.category(character)
        and not unicodedata.decomposition(other)
        and other.lower() == other
        and len(other.encode()) == len(character.encode())
        and _alone(other) == _alone(character)
    )


def _shaped(word: str, image: str) -> str:
    """The image with the capitals and the marks of a word; the image itself where they do not fit."""
    apart = _apart(word)
    bases = [one for one in apart if not unicodedata.combining(one)]
    if len(bases) != len(image):
        return image if len(image) == len(word) else word
    letters = iter(image)
    made = "".join(one if unicodedata.combining(one) else _cased(next(letters), one) for one in apart)
    whole = unicodedata.normalize("NFC", made)
    return whole if len(whole) == len(word) else image if len(image) == len(word) else made


def _cased(letter: str, like: str) -> str:
    upper = letter.upper()
    return upper if like.isupper() and len(upper) == 1 else letter
