"""The lint: settings that cannot work, by arithmetic, and on a memory also by asking it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass, replace
from itertools import islice
from typing import Any

import numpy as np

from workbench.contracts import Index
from workbench.errors import InputError
from workbench.measure.reach import reaches
from workbench.memory.data_files import load_data
from workbench.memory.embedding.local import LocalEmbedder
from workbench.memory.index import OpenIndex
from workbench.memory.vector_check import SAME_VECTOR, cosines_again
from workbench.records import Chunk, Rows, Tabular, Trace, first_of
from workbench.retrieval.columns import ColumnStage
from workbench.retrieval.cutoff import MinScore, Order, early_limits
from workbench.retrieval.fusion import Fusion, RankSum, Weighted
from workbench.retrieval.index_adapters import CachedIndex
from workbench.retrieval.legs import VectorLeg, legs_of
from workbench.retrieval.pipeline import Pipeline, Running, search
from workbench.retrieval.query import unicode_words
from workbench.retrieval.scope import EVERYTHING, Scope
from workbench.safe_text import counted
from workbench.tables import Line, Part, Table, Types, tidy
from workbench_plugins.diagnose.parameters import Parameter, parameters_of
from workbench_plugins.diagnose.unread_scripts import dead_for, unknown_to
from workbench_plugins.rerank import Rerank

PROBES = 40
"""The number of questions that are asked when there are no labelled ones."""
SAMPLED_CHUNKS = 3
SHALLOW = 20
"""A pool or an answer of so many is no first page any more."""
NEIGHBOURS = 10
DATE = re.compile(r"(?:19|20)\d\d-(?:0\d|1[0-2])-[0-3]\d")
OPERATORS = ("AND", "OR", "NOT", "NEAR")
SHORTEST_STEM = 3


@dataclass(frozen=True)
class Finding:
    """One thing that cannot work: its kind, a sentence, the arithmetic, and the public issue it resembles."""

    kind: str
    description: str
    arithmetic: str
    issue: str

    def as_json(self) -> dict[str, str]:
        """The fields of the finding; the description is called `says`."""
        return {
            "kind": self.kind, "says": self.description, "arithmetic": self.arithmetic, "issue": self.issue,
        }  # fmt: skip

    def __str__(self) -> str:
        return f"{self.description} ({self.arithmetic}; compare {self.issue})"


TOLD = load_data(__file__)
"""What a finding says, and the public issue that it resembles, by its kind; some kinds have two sentences."""


def _found(kind: str, arithmetic: str, *values: object) -> Finding:
    row = TOLD[kind]
    return Finding(row.get("kind", kind), row["says"].format(*values), arithmetic, row["issue"])


FINDINGS: Types = {"system": "str", "finding": "str", "meaning": "str", "arithmetic": "str", "issue": "str"}


class Findings(list[Finding], Tabular):
    """What a lint found in one system, in the order of the checks."""

    def __init__(self, system: str, found: Iterable[Finding] = ()) -> None:
        super().__init__(found)
        self.system = system

    def view(self) -> list[Part]:
        """One row for each finding: what cannot work, the arithmetic, and the public issue it resembles."""
        if not self:
            return [f"{self.system}: nothing found"]
        count = counted(len(self), "finding")
        heads, rows = ("finding", "what it means", "arithmetic", "resembles"), [astuple(one) for one in self]
        return [Line(f"{self.system}: {count}", "bold"), Table("findings", heads, rows)]

    def observations(self) -> Table:
        """One row for each finding."""
        rows = ([self.system, one.kind, one.description, one.arithmetic, one.issue] for one in self)
        return tidy(FINDINGS, rows)


def lint(pipeline: Pipeline) -> Findings:
    """What arithmetic alone finds in a pipeline's settings."""
    checks = (
        *(_unreachable, _shallow, _early_limits, _floors, _scale_only),
        *(_first_place, _against_a_leg, _rerank_pool),
    )
    return Findings(pipeline.name, (one for check in checks for one in check(pipeline)))


