"""Written stages: Node computes from the data what Python computes, to 1e-12, and returns the same files."""

from __future__ import annotations

import json
import random
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import playwright
import pytest

import workbench.retrieval.formula_export
import workbench.views
from workbench.measure.questions import QuestionSet
from workbench.memory.index import MemoryIndex
from workbench.records import Trace
from workbench.retrieval.columns import ColumnStage, Numbers
from workbench.retrieval.expressions import FormulaError
from workbench.retrieval.formula_export import exported, exported_trace
from workbench.retrieval.index_adapters import CachedIndex
from workbench.retrieval.pipeline import Pipeline, search
from workbench.retrieval.settings import with_settings
from workbench.systems.catalogue import SYSTEMS
from workbench.systems.openclaw import SHIPPED, THREE_FIXES
from workbench_plugins.engines.presets import ENGINES, fuse
from workbench_plugins.engines.widget import FusionLab

NODE = Path(playwright.__file__).parent / "driver" / "node"
"""The Node that Playwright brings."""
MODULE = Path(workbench.views.__file__).parent / "living" / "pipeline.js"
PROGRAM = f"""
import {{ asks, fuse, run, said }} from {json.dumps(MODULE.as_uri())};
const told = (_, value) => (typeof value === "number" && !Number.isFinite(value) ? String(value) : value);
let text = "";
for await (const part of process.stdin) text += part;
const {{ pipelines, cases }} = JSON.parse(text);
const answers = cases.map(({{ system, trace, settings, method }}) => {{
  if (method) return {{ says: said(method, settings), places: fuse(method, trace, settings) }};
  if (asks(pipelines[system], settings)) return "asks";
  const {{ columns, order, dropped, values }} = run(pipelines[system], trace, settings);
  const says = pipelines[system].steps.map((step, place) => said(step, values[place]));
  return {{ columns, order, dropped, says }};
}});
console.log(JSON.stringify(answers, told));
"""


def in_node(pipelines: dict[str, Any], cases: list[dict[str, Any]]) -> list[Any]:
    """What the front end's module makes of each case."""
    command = [str(NODE), "--input-type=module", "--eval", PROGRAM]
    given = json.dumps({"pipelines": pipelines, "cases": cases}, allow_nan=False)
    ran = subprocess.run(command, input=given, capture_output=True, text=True, check=True)
    return list(json.loads(ran.stdout))


def drawn_settings(made: dict[str, Any], chance: random.Random) -> dict[str, float]:
    """Random values, within their ranges, of about half of the parameters that the browser can move."""
    return {
        f"{step['slot']}.{name}": chance.uniform(*one["span"])
        if isinstance(one["value"], float)
        else chance.randint(*map(int, one["span"]))
        for step in made["steps"]
        for name, one in step["parameters"].items()
        if one["here"] and chance.random() < 0.5
    }


def agrees(answer: dict[str, Any], trace: Trace, first: int) -> None:
    """Every column to 1e-12, the order, the drops, and so the files that are returned."""
    for name, column in answer["columns"].items():
        there = np.array([float(value) for value in column])
        np.testing.assert_allclose(there, trace.columns[name], rtol=1e-12, atol=1e-12, err_msg=name)
    assert answer["order"] == trace.order.tolist()
    assert answer["dropped"] == np.maximum(trace.dropped - first, -1).tolist()
    kept = [row for row in answer["order"] if answer["dropped"][row] == -1]
    assert list(dict.fromkeys(trace.chunks[row].path for row in kept)) == trace.paths()


@pytest.fixture(scope="module")
def cached(sample: MemoryIndex) -> CachedIndex:
    return CachedIndex(sample)


PARTS = 3
"""Systems share their stages: each is asked a third of the questions, and its neighbour the next third."""


@pytest.mark.parametrize(("place", "system"), list(enumerate(SYSTEMS)), ids=list(SYSTEMS))
def test_node_computes_what_python_computes(
    place: int, system: str, cached: CachedIndex, questions: QuestionSet
) -> None:
    pipeline, chance = SYSTEMS[system], random.Random(system)
    asked = [one.question for one in (*questions.questions, *questions.controls)][place % PARTS :: PARTS]
    traces = [search(question, pipeline, cached) for question in asked]
    made = exported(pipeline, max(traces, key=lambda trace: len(trace.chunks)).columns)
    settings = [drawn_settings(made, chance) for _ in traces]
    settings[0] = {}
    cases = [
        {"system": system, "trace": exported_trace(trace, made), "settings": some}
        for trace, some in zip(traces, settings, strict=True)
    ]
    answers = in_node({system: made}, cases)
    assert answers[0] != "asks"
    for question, some, answer in zip(asked, settings, answers, strict=True):
        if answer != "asks":
            moved = with_settings(pipeline, [f"{name}={value!r}" for name, value in some.items()])
            agrees(answer, search(question, moved, cached), made["first"])
            assert answer["says"] == [stage.description for stage in moved.stages[made["first"] :]]


