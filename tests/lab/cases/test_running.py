"""A case is made of a search, written, read and run again, on its own system and on others."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import example as example_of
from hypothesis import given
from hypothesis import strategies as st

from tests import world
from tests.commands import python
from tests.conftest import PROJECT, SAMPLE
from tests.home import Home
from tests.lab.cases import example, table
from workbench.errors import InputError
from workbench.memory.embedding.local import ToyEmbedder
from workbench.memory.index import MemoryIndex
from workbench.retrieval.explain import explain
from workbench.retrieval.pipeline import Pipeline, search
from workbench.retrieval.settings import with_settings
from workbench.systems.catalogue import SYSTEMS, system
from workbench.systems.openclaw import OR_JOIN, RRF
from workbench_plugins.automem import pipelines as automem
from workbench_plugins.automem.specimens import TokensOfTheContent
from workbench_plugins.basic_memory import pipelines as basic_memory
from workbench_plugins.cases import running
from workbench_plugins.cases.case_results import Matrix
from workbench_plugins.cases.making import case_of
from workbench_plugins.cases.model import (
    Case,
    CaseMemory,
    CaseNote,
    CaseQuestion,
    CaseSystem,
    Expected,
    case_text,
    load_case,
    parsed_case,
    save_case,
    schema,
)
from workbench_plugins.cases.running import run_case, systems_named
from workbench_plugins.cases.shrink import in_passages
from workbench_plugins.openclaw.config_keys import with_keys

SHIPPED = system("openclaw-2026.2.13")

SMALL = example("small")


def small(expect: str, question: str = "Rocky Point bagging operations") -> Case:
    text = SMALL.replace("EXPECT", expect).replace("Rocky Point bagging operations", question)
    return parsed_case(text, "small.case.yaml")


def test_a_case_of_a_search_gives_the_search_again(toy: MemoryIndex, tmp_path: Path) -> None:
    paths = toy.paths()
    trace = search("tea", SHIPPED, toy)
    made = case_of("tea", SHIPPED, toy, paths[0])
    again = load_case(save_case(made, tmp_path / "tea.case.yaml")).case
    assert again == made
    assert case_text(again) == (tmp_path / "tea.case.yaml").read_text()
    (answer,) = run_case(again).answers
    assert answer.as_observed
    theirs = [(one.chunk, str(one.numbers)) for one in answer.trace.candidates]
    assert theirs == [(one.chunk, str(one.numbers)) for one in trace.candidates]
    assert answer.observed.fate == explain(trace, toy, paths[0]).fate.value


def written(text: str) -> Case:
    """A case that has the text wherever a text may have any character."""
    question = CaseQuestion(question=f"q{text}", expect=Expected(nothing=True), known_bug=text)
    return Case(
        title=text,
        note=text,
        system=CaseSystem(name="openclaw-2026.2.13"),
        questions=[question],
        memory=CaseMemory(notes=[CaseNote(path="a.md", text=text)]),
    )


@given(st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("\n\r\t \x85\u2028\ufeff-:#'\"|>")))
@example_of("The kettle\x85is red.\nSecond line")
def test_no_character_of_a_text_is_changed_by_its_file(text: str) -> None:
    case = written(text)
    assert parsed_case(case_text(case), "written") == case


@pytest.mark.parametrize("text", ["1.5e3", "1e5", "7e2", "-1E+9", "12", "0.5", "true", "null", "~", ""])
def test_a_text_that_looks_like_a_number_or_a_word_of_yaml_stays_a_text(text: str) -> None:
    case = written(text)
    if text:
        asked = CaseQuestion(question=text, expect=Expected(found=text))
        note = CaseNote(path=text, text=text)
        case = case.with_changes(
            system=CaseSystem(name=text), questions=[asked], memory=CaseMemory(notes=[note])
        )
    assert parsed_case(case_text(case), "written") == case


def test_half_of_a_character_is_refused_before_a_file_is_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot have the text 'kettle \\udc85': U\+DC85 is half"):
        save_case(written("tea").with_changes(note="kettle \udc85"), tmp_path / "half.case.yaml")
    assert not list(tmp_path.iterdir())


def test_a_case_does_not_say_where_the_folder_of_a_model_is(home: Home) -> None:
    mine = ToyEmbedder(world.AXES, name="/home/wren/models/tea-small")
    home.sync(mine, rebuild=True)
    with home.opened(mine) as index:
        made = case_of("tea", SHIPPED, index, index.paths()[0])
    assert made.model.name == "tea-small"
    assert "wren/models" not in case_text(made)


def test_a_case_runs_with_and_without_its_vectors_and_then_needs_its_model(toy: MemoryIndex) -> None:
    usual = run_case(case_of("tea", SHIPPED, toy, toy.paths()[0]))
    for vectors in ("float16", "float32", "none"):
        made = case_of("tea", SHIPPED, toy, toy.paths()[0], vectors=vectors)  # type: ignore[arg-type]
        assert run_case(made).reasons == usual.reasons
    assert made.model.axes == {axis: list(words) for axis, words in world.AXES.items()}
    without = made.model_copy(update={"model": made.model.model_copy(update={"axes": None})})
    with pytest.raises(InputError, match=r"the model toy \(.*which is not here"):
        run_case(without)


@pytest.mark.parametrize(("expect", "question", "holds", "fate"), table("expectations"))
def test_each_kind_of_expectation_is_judged(expect: str, question: str, holds: bool, fate: str) -> None:
    (answer,) = run_case(small(expect, question)).answers
    assert (answer.holds, answer.observed.fate) == (holds, fate), answer.description


def test_the_places_that_an_expectation_names_are_told_in_words() -> None:
    for within, told in ((1, "as the first file"), (2, "among the first 2 files")):
        expect = f"{{found: memory/disk.md, within: {within}}}"
        (answer,) = run_case(small(expect, "disk error")).answers
        assert answer.wanted == f"memory/disk.md should be returned {told}"


def test_an_order_holds_if_the_files_are_returned_so() -> None:
    system = CaseSystem(name=SHIPPED.name, min_score=0.0)
    for order, holds in (("disk.md, memory/depot.md", True), ("depot.md, memory/disk.md", False)):
        case = small(f"{{order: [memory/{order}]}}", "bark on the server disk")
        (answer,) = run_case(case.model_copy(update={"system": system})).answers
        assert answer.holds == holds, answer.description
    assert "the order is memory/disk.md, memory/depot.md" in answer.description


def test_the_first_bad_release_and_the_first_good_one_after_it_are_named() -> None:
    case = small("{found: memory/depot.md}", "Rocky Point bags")
    matrix = running.run_releases(case)
    verdicts = [run.holds for run in matrix.runs]
    assert (matrix.first_bad, verdicts[0]) == (matrix.runs[0], False)
    assert matrix.runs[0].pipeline.name == "openclaw-2026.2.13"
    assert matrix.first_good == matrix.runs[verdicts.index(True)]
    good, bad = "openclaw-2026.9.6", "openclaw-2026.2.13"
    regression = Matrix(tuple(running.run_on(case, systems_named([good, bad, good], case))))
    assert (regression.first_bad, regression.first_good) == regression.runs[1:]


def test_another_system_keeps_the_limit_of_the_case() -> None:
    system = CaseSystem(name=SHIPPED.name, limit=3, settings=["fusion.vector=0.5"])
    case = small("{nothing: true}").model_copy(update={"system": system})
    (other,) = systems_named(["openclaw-2026.3.7"], case)
    assert other.limit == 3
    assert other["fusion"].vector == 0.5  # type: ignore[attr-defined]


# systems in words


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_system_is_described_by_its_own_name(name: str) -> None:
    assert running.system_of_case(SYSTEMS[name]) == CaseSystem(name=name)


def changed() -> list[Pipeline]:
    return [
        SHIPPED.with_changes(RRF, OR_JOIN).asking(limit=3, min_score=0.1),
        with_settings(SHIPPED, ["fusion.vector=0.5", "keyword_leg.depth.multiplier=2"]),
        with_keys(system("openclaw-2026.3.7"), ["query.hybrid.mmr.enabled=true"]),
        with_keys(system("openclaw-2026.3.7"), ["query.hybrid.temporalDecay.enabled=true"]),
        with_keys(system("openclaw-2026.3.7"), ["query.hybrid.enabled=false", "query.maxResults=8"]),
        automem.BOUNDED.asking(limit=2),
        automem.DEAD_KEYWORD.with_changes(automem.WHOLE_WORDS),
        basic_memory.DEAD_FTS.with_changes(basic_memory.PUNCTUATION, basic_memory.MIN_SIMILARITY_0),
        system("engine-rrf-60").asking(min_score=0.3),
    ]


@pytest.mark.parametrize("pipeline", changed(), ids=lambda one: one.name)
def test_a_changed_system_is_described_and_built_again(pipeline: Pipeline) -> None:
    again = running.pipeline_of_case(running.system_of_case(pipeline))
    assert (again.stages, again.layout) == (pipeline.stages, pipeline.layout)


def test_a_stage_that_nobody_named_and_an_unknown_change_are_told() -> None:
    with pytest.raises(InputError, match="no named system or change"):
        running.system_of_case(system("am-150").with_stage(TokensOfTheContent()))
    unknown = CaseSystem(name=SHIPPED.name, changes=["minmx"])
    case = small("{nothing: true}").model_copy(update={"system": unknown})
    with pytest.raises(InputError, match="the nearest are minmax"):
        run_case(case)


# notes, and their schema


def test_passages_are_joined_without_the_lines_in_which_they_overlap() -> None:
    texts = [file.read_text(encoding="utf-8") for file in sorted(SAMPLE.glob("memory/protocols/*.md"))]
    data = small("{nothing: true}").model_dump()
    data["memory"]["notes"] = [{"path": f"{place}.md", "text": text} for place, text in enumerate(texts)]
    cut = in_passages(Case.model_validate(data)).memory.notes or []
    assert all(len(one.passages or ()) > 3 for one in cut)
    assert [one.whole.strip() for one in cut] == [text.strip() for text in texts]


def test_a_note_with_lists_of_vectors_is_read_as_its_passages() -> None:
    older = SMALL.replace("EXPECT", "{nothing: true}").replace(
        "dimensions: 2", "dimensions: 2\n  vectors: float32"
    )
    lists = older.replace("into bags.", "into bags.\n    vectors: [[1.0, 0.0]]\n    reads: [0.5]")
    passages = older.replace("into bags.", "into bags.\n    passages: [{vector: [1.0, 0.0], read: 0.5}]")
    assert parsed_case(lists, "older") == parsed_case(passages, "newer")
    assert "vectors: [" not in case_text(parsed_case(lists, "older"))


FILE = PROJECT / "docs" / "case.schema.json"
RENEW = "Write json.dumps(workbench_plugins.cases.model.schema(), indent=2) to docs/case.schema.json."


def test_the_published_schema_is_that_of_the_model() -> None:
    assert json.loads(FILE.read_text(encoding="utf-8")) == schema(), RENEW


BLOCKED = """
import sys
from tests.without import Blocked

sys.meta_path.insert(0, Blocked(["FEATURE"]))
import workbench_plugins.cases.commands, workbench_plugins.cases.report
from workbench_plugins.cases.model import load_case
from workbench_plugins.cases.redact import redacted
from workbench_plugins.cases.running import run_case, system_of_case
from workbench_plugins.cases.shrink import shrunk

case = load_case("FILE").case.model_copy(update={"elsewhere": []})
ran = run_case(case)
assert ran.as_observed and system_of_case(ran.pipeline) == case.system
assert redacted(shrunk(case, quiet=True)).proof.complete
"""


FEATURES = ["automem", "basic_memory", "diagnose", "engines", "openclaw", "recommended"]


@pytest.mark.parametrize("feature", FEATURES)
def test_a_case_works_without_a_feature_that_it_does_not_need(feature: str) -> None:
    file = PROJECT / "tests" / "cases" / "openclaw-16021.case.yaml"
    ended = python("-c", BLOCKED.replace("FEATURE", feature).replace("FILE", str(file)))
    assert (ended.code, ended.err) == (0, "")