def lint_pair(one: Pipeline, other: Pipeline) -> Findings:
    """Whether two systems can differ at all."""
    if not one.searches_as(other):
        return Findings(one.name)
    return Findings(
        one.name, [_found("two systems that cannot differ", "0 slots differ", one.name, other.name)]
    )


def lint_on(pipeline: Pipeline, index: OpenIndex, questions: Sequence[str] = ()) -> Findings:
    """What a memory shows of a pipeline, beside `lint`: dead legs, dead parameters, and foreign vectors.

    `questions` are asked; without them the first lines of the memory's files are. Takes a few seconds.
    """
    cached = CachedIndex(index)
    asked = list(questions) or probes(index)
    found = [*_part_read(index), *_foreign_vectors(index)]
    if not asked:
        return Findings(pipeline.name, found)
    traces = [search(one, pipeline, cached) for one in asked]
    checks = (
        *(
            _scoped(pipeline, index, asked, traces),
            _legs(pipeline, traces),
            _scores(traces),
            _ages(traces),
            _reranked(pipeline, cached, asked),
        ),
        *(_reach(pipeline, index, asked, traces), _words(index, asked, traces)),
        *(_pages(pipeline, cached, asked), _scripts(pipeline, index, cached)),
        *(_dead_parameters(pipeline, cached, asked, traces), found),
    )
    return Findings(pipeline.name, (one for check in checks for one in check))


def probes(index: OpenIndex) -> list[str]:
    """Questions that the memory itself gives: the first line of each file, without its mark-up."""
    lines = (
        next((line.strip("#*-> \t") for line in one.text.splitlines() if any(map(str.isalnum, line))), "")
        for one in index.documents() or ()
    )
    return list(islice((line[:200] for line in lines if line), PROBES))


def _unreachable(pipeline: Pipeline) -> Iterator[Finding]:
    for leg, bound in reaches(pipeline).items():
        if bound is not None and not bound.passes:
            yield _found("unreachable", f"{bound.formula} < {bound.floor:g}", leg)


def _shallow(pipeline: Pipeline) -> Iterator[Finding]:
    for scope in (one for one in pipeline.stages if isinstance(one, Scope)):
        if scope.breadth < EVERYTHING:
            numbers = f"{scope.k:g} wanted, {scope.breadth:g} looked at"
            yield _found("candidates first", numbers, f"{scope.breadth:g}", scope.folders)
        return  # its numbers replace the depth of the legs
    for leg in legs_of(pipeline.stages):
        depth = leg.deepest(pipeline.limit)
        if depth < pipeline.limit:
            yield _found("pool smaller than the limit", f"{depth} < {pipeline.limit:g}", leg.name)


def _early_limits(pipeline: Pipeline) -> Iterator[Finding]:
    for stage in early_limits(pipeline.stages):
        slots = [one.slot for one in pipeline.stages]
        places = f"{stage.slot} is stage {1 + slots.index(stage.slot)}, order {1 + slots.index(Order.slot)}"
        yield _found("a limit before the order", f"{places} of {len(slots)}", f"{stage.count:g}")


def _floors(pipeline: Pipeline) -> Iterator[Finding]:
    for stage in pipeline.stages:
        if not isinstance(stage, MinScore):
            continue
        writer = next((one for one in pipeline.stages if stage.of in one.writes()), None)
        read: set[str] = set(writer.reads()) if isinstance(writer, ColumnStage) else set()
        ranks = {f"{leg.name}_rank" for leg in legs_of(pipeline.stages)}
        if read and read <= ranks:
            reads = f"{writer.slot if writer else ''} reads {', '.join(sorted(read))}"
            yield _found("floor on a rank", reads, stage.floor)
        if stage.floor == 0:
            yield _found("a threshold of 0", f"{stage.of} ≥ {stage.floor:g}")


