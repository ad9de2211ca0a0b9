"""A passage of the wanted file that is nearer to the question than the chunk in which it stands."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from workbench.measure.reruns import Reruns
from workbench.memory.embedding.local import has_runs
from workbench.records import Chunk
from workbench_plugins.diagnose.asked import lower_words, short
from workbench_plugins.diagnose.causes import Cause
from workbench_plugins.diagnose.content_words import content_of
from workbench_plugins.diagnose.kinds import KINDS, of_kind
from workbench_plugins.diagnose.languages import likely_language
from workbench_plugins.diagnose.parameters import Aim, Goal
from workbench_plugins.diagnose.vector_causes import (
    asks_vectors,
    distances_of,
    found_with,
    half_read,
    unread_text,
)

MOST_PIECES = 24
"""The largest number of a file's passages that are embedded alone."""
PIECE = re.compile(r"(?:[^\n.!?。！？]|[.!?](?=[^\s.!?])|(?<=\b\d)\.|(?<=\b\d\d)\.)+[.!?。！？]*")
"""A sentence or a line. A dot within a name or a number, and one after a day of a month, does not end it."""
SHORTEST_PIECE = 12
"""The least number of characters of a passage."""
HEADING = re.compile(r"^#{1,6}[ \t]+(.+?)[ \t#]*$", re.MULTILINE)

Piece = tuple[int, str]
"""The row of a chunk, and a passage of its text."""


def cause_in_chunk(runs: Reruns, goal: Goal) -> list[Cause]:
    """Whether one passage of the file, embedded alone or with its heading, would bring it into the answer."""
    index = runs.index
    rows, asked = index.rows_of(goal.path), runs.vector
    distances = distances_of(index, asked, rows) if asks_vectors(runs) and goal.aim is not Aim.OUT else None
    if distances is None or asked is None:
        return []
    chunks = {int(row): one for row, one in zip(rows, index.chunks(rows), strict=True)}
    pieces = _pieces(runs.question, chunks)
    headings = _headings(chunks)
    alone = {one: one[1] for one in pieces}
    headed = {one: f"{headings[one[0]]}: {one[1]}" for one in pieces if one[0] in headings}
    for kind, texts in (("passage", alone), ("split", headed)):
        near = {one: index.embed(text) for one, text in texts.items()}
        best = max(near, key=lambda one: float(asked @ near[one]), default=None)
        if best is not None and found_with(runs, goal, {best[0]: near[best]}):
            whole = 1 - float(distances[rows.tolist().index(best[0])])
            told = f"“{texts[best][:60]}” alone has the cosine {float(asked @ near[best]):.3f}"
            told += f", and the whole chunk {whole:.3f}; with it, the file would be {goal.aim}"
            chunk = chunks[best[0]]
            if not has_runs(chunk.text) and best[1] in unread_text(chunk):
                return [half_read("too long", index, chunk, f"with “{short(best[1])}” alone")]
            found = of_kind(kind, index, f"{chunk.location}: {told}", True)
            found = replace(found, description=f"{found.description}: “{short(best[1])}”")
            read = f"{found.description}; the model read {chunk.read_share:.0%} of the chunk"
            return [found if chunk.read_share == 1 else replace(found, description=read)]
    return []


def is_unread(cause: Cause) -> bool:
    """Whether the cause is a part of a chunk that the model has not read."""
    return bool(cause.description == KINDS["too long"]["says"])


def without_other_chunks(cause: Cause) -> Cause:
    """A cause as it is told once other sizes of chunks were tried, and none brings the file."""
    by_hand = {one["repair"]: one["repair_by_hand"] for one in KINDS.values() if "repair_by_hand" in one}
    return replace(cause, repair=by_hand.get(cause.repair, cause.repair))


def _pieces(question: str, chunks: Mapping[int, Chunk]) -> list[Piece]:
    """Sentences and lines of chunks that have several: first those with words of the question and rare words.

    Headings are left out, since they answer nothing.
    """
    some = {row: _sentences(HEADING.sub("", one.text)) for row, one in chunks.items()}
    pieces = [(row, one) for row, found in some.items() if len(found) > 1 for one in found]
    words = {one.lower() for one in content_of(question)}
    asked = [piece for piece in pieces if words & {*lower_words([piece[1]])}]
    if asked or likely_language([question]) not in ("", "English"):
        pieces = asked  # the others do not answer it, and few models tell so in other languages
    counts = Counter(word for _, one in pieces for word in {*lower_words([one])})

    def likely(piece: Piece) -> tuple[int, int]:
        own = {*lower_words([piece[1]])}
        return -len(words & own), -sum(counts[word] == 1 for word in own)

    return sorted(pieces, key=likely)[:MOST_PIECES]


def _sentences(text: str) -> list[str]:
    found = [one.strip() for one in PIECE.findall(text)]
    return [one for one in found if len(one) >= SHORTEST_PIECE]


def _headings(chunks: Mapping[int, Chunk]) -> dict[int, str]:
    """The last heading of the earlier chunks of the file, for each chunk that does not begin with one."""
    found: dict[int, str] = {}
    last = ""
    for row, chunk in sorted(chunks.items(), key=lambda one: one[1].start_line):
        if last and not HEADING.match(chunk.text.lstrip()):
            found[row] = last
        last = [last, *HEADING.findall(chunk.text)][-1]
    return found
