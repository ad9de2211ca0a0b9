"""AutoMem: its tokens, its score, its candidates, its floor, and what each pull request changed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import world
from tests.adapters import Case
from tests.adapters.automem import commit_of
from tests.arithmetic import evaluated
from tests.test_properties import Hashed, grown
from workbench.lab.bench_automem import ROWS, Measured, StoredEmbedder, answers, bench, settings_of, stored
from workbench.lab.locomo import Locomo, LocomoQuestion, Turn, load
from workbench.lab.quality_lab import ScoreCard, config_complexity, pick_winner, recall_at
from workbench.memory.embedding import LocalEmbedder, Truncated
from workbench.memory.frontmatter import NOTHING, age_in_days, front_matter
from workbench.memory.index import MemoryIndex
from workbench.memory.store import Store
from workbench.records import InputError, Trace
from workbench.retrieval.explain import steps
from workbench.retrieval.pipeline import Pipeline, search
from workbench.systems.automem import (
    BOUNDED,
    DEAD_KEYWORD,
    FIXED,
    GATE,
    HALF_LIFE,
    NO_FLOOR,
    OVERFETCHED,
    PIPELINES,
    SUBSTRING,
    TAG_CAP,
)
from workbench.systems.automem_components import LinearRecency
from workbench.systems.automem_memories import GraphOfMemories, Memories, graph_match
from workbench.systems.automem_recall import (
    AdaptiveFloor,
    HalfKept,
    LargerHalfKept,
    adaptive_floor,
    vector_fetch_limit,
)
from workbench.systems.automem_scoring import (
    SHIPPED_WEIGHTS,
    Weights,
    context_bonus,
    exponential_recency,
    gated,
    linear_recency,
    tag_share,
)
from workbench.systems.automem_text import (
    STOPWORDS,
    content_words,
    graph_raw,
    metadata_terms,
    query_tokens,
)
from workbench.systems.openclaw import SHIPPED

# Text


def test_there_are_25_stop_words_and_no_question_word_but_when() -> None:
    assert len(STOPWORDS) == 25
    assert query_tokens("when did who what how where") == ("did", "who", "what", "how", "where")


def test_the_tokens_of_a_question_and_the_words_of_a_text_do_not_meet_at_a_hyphen() -> None:
    assert query_tokens("multi-hop") == ("multi-hop",)
    assert not set(query_tokens("multi-hop")) & content_words("a multi-hop question")


def test_an_underscore_hides_a_word_of_a_text() -> None:
    assert content_words("foo_bar baz") == {"baz"}


def test_metadata_is_read_at_any_depth_and_its_keys_are_not() -> None:
    terms = metadata_terms({"topic": ["Alpha", {"deep": ("beta two", 3, None)}]})
    assert terms == {"alpha", "beta two", "beta", "two"}


def test_a_string_of_257_characters_is_no_term() -> None:
    assert metadata_terms(["x" * 256]) == {"x" * 256}
    assert metadata_terms(["x" * 257]) == frozenset()


def test_a_skipped_key_is_skipped_at_any_depth() -> None:
    assert metadata_terms({"a": {"entities": ["x"], "b": "y"}}, ["entities"]) == {"y"}


def test_the_graph_finds_a_word_within_a_word() -> None:
    assert graph_raw("The carpet", ["scarf"], ["car"], "") == 2 + 1


def test_a_phrase_of_two_letters_is_not_looked_for() -> None:
    assert graph_raw("go", ["go"], [], "go") == 0


# The score


def test_the_weights_sum_to_160_and_with_metadata_to_195() -> None:
    assert SHIPPED_WEIGHTS.total == pytest.approx(1.60)
    assert Weights(metadata=0.35).total == pytest.approx(1.95)


def test_a_trace_says_that_the_weights_do_not_sum_to_1(toy: MemoryIndex) -> None:
    assert any("1.60, not 1" in note for note in search("tea", FIXED, toy).notes)


def test_context_bonuses_add_up_each_once() -> None:
    assert context_bonus(["tag", "anchor", "tag"]) == pytest.approx(0.45 + 0.9)


def test_without_tokens_no_share_is_above_0() -> None:
    assert tag_share(0.0, 0.0, 0) == tag_share(0.0, 0.0, 3) == 0


def test_recency_falls_to_0_in_180_days_or_halves() -> None:
    age = np.array([0.0, 90.0, 180.0, 720.0, np.nan])
    assert linear_recency(age, 180).tolist() == [1, 0.5, 0, 0, 0]
    assert exponential_recency(age, 180) == pytest.approx([1, 0.5**0.5, 0.5, 0.5**4, 0])


def test_a_moment_to_come_is_0_days_old() -> None:
    now = datetime(2026, 2, 13, tzinfo=UTC)
    assert age_in_days(datetime(2026, 2, 14, tzinfo=UTC), now) == 0
    assert age_in_days(datetime(2026, 2, 12, 12, tzinfo=UTC), now) == 0.5


def test_the_gate_spares_a_question_without_tokens() -> None:
    components = {"vector": 0.1, "importance": 0.8}
    assert float(gated(components, 0.2, 0)["importance"]) == 0.8
    assert float(gated(components, 0.2, 1)["importance"]) == pytest.approx(0.4)


# The adaptive floor, against its definition in words


def floor_in_words(scores: list[float], share: float, least_kept: int) -> float | None:
    """The floor by its definition: loops and no columns."""
    falling = sorted(scores, reverse=True)
    if len(falling) <= 3:
        return None
    widest, below = 0.0, 0
    for rank in range(1, max(3, len(falling) // 2)):
        if falling[rank - 1] - falling[rank] > widest:
            widest, below = falling[rank - 1] - falling[rank], rank
    floor = falling[below]
    fires = below > 0 and widest > share * falling[0]
    return floor if fires and sum(score >= floor for score in falling) >= least_kept else None


SCORES = st.lists(st.one_of(st.floats(0, 1.6), st.sampled_from([0.1, 0.2, 0.9, 1.0])), max_size=14)


@given(SCORES, st.sampled_from([AdaptiveFloor(), HalfKept(), LargerHalfKept()]))
@settings(max_examples=500)
def test_the_floor_is_the_one_of_its_definition(scores: list[float], stage: AdaptiveFloor) -> None:
    expected = floor_in_words(scores, stage.share, stage.least_kept(len(scores)))
    got = float(stage.floors(np.array(scores)))
    assert (None if np.isnan(got) else got) == expected


def test_many_lists_at_once_have_the_floors_that_they_have_alone() -> None:
    lists = np.random.default_rng(7).random((50, 10)) ** 3
    together = adaptive_floor(lists, 0.15)
    assert np.array_equal(together, [adaptive_floor(one, 0.15) for one in lists], equal_nan=True)
    assert 0 < np.isnan(together).sum() < 50


def steep(n: int, gap_after: int) -> list[float]:
    """Scores of which the first `gap_after` are near 1 and the others near 0.1."""
    return [(1.0 if rank < gap_after else 0.1) - rank / 1000 for rank in range(n)]


def test_the_merged_guard_leaves_hardly_a_list_that_can_be_cut() -> None:
    cut = {
        (n, gap)
        for n in range(4, 15)
        for gap in range(1, n)
        if not np.isnan(LargerHalfKept().floors(steep(n, gap)))
    }
    assert cut == {(4, 1), (4, 2), (5, 2), (6, 2), (8, 3), (10, 4), (12, 5), (14, 6)}


def test_the_issue_s_own_guard_rounds_half_down() -> None:
    assert np.isnan(LargerHalfKept().floors(steep(7, 2)))
    assert not np.isnan(HalfKept().floors(steep(7, 2)))


def test_autojack_of_the_report_loses_22_of_30_and_then_none() -> None:
    scores = [0.76, 0.755, 0.75, 0.745, 0.74, 0.73, 0.72, *(0.55 - i / 1000 for i in range(23))]
    assert int(np.sum(np.array(scores) >= AdaptiveFloor().floors(scores))) == 8
    assert np.isnan(LargerHalfKept().floors(scores))


# Profiles


def test_each_profile_is_the_one_before_with_the_changes_of_its_pull_request() -> None:
    assert [[one.slot for one in before.diff(after)] for before, after in pairwise(PIPELINES)] == [
        ["keyword_component", "adaptive_floor"],
        ["keyword_component", "adaptive_floor"],
        ["keyword_score", "keyword_component"],
        ["vector_leg"],
    ]


def test_a_profile_tells_the_changes_that_it_is_made_of() -> None:
    names = [change.name for change in OVERFETCHED.changes]
    assert names == ["substring", "guard", "words", "half-up", "normalised", "clamped", "overfetch"]


@pytest.mark.parametrize("change", [GATE, TAG_CAP, HALF_LIFE, NO_FLOOR], ids=lambda one: one.name)
def test_what_is_shipped_turned_off_can_be_turned_on(change: Any, toy: MemoryIndex) -> None:
    (difference,) = OVERFETCHED.diff(OVERFETCHED.but(change))
    assert difference.slot == change.stage.slot
    check_formulas(search("tea on the bike", OVERFETCHED.but(change), toy))


def check_formulas(trace: Trace) -> None:
    assert trace.chunks
    for row in range(len(trace.chunks)):
        for step in steps(trace, row, digits=17):
            assert evaluated(str(step.formula)) == pytest.approx(float(trace.columns[step.column][row]))


NOTES = {
    "MEMORY.md": "# Memory\n",
    "memory/auto.md": "# Tools\nAutoJack records a cup of tea.\n",
    "memory/autos.md": "# Tools\nTwo AutoJacks record a cup of tea.\n",
    "memory/tea.md": "# Tea\nA cup of rooibos tea.\n",
    "memory/hub.md": "# Bike\nThe hub of the bike.\n",
}


@pytest.fixture(scope="module")
def jack(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with world.build(tmp_path_factory.mktemp("jack"), NOTES) as index:
        yield index


def numbers(trace: Trace, path: str) -> Mapping[str, float]:
    (found,) = [one for one in trace.candidates if one.chunk.path == path]
    return found.numbers


@pytest.mark.parametrize(
    ("pipeline", "auto", "autos"),
    [(DEAD_KEYWORD, 0.0, 0.0), (SUBSTRING, 1.0, 1.0), (FIXED, 1.0, 0.5)],
    ids=lambda one: getattr(one, "name", None),
)
def test_the_keyword_weight_is_dead_then_alive_then_minds_words(
    jack: MemoryIndex, pipeline: Pipeline, auto: float, autos: float
) -> None:
    trace = search("autojack tea", pipeline, jack)
    assert numbers(trace, "memory/auto.md")["keyword_component"] == auto
    assert numbers(trace, "memory/autos.md")["keyword_component"] == autos


def test_the_graph_is_asked_only_for_the_places_that_are_left(jack: MemoryIndex) -> None:
    full = search("the cup of tea", FIXED.asking(limit=3), jack)
    assert (full.legs["vector"].depth, full.legs["keyword"].depth) == (3, 0)
    assert any("left no place" in note for note in full.notes)
    roomy = search("the cup of tea", FIXED.asking(limit=8), jack)
    assert roomy.legs["keyword"].depth == 8 - jack.size


def test_a_question_without_a_vector_is_left_to_the_graph(jack: MemoryIndex) -> None:
    trace = search("autojack", FIXED, jack)
    assert [one.chunk.path for one in trace.results] == ["memory/auto.md", "memory/autos.md"]
    assert numbers(trace, "memory/auto.md")["keyword_raw"] == 2 + 2
    assert numbers(trace, "memory/auto.md")["score"] == pytest.approx(0.35 * 4)


def test_191_brings_the_graph_s_score_down_to_1(jack: MemoryIndex) -> None:
    trace = search("autojack", BOUNDED, jack)
    assert numbers(trace, "memory/auto.md")["keyword_component"] == pytest.approx(4 / 6)


def test_the_graph_s_hits_are_ordered_by_score_and_chunk_id(jack: MemoryIndex) -> None:
    index = GraphOfMemories().of(jack)
    found = index.keyword(graph_match("autojack record"), 10)
    ids = [chunk.id for chunk in index.chunks(found.rows)]
    assert sorted(zip(-found.raw, ids, strict=True)) == list(zip(-found.raw, ids, strict=True))
    assert index.keyword(graph_match("autojack record"), 1).rows.tolist() == found.rows[:1].tolist()


def test_the_view_sees_a_change_of_the_index(tmp_path: Path) -> None:
    with grown(tmp_path, list(NOTES)[:3], NOTES, world.EMBEDDER) as index:
        assert GraphOfMemories().of(index).keyword('"rooibos"', 9).rows.size == 0
        grown(tmp_path, list(NOTES)[3:], NOTES, world.EMBEDDER).close()
        assert GraphOfMemories().of(index).keyword('"rooibos"', 9).rows.size == 1


def test_overfetching_scores_what_is_not_returned(toy: MemoryIndex) -> None:
    before = search("tea", BOUNDED.asking(limit=1), toy)
    after = search("tea", OVERFETCHED.asking(limit=1), toy)
    assert (len(before.chunks), len(after.chunks)) == (1, 4)
    assert len(after.results) == 1


def test_a_search_with_tags_fetches_a_hundred() -> None:
    assert vector_fetch_limit(5, tagged=True) == 100
    assert vector_fetch_limit(40, tagged=True) == 160


def test_the_floor_s_drops_are_marked_and_noted(sample: MemoryIndex) -> None:
    trace = search("how should I evaluate if a claim is actually true", DEAD_KEYWORD, sample)
    fates = [type(one.dropped_by) for one in trace.candidates]
    assert fates == [type(None)] * 3 + [AdaptiveFloor] * 2
    assert any("The adaptive floor is 0.1211" in note for note in trace.notes)


def test_what_the_floor_cuts_is_there_without_it(sample: MemoryIndex) -> None:
    question = "how should I evaluate if a claim is actually true"
    assert len(search(question, DEAD_KEYWORD.but(NO_FLOOR), sample).results) == 5


# Front matter

BLOCK = """---
# what this note is
tags: [Tea, "rooibos"]
importance: 0.8
confidence: 0.4
date: 2026-02-13
topic: cup of tea
---
# Tea
A cup.
"""


def test_front_matter_is_read() -> None:
    found = front_matter("a.md", BLOCK)
    assert (found.tags, found.importance, found.confidence) == (("Tea", "rooibos"), 0.8, 0.4)
    assert found.date == datetime(2026, 2, 13, tzinfo=UTC)
    assert found.rest == {"topic": "cup of tea"}


@pytest.mark.parametrize(
    "text",
    ["", "# Tea\n", "---\n# A rule, and a heading\n", "---\nA sentence.\n---\n", "----\na: 1\n---\n", "---"],
)
def test_a_note_without_front_matter_says_nothing(text: str) -> None:
    assert front_matter("a.md", text) == NOTHING


@pytest.mark.parametrize("end", ["\r\n", "\n"])
def test_byte_order_marks_and_line_ends_do_not_matter(end: str) -> None:
    text = "\ufeff" + BLOCK.replace("\n", end)
    assert front_matter("a.md", text) == front_matter("a.md", BLOCK)


def test_an_empty_value_is_absent() -> None:
    assert front_matter("a.md", "---\ntags:\nimportance:\ndate: ~\n---\n") == NOTHING


@pytest.mark.parametrize(
    ("line", "tags"), [("a, b", ("a", "b")), ("one two", ("one two",)), ("[1, x]", ("1", "x"))]
)
def test_tags_may_be_words_between_commas(line: str, tags: tuple[str, ...]) -> None:
    assert front_matter("a.md", f"---\ntags: {line}\n---\n").tags == tags


def test_a_date_with_a_time_zone_keeps_it() -> None:
    found = front_matter("a.md", "---\ntimestamp: 2026-02-13T10:00:00+02:00\n---\n").date
    assert found == datetime(2026, 2, 13, 8, tzinfo=UTC)


@pytest.mark.parametrize(
    ("block", "line", "problem"),
    [
        ("importance: high", 2, "not a number from 0 to 1"),
        ("a: 1\nimportance: 1.5", 3, "not a number from 0 to 1"),
        ("confidence: true", 2, "not a number from 0 to 1"),
        ("confidence: .nan", 2, "not a number from 0 to 1"),
        ("a: 1\nb: 2\na: 3", 4, "a is there a second time"),
        ("tags: {a: 1}", 2, "not a list of words"),
        ("tags: [[a]]", 2, "not a list of words"),
        ("date: yesterday", 2, "not a date"),
        ("date: 12", 2, "not a date"),
        ("x: 1\ndate: 2026-13-45", 3, "date: month"),
        ("a: [1, 2\nb: 3", 3, "expected"),
        ("a: &x [1]\nb: *x", 3, "the alias"),
        ("a: !!python/object:os.system x", 2, "constructor"),
        ("a: " + "[" * 3_000 + "]" * 3_000, 2, "nested too deeply"),
    ],
)
def test_broken_front_matter_is_named_with_its_file_and_line(block: str, line: int, problem: str) -> None:
    with pytest.raises(InputError) as raised:
        front_matter("memory/a.md", f"---\n{block}\n---\ntext\n")
    assert f"memory/a.md cannot be used: line {line}:" in raised.value.problem
    assert problem in raised.value.problem


def test_a_block_that_goes_on_for_ever_is_named() -> None:
    with pytest.raises(InputError, match="more than 100,000 characters"):
        front_matter("a.md", "---\na: 1\n" + "# more\n" * 20_000 + "---\n")


def test_a_block_without_an_end_is_named() -> None:
    with pytest.raises(InputError, match="no end"):
        front_matter("a.md", "---\ntags: [a]\n# Tea\n")


def test_front_matter_feeds_the_components(tmp_path: Path) -> None:
    notes = {"MEMORY.md": "# Memory\n", "memory/tea.md": BLOCK}
    moment = LinearRecency(now=datetime(2026, 5, 14, tzinfo=UTC))
    with world.build(tmp_path, notes) as index:
        found = numbers(search("cup of tea", FIXED.with_stage(moment), index), "memory/tea.md")
    assert found["tag_component"] == 1.0  # cup is a word of the topic, tea a tag
    assert found["exact_component"] == 1.0
    assert found["recency_component"] == pytest.approx(1 - 90 / 180)
    expected = 0.35 * found["vector_score"] + 0.35 * found["keyword_component"]
    expected += 0.2 * 1 + 0.2 * 1 + 0.1 * 0.8 + 0.1 * 0.5 + 0.05 * 0.4
    assert found["score"] == pytest.approx(expected)


def test_what_a_note_does_not_say_counts_as_0(toy: MemoryIndex) -> None:
    trace = search("tea", FIXED, toy)
    for name in ("tag", "exact", "importance", "recency", "confidence"):
        assert not trace.columns[f"{name}_component"].any()
    assert np.isnan(trace.columns["importance"]).all()


def test_broken_front_matter_stops_only_the_system_that_asks_for_it(tmp_path: Path) -> None:
    notes = {"MEMORY.md": "# Memory\n", "memory/tea.md": "---\nimportance: much\n---\ntea\n"}
    with world.build(tmp_path, notes) as index:
        assert search("tea", SHIPPED.asking(min_score=0), index).results
        with pytest.raises(InputError, match=r"memory/tea\.md"):
            search("tea", FIXED, index)


def test_importance_breaks_a_tie_that_the_score_leaves(tmp_path: Path) -> None:
    same = "A cup of tea.\n"
    notes = {
        "MEMORY.md": "# Memory\n",
        "memory/a.md": f"---\nimportance: 0.1\n---\n{same}",
        "memory/b.md": f"---\nimportance: 0.9\n---\n{same}",
    }
    unweighted = FIXED.with_stage(type(FIXED["fusion"])(Weights(importance=0.0)))  # type: ignore[call-arg]
    with world.build(tmp_path, notes) as index:
        trace = search("tea", unweighted, index)
    assert trace.paths()[:2] == ["memory/b.md", "memory/a.md"]


def test_a_question_with_nothing_to_look_for_gets_the_most_important(tmp_path: Path) -> None:
    notes = {
        "MEMORY.md": "# Memory\n",
        "memory/a.md": "---\nimportance: 0.1\n---\nx\n",
        "memory/b.md": "---\nimportance: 0.9\n---\nx\n",
    }
    with world.build(tmp_path, notes) as index:
        graph = GraphOfMemories().of(index)
        assert isinstance(graph, Memories)
        found = graph.keyword(graph_match("C"), 2)
        assert [chunk.path for chunk in graph.chunks(found.rows)] == ["memory/b.md", "memory/a.md"]
        trace = search("C", BOUNDED, index)
    assert numbers(trace, "memory/b.md")["score"] == pytest.approx(0.35 * 0.9 + 0.1 * 0.9)


# The quality lab


def test_the_winner_may_not_bring_more_distractors() -> None:
    cards = [ScoreCard("base", 0.8, 0.1), ScoreCard("better", 0.9, 0.11), ScoreCard("worse", 0.95, 0.12)]
    assert pick_winner(cards, "base").name == "better"


def test_of_equals_with_equal_knobs_the_faster_wins() -> None:
    cards = [ScoreCard("base", 0.8, 0.1, 100, 5), ScoreCard("fast", 0.799, 0.1, 50, 5)]
    assert pick_winner(cards, "base").name == "fast"


def test_a_missing_baseline_is_refused() -> None:
    with pytest.raises(InputError, match="No card is named"):
        pick_winner([ScoreCard("a", 0.8, 0.1)], "b")


def test_a_document_retrieved_twice_counts_at_its_first_place() -> None:
    assert recall_at(["a", "a", "b"], ["b"], k=2) == 1.0


@pytest.mark.parametrize("value", ["off", "False", "0.0", "", None, 0, False])
def test_a_knob_that_is_off_is_not_counted(value: object) -> None:
    assert config_complexity({"A": value, "B": "0.1"}) == 1


# Vectors


@pytest.mark.parametrize(
    ("version", "commit"),
    [
        ("591b2c7^ (4f0fcf8)", "4f0fcf8"),
        ("591b2c7^", "4f0fcf8"),
        ("591b2c7", "591b2c7"),
        ("8ff266e0" * 5, "8ff266e"),
    ],
)
def test_a_commit_is_known_by_its_beginning(version: str, commit: str) -> None:
    assert commit_of(Case("", version, {}, None)) == commit


def test_an_unknown_commit_is_refused() -> None:
    with pytest.raises(LookupError):
        commit_of(Case("", "0123456", {}, None))


# LoCoMo

SAID = [
    "I like tea.", "I like the bike.", "Tea again?", "Kites fly.", "A kite and tea.", "Rain.",
    "Sun and tea.", "The bike broke.", "A hub broke.", "Kite strings.", "Tea leaves.", "Goodbye then.",
]  # fmt: skip
TURNS = tuple(Turn(f"c00-D1:{i}", 0, 1, "Ada" if i % 2 else "Ben", text) for i, text in enumerate(SAID))
ASKED = tuple(
    LocomoQuestion(text, 1, 0, frozenset(ids), frozenset(), "")
    for text, ids in [
        ("Who likes tea?", ["c00-D1:0"]),
        ("What broke on the bike?", ["c00-D1:7", "c00-D1:8"]),
        ("Did Ada see the kite strings?", ["c00-D1:9"]),
        ("Nobody knows?", []),
    ]
)
DATA = Locomo((), TURNS, ASKED, 0)


@pytest.fixture(scope="module")
def one_turn_a_file(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The turns as notes of a memory, each a single chunk."""
    notes = {f"memory/{i:02}.md": turn.bullet for i, turn in enumerate(TURNS)}
    with grown(tmp_path_factory.mktemp("turns"), list(notes), notes, Hashed()) as index:
        yield index


