"""Redacts a case: other words, the same failure, and the proof of it by running both.

Structure, lengths, the identity and the frequency of words stay, and so do the hits and the numbers of the
legs. Vectors travel as cosines with the questions, since a vector of a model can be inverted to its text.

The same word always becomes the same other word of the same length. Words and the shift of dates are drawn
by the random numbers of the operating system, and nothing of the draw is kept, so nobody can repeat it. Words
that systems treat in their own way (stop words, operators), punctuation, and signs for which there is no
other one stay. Whatever stays is listed: `Pseudonyms.text` notes everything that it does not replace.
"""

from __future__ import annotations

import random
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from functools import cache, lru_cache
from itertools import product
from pathlib import Path
from typing import Any, Literal

import numpy as np

from workbench.errors import InputError
from workbench.records import Trace
from workbench.safe_text import counted
from workbench.systems.history import LINES
from workbench_plugins.cases.model import Case, CasePart, CaseSystem
from workbench_plugins.cases.running import (
    Everywhere,
    pipeline_of_case,
    run_everywhere,
    system_of_case,
    with_observations,
)
from workbench_plugins.cases.shrink import frozen

Kind = Literal["words", "prefixes", "letters"]

TOKEN = re.compile(
    r"<!--\s*(?:importance\s*:\s*(?:10|[1-9])(?!\w)|(?:trigger|project)\s*:)"
    r"|(?<![^\W_])\d{4}-\d{2}-\d{2}(?![^\W_])|[^\W_]+|(?P<signs>[^\w\s\x00-\x7f]+)"
)
"""A comment that OpenClaw reads, a date, a word, or signs beyond ASCII, such as emoji and braille."""
DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
FRONT_MATTER = re.compile(r"---\n(.*?\n)---(?:\n|\Z)", re.DOTALL)
FIELD = re.compile(r"^([^\S\n]*)([\w-]+)([^\S\n]*:)([^\n]*)$", re.MULTILINE)
FIELDS = frozenset({"tags", "importance", "confidence", "date", "timestamp", "created", "title", "permalink"})
"""The keys of front matter that systems read; other keys are words of the user."""
NUMBER = re.compile(r"\s*(?:0|1|0?\.\d{1,2}|1\.0)\s*")
"""An importance or a confidence."""
OPERATORS = frozenset({"AND", "OR", "NOT", "NEAR"})
STRUCTURE = frozenset({"MEMORY.md", "USER.md", "memory.md", "memory", "sessions"})
ENDINGS = re.compile(r"\.(?:md|jsonl)$")
ALONE = re.compile(r"([\u3040-\u30FF\u3400-\u4DBF\u4E00-\u9FFF\uAC00-\uD7AF])")
"""Scripts without spaces, in which every character is replaced on its own."""
VOWELS, CONSONANTS, DIGITS = "aeiou", "bcdfghjklmnpqrstvwxyz", "0123456789"
DRAWS = 200

Branches = dict[str, tuple[str, "Branches"]]
"""For each letter its image, and the same for the letters that follow it in a word."""


@cache
def kept_words() -> frozenset[str]:
    """The words that systems treat in their own way, such as the stop words of their keyword search."""
    return frozenset(word.lower() for line in LINES.values() for word in line.stop_words)


