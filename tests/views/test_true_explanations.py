"""Every printed sentence of an explanation is checked against the trace that it explains."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.arithmetic import evaluated
from tests.home import Home
from workbench.measure.questions import QuestionSet
from workbench.memory.index import MemoryIndex
from workbench.records import Candidate, DropKind, Fate, Stage, Trace
from workbench.retrieval.columns import ColumnStage
from workbench.retrieval.cutoff import EvidenceFloor, Limit, MinScore
from workbench.retrieval.explain import Explanation, Verdict, explain
from workbench.retrieval.index_adapters import CachedIndex
from workbench.retrieval.pipeline import Pipeline, search
from workbench.retrieval.query import UnicodeWords
from workbench.stop_words import STOP_WORDS
from workbench.systems.catalogue import SYSTEMS
from workbench_plugins.automem.components import AdaptiveFloor
from workbench_plugins.basic_memory.notes import NotesLayout, note_of
from workbench_plugins.basic_memory.pipelines import MinSimilarity
from workbench_plugins.engines.shipped_fusions import OneOfText
from workbench_plugins.engines.split_words import SplitWordsLeg
from workbench_plugins.openclaw.ranking import ReadableProjects
from workbench_plugins.qmd.qmd_fusion import CandidateLimit
from workbench_plugins.recommended.pipelines import RECOMMENDED
from workbench_plugins.recommended.stages import BestOfFile

WORDS = """
canning cans willing having can will the it café teas backup_plan a tomato Tomato
""".split()  # noqa: SIM905
"""Words of the question: content words whose stems are those of function words, and function words."""

QUESTIONS_EACH = 4
"""How many questions each system is asked; together the systems are asked all of them."""

FATE_OF_KIND = {
    DropKind.LIMIT: Fate.BEYOND_LIMIT,
    DropKind.FLOOR: Fate.BELOW_FLOOR,
    DropKind.LEG_FLOOR: Fate.BELOW_LEG_FLOOR,
    DropKind.FILTER: Fate.FILTERED,
    DropKind.FOLD: Fate.FOLDED,
    DropKind.LEFT_OUT: Fate.LEFT_OUT,
}
COMPARED = re.compile(
    r"(?:^|and )(?:it has no (?P<absent>[a-z][^<>≥≤]*?)(?= and |$)"
    r"|(?P<measure>[a-z][^<>≥≤]*?) (?P<value>-?[\d.e+-]+) (?P<sign>[<>≥≤]) (?P<limit>-?[\d.e+-]+))"
)
ENDING = re.compile(r"(?P<kept>returned|not returned); position (?P<position>\d+) of (?P<all>\d+)")
FORMULA = re.compile(r"(?P<name>[a-z][a-z_ ]*) = (?P<rest>.+)")
ABSENT = re.compile(r"(?P<name>[a-z ]+) absent: (?P<compared>\w+) (?P<number>\S+) < (?P<least>\S+)")
SIGNS = {"<": float.__lt__, ">": float.__gt__, "≥": float.__ge__, "≤": float.__le__}


def limits_of(stage: Stage) -> set[float]:
    """The limits that a cut-off stage has as parameters; none for one that computes its limit."""
    match stage:
        case MinScore(floor=floor):
            return {floor}
        case Limit(count=count) | CandidateLimit(count=count):
            return {float(int(count))}
        case BestOfFile() | OneOfText():
            return {1.0}
        case MinSimilarity(least=least):
            return {least}
        case EvidenceFloor(cosine=cosine, relevance=relevance):
            return {cosine, relevance}
        case ReadableProjects():
            return {0.0}
    assert isinstance(stage, AdaptiveFloor)
    return set()


def check_lines(trace: Trace, verdict: Verdict, lines: Sequence[str]) -> None:
    candidate = verdict.candidate
    assert candidate is not None
    assert lines[0] == f"{candidate.chunk.location}: {verdict.fate}"
    assert verdict.fate is (Fate.RETURNED if candidate.drop is None else FATE_OF_KIND[candidate.drop.kind])
    dropping = [line for line in lines if re.search(r": the [a-z ]+ drops it", line)]
    assert len(dropping) == (candidate.drop is not None) + sum("brought back by" in line for line in lines)
    if candidate.drop is not None:
        assert f": the {candidate.drop.stage.slot.replace('_', ' ')} drops it" in dropping[-1]
    for line in joined(lines[1:]):
        check_line(trace, candidate, line)


def joined(lines: Sequence[str]) -> list[str]:
    """The lines without their margin, each formula in words with its numbers, which are the line below."""
    found: list[str] = []
    for line in map(str.strip, lines):
        if line.startswith("= "):
            found[-1] += f" {line}"
        else:
            found.append(line)
    return found


def check_line(trace: Trace, candidate: Candidate, line: str) -> None:
    if ending := ENDING.fullmatch(line):
        assert (ending["kept"] == "returned") == (candidate.drop is None)
        assert (int(ending["position"]), int(ending["all"])) == (candidate.position, len(trace.chunks))
    elif not line.startswith("brought back by ") and re.search(r": the [a-z ]+ drops it|: passes the ", line):
        check_decision(trace, candidate, line)
    elif (found := FORMULA.fullmatch(line)) and (column := column_of(trace, found["name"])):
        check_formula(trace, candidate, column, found["rest"])
    elif found := ABSENT.fullmatch(line):
        assert math.isnan(candidate.numbers[column_of(trace, found["name"])])
        assert float(found["number"]) == pytest.approx(candidate.numbers[found["compared"]], abs=0.001)
        assert float(found["number"]) < float(found["least"])
    else:
        assert re.match(r"[a-z]+ leg: |brought back by the |the model has read ", line), line


def column_of(trace: Trace, name: str) -> str:
    """The computed column that a person reads under this name; empty if there is none."""
    columns = (stage.output for stage in trace.stages if isinstance(stage, ColumnStage))
    found = {trace.names.get(one, one.replace("_", " ")): one for one in columns}
    return found.get(name, "")


def check_formula(trace: Trace, candidate: Candidate, column: str, rest: str) -> None:
    *expressions, value = rest.split(" = ")
    assert value == f"{candidate.numbers[column]:.4g}" or not expressions
    for expression in expressions:
        computed = evaluated(in_numbers(trace, candidate, expression))
        assert computed == pytest.approx(candidate.numbers[column], rel=0.0101, abs=1e-12)


def in_numbers(trace: Trace, candidate: Candidate, expression: str) -> str:
    """The expression with the number of each name: what the name says is what the formula reads."""
    numbers: dict[str, float] = {}
    for column, name in trace.names.items():
        numbers[f"highest {name}"] = float(np.nanmax(trace.columns[column]))
        if name not in numbers or math.isnan(numbers[name]):  # a leg may not have read it, and a stage did
            numbers[name] = candidate.numbers[column]
    for name in sorted(numbers, key=len, reverse=True):
        expression = expression.replace(name, f"({numbers[name]!r})")
    return expression


def check_decision(trace: Trace, candidate: Candidate, line: str) -> None:
    compared, _, decision = line.rpartition(": ")
    slot = re.sub(r"^(passes )?the | drops it.*$", "", decision).replace(" ", "_")
    (stage,) = [one for one in trace.stages if one.slot == slot]
    cutoff = trace.cutoffs[trace.stage_number(stage)]
    row = trace.chunks.index(candidate.chunk)
    found = list(COMPARED.finditer(compared))
    measured = {one.measure: one for one in cutoff.thresholds}
    assert len(found) == len(measured) or (found and "passes the" in line), line
    for shown in found:
        threshold = measured[(shown["measure"] or shown["absent"]).strip()]
        value = float(threshold.values[row])
        assert math.isnan(value) == (shown["absent"] is not None)
        if not math.isnan(value):
            assert float(shown["limit"]) == pytest.approx(threshold.limit, rel=1e-4, abs=5e-4)
            assert not limits_of(stage) or threshold.limit in limits_of(stage)
            # Three places: half a unit of the last, and a little for numbers like 0.0625.
            assert float(shown["value"]) == pytest.approx(value, rel=1e-4, abs=5.01e-4)
            assert SIGNS[shown["sign"]](value, float(threshold.limit)), line
        if threshold.measure in trace.columns:
            assert value == pytest.approx(candidate.numbers[threshold.measure], nan_ok=True)


def searched_text(index: MemoryIndex, path: str, pipeline: Pipeline, verdict: Verdict) -> str:
    """The text that a system's keyword leg searches: of a note, Basic Memory indexes the beginning."""
    if not isinstance(pipeline.layout, NotesLayout):
        return verdict.chunk.text
    (document,) = [one for one in index.store.documents() if one.path == path]
    return note_of(document, pipeline.layout.project).content_stems


