"""What is wrong with a recorded engine's legs, each tried by running the pipeline without it."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import takewhile
from urllib.parse import unquote

import numpy as np

from workbench.errors import InputError
from workbench.measure.reruns import Reruns
from workbench.records import Hits, Rows, first_of
from workbench.retrieval.cutoff import Limit, Order
from workbench.retrieval.fusion import Fusion, RankSum
from workbench.retrieval.legs import legs_of
from workbench.retrieval.pipeline import Pipeline
from workbench.retrieval.query import unicode_words
from workbench.retrieval.scope import FILTER_FIRST
from workbench.stop_words import STOP_WORDS, content_words
from workbench_plugins.diagnose.causes import Cause
from workbench_plugins.diagnose.parameters import Goal
from workbench_plugins.diagnose.suspects import ends_of_parts
from workbench_plugins.engines.lists import ALL, MOST, ListIndex, ListLeg, Read
from workbench_plugins.recorder.recorded_index import RecordedIndex, TopK


def causes(index: RecordedIndex, runs: Reruns, goal: Goal) -> Iterator[Cause]:
    """Faults of each leg, then a cut before the fusion. Weights and floors are stages, as of any pipeline."""
    legs = [one for one in legs_of(runs.pipeline.stages) if isinstance(one, ListLeg)]
    deaf = [(leg, _checked(index, _deaf(index, leg, runs, goal))) for leg in legs]
    found = [*_ids_in_two_ways(index, legs, runs, goal), *_other_scale(legs, runs, goal)]
    found += [*_inner_join(index, legs, runs, goal), *_left_out(index, runs, goal)]
    for leg, _ in deaf:
        found += _checked(index, _all_words(index, leg, runs, goal))
    joined = {where for one in found for where in one.where}
    for leg, same_list in deaf:
        of_words = () if same_list else (_other_words, _without_idf)  # a deaf leg says nothing of its words
        empty = () if leg.slot in joined else (_empty,)
        for check in (_upside_down, *of_words, _filtered, _filtered_late, *empty):
            found += _checked(index, check(index, leg, runs, goal))
    yield from found
    if not any(one.verified for one in found):
        yield from (one for _, some in deaf for one in some)
    cut = [*_cut_before_fusion(index, legs, runs, goal)]
    yield from cut or _lists_that_end(index, legs, runs, goal)


def _checked(index: RecordedIndex, check: Iterator[Cause]) -> list[Cause]:
    """What a check finds; nothing if it asks what the engine cannot answer, which the index keeps."""
    try:
        return list(check)
    except InputError as error:
        index.unanswered.append(error.problem)
        return []


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


def each_word_of_content(index: ListIndex, leg: str, question: str, depth: int) -> Hits:
    """The same for the words of content of a question."""
    return each_word_alone(index, leg, " ".join(content_words(unicode_words(question))), depth)


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
    in_order = _tried(cause, replace(leg, read=turned), runs, goal)
    if in_order.verified:
        yield in_order
        return
    fault = f"{leg.name} leg: its scores are turned round: its first document counts least"
    repair = "count a smaller number as a better one: 1 - the number in place of the number"
    turned_scores = replace(cause, description=fault, repair=repair)
    of_scores = _tried(turned_scores, replace(leg, read=with_turned_scores), runs, goal)
    yield of_scores if of_scores.verified else in_order


def with_turned_scores(index: ListIndex, leg: str, question: str, depth: int) -> Hits:
    """The list of a leg in its own order, with the opposite direction of its scores: 1 - each."""
    hits = index.listed(leg, question, depth)
    return replace(hits, raw=1 - hits.raw)


def _all_words(index: RecordedIndex, leg: ListLeg, runs: Reruns, goal: Goal) -> Iterator[Cause]:
    """A leg of words that wants all of them at once: tried with what any of them brings."""
    if leg.name == "vector":
        return
    wanted, hits = index.rows_of(goal.path), index.listed(leg.name, runs.question, ALL)
    again = index.legs[leg.name].again
    if np.isin(wanted, hits.rows).any() or not (again or _has_all_words(index, hits, runs.question)):
        return
    reads = {"": each_word_alone, ", without words such as “the”": each_word_of_content}
    found: list[Cause] = []
    for without, read in reads.items() if again else [("", by_shared_words)]:
        alone = read(index, leg.name, runs.question, ALL)
        if not np.isin(wanted, alone.rows).any():
            break
        fault = f"{leg.name} leg: the query wants all words of the question at once (AND)"
        of_any = "its words, each alone, bring" if again else "any of its words is in"
        evidence = (
            f"the whole question brings {hits.rows.size} documents, without {goal.path}; {of_any} "
            f"{alone.rows.size}, and {goal.path} is one of them"
        )
        cause = Cause((leg.slot,), fault, f"join the words with OR{without}", evidence, verified=False)
        found.append(_tried(cause, replace(leg, read=read), runs, goal))
        if found[-1].verified:
            break
    yield from found[-1:]


def _has_all_words(index: ListIndex, hits: Hits, question: str) -> bool:
    """Whether a list has just those documents whose texts have all words of content of a question."""
    asked = {one.lower() for one in content_words(unicode_words(question))}
    having = [
        id_ for id_, text in index.texts.items() if asked <= {one.lower() for one in unicode_words(text)}
    ]
    return (
        len(asked) > 1
        and any(index.texts.values())
        and {*having} == {one.id for one in index.chunks(hits.rows)}
    )


def by_shared_words(index: ListIndex, _: str, question: str, depth: int) -> Hits:
    """The documents that have any word of content of a question, by how many of them they have."""
    asked = {one.lower() for one in content_words(unicode_words(question))}
    shared = {
        id_: len(asked & {one.lower() for one in unicode_words(text)}) for id_, text in index.texts.items()
    }
    best = sorted((one for one in shared if shared[one]), key=lambda one: (-shared[one], one))[:depth]
    rows = np.array([index.rows_of(one)[0] for one in best], np.int64)
    return Hits(rows, np.array([shared[one] for one in best], float), True, "shared words")


def _empty(index: RecordedIndex, leg: ListLeg, runs: Reruns, _: Goal) -> Iterator[Cause]:
    """A leg that returns nothing."""
    if not index.listed(leg.name, runs.question, ALL).rows.size:
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
    text = unicodedata.normalize("NFC", unquote(id_)).replace("\\", "/").casefold()
    return "/".join(part for part in text.split("/") if part not in ("", "."))


def _without_ending(id_: str) -> str:
    return re.sub(r"\.[a-z]\w{0,4}$", "", plain_id(id_))


def _document_of(id_: str) -> str:
    """The document of a chunk whose id ends with a number: `tea#0`, `tea:3-17`, `tea_chunk_2`."""
    return _without_ending(re.sub(r"(?:[#:@|]|[_-](?:chunk|part)[_-]?)\d+(?:-\d+)?$", "", plain_id(id_)))


FORMS: tuple[tuple[Callable[[str], str], str], ...] = (
    (plain_id, "such as without ./ and in one case"),
    (_without_ending, "with the ending of the file or without it"),
    (_document_of, "as documents or as their chunks"),
)
"""Ways in which one document gets two ids, and how one way of writing may be."""

FEWEST_ALIKE = 2
"""One id that is another one without its folder may be another document; so many are no accident."""


def _without_folder(ids: Iterable[str]) -> Callable[[str], str]:
    """A form without the folders that all these ids begin with."""
    folders = [plain_id(one).split("/")[:-1] for one in ids]
    common = takewhile(lambda level: len(set(level)) == 1, zip(*folders, strict=False))
    start = "".join(f"{level[0]}/" for level in common)
    return lambda id_: plain_id(id_).removeprefix(start)


def forms_of_ids(lists: Iterable[Iterable[str]]) -> Iterator[tuple[Callable[[str], str], str, int]]:
    """Each way of writing ids, how it may be named, and how many ids must become alike by it."""
    for form, how in FORMS:
        yield form, how, 1
    for ids in lists:
        yield _without_folder(ids), "with the folder in front or without it", FEWEST_ALIKE


def _ids_in_two_ways(index: RecordedIndex, legs: list[ListLeg], runs: Reruns, goal: Goal) -> Iterator[Cause]:
    """One document under two ids, so that the fusion counts it as two: tried with one id for both.

    A form is tried only if no two ids of one leg are the same in it, and two documents whose texts are known
    are two.
    """
    lists = {leg.name: index.listed(leg.name, runs.question, ALL).rows for leg in legs}
    wanted = index.rows_of(goal.path)
    if not wanted.size:
        return
    ids = {int(row): index.chunks(np.array([row]))[0].id for rows in lists.values() for row in rows}
    listed = [[ids[int(row)] for row in rows] for rows in lists.values()]
    for form, how, fewest in forms_of_ids(listed):
        alike = [{form(ids[int(row)]) for row in rows} for rows in lists.values()]
        if any(len(some) < rows.size for some, rows in zip(alike, lists.values(), strict=True)):
            continue
        first = {form(goal.path): int(wanted[0])}
        one_row = {row: first.setdefault(form(id_), row) for row, id_ in ids.items()}
        names = {**ids, int(wanted[0]): goal.path}
        twice = [row for row, other in one_row.items() if row != other]
        two = any({ids[row], names[one_row[row]]} <= index.texts.keys() for row in twice)
        if (
            len(twice) < fewest
            or two
            or not goal.reached(runs.trace(_under_one_id(legs, one_row, runs.pipeline)))
        ):
            continue
        one, other = ids[twice[0]], names[one_row[twice[0]]]
        yield Cause(
            ("ids",),
            f"the legs write the id of one document in two ways: {one} and {other}",
            f"write the ids in one way in both indexes, {how}",
            f"Recorded: {len(twice)} ids stand for a document that has another id, too. "
            f"With one id for each, the file is {goal.aim}.",
            verified=True,
        )
        return


def _under_one_id(legs: list[ListLeg], one_row: Mapping[int, int], pipeline: Pipeline) -> Pipeline:
    """The pipeline whose legs bring each document in one row."""

    def under_one_id(of: ListIndex, leg: str, question: str, depth: int) -> Hits:
        hits = of.listed(leg, question, depth)
        rows = np.array([one_row.get(int(row), int(row)) for row in hits.rows], np.int64)
        _, firsts = np.unique(rows, return_index=True)
        kept = np.sort(firsts)
        return replace(hits, rows=rows[kept], raw=hits.raw[kept])

    for leg in legs:
        pipeline = pipeline.with_stage(replace(leg, read=under_one_id))
    return pipeline


def _left_out(index: RecordedIndex, runs: Reruns, goal: Goal) -> Iterator[Cause]:
    """An answer without a document that its own fusion ranks among the others: tried with that document."""
    answer, whole = index.answers.get(runs.question, {}), index.unfiltered
    if goal.path in answer or not answer:
        return
    if whole is None:
        yield from _passed_over(runs, goal, answer)
        return
    every = runs.trace(whole)
    rank = next((at for at, one in enumerate(every.candidates, 1) if one.chunk.path == goal.path), math.inf)
    if rank <= len(answer) and goal.reached(runs.trace(whole.asking(limit=len(answer)))):
        yield Cause(
            ("recorded_list",),
            f"the engine drops {goal.path}, which its legs return",
            AFTER_LEGS,
            f"Recorded: the {len(answer)} results have the scores of this fusion: "
            f"{whole['fusion'].description}. It gives {goal.path} the rank {rank}.",
            verified=True,
        )


AFTER_LEGS = "look at what runs after the legs: a filter, a permission, or a removal of duplicates"


def _passed_over(runs: Reruns, goal: Goal, answer: Mapping[str, float]) -> Iterator[Cause]:
    """A document that is not returned, though every leg ranks it better than one that is.

    No fusion that only adds up what the legs say can do this, so its scores need not be known.
    """
    if "recorded_list" not in {stage.slot for stage in runs.pipeline.stages}:
        return
    ranks = {
        one.chunk.id: [one.numbers[f"{leg}_rank"] for leg in runs.base.legs] for one in runs.base.candidates
    }
    own = ranks.get(goal.path, [math.nan])
    worse = [
        id_
        for id_ in answer
        if all(
            mine < theirs or math.isnan(theirs) for mine, theirs in zip(own, ranks.get(id_, own), strict=True)
        )
    ]
    if worse and not any(map(math.isnan, own)):
        told = " and ".join(f"{leg} {rank:.0f}" for leg, rank in zip(runs.base.legs, own, strict=True))
        yield Cause(
            ("recorded_list",),
            f"the engine leaves out {goal.path}, though each leg ranks it before {worse[-1]} of the answer",
            f"{AFTER_LEGS}, or a reranker",
            f"Recorded: the ranks of {goal.path} are {told}; {len(worse)} of {len(answer)} results are worse "
            "in each leg.",
            verified=False,
            certain=True,
        )


def _other_scale(legs: list[ListLeg], runs: Reruns, goal: Goal) -> Iterator[Cause]:
    """A leg whose least part of the score is more than the most of another: tried with scores up to 1."""
    fusion = first_of(runs.pipeline.stages, Fusion)
    if fusion is None or len(legs) < 2:
        return
    ends = ends_of_parts(runs.base)
    large = max(ends, key=lambda leg: ends[leg][0], default="")
    small = min(ends, key=lambda leg: ends[leg][1], default="")
    if large == small or ends[small][1] <= 0 or ends[large][0] <= ends[small][1]:
        return
    mended = runs.pipeline
    for leg in legs:
        mended = mended.with_stage(replace(leg, read=scaled_to_one))
    if goal.reached(runs.trace(mended)):
        yield Cause(
            (fusion.slot,),
            f"the scores of the legs have different scales: the least of the {large} leg is more than the "
            f"most of the {small} leg",
            "scale the scores of both legs before they are added, or fuse their ranks",
            f"Recorded: the least part of the {large} leg is {ends[large][0]:.4g}, and the most of the "
            f"{small} leg {ends[small][1]:.4g}. Tried: with the best score of each leg as 1, the file is "
            f"{goal.aim}.",
            verified=True,
        )


def _inner_join(index: RecordedIndex, legs: list[ListLeg], runs: Reruns, goal: Goal) -> Iterator[Cause]:
    """An answer of exactly the documents that all legs bring: tried with what any leg brings, by ranks."""
    answer = set(index.answers.get(runs.question, {}))
    lists = [
        {one.id for one in index.chunks(index.listed(leg.name, runs.question, ALL).rows)} for leg in legs
    ]
    if len(lists) < 2 or not answer or answer != set.intersection(*lists):
        return
    every = set.union(*lists)
    limit = int(runs.pipeline.limit)
    if goal.path not in every - answer or (index.limited and len(answer) >= limit):
        return
    before = takewhile(lambda one: one.slot != "fusion", runs.pipeline.stages)
    ranked = replace(runs.pipeline, stages=(*before, RankSum(), Order(), Limit(len(every))))
    reached = goal.reached(runs.trace(ranked))
    other = "" if index.limited else f", or a limit of {len(answer)}"
    yield Cause(
        ("fusion",),
        f"the answer is exactly what all legs return, {len(answer)} of {len(every)} documents: an inner "
        f"join{other}",
        "join the lists with an outer join: keep what one leg returns, and count the other leg as absent",
        f"Recorded: {goal.path} is in one leg alone. Tried: with every document of any leg, by ranks, the "
        f"file is {goal.aim if reached else 'still not ' + goal.aim}.",
        verified=reached,
    )


def scaled_to_one(index: ListIndex, leg: str, question: str, depth: int) -> Hits:
    """The list of a leg with its scores as shares of the best."""
    hits = index.listed(leg, question, depth)
    most = float(np.abs(hits.raw).max()) if hits.rows.size else 0.0
    return replace(hits, raw=hits.raw / most) if most else hits


OTHER_QUESTIONS = 3
"""The least number of questions of other words that show that a leg does not read its question."""


def _deaf(index: RecordedIndex, leg: ListLeg, runs: Reruns, goal: Goal) -> Iterator[Cause]:
    """A leg that returns one list for all questions: tried with the document at its first place."""
    if not index.legs[leg.name].again or len(index.texts) < OTHER_QUESTIONS:
        return
    asked = {one.lower() for one in unicode_words(runs.question)}
    others = []
    for _, text in sorted(index.texts.items()):
        words = [one for one in unicode_words(text) if one.lower() not in asked]
        others += [" ".join(words[:6])] if words else []
    others = list(dict.fromkeys(others))[:: max(1, len(others) // OTHER_QUESTIONS)][:OTHER_QUESTIONS]
    mine = index.listed(leg.name, runs.question, ALL).rows
    theirs = [index.listed(leg.name, one, ALL).rows for one in others]
    if len(others) < OTHER_QUESTIONS or mine.size < 2 or any(not np.array_equal(mine, one) for one in theirs):
        return
    fault = f"{leg.name} leg: it returns the same list for every question that was tried"
    evidence = (
        f"{OTHER_QUESTIONS} questions of other words, such as “{others[0]}”, get the same {mine.size} "
        "documents in the same order; tried with the document at the first place of this leg"
    )
    repair = "look whether the question reaches it: a cache, a fixed query, or vectors that are all the same"
    cause = Cause((leg.slot,), fault, repair, evidence, verified=False)
    yield _tried(cause, replace(leg, read=_with_missing(goal.path)), runs, goal)


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


def _filtered_late(index: RecordedIndex, leg: ListLeg, runs: Reruns, goal: Goal) -> Iterator[Cause]:
    """A leg that takes its k nearest and filters them then, so that it brings fewer than it was asked for."""
    depth = leg.deepest(runs.pipeline.limit)
    if not index.legs[leg.name].again or depth >= ALL:
        return
    short, every = index.listed(leg.name, runs.question, depth), index.listed(leg.name, runs.question, ALL)
    rank = _rank(every, index.rows_of(goal.path))
    if short.rows.size >= min(depth, every.rows.size) or not rank or rank > depth:
        return
    fault = f"{leg.name} leg: it takes its nearest {depth} first and filters them then"
    evidence = (
        f"asked for {depth} it brings {short.rows.size}, and asked for everything {every.rows.size}, "
        f"with the document at rank {rank}"
    )
    cause = Cause((leg.slot,), fault, FILTER_FIRST, evidence, verified=False)
    yield _tried(cause, replace(leg, read=_first_of_all), runs, goal)


def _rank(hits: Hits, rows: Rows) -> int:
    """The first rank of some rows in a list; 0 if none is there."""
    return int(next(iter(np.flatnonzero(np.isin(hits.rows, rows)) + 1), 0))


def _first_of_all(index: ListIndex, leg: str, question: str, depth: int) -> Hits:
    """The first hits of everything that a leg brings, as if it filtered first."""
    hits = index.listed(leg, question, ALL)
    return replace(hits, rows=hits.rows[:depth], raw=hits.raw[:depth])


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


CUT_OR_ALL = "A depth, a floor or a filter of the engine cut it off, or the engine does not have it"
ASK_DEEPER = (
    "ask the engine for more of each leg (top_k, num_candidates, rank_window_size), without floor and "
    "filter, and record these lists: the leg and the rank of the file say which of them drops it"
)


def _lists_that_end(index: RecordedIndex, legs: list[ListLeg], runs: Reruns, goal: Goal) -> Iterator[Cause]:
    """A document that no recorded list has: where each list ends, and what the engine is to be asked."""
    wanted, limit = index.rows_of(goal.path), runs.pipeline.limit
    sizes = {leg: index.listed(leg.name, runs.question, ALL).rows.size for leg in legs}
    if not legs or np.isin(wanted, runs.base.rows).any() or any(index.legs[leg.name].again for leg in legs):
        return
    ends = " and ".join(f"the {leg.name} list ends after {size}" for leg, size in sizes.items())
    below = f", before the limit of {limit:g}" if max(sizes.values()) < limit < MOST else ""
    yield Cause(
        tuple(leg.slot for leg in legs),
        f"no leg lists the file; {ends}{below}. {CUT_OR_ALL}",
        ASK_DEEPER,
        f"Recorded: {goal.path} is in none of the lists, and what follows their ends is unknown.",
        verified=False,
        certain=True,
    )


def _tried(cause: Cause, mended: ListLeg, runs: Reruns, goal: Goal) -> Cause:
    """The cause with what comes of it when the mended leg takes the place of the leg."""
    reached = goal.reached(runs.trace(runs.pipeline.with_stage(mended)))
    outcome = "and the file is then" if reached else "but the file is then still not"
    evidence = f"Recorded: {cause.evidence}. Tried: {outcome} {goal.aim}."
    return replace(cause, evidence=evidence, verified=reached, refuted=not reached)
