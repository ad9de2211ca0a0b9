"""What is wrong with a recorded engine's legs, each tried by running the pipeline without it."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from workbench.measure.blame import Reruns
from workbench.records import Hits
from workbench.retrieval.legs import legs_of
from workbench.retrieval.query import unicode_words
from workbench.stop_words import STOP_WORDS
from workbench_plugins.diagnose.causes import Cause
from workbench_plugins.diagnose.parameters import Goal
from workbench_plugins.engines.lists import ALL, ListIndex, ListLeg, Read
from workbench_plugins.recorder.recorded_index import RecordedIndex, TopK


def causes(index: RecordedIndex, runs: Reruns, goal: Goal) -> Iterator[Cause]:
    """Faults of each leg, then a cut before the fusion. Weights and floors are stages, as of any pipeline."""
    legs = [one for one in legs_of(runs.pipeline.stages) if isinstance(one, ListLeg)]
    yield from _ids_in_two_ways(index, legs, runs, goal)
    for leg in legs:
        yield from _upside_down(index, leg, runs, goal)
        yield from _other_words(index, leg, runs, goal)
        yield from _without_idf(index, leg, runs, goal)
        yield from _filtered(index, leg, runs, goal)
        yield from _empty(index, leg, runs, goal)
    yield from _cut_before_fusion(index, legs, runs, goal)


def turned(index: ListIndex, leg: str, question: str, depth: int) -> Hits:
    """The list of a leg from its end, with the opposite direction of its scores."""
    hits = index.listed(leg, question, ALL)
    rows, raw = hits.rows[::-1][:depth], hits.raw[::-1][:depth]
    return replace(hits, rows=rows, raw=raw, larger_is_better=not hits.larger_is_better)


def each_word_alone(index: ListIndex, leg: str, question: str, depth: int) -> Hits:
    """What a leg returns for each word of a question alone, together: by the sum of 1 / rank."""
    sums: dict[int, float] = {}
    for word in dict.fromkeys(question.split()):
        for rank, row in enumerate(index.listed(leg, word, ALL).rows.tolist(), 1):
            sums[row] = sums.get(row, 0.0) + 1 / rank
    chunks = index.chunks(np.array(list(sums), np.int64))
    ids = {row: chunk.id for row, chunk in zip(sums, chunks, strict=True)}
    best = sorted(sums, key=lambda row: (-sums[row], ids[row]))[:depth]
    return Hits(np.array(best, np.int64), np.array([sums[row] for row in best]), True, "sum of 1 / rank")


def _upside_down(index: RecordedIndex, leg: ListLeg, runs: Reruns, goal: Goal) -> Iterator[Cause]:
    if not index.upside_down(leg.name, runs.question):
        return
    hits = index.listed(leg.name, runs.question, ALL)
    better = "larger" if hits.larger_is_better else "smaller"
    fault = f"{leg.name} leg: the list is upside down: it begins with its worst scores"
    evidence = (
        f"the list goes from {hits.raw[0]:.4g} to {hits.raw[-1]:.4g}; a {better} {hits.number} is better"
    )
    cause = Cause((leg.slot,), fault, "turn the order of its list", evidence, verified=False)
    yield _tried(cause, replace(leg, read=turned), runs, goal)


def _empty(index: RecordedIndex, leg: ListLeg, runs: Reruns, goal: Goal) -> Iterator[Cause]:
    """A leg that wants all words at once, or that returns nothing for any of them."""
    wanted, hits = index.rows_of(goal.path), index.listed(leg.name, runs.question, ALL)
    if index.legs[leg.name].again and leg.name != "vector" and not np.isin(wanted, hits.rows).any():
        alone = each_word_alone(index, leg.name, runs.question, ALL)
        if np.isin(wanted, alone.rows).any():
            fault = f"{leg.name} leg: the query wants all words of the question at once (AND)"
            evidence = (
                f"the whole question brings {hits.rows.size} documents, without {goal.path}; its words, each "
                f"alone, bring {alone.rows.size}, with it"
            )
            cause = Cause((leg.slot,), fault, "join the words with OR", evidence, verified=False)
            yield _tried(cause, replace(leg, read=each_word_alone), runs, goal)
            return
    if not hits.rows.size:
        yield Cause(
            (leg.slot,),
            f"{leg.name} leg: it returns nothing",
            "look at its index and at its filter: the recording cannot say which of them it is",
            f"Recorded: no document for {runs.question!r}.",
            verified=False,
        )


def plain_id(id_: str) -> str:
    """An id without what two legs often write in two ways: `./`, slashes, capitals, and the form of letters.

    >>> plain_id("./Notes/Tea.md"), plain_id("notes\\\\tea.md")
    ('notes/tea.md', 'notes/tea.md')
    """
    text = unicodedata.normalize("NFC", id_).replace("\\", "/").casefold()
    return "/".join(part for part in text.split("/") if part not in ("", "."))


def _ids_in_two_ways(index: RecordedIndex, legs: list[ListLeg], runs: Reruns, goal: Goal) -> Iterator[Cause]:
    """One document under two ids, so that the fusion counts it as two: tried with one id for both."""
    lists = {leg.name: index.listed(leg.name, runs.question, ALL).rows for leg in legs}
    if not index.rows_of(goal.path).size:
        return
    ids = {int(row): index.chunks(np.array([row]))[0].id for rows in lists.values() for row in rows}
    first: dict[str, int] = {plain_id(goal.path): int(index.rows_of(goal.path)[0])}
    one_row = {row: first.setdefault(plain_id(id_), row) for row, id_ in ids.items()}
    twice = [ids[row] for row, other in one_row.items() if row != other and row in ids]
    if not twice or first[plain_id(goal.path)] not in one_row.values():
        return

    def under_one_id(of: ListIndex, leg: str, question: str, depth: int) -> Hits:
        hits = of.listed(leg, question, depth)
        rows = np.array([one_row.get(int(row), int(row)) for row in hits.rows], np.int64)
        _, firsts = np.unique(rows, return_index=True)
        kept = np.sort(firsts)
        return replace(hits, rows=rows[kept], raw=hits.raw[kept])

    example = twice[0]
    other = next(id_ for row, id_ in {**ids, **dict.fromkeys(first.values(), goal.path)}.items()
                 if plain_id(id_) == plain_id(example) and id_ != example)  # fmt: skip
    cause = Cause(
        ("ids",),
        f"the legs write the id of one document in two ways: {example} and {other}",
        "write the ids in one way in both indexes, such as without ./ and in one case",
        f"{len(twice)} ids stand for a document that has another id, too",
        verified=False,
    )
    mended = runs.pipeline
    for leg in legs:
        mended = mended.with_stage(replace(leg, read=under_one_id))
    reached = goal.reached(runs.trace(mended))
    if reached:
        yield replace(cause, evidence=f"Recorded: {cause.evidence}. With one id for each, the file is "
                      f"{goal.aim}.", verified=True)  # fmt: skip


def _filtered(index: RecordedIndex, leg: ListLeg, runs: Reruns, goal: Goal) -> Iterator[Cause]:
    """A vector leg that never brings some documents, however deep it is asked, although it ranks all."""
    if leg.name != "vector" or not index.legs[leg.name].again or not index.texts:
        return
    brought = {one.id for one in index.chunks(index.listed(leg.name, runs.question, ALL).rows)}
    never = sorted(set(index.texts) - brought)
    if goal.path not in never or not brought:
        return
    folders = {id_.rpartition("/")[0] for id_ in brought}
    only = f"; all that come are in {next(iter(folders))}/" if len(folders) == 1 and "" not in folders else ""
    fault = f"{leg.name} leg: a filter, or its index, leaves documents out"
    evidence = (
        f"asked for everything, it brings {len(brought)} of {len(index.texts)} documents{only}; tried with "
        "the document at the first place of this leg"
    )
    repair = "take the filter away, or add the missing documents to its index"
    cause = Cause((leg.slot,), fault, repair, evidence, verified=False)
    yield _tried(cause, replace(leg, read=_with_missing(goal.path)), runs, goal)


def _with_missing(path: str) -> Read:
    """A leg's list with a document that it leaves out at its first place."""

    def with_the_document(index: ListIndex, leg: str, question: str, depth: int) -> Hits:
        hits = index.listed(leg, question, depth)
        best = hits.raw[0] if hits.rows.size else 1.0
        rows = np.concatenate([index.rows_of(path)[:1], hits.rows])
        return replace(hits, rows=rows, raw=np.concatenate([[best], hits.raw]))

    return with_the_document