@dataclass
class Pseudonyms:
    """A consistent replacement of words.

    `words` draws a word for each word; `prefixes` keeps common beginnings common, for systems that search
    for beginnings; `letters` exchanges letters one for one, for systems that search inside of words, and is
    easy to undo. With `dates`, all dates move by the same number of days. `taken` are words that must not
    be drawn. What is not replaced is noted: words in `kept` and `unchanged`, anything else in `left`.
    """

    kind: Kind
    dates: bool
    taken: set[str] = field(default_factory=set)
    images: dict[str, str] = field(default_factory=dict)
    kept: set[str] = field(default_factory=set)
    moved: set[str] = field(default_factory=set)
    unchanged: set[str] = field(default_factory=set)
    left: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._random = random.SystemRandom()
        self._days = timedelta(days=self._random.choice((-1, 1)) * self._random.randint(40, 3_000))
        self._used: set[str] = set()
        self._branches: Branches = {}

    def text(self, text: str) -> str:
        """A text with its words and signs replaced; blanks, punctuation and lengths stay."""
        found = FRONT_MATTER.match(text)
        if found is None:
            return self._plain(text)
        parts, end = [], 0
        for line in FIELD.finditer(found[0]):
            parts += [self._plain(found[0][end : line.start()]), self._field(line)]
            end = line.end()
        return "".join([*parts, self._plain(found[0][end:]), self._plain(text[found.end() :])])

    def _field(self, line: re.Match[str]) -> str:
        """A line of front matter: a key that systems read stays, and so does an importance or confidence."""
        before, key, colon, value = line.groups()
        if key not in FIELDS:
            return before + self._plain(key) + colon + self._plain(value)
        if key in ("importance", "confidence") and NUMBER.fullmatch(value):
            self.left.add(line[0].strip())
            return line[0]
        self.left.add(key + colon)
        return before + key + colon + self._plain(value)

    def _plain(self, text: str) -> str:
        parts, end = [], 0
        for token in TOKEN.finditer(text):
            new = self._token(token)
            if token["signs"] and new == token[0]:
                continue  # it is left with what stands beside it
            parts += [self._between(text[end : token.start()]), new]
            end = token.end()
        return "".join([*parts, self._between(text[end:])])

    def _between(self, text: str) -> str:
        """What stands between words stays: blanks and punctuation, which are noted."""
        self.left.update(filter(None, re.split("[ \n]+", text)))
        return text

    def path(self, path: str) -> str:
        """A path with its words replaced; the names that systems know stay, and so does the ending."""
        return "/".join(self._segment(one) for one in path.split("/"))

    def _segment(self, name: str) -> str:
        if name in STRUCTURE:
            return name
        ending = ENDINGS.search(name)
        stem = name[: ending.start()] if ending else name
        return self.text(stem) + (ending[0] if ending else "")

    def _token(self, found: re.Match[str]) -> str:
        token = found[0]
        if token.startswith("<!--"):
            self.left.add(token)
            return token
        if found["signs"]:
            return self._image(token)
        if DATE.fullmatch(token):
            return self._date(token)
        if token in OPERATORS or fold(token) in kept_words():
            self.kept.add(token)
            return token
        return "".join(self._word(part) for part in _parts(token))

    def _date(self, token: str) -> str:
        try:
            moved = (date.fromisoformat(token) + self._days).isoformat() if self.dates else ""
        except (ValueError, OverflowError):  # no date, or none that can be moved
            moved = ""
        if not moved:
            return self._between("-").join(self._word(part) for part in token.split("-"))
        self.moved.add(token)
        return moved

    def _word(self, word: str) -> str:
        pseudonym = _shaped(word, self._image(fold(word)))
        if pseudonym == word:
            self.unchanged.add(word)
        return pseudonym

    def _image(self, key: str) -> str:
        if key not in self.images:
            self.images[key] = self._drawn(key)
            if self.images[key] == key or not all(map(_pool, key)):
                self.unchanged.add(key)
        return self.images[key]

    def _drawn(self, key: str) -> str:
        """The word for a folded word: of the same length and alphabet, not used yet, and no original word."""
        if not any(map(_pool, key)):
            return key
        if self.kind != "words":
            return self._branched(key)
        for attempt in range(DRAWS):
            image = self._random_word(key)
            strict = len(key) > 2 and attempt < DRAWS // 2
            usable = image != key and image not in self._used and image not in kept_words()
            if usable and not (strict and image in self.taken):
                self._used.add(image)
                return image
        self._used.add(key)
        return key

    def _random_word(self, key: str) -> str:
        vowel = self._random.random() < 0.5
        parts = [self._letter(_pool(one, (number % 2 == 0) == vowel)) for number, one in enumerate(key)]
        return "".join(one or old for one, old in zip(parts, key, strict=True))

    def _branched(self, key: str) -> str:
        """Each letter by what stands before it in the word, or by itself alone: no two words become one."""
        parts, branch = [], self._branches
        for one in key:
            if one not in branch:
                taken = {one, *(image for image, _ in branch.values())}
                pool = [other for other in _pool(one) if other not in taken]
                branch[one] = self._letter(pool) or one, {}
            image, below = branch[one]
            parts.append(image)
            branch = below if self.kind == "prefixes" else branch
        return "".join(parts)

    def _letter(self, pool: Sequence[str]) -> str:
        return self._random.choice(pool) if pool else ""


