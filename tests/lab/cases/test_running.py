"""A case is made of a search, written, read and run again, on its own system and on others."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import world
from tests.home import Home
from workbench.errors import InputError
from workbench.lab.cases.files import case_text, load_case, parsed_case, save_case
from workbench.lab.cases.making import case_of
from workbench.lab.cases.model import Case, CaseSystem, Expected
from workbench.lab.cases.running import Matrix, run_case, run_on, run_releases, systems_named
from workbench.memory.embedding.local import ToyEmbedder
from workbench.memory.index import MemoryIndex
from workbench.retrieval.explain import explain
from workbench.retrieval.pipeline import Pipeline, search
from workbench.systems.descriptions import built, described
from workbench.systems.registry import SYSTEMS, system

SHIPPED = system("openclaw-2026.2.13")

SMALL = """\
case: 1
system: openclaw-2026.2.13
questions:
- question: Rocky Point bagging operations
  expect: EXPECT
model:
  name: toy
  dimensions: 2
  axes:
    server: [server, disk]
    garden: [bark, soil]
memory:
  notes:
  - path: memory/depot.md
    text: Rocky Point is where the bark is packed into bags.
  - path: memory/disk.md
    text: The server reported a disk error at night.
"""


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


def test_a_case_does_not_say_where_the_folder_of_a_model_is(home: Home) -> None:
    mine = ToyEmbedder(world.AXES, name="/home/wren/models/tea-small")
    home.sync(mine, rebuild=True)
    with home.opened(mine) as index:
        made = case_of("tea", SHIPPED, index, index.paths()[0])
    assert made.model.name == "tea-small"
    assert "wren/models" not in case_text(made)


@pytest.mark.parametrize("vectors", ["none", "float16", "float32"])
def test_a_case_runs_with_and_without_its_vectors(toy: MemoryIndex, vectors: str) -> None:
    made = case_of("tea", SHIPPED, toy, toy.paths()[0], vectors=vectors)  # type: ignore[arg-type]
    assert run_case(made).reasons == run_case(case_of("tea", SHIPPED, toy, toy.paths()[0])).reasons


def test_a_memory_without_vectors_needs_its_model(toy: MemoryIndex) -> None:
    made = case_of("tea", SHIPPED, toy, toy.paths()[0], vectors="none")
    assert made.model.axes == {axis: list(words) for axis, words in world.AXES.items()}
    without = made.model_copy(update={"model": made.model.model_copy(update={"axes": None})})
    with pytest.raises(InputError, match=r"the model toy \(.*which is not here"):
        run_case(without)


DISK = "the server reported a disk error at night"


@pytest.mark.parametrize(
    ("expect", "question", "holds", "fate"),
    [
        ("{found: memory/disk.md}", DISK, True, "returned"),
        ("{found: memory/disk.md, within: 1}", DISK, True, "returned"),
        ("{found: memory/depot.md}", DISK, False, "below the floor"),
        ("{not_found: memory/depot.md}", DISK, True, "below the floor"),
        ("{not_found: memory/disk.md}", DISK, False, "returned"),
        ("{nothing: true}", DISK, False, "returned"),
        ("{nothing: true}", "zebra", True, ""),
        ("{order: [memory/disk.md, memory/depot.md]}", DISK, False, "below the floor"),
        ("{same_as: openclaw-2026.2.15}", DISK, True, ""),
        ("{same_as: openclaw-2026.9.6}", "Rocky Point bags", False, "below the floor"),
        ("{found: memory/nowhere.md}", DISK, False, "never indexed"),
    ],
)
def test_each_kind_of_expectation_is_judged(expect: str, question: str, holds: bool, fate: str) -> None:
    (answer,) = run_case(small(expect, question)).answers
    assert (answer.holds, answer.observed.fate) == (holds, fate), answer.says


def test_an_order_holds_if_the_files_are_returned_so() -> None:
    text = small("{order: [memory/disk.md, memory/depot.md]}", "bark on the server disk")
    case = text.model_copy(update={"system": CaseSystem(name=SHIPPED.name, min_score=0.0)})
    (answer,) = run_case(case).answers
    assert answer.holds, answer.says
    other = small("{order: [memory/depot.md, memory/disk.md]}", "bark on the server disk")
    (answer,) = run_case(other.model_copy(update={"system": case.system})).answers
    assert not answer.holds
    assert "the order is memory/disk.md, memory/depot.md" in answer.says


def test_the_first_bad_and_the_first_good_release_are_named() -> None:
    matrix = run_releases(small("{found: memory/depot.md}", "Rocky Point bags"))
    assert matrix.first_bad is not None
    assert matrix.first_good is not None
    assert matrix.first_bad.pipeline.name == "openclaw-2026.2.13"
    verdicts = [run.holds for run in matrix.runs]
    assert matrix.first_good.pipeline == matrix.runs[verdicts.index(True)].pipeline


def test_a_regression_is_bad_after_it_was_good() -> None:
    case = small("{found: memory/depot.md}", "Rocky Point bags")
    good, bad = "openclaw-2026.9.6", "openclaw-2026.2.13"
    matrix = Matrix(tuple(run_on(case, systems_named([good, bad, good], case))))
    assert matrix.first_bad is matrix.runs[1]
    assert matrix.first_good is matrix.runs[2]


def test_a_system_without_releases_is_told() -> None:
    case = small("{nothing: true}").model_copy(update={"system": CaseSystem(name="engine-rrf-60")})
    with pytest.raises(InputError, match="no releases that are known"):
        run_releases(case)


def test_another_system_keeps_the_limit_of_the_case() -> None:
    case = small("{nothing: true}").model_copy(
        update={"system": CaseSystem(name=SHIPPED.name, limit=3, settings=["fusion.vector=0.5"])}
    )
    (other,) = systems_named(["openclaw-2026.3.7"], case)
    assert other.limit == 3
    assert other["fusion"].vector == 0.5  # type: ignore[attr-defined]


# systems in words


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_system_is_described_by_its_own_name(name: str) -> None:
    found = described(SYSTEMS[name])
    assert (found.name, found.changes, found.settings) == (name, (), ())


def changed() -> list[Pipeline]:
    from workbench.retrieval.settings import with_settings
    from workbench.systems.automem import pipelines as automem
    from workbench.systems.basic_memory import pipelines as basic_memory
    from workbench.systems.openclaw.config.keys import with_keys
    from workbench.systems.openclaw.pipelines import OR_JOIN, RRF

    return [
        SHIPPED.but(RRF, OR_JOIN).asking(limit=3, min_score=0.1),
        with_settings(SHIPPED, ["fusion.vector=0.5", "keyword_leg.depth.multiplier=2"]),
        with_keys(system("openclaw-2026.3.7"), ["query.hybrid.mmr.enabled=true"]),
        with_keys(system("openclaw-2026.3.7"), ["query.hybrid.temporalDecay.enabled=true"]),
        with_keys(system("openclaw-2026.3.7"), ["query.hybrid.enabled=false", "query.maxResults=8"]),
        automem.BOUNDED.asking(limit=2),
        automem.DEAD_KEYWORD.but(automem.WHOLE_WORDS),
        basic_memory.DEAD_FTS.but(basic_memory.PUNCTUATION, basic_memory.MIN_SIMILARITY_0),
        system("engine-rrf-60").asking(min_score=0.3),
    ]


@pytest.mark.parametrize("pipeline", changed(), ids=lambda one: one.name)
def test_a_changed_system_is_described_and_built_again(pipeline: Pipeline) -> None:
    again = built(described(pipeline))
    assert (again.stages, again.layout) == (pipeline.stages, pipeline.layout)


def test_a_stage_that_nobody_named_is_told() -> None:
    from workbench.lab.museum.automem import TokensOfTheContent

    with pytest.raises(InputError, match="no named system or change"):
        described(system("am-150").with_stage(TokensOfTheContent()))


def test_an_unknown_change_is_told_with_the_nearest() -> None:
    case = small("{nothing: true}").model_copy(
        update={"system": CaseSystem(name=SHIPPED.name, changes=["minmx"])}
    )
    with pytest.raises(InputError, match="the nearest are minmax"):
        run_case(case)


def test_an_expectation_names_its_files() -> None:
    assert Expected(order=["a.md", "b.md"]).targets == ["a.md", "b.md"]
