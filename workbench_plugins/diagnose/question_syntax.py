"""What a question says in a form that a search reads as plain words: operators, negations, relative days."""

from __future__ import annotations

import re
from collections.abc import Iterator

from workbench.records import KEYWORD, Query
from workbench.retrieval.dates import MONTHS
from workbench.retrieval.pipeline import search
from workbench.retrieval.query import unicode_words
from workbench.stop_words import content_words
from workbench_plugins.diagnose.asked import MANY_WORDS, Asked, short
from workbench_plugins.diagnose.causes import Cause
from workbench_plugins.diagnose.question_dates import RELATIVE, other_days

TERM = r'(?:"[^"]*"|\([^()]*\)|[^\s"()]+)'
FIELD = re.compile(rf'(?<![\w/:.])([A-Za-z_]{{2,12}}:)(?!//)(?=["(\w])({TERM})')
BOOLEAN = re.compile(r"\b(?:AND|OR|NOT|NEAR(?:/\d+)?)\b")
SIGN = re.compile(r'(?<!\S)[-+](?=["(\w])')
NEGATED = re.compile(rf"(?:\bNOT\s+|(?<!\S)-(?=[\"(\w]))(?:[A-Za-z_]{{2,12}}:)?{TERM}")
WILDCARD = re.compile(r"(\w+)\*")
MARK = re.compile(r'["()*]|(?<=[\w"])[~^]\d*(?!\w)')
FULL_WORDS = 3
"""The largest number of words of the notes that are tried for the beginning of one."""

NEGATION = re.compile(
    r"[,;]?\s*\b(?:but not|not|without|except(?: for)?|other than|excluding|rather than|no)\b([^,;.?!]+)",
    re.IGNORECASE,
)
ENDS_WITH_A_VERB = re.compile(
    r"\b(?:be|been|am|is|are|was|were|do|does|did|go|goes|can|could|will|would|should|must|may|has|have|had)\s*$",
    re.IGNORECASE,
)
"""What stands before *without* or *not* where this is what the question asks about."""
BARE = re.compile(r"\s*(?:not|no)\b", re.IGNORECASE)
VERB = re.compile(
    r"\b(?:am|is|are|was|were|do|does|did|can|could|will|would|should|must|may|might|has|have|had)\b",
    re.IGNORECASE,
)
"""A verb that *not* belongs to: *which colony did not survive* asks about it."""
ISO_DATE = re.compile(r"(?<!\d)(?:19|20)\d\d-\d\d-\d\d(?!\d)")


def syntax_causes(asked: Asked) -> Iterator[Cause]:
    """The forms that keep a question from its answer: each is named only if the question works without it."""
    yield from _operators(asked)
    yield from _one_phrase(asked)
    yield from _negation(asked)
    yield from _relative_day(asked)


def operators_in(question: str) -> list[str]:
    """The search operators of a question, as they are written.

    >>> operators_in('title:tea AND -"green tea" pot*'), operators_in("where is the tea? (and the pot)")
    (['title:', '-', 'AND', '*', '"'], [])
    """
    found = [match[1] for match in FIELD.finditer(question)]
    found += [match[0] for match in SIGN.finditer(question)]
    if not question.isupper():
        found += BOOLEAN.findall(question)
    if WILDCARD.search(question):
        found.append("*")
    if question.count('"') > 1:
        found.append('"')
    return list(dict.fromkeys(found))


def without_operators(question: str, fields: bool = True) -> str:
    """The words that are asked for: without what is negated, and with the values of fields or without them.

    >>> without_operators('title:tea AND -"green tea" pot*'), without_operators("in:notes tea", fields=False)
    ('tea pot', 'tea')
    """
    kept = NEGATED.sub(" ", question)
    kept = FIELD.sub(r"\2" if fields else " ", kept)
    for pattern in (BOOLEAN, SIGN, MARK):
        kept = pattern.sub(" ", kept)
    return " ".join(kept.split())


def _operators(asked: Asked) -> Iterator[Cause]:
    found = operators_in(asked.question)
    if not found:
        return
    better = asked.first_that_works(_plain(asked))
    if better:
        unknown = "" if _has_syntax(asked) else ", which this search does not know"
        yield asked.cause(f"the question has search operators ({' '.join(found[:6])}){unknown}", better)


SIGNS_INSIDE = re.compile(r"\S*\w[^\w\s]+\w\S*")


def _one_phrase(asked: Asked) -> Iterator[Cause]:
    """Words with signs in them, such as a date, that make the keyword leg ask for one whole phrase."""
    words = SIGNS_INSIDE.findall(asked.question)
    if not asked.deep or not words or not _is_one_phrase(asked, asked.question):
        return
    without = {one: " ".join(asked.question.replace(one, " ").split()) for one in words}
    parted = " ".join(re.sub(r"[^\w\s]+", " ", asked.question).split())
    joined = asked.question
    for one in words:
        if (word := re.sub(r"\W", "", one)).lower() in asked.vocabulary:  # the notes have E3 for E-3
            joined = joined.replace(one, word)
    others = [one for one in (parted, joined, *without.values()) if not _is_one_phrase(asked, one)]
    better = asked.first_that_works(iter(others))
    if better:
        guilty = [one for one, rest in without.items() if rest in others] or words
        leg = search(parted, asked.pipeline, asked.index).legs.get(KEYWORD) if better != parted else None
        too = f", and {leg.unrelaxed}" if leg and leg.unrelaxed else ""  # its signs alone are not at fault
        yield asked.cause(
            f"because of the signs in “{short(' '.join(guilty))}” the keyword leg searches for the whole "
            f"question as one phrase{too}",
            better,
        )


