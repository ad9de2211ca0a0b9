"""Short and long forms of one name: `mfa` and `multi-factor authentication`, `k8s` and `kubernetes`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import combinations_with_replacement

from workbench.memory.data_files import load_data
from workbench.retrieval.dates import dates_in
from workbench.retrieval.query import unicode_words
from workbench.stop_words import STOP_WORDS
from workbench_plugins.diagnose.asked import Asked, lower_words
from workbench_plugins.diagnose.causes import Cause

NUMBERS = {str(number): word for number, word in enumerate(load_data(__file__, "numbers.toml")["words"])}
NUMBERS_IN_WORDS = {**NUMBERS, **{word: number for number, word in NUMBERS.items()}}
SHORT = re.compile(r"(?=.*[^\W\d_])\w{2,6}")
COUNTED = re.compile(r"([^\W\d_])(\d{1,2})([^\W\d_])")
LONGEST = 6
"""A short form has at most so many letters, one for each word."""


def short_form_causes(asked: Asked) -> Iterator[Cause]:
    """A name that the question writes short and the wanted note in full, or the reverse, found by trying.

    Only a form that stands in the wanted note is tried.
    """
    near = [one for one in asked.near if one not in asked.index.paths()]  # a search does not read the path
    there = {*lower_words(near)}
    ways = (
        ("the question writes “{}” short, and the note in full: “{}”", _in_full(asked, near, there)),
        ("the question writes “{}” in full, and the note short: “{}”", _in_short(asked, near, there)),
    )
    for told, tried in ways if asked.deep else ():
        questions = dict(tried)
        better = asked.first_that_works(iter(questions))
        if better:
            yield asked.cause(told.format(*questions[better]), better)
            return


Tried = Iterator[tuple[str, tuple[str, str]]]
"""Other questions, each with what the question has and what stands there in its place."""


def _in_full(asked: Asked, near: Sequence[str], there: set[str]) -> Tried:
    """The question with a short form that the note does not have written in full, as the note has it.

    A word that other notes have, in small letters and without a number, is a word and no short form.
    """
    for word in dict.fromkeys(unicode_words(asked.question)):
        small = word.lower()
        usual = word.islower() and word.isalpha() and small in asked.written
        if SHORT.fullmatch(word) and not usual and small not in {*there, *STOP_WORDS}:
            for full in spelled_out(word, near):
                question = re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", full, asked.question)
                yield question, (word, full)


def _in_short(asked: Asked, near: Sequence[str], there: set[str]) -> Tried:
    """The question with a long form, which the note does not have, written as short as the note has it."""
    found = list(re.finditer(r"\w+", asked.question))
    dates = [written for written, _ in dates_in(asked.question)]
    for first, last in combinations_with_replacement(range(len(found)), 2):
        words = [one[0].lower() for one in found[first : last + 1]]
        forms = [one for one in _short_forms(words) if one in there - STOP_WORDS]
        written = [next(_as_written(one, near)) for one in forms]
        forms = [one for one in written if one.isupper() or not one.isalpha()]  # others are words
        begin, end = found[first].start(), found[last].end()
        if (
            forms
            and len(words) <= LONGEST
            and not STOP_WORDS & {words[0], words[-1]}
            and not {*words} <= there
            and not any(asked.question[begin:end] in one for one in dates)
        ):
            question = f"{asked.question[:begin]}{forms[0]}{asked.question[end:]}"
            yield question, (asked.question[begin:end], forms[0])


def _as_written(word: str, texts: Sequence[str]) -> Iterator[str]:
    """A word in small letters, as some texts write it."""
    return (one for text in texts for one in unicode_words(text) if one.lower() == word)


def _short_forms(words: Sequence[str]) -> list[str]:
    """The first letters of several words, also with a number as a figure; of one long word `k8s`.

    >>> _short_forms(["two", "factor", "authentication"]), _short_forms(["kubernetes"])
    (['tfa', '2fa'], ['k8s'])
    """
    if len(words) == 1:
        (word,) = words
        return [f"{word[0]}{len(word) - 2}{word[-1]}"] if len(word) > LONGEST else []
    figures = [NUMBERS_IN_WORDS.get(one, one) for one in words]
    return list(dict.fromkeys("".join(one[0] for one in some) for some in (words, figures)))


def spelled_out(word: str, texts: Sequence[str]) -> list[str]:
    """What a short form can stand for in some texts, each once and in small letters.

    Its letters are the first ones of several words, or a number in it counts the letters that are left out.
    One of three words can be a function word, as in “paid time off”.

    >>> spelled_out("2fa", ["Two-factor authentication"]), spelled_out("k8s", ["our Kubernetes"])
    (['two-factor authentication'], ['kubernetes'])
    """
    small = word.lower()
    first, *rest = (rf"(?:{NUMBERS[one]}|{one})\w*" if one in NUMBERS else rf"{one}\w+" for one in small)
    patterns = [rf"(?<!\w){first}{''.join(rf'[ -]{one}' for one in rest)}"]
    if counted := COUNTED.fullmatch(small):
        patterns.append(rf"(?<!\w){counted[1]}\w{{{counted[2]}}}{counted[3]}(?!\w)")
    found = (
        match[0].lower()
        for pattern in patterns
        for text in texts
        for match in re.finditer(pattern, text, re.IGNORECASE)
    )
    return [one for one in dict.fromkeys(found) if len(STOP_WORDS & {*unicode_words(one)}) <= len(word) // 3]
