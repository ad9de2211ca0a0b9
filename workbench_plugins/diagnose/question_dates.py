"""A question that writes a date in a form that no note has, as the cause."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import date, timedelta
from itertools import product

from workbench.retrieval.dates import MONTHS, Day, dates_in
from workbench_plugins.diagnose.asked import Asked
from workbench_plugins.diagnose.causes import Cause

DAYS = "day|week|month|year|monday|tuesday|wednesday|thursday|friday|saturday|sunday|night|weekend"
RELATIVE = re.compile(
    rf"\b(?:(?:the )?day before yesterday|(?:the )?day after tomorrow|yesterday|today|tomorrow|tonight"
    rf"|the week before last|(?:last|this|next|past)\s+(?:{DAYS})"
    r"|(?:\d+|an?|one|two|three|four|five|six|seven)\s+(?:days?|weeks?|months?|years?)\s+ago)\b",
    re.IGNORECASE,
)
"""A day that only a calendar names."""


def date_otherwise(asked: Asked) -> Iterator[Cause]:
    """A date that no note writes so, and a form of some note with which the answer is as wanted."""
    if not [*dates_in(asked.question)] and not WEEK.search(asked.question):
        return  # most questions have no date, and the notes need not be read
    notes = [text.lower() for text in asked.texts]  # each begins with the file's name
    bodies = [text.partition("\n")[2] for text in notes]
    years = sorted({year for text in notes for year in re.findall(r"\b((?:19|20)\d\d)-\d\d-\d\d", text)})
    for written, days in [*dates_in(asked.question), *weeks_in(asked.question, years)]:
        if any(written.lower() in text for text in bodies):
            continue
        forms = {form: (day, place) for day in days for place, form in enumerate(_forms(day, years))}
        there = {form: "the notes have" for form in forms if _stands_in(form, bodies)}
        named = {form: "a file's name has" for form in forms if form not in there and _stands_in(form, notes)}
        found = {**there, **named}
        others = {asked.question.replace(written, form).strip(): form for form in found}
        better = asked.first_that_works(iter(others))
        form = others.get(better, "")
        if better and not _any_day_works(asked, written, *forms[form], years):
            says = f"the question writes the date as “{written}”, and the text of no note does"
            yield asked.cause(f"{says}: {found[form]} “{form}”", better)


def _any_day_works(asked: Asked, written: str, day: Day, place: int, years: Sequence[str]) -> bool:
    """Whether the answer is as wanted with other days, too, in the form that has this place of the forms."""
    year, month, number = day
    others = ((one.year if year else None, one.month, one.day) for one in other_days(year, month, number))
    forms = (list(_forms(one, years))[place] for one in others)
    return bool(asked.first_that_works(asked.question.replace(written, form) for form in forms))


APART = (-80, -40, 40, 80)
"""So many days before and after a day are others of its year, mostly, and of another month."""


def other_days(year: int | None, month: int, number: int) -> list[date]:
    """Some days that are not meant where a day is named."""
    # A note may name a day that no calendar has.
    day = date(year or 2000, min(max(month, 1), 12), min(max(number, 1), 28))
    return [day + timedelta(days=days) for days in APART]


def _stands_in(form: str, texts: Sequence[str]) -> bool:
    """Whether a date stands in one of the texts, and is no part of another date."""
    plain = form.lower()
    pattern = re.compile(rf"(?<!\w)(?<!\d[./-]){re.escape(plain)}(?![\w/]|[.-]\d)")
    return any(plain in text and pattern.search(text) for text in texts)


WEEK = re.compile(
    r"\b(?:(?:calendar )?week|kw|kalenderwoche|semaine|semana|settimana|uke|uge|vecka) ?"
    r"(?P<w>\d{1,2})\b(?:(?: of)?,? (?P<y>(?:19|20)\d\d)\b)?",
    re.I,
)


def weeks_in(text: str, years: Sequence[str]) -> Iterator[tuple[str, list[Day]]]:
    """The weeks of a text as they are written, each with its days, from Monday on: in its year, or in some.

    Source: ISO 8601, whose first week has the year's first Thursday.
    """
    for match in WEEK.finditer(text):
        days: list[Day] = []
        for year in [match["y"]] if match["y"] else years:
            with suppress(ValueError):  # no such week
                days += [(one.year, one.month, one.day) for one in _days_of_week(int(year), int(match["w"]))]
        yield match[0], days


def _days_of_week(year: int, week: int) -> list[date]:
    return [date.fromisocalendar(year, week, day) for day in range(1, 8)]


def _forms(day: Day, years: Sequence[str]) -> Iterator[str]:
    """The forms in which notes write a day; without its year, in each of some years, and then without."""
    year, month, number = day
    names = (MONTHS[month - 1], MONTHS[month - 1][:3])
    padded, plain = (f"{number:02}", f"{month:02}"), (str(number), str(month))
    for each in [str(year)] if year else years:
        yield f"{each}-{month:02}-{number:02}"
        for written in (each, each[2:]):
            for name in names:
                yield from (f"{number} {name} {written}", f"{name} {number}, {written}")
            for (of_day, of_month), mark in product((padded, plain), "./-"):
                yield f"{of_day}{mark}{of_month}{mark}{written}"
                yield f"{of_month}{mark}{of_day}{mark}{written}"
    for name in names:
        yield from (f"{number} {name}", f"{name} {number}")