@pytest.mark.parametrize(("name", "pipeline"), ROWS, ids=[name for name, _ in ROWS])
@pytest.mark.parametrize("limit", [2, 10])
def test_the_bench_answers_what_a_search_answers(
    one_turn_a_file: MemoryIndex, name: str, pipeline: Pipeline, limit: int
) -> None:
    for one in answers(DATA, pipeline, Hashed(), limit):
        trace = search(one.question.text, pipeline.asking(limit=limit, min_score=-1), one_turn_a_file)
        places = [int(found.chunk.path[-5:-3]) for found in trace.results]
        assert list(one.turns) == [TURNS[place].id for place in places]


def test_a_question_without_a_turn_is_not_counted() -> None:
    assert bench(DATA, FIXED, Hashed()).n == 3
    assert bench(Locomo((), TURNS, ASKED[3:], 0), FIXED, Hashed()) == Measured(0, 0, 0, 0, 0, 0)


def test_a_pipeline_of_another_system_is_refused() -> None:
    with pytest.raises(InputError, match=r"no profile of AutoMem|no stage"):
        bench(DATA, SHIPPED, Hashed())


class Counting(Hashed):
    """Counts the texts that it embeds."""

    count = 0

    def embed(self, texts: Any, role: Any) -> Any:
        self.count += len(texts)
        return super().embed(texts, role)


