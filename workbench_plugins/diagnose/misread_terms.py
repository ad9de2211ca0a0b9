"""Words of the question that a leg does not find in a note that has them: `webley?` for `Webley`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from workbench.records import Chunk, Trace
from workbench.retrieval.legs import LegStage, legs_of
from workbench.retrieval.pipeline import search
from workbench_plugins.diagnose.asked import Asked
from workbench_plugins.diagnose.causes import Cause

ENDS = re.compile(r"^[\W_]+|[\W_]+$")


def misread_terms(asked: Asked) -> Iterator[Cause]:
    """Terms that a leg misses in the wanted file, and finds with the file's own punctuation and capitals."""
    rows = asked.index.rows_of(asked.wanted)
    if not asked.deep or not rows.size:
        return
    there = _plainest(asked.index.chunks(rows))
    trace = search(asked.question, asked.pipeline, asked.index)
    for leg in legs_of(asked.pipeline.stages):
        missing = _missing(leg, trace, asked)
        forms = {one: there.get(_plain(one), one) for one in asked.question.split() if one in missing}
        forms = {mine: theirs for mine, theirs in forms.items() if mine != theirs}
        written = " ".join(forms.get(word, word) for word in asked.question.split())
        better = asked.first_that_works(iter([written])) if forms else ""
        if better and not _still_missing(leg, better, forms, asked):
            pairs = [
                f"“{mine}” for another word than the note's “{theirs}”" for mine, theirs in forms.items()
            ]
            yield asked.cause(
                f"the {leg.name} leg takes {' and '.join(pairs)}: only punctuation or capitals differ", better
            )


def _missing(leg: LegStage, trace: Trace, asked: Asked) -> set[str]:
    """The terms of a search that the leg finds in no chunk of the wanted file."""
    missing = leg.missing(trace, asked.index, asked.index.rows_of(asked.wanted))
    return set[str].intersection(*map(set, missing))


def _still_missing(leg: LegStage, better: str, forms: Mapping[str, str], asked: Asked) -> bool:
    """Whether the leg misses the note's own form of a word, too, whatever capitals it gives its terms."""
    missing = _missing(leg, search(better, asked.pipeline, asked.index), asked)
    return not {one.lower() for one in forms.values()}.isdisjoint(one.lower() for one in missing)


def _plainest(chunks: Sequence[Chunk]) -> dict[str, str]:
    """The plainest form of each word of a note, by the word in lower case without punctuation at its ends."""
    words = {word for one in chunks for word in one.text.split()}
    there: dict[str, str] = {}
    for written in sorted(words, key=lambda one: (len(one), one)):
        there.setdefault(_plain(written), written)
    return {plain: written for plain, written in there.items() if plain}


def _plain(word: str) -> str:
    """A word in lower case, without punctuation at its ends."""
    return ENDS.sub("", word).lower()
