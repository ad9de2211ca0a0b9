"""What a diagnosis says first is read from the printed text and computed again, at random settings."""

from __future__ import annotations

import re

from hypothesis import HealthCheck, assume, given, settings

from tests.lab.diagnose.claims import check_claims
from tests.views.test_true_verdicts import asked, index
from workbench.errors import InputError
from workbench.retrieval.index_adapters import CachedIndex
from workbench.retrieval.pipeline import Pipeline, search
from workbench.retrieval.query import unicode_words
from workbench.terminal import text_of
from workbench_plugins.diagnose.diagnosis import diagnose
from workbench_plugins.diagnose.page import Diagnosis

__all__ = ["index"]  # a fixture


@settings(max_examples=25, suppress_health_check=[HealthCheck.filter_too_much], deadline=None)
@given(one=asked())
def test_the_first_lines_of_a_diagnosis_are_true(one: tuple[Pipeline, str, str], index: CachedIndex) -> None:
    pipeline, question, target = one
    try:
        before = search(question, pipeline, index)
        found = diagnose(question, pipeline, index, target)
    except InputError:  # the file is the first already, or the question has no word
        assume(False)
        raise
    check_claims(found, index)
    printed = text_of(found.view(), width=10_000)
    check_price(found, printed, index)
    first = next(line for line in printed.split("\n") if line.startswith(("Returned: ", "Not returned: ")))
    if target in before.paths():
        place, of = before.paths().index(target) + 1, len(before.paths())
        assert first.startswith(f"Returned: file {place} of {of} in the answer")
    else:
        assert first.startswith("Not returned: ")
    check_words(printed, index)


def check_price(found: Diagnosis, printed: str, index: CachedIndex) -> None:
    """`6 → 27 of 57`: how many questions find their file with the pipeline, and with the first repair.

    Of a longer answer also how many files come along.
    """
    told = re.search(
        r"^Price: (?:(\d+) other files? comes? along; )?(\d+) → (\d+) of (\d+) questions", printed, re.M
    )
    if told is None:
        return
    repair = next(line for line in printed.split("\n") if line.startswith("Repair: "))
    named = {one.as_set or one.in_words: one for one in found.fixes}
    fix = next(one for text, one in named.items() if re.search(rf"{re.escape(text)}(?![\w.])", repair))
    hits = [
        sum(one.target in search(one.question, each, index).paths() for one in found.prices.questions)
        for each in (found.pipeline, fix.pipeline)
    ]
    assert [int(told[2]), int(told[3]), int(told[4])] == [*hits, len(found.prices.questions)]
    before, after = ({*search(found.question, one, index).paths()} for one in (found.pipeline, fix.pipeline))
    longer = fix.pipeline.limit > found.pipeline.limit
    assert int(told[1] or 0) == (len(after - before - {found.target}) if longer else 0)


def check_words(printed: str, index: CachedIndex) -> None:
    """Words that are said to be in no note are in none."""
    known = {word.lower() for one in index.documents() or () for word in unicode_words(one.text)}
    said = re.search(
        r"^Cause: question: (?:no note has ([^;]+);"
        r"|none of the question's words of content is in any note: (.*))",
        printed,
        re.M,
    )
    for word in re.findall(r"[\w-]+", (said[1] or said[2]) if said else ""):
        assert word.lower() not in known
