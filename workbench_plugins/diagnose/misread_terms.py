"""Words of the question that a leg does not find in a note that has them: `webley?` for `Webley`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from workbench.records import Chunk
from workbench.retrieval.legs import LegStage, legs_of
from workbench.retrieval.pipeline import search
from workbench_plugins.diagnose.asked import Asked, cause_in_question, short
from workbench_plugins.diagnose.causes import Cause

ENDS = re.compile(r"^[\W_]+|[\W_]+$")


def misread_terms(asked: Asked) -> Iterator[Cause]:
    """Terms that a leg misses in the wanted file, and finds with the file's own punctuation and capitals."""
    rows = asked.index.rows_of(asked.wanted)
    if not asked.deep or not rows.size:
        return
    chunks = asked.index.chunks(rows)
    for leg in legs_of(asked.pipeline.stages):
        forms = _forms(_missing(leg, asked, asked.question), chunks)
        written = " ".join(forms.get(word, word) for word in asked.question.split())
        better = asked.first_that_works(iter([written])) if forms else ""
        if better and not {*forms.values()} & _missing(leg, asked, better):
            pairs = [
                f"“{mine}” for another word than the note's “{theirs}”" for mine, theirs in forms.items()
            ]
            yield cause_in_question(
                f"the {leg.name} leg takes {' and '.join(pairs)}: only punctuation or capitals differ",
                asked.instead(better),
                f"“{short(better)}” {asked.outcome}",
                True,
            )


def _missing(leg: LegStage, asked: Asked, question: str) -> set[str]:
    """The terms of a question that the leg finds in no chunk of the wanted file."""
    trace = search(question, asked.pipeline, asked.index)
    missing = leg.missing(trace, asked.index, asked.index.rows_of(asked.wanted))
    return set[str].intersection(*map(set, missing))


def _forms(terms: set[str], chunks: Sequence[Chunk]) -> dict[str, str]:
    """The terms that stand in a note with other punctuation or capitals, each in the note's plainest form."""
    there: dict[str, str] = {}
    for written in sorted(
        {word for one in chunks for word in one.text.split()}, key=lambda one: (len(one), one)
    ):
        there.setdefault(_plain(written), written)
    return {one: there[_plain(one)] for one in sorted(terms) if _plain(one) and _plain(one) in there}


def _plain(word: str) -> str:
    """A word in lower case, without punctuation at its ends."""
    return ENDS.sub("", word).lower()
