"""The same two lists, whose fusion? Their order, where it flips and why, and how that is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.systems.test_engines import KEYWORD, VECTOR, scores
from workbench.errors import InputError
from workbench.memory.index import MemoryIndex
from workbench.terminal import text_of
from workbench_plugins.engines.presets import ELEVEN
from workbench_plugins.engines.whose_fusion import Comparison, legs_of, read_lists, whose_fusion

# One pair of lists, eleven semantics: the order, where kwonly stands, its score, whether 0.35 lets it pass

SAME_ORDER = [["both"], ["kwonly", "v1"], ["k2", "v2"], ["v3"]]
TABLE = {
    "rrf-60": (SAME_ORDER, (2, 3), 0.0164, False),
    "weaviate-ranked": (SAME_ORDER, (2, 3), 0.0083, False),
    "qdrant-k2": (SAME_ORDER, (2, 3), 0.5000, True),
    # 1/2 + 1/2 halved is 1/1 halved: what is second in both ties with what is first in one.
    "txtai": ([["both", "kwonly", "v1"], ["k2", "v2"], ["v3"]], (1, 3), 0.5000, True),
    "weaviate-relative": ([["v1"], ["both"], ["kwonly"], ["v2"], ["k2", "v3"]], (3, 3), 0.3000, False),
    "qdrant-dbsf": ([["both"], ["v1"], ["kwonly"], ["v2"], ["v3"], ["k2"]], (3, 3), 0.6803, True),
    "haystack-dbsf": ([["v1"], ["kwonly"], ["both"], ["v2"], ["v3"], ["k2"]], (2, 2), 0.7208, True),
    "openclaw-now": ([["both"], ["v1"], ["v2"], ["v3"], ["kwonly"], ["k2"]], (5, 5), 0.2703, False),
    "openclaw-clamped": ([["both"], ["v1"], ["v2"], ["v3"], ["k2", "kwonly"]], (5, 6), 0.3000, False),
    "basic-memory": ([["kwonly"], ["both"], ["v1"], ["v2"], ["v3"], ["k2"]], (1, 1), 1.0000, True),
    "tm2c2": ([["both"], ["v1"], ["v2"], ["v3"], ["kwonly"], ["k2"]], (5, 5), 0.2000, False),
}


@pytest.fixture(scope="module")
def eleven() -> Comparison:
    return whose_fusion(VECTOR, KEYWORD, floor=0.35, target="kwonly")


@pytest.mark.parametrize("name", ELEVEN)
def test_one_pair_of_lists_has_eleven_meanings(eleven: Comparison, name: str) -> None:
    order = next(one for one in eleven.orders if one.engine.name == name)
    groups, places, score, passes = TABLE[name]
    assert [list(group) for group in order.groups] == groups
    assert order.ranks("kwonly") == places
    assert order.hit("kwonly").score == pytest.approx(score, abs=5e-5)
    assert order.passes("kwonly") is passes


def test_a_flip_names_the_leg_or_the_rule_that_decides(eleven: Comparison) -> None:
    flips = {one.engine.name: one.flips for one in eleven.orders}
    (relative,) = flips["weaviate-relative"]
    assert (relative.above, relative.below) == ("v1", "both")
    assert relative.why.startswith("vector leg: 0.7000 for v1 against 0.2692 for both, 0.7 × min-max")
    haystack = next(one for one in eleven.orders if one.engine.name == "haystack-dbsf")
    over_both = next(flip for flip in haystack.flips if (flip.above, flip.below) == ("v1", "both"))
    assert over_both.why.startswith("not a plain sum: the larger of vector")


def test_a_flip_names_what_a_leg_gives_to_a_candidate_that_it_did_not_bring() -> None:
    lists = {"a": 0.9, "b": 0.1}, {"b": 7.0, "c": 6.0}
    crediting = whose_fusion(*lists, engines=["openclaw-now", "chroma-rrf"]).orders[1]
    assert crediting.flips[0].why.startswith("keyword leg: 0.0167 for b against 0.0009 for a, ")
    given = crediting.hit("a").keyword
    assert given is not None
    assert (given.rank, given.part) == (None, pytest.approx(1 / 1060))


def test_a_tie_is_no_flip() -> None:
    told = whose_fusion({"a": 0.9, "b": 0.8}, {}, engines=["openclaw-now", "haystack-dbsf"])
    assert whose_fusion({"a": 0.9}, {"b": 3.0}, engines=["rrf-60", "txtai"]).orders[1].flips == ()
    assert told.orders[1].flips == ()


# nextcloud-mcp-server PR#1199: first in one list against fourth in both

AGREED = (
    {"alone": 0.9, "v2": 0.8, "v3": 0.7, "agreed": 0.6},
    {"k1": 9.0, "k2": 8.0, "k3": 7.0, "agreed": 6.0},
)


def test_k_alone_flips_first_in_one_against_fourth_in_both() -> None:
    small, large = scores("qdrant-k2", *AGREED), scores("qdrant-k60", *AGREED)
    assert (small["alone"], small["agreed"]) == (1 / 2, pytest.approx(1 / 5 + 1 / 5))
    assert (large["alone"], large["agreed"]) == (1 / 60, pytest.approx(2 / 63))
    told = whose_fusion(*AGREED, engines=["rrf-60", "qdrant-k2"])
    assert [order.flips == () for order in told.orders] == [True, False]
    assert ("alone", "agreed") in [(flip.above, flip.below) for flip in told.orders[1].flips]


# Lists that are given


def test_an_unknown_engine_or_target_is_refused() -> None:
    with pytest.raises(InputError, match="no engine 'rrf'"):
        whose_fusion(VECTOR, KEYWORD, engines=["rrf"])
    with pytest.raises(InputError, match="'v9' is in neither list"):
        whose_fusion(VECTOR, KEYWORD, target="v9")


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("{", "cannot be read as JSON"),
        ("[]", "exactly the two lists"),
        ('{"vector": {}}', "exactly the two lists"),
        ('{"vector": {}, "keyword": [1]}', "keyword list"),
        ('{"vector": {"a": "high"}, "keyword": {}}', "vector score of 'a'"),
        ('{"vector": {"a": true}, "keyword": {}}', "vector score of 'a'"),
    ],
)
def test_a_file_of_another_form_is_refused(tmp_path: Path, text: str, named: str) -> None:
    file = tmp_path / "lists.json"
    file.write_text(text)
    with pytest.raises(InputError, match=named):
        read_lists(file)
    with pytest.raises(InputError, match="cannot be read"):
        read_lists(tmp_path / "none.json")
    file.write_text('{"vector": {"a": 0.5, "b": 1}, "keyword": {}}')
    assert read_lists(file) == ({"a": 0.5, "b": 1}, {})


def test_the_two_legs_of_a_question_are_lists(toy: MemoryIndex) -> None:
    vector, keyword = legs_of("rooibos tea", toy)
    assert vector["memory/tea.md:1-3"] == pytest.approx(1.0, abs=1e-6)
    assert keyword.keys() == {"MEMORY.md:1-3", "memory/tea.md:1-3", "memory/both.md:1-3"}
    assert min(keyword.values()) > 0
    assert len(whose_fusion(vector, keyword).orders[0].hits) == len({*vector, *keyword})


# In words


def test_the_table_shows_ties_in_brackets_and_whether_the_target_passes(eleven: Comparison) -> None:
    lines = {
        line.split()[0]: line for line in text_of(eleven.view()).splitlines() if line.split()[0] in TABLE
    }
    assert "both (kwonly = v1) (k2 = v2) v3" in lines["rrf-60"]
    assert "2–3 tied" in lines["qdrant-k2"]
    assert "0.5000" in lines["qdrant-k2"]
    assert lines["qdrant-k2"].split()[-1] == "yes"
    assert lines["rrf-60"].split()[-1] == "no"


def test_the_view_tells_the_flips_of_the_target_first(eleven: Comparison) -> None:
    text = text_of(eleven.view())
    assert "basic-memory, against rrf-60:\n  kwonly over both:" in text
    assert "and 1 more" in text
