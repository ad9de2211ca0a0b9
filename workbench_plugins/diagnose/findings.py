"""The lint: settings that cannot work, by arithmetic, and on a memory also by asking it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
from rich.console import Group, RenderableType

from workbench.errors import InputError
from workbench.measure.reach import reaches
from workbench.memory.index import OpenIndex
from workbench.records import Tabular, Trace
from workbench.retrieval.columns import ColumnStage
from workbench.retrieval.cutoff import MinScore
from workbench.retrieval.fusion import Weighted
from workbench.retrieval.index_adapters import CachedIndex
from workbench.retrieval.legs import legs_of
from workbench.retrieval.pipeline import Pipeline, search
from workbench.safe_text import counted
from workbench.views.frames import Frame, Types, frame, made_frame
from workbench.views.text import Table, plain, rendered, rich_table
from workbench_plugins.diagnose.parameters import Parameter, parameters_of

PROBES = 40
"""The number of questions that are asked when there are no labelled ones."""
SAMPLED_CHUNKS = 3
SAME_VECTOR = 0.98
"""The least cosine of a chunk's stored vector and its new one; backends and batches differ by far less."""


@dataclass(frozen=True)
class Finding:
    """One thing that cannot work: its kind, a sentence, the arithmetic, and the public issue it resembles."""

    kind: str
    says: str
    arithmetic: str
    issue: str

    def __str__(self) -> str:
        return f"{self.says} ({self.arithmetic}; compare {self.issue})"


class Findings(list[Finding], Tabular):
    """What a lint found in one system, in the order of the checks."""

    def __init__(self, system: str, found: Iterable[Finding] = ()) -> None:
        super().__init__(found)
        self.system = system


def lint(pipeline: Pipeline) -> Findings:
    """What arithmetic alone finds in a pipeline's settings."""
    checks = (_unreachable, _shallow, _floors, _scale_only)
    return Findings(pipeline.name, (one for check in checks for one in check(pipeline)))


def lint_pair(one: Pipeline, other: Pipeline) -> Findings:
    """Whether two systems can differ at all."""
    if one.diff(other):
        return Findings(one.name)
    says = f"{one.name} and {other.name} have the same stages, so they cannot differ"
    found = Finding("two systems that cannot differ", says, "0 slots differ", "llama_index#21444")
    return Findings(one.name, [found])


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
    dead = _dead_parameters(pipeline, cached, asked, traces)
    return Findings(pipeline.name, [*_legs(pipeline, traces), *dead, *found])


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
            yield Finding(
                "unreachable",
                f"A candidate of the {leg} leg alone cannot pass the floor, however well it matches",
                f"{bound.formula} < {bound.floor:g}",
                "openclaw#25183",
            )


def _shallow(pipeline: Pipeline) -> Iterator[Finding]:
    for leg in legs_of(pipeline.stages):
        depth = leg.deepest(pipeline.limit)
        if depth < pipeline.limit:
            yield Finding(
                "pool smaller than the limit",
                f"The {leg.name} leg brings fewer candidates than the answer may have",
                f"{depth} < {pipeline.limit:g}",
                "automem PR#205",
            )


def _floors(pipeline: Pipeline) -> Iterator[Finding]:
    for stage in pipeline.stages:
        if not isinstance(stage, MinScore):
            continue
        writer = next((one for one in pipeline.stages if stage.of in one.writes()), None)
        read: set[str] = set(writer.reads()) if isinstance(writer, ColumnStage) else set()
        ranks = {f"{leg.name}_rank" for leg in legs_of(pipeline.stages)}
        if read and read <= ranks:
            yield Finding(
                "floor on a rank",
                f"The floor {stage.floor:g} is on a score that is computed from ranks alone: the best of a "
                "bad lot passes as the best of a good one does",
                f"{writer.slot if writer else ''} reads {', '.join(sorted(read))}",
                "TencentDB#1296, khive#1111",
            )
        if stage.floor == 0:
            yield Finding(
                "a threshold of 0",
                "The floor of 0 drops only what scores below 0: if 0 is meant as “off” or as a floor, it is "
                "neither on a scale with negative numbers",
                f"{stage.of} ≥ {stage.floor:g}",
                "openclaw#92524",
            )


def _scale_only(pipeline: Pipeline) -> Iterator[Finding]:
    for stage in pipeline.stages:
        if not isinstance(stage, Weighted) or not all(stage.weights.values()):
            continue
        first, second = (_random_scores(pipeline, one) for one in (stage, _doubled(stage)))
        if first is not None and second is not None and np.allclose(first, second, rtol=1e-12):
            weights = " and ".join(f"{one:g}" for one in (stage.vector, stage.keyword))
            yield Finding(
                "weights that are scale only",
                f"Only the ratio of the weights {weights} counts: their sum changes no score",
                f"2 × ({weights}) gives the same scores",
                "basic-memory#577",
            )


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


