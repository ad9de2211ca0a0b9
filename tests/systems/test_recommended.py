"""`recommended` returns six different files, says nothing where it should, and says what it could not do."""

from __future__ import annotations

import re
from dataclasses import replace
from math import log
from pathlib import Path

import numpy as np
import pytest

import workbench as wb
from tests.commands import PROJECT, Run
from tests.extensions.memory_index import InMemoryIndex
from tests.world import write
from workbench.errors import InputError
from workbench.measure.evaluation import evaluate
from workbench.measure.paired import paired_with_first
from workbench.measure.questions import QuestionSet
from workbench.memory.embedding.local import LocalEmbedder
from workbench.memory.index import MemoryIndex
from workbench.records import Fate
from workbench.retrieval.columns import ColumnStage
from workbench.retrieval.explain import explain
from workbench.retrieval.pipeline import search
from workbench.retrieval.settings import with_settings
from workbench.tables import ABSENT
from workbench_plugins.recommended.layout import PassagesLayout, best_of_group, passages_of
from workbench_plugins.recommended.passage_index import files_of
from workbench_plugins.recommended.pipelines import RECOMMENDED, WEIGHTS, without_each
from workbench_plugins.recommended.shipped_vectors import words_of
from workbench_plugins.recommended.stages import NO_WORDS, Answerable, Calibration, SilenceFloor, accepting

QUESTION = "rear hub of the bike"


def test_each_result_is_another_file_whose_other_chunks_are_folded(sample: MemoryIndex) -> None:
    trace = search(QUESTION, RECOMMENDED, sample)
    paths = [one.chunk.path for one in trace.results]
    assert len(paths) == len(set(paths)) == 6
    assert search(QUESTION, RECOMMENDED, sample).columns["score"].tolist() == trace.columns["score"].tolist()
    first, *others = [one.fate for one in explain(trace, sample, trace.paths()[0]).verdicts]
    assert first is Fate.RETURNED
    assert set(others) <= {Fate.FOLDED, Fate.BEYOND_POOL, Fate.NO_MATCH}


def test_the_keyword_score_is_mostly_the_share_of_the_file(sample: MemoryIndex) -> None:
    columns = search(QUESTION, RECOMMENDED, sample).columns
    of_chunk = np.where(
        np.isnan(columns["keyword_relevance"]), columns["keyword_beyond"], columns["keyword_relevance"]
    )
    chunk, file = of_chunk / columns["keyword_most"], columns["file_bm25"] / columns["file_most"]
    assert columns["keyword_score"] == pytest.approx(0.05 * chunk + 0.95 * file)


def test_the_numbers_of_a_file_are_the_same_for_all_its_candidates(sample: MemoryIndex) -> None:
    trace = search(QUESTION, RECOMMENDED, sample)
    of_file = dict[str, list[int]]()
    for at, chunk in enumerate(trace.chunks):
        of_file.setdefault(chunk.path, []).append(at)
    assert max(map(len, of_file.values())) > 1
    for some in of_file.values():
        late, mean = (trace.columns[name][some] for name in ("file_late_score", "file_mean_score"))
        assert len({*late}) == len({*mean}) == 1
        assert late[0] >= trace.columns["late_score"][some].max() - 1e-9
        assert mean[0] >= np.nanmax([*trace.columns["vector_cosine"][some], -1]) - 1e-6


def test_a_file_can_answer_with_its_chunks_together() -> None:
    words = np.array([[0.9, 0.1], [0.2, 0.8], [0.5, 0.5]])
    best = best_of_group(words, np.array([4, 4, 7]))
    assert best.tolist() == [[0.9, 0.8], [0.9, 0.8], [0.5, 0.5]]


def test_a_chunk_matches_a_word_of_the_question_at_most_as_well_as_itself(sample: MemoryIndex) -> None:
    trace = search(QUESTION, RECOMMENDED, sample)
    rare = trace.columns["rare_words"]
    assert (np.abs(trace.columns["late_score"]) <= 1).all()
    assert (rare <= 1).all()
    assert "hub" in trace.chunks[int(np.argmax(rare))].text.lower()


def test_a_question_from_another_world_gets_no_answer(sample: MemoryIndex) -> None:
    even = RECOMMENDED.with_stage(accepting(50))
    assert search("quarterly revenue of the Brazilian subsidiary under IFRS 16", even, sample).results == []
    assert len(search(QUESTION, even, sample).results) == 6