def _scale_only(pipeline: Pipeline) -> Iterator[Finding]:
    for stage in pipeline.stages:
        if not isinstance(stage, Weighted) or not all(stage.weights.values()):
            continue
        first, second = (_random_scores(pipeline, one) for one in (stage, _doubled(stage)))
        if first is not None and second is not None and np.allclose(first, second, rtol=1e-12):
            weights = " and ".join(f"{one:g}" for one in (stage.vector, stage.keyword))
            yield _found("weights that are scale only", f"2 × ({weights}) gives the same scores", weights)


def _doubled(stage: Weighted) -> Weighted:
    more = tuple((name, 2 * weight) for name, weight in stage.more)
    return replace(stage, vector=2 * stage.vector, keyword=2 * stage.keyword, more=more)


def _random_scores(pipeline: Pipeline, stage: Weighted) -> np.ndarray[Any, Any] | None:
    """The scores of a fusion for candidates with numbers at random; None if it needs other columns."""
    random = np.random.default_rng(0)
    names = {name for one in pipeline.stages for name in one.writes()} | set(stage.reads())
    columns = {name: random.random(20) + ("rank" in name) * np.arange(1, 21) for name in sorted(names)}
    try:
        return stage.computed(columns)
    except KeyError:
        return None


def _scoped(
    pipeline: Pipeline, index: OpenIndex, asked: Sequence[str], traces: Sequence[Trace]
) -> Iterator[Finding]:
    """Searches in which a scope lets fewer chunks pass than wanted, although the index has more of them."""
    scope = first_of(pipeline.stages, Scope)
    if scope is None:
        return
    every = index.chunks(index.vector(index.embed(asked[0]), index.size).rows)
    inside = sum(scope.lets_pass(one.path) for one in every)
    legs = [leg for trace in traces for leg in trace.legs.values() if leg.name == VectorLeg.name]
    short = [leg.hits.rows.size for leg in legs if leg.hits.rows.size < min(scope.k, inside)]
    if short:
        counts = f"{len(short)} of {len(legs)} questions, {min(short)} of {scope.k:g} at the least"
        yield _found("a scope that comes too late", counts, f"{scope.breadth:g}", scope.folders, inside)


def _legs(pipeline: Pipeline, traces: Sequence[Trace]) -> Iterator[Finding]:
    for leg in legs_of(pipeline.stages):
        hits = [trace.legs[leg.name].hits for trace in traces if leg.name in trace.legs]
        empty = sum(one.rows.size == 0 for one in hits)
        several = [one for one in hits if one.rows.size > 1]
        if hits and empty == len(hits):
            dead = "dead keyword leg" if leg.name == "keyword" else "dead leg"
            yield _found(dead, f"0 hits for {len(hits)} of {len(hits)} questions", leg.name)
        elif several and all(np.ptp(one.raw) == 0 for one in several):
            yield _found("constant leg", f"one value in each of {len(several)} questions", leg.name)
        column = f"{leg.name}_score"
        scored = [trace.columns[column] for trace in traces if column in trace.columns]
        present = [one[~np.isnan(one)] for one in scored]
        ranked = [one for one in present if one.size > 1]
        if ranked and all(np.ptp(one) == 0 for one in ranked) and several:
            value = f"{column} = {ranked[0][0]:g} in each of {len(ranked)} questions"
            yield _found("constant score of a leg", value, leg.name)


def _first_place(pipeline: Pipeline) -> Iterator[Finding]:
    """Ranks that fall so fast that the best hit of one leg is worth what both legs find in third place."""
    for stage in pipeline.stages:
        if not isinstance(stage, Weighted):
            continue
        read, ranks = set(stage.reads()), {f"{leg}_rank" for leg in stage.legs}
        if len(ranks) != 2 or not (isinstance(stage, RankSum) or read == ranks):
            continue
        columns = {name: np.array([1.0 if name.startswith("vector") else np.nan, 3.0]) for name in read}
        alone, both = stage.computed(columns).tolist()
        if alone >= both and len(set(stage.weights.values())) == 1:
            yield _found("a first place outweighs agreement", f"{alone:g} ≥ {both:g}")


