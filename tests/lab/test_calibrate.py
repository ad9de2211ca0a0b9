"""A calibrated threshold keeps its promise on other questions, and promises no more than labels carry."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from tests.commands import Run
from tests.conftest import SAMPLE
from tests.told import Body, Told, failing, saying, server
from workbench.cli.app import SystemOptions
from workbench.errors import InputError
from workbench.measure.evaluation import evaluate
from workbench.measure.questions import Control, Question, QuestionSet
from workbench.memory.index import MemoryIndex
from workbench.records import Trace
from workbench.retrieval.pipeline import search
from workbench.retrieval.settings import with_settings
from workbench.systems.catalogue import system
from workbench.systems.languages import with_keys_of_any_language
from workbench.terminal import text_of
from workbench_plugins.calibrate.calibrated import Calibrated, Labelled, calibrated, not_kept
from workbench_plugins.calibrate.calibration_file import (
    MadeFor,
    calibrated_by,
    calibration_of,
    load,
    save,
)
from workbench_plugins.calibrate.floors import Floored, _above, levels, with_floor
from workbench_plugins.calibrate.promise import Promise, allowed, bound_text, check_enough, fewest, upper
from workbench_plugins.calibrate.synthetic_negatives import Exchange, MadeLabels, Without, exchanged, left_out
from workbench_plugins.cases.running import system_of_case
from workbench_plugins.rerank import with_reranker

VECTORS = "openclaw-2026.2.13-vector-only"
JOINED_BY_OR = "openclaw-2026.2.13+or"
FIXES = "openclaw-2026.2.13+or+rrf+minmax"
EVIDENCE = "openclaw-2026.2.13+or+rrf+minmax+evidence"
ASKED = {
    "tea": ("rooibos tea", "cup of tea"),
    "bike": ("rear hub of the bike", "brake of the bike"),
    "server": ("disk of the server", "backup"),
}
ANSWERED = {text: f"memory/{name}.md" for name, some in ASKED.items() for text in some}
SILENT = [f"{word} tea and bike {number}" for number in range(6) for word in ("server", "backup")]


def labels(silent: list[str], answered: dict[str, str] = ANSWERED) -> QuestionSet:
    return QuestionSet(
        questions=tuple(Question(question=text, target=path) for text, path in answered.items()),
        controls=tuple(Control(question=one) for one in silent),
    )


def made(
    index: MemoryIndex, name: str = VECTORS, on: str = "", silent: list[str] = SILENT, **more: Any
) -> Calibrated:
    pipeline = with_floor(system(name), on)
    (evaluation,) = evaluate(labels(silent), [pipeline], index)
    return calibrated(system(name), evaluation, index, Promise(**{"accept": 0.2, **more}))


def test_the_bound_is_kept_as_often_as_it_says() -> None:
    chance, kept = np.random.default_rng(0), 0
    for _ in range(2000):
        scores = np.sort(chance.random(30))[::-1]
        threshold = scores[allowed(30, 0.2, 0.9)]  # the loosest: answers are above it
        kept += 1 - threshold <= 0.2
    assert 0.9 <= kept / 2000 <= 0.97


def test_labels_promise_what_the_binomial_distribution_says() -> None:
    assert (fewest(0.2, 0.9), allowed(11, 0.2, 0.9), allowed(10, 0.2, 0.9)) == (11, 0, -1)
    assert upper(0, 11, 0.9) < 0.2 < upper(0, 10, 0.9)
    # 18.05 % and 25.01 %: rounded down, they would promise too much.
    assert [bound_text(upper(*some, 0.9)) for some in ((6, 56), (0, 8))] == ["18.1%", "25.1%"]
    with pytest.raises(InputError, match=r"5 labels cannot promise 20%(.|\n)*at least 11 labels"):
        check_enough(5, 0.2, 0.9)


@pytest.mark.parametrize(("name", "on"), [(VECTORS, ""), (EVIDENCE, ""), (FIXES, "evidence")])
def test_the_threshold_makes_as_many_mistakes_as_it_says(name: str, on: str, toy: MemoryIndex) -> None:
    found = made(toy, name, on)
    answered = [one for one in SILENT if search(one, found.pipeline, toy).results]
    assert len(answered) <= found.mistakes <= allowed(len(SILENT), 0.2, 0.9)
    assert found.bound <= 0.2
    assert "at most 20%" in str(found)
    rounded_up = f"the rate is at most {bound_text(found.bound)} (Clopper"
    assert rounded_up in str(found)
    assert rounded_up in str(found.view()[1])
    hits = [path in search(text, found.pipeline, toy).paths() for text, path in ANSWERED.items()]
    assert found.hits.hits == sum(hits)


def test_a_looser_promise_costs_no_more_hits(toy: MemoryIndex) -> None:
    curve = made(toy, accept=0.5).curve
    assert [one.accept for one in curve] == sorted(one.accept for one in curve)
    assert [one.hits.hits for one in curve] == sorted(one.hits.hits for one in curve)
    assert [one.mistakes for one in curve] == sorted(one.mistakes for one in curve)


def test_wrong_first_files_are_counted_among_all_labels(toy: MemoryIndex) -> None:
    found = made(toy, mistake="first", accept=0.5)
    firsts = [
        (search(one, found.pipeline, toy).paths()[:1], ANSWERED.get(one)) for one in [*ANSWERED, *SILENT]
    ]
    assert sum(bool(paths) and paths != [target] for paths, target in firsts) <= found.mistakes
    assert found.labels == len(ANSWERED) + len(SILENT)


def test_wrong_first_files_of_stricter_thresholds_are_counted_and_said_to_be(toy: MemoryIndex) -> None:
    pipeline = with_floor(system(VECTORS))
    (evaluation,) = evaluate(labels(SILENT), [pipeline], toy)
    found = calibrated(system(VECTORS), evaluation, toy, Promise(0.5, mistake="first"))
    floored, (chosen,) = Floored(pipeline, toy), found.thresholds.values()
    answered = [one.trace for one in evaluation.asked]
    asked = [(one, ANSWERED.get(one.question)) for one in [*answered, *evaluation.controls]]
    tried = levels(floored, [trace for trace, _ in asked], answered)
    wrong = {
        trace.question
        for values in tried
        if values[0] >= chosen
        for trace, target in asked
        if floored.paths(trace, values)[:1] not in ([], [target])
    }
    assert found.mistakes == len(wrong)
    counted = "at this threshold or at a stricter one, so the rate is at most"
    assert counted in str(found)
    assert counted in " ".join(text_of(found.view()).split())
    assert counted not in str(made(toy))


def test_options_and_keys_set_just_this_threshold(toy: MemoryIndex) -> None:
    found = made(toy, "openclaw-2026.2.13")
    ((name, value),) = found.thresholds.items()
    assert found.options == f"--set {name}={value!r}"
    assert found.to_paste == {"agents": {"defaults": {"memorySearch": {"query": {"minScore": value}}}}}

    assert made(toy, FIXES, "evidence").options is None


@pytest.mark.parametrize(
    ("silent", "more", "said"),
    [
        ([], {}, "All labels are questions that the memory answers"),
        (SILENT[:5], {}, "5 unanswerable questions cannot promise"),
        ([*SILENT, "backup"], {}, "contradict each other: 'backup'"),
        ([*SILENT, "Backup?"], {}, "contradict each other: 'backup'"),
        (SILENT[:1] * 20, {}, "1 unanswerable question cannot promise"),
        (SILENT, {"accept": 0.0}, "accepted rate is 0"),
        (SILENT, {"mistake": "vibes"}, "no mistake 'vibes'"),
        (SILENT, {"on": "vibes"}, "no score 'vibes'"),
        (SILENT, {"name": EVIDENCE, "mistake": "first", "accept": 0.5}, "Two thresholds cannot"),
    ],
)
def test_labels_that_promise_nothing_are_refused(
    silent: list[str], more: dict[str, Any], said: str, toy: MemoryIndex
) -> None:
    with pytest.raises(InputError, match=said):
        made(toy, silent=silent, **more)


SCORES = st.floats(-2, 2) | st.decimals(-2, 2, places=3).map(float)


@given(SCORES, st.floats(1e-14, 1) | st.just(math.inf))
@example(1.0, 1e-9)
@example(0.29, math.inf)
def test_a_threshold_has_the_fewest_digits_that_part_two_scores(value: float, gap: float) -> None:
    most = value + gap
    found, fewest_digits = _above(value, most), 3 if math.isinf(gap) else 1
    assert value < found <= most
    digits = max(fewest_digits, -int(Decimal(repr(found)).as_tuple().exponent))
    for fewer in range(fewest_digits, min(digits, 16)):
        near = math.floor(Fraction(value) * 10**fewer)
        assert not [one for one in range(near, near + 3) if value < one / 10**fewer <= most]


def test_a_stage_that_undoes_the_floor_is_named_and_without_it_the_promise_is_kept(toy: MemoryIndex) -> None:
    name = "openclaw-2026.9.6"
    with pytest.raises(InputError) as raised:
        made(toy, name)
    assert re.fullmatch(
        rf"{name} makes (\d+) mistakes with {len(SILENT)} labels even at the strictest threshold. "
        r"In \1 of them the stage `rescue` brings back what the floor has dropped\.",
        raised.value.problem,
    )
    assert "--set rescue=none" in raised.value.remedy
    without = SystemOptions(settings=["rescue=none"]).pipeline(name)
    (evaluation,) = evaluate(labels(SILENT), [without], toy)
    assert calibrated(without, evaluation, toy, Promise(0.2)).bound <= 0.2


def test_without_such_a_stage_the_other_scores_are_named(toy: MemoryIndex) -> None:
    floored = Floored(with_floor(system(VECTORS)), toy)
    silent = [Labelled(search(one, floored.pipeline, toy), None) for one in SILENT]
    refused = not_kept(floored, silent, (-1.0,))  # a floor that lets everything pass
    assert refused.problem == f"{VECTORS} makes 12 mistakes with 12 labels even at the strictest threshold."
    assert refused.remedy.endswith("calibrate another score with --on: vector_score, score, evidence.")


def test_a_score_that_is_always_the_same_is_refused(toy: MemoryIndex) -> None:
    pipeline = with_floor(system(VECTORS))
    trace = search("tea", pipeline, toy)
    with pytest.raises(InputError, match="same score for every question"):
        list(levels(Floored(pipeline, toy), [trace], [trace]))


def test_a_question_without_its_file_never_gets_it(toy: MemoryIndex) -> None:
    questions = labels([]).questions
    for question, trace in zip(questions, left_out(questions, system(VECTORS), toy), strict=True):
        assert question.target not in {chunk.path for chunk in trace.chunks}
    tea = toy.rows_of("memory/tea.md")
    assert not set(tea) & set(Without(toy, "memory/tea.md").vector(toy.embed("tea"), 6).rows)


def test_an_exchanged_question_has_a_word_that_its_file_lacks(toy: MemoryIndex) -> None:
    texts = [
        "So Ilse asked, and Tomas said no to Ilse in March 2024.",
        "But Tomas left in May, at 17, for 1999.",
    ]
    kinds = Exchange.of(texts)
    assert kinds.names == {"ilse", "tomas"}
    assert kinds.exchanged("What did Ilse say?", texts[0]) is None
    assert kinds.exchanged("What did Ilse say?", "Ilse said no.") == "What did Tomas say?"
    assert kinds.exchanged("Who came in 2024?", texts[0]) == "Who came in 1999?"
    assert kinds.exchanged("Who came at noon?", "") is None
    assert exchanged(labels([]).questions, system(VECTORS), toy) == []


def test_made_labels_are_compared_with_those_by_hand(toy: MemoryIndex) -> None:
    pipeline = with_floor(system(VECTORS))
    traces: list[Trace] = [search(one, pipeline, toy) for one in SILENT]
    (evaluation,) = evaluate(labels(["disk and tea"]), [pipeline], toy)
    found = calibrated(system(VECTORS), evaluation, toy, Promise(0.2), MadeLabels("exchange", traces))
    assert found.synthetic_labels is not None
    assert (found.synthetic_labels.synthetic.n, found.synthetic_labels.by_hand.n) == (len(SILENT), 1)
    assert "labels made by exchange" in str(found)


def test_a_file_holds_for_its_system_model_and_memory_alone(toy: MemoryIndex, tmp_path: Path) -> None:
    found, file = made(toy), tmp_path / "a.calibration.yaml"
    save(calibration_of(found, toy, ""), file)
    ((pipeline,), left) = with_keys_of_any_language([system(VECTORS)], [f"calibration={file}"])
    assert (pipeline.floor, left) == (next(iter(found.thresholds.values())), [])
    assert system(f"{VECTORS}@{file}").stages == system(str(file)).stages == pipeline.stages
    answers = search("rooibos tea", pipeline, toy).paths()
    assert answers == search("rooibos tea", found.pipeline, toy).paths() != []
    with pytest.raises(InputError, match=f"made for the system {VECTORS}, not for {re.escape(FIXES)}"):
        calibrated_by(system(FIXES), str(file))
    for key, here in (("model", "toy"), ("memory", "")):
        other = tmp_path / f"{key}.calibration.yaml"
        other.write_text(yaml.safe_dump(load(file).model_dump() | {key: "other"}), encoding="utf-8")
        with pytest.raises(InputError, match=f"made for the {key} other, and this index has .*{here}"):
            search("tea", calibrated_by(system(VECTORS), str(other)), toy)
    with pytest.raises(InputError, match="is there already"):
        save(load(file), file)
    with pytest.raises(InputError, match="End it in"):
        save(load(file), tmp_path / "a.yaml")
    file.write_text("system: 1\nvibes: 2\n", encoding="utf-8")
    with pytest.raises(InputError, match="cannot be used"):
        load(file)


def test_a_file_keeps_the_settings_of_the_system_that_was_calibrated(
    toy: MemoryIndex, tmp_path: Path
) -> None:
    file = tmp_path / "a.calibration.yaml"
    changed = with_settings(system(JOINED_BY_OR), ["fusion.keyword=0", "limit.count=3"])
    (evaluation,) = evaluate(labels(SILENT), [with_floor(changed)], toy)
    found = calibrated(changed, evaluation, toy, Promise(0.2))
    save(calibration_of(found, toy, ""), file)
    assert load(file).settings == ["fusion.keyword=0.0", "limit.count=3"]
    for pipeline in (system(JOINED_BY_OR), changed, with_settings(system(JOINED_BY_OR), ["limit.count=3"])):
        made = calibrated_by(pipeline, str(file))
        assert [one for one in made.stages if not isinstance(one, MadeFor)] == [*found.pipeline.stages]
    other = with_settings(system(JOINED_BY_OR), ["vector_leg.depth.multiplier=9"])
    with pytest.raises(
        InputError, match=r"with fusion.keyword=0.0, limit.count=3, and .* differs .*: vector_leg"
    ):
        calibrated_by(other, str(file))


def test_a_file_without_settings_is_that_of_the_system_as_it_stands(toy: MemoryIndex, tmp_path: Path) -> None:
    file = tmp_path / "old.calibration.yaml"
    kept = calibration_of(made(toy), toy, "").model_dump()
    del kept["settings"]
    file.write_text(yaml.safe_dump(kept), encoding="utf-8")
    assert calibrated_by(system(VECTORS), str(file)).floor == kept["thresholds"]["floor"]
    with pytest.raises(InputError, match=f"made for {VECTORS}, and this pipeline differs from it in: limit"):
        calibrated_by(system(VECTORS).asking(limit=2), str(file))


def test_a_pipeline_that_no_settings_give_is_not_kept(toy: MemoryIndex) -> None:
    one_less = replace(
        system(FIXES), stages=tuple(s for s in system(FIXES).stages if s.slot != "keyword_score")
    )
    (evaluation,) = evaluate(labels(SILENT), [with_floor(one_less)], toy)
    found = calibrated(one_less, evaluation, toy, Promise(0.2))
    with pytest.raises(InputError, match="No settings turn the system"):
        calibration_of(found, toy, "")


def test_the_command_says_the_promise_and_keeps_it(run: Run, sample: MemoryIndex, tmp_path: Path) -> None:
    file = tmp_path / "a.calibration.yaml"
    told = run("calibrate", "-s", "openclaw-2026.2.13", "-m", SAMPLE, "--save", file)
    assert re.match(r"Use --set floor.floor=[\d.]+: at most 20% of the questions", told.out)
    assert "so the rate is at most" in told.out
    assert "openclaw.json: {" in told.out
    calibration = ["--set", f"calibration={file}"]
    assert run("search", "rear hub", "-m", SAMPLE, "-s", "openclaw-2026.2.13", *calibration).code == 0
    makes = ["--on", "evidence", "--make", "leave-one-out", "--accept", 0.5, "--json"]
    both = run("calibrate", "-s", FIXES, "-m", SAMPLE, *makes).json()
    assert both["made"]["by_hand"]["of"] == 20
    assert set(both["thresholds"]) == {"floor.cosine", "floor.relevance"}
    assert "no way 'magic'" in run("calibrate", "--make", "magic").err


def test_a_case_of_a_calibrated_search_keeps_the_threshold(toy: MemoryIndex, tmp_path: Path) -> None:
    found = made(toy)
    save(calibration_of(found, toy, ""), tmp_path / "a.calibration.yaml")
    searched = calibrated_by(system(VECTORS), f"{tmp_path}/a.calibration.yaml")
    assert system_of_case(searched).min_score == searched.floor == found.pipeline.floor


HUB = "rear hub of the cargo bike"


def judged(body: Body) -> tuple[int, Any]:
    """A judge's marks: how many words of the question a text has."""
    question, *texts = re.split(r"\n\nText \d+:\n", body["messages"][-1]["content"])
    asked = set(re.findall(r"\w{4,}", question.lower()))
    return saying(str([len(asked & set(re.findall(r"\w+", one.lower()))) for one in texts]))(body)