def _is_one_phrase(asked: Asked, question: str) -> bool:
    """Whether the keyword leg asks for all words of a question in their order."""
    query: Query | None = search(question, asked.pipeline, asked.index).query
    several = len(unicode_words(question)) > 1
    return query is not None and several and len(query.clauses) == 1 and query.clauses[0].phrase


def _has_syntax(asked: Asked) -> bool:
    """Whether the keyword leg sends the question in its engine's own syntax."""
    query: Query | None = search(asked.question, asked.pipeline, asked.index).query
    return query is not None and (query.expression is not None or any(one.bare for one in query.clauses))


def _plain(asked: Asked) -> Iterator[str]:
    """The question without its operators; the beginning of a word is completed by words of the notes."""
    for match in WILDCARD.finditer(asked.question):
        begin = match[1].lower()
        whole = sorted(
            (one for one in asked.vocabulary if one.startswith(begin) and one != begin),
            key=lambda one: (-asked.vocabulary[one], one),
        )
        for word in whole[:FULL_WORDS]:
            yield without_operators(asked.question.replace(match[0], word))
    for fields in (True, False):
        yield without_operators(asked.question, fields)


def _negation(asked: Asked) -> Iterator[Cause]:
    """Words that say what is not wanted: no leg knows that, so they are searched for.

    Words that the wanted file has are wanted, and what is asked about is no exception: *how long may a rabbit
    be without food*.
    """
    if not asked.deep or operators_in(asked.question):
        return
    found = [one for one in NEGATION.finditer(asked.question) if _says_what_is_unwanted(one)]
    unwanted = {word.lower() for one in found for word in content_words(unicode_words(one[1]))}
    if unwanted <= asked.own.keys():
        return
    said = [one[0].strip(" ,;") for one in found]
    rest = asked.question
    for one in found:
        rest = rest.replace(one[0], " ")
    rest = re.sub(r"\s+([,;.?!])", r"\1", " ".join(rest.split()))
    asks = content_words(unicode_words(rest))
    better = asked.first_that_works(iter([rest])) if asks else ""
    if better:
        yield asked.cause(
            f"the question says what is not wanted (“{short(said[0])}”), and its words are searched for, too",
            better,
        )


def _says_what_is_unwanted(negation: re.Match[str]) -> bool:
    """Whether a negation names an exception, and is no part of what the question asks."""
    before = negation.string[: negation.start()]
    clause = re.split(r"[,;]", before)[-1]
    asks = BARE.match(negation[0]) is not None and VERB.search(clause) is not None
    return not (asks or ENDS_WITH_A_VERB.search(before))


NO_DAY = "1987-11-19"
"""A date that no note is about, in place of a relative day."""


def _relative_day(asked: Asked) -> Iterator[Cause]:
    """A day, month or year that only the calendar names: tried with the dates of the wanted file.

    If any other date helps as well, the search does not find the note by its day.
    """
    said = RELATIVE.search(asked.question)
    if said is None or len(asked.question.split()) >= MANY_WORDS:
        return
    dates = dict.fromkeys(one for text in asked.near for one in ISO_DATE.findall(text))
    forms = {form: (one, place) for one in dates for place, form in enumerate(_in_calendar(said[0], one))}
    questions = {asked.question.replace(said[0], form).strip(): form for form in forms}
    better = asked.first_that_works(iter(questions))
    if not better:
        return
    day, place = forms[questions[better]]
    near = (one.isoformat() for one in other_days(*map(int, day.split("-"))))
    others = (form for one in (NO_DAY, *near) if (form := _in_calendar(said[0], one)[place]) not in forms)
    if not asked.first_that_works(asked.question.replace(said[0], one) for one in ("", *others)):
        noun = next((one for one in ("month", "year") if one in said[0].lower()), "day")
        yield asked.cause(
            f"the question says “{said[0]}”, and this search does not know which {noun} that is", better
        )


def _in_calendar(said: str, day: str) -> list[str]:
    """What words for a day, a month or a year may mean if the note has an ISO date, in the usual forms.

    >>> _in_calendar("last month", "2026-10-03"), _in_calendar("this year", "2026-10-03")
    (['October 2026', 'October', '2026-10', '2026-10-03'], ['2026', '2026-10-03'])
    """
    year, month, _ = day.split("-")
    if "month" in said.lower():
        name = MONTHS[int(month) - 1] if 1 <= int(month) <= 12 else ""
        return [*([f"{name} {year}", name] if name else []), f"{year}-{month}", day]
    return [year, day] if "year" in said.lower() else [day]
