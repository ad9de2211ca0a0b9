"""Every setting of every widget refuses what it cannot be, says what it can be, and leaves all as it was."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cache
from itertools import permutations
from typing import Any

import numpy as np
import pytest
import traitlets

import workbench as wb
from workbench.errors import InputError
from workbench.measure.evaluation import Evaluation, evaluate
from workbench.measure.questions import QuestionSet
from workbench.memory.index import MemoryIndex
from workbench.records import Chunk
from workbench.systems.openclaw import SHIPPED, THREE_FIXES
from workbench.views import widgets
from workbench.views.living.selection import Selection
from workbench.views.living.state import setting_names
from workbench_plugins.reproduce.report_widget import ReportReader

QUESTION, FILE = "tenacity and persistence protocol", "memory/protocols/tenacity.md"
AXES = ("floor.floor=0:0.5:3", "query.join=AND,OR")
MAKERS: dict[str, Callable[[Any, QuestionSet, list[Evaluation]], Any]] = {
    "ThresholdLab": lambda *given: widgets.ThresholdLab(given[2], link=False),
    "SurvivalChart": lambda index, _, evaluations: widgets.SurvivalChart(evaluations, index, link=False),
    "Prediction": lambda *_: widgets.Prediction("Which leg?", ["keyword", "vector"]),
    "FusionLab": lambda index, *_: widgets.FusionLab(index=index, question=QUESTION, link=False),
    "Microscope": lambda index, *_: widgets.Microscope(index, QUESTION, link=False),
    "QuestionExplorer": lambda index, *_: widgets.QuestionExplorer(index, QUESTION, FILE, link=False),
    "FileChunks": lambda index, *_: widgets.FileChunks(index, FILE, link=False),
    "FixFinder": lambda index, few, _: widgets.FixFinder(index, QUESTION, FILE, few, link=False),
    "BlameChart": lambda index, few, _: widgets.BlameChart(few, index, link=False),
    "SweepMap": lambda index, few, _: widgets.SweepMap(wb.system(SHIPPED.name), AXES, few, index, link=False),
    "ReportReader": lambda *_: ReportReader("OpenClaw 2026.2.13 does not find my note about tea."),
}
KINDS: dict[str, type] = {name: getattr(widgets, name, ReportReader) for name in MAKERS}
SETTINGS = [(name, one) for name, kind in KINDS.items() for one in setting_names(kind)]

NAN, INF = float("nan"), float("inf")
NEVER = [
    object(), b"a", 1j, np.array([1, 2]), {"x"}, print, "\ud800", 10**5000, NAN, INF, -INF, [[]], [None],
    {"nonsense": 1}, {1: 2}, {"": NAN}, -1, ["nonsense"], Exception("x"),
]  # fmt: skip
"""What no setting can be."""

TEXTS: list[Any] = [None, True, [], {}, 0.5]
MORE: dict[type, list[Any]] = {
    traitlets.Unicode: TEXTS,
    traitlets.Float: [None, True, "0.2", "nonsense", "", 10**400, 1e9, [], {}, [0.1]],
    traitlets.List: [None, True, "nonsense", "", {}, 0.5],
    traitlets.Dict: [None, True, "nonsense", "", [], 0.5],
    traitlets.Bool: [None, "nonsense", "", [], {}, 1, 0.5],
}
"""What a setting of a kind cannot be either."""

FREE = {
    ("FusionLab", "question"), ("Microscope", "question"), ("QuestionExplorer", "question"),
    ("FixFinder", "question"), ("QuestionExplorer", "target"), ("ReportReader", "question"),
    ("ReportReader", "target"), ("ReportReader", "notes"),
}  # fmt: skip
"""Texts that a person may write as they like."""

OWN: dict[tuple[str, str], list[Any]] = {
    ("ThresholdLab", "moved"): [{"fusion.vector": one} for one in (NAN, INF, -1, "x", None, True, [])],
    ("QuestionExplorer", "moved"): [
        {"left": 1}, {"left": {}}, {"left": {"nonsense": 1}}, {"left": {"fusion.vector": NAN}},
        {"up": {"fusion.vector": 0.5}}, {"right": {"fusion.vector": "x"}},
    ],
    ("SweepMap", "chosen"): [
        {}, {"floor.floor": "0"}, {"floor.floor": "7", "query.join": "OR"},
        {"floor.floor": 0.0, "query.join": "OR"}, {"floor.floor": "0", "query.join": "OR", "x": "y"},
    ],
    ("ReportReader", "parameters"): ["nonsense=", "=1"],
    ("ReportReader", "question"): ["tea " * 3_000],
    ("Prediction", "committed"): [True],
}  # fmt: skip
"""What these settings cannot be either."""


@pytest.fixture(scope="module")
def few(questions: QuestionSet) -> QuestionSet:
    return questions.model_copy(
        update={"questions": questions.questions[:4], "controls": questions.controls[:2]}
    )


@pytest.fixture(scope="module")
def made(sample: MemoryIndex, few: QuestionSet) -> Callable[[str], Any]:
    """The widget of a name, made once: what is refused leaves it as it was."""
    evaluations = evaluate(few, [SHIPPED, THREE_FIXES], sample)
    return cache(lambda name: MAKERS[name](sample, few, evaluations))


def impossible(name: str, setting: str) -> Iterator[Any]:
    """The values that this setting cannot have."""
    trait = KINDS[name].class_traits()[setting]
    nothing = [None] if trait.allow_none else []
    yield from (one for one in [*NEVER, *MORE[type(trait)]] if one is not None or not nothing)
    if isinstance(trait, traitlets.Unicode) and (name, setting) not in FREE:
        yield from ("nonsense", "x\0y", "a" * 100_000)
    yield from OWN.get((name, setting), [])


def test_every_widget_is_tried() -> None:
    assert set(MAKERS) == {*dir(widgets), "ReportReader"}


@pytest.mark.parametrize(("name", "setting"), SETTINGS, ids=[".".join(one) for one in SETTINGS])
def test_a_setting_refuses_what_it_cannot_be(
    name: str, setting: str, made: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    widget = made(name)
    before, data, told = {one: getattr(widget, one) for one in setting_names(type(widget))}, widget.data, []
    monkeypatch.setattr(widget, "send", told.append)
    for value in impossible(name, setting):
        with pytest.raises(InputError) as refused:
            setattr(widget, setting, value)
        problem, remedy = refused.value.problem, refused.value.remedy
        assert (len(problem) < 300, 10 < len(remedy) < 1_100) == (True, True), (value, problem, remedy)
        if _can_be_sent(value):
            told.clear()
            widget.set_state({setting: value})
            assert told == [{"problem": f"{problem} {remedy}"}]
        assert {one: getattr(widget, one) for one in before} == before, value
        assert widget.data is data, value
    if options := widget.options.get(setting):
        assert any(str(one) in remedy for one in options), remedy
    if ends := widget.spans.get(setting):
        assert remedy == "It goes from {:g} to {:g}.".format(*ends)


def _can_be_sent(value: object) -> bool:
    """Whether a page can send this value: it is one of JSON."""
    try:
        return bool(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError):
        return False


@pytest.mark.parametrize("name", MAKERS)
def test_what_follows_from_the_settings_is_set_by_nobody_else(name: str, made: Callable[[str], Any]) -> None:
    widget = made(name)
    results = ("data", "names", "options", "spans", "carrier", "selection", "sentence", "table", "html")
    before = {one: getattr(widget, one) for one in results}
    for one in results:
        with pytest.raises(InputError, match=f"{one} cannot be set: it follows from the settings"):
            setattr(widget, one, before[one])
    widget.set_state({"data": {}, "names": [], "options": {}, "spans": {}, "carrier": None})
    assert {one: getattr(widget, one) for one in results} == before


def test_an_error_or_an_interruption_leaves_all_as_it_was(
    sample: MemoryIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    chunks = widgets.FileChunks(sample, FILE, link=False)
    before = chunks.settings, chunks.sentence
    for error in (KeyboardInterrupt, ValueError):
        with monkeypatch.context() as patched:
            patched.setattr("workbench_plugins.explore.chunk_widget.held_file", _raising(error))
            with pytest.raises(error):
                chunks.file = "MEMORY.md"
        assert (chunks.settings, chunks.sentence, chunks.value) == (*before, FILE)


def _raising(error: type[BaseException]) -> Callable[..., None]:
    def fail(*_: object) -> None:
        raise error

    return fail


def test_a_refused_chunk_brings_back_the_searches_too(sample: MemoryIndex) -> None:
    explorer = widgets.QuestionExplorer(sample, QUESTION, link=False)
    with pytest.raises(InputError, match="chunk cannot be 'nonsense'"):
        explorer.settings = {"question": "rooibos tea", "chunk": "nonsense"}
    assert (explorer.question, explorer.traces[0].question) == (QUESTION, QUESTION)


def test_a_chosen_chunk_goes_with_what_has_it(sample: MemoryIndex, few: QuestionSet) -> None:
    lab = widgets.ThresholdLab(evaluate(few, [SHIPPED], sample), link=False)
    explorer = widgets.QuestionExplorer(sample, QUESTION, link=False)
    chunks = widgets.FileChunks(sample, FILE, link=False)
    traces = [one.trace for one in lab.evaluation.asked]
    (first, other, chunk) = next(
        (one, other, chunk)
        for one, other in permutations(traces, 2)
        for chunk in one.chunks
        if chunk not in other.chunks
    )
    lab.settings = {"question": first.question, "chunk": chunk.id}
    assert lab.chunk == chunk.id
    lab.question = other.question
    explorer.chunk = explorer.traces[0].chunks[0].id
    explorer.question = "xqzv plomb"
    chunks.chunk = chunks.held.chunks[0].chunk.id
    chunks.file = "MEMORY.md"
    assert (lab.chunk, explorer.chunk, chunks.chunk) == ("", "", "")


def test_a_chunk_that_is_selected_elsewhere_is_marked_where_it_is_shown(sample: MemoryIndex) -> None:
    group = Selection()
    explorer, chunks = (
        widgets.QuestionExplorer(sample, QUESTION, link=group),
        widgets.FileChunks(sample, FILE, link=group),
    )
    mine = chunks.held.chunks[0].chunk
    group.chunk = mine
    assert (chunks.chunk, explorer.chunk) == (mine.id, mine.id)
    group.chunk = Chunk("elsewhere", "other/memory.md", "memory", 1, 2, "tea")
    assert (chunks.file, chunks.chunk, explorer.chunk) == (FILE, "", "")


def test_a_secret_that_is_typed_into_a_report_is_nowhere_in_the_widget(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    reader = ReportReader("OpenClaw 2026.2.13 does not find my note about tea.")
    sent: list[object] = []
    monkeypatch.setattr(reader, "_send", lambda message, **_: sent.append(message))
    reader.set_state({"question": f"where is {secret}"})
    assert reader.question.startswith("where is ")
    assert secret not in f"{sent}{reader.get_state()}"