def _against_a_leg(pipeline: Pipeline) -> Iterator[Finding]:
    """Fusions that turn the order of a leg around, that lose it, or that credit a leg without a hit."""
    scores = np.array([0.9, 0.7, 0.5, 0.3, 0.1, 0.1])
    of = {"score": scores, "raw": 1 - scores, "rank": np.arange(1.0, 7)}
    columns = {f"{leg}_{name}": column for leg in ("vector", "keyword") for name, column in of.items()}
    for stage in pipeline.stages:
        if not isinstance(stage, Fusion) or not set(stage.reads()) <= columns.keys():
            continue
        for leg in ("vector", "keyword"):
            only = {name: np.where(leg in name, column, np.nan) for name, column in columns.items()}
            last = {name: np.append(column[:5], np.nan) for name, column in columns.items() if leg in name}
            alone, fused = stage.computed(only), stage.computed(columns | last)
            if alone[0] < alone[4]:
                yield _found("a better hit scores lower", f"{alone[0]:g} < {alone[4]:g}", leg)
            elif np.ptp(alone) == 0 and alone.any():
                yield _found("a fusion that loses an order", f"{alone[0]:g} = {alone[4]:g}", leg)
            single = stage.computed({name: column[:1] for name, column in only.items()})[0]
            if single == 0 and alone.any():
                yield _found("a single hit scores 0", f"{single:g}, and {alone[0]:g} with four others", leg)
            if fused[5] > fused[4] + 1e-9:
                yield _found("absence outweighs a match", f"{fused[5]:g} > {fused[4]:g}", leg)


def _rerank_pool(pipeline: Pipeline) -> Iterator[Finding]:
    """What stands before a reranker: a pool no larger than the answer, or a floor on another scale."""
    rerank = first_of(pipeline.stages, Rerank)
    if rerank is None:
        return
    if rerank.count <= pipeline.limit and rerank.count < SHALLOW:
        yield _found("pool cut before the reranker", f"{rerank.count} ≤ {pipeline.limit:g}")
    for stage in pipeline.stages[: pipeline.stages.index(rerank)]:
        if isinstance(stage, MinScore):
            yield _found("threshold before the reranker", stage.description)


def _scores(traces: Sequence[Trace]) -> Iterator[Finding]:
    """Scores of a leg that fall where its hits get better, or that many hits share at the end of a scale."""
    for leg in ("vector", "keyword"):
        pairs = [
            (trace.columns[f"{leg}_rank"], trace.columns[f"{leg}_score"])
            for trace in traces
            if {f"{leg}_rank", f"{leg}_score"} <= trace.columns.keys()
        ]
        by_rank = [score[np.argsort(rank)][: int((~np.isnan(rank)).sum())] for rank, score in pairs]
        several = [one for one in by_rank if one.size > 2 and np.ptp(one) > 0]
        if several and all(one[0] < one[-1] and (np.diff(one) >= 0).all() for one in several):
            yield _found("inverted score", f"best hit {several[0][0]:g}, worst {several[0][-1]:g}", leg)
        for end in (0.0, 1.0):
            shared = [int((one == end).sum()) for one in several]
            if several and all(2 * many > one.size for many, one in zip(shared, several, strict=True)):
                yield _found("clamped score", f"{shared[0]} of {several[0].size}", leg, end)