def _other_words(index: RecordedIndex, leg: ListLeg, runs: Reruns, goal: Goal) -> Iterator[Cause]:
    """A leg of words that does not find a document by words which stand in it: another tokenizer."""
    text = index.texts.get(goal.path, "")
    if leg.name == "vector" or not index.legs[leg.name].again or not text:
        return
    there = {word.lower() for word in unicode_words(text)}
    asked = [
        one for one in dict.fromkeys(runs.question.split()) if {w.lower() for w in unicode_words(one)} & there
    ]
    asked = [one for one in asked if one.lower().strip(".,?!") not in STOP_WORDS]
    wanted = index.rows_of(goal.path)
    lost = [one for one in asked if not np.isin(wanted, index.listed(leg.name, one, ALL).rows).any()]
    if not lost or len(lost) < len(asked):
        return
    fault = (
        f"{leg.name} leg: its index does not have the words as the question writes them (another tokenizer)"
    )
    evidence = (
        f"{goal.path} has {', '.join(lost[:3])}, and the leg does not bring it for any of them "
        "alone; tried with the document at the first place of this leg"
    )
    repair = "index and ask with the same tokenizer: the same lower case, stemming and accents"
    cause = Cause((leg.slot,), fault, repair, evidence, verified=False)
    yield _tried(cause, replace(leg, read=_with_missing(goal.path)), runs, goal)


