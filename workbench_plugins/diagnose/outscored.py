"""Where nothing is at fault: another file scores higher, perhaps by weights that were fitted."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from workbench.measure.reruns import Reruns
from workbench.records import KEPT, Trace, first_of
from workbench.retrieval.columns import Columns
from workbench.retrieval.fusion import WeightedSum
from workbench.stop_words import STOP_WORDS
from workbench_plugins.diagnose.ahead import ahead_text, scores_text
from workbench_plugins.diagnose.asked import Asked, lower_words
from workbench_plugins.diagnose.causes import Cause
from workbench_plugins.diagnose.content_words import SHORTEST, content_words
from workbench_plugins.diagnose.languages import FUNCTION_WORDS
from workbench_plugins.diagnose.parameters import Aim, Goal
from workbench_plugins.diagnose.repairs import SCORE, fitted_slots
from workbench_plugins.diagnose.short_forms import NUMBERS_IN_WORDS
from workbench_plugins.diagnose.spelling import is_near

REPAIR = "ask with more of the words that the file has"
FITTED = "The weights were fitted to many questions, and one is no reason to change them"


def outscored(runs: Reruns, goal: Goal, inside: Sequence[Cause], asked: Asked | None) -> list[Cause]:
    """The cause that another file scores higher; none where a known repair makes the wanted file the first.

    Only for a fitted weighted sum that orders the answer. Taking a stage away is no repair of it.
    """
    trace = runs.base
    fusion = first_of(runs.pipeline.stages, WeightedSum)
    if fusion is None or fusion.slot not in fitted_slots(runs.pipeline) or trace.ranked_by != SCORE:
        return []
    if any(not one.removes for one in (inside[0].repairs if inside else ())):
        return []
    parts = {leg: np.nan_to_num(fusion.part(Columns(trace.columns), leg)) for leg in fusion.legs}
    found = []
    for cause in higher(runs, goal, asked):
        first, mine = _two(trace, goal)
        leads = {leg: part[first] - part[mine] for leg, part in parts.items()}
        most = max(leads, key=leads.__getitem__)
        lead = f"its largest lead is in the {fusion.score_name(most)}: {leads[most]:.3g} of the score"
        repair = cause.repair if cause.verified else f"{REPAIR}. {FITTED}"
        found.append(replace(cause, repair=repair, evidence=f"{lead}; {cause.evidence}"))
    return found


def higher(runs: Reruns, goal: Goal, asked: Asked | None = None) -> list[Cause]:
    """The cause that another file is before the wanted one, by the numbers that order the answer.

    Words of the question that it has and the wanted one lacks are named. If the question works without them,
    that is the repair; or else a word of the wanted file with which the question works.
    """
    trace = runs.base
    writer = next((one.slot for one in runs.pipeline.stages if trace.ranked_by in one.writes()), "")
    if goal.aim is not Aim.FIRST or not writer:
        return []
    first, mine = _two(trace, goal)
    one, other = float(trace.scores[first]), float(trace.scores[mine])
    if not one > other:  # another stage orders the answer
        return []
    before = trace.chunks[first].path
    says = ahead_text(trace, goal)
    difference = f"the whole difference is {one - other:.3g}"
    if asked is None:
        return [Cause((writer,), says, REPAIR, difference, verified=False)]
    chunks = asked.index.chunks(asked.index.rows_of(before))
    theirs = Counter(lower_words([before, *(one.text for one in chunks)]))
    words = _only_in(theirs, asked)
    quoted = ", ".join(f"“{word}”" for word in words)
    says = f"{scores_text(trace, goal)}; that file has {quoted}, and this one does not" if words else says
    rest = asked.first_that_works(iter([_without(words, asked.question)])) if words else ""
    if rest:
        works = f"without {quoted} the answer is as wanted; {difference}"
        return [Cause((writer,), says, asked.instead(rest), works, verified=True)]
    telling = _telling(theirs, asked)
    more = asked.first_that_works(f"{asked.question} {word}" for word in telling)
    if more:
        word = more.rpartition(" ")[2]
        works = f"with “{word}”, which the file has, the answer is as wanted; {difference}"
        # A person who does not know the file cannot know the word, so it is no question to paste.
        return [Cause((writer,), says, f"{REPAIR}: with “{word}” it is first", works, verified=True)]
    return [Cause((writer,), says, REPAIR, difference, verified=False)]


MOST_TELLING = 8
"""So many words of the wanted file are tried, each added to the question."""


def _telling(theirs: Counter[str], asked: Asked) -> list[str]:
    """Words of the wanted file that neither the question nor the first file has.

    Those of the file's name come first, then those that the fewest other notes have.
    """
    known = {*theirs, *lower_words([asked.question]), *FUNCTION_WORDS, *STOP_WORDS}
    name = {*lower_words([asked.wanted])}
    words = [one for one in asked.own if one.isalpha() and len(one) >= SHORTEST and one not in known]
    every = asked.vocabulary or asked.own
    return sorted(
        words, key=lambda one: (one not in name, -asked.own[one] / every[one], -asked.own[one], one)
    )[:MOST_TELLING]


def _only_in(theirs: Counter[str], asked: Asked) -> list[str]:
    """The question's words of content that a file with these words has, and the wanted one lacks.

    None if it lacks all.
    """
    words = [one.lower() for one in content_words(asked)]
    lacking = [one for one in words if not is_near(one, asked.own)]
    telling = [one for one in lacking if one in theirs and one not in NUMBERS_IN_WORDS]
    return telling if len(lacking) < len(words) else []


def _without(words: Sequence[str], question: str) -> str:
    pattern = "|".join(map(re.escape, words))
    rest = re.sub(rf"(?<!\w)(?:{pattern})(?!\w)", " ", question, flags=re.IGNORECASE).split()
    return " ".join(one for one in rest if any(map(str.isalnum, one)))


def _two(trace: Trace, goal: Goal) -> tuple[int, int]:
    """The rows of the first result, and of the first one of the wanted file."""
    returned = trace.order[trace.dropped[trace.order] == KEPT].tolist()
    return returned[0], next(row for row in returned if trace.chunks[row].path == goal.path)