def test_what_the_model_has_read_takes_at_most_6_kb_a_chunk(sample: MemoryIndex) -> None:
    packed = words_of(one.key(LocalEmbedder()) for one in files_of(sample))
    assert 0 < sum(map(len, packed.values())) / sample.size <= 6 * 1024


def test_indexing_reads_the_words_so_that_the_first_question_does_not(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "memory", {"tea.md": "# Tea\n\nRooibos after noon.\n"})
    assert run("index", tmp_path / "memory", "--index", tmp_path / "i.sqlite").code == 0
    refuse = "workbench_plugins.recommended.passage_index.word_vectors"
    monkeypatch.setattr(refuse, lambda *_: pytest.fail("the first question reads words"))
    found = run("search", "rooibos", "-m", tmp_path / "memory", "--index", tmp_path / "i.sqlite", "--json")
    assert found.json()["results"][0]["path"] == "tea.md"


def test_without_a_model_here_it_searches_and_says_what_is_missing(toy: MemoryIndex) -> None:
    trace = search("rooibos tea", RECOMMENDED, toy)
    assert trace.paths()[0] == "memory/tea.md"
    assert NO_WORDS in trace.notes
    assert any("So nothing is held back" in note for note in trace.notes)


def test_a_calibration_of_another_model_or_form_is_refused() -> None:
    stage = RECOMMENDED["answerable"]
    assert isinstance(stage, Answerable)
    stage.calibration.check("all-MiniLM-L6-v2 53aa51172d14")
    with pytest.raises(InputError, match=r"fitted for the model all-MiniLM-L6-v2.*e5-small"):
        stage.calibration.check("e5-small 1")
    with pytest.raises(InputError, match="vibes"):
        Calibration((("vibes", 1.0),))


def test_the_nearest_chunk_counts_as_much_as_its_weight_says(sample: MemoryIndex) -> None:
    weights = dict(WEIGHTS.answerable)
    without = Answerable(Calibration(tuple({**weights, "nearest": 0.0}.items()), WEIGHTS.model))
    traces = [search(QUESTION, one, sample) for one in (RECOMMENDED, RECOMMENDED.with_stage(without))]
    full, less = (log(p / (1 - p)) for p in (one.columns["answerable"][0] for one in traces))
    nearest = 1 - np.nanmin(traces[0].columns["vector_raw"])
    assert full - less == pytest.approx(weights["nearest"] * nearest)


def test_the_threshold_is_set_as_wrong_answers_in_a_hundred() -> None:
    assert [accepting(wrong).floor for wrong in (0, 25, 100)] == [1.0, 0.75, 0.0]
    for wrong in (-1, 101):
        with pytest.raises(InputError):
            accepting(wrong)


def test_a_stricter_floor_is_silent_where_a_looser_one_is_not(sample: MemoryIndex) -> None:
    never = replace(RECOMMENDED.with_stage(accepting(100)), name="never silent")
    always = replace(RECOMMENDED.with_stage(SilenceFloor(1.0)), name="always silent")
    assert len(search(QUESTION, never, sample).results) == 6
    assert search(QUESTION, always, sample).results == []


def test_the_weights_are_positive_and_sum_to_one_without_links_and_identifiers() -> None:
    on_top = WEIGHTS.score["link"] + WEIGHTS.score["identifier"]
    assert sum(WEIGHTS.score.values()) - on_top == pytest.approx(1, abs=1e-3)
    assert min(WEIGHTS.score.values()) > 0