def check_split(verdict: Verdict) -> None:
    """A leg of words split at blanks lacks a word exactly where no piece of the text is this word."""
    for leg_rank in verdict.leg_ranks:
        assert not set(leg_rank.missing) & set(verdict.chunk.text.split()), verdict.chunk.location


def check_found(verdict: Verdict, text: str, trigrams: bool = False) -> None:
    """A word that a leg does not find in a text is not there. Trigrams find no word of two characters."""
    for leg_rank in verdict.leg_ranks:
        for word in leg_rank.missing:
            if trigrams and len(word) < 3:
                continue
            if word.casefold() in text.casefold():  # a part of a word may be there
                said = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)", re.IGNORECASE)
                assert not said.search(text), (leg_rank.leg, word, verdict.chunk.location)


def told(explanation: Explanation) -> Mapping[str, list[str]]:
    """The lines of each chunk that the text tells about, by the place of the chunk."""
    blocks = explanation.text(chunks=len(explanation.verdicts)).split("\n\n")[1:]
    return {block.split("\n")[0].rpartition(": ")[0]: block.split("\n") for block in blocks}


@pytest.fixture(scope="module")
def canned(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemoryIndex]:
    """Notes of the words that the questions have, indexed."""
    home = Home(tmp_path_factory.mktemp("canned"), tmp_path_factory.mktemp("place") / "index.sqlite")
    texts = (
        "canning tomato cans having the backup_plan",
        "willing to wait, it will",
        "doings a café can have",
    )
    for number, text in enumerate(texts):
        note = home.root / "memory" / f"{number}.md"
        note.parent.mkdir(exist_ok=True)
        note.write_text(f"{text}\n")
    home.sync()
    with closing(home.opened()) as index:
        yield index