def _reranked(pipeline: Pipeline, index: CachedIndex, asked: Sequence[str]) -> Iterator[Finding]:
    """What is wrong with the numbers of a reranker, and with the texts that it gets; floors are left out."""
    rerank = first_of(pipeline.stages, Rerank)
    if rerank is None:
        return
    stages = tuple(one for one in pipeline.stages if not isinstance(one, MinScore))
    traces = [search(one, replace(pipeline, stages=stages), index) for one in asked]
    runs = Running(index, "", pipeline.limit)
    read = [one[~np.isnan(one)] for one in (trace.columns["rerank_raw"] for trace in traces)]
    several = [one for one in read if one.size > 1]
    every = np.concatenate([*read, np.empty(0)])
    least = f"{every.min():.3f} to {every.max():.3f}" if every.size else ""
    cut = [
        chunk
        for trace in traces
        for chunk, text in zip(
            trace.chunks, rerank.texts(trace, runs, np.arange(trace.rows.size)), strict=True
        )
        if len(text) < len(chunk.text) and chunk.text.startswith(text)
    ]
    part = f"{len(cut)} texts, such as {cut[0].location if cut else ''}"
    narrow = several and np.ptp(every) > 0 and 0.5 <= every.min() < every.max() <= 0.7311
    checks = {
        "constant rerank score": several and all(np.ptp(one) == 0 for one in several),
        "narrow rerank scores": narrow,
        "rerank scores of the answer": read and all(one.size and one.min() == 0 for one in read),
        "the reranker reads a part": cut,
    }
    yield from (
        _found(kind, part if kind.endswith("part") else least) for kind, holds in checks.items() if holds
    )


def _reach(
    pipeline: Pipeline, index: OpenIndex, asked: Sequence[str], traces: Sequence[Trace]
) -> Iterator[Finding]:
    """Chunks that the keyword leg finds and the vector leg never reaches, and distances that are none."""
    if pipeline.layout is not None or not any(isinstance(stage, VectorLeg) for stage in pipeline.stages):
        return
    missed: dict[str, str] = {}
    reached: dict[str, str] = {}
    late = ""
    for question, trace in zip(asked, traces, strict=True):
        query = index.embed(question)
        near = index.vector(query, index.size).rows
        if near.size < index.size and (fewer := index.vector(query, near.size).rows.size) < near.size:
            late = late or f"{fewer} of {near.size} chunks for {question!r:.60}"
        if "keyword" in trace.legs and near.size < index.size:
            found = trace.legs["keyword"].hits.rows
            missed |= {one.location: one.text for one in index.chunks(found[~np.isin(found, near)])}
            reached |= {one.text: one.location for one in index.chunks(near)}
    if late:
        yield _found("a filter after the cut", late)
    twins = [number for number, text in missed.items() if text in reached]
    if twins:
        pair = f"{twins[0]} and {reached[missed[twins[0]]]}"
        yield _found("ids that never merge", f"{counted(len(twins), 'chunk')}, such as {pair}")
    elif missed:
        example = f"{counted(len(missed), 'chunk')}, such as {next(iter(missed))}"
        yield _found("a leg that reaches fewer chunks", example)
    yield from _approximate(index, asked)


def _approximate(index: OpenIndex, asked: Sequence[str]) -> Iterator[Finding]:
    try:
        rows, vectors = index.vectors()
    except InputError:  # an index that does not give its vectors
        return
    if index.vector(index.embed(asked[0]), index.size).rows.size < rows.size:
        return
    for question in asked[:SAMPLED_CHUNKS]:
        hits, query = index.vector(index.embed(question), NEIGHBOURS), index.embed(question)
        nearest = np.sort(1 - vectors @ query)[:NEIGHBOURS]
        found = 1 - vectors[np.searchsorted(rows, hits.rows)] @ query
        if hits.rows.size and (
            (found > nearest[found.size - 1] + 1e-3).any() or (np.diff(found) < -1e-3).any()
        ):
            right = int((found <= nearest[-1] + 1e-3).sum())
            share = f"{right} of its first {found.size} are the nearest"
            yield _found("approximate vectors", f"{share}; distance {float(found.max()):.3f}")
            return