@pytest.mark.parametrize("part", WEIGHTS.score)
def test_each_weight_can_be_set(sample: MemoryIndex, part: str) -> None:
    trace, without = (
        search(QUESTION, with_settings(RECOMMENDED, [f"fusion.{part}={weight}"]), sample)
        for weight in (WEIGHTS.score[part], 0)
    )
    assert trace.stages == RECOMMENDED.stages
    lost = trace.columns["score"] - without.columns["score"]
    assert lost == pytest.approx(WEIGHTS.score[part] * np.nan_to_num(trace.columns[f"{part}_score"]))


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ("fusion.links=0.2", "no parameter 'links'; the nearest is 'link'"),
        ("fusion.link=much", "takes a number, not 'much'"),
        ("fusion.link=1.5", "1.5, out of its range"),
    ],
)
def test_an_unknown_weight_and_one_that_cannot_be_are_refused(setting: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        with_settings(RECOMMENDED, [setting])


def test_the_ablation_leaves_out_one_part_at_a_time() -> None:
    names = [one.name for one in without_each()]
    assert names == [
        f"without {one}"
        for one in (
            "vector",
            "keyword",
            "file_late",
            "file_mean",
            "late",
            "link",
            "identifier",
            "title",
            "fold",
            "floor",
        )
    ]


@pytest.mark.parametrize(
    ("question", "path", "leads"),
    [
        ("when did ben fly the kite", "talk.md", True),
        ("when did Ada fly the kite", "talk.md", False),
        ("when did somebody fly the kite", "talk.md", False),  # no name
        ("when did Ben fly the kite", "people/ben.md", False),  # the path has it
        ("when did Ben fly the kite", "trip.md", False),  # the heading has it
    ],
)
def test_a_line_beside_another_name_leads(question: str, path: str, leads: bool) -> None:
    notes = {
        "talk.md": "# Talk\n- **Ada:** I fly my kite.\n- **Ben:** I row.\nWe met Ada, and then Ben.",
        "people/ben.md": "# A friend\nWill fly a kite.",
        "trip.md": "# Trip\n## Ben\nHe will fly a kite.\n",
    }
    laid = passages_of(PassagesLayout().of(InMemoryIndex(notes, {"kite": ("kite",)})))
    assert laid is not None
    assert (laid.name_lead(question, path) > 0) is leads


def test_the_numbers_of_a_leg_order_as_its_ranks_do(sample: MemoryIndex, questions: QuestionSet) -> None:
    """The cosine beside a rank is the one that was ranked, and not that of the best passage."""
    for asked in questions.questions[::5]:
        trace = search(asked.question, RECOMMENDED, sample)
        table = trace.candidates_table(trace.candidates)
        ranks = [place for place, head in enumerate(table.header) if head.endswith("rank")]
        assert len(ranks) == 2
        for place in ranks:
            rows = [row for row in table.rows if row[place] != ABSENT]
            assert rows
            assert all(row[place - 1] != ABSENT for row in rows)
            numbers = [float(row[place - 1]) for row in sorted(rows, key=lambda row: int(row[place]))]
            assert numbers == sorted(numbers, reverse=True)


def test_each_number_is_read_under_one_name_of_its_own(sample: MemoryIndex, toy: MemoryIndex) -> None:
    for index in (sample, toy):
        trace = search(QUESTION, RECOMMENDED, index)
        outputs = [stage.output for stage in trace.stages if isinstance(stage, ColumnStage)]
        names = [trace.names.get(output, output) for output in outputs]
        assert len(set(names)) == len(names)
    assert trace.names["vector_cosine"] == "whole chunk"  # without a model here


def test_the_page_shows_a_question_as_the_command_prints_it(
    run: Run, sample: MemoryIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(PROJECT)
    page = (PROJECT / "docs" / "recommended.md").read_text(encoding="utf-8")
    (question, target) = re.findall(r"`workbench explain \"(.*)\" -t (\S+) --details`", page)[0]
    printed = run("explain", question, "-t", target, "--details", "--index", sample.name).out
    blocks = re.findall(r"^```text\n(.*?)^```$", page, re.M | re.S)
    assert len(blocks) == 9
    at = printed.index(f"system {RECOMMENDED.name}, file {target}")
    for line in "".join(blocks).splitlines():
        at = printed.index(f"\n{line}\n", at)


def test_the_page_compares_the_systems_as_an_evaluation_does(
    sample: MemoryIndex, questions: QuestionSet
) -> None:
    page = (PROJECT / "docs" / "recommended.md").read_text(encoding="utf-8")
    table = page.partition("difference from `recommended`")[2].partition("\n\n")[0]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()[2:]]
    names = [re.findall(r"`(.+?)`", row[0])[0].replace("…", "openclaw-2026.2.13") for row in rows]
    runs = evaluate(questions, [wb.system(name) for name in names], sample)
    told = ["", *(one.interval_text for one in paired_with_first(runs))]
    assert [row[1:] for row in rows] == [
        [
            f"{one.overall.hits}/{one.overall.n}",
            f"{100 * one.hit_interval[0]:.0f} – {100 * one.hit_interval[1]:.0f} %",
            difference,
            f"{one.silent.hits}/{one.silent.n}",
        ]
        for one, difference in zip(runs, told, strict=True)
    ]
    tells = [name for name, one in zip(names[1:], paired_with_first(runs), strict=True) if one.differs]
    assert tells == ["openclaw-2026.2.13", "openclaw-2026.2.13+renormalised"]
