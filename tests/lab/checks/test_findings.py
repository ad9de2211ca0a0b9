"""The lint names settings that cannot work, with their arithmetic, and is silent about those that can."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import PROJECT
from tests.memory.test_store import a_store
from workbench.measure.edits import Edit, edited
from workbench.memory.embedding.local import ToyEmbedder
from workbench.memory.index import MemoryIndex
from workbench.retrieval.cutoff import MinScore
from workbench.retrieval.index_adapters import CachedIndex
from workbench.retrieval.legs import Depth, KeywordLeg
from workbench.retrieval.pipeline import Pipeline
from workbench.retrieval.settings import with_settings
from workbench.systems.catalogue import SYSTEMS
from workbench.systems.openclaw import EVIDENCE_FLOOR, SHIPPED, THREE_FIXES, WORKAROUND
from workbench_plugins.diagnose.findings import Finding, lint, lint_on, lint_pair, probes, share_a_word
from workbench_plugins.engines.lists import fusion_of_lists
from workbench_plugins.engines.presets import ENGINES

FUSED_AGAINST = (
    "engine-haystack-dbsf engine-combmnz txtai-log-odds weaviate-relative-before-3243 haystack-dbsf "
    "autorag-mm autorag-dbsf combsum combmnz combmax openclaw-clamped"
)
"""Fusions in which a single hit, a hit of a weak score or the order of a leg counts for nothing."""
LIMITED_EARLY = edited(SHIPPED, [Edit("limit", None), Edit("limit", SHIPPED["limit"], before="order")])
OR_RRF = SYSTEMS["openclaw-2026.2.13+or+rrf"]


EMBEDDER = ToyEmbedder({"tea": ("tea",), "bike": ("bike",), "server": ("server",)})


HEADS = {"systems": "| finding |", "measuring": "## Lint"}
PAGES = [
    (PROJECT / "docs" / f"{name}.md").read_text(encoding="utf-8").partition(head)[2]
    for name, head in HEADS.items()
]
ISSUES = dict(re.findall(r"^\| ([^|]+?) \| [^|]+ \| ([^|]+?) \|$", "\n".join(PAGES), re.M))
"""The public issues that the pages name, by the kind of finding."""


def kinds(found: list[Finding]) -> set[str]:
    """The kinds of these findings, of which the page names each issue."""
    for one in found:
        assert set(one.issue.split(", ")) <= set(ISSUES[one.kind].split(", "))
    return {one.kind for one in found}


@pytest.mark.parametrize(
    ("pipeline", "kind", "arithmetic"),
    [
        (SHIPPED, "unreachable", "0.7 × 0 + 0.3 × 1 < 0.35"),
        (SHIPPED, "weights that are scale only", "2 × (0.7 and 0.3)"),
        (OR_RRF, "floor on a rank", "keyword_rank, vector_rank"),
        (SHIPPED.with_stage(KeywordLeg(Depth(0.5, 200))), "pool smaller than the limit", "3 < 6"),
        (SHIPPED.with_stage(MinScore(0.0)), "a threshold of 0", "score ≥ 0"),
        (LIMITED_EARLY, "a limit before the order", "limit is stage 8, order 9 of 10"),
    ],
)
def test_arithmetic_finds_what_cannot_work(pipeline: Pipeline, kind: str, arithmetic: str) -> None:
    (found,) = [one for one in lint(pipeline) if one.kind == kind]
    assert arithmetic in found.arithmetic
    assert kind in kinds([found])


def test_what_can_work_is_no_finding() -> None:
    assert "unreachable" not in kinds(lint(SHIPPED.with_stage(MinScore(0.2))))
    wrong = {"floor on a rank", "pool smaller than the limit", "a threshold of 0", "a limit before the order"}
    assert not wrong & kinds(lint(SHIPPED))
    assert "floor on a rank" not in kinds(lint(THREE_FIXES.with_changes(EVIDENCE_FLOOR)))
    assert "weights that are scale only" not in kinds(lint(SYSTEMS["engine-tm2c2"]))


AGAINST_A_LEG = (
    "a better hit scores lower", "a fusion that loses an order", "a single hit scores 0",
    "absence outweighs a match",
)  # fmt: skip


@pytest.mark.parametrize("name", [*SYSTEMS, *ENGINES])
def test_no_fusion_is_against_a_leg_but_those_that_are_known(name: str) -> None:
    pipeline = SYSTEMS[name] if name in SYSTEMS else fusion_of_lists(name, ENGINES[name].fusion)
    assert bool(kinds(lint(pipeline)) & {*AGAINST_A_LEG}) is (name in FUSED_AGAINST.split())


@pytest.mark.parametrize("name", ["openclaw-2026.2.13", "openclaw-2026.9.6", "recommended", "bm-head"])
def test_no_keyword_hit_of_a_system_is_without_a_word(kept: CachedIndex, name: str) -> None:
    found = lint_on(SYSTEMS[name], kept.inner, ["rooibos tea", "who is Michael?"])
    assert not {"keyword hits without a word", "a filter after the cut"} & kinds(found)


@pytest.mark.parametrize(
    ("question", "match", "shared"),
    [
        ("tickets and prices", "ticket OR price", True),  # stems
        ("Michaels Preise", "michael* AND preis*", True),
        ("東京の塔", "東京", True),
        ("oil or gas", "sourdough OR oven", False),  # OR is no word of the question
        ("which bread", "sourdough AND oven", False),
        ("oven", "overview OR guide", False),  # three letters are no word
        ("the city", "citi*", True),
    ],
)
def test_a_query_has_a_word_of_the_question_in_any_form(question: str, match: str, shared: bool) -> None:
    assert share_a_word(question, match) is shared


def test_every_system_can_be_linted() -> None:
    found = [one for pipeline in SYSTEMS.values() for one in lint(pipeline)]
    assert kinds(found)
    assert all(one.description and one.arithmetic and one.issue for one in found)


def test_two_systems_with_the_same_stages_cannot_differ() -> None:
    assert kinds(lint_pair(SHIPPED, replace(SHIPPED, name="other"))) == {"two systems that cannot differ"}
    assert lint_pair(SHIPPED, WORKAROUND) == lint_pair(SHIPPED, LIMITED_EARLY) == []


def test_a_dead_leg_is_found(toy: MemoryIndex) -> None:
    found = [one for one in lint_on(SHIPPED, toy, ["zebra tea of quagga", "okapi bike"]) if "leg" in one.kind]
    assert kinds(found) == {"dead leg"}
    assert [(one.kind, one.arithmetic) for one in found] == [("dead leg", "0 hits for 2 of 2 questions")]


def test_a_leg_whose_scores_are_all_the_same_is_found(tmp_path: Path) -> None:
    texts = ["tea", "tea and a hub and an oak", "a bike", "a server", "a disk"]
    vectors = np.random.default_rng(1).standard_normal((5, 3)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    with a_store(tmp_path / "i", texts, vectors) as store:
        index = MemoryIndex(store, EMBEDDER)
        (found,) = [one for one in lint_on(SHIPPED, index, ["tea"]) if one.kind == "constant leg"]
        assert found.arithmetic == "keyword_score = 1 in each of 1 questions"
        assert "constant leg" not in kinds(lint_on(THREE_FIXES, index, ["tea"]))


def test_a_parameter_that_changes_no_answer_is_found(toy: MemoryIndex) -> None:
    alone = with_settings(THREE_FIXES, ["fusion.keyword=0"])
    dead = [one for one in lint_on(alone, toy, ["tea", "bike"]) if one.kind == "dead parameter"]
    assert dead
    assert "limit.count" not in {one.description.split()[0] for one in dead}


@pytest.mark.parametrize("of", ["its own texts", "other texts", "another model"])
def test_vectors_that_the_model_does_not_give_are_found(of: str, tmp_path: Path) -> None:
    texts = ["a cup of tea", "the bike", "a server"]
    own = EMBEDDER.embed(texts, "passage").vectors
    turned = np.roll(np.eye(3, dtype=np.float32), 1, axis=0) * -1
    vectors = {"its own texts": own, "other texts": own[::-1], "another model": turned}[of]
    with a_store(tmp_path / "index", texts, vectors.astype(np.float32)) as store:
        found = lint_on(SHIPPED, MemoryIndex(store, EMBEDDER), ["tea"])
    assert ("vectors of another model" in kinds(found)) is (of != "its own texts")


def test_a_memory_gives_its_own_questions(toy: MemoryIndex) -> None:
    asked = probes(toy)
    assert asked
    assert all(one == one.strip("#*-> \t") for one in asked)