@lru_cache(maxsize=100_000)
def fold(word: str) -> str:
    """A word in lower case without marks, as FTS5 compares words."""
    return "".join(one for one in _apart(word.lower()) if not unicodedata.combining(one))


def _apart(word: str) -> str:
    """A word with its marks as characters of their own; a Korean syllable stays whole."""
    return "".join(one if _alone(one) else unicodedata.normalize("NFD", one) for one in word)


def words_of(text: str) -> Iterator[str]:
    """The folded words of a text that would be replaced."""
    for found in TOKEN.finditer(text):
        token = found[0]
        if not token.startswith("<!--") and not found["signs"] and fold(token) not in kept_words():
            yield from map(fold, _parts(token))


def _parts(token: str) -> list[str]:
    """A word, or where a script has no spaces, its characters and what stands between them."""
    return [part for part in ALONE.split(token) if part]


def _alone(character: str) -> bool:
    return ALONE.match(character) is not None


@lru_cache(maxsize=4096)
def _pool(character: str, vowel: bool | None = None) -> str:
    """The characters that one may become: a digit, a letter of the same alphabet, a sign, or none."""
    if character in DIGITS:
        return DIGITS
    if character.isascii():
        return VOWELS + CONSONANTS if vowel is None else VOWELS if vowel else CONSONANTS
    if unicodedata.category(character) not in REPLACED:
        return ""
    first = ord(character) & ~0xFF
    near = "".join(one for one in map(chr, range(first, first + 0x100)) if _alike(character, one))
    return near if near != character else ""


def _alike(character: str, other: str) -> bool:
    return (
        unicodedata.category(other) == unicodedata.category(character)
        and _form(other) == _form(character) != CANONICAL
        and other.lower() == other
        and len(other.encode()) == len(character.encode())
        and _alone(other) == _alone(character)
    )


REPLACED = frozenset({"Lu", "Ll", "Lt", "Lm", "Lo", "Nd", "Nl", "No", "Sm", "Sc", "So", "Co"})
"""The categories of characters beyond ASCII for which another one is drawn; marks and punctuation stay."""
CANONICAL = "canonical"


def _form(character: str) -> str:
    """The kind of a character that stands for others, such as <font> for a mathematical letter."""
    decomposed = unicodedata.decomposition(character)
    return decomposed.partition(" ")[0] if decomposed[:1] in ("", "<") else CANONICAL


def _shaped(word: str, image: str) -> str:
    """The image with the capitals and the marks of a word; without the marks where they do not fit."""
    apart = _apart(word)
    bases = [one for one in apart if not unicodedata.combining(one)]
    if len(bases) != len(image):
        return image if len(image) == len(word) else word
    cased = "".join(map(_cased, image, bases))
    letters = iter(cased)
    composed = "".join(one if unicodedata.combining(one) else next(letters) for one in apart)
    whole = unicodedata.normalize("NFC", composed)
    return whole if len(whole) == len(word) else cased if len(cased) == len(word) else composed


def _cased(letter: str, like: str) -> str:
    upper = letter.upper()
    return upper if like.isupper() and len(upper) == 1 else letter


REDACTED = (
    "Redacted: the words are not the original ones; each passage keeps the vector of its original text."
)
DRAWN = 4
"""How often each way to replace words is tried, with other words each time."""
KINDS: Sequence[tuple[Kind, bool]] = (
    ("words", True),
    ("words", False),
    ("prefixes", True),
    ("prefixes", False),
    ("letters", False),
)
"""The ways to replace words, the safest first, each with or without moving dates."""


@dataclass(frozen=True)
class Proof:
    """What is equal in the case before and after: its reasons, its legs' hits, scores and answers."""

    reasons: bool
    elsewhere: bool
    releases: bool
    legs: bool
    scores: bool
    answers: bool

    @property
    def complete(self) -> bool:
        """Whether everything is equal."""
        return all(vars(self).values())

    @property
    def same_failure(self) -> bool:
        """Whether at least the failure and its reason are the same, on all systems that the case names."""
        return self.reasons and self.elsewhere

    def __str__(self) -> str:
        same = zip(vars(self).values(), PROVED, strict=True)
        return "\n".join(f"{'same' if one else 'DIFFERENT'}: {what}" for one, what in same)