def test_a_stored_embedder_embeds_a_text_once(tmp_path: Path) -> None:
    counting = Counting()
    with Store.create(tmp_path / "cache.sqlite", settings_of(counting)) as store:
        stored_embedder = StoredEmbedder(counting, store)
        first = stored_embedder.embed(["a", "b", "a"], "passage").vectors
        second = stored_embedder.embed(["b", "a", "c"], "passage").vectors
    assert counting.count == 3
    assert np.array_equal(first, Hashed().embed(["a", "b", "a"], "passage").vectors)
    assert np.array_equal(second, Hashed().embed(["b", "a", "c"], "passage").vectors)


def test_a_missing_file_ends_the_bench_with_2(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "workbench.lab.bench_automem", str(tmp_path / "none.json")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "none.json cannot be read" in done.stderr


PUBLISHED = [
    (0.379, 0.471, 0.297, 8.88, 147),
    (0.399, 0.498, 0.304, 10, 0),
    (0.398, 0.435, 0.342, 6.74, 447),
    (0.431, 0.498, 0.356, 10, 0),
    (0.438, 0.498, 0.368, 10, 0),
    (0.457, 0.540, 0.380, 10, 0),
    (0.425, 0.487, 0.368, 7.55, 325),
]
"""Recall@5, recall@10, MRR, mean kept, floors fired: five of LoCoMo's conversations, all-MiniLM-L6-v2."""

LOCOMO = os.environ.get("WORKBENCH_LOCOMO")


@pytest.mark.skipif(LOCOMO is None, reason="WORKBENCH_LOCOMO names no folder with locomo5.json")
@pytest.mark.parametrize(
    ("row", "expected"), list(zip(ROWS, PUBLISHED, strict=True)), ids=[name for name, _ in ROWS]
)
def test_a_profile_does_on_locomo_what_was_measured(
    row: tuple[str, Pipeline], expected: tuple[float, float, float, float, int]
) -> None:
    folder = Path(str(LOCOMO))
    folder = folder if folder.is_dir() else folder.parent
    data = load(folder / "locomo5.json", folder / "corrections5.json")
    with stored(LocalEmbedder(reading=Truncated()), folder / "locomo5.json") as embedder:
        got = bench(data, row[1], embedder)
    assert got.n == 1018
    assert (got.recall_5, got.recall_10, got.mrr) == pytest.approx(expected[:3], abs=0.005)
    assert got.kept == pytest.approx(expected[3], abs=0.01)
    assert got.floors == expected[4]
