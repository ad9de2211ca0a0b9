"""The words of a question that say what is asked for."""

from __future__ import annotations

import re

from workbench.retrieval.dates import dates_in
from workbench.retrieval.query import unicode_words
from workbench.stop_words import STOP_WORDS
from workbench_plugins.diagnose.asked import Asked
from workbench_plugins.diagnose.languages import FUNCTION_WORDS, LANGUAGES, language_of
from workbench_plugins.diagnose.question_dates import RELATIVE
from workbench_plugins.diagnose.short_forms import NUMBERS_IN_WORDS
from workbench_plugins.diagnose.spelling import is_near

NUMBERS_TOGETHER = re.compile(r"\b\d+(?:[-./:]\d+)+\b")
SHORTEST = 3
"""A shorter word is replaced by no other one."""


def replaceable(question: str) -> list[str]:
    """The words for which another one may stand: none of two letters, and no part of a day or a version."""
    for date, _ in dates_in(question):
        question = question.replace(date, " ")
    words = dict.fromkeys(unicode_words(NUMBERS_TOGETHER.sub(" ", RELATIVE.sub(" ", question))))
    return [one for one in words if len(one) >= SHORTEST or one in NUMBERS_IN_WORDS]


def content_words(asked: Asked) -> list[str]:
    """The words of the question that say what is asked for: no function words of its language.

    Where that is not clear, a function word of any language counts as one, unless a note has it.
    """
    language, _ = language_of([asked.question])
    functions = LANGUAGES.get(language, FUNCTION_WORDS - asked.vocabulary.keys()) | STOP_WORDS
    return [one for one in replaceable(asked.question) if one.lower() not in functions]


def content_of(question: str) -> list[str]:
    """The words of a question without function words of English and of its own language."""
    language, _ = language_of([question])
    functions = STOP_WORDS | LANGUAGES.get(language, frozenset())
    words = unicode_words(question)
    return [one for one in words if one.lower() not in functions] or words


def lacks_most_words(asked: Asked) -> bool:
    """Whether the wanted file has half of the words of content at most: some are alike in two languages."""
    words = content_words(asked)
    return bool(words) and 2 * sum(is_near(one.lower(), asked.own) for one in words) <= len(words)