def test_a_reader_decides_what_is_answered_and_its_file_names_it(run: Run, tmp_path: Path) -> None:
    file, asked = tmp_path / "read.calibration.yaml", ["-m", SAMPLE, "-s", FIXES]
    with server(judged) as address:
        judge = f"judge:some@{address}"
        told = run("calibrate", *asked, "--rerank", judge, "--save", file, "--json").json()
        every = run("search", HUB, *asked, "--rerank", judge, "--json").json()
        by_file = ["search", HUB, *asked, "--set", f"calibration={file}", "--json"]
        refused = run(*by_file)
        answered = run(*by_file, "--rerank", judge).json()
    assert (refused.code, f"give it again: --rerank {judge}" in refused.err) == (2, True)
    kept = load(file)
    assert (kept.system, kept.rerank, told["system"]) == (FIXES, judge, f"{FIXES}+rerank")
    assert told["thresholds"] == {"floor.floor": kept.thresholds["floor"]}
    assert told["before"]["count"] > told["hits"]["count"] > 0
    assert 0 < len(answered["results"]) < len(every["results"])


def test_a_reader_that_fails_calibrates_nothing_and_keeps_the_promise(toy: MemoryIndex) -> None:
    down = with_floor(with_reranker(system(FIXES), Told(failing)))
    (evaluation,) = evaluate(labels(SILENT), [down], toy)
    with pytest.raises(InputError, match=r"failed for 18 of 18 labels.*it is down"):
        calibrated(down, evaluation, toy, Promise(0.2))

    strict = search("rooibos tea", Floored(down, toy).at((0.5,)), toy)
    assert not strict.paths()
    assert any("it is down" in note for note in strict.notes)