def _legs(pipeline: Pipeline, traces: Sequence[Trace]) -> Iterator[Finding]:
    for leg in legs_of(pipeline.stages):
        hits = [trace.legs[leg.name].hits for trace in traces if leg.name in trace.legs]
        empty = sum(one.rows.size == 0 for one in hits)
        several = [one for one in hits if one.rows.size > 1]
        if hits and empty == len(hits):
            yield Finding(
                "dead leg",
                f"The {leg.name} leg brings nothing",
                f"0 hits for {len(hits)} of {len(hits)} questions",
                "openclaw#15226, automem#128" if leg.name == "keyword" else "openclaw#92337",
            )
        elif several and all(np.ptp(one.raw) == 0 for one in several):
            yield Finding(
                "constant leg",
                f"The {leg.name} leg gives every hit the same number, so that it cannot rank",
                f"one value in each of {len(several)} questions",
                "openclaw PR#20994",
            )
        column = f"{leg.name}_score"
        scored = [trace.columns[column] for trace in traces if column in trace.columns]
        present = [one[~np.isnan(one)] for one in scored]
        ranked = [one for one in present if one.size > 1]
        if ranked and all(np.ptp(one) == 0 for one in ranked) and several:
            yield Finding(
                "constant leg",
                f"Every hit of the {leg.name} leg gets the same score, whatever the engine says",
                f"{column} = {ranked[0][0]:g} in each of {len(ranked)} questions",
                "openclaw PR#20994",
            )


def _dead_parameters(
    pipeline: Pipeline, index: CachedIndex, asked: Sequence[str], before: Sequence[Trace]
) -> Iterator[Finding]:
    answers = [_answer(trace) for trace in before]
    for parameter in parameters_of(pipeline):
        values = _other_values(parameter)
        changed = [made for value in values if (made := parameter.with_value(value)) is not None]
        if changed and not any(_differs(one, index, asked, answers) for one in changed):
            yield Finding(
                "dead parameter",
                f"{parameter.name} changes no answer to {len(asked)} questions",
                f"{parameter.now} → {', '.join(map(str, values))}: 0 answers differ",
                "automem#128, llama_index#21444",
            )


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
        yield Finding(
            "chunks read in part",
            f"The model has read only the beginning of {part} of {shares.size} chunks: the vector leg cannot "
            "find what stands behind it",
            f"on average {shares[shares < 1].mean():.0%} of such a chunk",
            "no public issue; docs/memories.md has the measured share",
        )


def _chunks(index: OpenIndex) -> list[Any]:
    rows = [index.rows_of(path) for path in index.paths()]
    every = np.concatenate(rows) if rows else np.empty(0, np.int64)
    return list(index.chunks(every)) if every.size else []


def _foreign_vectors(index: OpenIndex) -> Iterator[Finding]:
    """A chunk that the model reads whole must be its own nearest neighbour, at a distance of about 0."""
    whole = [one for one in _chunks(index) if one.read_share == 1 and one.text.strip()]
    sample = whole[:: max(1, len(whole) // SAMPLED_CHUNKS)][:SAMPLED_CHUNKS]
    if not sample or not isinstance(index, OpenIndex):
        return
    vectors = index.embedder.embed([one.text for one in sample], "passage").vectors
    cosines = [1 - index.vector(vector, 1).raw[0] for vector in vectors if vector.any()]
    far = [value for value in cosines if value < SAME_VECTOR]
    if far:
        yield Finding(
            "vectors of another model",
            f"{len(far)} of {len(cosines)} chunks have a vector that {index.embedder.name} does not give: "
            "the index was made with another model, or has been changed since",
            f"cosine {min(far):.3f} < {SAME_VECTOR}",
            "basic-memory#843, basic-memory#1023",
        )


@rendered.register
def rendered_findings(found: Findings) -> RenderableType:
    """One row for each finding: what cannot work, the arithmetic, and the public issue it resembles."""
    if not found:
        return plain(f"{found.system}: nothing found")
    count = counted(len(found), "finding")
    heads, rows = ("finding", "what it means", "arithmetic", "resembles"), [astuple(one) for one in found]
    return Group(plain(f"{found.system}: {count}", "bold"), rich_table(Table("findings", heads, rows)))


FINDINGS: Types = {"system": "str", "finding": "str", "meaning": "str", "arithmetic": "str", "issue": "str"}


@frame.register
def _findings(found: Findings) -> Frame:
    rows = ([found.system, one.kind, one.says, one.arithmetic, one.issue] for one in found)
    return made_frame(FINDINGS, rows)
