"""Redacts a case: other words, the same failure, and the proof of it by running both.

Structure, lengths, the identity and the frequency of words stay, and so do the hits and the numbers of the
legs. Vectors travel as cosines with the questions, since a vector of a model can be inverted to its text.

The same word always becomes the same other word of the same length. Which word is drawn depends on the
length of the original and on the order of first appearance alone, so nobody can try a dictionary on the
result. Words that systems treat in their own way (stop words, operators) stay.
"""

from __future__ import annotations

import random
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import cache, lru_cache
from itertools import product
from pathlib import Path
from typing import Any, Literal

import numpy as np

from workbench.errors import InputError
from workbench.records import Trace
from workbench.registry import declared, declared_module
from workbench.safe_text import counted
from workbench_plugins.cases.model import Case, CasePart, CaseSystem
from workbench_plugins.cases.running import (
    CaseRun,
    pipeline_of_case,
    run_case,
    run_on,
    system_of_case,
    with_observations,
)
from workbench_plugins.cases.shrink import frozen

Kind = Literal["words", "prefixes", "letters"]

TOKEN = re.compile(
    r"<!--\s*(?:importance\s*:\s*\d+|(?:trigger|project)\s*:)|(?<![^\W_])\d{4}-\d{2}-\d{2}(?![^\W_])|[^\W_]+"
)
DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
FRONT_MATTER = re.compile(r"---\n(.*?\n)---(?:\n|\Z)", re.DOTALL)
FIELD = re.compile(r"^(\s*[\w-]+\s*:)(.*)$", re.MULTILINE)
OPERATORS = frozenset({"AND", "OR", "NOT", "NEAR"})
STRUCTURE = frozenset({"MEMORY.md", "USER.md", "memory.md", "memory", "sessions"})
ENDINGS = re.compile(r"\.(?:md|jsonl)$")
CHARACTERS = ((0x3040, 0x30FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xAC00, 0xD7AF))
"""Scripts without spaces, in which every character is replaced on its own."""
VOWELS, CONSONANTS, DIGITS = "aeiou", "bcdfghjklmnpqrstvwxyz", "0123456789"
DRAWS = 200


@cache
def kept_words() -> frozenset[str]:
    """The words that systems treat in their own way, such as stop words: those that the guests declare."""
    modules = [declared_module("kept_words", name) for name in declared("kept_words")]
    return frozenset(word.lower() for one in modules if one for word in one.KEPT_WORDS)


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
        if token in OPERATORS or fold(token) in kept_words():
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
            if image not in self._used and image not in kept_words() and not (strict and image in self.taken):
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
        if not token.startswith("<!--") and fold(token) not in kept_words():
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


REDACTED = (
    "Redacted: the words are not the original ones; each passage keeps the vector of its original text."
)
SEEDS = 4
KINDS: Sequence[tuple[Kind, bool]] = (
    ("words", True), ("words", False), ("prefixes", True), ("prefixes", False), ("letters", False),
)  # fmt: skip
"""The ways to replace words, the safest first, each with or without moving dates."""


@dataclass(frozen=True)
class Proof:
    """What is equal in the case before and after: its reasons, its legs' hits, scores and answers."""

    reasons: bool
    elsewhere: bool
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
    the failure and its reason stay. Raises InputError if there is none, and for a case that cannot be run.
    """
    plain = frozen(_plain_systems(case, folder), folder)
    before = _runs(plain)
    if (
        any(one.words for one in case.questions)
        and run_case(case, folder=folder).reasons != before[0].reasons
    ):
        raise InputError(
            "The failure needs the vectors of single words. Words can be read out of these, so a redacted "
            "case does not hold them.",
            "Shrink it first (workbench case shrink), and replace the words that are left by hand.",
        )
    known = set(_vocabulary(plain))
    best: Redaction | None = None
    for (kind, dates), seed in product(KINDS, range(SEEDS)):
        names = Pseudonyms(kind, dates, seed, taken=known)
        made = _replaced(plain, names)
        after = _runs(made)
        proof = _proved(before, after, names)
        if proof.complete or (proof.same_failure and best is None):
            best = Redaction(with_observations(after[0]), proof, kind, tuple(_remains(plain, names)))
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

    def plain(system: CaseSystem) -> CaseSystem:
        return system if system.openclaw is None else system_of_case(pipeline_of_case(system, folder))

    elsewhere = [one.model_copy(update={"system": plain(one.system)}) for one in case.elsewhere]
    return case.model_copy(update={"system": plain(case.system), "elsewhere": elsewhere})


def _runs(case: Case) -> list[CaseRun]:
    systems = [case.system, *(one.system for one in case.elsewhere)]
    return run_on(case, map(pipeline_of_case, systems))


def _vocabulary(case: Case) -> Iterator[str]:
    for note in case.memory.notes or ():
        yield from words_of(note.whole)
        yield from words_of(note.path)
    for question in case.questions:
        yield from words_of(question.question)


def _replaced(case: Case, names: Pseudonyms) -> Case:
    questions = [one.model_copy(update={"observed": None}) for one in _in_other_words(case.questions, names)]
    return case.model_copy(
        update={
            "title": f"{case.system.called}: a redacted case",
            "note": REDACTED,
            "questions": questions,
            "memory": _in_other_words(case.memory, names),
        }
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
    return part.model_copy(update=update)


# The proof


def _proved(before: Sequence[CaseRun], after: Sequence[CaseRun], names: Pseudonyms) -> Proof:
    mine, *theirs = before
    new, *others = after
    pairs = [
        (old.trace, made.trace)
        for run, again in zip(before, after, strict=True)
        for old, made in zip(run.answers, again.answers, strict=True)
    ]
    return Proof(
        mine.reasons == new.reasons,
        [one.holds for one in theirs] == [one.holds for one in others],
        all(_legs(old, names.path) == _legs(made) for old, made in pairs),
        all(_scores(old, names.path) == _scores(made) for old, made in pairs),
        all([names.path(one) for one in old.paths()] == made.paths() for old, made in pairs),
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
    """What may still identify somebody, for a person to decide."""
    notes = case.memory.notes or ()
    whole = "\n".join(one.whole for one in notes)
    yield f"the number of notes ({len(notes)}), their folders, and the lengths of words, lines and notes"
    counts = Counter(names.images[word] for word in words_of(whole) if word in names.images)
    for word, count in counts.most_common(1):
        yield f"how often each word occurs: the most frequent one is “{word}”, {counted(count, 'time')}"
    if names.kept:
        yield f"{len(names.kept)} function words and operators, such as {', '.join(sorted(names.kept)[:5])}"
    if names.moved:
        yield f"{len(names.moved)} dates: all are moved by the same number of days, so the days between stay"
    if names.unchanged:
        yield f"words that could not be replaced: {', '.join(sorted(names.unchanged))}"
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
    model, system = case.model.name, case.system.called
    yield f"the names of the model ({model}) and the system ({system}), and all versions"