FEWEST = 5
"""Fewer documents do not tell a common word from a rare one."""
LEVEL = 0.8
"""Without IDF a common word scores at least this share of what a rare one does."""


def _without_idf(index: RecordedIndex, leg: ListLeg, runs: Reruns, goal: Goal) -> Iterator[Cause]:
    """A leg of words in which a word of most documents counts as much as a rare one."""
    if leg.name == "vector" or not index.legs[leg.name].again or len(index.texts) < FEWEST:
        return
    alone = {one: index.listed(leg.name, one, ALL) for one in dict.fromkeys(runs.question.split())}
    found = {word: hits for word, hits in alone.items() if hits.rows.size}
    common = [one for one, hits in found.items() if 2 * hits.rows.size >= len(index.texts)]
    rare = [one for one, hits in found.items() if 5 * hits.rows.size <= len(index.texts)]
    if not common or not rare:
        return
    often, seldom = common[0], rare[0]
    best, other = float(found[often].relevance.max()), float(found[seldom].relevance.max())
    if best < LEVEL * other:
        return

    def weighed(of: ListIndex, name: str, question: str, depth: int) -> Hits:
        sums: dict[int, float] = {}
        for word in dict.fromkeys(question.split()):
            hits = of.listed(name, word, ALL)
            weight = math.log(1 + len(of.texts) / max(1, hits.rows.size))
            for row, value in zip(hits.rows.tolist(), hits.relevance.tolist(), strict=True):
                sums[row] = sums.get(row, 0.0) + weight * value
        ids = {row: of.chunks(np.array([row]))[0].id for row in sums}
        best_first = sorted(sums, key=lambda row: (-sums[row], ids[row]))[:depth]
        return Hits(np.array(best_first, np.int64), np.array([sums[row] for row in best_first]), True)

    fault = f"{leg.name} leg: a word of most documents counts as much as a rare one (no IDF)"
    evidence = (
        f"“{often}” is in {found[often].rows.size} of {len(index.texts)} documents and scores {best:.3g}, "
        f"“{seldom}” in {found[seldom].rows.size} and scores {other:.3g}"
    )
    repair = "turn IDF on: for Qdrant's sparse vectors, SparseVectorParams(modifier=Modifier.IDF)"
    cause = Cause((leg.slot,), fault, repair, evidence, verified=False)
    tried = _tried(cause, replace(leg, read=weighed), runs, goal)
    if tried.verified:
        yield tried


def _cut_before_fusion(
    index: RecordedIndex, legs: list[ListLeg], runs: Reruns, goal: Goal
) -> Iterator[Cause]:
    """The leg that needs the fewest more hits to bring a document that no leg brings."""
    wanted = index.rows_of(goal.path)
    if np.isin(wanted, runs.base.rows).any():
        return
    beyond = []
    for leg in legs:
        every = index.listed(leg.name, runs.question, ALL).rows
        for rank in np.flatnonzero(np.isin(every, wanted))[:1] + 1:
            beyond.append((int(rank) - leg.deepest(runs.pipeline.limit), leg.name, int(rank), leg))
    for more, _, rank, leg in sorted(beyond, key=lambda one: one[:2])[:1]:
        fault = f"{leg.name} leg: the list is cut before the fusion"
        evidence = f"the document is at rank {rank} of this leg, which is asked for {rank - more}"
        cause = Cause((leg.slot,), fault, f"ask for {rank}", evidence, verified=False)
        yield _tried(cause, replace(leg, depth=TopK(cap=rank)), runs, goal)


def _tried(cause: Cause, mended: ListLeg, runs: Reruns, goal: Goal) -> Cause:
    """The cause with what comes of it when the mended leg takes the place of the leg."""
    reached = goal.reached(runs.trace(runs.pipeline.with_stage(mended)))
    outcome = "and the file is then" if reached else "but the file is then still not"
    evidence = f"Recorded: {cause.evidence}. Tried: {outcome} {goal.aim}."
    return replace(cause, evidence=evidence, verified=reached)