def _words(index: OpenIndex, asked: Sequence[str], traces: Sequence[Trace]) -> Iterator[Finding]:
    """Texts in another normal form than questions have, and keyword queries without the question's words."""
    odd = [one.path for one in index.documents() or () if one.text != unicodedata.normalize("NFC", one.text)]
    if odd:
        yield _found("texts in another normal form", f"{counted(len(odd), 'file')}, such as {odd[0]}")
    odd = [one for pair in zip(asked, traces, strict=True) for one in _without_words(*pair)]
    if odd:
        yield _found("keyword hits without a word", f"{counted(len(odd), 'hit')}, such as {odd[0]}")
    lost = [
        question
        for question, trace in zip(asked, traces, strict=True)
        if trace.match and not share_a_word(question, trace.match)
    ]
    if lost:
        example = f"{len(lost)} of {len(asked)} questions, such as {lost[0]!r:.60}"
        yield _found("a query without the question's words", example)


def _without_words(question: str, trace: Trace) -> Iterator[str]:
    """The keyword hits without the first three letters of any word, or any letter of one not in Latin."""
    if "keyword" in trace.legs:
        starts = _starts(unicode_words(f"{question} {trace.match or ''}"))
        found = np.isin(trace.rows, trace.legs["keyword"].hits.rows)
        for one, here in zip(trace.chunks, found, strict=True):
            if here and not any(start in _letters(f"{one.path} {one.text}") for start in starts):
                yield f"{one.location} for {question!r:.60}"


def share_a_word(question: str, match: str) -> bool:
    """Whether a query has a word of the question, in any form: a query of stems has "price" for "prices"."""
    kept = [_letters(one) for one in unicode_words(match) if one not in OPERATORS]
    return any(_one_word(_letters(one), other) for one in unicode_words(question) for other in kept)


def _one_word(one: str, other: str) -> bool:
    """Whether one of two words begins with the other, as with a stem; in other scripts, a common letter."""
    if not one.isascii():
        return not set(one).isdisjoint(other)
    short, long = sorted((re.sub("y$", "i", one), re.sub("y$", "i", other)), key=len)
    return short == long or (len(short) >= SHORTEST_STEM and long.startswith(short))


def _starts(words: Iterable[str]) -> set[str]:
    """The first three letters of each word in Latin, and each letter of the others."""
    letters = map(_letters, words)
    return {one for word in letters for one in ([word[:3]] if word.isascii() else word)}


def _letters(text: str) -> str:
    apart = unicodedata.normalize("NFKD", text).casefold()
    return "".join(one for one in apart if not unicodedata.combining(one))


def _ages(traces: Sequence[Trace]) -> Iterator[Finding]:
    """Files without an age, although their path has a date."""
    odd: set[str] = set()
    for trace in traces:
        ages = trace.columns.get("age_days", np.empty(0))
        odd |= {trace.chunks[row].path for row in np.flatnonzero(np.isnan(ages))}
    if dated := sorted(filter(DATE.search, odd)):
        yield _found("a date that is not read", f"{counted(len(dated), 'file')}, such as {dated[0]}")


def _scripts(pipeline: Pipeline, index: OpenIndex, cached: CachedIndex) -> Iterator[Finding]:
    """Scripts for which a leg is dead: their words are not found, or the model does not know them."""
    chunks = _chunks(index)
    for name, why in dead_for(pipeline, cached, chunks):
        yield _found("a script without keywords", why, name)
    embedder = getattr(index, "embedder", None)  # a recording has none
    if isinstance(embedder, LocalEmbedder) and any(leg.name == "vector" for leg in legs_of(pipeline.stages)):
        for name, why in unknown_to(embedder, chunks):
            yield _found("a script that the model does not know", why, name, embedder.name)