@pytest.fixture(scope="module")
def cached(sample: MemoryIndex) -> CachedIndex:
    return CachedIndex(sample)


@pytest.mark.parametrize("number", range(len(SYSTEMS)), ids=list(SYSTEMS))
def test_every_sentence_about_every_file_is_true(
    number: int, sample: MemoryIndex, cached: CachedIndex, questions: QuestionSet
) -> None:
    asked = [one.question for one in (*questions.questions, *questions.controls)]
    pipeline: Pipeline = list(SYSTEMS.values())[number]
    for turn in range(QUESTIONS_EACH):
        trace = search(asked[(number * QUESTIONS_EACH + turn) % len(asked)], pipeline, cached)
        found = {chunk.id for chunk in trace.chunks}
        for path in sample.store.stamps():
            explanation = explain(trace, cached, path)
            lines = told(explanation)
            for verdict in explanation.verdicts:
                if any(isinstance(stage, SplitWordsLeg) for stage in pipeline.stages):
                    check_split(verdict)
                else:
                    text = searched_text(sample, path, pipeline, verdict)
                    check_found(verdict, text, "trigram" in pipeline.name)
                if verdict.candidate is not None:
                    check_lines(trace, verdict, lines[verdict.chunk.location])
                else:
                    assert verdict.chunk.id not in found


@given(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=4),
    st.sampled_from([one for one in SYSTEMS.values() if one.layout == RECOMMENDED.layout]),
    st.sampled_from([None, UnicodeWords("OR"), UnicodeWords("AND")]),
)
def test_a_word_that_is_lacking_is_not_there(
    canned: MemoryIndex, words: list[str], pipeline: Pipeline, query: UnicodeWords | None
) -> None:
    asked = pipeline.with_stage(query) if query else pipeline
    trace = search(" ".join(words), asked, canned)
    for path in canned.store.stamps():
        for verdict in explain(trace, canned, path).verdicts:
            check_found(verdict, verdict.chunk.text)
            match = verdict.leg_ranks[0]
            content = [word for word in words if word.lower() not in STOP_WORDS]
            if any(word in verdict.chunk.text.split() for word in content) and asked is pipeline:
                assert match.rank is not None, (words, verdict.chunk.text)


def test_a_word_with_the_stem_of_a_function_word_is_found(canned: MemoryIndex) -> None:
    for word, path in (("canning", "memory/0.md"), ("cans", "memory/0.md"), ("willing", "memory/1.md")):
        found = search(word, RECOMMENDED, canned).legs["keyword"].hits
        assert [chunk.path for chunk in canned.chunks(found.rows)] == [path]
    assert search("Can I, or will it?", RECOMMENDED, canned).legs["keyword"].asked is None