PROVED = (
    "the fate and stage of each question",
    "the verdict on the other systems",
    "the verdict on each release of the system",
    "the hits of each leg with their numbers",
    "the score and fate of each candidate",
    "the answers in their order",
)
"""What each part of a proof compares."""


@dataclass(frozen=True)
class Redaction:
    """A redacted case, the proof that it shows the same failure, and what may still identify somebody."""

    case: Case
    proof: Proof
    kind: Kind
    remains: tuple[str, ...]


def redacted(case: Case, folder: Path | None = None) -> Redaction:
    """The case in other words, proved by running both.

    The safest way of replacing words is taken for which everything stays equal, or else the first for which
    the failure and its reason stay, if possible with the verdict on each release. Raises InputError if there
    is none, and for a case that cannot be run.
    """
    case = _plain_systems(case, folder)
    original, plain = run_everywhere(case, folder), frozen(case, folder)
    before = run_everywhere(plain)._replace(releases=original.releases)
    if any(one.words for one in case.questions) and original.systems[0].reasons != before.systems[0].reasons:
        raise InputError(
            "The failure needs the vectors of single words. Words can be read out of these, so a redacted "
            "case does not hold them.",
            "Shrink it first (workbench case shrink), and replace the words that are left by hand.",
        )
    known = set(_vocabulary(plain))
    best: Redaction | None = None
    for (kind, dates), _ in product(KINDS, range(DRAWN)):
        names = Pseudonyms(kind, dates, taken=known)
        try:
            after = run_everywhere(_with_pseudonyms(plain, names))
        except InputError:  # such as front matter that other words break
            continue
        proof = _proved(before, after, names)
        if proof.same_failure and (best is None or proof.complete or proof.releases > best.proof.releases):
            run = after.systems[0]
            case = run.case.with_changes(compared=_compared(before, after))
            best = Redaction(
                with_observations(replace(run, case=case)), proof, kind, tuple(_remains(plain, names))
            )
        if proof.complete:
            break
    if best is None:
        raise InputError(
            "With other words the case fails in another way, so it cannot be redacted.",
            "Shrink it first (workbench case shrink), and replace the words that are left by hand.",
        )
    return best


def _plain_systems(case: Case, folder: Path | None) -> Case:
    """The case with each configuration of OpenClaw as a release with settings, without its other keys."""

    def plain(part: Any) -> Any:
        if isinstance(part, list):
            return [plain(one) for one in part]
        if isinstance(part, CaseSystem) and part.openclaw is not None:
            return system_of_case(pipeline_of_case(part, folder))
        if not isinstance(part, CasePart):
            return part
        return part.with_changes(**{name: plain(value) for name, value in part})

    cleaned: Case = plain(case)
    return cleaned


def _compared(before: Everywhere, after: Everywhere) -> list[str]:
    """The systems on which a case and its redacted form agree."""
    same = [name for name, holds in before.releases.items() if after.releases.get(name) == holds]
    named = [
        old.pipeline.name
        for old, new in zip(before.systems, after.systems, strict=True)
        if old.holds == new.holds
    ]
    return list(dict.fromkeys([*named, *same]))


def _vocabulary(case: Case) -> Iterator[str]:
    for note in case.memory.notes or ():
        yield from words_of(note.whole)
        yield from words_of(note.path)
    for question in case.questions:
        yield from words_of(question.question)


def _with_pseudonyms(case: Case, names: Pseudonyms) -> Case:
    questions = [one.with_changes(observed=None) for one in _in_other_words(case.questions, names)]
    return case.with_changes(
        title=f"{case.system.called}: a redacted case",
        note=REDACTED,
        questions=questions,
        memory=_in_other_words(case.memory, names),
    )


TEXTS = {"question", "text", "triggers", "projects"}
PATHS = {"path", "found", "not_found", "order"}
"""The keys of a case whose values are texts of the user, and those whose values are paths of notes."""


def _in_other_words(part: Any, names: Pseudonyms) -> Any:
    """A part of a case, and all inside of it, with other words in the texts and then in the paths."""
    if isinstance(part, list):
        return [_in_other_words(one, names) for one in part]
    if not isinstance(part, CasePart):
        return part
    update: dict[str, Any] = {}
    for name, value in sorted(part, key=lambda field: field[0] in PATHS):
        if value and name in TEXTS:
            update[name] = names.text(value)
        elif value and name in PATHS:
            update[name] = [names.path(one) for one in value] if name == "order" else names.path(value)
        else:
            update[name] = _in_other_words(value, names)
    return part.with_changes(**update)