def _pages(pipeline: Pipeline, index: CachedIndex, asked: Sequence[str]) -> Iterator[Finding]:
    """Whether the first results stay the same if more are asked for."""
    if pipeline.limit >= SHALLOW or any(isinstance(one, Rerank) for one in pipeline.stages):
        return
    longer = pipeline.asking(limit=2 * int(pipeline.limit))
    for question in asked[:PROBES]:
        few, many = (_answer(search(question, one, index)) for one in (pipeline, longer))
        if few != many[: len(few)]:
            example = f"the first {len(few)} differ for {question!r:.60}"
            yield _found("an order that depends on the limit", example)
            return


def _dead_parameters(
    pipeline: Pipeline, index: CachedIndex, asked: Sequence[str], before: Sequence[Trace]
) -> Iterator[Finding]:
    answers = [_answer(trace) for trace in before]
    for parameter in parameters_of(pipeline):
        values = _other_values(parameter)
        changed = [moved for value in values if (moved := parameter.with_value(value)) is not None]
        if changed and not any(_differs(one, index, asked, answers) for one in changed):
            tried = f"{parameter.now} → {', '.join(map(str, values))}: 0 answers differ"
            yield _found("dead parameter", tried, parameter.name, len(asked))


def _other_values(parameter: Parameter) -> list[Any]:
    """Values far from the present one: the ends of the range, half, and double."""
    if not parameter.is_number:
        return list(parameter.choices)
    now, low, high = float(parameter.now), parameter.low, parameter.high
    far = [now / 2, now * 2 or 1.0, *(end for end in (low, high) if abs(end) <= 1e4)]
    inside = [value for value in far if low <= value <= high and value != now]
    return list(dict.fromkeys(round(value) if parameter.whole else value for value in inside))


def _differs(pipeline: Pipeline, index: CachedIndex, asked: Sequence[str], answers: Sequence[object]) -> bool:
    """Whether the answer to any question is another one; the first that differs is enough."""
    pairs = zip(asked, answers, strict=True)
    try:
        with np.errstate(all="ignore"):  # the end of a range may divide by 0
            return any(_answer(search(one, pipeline, index)) != answer for one, answer in pairs)
    except InputError:  # a value that this index cannot serve is not a value without effect
        return True


def _answer(trace: Trace) -> tuple[str, ...]:
    return tuple(one.chunk.id for one in trace.results)


def _part_read(index: OpenIndex) -> Iterator[Finding]:
    shares = np.array([one.read_share for one in _chunks(index)])
    part = int((shares < 1).sum())
    if part:
        share = f"on average {shares[shares < 1].mean():.0%} of such a chunk"
        yield _found("chunks read in part", share, part, shares.size)


def _rows(index: Index) -> Rows:
    """The rows of all chunks, by the paths of their files."""
    rows = [index.rows_of(path) for path in index.paths()]
    return np.concatenate(rows) if rows else np.empty(0, np.int64)


def _chunks(index: Index) -> list[Chunk]:
    rows = _rows(index)
    return list(index.chunks(rows)) if rows.size else []


def _foreign_vectors(index: Index) -> Iterator[Finding]:
    """A chunk that the model reads whole must have the vector that the model gives for its text."""
    if not isinstance(index, OpenIndex):
        return
    known, vectors = index.vectors()
    if known.size < index.size or vectors.shape[1] != index.embedder.dimensions:
        return  # a leg that reaches fewer chunks is another finding, and a search refuses other lengths
    rows = zip(_rows(index).tolist(), _chunks(index), strict=True)
    whole = [(row, one.text) for row, one in rows if one.read_share == 1 and one.text.strip()]
    sample = whole[:: max(1, len(whole) // SAMPLED_CHUNKS)][:SAMPLED_CHUNKS]
    if not sample:
        return
    stored = vectors[np.searchsorted(known, [row for row, _ in sample])]
    cosines = cosines_again(index.embedder, [text for _, text in sample], stored)
    far = cosines[cosines < SAME_VECTOR]
    if far.size:
        least = f"cosine {far.min():.3f} < {SAME_VECTOR}"
        asked = int(np.isfinite(cosines).sum())
        yield _found("vectors of another model", least, far.size, asked, index.embedder.name)