@pytest.mark.parametrize("pipeline", [SHIPPED, THREE_FIXES], ids=lambda one: one.name)
def test_what_a_lesson_moves_is_computed_without_python(pipeline: Pipeline, toy: MemoryIndex) -> None:
    trace = search("tea", pipeline, toy)
    steps = {one["slot"]: one for one in exported(pipeline, trace.columns)["steps"]}
    assert steps["floor"]["parameters"]["floor"]["here"]
    assert all(one["here"] for one in steps["fusion"]["parameters"].values())
    assert not steps["limit"]["parameters"]["count"]["here"]  # the depth of the legs follows it


class Branching(ColumnStage, slot="branching"):
    """A stage whose formula branches in Python on a column."""

    description = "a branch"

    def formula(self, of: Numbers) -> Any:
        return of["vector_raw"] if of["vector_raw"] else 0.0


def test_a_formula_that_branches_on_a_column_is_refused_when_the_pipeline_is_made() -> None:
    with pytest.raises(FormulaError, match=r"a branch of Python on a column.*\n.*np\.where"):
        SHIPPED.with_new_stage(Branching(), before="fusion")


class OverTheMedian(ColumnStage, slot="over"):
    """A stage with a statistic that the page does not have."""

    description = "over = vector distance / the median"

    def formula(self, of: Numbers) -> Any:
        return of["vector_raw"] / of.over(np.median, "vector_raw")


def test_a_formula_with_a_statistic_that_the_page_lacks_is_only_recorded(toy: MemoryIndex) -> None:
    changed = SHIPPED.with_new_stage(OverTheMedian(), before="fusion")
    made = exported(changed, search("tea", SHIPPED, toy).columns)
    (step,) = (one for one in made["steps"] if one["slot"] == "over")
    assert step["recorded"] == ["over"]


def test_another_branch_on_a_parameter_is_asked_of_python(toy: MemoryIndex) -> None:
    trace = search("tea", SHIPPED, toy)
    made = exported(SHIPPED, trace.columns)
    zero = {"fusion.vector": 0, "fusion.keyword": 0}  # OpenClaw takes its own weights then
    case = {"system": "s", "trace": exported_trace(trace, made), "settings": zero}
    assert in_node({"s": made}, [case, case | {"settings": {"fusion.vector": 0.5}}])[0] == "asks"


def test_every_method_of_the_fusion_lab_fuses_in_the_browser() -> None:
    chance, cases, expected = random.Random(1), [], []
    lab = FusionLab()
    for method in lab.data["methods"]:
        for n in range(5):
            moved = {k: chance.uniform(*one["span"]) for k, one in method["parameters"].items() if n}
            values = method["own"] | moved
            fusion = replace(ENGINES[method["name"]].fusion, **moved)
            cases.append({"method": method, "trace": lab.data["lists"], "settings": values})
            expected.append((fusion.description, fuse(fusion, *lab.lists)))
    for answer, (description, places) in zip(in_node({}, cases), expected, strict=True):
        assert answer["says"] == description
        for one, other in zip(answer["places"], places, strict=True):
            assert (one["first"], one["last"]) == (other.first, other.last)
            assert lab.data["lists"]["ids"][one["row"]] == other.id
            assert float(one["score"]) == pytest.approx(other.score, rel=1e-12, abs=1e-12)
            for leg, part in one["legs"].items():
                there = getattr(other, leg)
                assert (part is None) == (there is None)
                assert there is None or part["rank"] == there.rank
                assert there is None or float(part["part"]) == pytest.approx(there.part, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("system", ["openclaw-2026.2.13+or+rrf+minmax", "openclaw-2026.9.6", "bm-rrf"])
def test_a_trace_that_is_too_large_keeps_the_best_candidates(
    system: str, cached: CachedIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workbench.retrieval.formula_export, "MOST", 12)
    trace = search("tenacity and persistence protocol", SYSTEMS[system], cached)
    made = exported(SYSTEMS[system], trace.columns)
    data = exported_trace(trace, made)
    assert (data["cut"], sorted(data["kept"])) == (len(trace.chunks), sorted(trace.order[:12].tolist()))
    answer = in_node({"s": made}, [{"system": "s", "trace": data, "settings": {}}])[0]
    assert [data["kept"][row] for row in answer["order"]] == trace.order[:12].tolist()
    kept = [data["files"][row] for row in answer["order"] if answer["dropped"][row] == -1]
    assert list(dict.fromkeys(kept)) == trace.paths()