# The proof


def _proved(before: Everywhere, after: Everywhere, names: Pseudonyms) -> Proof:
    mine, *theirs = before.systems
    new, *others = after.systems
    pairs = [
        (old.trace, new.trace)
        for run, again in zip(before.systems, after.systems, strict=True)
        for old, new in zip(run.answers, again.answers, strict=True)
    ]
    return Proof(
        mine.reasons == new.reasons,
        [one.holds for one in theirs] == [one.holds for one in others],
        before.releases == after.releases,
        all(_legs(old, names.path) == _legs(new) for old, new in pairs),
        all(_scores(old, names.path) == _scores(new) for old, new in pairs),
        all([names.path(one) for one in old.paths()] == new.paths() for old, new in pairs),
    )


def _legs(trace: Trace, renamed: Callable[[str], str] = str) -> Any:
    """Each leg's hits: place and number, equal numbers in the order of the places."""
    by_row = {int(row): chunk for row, chunk in zip(trace.rows, trace.chunks, strict=True)}
    return {
        leg.name: sorted(
            (round(float(raw), 9), renamed(by_row[int(row)].path), by_row[int(row)].start_line)
            for row, raw in zip(leg.hits.rows, leg.hits.raw, strict=True)
            if int(row) in by_row
        )
        for leg in trace.legs.values()
    }


def _scores(trace: Trace, renamed: Callable[[str], str] = str) -> Any:
    """Each candidate's place, numbers and fate, without its position among equals."""
    return sorted(
        (
            renamed(one.chunk.path),
            one.chunk.start_line,
            [round(value, 9) for value in one.numbers.values() if not np.isnan(value)][-1:],
            one.drop.stage.slot if one.drop else "",
        )
        for one in trace.candidates
    )


# What remains


def _remains(case: Case, names: Pseudonyms) -> Iterator[str]:
    """What may still identify somebody, for a person to decide: everything that is not replaced."""
    notes = case.memory.notes or ()
    whole = "\n".join(one.whole for one in notes)
    yield f"the number of notes ({len(notes)}), their folders, and the lengths of words, lines and notes"
    counts = Counter(names.images[word] for word in words_of(whole) if word in names.images)
    for word, count in counts.most_common(1):
        yield f"how often each word occurs: the most frequent one is “{word}”, {counted(count, 'time')}"
    if names.kept:
        yield f"{counted(len(names.kept), 'function word')} and operators: {' '.join(sorted(names.kept))}"
    if names.moved:
        yield f"{len(names.moved)} dates: all are moved by the same number of days, so the days between stay"
    if names.unchanged:
        yield f"words and signs that could not be replaced: {_shown(names.unchanged)}"
    if names.left:
        yield f"what stands between words, and numbers that systems read: {_shown(names.left)}"
    if names.kind == "prefixes":
        yield "common beginnings of words stay common, since the system searches for beginnings"
    if names.kind == "letters":
        yield "LETTERS ARE EXCHANGED ONE FOR ONE, which is easy to undo; no other way keeps this failure"
    if any(not one.isascii() and one.isalpha() for one in whole):
        yield "the scripts, and so the languages, of the notes"
    if "@" in whole or "://" in whole:
        yield "the form of addresses (such as a@b.c), with other words in them"
    for name, said in (("known_bug", case.known_bug), ("references", ", ".join(case.references))):
        if said:
            yield f"{name} is not changed: {said}"
    systems = " ".join(f"{name}={value}" for name, value in _of_systems(case) if value)
    yield f"the name of the model ({case.model.name}), all versions, and the systems: {systems}"


def _shown(pieces: Iterable[str]) -> str:
    """Different pieces, the longest first, as they are or escaped."""
    found = sorted(pieces, key=lambda one: (-len(one), one))
    return " ".join(one if one.isprintable() else ascii(one) for one in found)


def _of_systems(part: Any) -> Iterator[tuple[str, Any]]:
    """The fields of every system in a part of a case."""
    for one in part if isinstance(part, list) else [part]:
        if isinstance(one, CaseSystem):
            yield from one
        elif isinstance(one, CasePart):
            for _, value in one:
                yield from _of_systems(value)
